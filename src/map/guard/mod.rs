//! An answer to SIGBUS, for programs that want one: which of our maps a fault lies in, and why.
//!
//! A byte of a map whose page cannot be had ends the process: the file was cut short, its disk
//! failed, or a file system without reserved blocks is full. There is nobody to give an error to,
//! as any load or store may be the one. The library installs nothing by itself; where no signal
//! will do, [`Io::Write`](super::Io::Write) reads and writes by position.

mod farewell;
mod registry;
#[cfg(test)]
mod tests;

use std::io;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

pub use farewell::Farewell;
pub(super) use registry::{Kind, Registration};

/// What was installed, and what was there before; set before the handler can run.
static INSTALLED: OnceLock<Installed> = OnceLock::new();

struct Installed {
    farewell: Farewell,
    before: libc::sigaction,
}

/// Answers a SIGBUS within a map of this library with one line on standard error and an exit
/// status. All others go the way they went before. Of several calls the first counts.
///
/// The process ends where it stands, as if it were killed: no destructor runs, and working files
/// stay. The handler allocates nothing, takes no lock, and calls what signal-safety(7) allows. It
/// runs on the thread's alternate stack, if there is one; it needs less than a kilobyte, so the
/// stack that the fault came from does as well.
///
/// # Errors
/// What the system said.
pub fn install_guard(farewell: Farewell) -> io::Result<()> {
    let before = action_of(libc::SIGBUS)?;
    let mut first = false;
    INSTALLED.get_or_init(|| {
        first = true;
        Installed { farewell, before }
    });
    if !first {
        return Ok(());
    }
    let mut action = before;
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = answer;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both are actions of this process: one made above with a handler of the signature
    // that SA_SIGINFO asks for, and none to be written.
    let status = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether this process was started to ignore a signal, as by nohup(1), or ignores it by now.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    action_of(signal).is_ok_and(|action| action.sa_sigaction == libc::SIG_IGN)
}

fn action_of(signal: i32) -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a question that changes nothing; `action` has room for what the call writes.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, and so has filled it.
    Ok(unsafe { action.assume_init() })
}

/// The handler.
extern "C" fn answer(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let Some(installed) = INSTALLED.get() else {
        return;
    };
    // SAFETY: the system gives a handler with SA_SIGINFO a valid pointer (sigaction(2)).
    let Some(info) = (unsafe { info.as_ref() }) else {
        return;
    };
    // Sent by somebody (kill(2), raise(3)), it has no address, and does not come again by itself.
    if info.si_code <= 0 {
        return end_by_signal();
    }
    // SAFETY: SIGBUS from a fault has an address.
    let address = unsafe { info.si_addr() }.addr();
    if let Some(fault) = registry::find(address) {
        installed.farewell.say(&fault);
    }
    // The instruction is run again when this returns, and so is the signal.
    restore(&installed.before);
}

fn restore(action: &libc::sigaction) {
    // SAFETY: an action that was in force before; none to be written. It is on the list of
    // signal-safety(7).
    let _ = unsafe { libc::sigaction(libc::SIGBUS, action, std::ptr::null_mut()) };
}

/// SIGBUS as if nobody had asked for it: pending until the handler returns.
fn end_by_signal() {
    // SAFETY: the default action for a signal, which takes no memory of ours.
    let _ = unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    // SAFETY: it touches no memory; both calls are on the list of signal-safety(7).
    let _ = unsafe { libc::raise(libc::SIGBUS) };
}
