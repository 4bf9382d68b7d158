//! The tools that tests of the device's side need beside Rust: a C++ compiler with sanitizers, and a
//! python3 with numpy. What is missing is said, and the test skipped; with `MMFITS_CUDA_TOOLS` set
//! to `required` it fails, as it does in CI.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A file of the project.
pub fn of_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Says why a test looks at nothing, or fails where all tools must be there.
pub fn skipped<T>(why: &str) -> Option<T> {
    let required = std::env::var("MMFITS_CUDA_TOOLS").is_ok_and(|value| value == "required");
    assert!(!required, "{why}, which MMFITS_CUDA_TOOLS requires");
    // Not `eprintln!`, which is shown of failed tests only.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
    None
}

fn done(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs a command to its end; it must succeed. What it wrote on standard output and error.
pub fn run(command: &mut Command) -> (String, String) {
    let output = output(command);
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (words(&output.stdout), words(&output.stderr));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}{err}",
        output.status
    );
    (out, err)
}

/// Runs a command to its end.
pub fn output(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn compiler() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned())
}

/// Whether the compiler makes a shared library with these sanitizers; none if empty.
fn compiles(sanitizers: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("empty.cpp");
    std::fs::write(&source, "#include <vector>\n").expect("a source");
    let mut command = Command::new(compiler());
    command.args(["-std=c++17", "-fPIC", "-shared", "-o"]);
    command.arg(folder.path().join("empty.so")).arg(&source);
    if !sanitizers.is_empty() {
        command.arg(format!("-fsanitize={sanitizers}"));
    }
    done(&mut command)
}

/// The folder that a build script of `tests/cuda` has filled; `sanitizers` as the compiler names
/// them, none if empty.
pub fn built(script: &str, sanitizers: &str) -> Option<PathBuf> {
    if !compiles("") {
        return skipped(&format!("there is no C++ compiler {}", compiler()));
    }
    if !compiles(sanitizers) {
        return skipped(&format!("{} has no -fsanitize={sanitizers}", compiler()));
    }
    let name = format!("{script} {sanitizers}").replace(['/', '.', ',', ' '], "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new("bash");
    command.arg(of_project(script)).arg(&folder);
    run(command.env("SANITIZE", sanitizers));
    Some(folder)
}

/// A python3 with numpy: `PYTHON`, that of the project's own tools, or the system's.
pub fn python() -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/venv/bin/python");
    let named = std::env::var_os("PYTHON").map(PathBuf::from);
    let candidates = [named, Some(tools), Some(PathBuf::from("python3"))];
    let with_numpy = |python: &PathBuf| done(Command::new(python).args(["-c", "import numpy"]));
    let found = candidates.into_iter().flatten().find(with_numpy);
    found.or_else(|| skipped("there is no python3 with numpy"))
}

/// The compiler's runtime of a sanitizer, for `LD_PRELOAD`.
pub fn runtime_of(library: &str) -> String {
    let mut command = Command::new(compiler());
    let (path, _) = run(command.arg(format!("-print-file-name={library}")));
    path.trim().to_owned()
}
