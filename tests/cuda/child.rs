//! Programs that run on the mock driver: it is built here, once, and children are run on it, this
//! test program itself or `mmconv`. A driver is opened once a process, so each scene that needs one
//! of its own is a child. Nothing is known of planes here.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A child that takes longer has hung.
const LIMIT: Duration = Duration::from_secs(120);

/// Which scene a child of this program plays, and with what.
const SCENE: &str = "MMFITS_SCENE";

/// What may be set outside and must not reach a child.
const CLEARED: [&str; 8] = [
    "MMCONV_BACKEND",
    "MMCONV_CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CONDA_PREFIX",
    "VIRTUAL_ENV",
];

/// The folder of the mock libraries; `None`, said loudly, where they cannot be built.
pub fn mock() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        if let Some(folder) = std::env::var_os("MMFITS_MOCK_CUDA") {
            return Some(folder.into());
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mock-cuda");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/mock/build.sh");
        let built = Command::new("bash").arg(script).arg(&folder).output();
        match built {
            Ok(built) if built.status.success() => Some(folder),
            Ok(built) if has_compiler() => {
                panic!("the mock: {}", String::from_utf8_lossy(&built.stderr))
            }
            _ => None,
        }
    });
    if built.is_none() {
        let required = std::env::var("MMFITS_CUDA_TOOLS").is_ok_and(|value| value == "required");
        assert!(
            !required,
            "there is no C++ compiler, which MMFITS_CUDA_TOOLS requires"
        );
        skipped("there is no C++ compiler for the mock driver");
    }
    built.as_deref()
}

/// Says why this test looks at nothing.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    // Past the harness, which keeps what tests print to itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
}

fn has_compiler() -> bool {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "g++".into());
    let tried = Command::new(compiler).arg("--version").output();
    tried.is_ok_and(|tried| tried.status.success())
}

/// A scene of this program in a child of its own, on the libraries of a folder.
pub fn scene(libraries: Option<&Path>, name: &str) -> Run {
    let program = std::env::current_exe().unwrap();
    let mut run = Run::new(&program, libraries);
    run.command
        .args(["--exact", "scene", "--ignored", "--nocapture", "--quiet"])
        .env(SCENE, name);
    run
}

/// The scene that this process is to play, if it is a child.
pub fn scene_asked() -> Option<String> {
    std::env::var(SCENE).ok()
}

/// A program, on the mock driver or on none.
pub struct Run {
    command: Command,
}

impl Run {
    /// With nothing of the environment that matters here.
    pub fn new(program: &Path, libraries: Option<&Path>) -> Self {
        let mut command = Command::new(program);
        for name in CLEARED {
            command.env_remove(name);
        }
        match libraries {
            Some(folder) => command.env("LD_LIBRARY_PATH", folder),
            None => command.env_remove("LD_LIBRARY_PATH"),
        };
        command.stdin(Stdio::null());
        // What the sanitizers' libraries want, where the mock was built with one.
        if let Some(library) = std::env::var_os("MMFITS_MOCK_PRELOAD") {
            command.env("LD_PRELOAD", library);
        }
        Self { command }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn args<S: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    pub fn dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Starts it; what it says goes into files.
    pub fn start(mut self) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create(folder.path().join(name)).unwrap();
        self.command.stdout(file("out")).stderr(file("err"));
        let said = format!("{:?}", self.command);
        Running {
            child: self.command.spawn().unwrap(),
            folder,
            said,
        }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ran {
        self.start().end()
    }
}

/// A child at work.
pub struct Running {
    pub child: Child,
    folder: tempfile::TempDir,
    said: String,
}

impl Running {
    /// Waits for its end; one that does not come to an end is killed, and this fails.
    pub fn end(mut self) -> Ran {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > LIMIT {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                panic!("it hangs: {}\n{}", self.said, self.text("err"));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let (stdout, stderr) = (self.text("out"), self.text("err"));
        Ran {
            status,
            stdout,
            stderr,
            said: self.said,
        }
    }

    fn text(&self, name: &str) -> String {
        let bytes = std::fs::read(self.folder.path().join(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// How a child ended.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    said: String,
}

impl Ran {
    /// All of it, for the message of a failure.
    pub fn told(&self) -> String {
        let Self {
            status,
            stdout,
            stderr,
            said,
        } = self;
        format!("{said}: {status}\n{stdout}\n{stderr}")
    }

    /// It has done what it was told.
    pub fn done(self) -> Self {
        assert!(self.status.success(), "{}", self.told());
        self
    }

    /// It ended with this status, and says these words on standard error.
    pub fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}", self.told());
        for word in words {
            assert!(
                self.stderr.contains(word),
                "no {word:?} from {}",
                self.told()
            );
        }
        self
    }

    /// What a scene has told by [`tell`], in its order.
    pub fn facts(&self, key: &str) -> Vec<&str> {
        let start = format!("\u{b6}{key} ");
        let lines = self.stdout.lines().chain(self.stderr.lines());
        lines.filter_map(|line| line.strip_prefix(&start)).collect()
    }
}

/// Tells something to whoever plays this scene.
pub fn tell(key: &str, fact: impl std::fmt::Display) {
    let fact = fact.to_string().replace('\n', " ");
    // One write: several threads may tell.
    let line = format!("\u{b6}{key} {fact}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Does `work` on all items, two at a time.
pub fn for_each<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    let queue = std::sync::Mutex::new(items.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(item) = next() {
                    work(item);
                }
            });
        }
    });
}
