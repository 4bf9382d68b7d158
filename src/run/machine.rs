//! What the machine, and the cgroup we are in, has to give.

use std::fs;
use std::path::Path;

/// Used where nothing says how much memory there is.
const UNKNOWN_MEMORY_BYTES: u64 = 4 << 30;

/// The least of the machine's memory and the limits of the cgroups we may be in.
pub(super) fn memory_bytes() -> u64 {
    let limits = [
        meminfo_total_bytes(),
        limit_bytes("/sys/fs/cgroup/memory.max"),
        own_limit_bytes("0::", "/sys/fs/cgroup", "memory.max"),
        limit_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        own_limit_bytes(":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ];
    limits
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(UNKNOWN_MEMORY_BYTES)
}

fn meminfo_total_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// `max` (cgroup v2) and absurdly large numbers (v1) mean no limit, and lose against the others.
fn limit_bytes(path: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The least limit of this process's own cgroup and those around it, where their folders are
/// visible (cgroups(7)). `mark` stands before its path in `/proc/self/cgroup`.
fn own_limit_bytes(mark: &str, root: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| path_after(line, mark))?;
    Path::new(path)
        .ancestors()
        .filter_map(|folder| {
            let inside = folder.strip_prefix("/").unwrap_or(folder);
            limit_bytes(Path::new(root).join(inside).join(name))
        })
        .min()
}

/// `0::/a/b` for version 2, `4:memory:/a/b` for version 1.
fn path_after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (before, path) = line.split_once(mark)?;
    before.chars().all(|c| c.is_ascii_digit()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cgroups_are_found_in_both_versions() {
        assert_eq!(path_after("0::/user.slice/x", "0::"), Some("/user.slice/x"));
        assert_eq!(path_after("4:memory:/job/7", ":memory:"), Some("/job/7"));
        assert_eq!(path_after("3:cpuset:/job/7", ":memory:"), None);
        assert_eq!(path_after("9:name=a:memory:/b", ":memory:"), None);
    }

    #[test]
    fn there_is_some_memory() {
        assert!(memory_bytes() > 1 << 20);
    }
}
