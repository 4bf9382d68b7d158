//! The folder of an output under way, `OUT.mmconv/`: its job file and one journal a process.
//!
//! On network file systems a name that was looked up in vain may stay unknown for half a minute
//! after another machine has made it, while a listing of its folder shows it at once
//! (measured on two NFS clients: DECISIONS.md, "The journal"). So what is there is listed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::record::parse_all;
use super::writer::{Opening, Writer};
use super::{Job, JournalError, Record};

/// The files of one output under way.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// What the journals of an output say.
#[derive(Debug, Default)]
pub struct Stored {
    /// The records of each plane, in file order. More than one, where it was stored more than
    /// once.
    pub planes: Vec<Vec<Record>>,
    /// Planes whose records are older than the last start of their machine and were not made to
    /// outlive it: their bytes may never have reached the disk.
    pub doubtful: Vec<u64>,
    /// Journals read.
    pub journals: usize,
    /// Journals with a torn last record, as of a process that died.
    pub torn: usize,
}

impl Stored {
    /// Which planes have no record.
    #[must_use]
    pub fn missing(&self) -> Vec<u64> {
        let planes = (0..).zip(&self.planes);
        let missing = planes.filter(|(_, records)| records.is_empty());
        missing.map(|(plane, _)| plane).collect()
    }
}

impl Folder {
    /// The folder of this output: `NAME.mmconv` beside it.
    #[must_use]
    pub fn of(output: &Path) -> Self {
        let mut name = output.file_name().unwrap_or_default().to_os_string();
        name.push(".mmconv");
        Self {
            path: output.with_file_name(name),
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The job file's path.
    #[must_use]
    pub fn job_path(&self) -> PathBuf {
        self.path.join("job")
    }

    /// A file of this name in the folder, for what is published with the output.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A name for a file in the folder that no other process has.
    #[must_use]
    pub fn unique_file(&self, label: &str) -> String {
        unique(label).to_string_lossy().into_owned()
    }

    fn journals(&self) -> PathBuf {
        self.path.join("j")
    }

    /// The job under way; `None` where there is none.
    ///
    /// # Errors
    /// [`JournalError::Read`], [`JournalError::NotAJob`].
    pub fn job(&self) -> Result<Option<Job>, JournalError> {
        let path = self.job_path();
        if !is_listed(&path).map_err(|error| read_error(&self.path, error))? {
            return Ok(None);
        }
        match fs::read(&path) {
            Ok(bytes) => {
                let job = std::str::from_utf8(&bytes).ok().and_then(Job::parse);
                job.map(Some).ok_or(JournalError::NotAJob { path })
            }
            // Removed between the listing and now, by whoever finished it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(read_error(&path, error)),
        }
    }

    /// Refuses to go on with the job `found` here, of which `stored` planes are, where another is
    /// `asked` for.
    ///
    /// # Errors
    /// [`JournalError::OtherJob`].
    pub fn check(&self, found: &Job, asked: &Job, stored: u64) -> Result<(), JournalError> {
        let differences = found.differences(asked);
        if differences.is_empty() {
            return Ok(());
        }
        Err(JournalError::OtherJob {
            folder: self.path.clone(),
            stored,
            differences,
        })
    }

    /// Makes the folder for a new job, after whatever was left there.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn begin(&self, job: &Job) -> Result<(), JournalError> {
        self.remove()?;
        self.make()?;
        self.offer(job).map(|_| ())
    }

    /// Makes the folder; it may be there.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn make(&self) -> Result<(), JournalError> {
        let journals = self.journals();
        let made = DirBuilder::new().recursive(true).create(&journals);
        made.map_err(|source| write_error(&journals, source))
    }

    /// Makes this the job, unless there is one; tells whether it did. Of several processes that
    /// do so at once one wins: link(2) is atomic on network file systems, too.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn offer(&self, job: &Job) -> Result<bool, JournalError> {
        let path = self.path.join(unique("job"));
        let failed = |source| write_error(&path, source);
        let written = write_new(&path, job.render().as_bytes()).map_err(failed);
        let linked = written.and_then(|()| match fs::hard_link(&path, self.job_path()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // A file system without links: two at once cannot be told apart there.
            Err(error) if no_links(&error) && !self.job_path().exists() => {
                fs::rename(&path, self.job_path()).map_err(failed)?;
                Ok(true)
            }
            Err(source) => Err(failed(source)),
        });
        let _ = fs::remove_file(&path);
        linked
    }

    /// A journal of this process. `label` begins its name.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn journal(&self, label: &str, opening: &Opening) -> Result<Writer, JournalError> {
        Writer::create(self.journals().join(unique(label)), opening)
    }

    /// All that the journals of one piece of work say of `planes` planes. `boot` names the time since
    /// the machine's last start, if that is known; `work` is what the journals' opening lines say.
    ///
    /// # Errors
    /// [`JournalError::Read`].
    pub fn stored(
        &self,
        planes: u64,
        boot: Option<&str>,
        work: &str,
    ) -> Result<Stored, JournalError> {
        let mut stored = Stored {
            planes: (0..planes).map(|_| Vec::new()).collect(),
            ..Stored::default()
        };
        let mut sure = vec![false; stored.planes.len()];
        for path in list(&self.journals())? {
            let Some(bytes) = read(&path)? else { continue };
            let (opening, records, torn) = contents(&bytes);
            // A process that came late may have begun its journal in the folder of other work.
            if opening.as_ref().is_some_and(|opening| opening.work != work) {
                continue;
            }
            stored.journals += 1;
            stored.torn += usize::from(torn);
            let trusted = opening.is_some_and(|opening| opening.is_trusted(boot));
            for record in records {
                let place = usize::try_from(record.plane).unwrap_or(usize::MAX);
                let Some(known) = stored.planes.get_mut(place) else {
                    continue;
                };
                if let Some(sure) = sure.get_mut(place) {
                    *sure |= trusted;
                }
                if !known.contains(&record) {
                    known.push(record);
                }
            }
        }
        let doubtful = (0..).zip(&stored.planes).zip(sure);
        let doubtful = doubtful.filter(|((_, records), sure)| !records.is_empty() && !sure);
        stored.doubtful = doubtful.map(|((plane, _), _)| plane).collect();
        Ok(stored)
    }

    /// Removes the folder and all in it; nothing happens where there is none.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn remove(&self) -> Result<(), JournalError> {
        match self.path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(read_error(&self.path, error)),
            Ok(metadata) if metadata.is_dir() => self.remove_ours(),
            Ok(_) => Err(self.foreign()),
        }
    }

    /// Removes what this program makes. Anything else is somebody's, and then nothing is removed.
    fn remove_ours(&self) -> Result<(), JournalError> {
        let files = list(&self.path)?;
        if !files.iter().all(|path| is_ours(path)) {
            return Err(self.foreign());
        }
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(write_error(&self.path, error))
            }
            _ => Ok(()),
        };
        // The job first: what has none is nobody's.
        gone(fs::remove_file(self.job_path()))?;
        gone(fs::remove_dir_all(self.journals()))?;
        for path in files {
            if path != self.journals() {
                gone(fs::remove_file(path))?;
            }
        }
        gone(fs::remove_dir(&self.path))
    }

    fn foreign(&self) -> JournalError {
        JournalError::Foreign {
            path: self.path.clone(),
        }
    }
}

/// Whether a file in the folder has a name that this program gives.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let labels = ["job.", "rest.", "beamlog.", "log.", "done."];
    name == "job" || name == "j" || labels.iter().any(|label| name.starts_with(label))
}

/// The opening line of a journal, its whole records, and whether something else follows.
fn contents(bytes: &[u8]) -> (Option<Opening>, Vec<Record>, bool) {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let Some((line, rest)) = end.and_then(|end| bytes.split_at_checked(end + 1)) else {
        return (None, Vec::new(), !bytes.is_empty());
    };
    match std::str::from_utf8(line).ok().and_then(Opening::parse) {
        Some(opening) => {
            let (records, torn) = parse_all(rest);
            (Some(opening), records, torn)
        }
        None => (None, Vec::new(), true),
    }
}

/// The files of a folder, by name; none where there is no folder.
fn list(folder: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let failed = |source| read_error(folder, source);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// The bytes of a journal; `None` where it was removed meanwhile.
fn read(path: &Path) -> Result<Option<Vec<u8>>, JournalError> {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    match file {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(read_error(path, error)),
    }
}

/// Whether the listing of its folder has this file.
///
/// # Errors
/// What the system said of the folder.
pub fn is_listed(path: &Path) -> io::Result<bool> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = match fs::read_dir(folder.unwrap_or(Path::new("."))) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    for entry in entries {
        if Some(&*entry?.file_name()) == path.file_name() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

fn no_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
    )
}

/// A name that no other process has: this machine's name, the process, and a random number.
fn unique(label: &str) -> OsString {
    let mut name = OsString::from(label);
    name.push(".");
    name.push(host());
    let random = RandomState::new().build_hasher().finish();
    name.push(format!(".{}.{random:016x}", std::process::id()));
    name
}

/// The machine's name, in letters that any file system takes.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let letter = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let name: String = name.trim().chars().filter(letter).take(40).collect();
    if name.is_empty() {
        "host".to_owned()
    } else {
        name
    }
}

fn read_error(path: &Path, source: io::Error) -> JournalError {
    let path = path.to_owned();
    JournalError::Read { path, source }
}

fn write_error(path: &Path, source: io::Error) -> JournalError {
    let path = path.to_owned();
    JournalError::Write { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        let mut job = Job::default();
        job.set("planes", 5);
        job
    }

    fn record(plane: u64) -> Record {
        Record {
            plane,
            ..Record::default()
        }
    }

    fn opening(boot: &str, durable: bool) -> Opening {
        Opening {
            boot: Some(boot.to_owned()),
            durable,
            work: String::new(),
        }
    }

    #[test]
    fn journals_of_other_work_do_not_count() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(&place.path().join("out.fits"));
        folder.begin(&job()).unwrap();
        for (plane, work) in [(0, "a"), (1, "b"), (2, "")] {
            let opening = Opening {
                work: work.to_owned(),
                ..opening("now", true)
            };
            let mut journal = folder.journal("x", &opening).unwrap();
            journal.append(&record(plane), 1).unwrap();
        }
        for (work, missing) in [("a", [1, 2, 3, 4]), ("b", [0, 2, 3, 4]), ("", [0, 1, 3, 4])] {
            assert_eq!(folder.stored(5, None, work).unwrap().missing(), missing);
        }
    }

    #[test]
    fn what_is_not_ours_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(&place.path().join("out.fits"));
        folder.begin(&job()).unwrap();
        fs::write(folder.file("notes"), "precious").unwrap();
        assert!(matches!(folder.remove(), Err(JournalError::Foreign { .. })));
        assert_eq!(folder.job().unwrap(), Some(job()));
        fs::remove_file(folder.file("notes")).unwrap();
        folder.remove().unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path()).unwrap();
        assert!(matches!(folder.remove(), Err(JournalError::Foreign { .. })));
    }

    #[test]
    fn the_first_job_offered_stays() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(&place.path().join("out.fits"));
        assert_eq!(folder.job().unwrap(), None);
        folder.make().unwrap();
        let mut other = job();
        other.set("planes", 6);
        assert!(folder.offer(&job()).unwrap());
        assert!(!folder.offer(&other).unwrap());
        assert_eq!(folder.job().unwrap(), Some(job()));
        folder.begin(&other).unwrap();
        assert_eq!(folder.job().unwrap(), Some(other));
        let names = list(folder.path()).unwrap();
        assert_eq!(names, [folder.path().join("j"), folder.path().join("job")]);
        folder.remove().unwrap();
        folder.remove().unwrap();
        assert!(list(place.path()).unwrap().is_empty());
    }

    #[test]
    fn a_changed_job_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(&place.path().join("out.fits"));
        folder.begin(&job()).unwrap();
        let text = fs::read_to_string(folder.job_path()).unwrap();
        fs::write(folder.job_path(), text.replace('5', "4")).unwrap();
        assert!(matches!(folder.job(), Err(JournalError::NotAJob { .. })));
    }

    #[test]
    fn the_truth_is_all_journals_together() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(&place.path().join("out.fits"));
        folder.begin(&job()).unwrap();
        let now = opening("now", false);
        let mut first = folder.journal("0of2", &now).unwrap();
        first.append(&record(1), 10).unwrap();
        first.append(&record(4), 10).unwrap();
        let mut second = folder.journal("1of2", &now).unwrap();
        second.append(&record(4), 10).unwrap();
        second.append(&record(9), 10).unwrap();
        fs::write(folder.path().join("j").join("junk"), [0; 99]).unwrap();
        let stored = folder.stored(5, Some("now"), "").unwrap();
        assert_eq!(stored.missing(), [0, 2, 3]);
        assert_eq!(stored.planes[4], [record(4)]);
        assert_eq!((stored.journals, stored.torn), (3, 1));
        assert!(stored.doubtful.is_empty());
    }

    #[test]
    fn what_the_machine_may_have_forgotten_is_in_doubt() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(&place.path().join("out.fits"));
        folder.begin(&job()).unwrap();
        for (plane, boot, durable) in [
            (0, "before", false),
            (1, "before", true),
            (2, "now", false),
            (3, "before", false),
            (3, "now", false),
        ] {
            let mut journal = folder.journal("x", &opening(boot, durable)).unwrap();
            journal.append(&record(plane), 1).unwrap();
        }
        assert_eq!(folder.stored(5, Some("now"), "").unwrap().doubtful, [0]);
        assert_eq!(folder.stored(5, None, "").unwrap().doubtful, [0, 2, 3]);
    }
}
