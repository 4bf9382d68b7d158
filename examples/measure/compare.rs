//! The job and its floors, in turn, on one cube; and what their medians say. Prints nothing.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::case::Case;
use super::sample::{self, Sample};

/// The two stores.
pub const STORES: [&str; 2] = ["map", "write"];

/// What is needed for a comparison.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The command that is measured.
    pub mmconv: PathBuf,
    /// For cubes and outputs.
    pub folder: PathBuf,
    pub runs: usize,
    pub threads: usize,
    /// BMAJ, BMIN, BPA of the target.
    pub target: [String; 3],
}

/// Medians of one cube.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub case: Case,
    /// One for each of [`STORES`].
    pub stores: [OfStore; 2],
    /// The bare transforms.
    pub transforms: Sample,
}

/// Medians of one store.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfStore {
    pub job: Sample,
    pub copy: Sample,
}

impl Found {
    /// Our processor time over the sum of the floors'.
    pub fn over_floor(&self, store: &OfStore) -> f64 {
        store.job.cpu_s() / (self.transforms.cpu_s() + store.copy.cpu_s())
    }

    /// The wall if transforms took no time, and all else stayed: not below that of copying.
    pub fn without_transforms_s(&self, store: &OfStore) -> f64 {
        (store.job.wall_s - self.transforms.wall_s).max(store.copy.wall_s)
    }

    /// Input and output bytes a second, and planes.
    pub fn rates(&self, store: &OfStore) -> (f64, f64) {
        let bytes = 2.0 * self.case.data_bytes() as f64;
        let planes = self.case.cube.channels as f64;
        (bytes / 1e6 / store.job.wall_s, planes / store.job.wall_s)
    }
}

impl Bench {
    /// Makes the cube, runs everything in turn, and removes what was made.
    pub fn compare(&self, case: Case) -> Result<Found, Box<dyn Error>> {
        let input = self.folder.join("bench.fits");
        let made = case.cube.write(&input);
        made.map_err(|error| -> Box<dyn Error> { error })?;
        let mut jobs = [Vec::new(), Vec::new()];
        let mut copies = [Vec::new(), Vec::new()];
        let mut transforms = Vec::new();
        for _ in 0..self.runs {
            for ((io, jobs), copies) in STORES.iter().zip(&mut jobs).zip(&mut copies) {
                jobs.push(self.job(&case, &input, io)?);
                copies.push(self.copy(&input, io)?);
            }
            transforms.push(sample::run(&mut self.floor(
                "transforms",
                &case,
                &input,
            )?)?);
        }
        for path in mmfits::beam::log::beside(&input).iter().chain([&input]) {
            let _ = fs::remove_file(path);
        }
        let of = |k: usize| OfStore {
            job: jobs
                .get(k)
                .map(|runs| sample::median(runs))
                .unwrap_or_default(),
            copy: copies
                .get(k)
                .map(|runs| sample::median(runs))
                .unwrap_or_default(),
        };
        Ok(Found {
            case,
            stores: [of(0), of(1)],
            transforms: sample::median(&transforms),
        })
    }

    fn job(&self, case: &Case, input: &Path, io: &str) -> Result<Sample, Box<dyn Error>> {
        let output = self.folder.join("out.fits");
        let [bmaj, bmin, bpa] = &self.target;
        let mut command = Command::new(&self.mmconv);
        command.args(["smooth", "--quiet", "--overwrite", "--io", io]);
        command.args(["--bmaj", bmaj, "--bmin", bmin, "--bpa", bpa]);
        command.args(case.mode.flags());
        command.arg("--threads").arg(self.threads.to_string());
        command.arg("--output").arg(&output).arg(input);
        let sample = sample::run(&mut command)?;
        let mut made = mmfits::beam::log::beside(&output);
        made.push(output);
        for path in made {
            let _ = fs::remove_file(path);
        }
        Ok(sample)
    }

    fn copy(&self, input: &Path, io: &str) -> Result<Sample, Box<dyn Error>> {
        let output = self.folder.join("copy.fits");
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("copy").arg(input).arg(&output);
        command.arg(io).arg(self.threads.to_string());
        let sample = sample::run(&mut command)?;
        fs::remove_file(output)?;
        Ok(sample)
    }

    fn floor(&self, word: &str, case: &Case, input: &Path) -> Result<Command, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(word).arg(input).arg(case.mode.word());
        command.arg(self.threads.to_string()).args(&self.target);
        Ok(command)
    }
}
