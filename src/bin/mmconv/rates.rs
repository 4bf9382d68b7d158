//! The file that keeps how fast this machine is: where it is, reading and writing it. What the
//! numbers mean is in `mmfits::convolve::rates`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mmfits::convolve::rates::Rates;

use crate::failure::{Failure, Status, chain};

/// The variable that names the file.
const RATES: &str = "MMCONV_RATES";

fn named(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

/// The file: `$MMCONV_RATES`, else `mmconv/rates` in the user's folder of settings
/// (XDG base directory specification). None where the environment names no such folder.
pub fn path() -> Option<PathBuf> {
    if let Some(path) = named(RATES) {
        return Some(PathBuf::from(path));
    }
    // A relative one is to be ignored, says the specification.
    let folder = named("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_absolute());
    let folder = folder.or_else(|| Some(PathBuf::from(named("HOME")?).join(".config")));
    Some(folder?.join("mmconv").join("rates"))
}

/// Whether the user has named the file: then it has to be right.
pub fn is_named() -> bool {
    named(RATES).is_some()
}

/// What the file says; none where there is no file, or where nobody has named one and the folder of
/// settings cannot be looked into.
pub fn read(path: &Path) -> Result<Option<Rates>, Failure> {
    let failed = |status, text: String| Failure {
        status,
        text: format!("{}: {text}", path.display()),
    };
    match fs::read_to_string(path) {
        Ok(text) => Rates::parse(&text)
            .map(Some)
            .map_err(|error| failed(Status::Request, chain(&error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(_) if !is_named() => Ok(None),
        Err(error) => Err(failed(Status::Machine, format!("cannot be read: {error}"))),
    }
}

/// Puts the measured numbers into the file, whose folder is made where it is not there. A reader
/// finds the old file or the new one, and never a part.
pub fn write(path: &Path, rates: &Rates) -> Result<(), Failure> {
    let text = format!(
        "# How fast this machine is; written by mmconv bench --save, read by mmconv smooth\n{}",
        rates.render()
    );
    put(path, &text)
        .map_err(|error| Failure::machine(format!("{} cannot be written: {error}", path.display())))
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = path.with_file_name(name);
    let put = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    if put.is_err() {
        let _ = fs::remove_file(&new);
    }
    put
}
