//! How much of the machine is used: threads, memory, and the lanes that follow from them.

use std::fs;
use std::thread::available_parallelism;

use crate::convolve::Backend;
use crate::plan::{FilePlan, PlanError};

/// How much of the machine may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Threads; by default what the affinity mask and the cgroup's CPU quota allow.
    pub threads: Option<usize>,
    /// Memory for all lanes together, bytes; by default a quarter of what the machine or its
    /// cgroup has.
    pub memory_bytes: Option<u64>,
}

/// Used where nothing says how much memory there is.
const UNKNOWN_MEMORY_BYTES: u64 = 4 << 30;

impl Resources {
    /// Threads to start.
    #[must_use]
    pub fn threads(&self) -> usize {
        let machine = || available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads
            .filter(|&threads| threads > 0)
            .unwrap_or_else(machine)
    }

    /// Memory that lanes may take, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
            .unwrap_or_else(|| machine_memory_bytes() / 4)
    }

    /// What one lane may take at the most: what the user allows, else most of what there is.
    fn ceiling_bytes(&self) -> u64 {
        self.memory_bytes
            .unwrap_or_else(|| machine_memory_bytes() / 5 * 4)
    }

    /// Chooses the plan's lanes: as many as there are threads and planes, as far as the memory
    /// goes.
    ///
    /// # Errors
    /// [`PlanError::Memory`] where not even one lane fits.
    pub(super) fn tune(&self, plan: &mut FilePlan, backend: &dyn Backend) -> Result<(), PlanError> {
        let allowed_bytes = self.ceiling_bytes();
        let refuse_above = |needed_bytes: u64| {
            if needed_bytes > allowed_bytes {
                let asked_for = self.memory_bytes.is_some();
                return Err(PlanError::Memory {
                    asked_for,
                    allowed_bytes,
                    needed_bytes,
                });
            }
            Ok(needed_bytes)
        };
        // Working out what a lane needs plans its transforms; the tables of absurd lengths alone
        // would fill the memory.
        refuse_above(least_bytes(plan))?;
        let (threads, budget_bytes) = (self.threads(), self.memory_bytes());
        let convolved = plan.convolutions().count();
        let memory = |lanes: usize| {
            let lane = backend.lane_bytes(&super::lanes::workload(plan, threads, lanes));
            // Planes that are only copied need no memory of their own.
            (lane, lane.saturating_mul(lanes.min(convolved) as u64))
        };
        let wanted = threads.min(plan.tasks.len()).max(1);
        let fits = |lanes: &usize| memory(*lanes).1 <= budget_bytes;
        let lanes = (1..=wanted).rev().find(fits).unwrap_or(1);
        let (lane_bytes, all_bytes) = memory(lanes);
        refuse_above(lane_bytes)?;
        plan.lanes = lanes;
        plan.memory_bytes = all_bytes;
        Ok(())
    }
}

/// What the tables of the longest transforms take, at the least: a dozen doubles for each of
/// their elements, in and beside the tables.
fn least_bytes(plan: &FilePlan) -> u64 {
    let lengths = plan
        .convolutions()
        .map(|c| c.grid.nx.saturating_add(c.grid.ny));
    (lengths.max().unwrap_or(0) as u64).saturating_mul(96)
}

/// The least of the machine's memory and the limits of the cgroups we may be in.
pub(super) fn machine_memory_bytes() -> u64 {
    let limits = [
        meminfo_total_bytes(),
        cgroup_limit_bytes("/sys/fs/cgroup/memory.max"),
        own_cgroup_limit_bytes(),
        cgroup_limit_bytes("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
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
fn cgroup_limit_bytes(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The limit of this process's own cgroup v2, where its folder is visible.
fn own_cgroup_limit_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    cgroup_limit_bytes(&format!("/sys/fs/cgroup{path}/memory.max"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_says_counts() {
        let said = Resources {
            threads: Some(3),
            memory_bytes: Some(7),
        };
        assert_eq!((said.threads(), said.memory_bytes()), (3, 7));
        let silent = Resources::default();
        assert!(silent.threads() >= 1);
        assert!(silent.memory_bytes() > 1 << 20);
    }
}
