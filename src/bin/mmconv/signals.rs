//! Signals that ask this program to end: the first lets the planes in hand be finished, a second
//! does not wait. What is stored then, and what to type to go on, is for `smooth` to say.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mmfits::map::guard::is_ignored;
use mmfits::run::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::{exit, signal_name};

use crate::failure::{Failure, Status};
use crate::out::tell;

/// Interrupts, time limits, and the warning that batch systems send before one.
const ASKING: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1];

/// A signal so soon after another is its echo and no second one: timeout(1) sends what it has to
/// say to its child and then to the child's group, and launchers pass on what the terminal has
/// sent to everybody.
const ECHO: Duration = Duration::from_millis(250);

/// Planes that are given up end at their next rows. One that has none so soon is not waited for.
const GIVING_UP: Duration = Duration::from_secs(2);

/// How long a line may take: nobody may be reading it.
const WORD: Duration = Duration::from_millis(200);

/// What the thread that hears signals and the one that works share.
#[derive(Clone, Debug)]
pub struct Interruption {
    /// For the request.
    pub stop: Stop,
    working: Arc<AtomicBool>,
}

/// Hears signals from now on. Until the work [begins](Interruption::begin) there is nothing to
/// finish, and they end the program. Those that are ignored, as `nohup` has it of SIGHUP and a
/// shell of the interrupts of its background jobs, stay ignored, and blocked ones blocked.
pub fn listen(grace: Duration, resume: String) -> Result<Interruption, Failure> {
    let interruption = Interruption {
        stop: Stop::default(),
        working: Arc::default(),
    };
    let failed = |error| Failure::machine(format!("signals cannot be listened to: {error}"));
    let asking = ASKING.into_iter().filter(|&signal| !is_ignored(signal));
    let signals = Signals::new(asking).map_err(failed)?;
    // A file that is too long for `ulimit -f` is an error of its writing, which says which one; by
    // itself the signal would end the program without a word.
    flag::register(SIGXFSZ, Arc::default()).map_err(failed)?;
    let ear = Ear {
        interruption: interruption.clone(),
        grace,
        resume: Arc::from(resume),
    };
    let thread = thread::Builder::new().name("mmconv-signals".to_owned());
    thread.spawn(move || ear.hear(signals)).map_err(failed)?;
    Ok(interruption)
}

impl Interruption {
    /// From now on there are planes to be finished.
    pub fn begin(&self) {
        self.working.store(true, Ordering::Release);
    }
}

/// The life of the thread that hears.
#[derive(Debug)]
struct Ear {
    interruption: Interruption,
    grace: Duration,
    /// What to type to go on.
    resume: Arc<str>,
}

impl Ear {
    fn hear(&self, mut signals: Signals) {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            let name = signal_name(signal).unwrap_or("a signal");
            match first {
                Some(heard) if heard.elapsed() < ECHO => {}
                Some(_) => leave(&format!("{name} again: stopped at once"), &self.resume),
                None if !self.interruption.working.load(Ordering::Acquire) => {
                    leave_unbegun(name);
                }
                None => {
                    first = Some(Instant::now());
                    say(waiting_text(name, self.grace));
                    self.count_down();
                }
            }
        }
    }

    /// Lets the planes in hand have their time, while signals go on being heard.
    fn count_down(&self) {
        let (grace, stop) = (self.grace, self.interruption.stop.clone());
        stop.after_planes();
        if grace.is_zero() {
            stop.now();
        }
        let resume = Arc::clone(&self.resume);
        let timer = thread::Builder::new().spawn(move || {
            thread::sleep(grace);
            stop.now();
            thread::sleep(GIVING_UP);
            leave("stopped before its end", &resume);
        });
        // Without a thread there is no waiting.
        if timer.is_err() {
            self.interruption.stop.now();
        }
    }
}

fn waiting_text(name: &str, grace: Duration) -> String {
    if grace.is_zero() {
        return format!("mmconv: {name}: stopping; planes in hand are given up");
    }
    format!(
        "mmconv: {name}: stopping; planes in hand have {} s to be finished (again: at once)",
        grace.as_secs_f64()
    )
}

/// Ends the program where it stands, which is as safe as being killed: what was recorded is
/// stored.
fn leave(why: &str, resume: &str) -> ! {
    let text = format!("mmconv: {why}; go on with:\n  {resume}");
    say(text);
    exit(Status::Interrupted as i32)
}

fn leave_unbegun(name: &str) -> ! {
    say(format!("mmconv: {name}: nothing was begun"));
    exit(Status::Interrupted as i32)
}

/// Tells it in a thread of its own: a terminal that is not read holds up nothing.
fn say(text: String) {
    let (told, heard) = mpsc::channel();
    let speaker = thread::Builder::new().spawn(move || {
        tell(&text);
        let _ = told.send(());
    });
    if speaker.is_ok() {
        let _ = heard.recv_timeout(WORD);
    }
}
