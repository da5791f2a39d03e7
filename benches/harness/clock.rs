//! The time-stamp counter, fenced. Only x86_64 has it: elsewhere everything
//! compiles, and the runner measures nothing.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};

/// Whether there is a counter.
pub const IS_HERE: bool = cfg!(target_arch = "x86_64");

#[cfg(not(target_arch = "x86_64"))]
use elsewhere::{__rdtscp, _mm_lfence, _rdtsc};

/// Ticks at the start of a stretch: nothing before it is still under way,
/// nothing of the stretch has begun.
#[inline(always)]
pub fn start() -> u64 {
    // SAFETY: every x86_64 has these instructions.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Ticks at the end of a stretch: all of it has been done.
#[inline(always)]
pub fn stop() -> u64 {
    let mut core = 0;
    // SAFETY: every x86_64 of the last fifteen years has these instructions.
    unsafe {
        let ticks = __rdtscp(&mut core);
        _mm_lfence();
        ticks
    }
}

/// Waits until everything before it has been done.
#[inline(always)]
pub fn fence() {
    // SAFETY: as in `start`.
    unsafe { _mm_lfence() };
}

/// Ticks of one link of a chain of this instruction, each of which needs the
/// result of the one before.
macro_rules! chain {
    ($link:literal) => {{
        const LINKS: u64 = 1 << 14;
        #[allow(unused_mut, reason = "changed on x86_64")]
        let mut number = 3u64;
        let begun = start();
        for _ in 0..LINKS / 8 {
            // SAFETY: arithmetic of a register with itself and nothing else.
            #[cfg(target_arch = "x86_64")]
            unsafe {
                core::arch::asm!(
                    $link, $link, $link, $link, $link, $link, $link, $link,
                    inout(reg) number, options(nomem, nostack)
                );
            }
        }
        std::hint::black_box(number);
        (stop() - begun) as f64 / LINKS as f64
    }};
}

/// The ticks of many empty stretches, in order.
fn empty_stretches() -> Vec<u64> {
    let mut ticks: Vec<u64> = (0..10_001)
        .map(|_| {
            let begun = start();
            stop() - begun
        })
        .collect();
    ticks.sort_unstable();
    ticks
}

/// The ticks that an empty stretch takes, to be subtracted: the median of many.
pub fn overhead() -> u64 {
    empty_stretches()[5_000]
}

/// The smallest step in which the counter advances, in ticks: on some virtual
/// machines more than one.
pub fn step() -> u64 {
    let stretches = empty_stretches();
    let steps = stretches.windows(2).map(|pair| pair[1] - pair[0]);
    steps.filter(|&step| step > 0).min().unwrap_or(1)
}

/// Ticks per nanosecond, measured against the operating system's clock.
pub fn ticks_per_ns() -> f64 {
    let wall = std::time::Instant::now();
    let begun = start();
    while wall.elapsed().as_millis() < 50 {
        std::hint::spin_loop();
    }
    (stop() - begun) as f64 / wall.elapsed().as_nanos() as f64
}

/// Ticks per core cycle, as the two chains that measure it gave it.
pub struct CoreClock {
    additions: f64,
    multiplications: f64,
}

impl CoreClock {
    /// The clock now, asked for until the two chains agree, for ten seconds at most: a
    /// neighbour on the sibling of this core slows one chain more than the other, and
    /// the clock may move between the two.
    ///
    /// The counter runs at a fixed rate and the core does not: figures in core cycles
    /// are ticks divided by this.
    pub fn measured() -> Self {
        let begun = std::time::Instant::now();
        loop {
            let clock = Self::measured_once();
            if clock.is_certain() || begun.elapsed().as_secs() >= 10 {
                return clock;
            }
        }
    }

    /// As [`measured`](Self::measured), but asked for once.
    pub fn measured_once() -> Self {
        let mut clock = CoreClock {
            additions: f64::INFINITY,
            multiplications: f64::INFINITY,
        };
        // One after the other, and each the best of a few: an interrupt slows one.
        for _ in 0..5 {
            clock.additions = clock.additions.min(chain!("add {0}, {0}"));
            clock.multiplications = clock.multiplications.min(chain!("imul {0}, {0}") / 3.0);
        }
        clock
    }

    fn is_certain(&self) -> bool {
        (self.additions / self.multiplications - 1.0).abs() < 0.01
    }

    /// Ticks per core cycle, where certainty is not needed.
    pub fn estimate(&self) -> f64 {
        self.additions.min(self.multiplications)
    }

    /// Ticks per core cycle.
    ///
    /// # Errors
    ///
    /// What the two chains gave, if they do not agree: one cycle for an addition and
    /// three for a multiplication.
    pub fn certain(&self) -> Result<f64, String> {
        if self.is_certain() {
            return Ok(self.additions);
        }
        Err(format!(
            "the core clock is uncertain: {:.3} ticks per cycle by dependent additions, \
             {:.3} by multiplications of three cycles",
            self.additions, self.multiplications
        ))
    }
}

/// What stands for the instructions where there are none, and is never called.
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    pub(super) unsafe fn __rdtscp(_core: *mut u32) -> u64 {
        unreachable!("no time-stamp counter")
    }
    pub(super) unsafe fn _rdtsc() -> u64 {
        unreachable!("no time-stamp counter")
    }
    pub(super) unsafe fn _mm_lfence() {}
}

#[cfg(test)]
mod tests {
    use super::CoreClock;

    #[test]
    fn a_clock_on_which_the_chains_disagree_is_not_certain() {
        let clock = |additions, multiplications| CoreClock {
            additions,
            multiplications,
        };
        assert_eq!(clock(0.9, 0.901).certain(), Ok(0.9));
        assert!(clock(0.963, 0.872).certain().is_err());
        assert!(clock(0.872, 0.963).certain().is_err());
        assert_eq!(clock(0.963, 0.872).estimate(), 0.872);
    }
}
