//! Threads that sleep until another one has done something.
//!
//! # Invariants
//!
//! * `no-lost-wake-up`: who sleeps adds itself to `waiting`, and then looks once more whether what it
//!   waits for is there; who brings it does so, and then reads `waiting`. Between the two steps each
//!   has a fence, so either the sleeper sees what was brought, or the other one sees the sleeper. The
//!   sleeper holds the lock from before it adds itself until it sleeps, so it is not notified in
//!   between.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::raw::atomic::{AtomicUsize, Condvar, Mutex, Ordering, fence};

pub(super) struct Sleepers {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Sleepers {
    pub(super) fn new() -> Self {
        Sleepers {
            waiting: AtomicUsize::new(0),
            lock: Mutex::new(()),
            woken: Condvar::new(),
        }
    }

    /// Sleeps until `is_ready`, or until `end`; returns at once if it is ready.
    pub(super) fn sleep_until(&self, is_ready: impl Fn() -> bool, end: Option<Instant>) {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: ordered by the fence (`no-lost-wake-up`).
        self.waiting.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while !is_ready() {
            guard = match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => (self.woken.wait(guard)).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => break,
                Some(left) => {
                    let woken = self.woken.wait_timeout(guard, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        // Relaxed: who reads a number that is too large wakes nobody.
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        drop(guard);
    }

    /// Wakes all that sleep, after what they wait for was brought.
    #[inline]
    pub(super) fn wake(&self) {
        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence (`no-lost-wake-up`).
        if self.waiting.load(Ordering::Relaxed) != 0 {
            self.notify();
        }
    }

    #[cold]
    #[inline(never)]
    fn notify(&self) {
        // Who has added itself sleeps by the time that the lock is free.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.woken.notify_all();
    }
}
