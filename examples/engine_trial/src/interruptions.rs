//! What the machine did to this process while its commands were timed.
//!
//! A system that runs another program on the core for a while makes the command at hand longer
//! by that while, up to 4 ms or more: on a machine of two cores that compiles something beside,
//! some thirty commands of a pass, and each command above 100 µs but those that grow. The thread's
//! own clock stands still then, so what it lacks beside the clock on the wall is the
//! system's, command by command, and is not counted. Growth is: pages are copied and faulted in
//! on the thread's clock.
//!
//! To leave out whole rounds in which there were such switches would leave none on such a
//! machine, and choose the rounds on others.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Events of a pass that are not the store's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interruptions {
    /// How often the system gave the core to another program. None where it does not say.
    pub involuntary_switches: Option<u64>,
    /// For how long, which is not counted.
    pub off_core_ns: Option<u64>,
    /// Pages that were read from a disk.
    pub major_faults: Option<u64>,
    /// Time that the host of a virtual machine gave to others, of all cores, in steps of 10 ms.
    pub stolen_ms: Option<u64>,
}

impl Interruptions {
    /// Whether the system counts them at all.
    pub(crate) fn are_known(&self) -> bool {
        self.off_core_ns.is_some()
    }

    /// Whether there was any that the clock of the thread does not show.
    pub(crate) fn disturb(&self) -> bool {
        [self.major_faults, self.stolen_ms]
            .into_iter()
            .flatten()
            .any(|count| count > 0)
    }
}

/// Sees the interruptions of this thread.
#[derive(Debug)]
pub(crate) struct Watch {
    begun: Instant,
    /// The thread's own clock when it began.
    thread_begun: Option<Duration>,
    /// Time off the core until the last look.
    off_core_ns: u64,
    usage: (Option<u64>, Option<u64>),
    stolen_ms: Option<u64>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Watch {
            usage: usage(),
            stolen_ms: stolen_ms(),
            off_core_ns: 0,
            begun: Instant::now(),
            thread_begun: thread_time(),
        }
    }

    /// Nanoseconds off the core since the last look.
    #[cold]
    #[inline(never)]
    pub(crate) fn look(&mut self) -> u64 {
        let before = self.off_core_ns;
        let off_core = self
            .ran()
            .and_then(|ran| self.begun.elapsed().checked_sub(ran));
        self.off_core_ns = off_core.map_or(0, |it| it.as_nanos() as u64).max(before);
        self.off_core_ns - before
    }

    /// For how long this thread has run since the watch began.
    fn ran(&self) -> Option<Duration> {
        thread_time()?.checked_sub(self.thread_begun?)
    }

    /// For how long this thread has run since the watch began, and what interrupted it.
    pub(crate) fn end(self) -> (Duration, Interruptions) {
        let ran = self.ran();
        let wall = self.begun.elapsed();
        let off_core = ran.map(|ran| wall.saturating_sub(ran).as_nanos() as u64);
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let (switches, faults) = usage();
        let interruptions = Interruptions {
            involuntary_switches: since(switches, self.usage.0),
            off_core_ns: off_core,
            major_faults: since(faults, self.usage.1),
            stolen_ms: since(stolen_ms(), self.stolen_ms),
        };
        (ran.unwrap_or(wall), interruptions)
    }
}

/// The clock of this thread, which stands still while it does not run.
#[cfg(unix)]
fn thread_time() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .ok()
        .map(Duration::from)
}

/// Involuntary switches and major faults of this process.
#[cfg(unix)]
fn usage() -> (Option<u64>, Option<u64>) {
    use nix::sys::resource::{UsageWho, getrusage};
    let count = |count| u64::try_from(count).ok();
    getrusage(UsageWho::RUSAGE_SELF).map_or((None, None), |usage| {
        (
            count(usage.involuntary_context_switches()),
            count(usage.major_page_faults()),
        )
    })
}

#[cfg(not(unix))]
fn thread_time() -> Option<Duration> {
    None
}

#[cfg(not(unix))]
fn usage() -> (Option<u64>, Option<u64>) {
    (None, None)
}

/// From the first line of `/proc/stat`, whose eighth number is in hundredths of a second.
fn stolen_ms() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let stolen: u64 = text
        .lines()
        .next()?
        .split_whitespace()
        .nth(8)?
        .parse()
        .ok()?;
    Some(stolen * 10)
}
