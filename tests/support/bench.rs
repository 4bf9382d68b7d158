//! Runs `mmconv` as a user would, in a temporary folder with an empty `out` in it, and judges
//! what every run must keep: no signal, no panic, no working files left behind.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::read::Fits;
use super::sky::Beam;
use super::write::{self, Hdu};

/// A run that takes longer has hung.
const LIMIT: Duration = Duration::from_secs(120);

/// A folder of a test, gone when the test ends.
#[derive(Debug)]
pub struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("mmconv-test")
            .tempdir()
            .unwrap();
        std::fs::create_dir(dir.path().join("out")).unwrap();
        Self { dir }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes `NAME.fits`.
    pub fn put(&self, name: &str, hdus: &[Hdu]) -> PathBuf {
        let path = self.path(format!("{name}.fits"));
        write::write(&path, hdus);
        path
    }

    pub fn put_text(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Where the output of `NAME.fits` belongs.
    pub fn out(&self, name: &str) -> PathBuf {
        self.path("out").join(format!("{name}.sm.fits"))
    }

    pub fn read(&self, name: &str) -> Fits {
        Fits::read(&self.out(name))
    }

    /// Names of the files in `out`, sorted.
    pub fn outputs(&self) -> Vec<String> {
        self.list("out")
    }

    /// Names in a folder, sorted.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let name = |e: std::io::Result<std::fs::DirEntry>| {
            e.unwrap().file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = std::fs::read_dir(self.path(folder))
            .unwrap()
            .map(name)
            .collect();
        names.sort();
        names
    }

    /// `mmconv ARGS`, run in the folder.
    pub fn mmconv<S: Into<OsString>>(&self, args: impl IntoIterator<Item = S>) -> Run<'_> {
        let args = args.into_iter().map(Into::into).collect();
        Run {
            bench: self,
            args,
            stdin: None,
            env: Vec::new(),
        }
    }

    /// `mmconv smooth --outdir out`.
    pub fn smooth(&self) -> Run<'_> {
        self.mmconv(["smooth"])
            .args(["--outdir"])
            .path(&self.path("out"))
    }

    /// `mmconv smooth --outdir out` to an explicit target.
    pub fn smooth_to(&self, beam: Beam) -> Run<'_> {
        let [a, b, p] = beam.map(|v| v.to_string());
        self.smooth()
            .args(["--bmaj", &a, "--bmin", &b, "--bpa", &p])
    }

    /// Fails if a working file or folder of the command is anywhere in the test's folder.
    fn assert_tidy(&self, said: &str) {
        let mut folders = vec![self.dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let left = name.ends_with(".part") || name.ends_with(".mmconv");
                assert!(!left, "{} is left behind; {said}", path.display());
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
            }
        }
    }
}

/// Cuts a file to this length.
pub fn cut(path: &Path, length: u64) {
    std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(length)
        .unwrap();
}

/// A command line in the making.
#[derive(Debug)]
pub struct Run<'a> {
    bench: &'a Bench,
    args: Vec<OsString>,
    stdin: Option<Vec<u8>>,
    env: Vec<(String, OsString)>,
}

impl Run<'_> {
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub fn arg(self, arg: &str) -> Self {
        self.args([arg])
    }

    pub fn path(mut self, path: &Path) -> Self {
        self.args.push(path.into());
        self
    }

    /// `NAME.fits` of the test's folder.
    pub fn file(self, name: &str) -> Self {
        let path = self.bench.path(format!("{name}.fits"));
        self.path(&path)
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    pub fn env(mut self, key: &str, value: impl Into<OsString>) -> Self {
        self.env.push((key.to_owned(), value.into()));
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mmconv"));
        command.args(&self.args).current_dir(self.bench.dir.path());
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        command.stdin(if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs to the end; fails on a signal, a panic, a hang or a left-over.
    pub fn run(self) -> Outcome {
        let mut child = self.command().spawn().unwrap();
        let stdout = drain(child.stdout.take().unwrap());
        let stderr = drain(child.stderr.take().unwrap());
        if let (Some(bytes), Some(mut pipe)) = (&self.stdin, child.stdin.take()) {
            pipe.write_all(bytes).unwrap();
        }
        let (status, peak_bytes) = wait(&mut child);
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        let said = format!("mmconv {:?} said: {}", self.args, tail(&stderr));
        let code = status
            .code()
            .unwrap_or_else(|| panic!("ended by {status}; {said}"));
        assert!(!stderr.contains("panicked"), "{said}");
        self.bench.assert_tidy(&said);
        Outcome {
            code,
            stdout,
            stderr,
            said,
            out: self.bench.path("out"),
            peak_bytes,
        }
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end, and looks at the anonymous memory now and then: how it ended, and the most
/// that was seen, bytes.
fn wait(child: &mut Child) -> (std::process::ExitStatus, u64) {
    let start = Instant::now();
    let mut peak_bytes = 0;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status, peak_bytes);
        }
        peak_bytes = anonymous_bytes(child.id()).unwrap_or(0).max(peak_bytes);
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("still running after {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// `RssAnon` of a process (proc_pid_status(5)). Until it is the command it may still be seen with
/// the memory of this one, which it was started from.
fn anonymous_bytes(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    text.lines().find(|line| *line == "Name:\tmmconv")?;
    let line = text.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// How a run ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    said: String,
    out: PathBuf,
    /// The most anonymous memory that was seen, bytes; 0 where the system does not tell.
    pub peak_bytes: u64,
}

impl Outcome {
    /// Exit status 0.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "exit status; {}", self.said);
        self
    }

    /// This exit status and each of these words on stderr, in any case.
    pub fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "exit status; {}", self.said);
        self.says(words)
    }

    /// [`Self::fails`], with nothing on stdout and nothing in `out`.
    pub fn refused(self, code: i32, words: &[&str]) -> Self {
        let this = self.fails(code, words);
        assert_eq!(
            this.stdout.trim(),
            "",
            "stdout after a refusal; {}",
            this.said
        );
        let left: Vec<_> = std::fs::read_dir(&this.out)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        assert!(left.is_empty(), "{left:?} made; {}", this.said);
        this
    }

    /// Each of these words is on stderr, in any case.
    pub fn says(self, words: &[&str]) -> Self {
        let said = self.stderr.to_lowercase();
        for word in words {
            assert!(
                said.contains(&word.to_lowercase()),
                "no '{word}' on stderr; {}",
                self.said
            );
        }
        self
    }

    /// The lines of stdout.
    pub fn lines(&self) -> Vec<&str> {
        self.stdout.lines().collect()
    }

    /// stdout as one JSON object a line.
    pub fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in '{line}'; {}", self.said))
        };
        self.stdout.lines().map(parse).collect()
    }
}
