//! A file under its working name, and the step that gives it its final one.

use std::fs;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::map::Target;
use crate::output::OutputError;
use crate::output::name::{Existing, part_of};

/// An output under way: `NAME.part`, reserved and mapped. Dropped unpublished, it is removed.
#[derive(Debug)]
pub struct Draft {
    target: Option<Target>,
    part: Part,
    output: PathBuf,
    existing: Existing,
}

/// The working file's name; it is removed when this is dropped.
#[derive(Debug)]
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // It may have been published or never made; there is nobody to tell otherwise.
        let _ = fs::remove_file(&self.0);
    }
}

impl Draft {
    /// Reserves and maps the working file of `output`, `len_bytes` long and zero.
    ///
    /// # Errors
    /// [`OutputError::Working`].
    pub fn create(output: &Path, len_bytes: u64, existing: Existing) -> Result<Self, OutputError> {
        let path = part_of(output);
        match Target::create(&path, len_bytes) {
            Ok(target) => Ok(Self {
                target: Some(target),
                part: Part(path),
                output: output.to_owned(),
                existing,
            }),
            Err(source) => {
                // Never another run's file: that one is locked, and only then is it left.
                if !matches!(
                    source,
                    crate::map::MapError::Locked | crate::map::MapError::Create { .. }
                ) {
                    drop(Part(path.clone()));
                }
                Err(OutputError::Working { path, source })
            }
        }
    }

    /// The mapped file; `None` once it is published.
    pub fn target_mut(&mut self) -> Option<&mut Target> {
        self.target.as_mut()
    }

    /// Gives the complete file its final name and returns that.
    ///
    /// Without [`Existing::Overwrite`] by link(2), which fails where the name is taken, however
    /// recently; with it by rename(2), which replaces in one step.
    ///
    /// # Errors
    /// [`OutputError::Exists`], [`OutputError::Publish`].
    pub fn publish(mut self) -> Result<PathBuf, OutputError> {
        // The lock is held until the working name is gone, so that no other run takes this file
        // over while it already carries its final name.
        let lock = self.target.take().map(Target::close);
        let published = match self.existing {
            Existing::Overwrite => fs::rename(&self.part.0, &self.output),
            Existing::Refuse | Existing::Skip => link(&self.part.0, &self.output),
        };
        let Self { part, output, .. } = self;
        let result = match published {
            Ok(()) => Ok(output),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(OutputError::Exists),
            Err(source) => Err(OutputError::Publish {
                part: part.0.clone(),
                source,
            }),
        };
        drop(part);
        drop(lock);
        result
    }
}

/// link(2), or, on file systems that have none, a rename after a look.
fn link(part: &Path, output: &Path) -> io::Result<()> {
    match fs::hard_link(part, output) {
        Err(error) if no_links(&error) => {
            if output.symlink_metadata().is_ok() {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists));
            }
            fs::rename(part, output)
        }
        result => result,
    }
}

fn no_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
    )
}

/// Writes a small text file beside an output, under a working name first.
///
/// # Errors
/// [`OutputError::Exists`], [`OutputError::Write`], [`OutputError::Publish`].
pub fn publish_text(output: &Path, text: &str, existing: Existing) -> Result<(), OutputError> {
    let part = Part(part_of(output));
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&part.0)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|source| OutputError::Write { source })?;
    let published = match existing {
        Existing::Overwrite => fs::rename(&part.0, output),
        Existing::Refuse | Existing::Skip => link(&part.0, output),
    };
    published.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => OutputError::Exists,
        _ => OutputError::Publish {
            part: part.0.clone(),
            source,
        },
    })
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
        let draft = Draft::create(&folder.path().join("x"), 9, Existing::Refuse).unwrap();
        assert_eq!(names(folder.path()), ["x.part"]);
        drop(draft);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_published_draft_has_its_final_name_only() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x");
        let mut draft = Draft::create(&output, 3, Existing::Refuse).unwrap();
        draft
            .target_mut()
            .unwrap()
            .bytes_mut()
            .copy_from_slice(b"abc");
        assert_eq!(draft.publish().unwrap(), output);
        assert_eq!(names(folder.path()), ["x"]);
        assert_eq!(fs::read(&output).unwrap(), b"abc");
    }

    #[test]
    fn a_name_taken_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x");
        let draft = Draft::create(&output, 3, Existing::Refuse).unwrap();
        fs::write(&output, "precious").unwrap();
        assert!(matches!(draft.publish(), Err(OutputError::Exists)));
        assert_eq!(fs::read(&output).unwrap(), b"precious");
        assert_eq!(names(folder.path()), ["x"]);
        let draft = Draft::create(&output, 3, Existing::Overwrite).unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read(&output).unwrap(), [0; 3]);
    }
}
