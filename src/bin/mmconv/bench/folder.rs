//! The folder of a bench: made anew, removed at the end whatever happens, signals included.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use mmfits::map::guard::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{exit, signal_name};

use crate::failure::{Failure, Status};
use crate::out::tell;

/// A folder of our own. It goes, with all that is in it, when this does.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Inside of `parent`, which must be there.
    pub fn create(parent: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::machine(format!(
                "a temporary folder in {} cannot be made: {error}",
                parent.display()
            ))
        };
        let path = unused(parent).map_err(failed)?;
        let folder = Self(path.canonicalize().unwrap_or(path));
        folder.remove_when_asked_to_end().map_err(failed)?;
        Ok(folder)
    }

    /// A name in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn remove_when_asked_to_end(&self) -> io::Result<()> {
        let asking = [SIGINT, SIGTERM, SIGHUP];
        let mut signals = Signals::new(asking.into_iter().filter(|&signal| !is_ignored(signal)))?;
        let path = self.0.clone();
        let thread = thread::Builder::new().name("mmconv-signals".to_owned());
        thread.spawn(move || {
            if let Some(signal) = signals.forever().next() {
                remove(&path);
                let name = signal_name(signal).unwrap_or("a signal");
                tell(&format!(
                    "mmconv: {name}: stopped; the bench leaves nothing"
                ));
                exit(Status::Interrupted as i32);
            }
        })?;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// A folder that was not there. Its name is found by trying: others may bench here too, and have
/// left something behind.
fn unused(parent: &Path) -> io::Result<PathBuf> {
    let mut attempt = 0;
    loop {
        let name = format!("mmconv-bench.{}.{attempt}", std::process::id());
        let path = parent.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                attempt += 1;
            }
            made => return made.map(|()| path),
        }
    }
}

/// Removes all of it. Where it is still worked in, a file may come while others go; so more than
/// once.
fn remove(path: &Path) {
    for _ in 0..10 {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_all_that_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let (one, other) = (
            Folder::create(parent.path()).unwrap(),
            Folder::create(parent.path()).unwrap(),
        );
        assert_ne!(one.join("a"), other.join("a"));
        fs::write(one.join("a"), "a").unwrap();
        fs::create_dir(one.join("b")).unwrap();
        drop((one, other));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn without_a_parent_there_is_none() {
        let parent = tempfile::tempdir().unwrap();
        let failure = Folder::create(&parent.path().join("absent")).unwrap_err();
        assert_eq!(failure.status, Status::Machine);
        assert!(failure.text.contains("absent"), "{}", failure.text);
    }
}
