//! The only place that writes to the terminal: results to standard output, all else to standard
//! error. Nothing here decides what is said.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failure::Failure;

/// Standard output, for results only.
///
/// A reader that has gone away (`mmconv beams … | head -1`) is no failure: what follows is dropped.
#[derive(Debug, Default)]
pub struct Results {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Open,
    Closed,
    Failed(io::Error),
}

impl Results {
    /// Writes the bytes and a line break at once.
    pub fn line(&self, bytes: &[u8]) {
        let mut line = Vec::with_capacity(bytes.len() + 1);
        line.extend_from_slice(bytes);
        line.push(b'\n');
        self.write(&line);
    }

    /// Writes the bytes as they are, unless writing has ended.
    pub fn write(&self, bytes: &[u8]) {
        let mut state = self.state();
        if !matches!(*state, State::Open) {
            return;
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *state = State::Closed,
            Err(error) => *state = State::Failed(error),
        }
    }

    /// Says whether a result could not be written, as on a full disk.
    pub fn check(&self) -> Result<(), Failure> {
        match &*self.state() {
            State::Open | State::Closed => Ok(()),
            State::Failed(error) => Err(Failure::machine(format!(
                "the results cannot be written: {error}"
            ))),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the text and a line break to standard error. That nobody listens is no failure.
pub fn tell(text: &str) {
    let _ = io::stderr()
        .lock()
        .write_all(format!("{text}\n").as_bytes());
}
