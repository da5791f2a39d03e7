//! Threads that sleep until another one has done something: pushed an entry, given a cell.
//!
//! The other thread, the *giver*, stores what it gives, and then loads the number of sleepers. A sleeper
//! increments the number, looks for what is given, and sleeps if nothing is there. Each may miss the
//! other's store only if the processor lets the giver's load pass the giver's store, as all do. A fence
//! between them would cost every giver as much as all else that it does. So the sleeper pays instead: it
//! does not sleep for longer than it has slept before, and looks again.
//!
//! # Invariants
//!
//! * `look-then-sleep`: a sleeper looks and begins to sleep under the lock, and a giver that sees
//!   sleepers wakes them under the lock. So a giver that sees the sleeper either gives before the sleeper
//!   looks, or wakes it.
//! * `look-again`: a sleep has a limit, [`FIRST`] at the beginning and then twice the one before. So
//!   what a giver gave that did not see the sleeper is found after as long as was slept before. That is
//!   [`FIRST`]: when it is over, the number is visible to every giver.
//! * `no-user-code-locked`: no user code runs under the lock: `look` reads what the crate has written.

use core::time::Duration;
use std::sync::PoisonError;
use std::time::Instant;

use crate::raw::atomic::{AtomicUsize, Condvar, Mutex, Ordering, fence};

/// The limit of the first sleep. A thread that is woken needs about as long, and a store reaches
/// the other cores in a thousandth of it.
const FIRST: Duration = Duration::from_micros(50);

pub(super) struct Sleepers {
    count: AtomicUsize,
    lock: Mutex<()>,
    given: Condvar,
}

impl Sleepers {
    pub(super) fn new() -> Self {
        Sleepers {
            count: AtomicUsize::new(0),
            lock: Mutex::new(()),
            given: Condvar::new(),
        }
    }

    /// Wakes one sleeper, if any is seen, after something was given that one can have.
    #[inline(always)]
    pub(super) fn wake_one(&self) {
        if self.are_seen() {
            self.notify(Condvar::notify_one);
        }
    }

    /// Wakes all sleepers, if any is seen, after something was given that all can have.
    #[inline(always)]
    pub(super) fn wake_all(&self) {
        if self.are_seen() {
            self.notify(Condvar::notify_all);
        }
    }

    #[inline(always)]
    fn are_seen(&self) -> bool {
        // No time passes in a model, where no sleep has a limit: so there is a fence, without which
        // the sleeper would have to look again (`look-again`).
        #[cfg(all(test, loom))]
        fence(Ordering::SeqCst);
        // Relaxed: a sleeper that is not seen looks again.
        self.count.load(Ordering::Relaxed) != 0
    }

    #[cold]
    #[inline(never)]
    fn notify(&self, wake: fn(&Condvar)) {
        // Under the lock (`look-then-sleep`).
        let locked = self.lock.lock();
        wake(&self.given);
        drop(locked);
    }

    /// Sleeps until `look` returns something, or until `end`.
    pub(super) fn wait<R>(&self, end: Option<Instant>, look: impl Fn() -> Option<R>) -> Option<R> {
        let mut limit = FIRST;
        let mut locked = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: the fence orders it.
        self.count.fetch_add(1, Ordering::Relaxed);
        // SeqCst: a giver whose load comes after a fence of its own, or after its store was seen,
        // sees the number, or what it gave is seen below.
        fence(Ordering::SeqCst);
        let found = loop {
            // Under the lock (`no-user-code-locked`).
            let found = look();
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if found.is_some() || left == Some(Duration::ZERO) {
                break found;
            }
            let sleep = left.map_or(limit, |left| left.min(limit));
            let woken = self.given.wait_timeout(locked, sleep);
            locked = woken.unwrap_or_else(PoisonError::into_inner).0;
            limit = limit.saturating_mul(2);
        };
        // Relaxed: a giver that still sees the number wakes another sleeper, or none.
        self.count.fetch_sub(1, Ordering::Relaxed);
        drop(locked);
        found
    }
}
