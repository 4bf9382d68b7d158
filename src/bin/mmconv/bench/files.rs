//! From file to file: the whole job, and the floors under it, which are the same bytes copied.
//! Nothing is printed here.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mmfits::beam::log;
use mmfits::map::Io;
use mmfits::run::{Request, prepare};

use super::copy::{self, in_threads};
use super::folder::Folder;
use super::{RUNS, median};

/// Bytes that a plain copy moves at once.
const PIECE_BYTES: u64 = 256 << 10;

/// What is run on one file.
pub struct Files<'a> {
    pub folder: &'a Folder,
    /// What smooths it, on the CPU.
    pub request: &'a Request,
    /// The same on a device, where there is one.
    pub on_device: Option<Request>,
    pub threads: usize,
}

/// Seconds for the whole file, medians.
#[derive(Clone, Debug)]
pub struct Walls {
    /// Smoothed by the CPU.
    pub cpu: f64,
    /// Smoothed by a device, where that was asked for; or why that failed.
    pub device: Option<Result<f64, String>>,
    /// Swapped to native numbers and back, and stored as outputs are.
    pub swapped: f64,
    /// The same by one thread.
    pub swapped_alone: f64,
    /// Copied.
    pub copied: f64,
    /// Copied, and waited for until it is on the disk.
    pub on_disk: f64,
}

impl Walls {
    /// Those of one plane of so many.
    pub fn of_a_plane(self, planes: usize) -> Self {
        let planes = planes.max(1) as f64;
        Self {
            cpu: self.cpu / planes,
            device: self.device.map(|device| device.map(|wall| wall / planes)),
            swapped: self.swapped / planes,
            swapped_alone: self.swapped_alone / planes,
            copied: self.copied / planes,
            on_disk: self.on_disk / planes,
        }
    }
}

impl Files<'_> {
    /// Everything in turn, so that what else the machine does meets all alike.
    pub fn measure(&self) -> Result<Walls, copy::Failure> {
        let mut device = Ok(Vec::new());
        let mut seen: [Vec<f64>; 5] = Default::default();
        let [cpu, swapped, alone, copied, on_disk] = &mut seen;
        for _ in 0..RUNS {
            cpu.push(self.job(self.request)?);
            if let (Some(request), Ok(walls)) = (&self.on_device, &mut device) {
                match self.job(request) {
                    Ok(wall) => walls.push(wall),
                    Err(failure) => device = Err(crate::failure::chain(&*failure)),
                }
            }
            swapped.push(
                self.made(|input, output| copy::copy(input, output, Io::Auto, self.threads))?,
            );
            alone.push(self.made(|input, output| copy::copy(input, output, Io::Auto, 1))?);
            copied.push(self.made(|input, output| plain(input, output, self.threads, false))?);
            on_disk.push(self.made(|input, output| plain(input, output, self.threads, true))?);
        }
        Ok(Walls {
            cpu: median(cpu),
            device: self
                .on_device
                .as_ref()
                .map(|_| device.map(|walls| median(&walls))),
            swapped: median(swapped),
            swapped_alone: median(alone),
            copied: median(copied),
            on_disk: median(on_disk),
        })
    }

    /// What a job takes once it is prepared: a device is open by then.
    fn job(&self, request: &Request) -> Result<f64, copy::Failure> {
        let output = self.output();
        let mut request = request.clone();
        request.naming.output = Some(output.clone());
        let job = prepare(&request)?;
        let started = Instant::now();
        job.run(&())?;
        let seconds = started.elapsed().as_secs_f64();
        remove(&output);
        Ok(seconds)
    }

    /// The seconds that making an output takes; it is removed after that.
    fn made(
        &self,
        make: impl FnOnce(&Path, &Path) -> Result<(), copy::Failure>,
    ) -> Result<f64, copy::Failure> {
        let input = self.request.inputs.first().ok_or("no input")?;
        let output = self.output();
        let started = Instant::now();
        make(input, &output)?;
        let seconds = started.elapsed().as_secs_f64();
        remove(&output);
        Ok(seconds)
    }

    fn output(&self) -> PathBuf {
        self.folder.join("out.fits")
    }
}

/// An image and the logs beside it.
pub fn remove(image: &Path) {
    for path in log::beside(image).into_iter().chain([PathBuf::from(image)]) {
        let _ = fs::remove_file(path);
    }
}

/// A copy in pieces, each thread taking the next. Not by one call of the system, which may do no
/// more than say that two files are one.
fn plain(input: &Path, output: &Path, threads: usize, sync: bool) -> Result<(), copy::Failure> {
    let input = File::open(input)?;
    let length = input.metadata()?.len();
    let output = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(output)?;
    let next = AtomicU64::new(0);
    in_threads(threads, threads, || {
        let mut piece = vec![0; PIECE_BYTES as usize];
        loop {
            let at = next.fetch_add(PIECE_BYTES, Ordering::Relaxed);
            let wanted = usize::try_from(length.saturating_sub(at).min(PIECE_BYTES))?;
            let Some(piece) = piece.get_mut(..wanted).filter(|piece| !piece.is_empty()) else {
                return Ok(());
            };
            input.read_exact_at(piece, at)?;
            output.write_all_at(piece, at)?;
        }
    })?;
    if sync {
        output.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_copy_is_a_copy() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name| parent.path().join(name);
        for length in [0, 1, PIECE_BYTES as usize, 3 * PIECE_BYTES as usize + 5] {
            let bytes: Vec<u8> = (0..length).map(|k| (k % 251) as u8).collect();
            fs::write(at("in"), &bytes).unwrap();
            plain(&at("in"), &at("out"), 3, length % 2 == 0).unwrap();
            assert!(fs::read(at("out")).unwrap() == bytes);
            remove(&at("out"));
        }
    }
}
