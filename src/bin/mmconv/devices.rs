//! `mmconv devices`: what there is to compute with, or precisely why not.

use std::fmt::Write as _;
use std::path::Path;

use mmfits::convolve::availability;
use mmfits::convolve::device::{Availability, Stack};
use serde_json::{Value, json};

use crate::args::Devices;
use crate::failure::Status;
use crate::out::Results;
use crate::words::plural;

/// Shows it; that there is no GPU is no failure.
pub fn run(args: &Devices, results: &Results) -> Status {
    let there = availability();
    let text = if args.json {
        object(&there).to_string()
    } else {
        lines(&there)
    };
    results.line(text.as_bytes());
    Status::Done
}

fn lines(there: &Availability) -> String {
    let threads = plural(there.threads as u64, "thread");
    let mut text = format!("cpu: {threads}, {}", there.instructions);
    match &there.cuda {
        Err(reason) => {
            let _ = write!(text, "\ncuda: not usable here: {reason}");
        }
        Ok(stack) => {
            let _ = write!(
                text,
                "\ncuda: driver for CUDA {}{}, cuFFT {}{}",
                stack.driver_text(),
                at(stack.driver_path.as_deref()),
                stack.cufft_text(),
                at(stack.cufft_path.as_deref())
            );
            for (number, device) in stack.devices.iter().enumerate() {
                let _ = write!(text, "\n  device {number}: {device}");
            }
        }
    }
    text
}

fn at(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| format!(" ({})", path.display()))
}

fn object(there: &Availability) -> Value {
    let (stack, reason) = match &there.cuda {
        Ok(stack) => (cuda(stack), Value::Null),
        Err(reason) => (Value::Null, reason.to_string().into()),
    };
    json!({
        "threads": there.threads,
        "instructions": there.instructions,
        "cuda": stack,
        "cuda_unavailable": reason,
    })
}

fn cuda(stack: &Stack) -> Value {
    let path = |path: Option<&Path>| path.map_or(Value::Null, crate::json::path);
    let devices = stack.devices.iter().enumerate();
    let devices: Vec<Value> = devices
        .map(|(number, device)| {
            let (major, minor) = device.capability;
            json!({
                "device": number,
                "name": device.name,
                "memory_bytes": device.memory_bytes,
                "compute_capability": format!("{major}.{minor}"),
            })
        })
        .collect();
    json!({
        "driver": stack.driver_text(),
        "driver_path": path(stack.driver_path.as_deref()),
        "cufft": stack.cufft_text(),
        "cufft_path": path(stack.cufft_path.as_deref()),
        "devices": devices,
    })
}
