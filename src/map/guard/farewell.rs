//! The last line of a process that lost a page, and its exit status. All of it runs in a signal
//! handler: no allocation, no lock, and only calls that signal-safety(7) lists.

use std::sync::atomic::{AtomicBool, Ordering};

use super::registry::{Fault, Kind};

/// What a process says and exits with when a page of a map cannot be had.
#[derive(Clone, Copy, Debug)]
pub struct Farewell {
    /// What its lines begin with.
    pub program: &'static str,
    /// For a file that is read.
    pub input_status: i32,
    /// For a file that is written.
    pub output_status: i32,
}

/// Digits of the largest number.
const DIGITS: usize = 20;

/// Parts of a line.
const PARTS: usize = 9;

impl Farewell {
    /// Says what was lost, in one write, and ends the process.
    pub(super) fn say(&self, fault: &Fault) -> ! {
        static SAID: AtomicBool = AtomicBool::new(false);
        // Several threads may meet the same end: one speaks, and ends the others.
        while SAID.swap(true, Ordering::AcqRel) {
            // SAFETY: it waits, and touches no memory.
            let _ = unsafe { libc::pause() };
        }
        let (mut byte, mut piece) = ([0; DIGITS], [0; DIGITS]);
        let line = self.line(fault, &mut byte, &mut piece);
        write(&line);
        let status = match fault.kind {
            Kind::Input => self.input_status,
            Kind::Output => self.output_status,
        };
        // SAFETY: it does not return.
        unsafe { libc::_exit(status) }
    }

    fn line<'a>(
        &'a self,
        fault: &'a Fault,
        byte: &'a mut [u8; DIGITS],
        piece: &'a mut [u8; DIGITS],
    ) -> [&'a [u8]; PARTS] {
        let why: &[u8] = match fault.kind {
            Kind::Input => b": the file was cut short or its disk failed while it was read\n",
            Kind::Output => b": its disk is full or failed while it was written\n",
        };
        let [open, number, close]: [&[u8]; 3] = match fault.piece {
            Some(number) => [b" (plane ", digits(number, piece), b")"],
            None => [b"", b"", b""],
        };
        let at = digits(fault.at_bytes, byte);
        let program = self.program.as_bytes();
        [
            program, b": ", fault.name, b": byte ", at, open, number, close, why,
        ]
    }
}

/// One write of all parts. What cannot be written is not heard.
fn write(parts: &[&[u8]; PARTS]) {
    let parts = parts.map(|part| libc::iovec {
        iov_base: part.as_ptr().cast_mut().cast(),
        iov_len: part.len(),
    });
    // SAFETY: the parts are slices that outlive the call, which only reads them.
    let _ = unsafe { libc::writev(libc::STDERR_FILENO, parts.as_ptr(), PARTS as i32) };
}

/// A number in decimal digits, which are the last of `room`.
fn digits(mut number: u64, room: &mut [u8; DIGITS]) -> &[u8] {
    let mut used = 0;
    for place in room.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    room.get(DIGITS - used..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_digits() {
        for number in [0, 7, 10, 2_880, u64::MAX] {
            let mut room = [0; DIGITS];
            assert_eq!(digits(number, &mut room), number.to_string().as_bytes());
        }
    }

    #[test]
    fn a_line_names_file_byte_and_plane() {
        let farewell = Farewell {
            program: "prog",
            input_status: 3,
            output_status: 4,
        };
        let line = |kind, piece| {
            let fault = Fault {
                name: b"a.fits",
                kind,
                at_bytes: 2880,
                piece,
            };
            let (mut byte, mut number) = ([0; DIGITS], [0; DIGITS]);
            let line = farewell.line(&fault, &mut byte, &mut number).concat();
            String::from_utf8(line).unwrap()
        };
        assert_eq!(
            line(Kind::Input, Some(12)),
            "prog: a.fits: byte 2880 (plane 12): the file was cut short or its disk failed while \
             it was read\n"
        );
        assert_eq!(
            line(Kind::Output, None),
            "prog: a.fits: byte 2880: its disk is full or failed while it was written\n"
        );
    }
}
