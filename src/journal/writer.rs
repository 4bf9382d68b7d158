//! One process's journal, being written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{JournalError, Record};

const TITLE: &str = "mmconv journal 1";

/// Planes are made durable together after this time, or this many bytes of them.
const BATCH_TIME: Duration = Duration::from_secs(1);
const BATCH_BYTES: u64 = 256 << 20;

/// The first line of a journal: how far its records can be believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Names the time between two starts of the machine; `None` where that is not known.
    pub boot: Option<String>,
    /// Whether the bytes of a plane were on the disk before its record was.
    pub durable: bool,
    /// Names the work that several processes share, in one word; nothing for one process's own.
    pub work: String,
}

impl Opening {
    /// Whether the bytes that records tell of are surely there, `boot` being now.
    pub(super) fn is_trusted(&self, boot: Option<&str>) -> bool {
        self.durable || (boot.is_some() && self.boot.as_deref() == boot)
    }

    fn render(&self) -> String {
        let boot = self.boot.as_deref().unwrap_or("unknown");
        format!(
            "{TITLE} boot={boot} durable={} work={}\n",
            self.durable, self.work
        )
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        let words = line.strip_prefix(TITLE)?.strip_suffix('\n')?;
        let mut words = words.split(' ').skip(1);
        let boot = words.next()?.strip_prefix("boot=")?;
        let durable = words.next()?.strip_prefix("durable=")?;
        let work = words.next()?.strip_prefix("work=")?;
        Some(Self {
            boot: (boot != "unknown").then(|| boot.to_owned()),
            durable: durable.parse().ok()?,
            work: work.to_owned(),
        })
    }
}

/// What names the time since this machine's last start.
#[must_use]
pub fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let text = text.trim();
    (!text.is_empty() && !text.contains(' ')).then(|| text.to_owned())
}

/// A journal that records are appended to.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    /// Rendered records: one, or with `durable` those that wait.
    records: Vec<u8>,
    durable: Option<Durable>,
    /// How many records wait, and how many are written.
    waiting: u64,
    written: u64,
    /// A write failed. What would follow it could not be read; and the system tells only once that
    /// bytes did not reach the disk.
    failed: bool,
}

/// What waits until it is on the disk.
#[derive(Debug)]
struct Durable {
    /// The output: its bytes go to the disk before their records.
    data: File,
    bytes: u64,
    since: Instant,
}

impl Writer {
    /// Makes the file, which must be new.
    pub(super) fn create(path: PathBuf, opening: &Opening) -> Result<Self, JournalError> {
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let failed = |source| JournalError::Write {
            path: path.clone(),
            source,
        };
        let mut file = file.map_err(failed)?;
        file.write_all(opening.render().as_bytes())
            .map_err(failed)?;
        Ok(Self {
            file,
            path,
            records: Vec::new(),
            durable: None,
            waiting: 0,
            written: 0,
            failed: false,
        })
    }

    /// From now on a record is written after the bytes of its plane, and those before it, are on
    /// the disk: `data` is their file.
    ///
    /// # Errors
    /// [`JournalError::Write`]: the journal's own name did not reach the disk.
    pub fn make_durable(&mut self, data: File) -> Result<(), JournalError> {
        let folders = self.path.ancestors().skip(1).take(3);
        for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|source| self.failed(source))?;
        }
        self.durable = Some(Durable {
            data,
            bytes: 0,
            since: Instant::now(),
        });
        Ok(())
    }

    /// Adds a record of a plane of `plane_bytes` bytes, which are in their file.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn append(&mut self, record: &Record, plane_bytes: u64) -> Result<(), JournalError> {
        let first = self.records.is_empty();
        record.render(&mut self.records);
        self.waiting += 1;
        let Some(durable) = &mut self.durable else {
            return self.flush();
        };
        if first {
            durable.since = Instant::now();
            durable.bytes = 0;
        }
        durable.bytes = durable.bytes.saturating_add(plane_bytes);
        if durable.bytes >= BATCH_BYTES || durable.since.elapsed() >= BATCH_TIME {
            return self.flush();
        }
        Ok(())
    }

    /// Writes what waits for the disk.
    ///
    /// # Errors
    /// [`JournalError::Write`].
    pub fn flush(&mut self) -> Result<(), JournalError> {
        if self.records.is_empty() {
            return Ok(());
        }
        let written = self.write_records();
        self.records.clear();
        let count = std::mem::take(&mut self.waiting);
        match written {
            Ok(()) => self.written += count,
            Err(_) => self.failed = true,
        }
        written
    }

    /// How many records are written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    fn write_records(&mut self) -> Result<(), JournalError> {
        if self.failed {
            let earlier = io::Error::other("an earlier write failed");
            return Err(self.failed(earlier));
        }
        if let Some(durable) = &self.durable {
            let synced = durable.data.sync_data();
            synced.map_err(|source| JournalError::Data { source })?;
        }
        let written = self.file.write_all(&self.records);
        let written = written.and_then(|()| match &self.durable {
            Some(_) => self.file.sync_data(),
            None => Ok(()),
        });
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> JournalError {
        let path = self.path.clone();
        JournalError::Write { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Folder, Job};

    #[test]
    fn openings_are_read_as_they_are_written() {
        for opening in [
            Opening::default(),
            Opening {
                boot: boot(),
                durable: true,
                work: "rest.host.1.2".to_owned(),
            },
        ] {
            assert_eq!(Opening::parse(&opening.render()), Some(opening));
        }
        assert_eq!(
            Opening::parse("mmconv journal 2 boot=x durable=true work=\n"),
            None
        );
        assert_eq!(
            Opening::parse("mmconv journal 1 boot=x durable=true work=a"),
            None
        );
    }

    #[test]
    fn durable_records_wait_for_their_batch() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::of(&place.path().join("out"));
        folder.begin(&Job::default()).unwrap();
        let opening = Opening {
            boot: None,
            durable: true,
            work: String::new(),
        };
        let mut journal = folder.journal("x", &opening).unwrap();
        journal.make_durable(tempfile::tempfile().unwrap()).unwrap();
        let record = |plane| Record {
            plane,
            ..Record::default()
        };
        journal.append(&record(0), 1).unwrap();
        let missing = || folder.stored(3, None, "").unwrap().missing();
        assert_eq!(missing(), [0, 1, 2]);
        journal.append(&record(1), BATCH_BYTES).unwrap();
        assert_eq!(missing(), [2]);
        journal.append(&record(2), 1).unwrap();
        assert_eq!(missing(), [2]);
        journal.flush().unwrap();
        assert!(missing().is_empty());
    }
}
