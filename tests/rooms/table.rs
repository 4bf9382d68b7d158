//! The table of rooms: who may use whom, and where the crates from outside live. Change it only
//! with a reason in DECISIONS.md.

/// A module directly under the crate root, or the command.
pub struct Room {
    /// Its name in `crate::NAME`.
    pub name: &'static str,
    /// The rooms that it may use.
    pub may_use: &'static [&'static str],
    /// Whether it may open files, look at the machine or the environment.
    pub opens_files: bool,
}

const fn pure(name: &'static str, may_use: &'static [&'static str]) -> Room {
    Room {
        name,
        may_use,
        opens_files: false,
    }
}

const fn open(name: &'static str, may_use: &'static [&'static str]) -> Room {
    Room {
        name,
        may_use,
        opens_files: true,
    }
}

/// In the order of the arrows: beam, sky, plane, map -> kernel -> plan -> convolve, output,
/// journal, image -> run -> bin. `fits_layout` is a crate of its own, under them all.
pub const ROOMS: &[Room] = &[
    // Reads beam logs beside the image.
    open("beam", &[]),
    pure("sky", &[]),
    pure("plane", &[]),
    open("map", &[]),
    pure("kernel", &["beam", "sky", "plane"]),
    // Pure data; opens nothing.
    pure("plan", &["beam", "sky", "plane", "kernel"]),
    // Never sees a file.
    pure("convolve", &["plane", "kernel", "plan"]),
    // Never sees a transform.
    open("output", &["beam", "sky", "plane", "map", "plan", "error"]),
    open("journal", &["map", "plan"]),
    // One image of one file, opened.
    open("image", &["beam", "sky", "plane", "map", "plan", "error"]),
    // Wraps the error of each stage, so it looks down on them all; `image`, `output` and `run`,
    // which callers speak to, answer with it.
    open(
        "error",
        &[
            "beam", "sky", "plane", "map", "kernel", "plan", "convolve", "output", "journal",
        ],
    ),
    // The front door, and `progress`, its voice.
    open(
        "run",
        &[
            "beam", "sky", "plane", "map", "kernel", "plan", "convolve", "output", "journal",
            "image", "error",
        ],
    ),
    // The crate root names the rooms and shows what is public.
    open(
        "lib",
        &[
            "beam", "sky", "plane", "map", "kernel", "plan", "convolve", "output", "journal",
            "image", "error", "run",
        ],
    ),
    // A crate of its own: the compiler holds it to the public API.
    open("bin", &[]),
];

/// Files of pure rooms that look into the environment and into folders all the same: libraries of a
/// device are opened at run time, and have to be found.
pub const LOOKS_AROUND: &[&str] = &["src/convolve/cuda/search.rs"];

/// The room with this name.
pub fn room(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

/// The only rooms that may use a crate; `None` where any may.
pub fn homes(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "memmap2" => &["map"],
        "rustfft" | "realfft" => &["convolve", "plane"],
        // In the bin for `bench`, whose lanes have a pool as those of a run have.
        "rayon" => &["convolve", "run", "output", "bin"],
        "clap" | "clap_complete" | "clap_mangen" | "indicatif" | "serde_json" | "signal_hook" => {
            &["bin"]
        }
        "cudarc" | "libloading" => &["convolve"],
        // No FITS in the maps.
        "fits_layout" => &[
            "beam", "sky", "plane", "kernel", "plan", "convolve", "output", "journal", "image",
            "error", "run", "lib", "bin",
        ],
        _ => return None,
    })
}
