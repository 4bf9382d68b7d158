//! Which backend computes: what was asked for, what there is, and whether it pays.

use crate::convolve::device::{DeviceError, Options};
use crate::convolve::rates::{LEAST_SAVING_SECONDS, Rates, Work};
use crate::convolve::{Backend, BackendError, Cpu, open_device};
use crate::error::Error;
use crate::plan::FilePlan;
use crate::run::{Request, lanes};

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

/// What a choice rests on.
struct Grounds<'g> {
    /// The plans for the CPU.
    plans: &'g [FilePlan],
    request: &'g Request,
    /// What is kept in memory of all files.
    held_bytes: u64,
    /// What was begun on a backend is gone on with on it.
    begun: Option<Begun>,
}

/// The backend for the plans of a request, which are those for the CPU; `held_bytes` are kept in
/// memory of all files.
///
/// # Errors
/// A device was asked for, or work was begun on one, and it cannot be used.
pub(super) fn choose(
    (request, held_bytes): (&Request, u64),
    plans: &[FilePlan],
    begun: Option<Begun>,
) -> Result<Chosen, Error> {
    request.choice.choose(&Grounds {
        plans,
        request,
        held_bytes,
        begun,
    })
}

/// What there is already of the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    OnCpu,
    /// On a device, with the CPU behind it or without.
    OnDevice {
        cpu_behind: bool,
    },
}

impl Choice {
    fn choose(&self, grounds: &Grounds<'_>) -> Result<Chosen, Error> {
        match self.backend {
            BackendKind::Cpu => Ok(Chosen::cpu(None)),
            BackendKind::Cuda => self.device(false, None),
            BackendKind::Auto => self.choose_itself(grounds),
        }
    }

    fn device(&self, cpu_behind: bool, because: Option<String>) -> Result<Chosen, Error> {
        let opened = self.open(cpu_behind);
        let backend = opened.map_err(|e| Error::general(BackendError::Device(e).into()))?;
        Ok(Chosen { backend, because })
    }

    fn choose_itself(&self, grounds: &Grounds<'_>) -> Result<Chosen, Error> {
        const BEGUN: &str = "what there is already was made on it";
        match grounds.begun {
            Some(Begun::OnCpu) => return Ok(Chosen::cpu(BEGUN.to_owned())),
            // Whoever goes on with another throws away what there is, and does not do so unasked.
            Some(Begun::OnDevice { cpu_behind }) => {
                return self.device(cpu_behind, Some(BEGUN.to_owned()));
            }
            None => {}
        }
        let why = match self.saving(grounds) {
            Ok(why) => why,
            Err(why) => return Ok(Chosen::cpu(why)),
        };
        let backend = match self.open(true) {
            Ok(backend) => backend,
            Err(error) => return Ok(Chosen::cpu(error.to_string())),
        };
        match has_room(&*backend, grounds) {
            Ok(()) => Ok(Chosen {
                backend,
                because: Some(why),
            }),
            Err(why) => Ok(Chosen::cpu(why)),
        }
    }

    /// Why a device pays, or why not.
    fn saving(&self, grounds: &Grounds<'_>) -> Result<String, String> {
        let threads = grounds.request.resources.threads();
        let made = grounds.plans.iter().filter(|plan| !plan.facts.skipped);
        let works = made.map(|plan| Work::of(plan, threads));
        let Some(work) = works.reduce(|all, work| all.and(&work)) else {
            return Err("nothing is to be done".to_owned());
        };
        // All shards of an output reckon with the same, so that they choose alike.
        let shards = grounds.request.sharing.map_or(1, |s| s.shard.count);
        let estimate = self.rates.worth_it(&work.shared_by(shards));
        let (cpu, saving) = (estimate.cpu_seconds, estimate.saving_seconds);
        if !estimate.pays() {
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

/// Refuses a device whose lanes the memory that may be taken has no room for.
fn has_room(backend: &dyn Backend, grounds: &Grounds<'_>) -> Result<(), String> {
    let at_work = |plan: &&FilePlan| !plan.facts.skipped && plan.convolutions().next().is_some();
    for plan in grounds.plans.iter().filter(at_work) {
        let mut whole = plan.clone();
        whole.make_whole();
        if backend.lane_bytes(&lanes::workload(&whole)) == u64::MAX {
            return Err("planes are larger than a device counts".to_owned());
        }
        let resources = &grounds.request.resources;
        let tuned = resources.tune(&mut whole, backend, grounds.held_bytes);
        tuned.map_err(|_| "--memory has no room for a plane on its way to a device".to_owned())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(begun: Option<Begun>) -> Chosen {
        let grounds = Grounds {
            plans: &[],
            request: &Request::default(),
            held_bytes: 0,
            begun,
        };
        Choice::default().choose(&grounds).unwrap()
    }

    #[test]
    fn without_planes_nothing_is_looked_for() {
        let chosen = chosen(None);
        assert_eq!(chosen.backend.name(), "cpu");
        assert!(chosen.because.is_some());
    }

    #[test]
    fn what_was_begun_on_the_cpu_goes_on_there() {
        let chosen = chosen(Some(Begun::OnCpu));
        assert_eq!(chosen.backend.name(), "cpu");
        assert!(chosen.because.unwrap().contains("already"));
    }
}
