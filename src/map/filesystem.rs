//! Which file system a file lies on: maps of files that other machines share are slow, or wrong.

use std::path::Path;

/// The name of the network file system that holds `path`, which exists; `None` on a local one, on
/// one that is not known, and where the system does not tell.
///
/// The numbers are those of statfs(2) and of Linux's `magic.h`.
#[cfg(target_os = "linux")]
#[must_use]
pub fn network_file_system(path: &Path) -> Option<&'static str> {
    use std::ffi::CString;
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt;

    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut answer = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path ends with a zero byte, and `answer` has room for what the call writes.
    let status = unsafe { libc::statfs(path.as_ptr(), answer.as_mut_ptr()) };
    if status != 0 {
        return None;
    }
    // SAFETY: the call succeeded, and so has filled it.
    let answer = unsafe { answer.assume_init() };
    // Magic numbers have 32 bits; some platforms keep them in signed or wider fields.
    name_of(answer.f_type as u32)
}

/// As above, where nothing is known.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn network_file_system(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(target_os = "linux")]
fn name_of(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517B | 0xFE53_4D42 | 0xFF53_4D42 => "SMB",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x00C3_6400 => "Ceph",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9P",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0xAAD7_AAEA => "PanFS",
        0x2003_0528 => "OrangeFS",
        0x7461_636F => "OCFS2",
        0x0116_1970 => "GFS2",
        0x7375_7245 => "Coda",
        0x786F_4256 => "VirtualBox",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(name_of(0x6969), Some("NFS"));
        assert_eq!(name_of(0x0BD0_0BD0), Some("Lustre"));
        assert_eq!(name_of(0xEF53), None, "ext4");
        assert_eq!(name_of(0x0102_1994), None, "tmpfs");
    }

    #[test]
    fn this_machine_answers_or_says_nothing() {
        // /proc is on no network, and what is not there is on nothing.
        assert_eq!(network_file_system(Path::new("/proc")), None);
        assert_eq!(network_file_system(Path::new("/no/such/place")), None);
    }
}
