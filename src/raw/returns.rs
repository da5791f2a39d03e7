//! Stacks of numbers that any thread pushes to, and that their owner takes as a whole: of what
//! is given back, and of what is given back with its value.
//!
//! Pushing is a compare-exchange: to swap first and link afterwards would publish a number
//! before what lies below it is known, and an owner that takes the stack in between would
//! lose that. Only the owner takes, and takes everything, so a number that comes back while
//! another thread pushes does no harm.
//!
//! The links stand in the memory of what is given back, which is the pusher's until it is
//! pushed and the owner's once it is taken; no other thread reads them. Where the value is
//! still there, that is a part of the memory that the value does not take.
//!
//! # Closing
//!
//! An owner that ends puts a mark in place of the stack, then counts what is still out and
//! [settles](Returns::settle) that number. A thread that finds the mark does not push, and
//! [leaves](Returns::leave) instead. It may leave before the owner has counted: the count
//! starts far above any number of things, and settling subtracts the difference.
//!
//! # Invariants
//!
//! * Q1: until it is closed, a stack contains each number once that was pushed and not taken.
//! * Q2: once it is closed, `remaining` is `BIAS` less those that left, and when it is settled
//!   those that are out less those that left. Who brings it to 0 is the last; before that
//!   the memory of this is there.
//! * Q3: functions that may be followed by the end of this take a pointer, not a reference,
//!   and do not touch it after their last step: another thread may free it from there on.

use core::ptr::NonNull;

use super::atomic::{AtomicU32, AtomicUsize, Ordering};

/// What is given back. On a line of its own, and on the one that processors load with it: the
/// owner's figures are not on it, so that a push does not take them from the owner's cache.
#[repr(C, align(128))]
pub(crate) struct Returns {
    stack: NumberStack,
    remaining: AtomicUsize,
}

/// What is given back with its value, for the owner to drop.
#[repr(C, align(128))]
pub(crate) struct Retired {
    stack: NumberStack,
    /// Those on the stack or on their way to it, and those that were taken and still have their
    /// values.
    count: AtomicUsize,
}

/// The top of a stack of numbers.
#[repr(transparent)]
struct NumberStack(AtomicU32);

/// Below the last number.
const NONE: u32 = u32::MAX;
/// In place of the top: the owner is gone.
const CLOSED: u32 = u32::MAX - 1;
/// Far above any number of things, and far below what does not fit.
const BIAS: usize = usize::MAX / 2;

/// The numbers that were pushed, from the last one to the first: each leads to the next.
#[derive(Clone, Copy)]
pub(crate) struct Taken(u32);

impl Taken {
    pub(crate) const EMPTY: Taken = Taken(NONE);

    pub(crate) fn is_empty(self) -> bool {
        self.0 == NONE
    }

    /// The next number, and the rest below it, which `link` reads.
    pub(crate) fn next(self, link: impl FnOnce(u32) -> u32) -> Option<(u32, Taken)> {
        (self.0 != NONE).then(|| (self.0, Taken(link(self.0))))
    }
}

impl NumberStack {
    fn new() -> Self {
        NumberStack(AtomicU32::new(NONE))
    }

    /// Pushes a number; `write_link` writes what lies below it to a place where the owner will
    /// read it. `false` if this is closed.
    ///
    /// # Safety
    ///
    /// This is there until the number was pushed, or this was found closed. The number is below
    /// [`Returns::LIMIT`], and is not on the stack.
    #[inline]
    unsafe fn push(this: NonNull<Self>, number: u32, mut write_link: impl FnMut(u32)) -> bool {
        debug_assert!(number < Returns::LIMIT);
        // SAFETY: there until the exchange below has succeeded (Q3).
        let top = unsafe { &(*this.as_ptr()).0 };
        // Relaxed: what lies below is only written down.
        let mut below = top.load(Ordering::Relaxed);
        while below != CLOSED {
            write_link(below);
            // Release: pairs with the acquire in `take` and `close`, those of later pushes
            // continue it. What the caller did with the thing happens before it is used again.
            match top.compare_exchange_weak(below, number, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => below = found,
            }
        }
        false
    }

    #[inline]
    fn take(&self) -> Taken {
        // Relaxed: nothing is read by it. An empty stack is not written to.
        if self.0.load(Ordering::Relaxed) == NONE {
            return Taken::EMPTY;
        }
        // Acquire: pairs with the release in `push`.
        Taken(self.0.swap(NONE, Ordering::Acquire))
    }

    /// From now on nothing is pushed. What was is taken.
    fn close(&self) -> Taken {
        // Acquire: pairs with the release in `push`.
        match self.0.swap(CLOSED, Ordering::Acquire) {
            CLOSED => Taken::EMPTY,
            top => Taken(top),
        }
    }
}

impl Retired {
    pub(crate) fn new() -> Self {
        Retired {
            stack: NumberStack::new(),
            count: AtomicUsize::new(0),
        }
    }

    /// As [`Returns::push`], of a thing whose value is still there. `false` if this is closed:
    /// the caller keeps the thing.
    ///
    /// # Safety
    ///
    /// As for [`Returns::push`].
    #[inline]
    pub(crate) unsafe fn push(
        this: NonNull<Self>,
        number: u32,
        write_link: impl FnMut(u32),
    ) -> bool {
        // SAFETY: there until it was pushed (precondition).
        unsafe {
            // Before the push, so that it is never below what the owner takes. Relaxed: a figure;
            // the push orders it before the owner's subtraction.
            (*this.as_ptr()).count.fetch_add(1, Ordering::Relaxed);
            let stack = NonNull::new_unchecked(&raw mut (*this.as_ptr()).stack);
            NumberStack::push(stack, number, write_link)
        }
    }

    /// The owner takes what was retired.
    #[inline]
    pub(crate) fn take(&self) -> Taken {
        self.stack.take()
    }

    /// The owner goes, and takes what was retired: from now on all pushes are refused.
    pub(crate) fn close(&self) -> Taken {
        self.stack.close()
    }

    /// How many values are retired.
    pub(crate) fn count(&self) -> usize {
        // Relaxed: a figure.
        self.count.load(Ordering::Relaxed)
    }

    /// One of those that were taken is about to be dropped.
    pub(crate) fn uncount(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Returns {
    /// Numbers are below this.
    pub(crate) const LIMIT: u32 = CLOSED;

    pub(crate) fn new() -> Self {
        Returns {
            stack: NumberStack::new(),
            remaining: AtomicUsize::new(BIAS),
        }
    }

    /// Gives a number back; `write_link` writes what lies below it to a place where the owner
    /// will read it. `false` if this is closed: the caller then [leaves](Self::leave).
    ///
    /// # Safety
    ///
    /// This is there until the caller has pushed or left. The number is below
    /// [`LIMIT`](Self::LIMIT), and the caller gives it back once.
    #[inline]
    pub(crate) unsafe fn push(
        this: NonNull<Self>,
        number: u32,
        write_link: impl FnMut(u32),
    ) -> bool {
        // SAFETY: the preconditions are the same.
        unsafe {
            let stack = NonNull::new_unchecked(&raw mut (*this.as_ptr()).stack);
            NumberStack::push(stack, number, write_link)
        }
    }

    /// The owner takes what was given back.
    #[inline]
    pub(crate) fn take(&self) -> Taken {
        self.stack.take()
    }

    /// The owner goes: from now on nothing is pushed. What was is taken; what is still out is
    /// to be [settled](Self::settle).
    pub(crate) fn close(&self) -> Taken {
        self.stack.close()
    }

    /// After it was closed: so many are out, or have left since. Whether all have left; then
    /// the caller is the last.
    ///
    /// # Safety
    ///
    /// This is closed, and settled once. Unless it says `true` this may be gone afterwards.
    pub(crate) unsafe fn settle(this: NonNull<Self>, out: usize) -> bool {
        let off = BIAS - out;
        // SAFETY: there until those that are out have left, which takes this step too (Q2, Q3).
        let remaining = unsafe { &(*this.as_ptr()).remaining };
        // Release: what the owner did happens before the last one frees the memory. Acquire:
        // or the other way round. Pairs with the same in `leave`.
        remaining.fetch_sub(off, Ordering::AcqRel) == off
    }

    /// One that was out is gone, and found this closed. Whether it was the last.
    ///
    /// # Safety
    ///
    /// This is closed, and the caller counted as out, once. Unless it says `true` this may be
    /// gone afterwards.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn leave(this: NonNull<Self>) -> bool {
        // SAFETY: there until the caller has left (Q2, Q3).
        let remaining = unsafe { &(*this.as_ptr()).remaining };
        // Release: what the caller did happens before the last one frees the memory, and
        // acquire: for the last one. Pairs with the same here and in `settle`.
        remaining.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_leave_is_told_whether_it_left_before_or_after_the_count() {
        for out in 0..4 {
            for early in 0..=out {
                let returns = Returns::new();
                let this = NonNull::from(&returns);
                assert!(returns.close().next(|_| NONE).is_none());
                // SAFETY: closed; each leaves once, and it stays there.
                unsafe {
                    assert!(!Returns::push(this, 7, |_| unreachable!()));
                    for _ in 0..early {
                        assert!(!Returns::leave(this));
                    }
                    assert_eq!(Returns::settle(this, out), early == out);
                    for left in early..out {
                        assert_eq!(Returns::leave(this), left + 1 == out);
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_pushed_is_taken_once_from_the_last_to_the_first() {
        let returns = Returns::new();
        let mut links = [0; 5];
        for number in [3, 0, 4] {
            // SAFETY: it stays there; each number once.
            let pushed = unsafe {
                Returns::push(NonNull::from(&returns), number, |below| {
                    links[number as usize] = below;
                })
            };
            assert!(pushed);
        }
        let mut taken = returns.take();
        for expected in [4, 0, 3] {
            let (number, rest) = taken.next(|number| links[number as usize]).unwrap();
            assert_eq!(number, expected);
            taken = rest;
        }
        assert!(taken.next(|_| NONE).is_none());
        assert!(returns.take().next(|_| NONE).is_none());
    }
}
