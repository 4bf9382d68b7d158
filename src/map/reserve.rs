//! Really reserving a file's blocks, so that a full disk is an error now and not a signal later.

use std::fs::File;
use std::io;

/// How surely the blocks must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserve {
    /// The file will be mapped: a block that is not there would be a signal.
    Surely,
    /// The file will be written: a file system that cannot reserve says so when it is full.
    IfPossible,
}

/// What a file holds at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Zeros.
    Zero,
    /// What it held before.
    AsItIs,
}

/// Makes `file` exactly `len_bytes` long; says whether every block is allocated.
///
/// A write to a mapped page of a sparse file on a full disk ends the process with SIGBUS, so the
/// blocks are asked for first. Where the file system knows no better, fallocate(2) refuses, and
/// glibc's `posix_fallocate` (POSIX.1-2001) writes to each of them.
#[cfg(target_os = "linux")]
pub(super) fn reserve(
    file: &File,
    len_bytes: u64,
    (how, start): (Reserve, Start),
) -> io::Result<bool> {
    use std::os::fd::AsRawFd;

    let Ok(length) = libc::off_t::try_from(len_bytes) else {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    };
    if start == Start::Zero {
        file.set_len(0)?;
    }
    if length == 0 {
        return Ok(true);
    }
    loop {
        let status = match how {
            // SAFETY: `file` is open for writing and outlives the call; the offset and the
            // length, checked above, are plain numbers, and the call touches no memory of ours.
            Reserve::Surely => unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) },
            Reserve::IfPossible => fallocate(file, length),
        };
        match status {
            0 => return Ok(true),
            libc::EINTR => {}
            libc::EOPNOTSUPP | libc::ENOSYS if how == Reserve::IfPossible => {
                file.set_len(len_bytes)?;
                return Ok(false);
            }
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// Zero, or the number of the error.
#[cfg(target_os = "linux")]
fn fallocate(file: &File, length: libc::off_t) -> i32 {
    use std::os::fd::AsRawFd;

    // SAFETY: as for `posix_fallocate` above.
    let status = unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, length) };
    if status == 0 {
        0
    } else {
        io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO)
    }
}

/// As above, where there is no `posix_fallocate`: zeros are written.
#[cfg(not(target_os = "linux"))]
pub(super) fn reserve(
    file: &File,
    len_bytes: u64,
    (how, start): (Reserve, Start),
) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom, copy, repeat};

    if start == Start::AsItIs {
        return Ok(true);
    }
    file.set_len(0)?;
    if how == Reserve::IfPossible {
        file.set_len(len_bytes)?;
        return Ok(false);
    }
    let mut writer: &File = file;
    writer.seek(SeekFrom::Start(0))?;
    copy(&mut repeat(0).take(len_bytes), &mut writer)?;
    Ok(true)
}
