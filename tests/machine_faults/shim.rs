//! A library that stands before the C library of the program and refuses some of its calls: for
//! file systems and quotas that few kernels have.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{done, skipped};
use crate::scene::{Ran, Scene};

/// The library.
pub struct Shim(PathBuf);

/// Builds it; `None` where there is no C compiler.
pub fn built(path: &Path) -> Option<Shim> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machine_faults/shim.c");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(path);
    if !done(cc.arg(source)) {
        return skipped("there is no C compiler, or no glibc");
    }
    Some(Shim(path.to_owned()))
}

impl Shim {
    /// A run with these faults.
    pub fn run(&self, scene: &Scene, outdir: &Path, flags: &[&str], faults: &str) -> Ran {
        let program = Path::new(env!("CARGO_BIN_EXE_mmconv"));
        let mut command = scene.command(program, outdir, flags);
        command.env("LD_PRELOAD", &self.0).env("FAULTS", faults);
        Ran::from(command.output().unwrap())
    }
}
