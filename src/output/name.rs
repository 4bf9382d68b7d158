//! What outputs are called, and the refusals that rest on names alone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::map::FileId;
use crate::output::OutputError;

/// What happens where an output exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The whole request is refused before any work.
    #[default]
    Refuse,
    /// It is replaced, when its successor is complete.
    Overwrite,
    /// It is left alone and its input is not smoothed.
    Skip,
}

/// How an output's name is made: `outdir/PREFIXstem.SUFFIX.fits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// The folder; the input's own by default.
    pub outdir: Option<PathBuf>,
    /// Before the stem.
    pub prefix: String,
    /// Between the stem and `.fits`; none leaves its dot away too.
    pub suffix: String,
    /// The whole path, for a single input.
    pub output: Option<PathBuf>,
    /// What happens where it exists.
    pub existing: Existing,
}

impl Default for Naming {
    fn default() -> Self {
        Self {
            outdir: None,
            prefix: String::new(),
            suffix: "sm".to_owned(),
            output: None,
            existing: Existing::default(),
        }
    }
}

impl Naming {
    /// The output of `input`.
    ///
    /// # Errors
    /// [`OutputError::NoName`] where the input's path ends in no file name,
    /// [`OutputError::Unmarked`] where nothing would tell the output from the input,
    /// [`OutputError::Slash`].
    pub fn output_of(&self, input: &Path) -> Result<PathBuf, OutputError> {
        if let Some(output) = &self.output {
            return Ok(output.clone());
        }
        for part in [&self.prefix, &self.suffix] {
            if part.contains('/') {
                return Err(OutputError::Slash { part: part.clone() });
            }
        }
        let mut name = OsString::from(&self.prefix);
        name.push(stem(input.file_name().ok_or(OutputError::NoName)?));
        if !self.suffix.is_empty() {
            name.push(".");
            name.push(&self.suffix);
        }
        name.push(".fits");
        let own_folder = input.parent().unwrap_or(Path::new(""));
        let folder = self.outdir.as_deref().unwrap_or(own_folder);
        let bare = self.prefix.is_empty() && self.suffix.is_empty();
        if bare && same_folder(folder, own_folder) {
            return Err(OutputError::Unmarked);
        }
        Ok(folder.join(name))
    }
}

/// Whether two paths lead to one folder; an empty one is the current folder.
fn same_folder(one: &Path, other: &Path) -> bool {
    canonical(one) == canonical(other)
}

/// The folder with its links resolved, as far as it is there.
fn canonical(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf())
}

/// A file name without `.fits`, `.fit` or `.fts`, in any case.
fn stem(name: &OsStr) -> &OsStr {
    let path = Path::new(name);
    let is_fits = path.extension().is_some_and(|extension| {
        ["fits", "fit", "fts"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    });
    match path.file_stem() {
        Some(stem) if is_fits => stem,
        _ => name,
    }
}

/// The path of the beam log that belongs to an output: `beamlog.NAME.txt` beside `NAME.fits`.
#[must_use]
pub fn beamlog_of(output: &Path) -> PathBuf {
    let mut name = OsString::from("beamlog.");
    name.push(stem(output.file_name().unwrap_or_default()));
    name.push(".txt");
    output.with_file_name(name)
}

/// The working name of an output: the same folder, so that publishing is a rename.
#[must_use]
pub fn part_of(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    output.with_file_name(name)
}

/// Refuses two inputs with one output.
///
/// # Errors
/// [`OutputError::Collides`], with the number of the second input.
pub fn refuse_collisions(
    inputs: &[PathBuf],
    outputs: &[PathBuf],
) -> Result<(), (usize, OutputError)> {
    let mut taken = std::collections::HashMap::new();
    for (number, (input, output)) in inputs.iter().zip(outputs).enumerate() {
        if let Some(other) = taken.insert(resolved(output), input) {
            return Err((
                number,
                OutputError::Collides {
                    other: other.clone(),
                },
            ));
        }
    }
    Ok(())
}

/// The path with its folder's links resolved: two spellings of one folder are one.
fn resolved(path: &Path) -> PathBuf {
    let folder = canonical(path.parent().unwrap_or(Path::new("")));
    folder.join(path.file_name().unwrap_or_default())
}

/// Refuses an output that is one of the files read, by whatever name, or that cannot stand where
/// it is to stand. Tells whether it exists.
///
/// # Errors
/// [`OutputError::NoName`], [`OutputError::IsInput`], [`OutputError::NoFolder`], [`OutputError::NotAFile`],
/// [`OutputError::Look`].
pub fn check_place(output: &Path, read: &[(FileId, PathBuf)]) -> Result<bool, OutputError> {
    if output.as_os_str().as_bytes().ends_with(b"/") {
        return Err(OutputError::NoName);
    }
    let folder = output
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        check_folder(folder)?;
    }
    let Some(id) = FileId::at(output).map_err(|source| OutputError::Look { source })? else {
        // A link that leads nowhere would be replaced by `rename` and refused by `link`.
        return Ok(output.symlink_metadata().is_ok());
    };
    if let Some((_, input)) = read.iter().find(|(other, _)| *other == id) {
        return Err(OutputError::IsInput {
            input: input.clone(),
        });
    }
    if !output.is_file() {
        return Err(OutputError::NotAFile);
    }
    Ok(true)
}

/// Refuses what is no folder, and what cannot be told to be one.
fn check_folder(folder: &Path) -> Result<(), OutputError> {
    match std::fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(OutputError::Look { source })
        }
        _ => Err(OutputError::NoFolder {
            folder: folder.to_path_buf(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_prefix_stem_suffix() {
        let naming = Naming::default();
        let name = |path: &str| naming.output_of(Path::new(path)).unwrap();
        assert_eq!(name("a/cube.fits"), Path::new("a/cube.sm.fits"));
        assert_eq!(name("cube.v1.FTS"), Path::new("cube.v1.sm.fits"));
        assert_eq!(name("cube"), Path::new("cube.sm.fits"));
        assert_eq!(name(".fits"), Path::new(".fits.sm.fits"));
        let bare = Naming {
            suffix: String::new(),
            prefix: "x".into(),
            ..Naming::default()
        };
        assert_eq!(
            bare.output_of(Path::new("a/c.fit")).unwrap(),
            Path::new("a/xc.fits")
        );
    }

    #[test]
    fn logs_and_working_files_stand_beside() {
        assert_eq!(
            beamlog_of(Path::new("o/c.sm.fits")),
            Path::new("o/beamlog.c.sm.txt")
        );
        assert_eq!(
            part_of(Path::new("o/c.sm.fits")),
            Path::new("o/c.sm.fits.part")
        );
    }

    #[test]
    fn one_output_for_two_inputs_is_refused() {
        let inputs = [PathBuf::from("a/c.fits"), PathBuf::from("b/c.fits")];
        let outputs = [PathBuf::from("./c.sm.fits"), PathBuf::from("c.sm.fits")];
        let refused = refuse_collisions(&inputs, &outputs);
        assert!(matches!(refused, Err((1, OutputError::Collides { .. }))));
    }
}
