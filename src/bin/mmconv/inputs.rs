//! Which files are meant: those on the command line and those in a list. None of them is opened.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::args::Input;
use crate::failure::Failure;

/// The files named on the command line, then those of `--files-from`, which may be standard input.
pub fn list(args: &Input) -> Result<Vec<PathBuf>, Failure> {
    let mut inputs = args.files.clone();
    if let Some(list) = &args.files_from {
        inputs.extend(names(&read_list(list)?, args.null));
    }
    if inputs.is_empty() {
        return Err(Failure::request(match &args.files_from {
            None => "no input files; name FITS files or give --files-from".to_owned(),
            Some(list) => format!(
                "no input files; --files-from {} has no names",
                list.display()
            ),
        }));
    }
    Ok(inputs)
}

fn read_list(path: &Path) -> Result<Vec<u8>, Failure> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| {
        Failure::request(format!(
            "--files-from {} cannot be read: {error}",
            path.display()
        ))
    })
}

/// The names in a list. Without `null` they are lines: blank ones are skipped, and a carriage
/// return at the end is dropped.
fn names(list: &[u8], null: bool) -> Vec<PathBuf> {
    let end = if null { b'\0' } else { b'\n' };
    list.split(|&byte| byte == end)
        .map(|name| {
            if null {
                name
            } else {
                name.strip_suffix(b"\r").unwrap_or(name)
            }
        })
        .filter(|name| {
            if null {
                !name.is_empty()
            } else {
                !name.trim_ascii().is_empty()
            }
        })
        .map(|name| PathBuf::from(os_string(name)))
        .collect()
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> OsString {
    OsString::from(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_have_blank_lines_or_nul_bytes() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            names(b"a b.fits\n\n \t\nc.fits\r\nd", false),
            paths(&["a b.fits", "c.fits", "d"])
        );
        assert_eq!(
            names(b"a\nb.fits\0\0c.fits\0", true),
            paths(&["a\nb.fits", "c.fits"])
        );
    }
}
