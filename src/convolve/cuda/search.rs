//! Where cuFFT may lie beside the folders of the loader: what users of a toolkit, of conda and of
//! pip have. This looks into the environment and into folders; nothing else in this room does.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Folders, those that the user has named for this first.
#[derive(Debug, Default)]
pub(super) struct Folders {
    all: Vec<PathBuf>,
    /// How many of them are named by the user, and so come before those of the loader.
    pub named: usize,
}

impl Deref for Folders {
    type Target = [PathBuf];

    fn deref(&self) -> &[PathBuf] {
        &self.all
    }
}

/// In this order: `MMCONV_CUDA_PATH` (a list); then, behind the loader's own, `CUDA_HOME`,
/// `CUDA_PATH`, `CUDA_ROOT`; the conda environment; the packages of pip in the Python environment and in the user's own;
/// beside the program; where toolkits are installed.
pub(super) fn folders() -> Folders {
    folders_by(|name| env::var_os(name), env::current_exe().ok().as_deref())
}

fn folders_by(variable: impl Fn(&str) -> Option<OsString>, program: Option<&Path>) -> Folders {
    let paths = |name: &str| -> Vec<PathBuf> {
        let value = variable(name).unwrap_or_default();
        env::split_paths(&value)
            .filter(|path| !path.as_os_str().is_empty())
            .collect()
    };
    let mut all = Vec::new();
    for path in paths("MMCONV_CUDA_PATH") {
        all.extend([path.clone(), path.join("lib64"), path.join("lib")]);
    }
    let named = all.len();
    for name in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"] {
        for path in paths(name) {
            all.extend([path.join("lib64"), path.join("lib")]);
        }
    }
    for path in paths("CONDA_PREFIX") {
        all.push(path.join("lib"));
        for target in ["x86_64-linux", "sbsa-linux"] {
            all.push(path.join("targets").join(target).join("lib"));
        }
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        for path in paths(name) {
            all.extend(packages(&path));
        }
    }
    for home in paths("HOME") {
        all.extend(packages(&home.join(".local")));
    }
    all.extend(program.and_then(Path::parent).map(Path::to_owned));
    for path in ["/usr/local/cuda", "/opt/cuda"] {
        all.extend([Path::new(path).join("lib64"), Path::new(path).join("lib")]);
    }
    all.extend(toolkits());
    Folders { all, named }
}

/// The folders of pip's packages for CUDA 13 and CUDA 12 in a Python environment.
fn packages(environment: &Path) -> Vec<PathBuf> {
    let libraries = entries(&environment.join("lib"));
    let pythons = libraries.filter(|path| named(path, "python3"));
    pythons
        .flat_map(|python| {
            let nvidia = python.join("site-packages/nvidia");
            [nvidia.join("cu13/lib"), nvidia.join("cufft/lib")]
        })
        .collect()
}

/// Toolkits installed beside one another, the newest name first.
fn toolkits() -> Vec<PathBuf> {
    let mut found: Vec<_> = entries(Path::new("/usr/local"))
        .filter(|path| named(path, "cuda-"))
        .map(|path| path.join("lib64"))
        .collect();
    found.sort();
    found.reverse();
    found
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

fn named(path: &Path, start: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_names_comes_first_and_environments_are_looked_through() {
        let root = tempfile::tempdir().unwrap();
        let site = root.path().join("lib/python3.11/site-packages/nvidia");
        fs::create_dir_all(site.join("cufft/lib")).unwrap();
        let folders = folders_by(
            |name| match name {
                "MMCONV_CUDA_PATH" => Some("/a:/b".into()),
                "CUDA_HOME" => Some("/toolkit".into()),
                "VIRTUAL_ENV" => Some(root.path().into()),
                _ => None,
            },
            Some(Path::new("/program/mmconv")),
        );
        let named: Vec<_> = folders[..folders.named].iter().collect();
        for folder in ["/a", "/a/lib64", "/a/lib", "/b", "/b/lib64", "/b/lib"] {
            assert!(named.contains(&&PathBuf::from(folder)), "{folder}");
        }
        assert_eq!(named.len(), 6);
        assert_eq!(folders[6], Path::new("/toolkit/lib64"));
        let place = |wanted: &Path| folders.iter().position(|folder| folder == wanted);
        let pip = place(&site.join("cufft/lib")).unwrap();
        assert_eq!(place(&site.join("cu13/lib")), Some(pip - 1));
        assert!(place(Path::new("/program")).unwrap() > pip);
    }
}
