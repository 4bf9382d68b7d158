//! Which backend computes: what was asked for, what there is, and whether it pays.

use crate::convolve::device::{DeviceError, Options};
use crate::convolve::rates::{LEAST_SAVING_SECONDS, Rates, Work};
use crate::convolve::{Backend, BackendError, Cpu, open_device};
use crate::error::Error;
use crate::journal::Job;
use crate::plan::FilePlan;
use crate::run::Resources;
use crate::run::{job, lanes};

/// What a run takes beside its lanes and tables at most, but for very many planes.
const BESIDE_LANES_BYTES: u64 = 32 << 20;

/// What shall compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendKind {
    /// A device where there is one that can be used, and where that pays; the CPU otherwise, also
    /// for planes that the device fails on.
    #[default]
    Auto,
    /// The CPU. No device is looked for.
    Cpu,
    /// A device, or an error.
    Cuda,
}

/// Which backend computes, and on what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// What shall compute.
    pub backend: BackendKind,
    /// The device's number, from 0.
    pub device: usize,
    /// The most of its memory that may be taken, bytes; by default most of what is free.
    pub device_memory_bytes: Option<u64>,
    /// How fast this machine is, for [`BackendKind::Auto`].
    pub rates: Rates,
}

/// A backend, and why it was taken, where that was not asked for.
#[derive(Debug)]
pub(super) struct Chosen {
    pub backend: Box<dyn Backend>,
    pub because: Option<String>,
}

impl Chosen {
    fn cpu(because: impl Into<Option<String>>) -> Self {
        Self {
            backend: Box::new(Cpu::new()),
            because: because.into(),
        }
    }
}

impl Choice {
    /// The backend for these plans, which are those of the CPU. `jobs` are unfinished work: what
    /// was begun on one backend is gone on with on it.
    ///
    /// # Errors
    /// A device was asked for and cannot be used.
    pub(super) fn choose<'j>(
        &self,
        plans: &[FilePlan],
        resources: &Resources,
        jobs: impl Iterator<Item = &'j Job>,
    ) -> Result<Chosen, Error> {
        match self.backend {
            BackendKind::Cpu => Ok(Chosen::cpu(None)),
            BackendKind::Cuda => self.open(false).map_or_else(
                |error| Err(Error::general(BackendError::Device(error).into())),
                |backend| {
                    Ok(Chosen {
                        backend,
                        because: None,
                    })
                },
            ),
            BackendKind::Auto => Ok(self.choose_itself(plans, resources, jobs)),
        }
    }

    fn choose_itself<'j>(
        &self,
        plans: &[FilePlan],
        resources: &Resources,
        mut jobs: impl Iterator<Item = &'j Job>,
    ) -> Chosen {
        let begun = jobs.find_map(|job| Some((job::backend(job)?, job)));
        let (why, cpu_behind) = match begun {
            Some(("cpu", _)) => {
                return Chosen::cpu("the unfinished work was begun on it".to_owned());
            }
            // Without the CPU behind it, if it was begun so: no plane of it is the CPU's.
            Some((_, job)) => (
                "the unfinished work was begun on it".to_owned(),
                job::may_be_both(job),
            ),
            None => match self.saving(plans, resources.threads()) {
                Ok(why) => (why, true),
                Err(why) => return Chosen::cpu(why),
            },
        };
        match self.open(cpu_behind) {
            Err(error) => Chosen::cpu(error.to_string()),
            Ok(backend) if !has_room(&*backend, plans, resources.memory_bytes()) => {
                Chosen::cpu("--memory has no room for a plane on its way to a device".to_owned())
            }
            Ok(backend) => Chosen {
                backend,
                because: Some(why),
            },
        }
    }

    /// Why a device pays, or why not.
    fn saving(&self, plans: &[FilePlan], threads: usize) -> Result<String, String> {
        let made = plans.iter().filter(|plan| !plan.facts.skipped);
        let works = made.map(|plan| Work::of(plan, threads));
        let Some(work) = works.reduce(|all, work| all.and(&work)) else {
            return Err("nothing is to be done".to_owned());
        };
        let estimate = self.rates.worth_it(&work);
        let (cpu, saving) = (estimate.cpu_seconds, estimate.saving_seconds);
        if saving < LEAST_SAVING_SECONDS {
            return Err(format!(
                "a device would not save {LEAST_SAVING_SECONDS} s of the {cpu:.1} s that the \
                 convolutions take here"
            ));
        }
        Ok(format!(
            "it saves about {saving:.0} s of the {cpu:.0} s that the CPU would take"
        ))
    }

    fn open(&self, cpu_behind: bool) -> Result<Box<dyn Backend>, DeviceError> {
        let options = Options {
            device: self.device,
            memory_bytes: self.device_memory_bytes,
            batch_bytes: None,
        };
        open_device(&options, cpu_behind)
    }
}

/// Whether the memory that may be taken holds a lane for each file's planes.
fn has_room(backend: &dyn Backend, plans: &[FilePlan], memory_bytes: u64) -> bool {
    let whole = |plan: &FilePlan| {
        let mut plan = plan.clone();
        plan.make_whole();
        lanes::workload(&plan)
    };
    let mut lanes = plans.iter().map(whole);
    lanes.all(|workload| {
        let tables = backend.table_bytes(&workload);
        let lane = backend.lane_bytes(&workload).saturating_add(tables);
        lane.saturating_add(BESIDE_LANES_BYTES) <= memory_bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_planes_nothing_is_looked_for() {
        let choice = Choice::default();
        let none = std::iter::empty();
        let chosen = choice.choose(&[], &Resources::default(), none).unwrap();
        assert_eq!(chosen.backend.name(), "cpu");
        assert!(chosen.because.is_some());
    }

    #[test]
    fn what_was_begun_on_the_cpu_goes_on_there() {
        let mut begun = Job::default();
        begun.set(job::RULES, "edge zero, nan keep, backend cpu");
        let choice = Choice::default();
        let chosen = choice
            .choose(&[], &Resources::default(), [&begun].into_iter())
            .unwrap();
        assert_eq!(chosen.backend.name(), "cpu");
        assert!(chosen.because.unwrap().contains("unfinished"));
    }
}
