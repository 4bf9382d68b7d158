//! File systems made for one test: mounted if this process may mount, taken away at its end.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A mounted file system in a folder of its own.
pub struct Place {
    /// Where it is mounted.
    pub path: PathBuf,
    folder: TempDir,
}

impl Place {
    /// In memory, of so many bytes. `None` where this process may not mount.
    pub fn tmpfs(bytes: u64) -> Option<Self> {
        let options = format!("size={bytes}");
        Self::mounted(tempfile::tempdir().unwrap(), |target| {
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]);
            mount.arg(target);
            mount
        })
    }

    /// Of this type, with these options of its making, on a file of so many bytes in `folder`.
    pub fn on_loop(folder: TempDir, options: &[&str], bytes: u64) -> Option<Self> {
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let mut make = Command::new("mkfs.ext4");
        make.args(["-q", "-F", "-b", "4096", "-m", "0"]);
        make.args(options).arg(&image);
        if !done(&mut make) {
            return skipped("there is no mkfs.ext4");
        }
        Self::mounted(folder, |target| {
            let mut mount = Command::new("mount");
            mount.args(["-o", "loop"]).arg(&image).arg(target);
            mount
        })
    }

    fn mounted(folder: TempDir, mount: impl FnOnce(&Path) -> Command) -> Option<Self> {
        let path = folder.path().join("mounted");
        fs::create_dir(&path).unwrap();
        if !done(&mut mount(&path)) {
            return skipped("this process may not mount file systems");
        }
        let _ = fs::remove_dir(path.join("lost+found"));
        Some(Self { path, folder })
    }

    /// Changes a mount option.
    pub fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        let mut mount = Command::new("mount");
        assert!(done(mount.args(["-o", &option]).arg(&self.path)));
    }

    /// The file behind a loop device.
    pub fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    /// The names in it, sorted.
    pub fn names(&self) -> Vec<String> {
        names(&self.path)
    }

    /// Free bytes, as for any user.
    pub fn free_bytes(&self) -> u64 {
        let mut df = Command::new("df");
        let out = df.args(["-B1", "--output=avail"]).arg(&self.path).output();
        let text = String::from_utf8(out.unwrap().stdout).unwrap();
        text.lines().last().unwrap().trim().parse().unwrap()
    }

    /// Leaves so many bytes free, about.
    pub fn fill_but(&self, bytes: u64) -> PathBuf {
        let path = self.path.join("filler");
        let mut file = fs::File::create(&path).unwrap();
        let length = self.free_bytes().saturating_sub(bytes);
        file.write_all(&vec![1; length as usize]).unwrap();
        file.sync_all().unwrap();
        path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        if !done(unmount.arg("-l").arg(&self.path)) {
            say("a file system of a test stays mounted");
        }
    }
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Whether a program could be started and has done what it was told.
pub fn done(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Tells that a test looks at nothing, past the harness, which keeps what tests print to itself.
pub fn skipped<T>(why: &str) -> Option<T> {
    let thread = std::thread::current();
    say(&format!("SKIPPED {}: {why}", thread.name().unwrap_or("")));
    None
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "machine_faults: {text}");
}
