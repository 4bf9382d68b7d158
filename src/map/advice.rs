//! What the kernel is told about bytes that are, or were, in its page cache.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Made ready in one go. Small, because the page cache then takes small pieces of memory, which
/// are likelier to be at hand (DECISIONS, "Outputs").
const READY_BYTES: usize = 64 << 10;

static ZEROS: [u8; READY_BYTES] = [0; READY_BYTES];

/// How the pages of an output's map are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// By a small write of zeros. A first touch of the map would have the page cache read ahead:
    /// megabytes at a time, from blocks that hold nothing. But a file takes one write at a time.
    Zeros,
    /// By a first touch, which any number of threads can do at once.
    First,
}

/// With more threads than this, an output's pages are made by a first touch: what one core makes of
/// pixels is a tenth of what a file takes in writes (DECISIONS.md, "Stores").
const MOST_WRITERS: usize = 4;

impl Touch {
    /// How this many threads make the pages of one output.
    #[must_use]
    pub fn by_threads(threads: usize) -> Self {
        if threads > MOST_WRITERS {
            Self::First
        } else {
            Self::Zeros
        }
    }
}

/// Makes bytes of an output's map ready to be filled: `room` is where byte `at` of `file` and the
/// following ones are mapped. They hold zeros, or what was there before. The pages are then
/// mapped in one call, instead of one fault each.
///
/// # Errors
/// What the system said: no space, a failing disk. A plain first touch would end the process with
/// SIGBUS then.
pub(super) fn make_ready(file: &File, at: u64, room: &mut [u8], touch: Touch) -> io::Result<()> {
    if touch == Touch::First {
        return populate(room);
    }
    let places = (at..).step_by(READY_BYTES);
    for (place, piece) in places.zip(room.chunks_mut(READY_BYTES)) {
        file.write_all_at(&ZEROS[..piece.len()], place)?;
        populate(piece)?;
    }
    Ok(())
}

/// Makes the pages of these bytes present and writable in one call, instead of one fault for
/// each: for bytes of an output's map that are about to be written. Their contents stay. Where
/// the kernel cannot do it (before Linux 5.14, other systems), nothing happens.
///
/// # Errors
/// A page cannot be had: a full disk under a file without reserved blocks, or a failing one. A
/// plain write to the bytes would end the process with SIGBUS.
#[cfg(target_os = "linux")]
fn populate(bytes: &mut [u8]) -> io::Result<()> {
    let (start, length) = whole_pages(bytes.as_ptr(), bytes.len());
    if length == 0 {
        return Ok(());
    }
    // SAFETY: the pages are those of a slice that is borrowed for writing, whole pages of the
    // mapping or allocation it lies in (`whole_pages`), and the advice changes no byte of them.
    let status = unsafe { libc::madvise(start, length, libc::MADV_POPULATE_WRITE) };
    if status == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // An older kernel, memory that cannot be populated, or a signal: pages come in by faults.
        Some(libc::EINVAL | libc::EINTR | libc::EAGAIN) => Ok(()),
        // What would have been SIGBUS: the system names no reason.
        Some(libc::EFAULT) => Err(io::Error::other(
            "its disk is full or failing (the page cannot be had)",
        )),
        _ => Err(error),
    }
}

/// As above, where there is no such call.
#[cfg(not(target_os = "linux"))]
fn populate(_: &mut [u8]) -> io::Result<()> {
    Ok(())
}

/// Lets go of the pages of these bytes of a file's map in this process; the page cache and the
/// file keep what they hold, and the next look brings them back.
///
/// # Safety
/// The bytes lie in a shared or read-only map of a file. Of other memory the contents would be
/// lost.
pub(super) unsafe fn unmap_pages(start: *const u8, length: usize) {
    let (first, length) = whole_pages(start, length);
    if length == 0 {
        return;
    }
    // SAFETY: dropping pages of such a map changes nothing that can be read, as the caller says
    // they are; a range that is no map at all is refused by the system.
    let _ = unsafe { libc::madvise(first, length, libc::MADV_DONTNEED) };
}

/// The pages that these bytes lie in.
fn whole_pages(start: *const u8, length: usize) -> (*mut libc::c_void, usize) {
    let page = page_bytes();
    let before = start.addr() % page;
    let first = start.wrapping_sub(before);
    let length = if length == 0 {
        0
    } else {
        (before + length).next_multiple_of(page)
    };
    (first.cast_mut().cast(), length)
}

pub(super) fn page_bytes() -> usize {
    // SAFETY: a question about the system, which touches no memory of ours.
    let answer = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(answer).map_or(4096, |bytes| bytes.max(1))
}

/// Begins to write these bytes of the file to its disk, and does not wait.
///
/// # Errors
/// What the system said.
pub(super) fn begin_writing(file: &File, range: &Range<u64>) -> io::Result<()> {
    sync_range(file, range, Sync::Begin)
}

/// Waits until these bytes of the file are on its disk.
///
/// # Errors
/// What the system said: a write that failed.
pub(super) fn finish_writing(file: &File, range: &Range<u64>) -> io::Result<()> {
    sync_range(file, range, Sync::Finish)
}

#[derive(Clone, Copy)]
enum Sync {
    Begin,
    Finish,
}

#[cfg(target_os = "linux")]
fn sync_range(file: &File, range: &Range<u64>, sync: Sync) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let flags = match sync {
        Sync::Begin => libc::SYNC_FILE_RANGE_WRITE,
        Sync::Finish => {
            libc::SYNC_FILE_RANGE_WAIT_BEFORE
                | libc::SYNC_FILE_RANGE_WRITE
                | libc::SYNC_FILE_RANGE_WAIT_AFTER
        }
    };
    let (start, length) = offsets(range)?;
    loop {
        // SAFETY: `file` is open and outlives the call, which touches no memory of ours.
        let status = unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, flags) };
        if status == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // A file system without it writes when it likes.
            Some(libc::ENOSYS | libc::EINVAL | libc::ESPIPE) => return Ok(()),
            _ => return Err(error),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn sync_range(file: &File, _: &Range<u64>, sync: Sync) -> io::Result<()> {
    match sync {
        Sync::Begin => Ok(()),
        Sync::Finish => file.sync_data(),
    }
}

/// Tells the page cache that these bytes of the file are not needed any more. Only pages that are
/// on the disk and in nobody's map go.
#[cfg(target_os = "linux")]
pub(super) fn let_go(file: &File, range: &Range<u64>) {
    use std::os::fd::AsRawFd;

    if let Ok((start, length)) = offsets(range) {
        // SAFETY: `file` is open and outlives the call, which touches no memory of ours.
        let _ = unsafe {
            libc::posix_fadvise(file.as_raw_fd(), start, length, libc::POSIX_FADV_DONTNEED)
        };
    }
}

/// As above, where there is no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn let_go(_: &File, _: &Range<u64>) {}

#[cfg(target_os = "linux")]
fn offsets(range: &Range<u64>) -> io::Result<(libc::off64_t, libc::off64_t)> {
    let number = |bytes: u64| {
        libc::off64_t::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))
    };
    Ok((
        number(range.start)?,
        number(range.end.saturating_sub(range.start))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_is_made_ready_is_zero_and_its_neighbours_are_untouched() {
        let length = 3 * READY_BYTES;
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![7; length], 0).unwrap();
        // SAFETY: a file of this test alone, as long as the map.
        let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
        let ready = 1001..length - 3;
        make_ready(&file, 1001, &mut map[ready.clone()], Touch::Zeros).unwrap();
        for (at, &byte) in map.iter().enumerate() {
            assert_eq!(byte, if ready.contains(&at) { 0 } else { 7 }, "{at}");
        }
    }

    #[test]
    fn pages_are_whole_and_hold_all_bytes() {
        let page = page_bytes();
        let bytes = vec![0_u8; 3 * page];
        for (start, end) in [
            (0, 1),
            (1, page),
            (page - 1, page + 1),
            (5, 3 * page),
            (7, 7),
        ] {
            let slice = &bytes[start..end];
            let (first, length) = whole_pages(slice.as_ptr(), slice.len());
            assert_eq!(first.addr() % page, 0);
            assert_eq!(length % page, 0);
            if slice.is_empty() {
                assert_eq!(length, 0);
                continue;
            }
            assert!(first.addr() <= slice.as_ptr().addr());
            assert!(first.addr() + length >= slice.as_ptr().addr() + slice.len());
            assert!(length < slice.len() + 2 * page);
        }
    }

    #[test]
    fn advice_changes_no_byte() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(50_000).unwrap();
        // SAFETY: a file of this test alone, as long as the map.
        let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
        make_ready(&file, 10_001, &mut map[10_001..20_000], Touch::First).unwrap();
        map[10_001..20_000].fill(7);
        begin_writing(&file, &(10_000..20_000)).unwrap();
        finish_writing(&file, &(10_000..20_000)).unwrap();
        // SAFETY: the map is shared.
        unsafe { unmap_pages(map[10_001..].as_ptr(), 9_999) };
        let_go(&file, &(10_000..20_000));
        assert_eq!(
            (map[10_000], map[10_001], map[19_999], map[20_000]),
            (0, 7, 7, 0)
        );
    }

    #[test]
    fn pages_beyond_the_end_of_a_file_are_an_error_and_no_signal() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        // SAFETY: a file of this test alone; what is beyond its end is only populated, not read.
        let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
        file.set_len(0).unwrap();
        assert!(populate(&mut map[..]).is_err());
    }
}
