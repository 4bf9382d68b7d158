//! What went wrong, in one line, and the exit status that says whose it is to mend.

use std::error::Error as StdError;
use std::fmt::Write as _;

use mmfits::Blame;

use crate::out::tell;

/// The exit statuses of this program. 5 and 6 are kept for restarted work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Status {
    /// All was done.
    Done = 0,
    /// The request cannot be met.
    Request = 2,
    /// An input is wrong.
    Input = 3,
    /// The machine failed.
    Machine = 4,
    /// Planes that other processes make are missing.
    Incomplete = 5,
    /// Stored planes do not match their checksums.
    Mismatch = 6,
    /// This program is wrong.
    Bug = 70,
    /// It was asked to stop before its end, and can go on.
    Interrupted = 75,
}

impl From<Blame> for Status {
    fn from(blame: Blame) -> Self {
        match blame {
            Blame::Request => Self::Request,
            Blame::Input => Self::Input,
            Blame::Machine => Self::Machine,
            Blame::Bug => Self::Bug,
            Blame::Incomplete => Self::Incomplete,
            Blame::Mismatch => Self::Mismatch,
            Blame::Interrupted => Self::Interrupted,
        }
    }
}

/// A line for the user and the status to exit with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose it is to mend.
    pub status: Status,
    /// What was found, where, and what would be right.
    pub text: String,
}

impl Failure {
    /// The request cannot be met.
    pub fn request(text: impl Into<String>) -> Self {
        Self {
            status: Status::Request,
            text: text.into(),
        }
    }

    /// The machine failed.
    pub fn machine(text: impl Into<String>) -> Self {
        Self {
            status: Status::Machine,
            text: text.into(),
        }
    }

    /// This program is wrong.
    pub fn bug(text: impl Into<String>) -> Self {
        Self {
            status: Status::Bug,
            text: text.into(),
        }
    }

    /// Tells the user, and returns the status.
    pub fn tell(&self) -> Status {
        tell(&format!("mmconv: {}", self.text));
        self.status
    }
}

impl From<mmfits::Error> for Failure {
    fn from(error: mmfits::Error) -> Self {
        let mut text = chain(&error);
        let status = error.blame().into();
        // An interruption is told with the line to type.
        let unfinished = error.unfinished().filter(|_| status != Status::Interrupted);
        if let Some(left) = unfinished {
            let (stored, planes) = (left.stored, left.planes);
            let output = one_line(&left.output.display().to_string());
            let restarts = std::env::args_os().any(|word| word == "--restart");
            let without = if restarts { " without --restart" } else { "" };
            let _ = write!(
                text,
                " ({stored} of {planes} planes of {output} are kept; the same command{without} goes \
                 on with them)"
            );
        }
        Self { status, text }
    }
}

/// An error and all that caused it, on one line.
///
/// A level that only repeats the end of the one above it is left out: many `io::Error`s say what
/// their wrapper has said already.
pub fn chain(error: &dyn StdError) -> String {
    let mut text = one_line(&error.to_string());
    let mut source = error.source();
    while let Some(error) = source {
        let level = one_line(&error.to_string());
        if !text.ends_with(&level) {
            let _ = write!(text, ": {level}");
        }
        source = error.source();
    }
    text
}

/// Line breaks, as in a hostile file name, become blanks.
pub fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;

    #[derive(Debug)]
    struct Level(&'static str, Option<Box<Level>>);

    impl fmt::Display for Level {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl StdError for Level {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            self.1.as_deref().map(|level| level as _)
        }
    }

    #[test]
    fn the_chain_is_one_line_without_repeats() {
        let io = Level("no such file", None);
        let map = Level("cannot open: no such file", Some(Box::new(io)));
        let outer = Level("a\nb.fits", Some(Box::new(map)));
        assert_eq!(chain(&outer), "a b.fits: cannot open: no such file");
    }

    /// A run whose observer panics when the second plane is stored.
    fn panicked() -> mmfits::Error {
        use fits_layout::Header;
        use mmfits::output::{Existing, NewImage};
        use mmfits::plan::FilePlan;
        use mmfits::progress::Observer;
        use mmfits::run::{Request, prepare};

        struct Panics;
        impl Observer for Panics {
            fn plane_stored(&self, _: &FilePlan, plane: u64, _: u64) {
                if plane == 1 {
                    std::panic::resume_unwind(Box::new("injected"));
                }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.fits");
        let mut header = Header::new();
        header.set("SIMPLE", true, None).unwrap();
        let lengths = [("BITPIX", -32), ("NAXIS", 3), ("NAXIS1", 6)];
        let lengths = lengths.into_iter().chain([("NAXIS2", 5), ("NAXIS3", 3)]);
        for (keyword, value) in lengths {
            header.set(keyword, value, None).unwrap();
        }
        let axes = [("RA---SIN", -1e-3), ("DEC--SIN", 1e-3), ("FREQ", 1e6)];
        for (axis, (ctype, step)) in (1..).zip(axes) {
            header.set(&format!("CTYPE{axis}"), ctype, None).unwrap();
            header.set(&format!("CDELT{axis}"), step, None).unwrap();
        }
        for (keyword, value) in [("BMAJ", 0.003), ("BMIN", 0.002), ("BPA", 30.0)] {
            header.set(keyword, value, None).unwrap();
        }
        let image = NewImage::create(&path, &header, Existing::Refuse).unwrap();
        image.finish().unwrap();
        let mut request = Request {
            inputs: vec![path],
            ..Request::default()
        };
        request.resources.threads = Some(1);
        prepare(&request).unwrap().run(&Panics).unwrap_err()
    }

    #[test]
    fn a_panic_in_a_plane_is_a_bug_of_that_plane() {
        let failure = Failure::from(panicked());
        assert_eq!(failure.status as u8, 70);
        let (start, end) = (
            "c.fits, plane 1: the work on it panicked: injected; this is a bug",
            "are kept; the same command goes on with them)",
        );
        assert!(failure.text.contains(start), "{}", failure.text);
        assert!(failure.text.ends_with(end), "{}", failure.text);
    }

    #[test]
    fn the_worst_status_is_the_largest() {
        let all = [
            Status::Input,
            Status::Bug,
            Status::Done,
            Status::Machine,
            Status::Request,
        ];
        assert_eq!(all.iter().max(), Some(&Status::Bug));
        assert_eq!(Status::from(Blame::Machine) as u8, 4);
    }
}
