//! An output whose blocks are reserved, mapped or written by position, handed out as disjoint
//! slots.

use std::fs::{File, OpenOptions, TryLockError};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use memmap2::{MmapMut, MmapOptions};

use super::behind::Behind;
use super::filesystem::network_file_system;
use super::guard::{Kind, Registration};
use super::reserve::{Reserve, Start, reserve};
use super::slot::Slot;
use super::{FileId, MapError};

/// How bytes get into an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// Mapped, where its file system is local and can map; written by position elsewhere.
    #[default]
    Auto,
    /// Mapped: bytes are made where they belong.
    Map,
    /// Written by position, from small buffers.
    Write,
}

/// A file that is locked against a second writer, and as it was before.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    file: File,
}

impl Claim {
    /// Locks the file at `path`, which is made if it is not there. The lock is advisory and ends
    /// with the process.
    ///
    /// # Errors
    /// [`MapError::Create`], [`MapError::Locked`].
    pub fn of(path: &Path) -> Result<Self, MapError> {
        Self::locked(path, Linked::Dropped)
    }

    /// As [`of`](Self::of), of a file to go on with: one that has a second name, as a backup has,
    /// is left alone.
    ///
    /// # Errors
    /// [`MapError::Create`], [`MapError::Locked`], [`MapError::Linked`].
    pub fn of_unfinished(path: &Path) -> Result<Self, MapError> {
        Self::locked(path, Linked::Refused)
    }

    fn locked(path: &Path, linked: Linked) -> Result<Self, MapError> {
        let file = open_locked(path, linked)?;
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Makes it `len_bytes` long and zero.
    ///
    /// # Errors
    /// [`MapError::Reserve`], [`MapError::TooLarge`], [`MapError::Map`]. The file is gone then.
    pub fn create(self, len_bytes: u64, io: Io) -> Result<Target, MapError> {
        let Self { path, file } = self;
        let made = Target::made(&path, file, (len_bytes, Start::Zero), io);
        made.map_err(|(file, error)| {
            // While the lock is held, so that it is no other run's file that goes.
            let _ = std::fs::remove_file(&path);
            drop(file);
            error
        })
    }

    /// Takes it as it is, which must be `len_bytes` long.
    ///
    /// # Errors
    /// [`MapError::Length`], [`MapError::Reserve`], [`MapError::TooLarge`], [`MapError::Map`]. The
    /// file is left as it is.
    pub fn reopen(self, len_bytes: u64, io: Io) -> Result<Target, MapError> {
        let metadata = self.file.metadata();
        let found_bytes = metadata.map_err(|source| MapError::Open { source })?.len();
        if found_bytes != len_bytes {
            return Err(MapError::Length {
                found_bytes,
                len_bytes,
            });
        }
        let start = (len_bytes, Start::AsItIs);
        Target::made(&self.path, self.file, start, io).map_err(|(_, error)| error)
    }
}

/// A file being made: reserved, and locked against a second writer.
#[derive(Debug)]
pub struct Target {
    /// Of the map; before it, as nothing is listed that is not mapped.
    entry: Option<Registration>,
    /// `None` if it is written by position.
    map: Option<MmapMut>,
    file: File,
    len_bytes: u64,
    /// Whether a write may fail long after it was made: on a network, or without blocks reserved.
    fails_late: bool,
}

impl Target {
    /// Creates (or takes over) the file at `path` with `len_bytes` zero bytes.
    ///
    /// The lock is advisory and ends with the process, so a file left by a crash is taken over,
    /// while one that another run is still writing is left alone.
    ///
    /// # Errors
    /// As those of [`Claim::of`] and [`Claim::create`].
    pub fn create(path: &Path, len_bytes: u64, io: Io) -> Result<Self, MapError> {
        if usize::try_from(len_bytes).is_err() {
            return Err(MapError::TooLarge { len_bytes });
        }
        Claim::of(path)?.create(len_bytes, io)
    }

    fn made(
        path: &Path,
        file: File,
        (len_bytes, start): (u64, Start),
        io: Io,
    ) -> Result<Self, (File, MapError)> {
        if usize::try_from(len_bytes).is_err() {
            return Err((file, MapError::TooLarge { len_bytes }));
        }
        let on_network = network_file_system(path).is_some();
        let made = match io {
            Io::Map => Self::mapped(file, len_bytes, start),
            Io::Write => Self::written(file, len_bytes, start),
            Io::Auto if on_network => Self::written(file, len_bytes, start),
            Io::Auto => Self::mapped(file, len_bytes, start).or_else(|(file, error)| {
                if cannot_map(&error) {
                    Self::written(file, len_bytes, start)
                } else {
                    Err((file, error))
                }
            }),
        };
        made.map(|target| Self {
            entry: target.bytes().map(|map| {
                let place = (map.as_ptr().addr(), map.len());
                Registration::new(Kind::Output, path, place)
            }),
            fails_late: target.fails_late || on_network,
            ..target
        })
    }

    /// On failure the file comes back, its lock still held.
    fn mapped(file: File, len_bytes: u64, start: Start) -> Result<Self, (File, MapError)> {
        if let Err(source) = reserve(&file, len_bytes, (Reserve::Surely, start)) {
            return Err((file, MapError::Reserve { len_bytes, source }));
        }
        // `create` has checked that the length is a `usize`.
        let mut options = MmapOptions::new();
        options.len(len_bytes as usize);
        // SAFETY: `reserve` has made the file this long, so no page of the map lies beyond its
        // end; and `open_locked` has locked it against other runs of ours (or the file system has
        // no locks, and the user's promise stands alone), so nothing else writes or maps it.
        match unsafe { options.map_mut(&file) } {
            Ok(map) => Ok(Self {
                entry: None,
                map: Some(map),
                file,
                len_bytes,
                fails_late: false,
            }),
            Err(source) => Err((file, MapError::Map { len_bytes, source })),
        }
    }

    /// As above, without a map.
    fn written(file: File, len_bytes: u64, start: Start) -> Result<Self, (File, MapError)> {
        match reserve(&file, len_bytes, (Reserve::IfPossible, start)) {
            Ok(reserved) => Ok(Self {
                entry: None,
                map: None,
                file,
                len_bytes,
                fails_late: !reserved,
            }),
            Err(source) => Err((file, MapError::Reserve { len_bytes, source })),
        }
    }

    /// All bytes; `None` where they are written by position.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.map.as_deref()
    }

    /// A second handle of the file, to read it or to wait for its disk.
    ///
    /// # Errors
    /// [`MapError::Open`].
    pub fn file(&self) -> Result<File, MapError> {
        let file = self.file.try_clone();
        file.map_err(|source| MapError::Open { source })
    }

    /// Whether a write may fail long after it was made: on a network, or without blocks reserved.
    #[must_use]
    pub fn fails_late(&self) -> bool {
        self.fails_late
    }

    /// From now on a write counts as one that may fail late: [`close`](Self::close) waits for the
    /// disk.
    pub fn make_durable(&mut self) {
        self.fails_late = true;
    }

    /// As [`Source::set_pieces`](super::Source::set_pieces).
    pub fn set_pieces(&self, range: &Range<u64>, piece_bytes: u64) {
        if let Some(entry) = &self.entry {
            entry.set_pieces(range, piece_bytes);
        }
    }

    /// Stores `bytes` at byte `at` of the file.
    ///
    /// # Errors
    /// [`MapError::Range`] where they do not fit, [`MapError::Write`].
    pub fn write_at(&mut self, at: u64, bytes: &[u8]) -> Result<(), MapError> {
        let end = at.saturating_add(bytes.len() as u64);
        let range = MapError::Range {
            start_bytes: at,
            end_bytes: end,
            free_from_bytes: 0,
            len_bytes: self.len_bytes,
        };
        if end > self.len_bytes {
            return Err(range);
        }
        // Of a map too: a first touch would start the page cache reading ahead.
        self.file
            .write_all_at(bytes, at)
            .map_err(|source| MapError::Write {
                at_bytes: at,
                source,
            })
    }

    /// The bytes of each range, which must ascend and not overlap: slots that threads can fill at
    /// the same time; and what writes them to the disk behind the threads.
    ///
    /// # Errors
    /// [`MapError::Range`] for a range that goes back or leaves the file.
    pub fn slots<I>(&mut self, ranges: I) -> Result<(Vec<Slot<'_>>, Behind<'_>), MapError>
    where
        I: IntoIterator<Item = Range<u64>>,
    {
        let file = &self.file;
        // SAFETY: the map is shared, and this borrows it for as long as the value lives.
        let behind = unsafe { Behind::new(file, self.map.as_deref()) };
        let ranges = ascending(ranges, self.len_bytes)?;
        let memory = match &mut self.map {
            Some(map) => disjoint(map, &ranges)?.into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        let memory = memory.into_iter().chain(std::iter::repeat_with(|| None));
        let slots = ranges.into_iter().zip(memory);
        let slots = slots.map(|(range, memory)| Slot::new(file, range, memory));
        let slots = slots.collect();
        Ok((slots, behind))
    }

    /// Unmaps it and keeps it locked: the lock ends when the value returned is dropped. Where a
    /// write may fail long after it was made, this waits for all of them.
    ///
    /// # Errors
    /// [`MapError::Sync`]: something written before did not reach the disk.
    pub fn close(self) -> Result<File, MapError> {
        let Self {
            entry,
            map,
            file,
            fails_late,
            ..
        } = self;
        drop(entry);
        drop(map);
        if fails_late {
            file.sync_data()
                .map_err(|source| MapError::Sync { source })?;
        }
        Ok(file)
    }
}

/// Whether this says that the file system cannot map for writing, or not without the risk of a
/// signal, where it may well write.
fn cannot_map(error: &MapError) -> bool {
    match error {
        MapError::Map { .. } => true,
        MapError::Reserve { source, .. } => {
            matches!(source.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
        }
        _ => false,
    }
}

/// What becomes of a working file that has another name as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linked {
    /// This name goes, and the file is left alone.
    Dropped,
    /// It is refused.
    Refused,
}

/// How often the file may vanish under us before we give up; each time means that another run
/// published or dropped it between our opening and our locking.
const TAKEOVERS: usize = 100;

/// Opens or creates the file at `path` and locks it; what is locked is what `path` names.
fn open_locked(path: &Path, linked: Linked) -> Result<File, MapError> {
    let create = |source| MapError::Create { source };
    for _ in 0..TAKEOVERS {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            // A link at this name leads to somebody else's file.
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map_err(create)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(MapError::Locked),
            // A file system without locks: the run goes on, as it would without this check.
            Err(TryLockError::Error(_)) => {}
        }
        // A run that ended just now may have given this very file its final name: writing to it
        // then would destroy a finished output.
        let metadata = file.metadata().map_err(create)?;
        let named = FileId::at(path).map_err(create)? == Some(FileId::of(&metadata));
        if named && metadata.nlink() == 1 {
            return Ok(file);
        }
        // So may one that was killed before it could drop the working name.
        if named && linked == Linked::Refused {
            return Err(MapError::Linked);
        }
        if named {
            std::fs::remove_file(path).map_err(create)?;
        }
    }
    Err(MapError::Locked)
}

/// The ranges, after a check that each begins where the one before it ends or later, and that the
/// last ends within the file.
fn ascending<I>(ranges: I, len_bytes: u64) -> Result<Vec<Range<u64>>, MapError>
where
    I: IntoIterator<Item = Range<u64>>,
{
    let mut free_from_bytes = 0;
    let checked = ranges.into_iter().map(|range| {
        let Range { start, end } = range;
        if start < free_from_bytes || end < start || end > len_bytes {
            return Err(MapError::Range {
                start_bytes: start,
                end_bytes: end,
                free_from_bytes,
                len_bytes,
            });
        }
        free_from_bytes = end;
        Ok(range)
    });
    checked.collect()
}

/// The bytes of ranges that ascend.
fn disjoint<'b>(bytes: &'b mut [u8], ranges: &[Range<u64>]) -> Result<Vec<&'b mut [u8]>, MapError> {
    let len_bytes = bytes.len() as u64;
    let mut rest = bytes;
    let mut free_from_bytes = 0;
    let mut slots = Vec::with_capacity(ranges.len());
    for &Range { start, end } in ranges {
        let wrong = MapError::Range {
            start_bytes: start,
            end_bytes: end,
            free_from_bytes,
            len_bytes,
        };
        // Both differences are at most the file's length, which is a `usize`.
        let (skip, take) = ((start - free_from_bytes) as usize, (end - start) as usize);
        let Some((_, after)) = rest.split_at_mut_checked(skip) else {
            return Err(wrong);
        };
        let Some((slot, after)) = after.split_at_mut_checked(take) else {
            return Err(wrong);
        };
        slots.push(slot);
        rest = after;
        free_from_bytes = end;
    }
    Ok(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_where_they_were_asked_for() {
        let mut bytes = *b"0123456789";
        let slots = disjoint(&mut bytes, &[1..3, 3..4, 7..10]).unwrap();
        assert_eq!(slots, [&b"12"[..], b"3", b"789"]);
    }

    #[test]
    fn overlapping_or_outside_is_refused() {
        let backwards = Range { start: 4, end: 3 };
        for ranges in [[2..5, 4..6], [0..1, 5..11], [backwards, 8..9]] {
            assert!(matches!(ascending(ranges, 10), Err(MapError::Range { .. })));
        }
    }

    #[test]
    fn a_second_writer_is_refused_while_the_first_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.part");
        let first = Target::create(&path, 5000, Io::Map).unwrap();
        assert!(matches!(
            Target::create(&path, 10, Io::Write),
            Err(MapError::Locked)
        ));
        drop(first);
        Target::create(&path, 10, Io::Write).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), [0; 10]);
    }

    #[test]
    fn a_file_that_has_its_final_name_too_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (part, output) = (folder.path().join("x.part"), folder.path().join("x"));
        std::fs::write(&part, "finished").unwrap();
        std::fs::hard_link(&part, &output).unwrap();
        Target::create(&part, 3, Io::Auto).unwrap();
        assert_eq!(std::fs::read(&output).unwrap(), b"finished");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (part, other) = (folder.path().join("x.part"), folder.path().join("other"));
        std::fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&other, &part).unwrap();
        assert!(matches!(
            Target::create(&part, 3, Io::Auto),
            Err(MapError::Create { .. })
        ));
        assert_eq!(std::fs::read(&other).unwrap(), b"precious");
    }

    #[test]
    fn blocks_are_really_reserved() {
        let folder = tempfile::tempdir().unwrap();
        for io in [Io::Map, Io::Write] {
            let path = folder.path().join("x.part");
            let _target = Target::create(&path, 1 << 20, io).unwrap();
            let metadata = std::fs::metadata(&path).unwrap();
            assert_eq!(metadata.len(), 1 << 20);
            assert!(metadata.blocks() * 512 >= 1 << 20);
        }
    }
}
