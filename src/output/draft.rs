//! A file under its working name, and the step that gives it its final one.

use std::fs;
use std::io;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::map::{Claim, Io, MapError, Target};
use crate::output::OutputError;
use crate::output::name::{Existing, part_of};

/// An output under way: `NAME.part`, its blocks reserved. Dropped unpublished, it is removed,
/// unless it is to be [kept](Draft::keep).
#[derive(Debug)]
pub struct Draft {
    // Before `target`, which holds the lock: the name goes while no other run can take it over.
    working: WorkingName,
    target: Option<Target>,
    output: PathBuf,
    existing: Existing,
    /// Whether it stays when it is dropped.
    keep: bool,
    /// Whether it is on the disk before it gets its final name.
    durable: bool,
}

/// The name of a file under way; the file is removed when this is dropped.
#[derive(Debug)]
struct WorkingName(Option<PathBuf>);

/// The right to make an output: its working name, locked.
#[derive(Debug)]
pub struct Place {
    claim: Claim,
    path: PathBuf,
    output: PathBuf,
    existing: Existing,
}

impl Place {
    /// Locks the working name of `output`. What stands there is left as it is.
    ///
    /// # Errors
    /// [`OutputError::Working`]: another run has it, or the folder refuses it.
    pub fn claim(output: &Path, existing: Existing) -> Result<Self, OutputError> {
        Self::claimed(output, existing, Claim::of)
    }

    /// The same of unfinished work to go on with.
    ///
    /// # Errors
    /// [`OutputError::Working`]: another run has it, or it has a second name.
    pub fn claim_unfinished(output: &Path, existing: Existing) -> Result<Self, OutputError> {
        Self::claimed(output, existing, Claim::of_unfinished)
    }

    fn claimed(
        output: &Path,
        existing: Existing,
        claim: fn(&Path) -> Result<Claim, MapError>,
    ) -> Result<Self, OutputError> {
        let path = part_of(output);
        match claim(&path) {
            Ok(claim) => Ok(Self {
                claim,
                path,
                output: output.to_owned(),
                existing,
            }),
            Err(source) => Err(OutputError::Working { path, source }),
        }
    }

    /// Reserves the working file, `len_bytes` long and zero.
    ///
    /// # Errors
    /// [`OutputError::Working`].
    pub fn create(self, len_bytes: u64, io: Io) -> Result<Draft, OutputError> {
        self.draft(|claim| claim.create(len_bytes, io))
    }

    /// Goes on with the working file, which is `len_bytes` long.
    ///
    /// # Errors
    /// [`OutputError::Working`]; it is left as it is.
    pub fn reopen(self, len_bytes: u64, io: Io) -> Result<Draft, OutputError> {
        self.draft(|claim| claim.reopen(len_bytes, io))
    }

    fn draft(
        self,
        make: impl FnOnce(Claim) -> Result<Target, MapError>,
    ) -> Result<Draft, OutputError> {
        let Self {
            claim,
            path,
            output,
            existing,
        } = self;
        match make(claim) {
            Ok(target) => Ok(Draft {
                working: WorkingName(Some(path)),
                target: Some(target),
                output,
                existing,
                keep: false,
                durable: false,
            }),
            Err(source) => Err(OutputError::Working { path, source }),
        }
    }
}

impl WorkingName {
    fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    /// Gives the file the name `output`: link(2), which fails where it is taken, however recently,
    /// or, to overwrite, rename(2), which replaces in one step. The working name is gone then.
    fn publish(&mut self, output: &Path, existing: Existing) -> Result<(), OutputError> {
        let published = match existing {
            Existing::Overwrite => self.rename(output),
            Existing::Refuse | Existing::Skip => self.link(output),
        };
        published.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => OutputError::Exists,
            _ => OutputError::Publish {
                part: self.path().to_owned(),
                source,
            },
        })
    }

    fn rename(&mut self, output: &Path) -> io::Result<()> {
        fs::rename(self.path(), output)?;
        // The name is free, and another run may use it from now on: it is no more ours to remove.
        self.0 = None;
        Ok(())
    }

    /// On file systems that have no links, a rename after a look.
    fn link(&mut self, output: &Path) -> io::Result<()> {
        match fs::hard_link(self.path(), output) {
            Err(error) if no_links(&error) => {
                if output.symlink_metadata().is_ok() {
                    return Err(io::Error::from(io::ErrorKind::AlreadyExists));
                }
                self.rename(output)
            }
            result => result,
        }
    }
}

impl WorkingName {
    fn remove(&mut self) {
        if let Some(path) = self.0.take() {
            // It may be gone already; there is nobody to tell otherwise.
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for WorkingName {
    fn drop(&mut self) {
        self.remove();
    }
}

pub(crate) fn no_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
    )
}

impl Draft {
    /// Reserves the working file of `output`, `len_bytes` long and zero.
    ///
    /// # Errors
    /// [`OutputError::Working`].
    pub fn create(
        output: &Path,
        len_bytes: u64,
        existing: Existing,
        io: Io,
    ) -> Result<Self, OutputError> {
        Place::claim(output, existing)?.create(len_bytes, io)
    }

    /// Whether a write may fail long after it was made.
    #[must_use]
    pub fn fails_late(&self) -> bool {
        self.target.as_ref().is_some_and(Target::fails_late)
    }

    /// Whether the working file stays if this is dropped unpublished: for a run that goes on.
    pub fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// Every byte, and the final name, will be on the disk when it is published.
    pub fn make_durable(&mut self) {
        self.durable = true;
        self.wait_for_disk();
    }

    /// Every byte will be on the disk when it is published, or the publishing fails.
    pub fn wait_for_disk(&mut self) {
        if let Some(target) = &mut self.target {
            target.make_durable();
        }
    }

    /// The file; `None` once it is published.
    pub fn target_mut(&mut self) -> Option<&mut Target> {
        self.target.as_mut()
    }

    /// Stores `bytes` at byte `at` of the file.
    ///
    /// # Errors
    /// [`OutputError::Beyond`] where they do not fit, [`OutputError::Working`] where they cannot
    /// be written.
    pub fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<(), OutputError> {
        let Some(target) = &mut self.target else {
            return Err(OutputError::Beyond { at_bytes: at });
        };
        target.write_at(at, bytes).map_err(|source| match source {
            MapError::Range { .. } => OutputError::Beyond { at_bytes: at },
            source => OutputError::Working {
                path: self.working.path().to_owned(),
                source,
            },
        })
    }

    /// Gives the complete file its final name and returns that.
    ///
    /// # Errors
    /// [`OutputError::Exists`] where the name is taken and may not be replaced,
    /// [`OutputError::Publish`], [`OutputError::Working`] where what was written did not reach the
    /// disk.
    pub fn publish(self) -> Result<PathBuf, OutputError> {
        self.publish_with(|| ())
    }

    /// The same; `last` is done when the working name is gone, while no other run can have it.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn publish_with(mut self, last: impl FnOnce()) -> Result<PathBuf, OutputError> {
        // The lock is held until the working name is gone, so that no other run takes this file
        // over while it already carries its final name.
        let lock = self.target.take().map(Target::close).transpose();
        let lock = lock.map_err(|source| {
            // What is durable was waited for; of all else nobody knows what is there.
            self.keep &= self.durable;
            let path = self.working.path().to_owned();
            OutputError::Working { path, source }
        })?;
        let published = self.working.publish(&self.output, self.existing);
        if published.is_ok() || !self.keep {
            self.working.remove();
            last();
        }
        drop(lock);
        published?;
        if self.durable {
            sync_folder(&self.output).map_err(|source| OutputError::Write { source })?;
        }
        Ok(self.output.clone())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.keep {
            // The file is left where it is.
            self.working.0 = None;
        }
    }
}

/// Waits until the names in the folder of this file are on the disk.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Writes a small text file beside an output, under a working name first.
///
/// # Errors
/// [`OutputError::Exists`], [`OutputError::Write`], [`OutputError::Publish`].
pub fn publish_text(output: &Path, text: &str, existing: Existing) -> Result<(), OutputError> {
    let path = part_of(output);
    // One left by a crash, or a link to somebody else's file: the name goes, not what it leads to.
    let _ = fs::remove_file(&path);
    let write = |source| OutputError::Write { source };
    let mut options = fs::OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .custom_flags(libc::O_NOFOLLOW);
    let mut file = options.open(&path).map_err(write)?;
    let mut working = WorkingName(Some(path));
    file.write_all(text.as_bytes()).map_err(write)?;
    working.publish(output, existing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_left_of_a_dropped_draft() {
        let folder = tempfile::tempdir().unwrap();
        let draft = Draft::create(&folder.path().join("x"), 9, Existing::Refuse, Io::Auto).unwrap();
        assert_eq!(names(folder.path()), ["x.part"]);
        drop(draft);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_published_draft_has_its_final_name_only() {
        for io in [Io::Map, Io::Write] {
            let folder = tempfile::tempdir().unwrap();
            let output = folder.path().join("x");
            let mut draft = Draft::create(&output, 3, Existing::Refuse, io).unwrap();
            draft.write_at(0, b"abc").unwrap();
            assert_eq!(draft.publish().unwrap(), output);
            assert_eq!(names(folder.path()), ["x"]);
            assert_eq!(fs::read(&output).unwrap(), b"abc");
        }
    }

    #[test]
    fn a_link_at_the_working_name_of_a_text_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (log, precious) = (folder.path().join("log"), folder.path().join("precious"));
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join("log.part")).unwrap();
        publish_text(&log, "text", Existing::Refuse).unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert_eq!(fs::read(&log).unwrap(), b"text");
        assert_eq!(names(folder.path()), ["log", "precious"]);
        assert!(matches!(
            publish_text(&log, "other", Existing::Refuse),
            Err(OutputError::Exists)
        ));
        assert_eq!(fs::read(&log).unwrap(), b"text");
    }

    #[test]
    fn nothing_is_written_beyond_the_end() {
        let folder = tempfile::tempdir().unwrap();
        for io in [Io::Map, Io::Write] {
            let output = folder.path().join("x");
            let mut draft = Draft::create(&output, 9, Existing::Refuse, io).unwrap();
            draft.write_at(7, b"ab").unwrap();
            assert!(matches!(
                draft.write_at(8, b"ab"),
                Err(OutputError::Beyond { at_bytes: 8 })
            ));
        }
    }

    #[test]
    fn a_name_taken_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x");
        let draft = Draft::create(&output, 3, Existing::Refuse, Io::Auto).unwrap();
        fs::write(&output, "precious").unwrap();
        assert!(matches!(draft.publish(), Err(OutputError::Exists)));
        assert_eq!(fs::read(&output).unwrap(), b"precious");
        assert_eq!(names(folder.path()), ["x"]);
        let draft = Draft::create(&output, 3, Existing::Overwrite, Io::Auto).unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read(&output).unwrap(), [0; 3]);
    }
}
