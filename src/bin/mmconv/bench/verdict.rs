//! What the numbers say: what bounds this machine at this size, and what a device gains or would
//! gain. Sums and words only; nothing is measured here.

use mmfits::convolve::rates::{LEAST_SAVING_SECONDS, Rate, Rates, Work};

/// Less is not worth a word: a device that makes things so much faster gains nothing.
const NEXT_TO_NOTHING: f64 = 1.1;

/// Seconds a plane, from file to file unless said otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// By the CPU.
    pub job: f64,
    /// Convolved in memory by all threads of the CPU.
    pub memory: f64,
    /// Swapped and stored, by all threads.
    pub copied: f64,
    /// Plainly copied, and waited for until it is on the disk.
    pub on_disk: f64,
    /// By a device, where one was measured.
    pub device: Option<f64>,
    /// One plane.
    pub work: Work,
    /// What is known of this machine.
    pub rates: &'a Rates,
}

/// Onto a disk that takes so many times what the page cache takes.
const SLOW_DISK: f64 = 1.5;

/// What bounds a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The transforms, with all that goes along with them in memory.
    Fft,
    /// Reading and storing.
    Io,
    /// Neither, but what lies between them.
    Between,
}

impl Bound {
    /// In one word.
    pub fn key(self) -> &'static str {
        match self {
            Self::Fft => "fft",
            Self::Io => "io",
            Self::Between => "between",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Fft => "the FFT and what goes along with it",
            Self::Io => "I/O",
            Self::Between => "neither FFT nor I/O, but what lies between them",
        }
    }
}

/// The verdict in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub bound: Bound,
    /// How many times faster a device is, its start not counted.
    pub gain: f64,
    /// The gain is not measured.
    pub is_estimate: bool,
    /// How many times faster a device could be that took no time (Amdahl's law).
    pub most: f64,
    /// After so many planes of this kind its start is repaid; never, if none.
    pub repaid: Option<u64>,
    /// From so many planes on `auto` takes it; never, if none.
    pub taken: Option<u64>,
}

impl Verdict {
    pub fn of(seen: &Seen<'_>) -> Self {
        let start = seen.rates.get(Rate::DeviceStart);
        let ruled = seen.rates.worth_it(&seen.work);
        let estimate = ruled.device_seconds - start;
        let device = seen.device.unwrap_or(estimate);
        Self {
            bound: bound(seen),
            gain: seen.job / device,
            is_estimate: seen.device.is_none(),
            most: seen.job / seen.copied.min(seen.job),
            repaid: planes(start, seen.job - device),
            taken: planes(start + LEAST_SAVING_SECONDS, ruled.cpu_seconds - estimate),
        }
    }
}

/// The larger of computing and copying; or neither, where more time is left beside both of them.
fn bound(seen: &Seen<'_>) -> Bound {
    let rest = seen.job - seen.memory - seen.copied;
    if rest > seen.memory.max(seen.copied) {
        Bound::Between
    } else if seen.memory > seen.copied {
        Bound::Fft
    } else {
        Bound::Io
    }
}

/// The planes that save so many seconds; none if they save nothing to speak of.
fn planes(seconds: f64, saved_a_plane: f64) -> Option<u64> {
    let planes = (seconds / saved_a_plane).ceil();
    (planes > 0.0 && planes < 1e12).then_some(planes as u64)
}

/// The verdict in words, a sentence each.
pub fn in_words(seen: &Seen<'_>, verdict: &Verdict) -> Vec<String> {
    let percent = |part: f64| (100.0 * part / seen.job).round();
    let mut sentences = vec![
        format!(
            "At this size this machine is bound by {}: of the {} from file to file, convolving in \
             memory alone takes {:.0} %, reading and storing alone {:.0} %.",
            verdict.bound.words(),
            milliseconds(seen.job),
            percent(seen.memory),
            percent(seen.copied),
        ),
        gain(seen, verdict),
        start(seen, verdict),
    ];
    if seen.on_disk > SLOW_DISK * seen.copied {
        let most = seen.job.max(seen.on_disk) / seen.on_disk;
        sentences.push(format!(
            "With cubes that are larger than the memory the disk counts: copying onto it takes {} a \
             plane, which leaves a device {most:.1} times at most.",
            milliseconds(seen.on_disk)
        ));
    }
    sentences
}

fn gain(seen: &Seen<'_>, verdict: &Verdict) -> String {
    let most = format!(
        "one that took no time would make it {:.1} times faster, as reading and storing remain",
        verdict.most
    );
    if !verdict.is_estimate {
        let how = if verdict.gain >= 1.0 {
            "faster"
        } else {
            "as fast"
        };
        return format!(
            "The device makes it {:.1} times {how}; {most}.",
            verdict.gain
        );
    }
    let by = format!("estimated, not measured: {}", basis(seen.rates));
    if verdict.gain < NEXT_TO_NOTHING {
        format!("A device would gain next to nothing ({by}); {most}.")
    } else {
        format!(
            "A device would make it about {:.1} times faster ({by}); {most}.",
            verdict.gain
        )
    }
}

/// What an estimate rests on.
fn basis(rates: &Rates) -> String {
    let rate = |rate| rates.get(rate);
    let whose = if rates.measured(Rate::HostToDevice).is_some() {
        "a device with the rates"
    } else {
        "an NVIDIA A30 by its published rates,"
    };
    format!(
        "{whose} {:.0} GB/s there and {:.0} GB/s back, {:.3} s a gpixel in f32",
        rate(Rate::HostToDevice) / 1e9,
        rate(Rate::DeviceToHost) / 1e9,
        rate(Rate::DeviceF32Clean),
    )
}

fn start(seen: &Seen<'_>, verdict: &Verdict) -> String {
    let start = seen.rates.get(Rate::DeviceStart);
    let repaid = match verdict.repaid {
        Some(planes) => format!("is repaid after {planes} such planes"),
        None => "is never repaid".to_owned(),
    };
    let taken = match verdict.taken {
        Some(planes) => format!("takes a device from {planes} of them on"),
        None => "takes none for them".to_owned(),
    };
    format!(
        "Its start of {start:.1} s {repaid}; --backend auto, by the rates of this run, {taken}."
    )
}

fn milliseconds(seconds: f64) -> String {
    format!("{} ms", short(1e3 * seconds))
}

/// Three digits or more.
pub fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v if v >= 0.01 => format!("{v:.4}"),
        v => format!("{v:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmfits::plan::Precision;

    /// 2048 x 2048 of f32, on two threads.
    fn work() -> Work {
        let pixels = 2048 * 2048;
        Work {
            precision: Precision::F32,
            clean_pixels: pixels,
            masked_pixels: 0,
            bytes_in: 4 * pixels,
            bytes_out: 4 * pixels,
            threads: 2,
        }
    }

    fn seen(rates: &Rates, [job, memory, copied]: [f64; 3], device: Option<f64>) -> Seen<'_> {
        Seen {
            job: job / 1e3,
            memory: memory / 1e3,
            copied: copied / 1e3,
            on_disk: copied / 1e3,
            device: device.map(|device| device / 1e3),
            work: work(),
            rates,
        }
    }

    /// A machine that copies a plane in `copied` ms, and convolves it in `alone` ms by one thread.
    fn rates(copied: f64, alone: f64) -> Rates {
        let bytes = work().bytes_in as f64;
        let mut rates = Rates::default();
        rates.set(Rate::Disk, bytes / copied * 1e3);
        rates.set(Rate::HostCopy, bytes / copied * 1e3);
        rates.set(
            Rate::CpuF32Clean,
            alone / 1e3 / work().clean_pixels as f64 * 1e9,
        );
        rates
    }

    #[test]
    fn a_machine_bound_by_the_fft() {
        let rates = rates(4.0, 33.0);
        let seen = seen(&rates, [20.0, 16.0, 4.0], None);
        let verdict = Verdict::of(&seen);
        assert_eq!((verdict.bound, verdict.is_estimate), (Bound::Fft, true));
        assert!((verdict.gain - 5.0).abs() < 1e-9 && (verdict.most - 5.0).abs() < 1e-9);
        // 16 ms of 20 are saved: 1.5 s are 93.75 planes. By the rule (33 + 4) / 2 - 4 = 14.5 ms are.
        assert_eq!((verdict.repaid, verdict.taken), (Some(94), Some(242)));
        let text = in_words(&seen, &verdict).join(" ");
        for words in [
            "bound by the FFT",
            "of the 20.0 ms",
            "takes 80 %, reading and storing alone 20 %",
            "A device would make it about 5.0 times faster (estimated, not measured",
            "no time would make it 5.0 times faster",
            "start of 1.5 s is repaid after 94 such planes",
            "takes a device from 242 of them on",
        ] {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
    }

    #[test]
    fn a_machine_bound_by_its_disk() {
        let rates = rates(20.0, 10.0);
        let seen = seen(&rates, [20.7, 1.0, 20.0], None);
        let verdict = Verdict::of(&seen);
        assert_eq!(verdict.bound, Bound::Io);
        assert!(verdict.gain < 1.04 && verdict.most < 1.04);
        assert_eq!(verdict.taken, None, "the disk takes as long either way");
        assert_eq!(verdict.repaid, Some(2143), "0.7 ms a plane");
        let text = in_words(&seen, &verdict).join(" ");
        assert!(text.contains("bound by I/O"), "{text}");
        assert!(text.contains("next to nothing"), "{text}");
        assert!(text.contains("takes none for them"), "{text}");
    }

    #[test]
    fn a_measured_device_is_no_estimate() {
        let rates = rates(4.0, 32.0);
        let seen = seen(&rates, [20.0, 16.0, 4.0], Some(25.0));
        let verdict = Verdict::of(&seen);
        assert!(!verdict.is_estimate && (verdict.gain - 0.8).abs() < 1e-9);
        assert_eq!(verdict.repaid, None);
        let text = in_words(&seen, &verdict).join(" ");
        assert!(
            text.contains("The device makes it 0.8 times as fast"),
            "{text}"
        );
        assert!(
            text.contains("is never repaid") && !text.contains("estimated"),
            "{text}"
        );
    }

    #[test]
    fn what_lies_between_and_a_slow_disk_are_told() {
        let rates = rates(4.0, 32.0);
        let mut seen = seen(&rates, [30.0, 6.0, 4.0], None);
        seen.on_disk = 0.1;
        let verdict = Verdict::of(&seen);
        assert_eq!(verdict.bound, Bound::Between);
        let text = in_words(&seen, &verdict).join(" ");
        assert!(
            text.contains("onto it takes 100 ms a plane, which leaves a device 1.0 times"),
            "{text}"
        );
    }

    #[test]
    fn a_job_below_its_floor_gains_nothing() {
        let rates = rates(4.0, 32.0);
        assert!((Verdict::of(&seen(&rates, [3.0, 2.0, 4.0], None)).most - 1.0).abs() < 1e-9);
        assert_eq!(planes(1.0, 0.0), None);
        assert_eq!(planes(1.0, -1.0), None);
        assert_eq!(planes(1.0, f64::NAN), None);
    }
}
