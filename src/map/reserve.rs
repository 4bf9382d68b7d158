//! Really reserving a file's blocks, so that a full disk is an error now and not a signal later.

use std::fs::File;
use std::io;

/// Makes `file` exactly `len_bytes` long with every block allocated; the bytes read as zero.
///
/// A write to a mapped page of a sparse file on a full disk ends the process with SIGBUS, so the
/// blocks are asked for first (`posix_fallocate`, POSIX.1-2001).
#[cfg(target_os = "linux")]
pub(super) fn reserve(file: &File, len_bytes: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let Ok(length) = libc::off_t::try_from(len_bytes) else {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    };
    file.set_len(0)?;
    if length == 0 {
        return Ok(());
    }
    loop {
        // SAFETY: `file` is open for writing and outlives the call; the offset and the length,
        // checked above, are plain numbers, and the call touches no memory of ours.
        let status = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) };
        match status {
            0 => return Ok(()),
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// As above, where there is no `posix_fallocate`: zeros are written.
#[cfg(not(target_os = "linux"))]
pub(super) fn reserve(file: &File, len_bytes: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom, copy, repeat};

    file.set_len(0)?;
    let mut writer: &File = file;
    writer.seek(SeekFrom::Start(0))?;
    copy(&mut repeat(0).take(len_bytes), &mut writer)?;
    Ok(())
}
