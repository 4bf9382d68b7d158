//! The rule, held against a table that was reckoned by hand: an A30 behind PCIe 4, planes of `f32`
//! from storage at 4 GB/s each way, and a processor that takes 2.6 core-seconds a GB of planes
//! (4.8 with masks), of which moving bytes is 0.55.

use super::*;

/// 1 GB of `f32` is a quarter of a gpixel.
const GPIXELS_PER_GB: f64 = 0.25;

fn by_hand() -> Rates {
    let mut rates = Rates::default();
    rates.set(Rate::CpuF32Clean, (2.6 - 0.55) / GPIXELS_PER_GB);
    rates.set(Rate::CpuF32Masked, (4.8 - 0.55) / GPIXELS_PER_GB);
    rates.set(Rate::HostCopy, 1e9 / 0.55);
    rates
}

fn planes(gigabytes: f64, masked: bool, threads: usize) -> Work {
    let pixels = (gigabytes * GPIXELS_PER_GB * 1e9) as u64;
    Work {
        precision: Precision::F32,
        clean_pixels: if masked { 0 } else { pixels },
        masked_pixels: if masked { pixels } else { 0 },
        bytes_in: 4 * pixels,
        bytes_out: 4 * pixels,
        threads,
    }
}

/// GB a second of the processor, and of the device once it is started.
fn speeds(rates: &Rates, masked: bool, threads: usize) -> (f64, f64) {
    let found = rates.worth_it(&planes(100.0, masked, threads));
    let running = found.device_seconds - rates.get(Rate::DeviceStart);
    (100.0 / found.cpu_seconds, 100.0 / running)
}

fn near(found: f64, expected: f64) {
    assert!(
        (found / expected - 1.0).abs() < 0.01,
        "{found} is not {expected}"
    );
}

#[test]
fn speeds_are_those_reckoned_by_hand() {
    let rates = by_hand();
    for (threads, clean, masked, device) in [
        (2, 2.0 / 2.6, 2.0 / 4.8, 2.0 / 0.55),
        (16, 4.0, 16.0 / 4.8, 4.0),
        (96, 4.0, 4.0, 4.0),
    ] {
        near(speeds(&rates, false, threads).0, clean);
        near(speeds(&rates, true, threads).0, masked);
        near(speeds(&rates, false, threads).1, device);
        near(speeds(&rates, true, threads).1, device);
    }
}

#[test]
fn with_faster_storage_sixteen_cores_gain_and_ninety_six_do_not() {
    let mut rates = by_hand();
    rates.set(Rate::Disk, 12e9);
    let (cpu, device) = speeds(&rates, false, 16);
    near(cpu, 16.0 / 2.6);
    near(device / cpu, 12.0 * 2.6 / 16.0);
    let (cpu, device) = speeds(&rates, false, 96);
    near(device / cpu, 1.0);
}

#[test]
fn a_start_of_a_second_and_a_half_is_repaid_by_as_many_gigabytes_on_two_cores() {
    let rates = by_hand();
    let saving = |gigabytes| {
        let found = rates.worth_it(&planes(gigabytes, false, 2));
        assert!((found.cpu_seconds - found.device_seconds - found.saving_seconds).abs() < 1e-9);
        found.saving_seconds
    };
    // 1.3 s a GB on the processor, 0.275 with the device: 1.025 s saved a GB.
    assert!(saving(1.4) < 0.0 && saving(1.5) > 0.0);
    near(saving(10.0), 10.25 - 1.5);
}

#[test]
fn auto_wants_two_seconds() {
    let rates = by_hand();
    let pays = |gigabytes, threads| rates.worth_it(&planes(gigabytes, false, threads)).pays();
    // 3.5 s saved in all.
    assert!(!pays(3.4, 2) && pays(3.43, 2));
    assert!(!pays(1000.0, 96), "bound by the disk either way");
    assert!(!rates.worth_it(&planes(0.0, false, 2)).pays());
}

#[test]
fn the_slowest_part_of_the_device_counts() {
    let mut rates = by_hand();
    rates.set(Rate::Disk, 1e15);
    rates.set(Rate::HostCopy, 1e15);
    let running = |rates: &Rates| rates.worth_it(&planes(25.0, false, 1)).device_seconds - 1.5;
    near(running(&rates), 1.0); // PCIe, either way
    rates.set(Rate::DeviceToHost, 5e9);
    near(running(&rates), 5.0);
    rates.set(Rate::DeviceF32Clean, 2.0);
    near(running(&rates), 25.0 * GPIXELS_PER_GB * 2.0);
}

#[test]
fn threads_that_share_a_core_add_less() {
    let mut rates = by_hand();
    rates.set(Rate::Disk, 1e15);
    rates.set(Rate::ThreadShare, 0.25);
    let seconds = |threads| rates.worth_it(&planes(1.0, false, threads)).cpu_seconds;
    near(seconds(0), 2.6);
    near(seconds(1), 2.6);
    near(seconds(5), 1.3);
}

#[test]
fn what_is_rendered_is_parsed() {
    let mut rates = Rates::default();
    assert_eq!(rates.render(), "");
    for (k, rate) in (1..).zip(Rate::ALL) {
        assert_eq!(rate as usize, k - 1, "the order of the table");
        rates.set(rate, 1.0 / k as f64);
        assert_eq!(Rates::parse(&rates.render()), Ok(rates.clone()));
    }
    assert_eq!(rates.render().lines().count(), Rate::ALL.len());
    let text = " disk_bytes_per_second=1e9 # each way\n\n# threads = 3\r\n";
    let rates = Rates::parse(text).unwrap();
    assert_eq!(rates.render(), "disk_bytes_per_second = 1000000000\n");
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    let refused = |text: &str| Rates::parse(text).unwrap_err().to_string();
    assert!(refused("\nfast").contains("line 2 is \"fast\""));
    assert!(refused("cpu = 3").contains("line 1 has the key \"cpu\""));
    assert!(refused("threads = 2\nthreads = 2").contains("line 2 gives threads a second time"));
    for value in ["", "0", "-1", "nan", "inf", "1e999", "2 s"] {
        let text = refused(&format!("threads = {value}"));
        assert!(text.contains("not a number above 0"), "{value}: {text}");
    }
}

#[test]
fn what_is_no_measurement_is_not_kept() {
    let mut rates = Rates::default();
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        rates.set(Rate::Disk, value);
        assert_eq!(rates.measured(Rate::Disk), None);
    }
    assert_eq!(rates, Rates::default());
}

#[test]
fn two_files_are_one_work() {
    let (one, other) = (planes(1.0, false, 2), planes(2.0, true, 9));
    let both = one.and(&other);
    assert_eq!(
        (both.clean_pixels, both.masked_pixels),
        (250_000_000, 500_000_000)
    );
    assert_eq!(
        (both.bytes_in, both.bytes_out, both.threads),
        (3_000_000_000, 3_000_000_000, 2)
    );
}
