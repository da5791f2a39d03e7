//! Stacks of numbers that any thread pushes to, and that their owner takes as a whole: of what
//! is given back, and of what is given back with its value.
//!
//! Pushing is a compare-exchange: to swap first and link afterwards would publish a number
//! before what lies below it is known, and an owner that takes the stack in between would
//! lose that. Only the owner takes, and takes everything, so a number that comes back while
//! another thread pushes does no harm.
//!
//! The word that is exchanged has room for [several numbers](super::packed), and what has no
//! room stands in links: in the memory of what is given back, which is the pusher's until it is
//! pushed and the owner's once it is taken; no other thread reads them. Where the value is
//! still there, that is a part of the memory that the value does not take. A word says all
//! that its exchange depends on, so one that is the same again, with other links below, does no
//! harm either.
//!
//! # The owner's thread
//!
//! What ends on the thread of the owner need not take this way. The owner notes its thread when
//! it gives something out and nothing else is out, so in between it cannot have changed, and no
//! more from when it closes the stack. Who asks whether this thread is noted can only be told so on
//! that thread, which knows what it wrote last; others read an older number or a newer one, and
//! none of them is theirs.
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
//! * `pushed-once`: until it is closed, a stack contains each number once that was pushed and not
//!   taken.
//! * `last-to-leave`: once it is closed, `remaining` is `BIAS` less those that left, and when it is
//!   settled those that are out less those that left. Who brings it to 0 is the last; before that
//!   the memory of this is there.
//! * `returns-owner`: `owner` is 0, or the number of the thread of an owner that is not gone.
//! * `last-step`: functions that may be followed by the end of this take a pointer, not a
//!   reference, and do not touch it after their last step: another thread may free it from there
//!   on.

use core::ptr::NonNull;

use super::atomic::{AtomicUsize, Ordering};
use super::packed::{Packing, Word};
use super::this_thread;

/// A stack of numbers of things, and what its owner asks about those that are out. On a line of its
/// own, and on the one that processors load with it: the owner's figures are not on it, so that a
/// push does not take them from the owner's cache. Next to the top, where a push reads it from the
/// same line, how numbers share a word.
#[repr(C, align(128))]
pub(crate) struct NumberStack<O> {
    top: AtomicUsize,
    packing: Packing,
    out: O,
}

/// What is given back.
pub(crate) type Returns = NumberStack<Remaining>;

/// What is given back with its value, for the owner to drop.
///
/// How many there are is counted on the stack itself. A counter beside it would be raised before
/// the push or after it, and an owner that looks in between would take a value that is still out
/// for one that is back, or the other way round; a process that is forked in between would do so
/// for ever.
pub(crate) type Retired = NumberStack<OwnerThread>;

/// What is out when the owner goes (`last-to-leave`).
pub(crate) struct Remaining(AtomicUsize);

/// The number of the owner's thread (`returns-owner`). On the stack of what is retired, because
/// every end reads it: next to the other stack each push would take it from the caches of all
/// others.
pub(crate) struct OwnerThread(AtomicUsize);

/// Far above any number of things, and far below what does not fit.
const BIAS: usize = usize::MAX / 2;

impl<O> NumberStack<O> {
    /// Numbers are below this.
    pub(crate) const LIMIT: u32 = Word::LIMIT;

    fn with(packing: Packing, out: O) -> Self {
        NumberStack {
            top: AtomicUsize::new(Word::EMPTY.0),
            packing,
            out,
        }
    }

    /// Gives a number back; `write_link` writes a word that lies below it to its link, where the
    /// owner will read it. `false` if this is closed: the caller then keeps the thing, and
    /// [leaves](Returns::leave).
    ///
    /// # Safety
    ///
    /// This is there until the number was pushed, or the caller left. The number is below
    /// [`LIMIT`](Self::LIMIT), and the caller gives it back once (`pushed-once`).
    #[inline]
    pub(crate) unsafe fn push(
        this: NonNull<Self>,
        number: u32,
        mut write_link: impl FnMut(Word),
    ) -> bool {
        debug_assert!(number < Self::LIMIT);
        // SAFETY: there until the exchange below has succeeded (`last-step`).
        let (top, packing) = unsafe { (&(*this.as_ptr()).top, (*this.as_ptr()).packing) };
        // Relaxed: what lies below is only written down.
        let mut below = top.load(Ordering::Relaxed);
        loop {
            let word = match Word(below).with(number, packing) {
                Some(word) => word,
                None if Word(below) == Word::CLOSED => return false,
                None => {
                    write_link(Word(below));
                    Word::linked(number, packing)
                }
            };
            // Release: pairs with the acquire in `take` and `close`, those of later pushes
            // continue it. What the caller did with the thing happens before it is used again.
            match top.compare_exchange_weak(below, word.0, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => below = found,
            }
        }
    }

    /// The owner takes what was given back.
    #[inline]
    pub(crate) fn take(&self) -> Word {
        // Relaxed: nothing is read by it. An empty stack is not written to.
        if self.top.load(Ordering::Relaxed) == Word::EMPTY.0 {
            return Word::EMPTY;
        }
        // Acquire: pairs with the release in `push`.
        Word(self.top.swap(Word::EMPTY.0, Ordering::Acquire))
    }

    /// The owner goes, and takes what was given back: from now on nothing is pushed. Of
    /// [`Returns`], what is still out is to be [settled](Returns::settle).
    pub(crate) fn close(&self) -> Word {
        // Acquire: pairs with the release in `push`.
        match Word(self.top.swap(Word::CLOSED.0, Ordering::Acquire)) {
            Word::CLOSED => Word::EMPTY,
            top => top,
        }
    }
}

impl Retired {
    pub(crate) fn new() -> Self {
        NumberStack::with(Packing::NONE, OwnerThread(AtomicUsize::new(0)))
    }

    /// The owner gives something out, and nothing else is out.
    #[inline]
    pub(crate) fn note_owner(&self) {
        let (OwnerThread(owner), here) = (&self.out, this_thread::number());
        // Relaxed: asked for on the same thread, or of no meaning. Not written where it is the
        // same, as all others have read it.
        if owner.load(Ordering::Relaxed) != here {
            owner.store(here, Ordering::Relaxed);
        }
    }

    /// The owner goes, before what is out is settled.
    pub(crate) fn forget_owner(&self) {
        // Relaxed: as above.
        self.out.0.store(0, Ordering::Relaxed);
    }

    /// Whether this is the thread of the owner, who is not gone.
    ///
    /// # Safety
    ///
    /// This is there.
    #[inline]
    pub(crate) unsafe fn is_owned_here(this: NonNull<Self>) -> bool {
        // SAFETY: `this` is not freed during the call (precondition); the field is atomic.
        let OwnerThread(owner) = unsafe { &(*this.as_ptr()).out };
        let here = this_thread::number_if_any();
        // Relaxed: only this thread can have written its number, and what it wrote last it reads
        // (`returns-owner`).
        here != 0 && owner.load(Ordering::Relaxed) == here
    }

    /// The owner looks at what was retired, and leaves it there: only its taking makes the links
    /// invalid.
    pub(crate) fn peek(&self) -> Word {
        // Acquire: pairs with the release in `push`.
        match Word(self.top.load(Ordering::Acquire)) {
            Word::CLOSED => Word::EMPTY,
            top => top,
        }
    }
}

impl Returns {
    /// Of numbers that share words in this way.
    pub(crate) fn new(packing: Packing) -> Self {
        NumberStack::with(packing, Remaining(AtomicUsize::new(BIAS)))
    }

    /// After it was closed: so many are out, or have left since. Whether all have left; then
    /// the caller is the last.
    ///
    /// # Safety
    ///
    /// This is closed, and settled once. Unless it says `true` this may be gone afterwards.
    pub(crate) unsafe fn settle(this: NonNull<Self>, out: usize) -> bool {
        let off = BIAS - out;
        // SAFETY: there until those that are out have left, which takes this step too
        // (`last-to-leave`, `last-step`).
        let Remaining(remaining) = unsafe { &(*this.as_ptr()).out };
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
        // SAFETY: there until the caller has left (`last-to-leave`, `last-step`).
        let Remaining(remaining) = unsafe { &(*this.as_ptr()).out };
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
                let returns = Returns::new(Packing::NONE);
                let this = NonNull::from(&returns);
                assert!(returns.close().is_empty());
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
        for packing in [Packing::NONE, Packing::below(5), Packing::UNBOUNDED] {
            let returns = Returns::new(packing);
            let mut links = [Word::EMPTY; 5];
            for number in [3, 0, 4] {
                // SAFETY: `returns` outlives the loop; each number is below the limit and pushed
                // once (`pushed-once`).
                let pushed = unsafe {
                    Returns::push(NonNull::from(&returns), number, |below| {
                        links[number as usize] = below;
                    })
                };
                assert!(pushed);
            }
            let mut taken = returns.take();
            for expected in [4, 0, 3] {
                let next = taken.next(packing, |number| links[number as usize]);
                let (number, rest) = next.unwrap();
                assert_eq!(number, expected);
                taken = rest;
            }
            assert!(taken.is_empty());
            assert!(returns.take().is_empty());
        }
    }
}

/// `ci/loom.sh`: words that have room, that are full, wide ones and closed stacks.
#[cfg(all(test, loom))]
mod models {
    use std::vec::Vec;

    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Numbers below this: two of them fill a word, unless they are wide.
    const NUMBERS: u32 = 3;

    /// A stack, and beside it a link for each number and what its holder writes.
    struct Shared {
        returns: Returns,
        packing: Packing,
        links: Vec<UnsafeCell<Word>>,
        things: Vec<UnsafeCell<u32>>,
    }

    // SAFETY: loom reports each unordered access to the cells.
    unsafe impl Send for Shared {}
    // SAFETY: loom reports each unordered access to the cells.
    unsafe impl Sync for Shared {}

    impl Shared {
        fn new(packing: Packing) -> Arc<Self> {
            Arc::new(Shared {
                returns: Returns::new(packing),
                packing,
                links: (0..NUMBERS).map(|_| UnsafeCell::new(Word::EMPTY)).collect(),
                things: (0..NUMBERS).map(|_| UnsafeCell::new(0)).collect(),
            })
        }

        /// What a holder does with a thing of its own.
        fn write(&self, number: u32) {
            // SAFETY: loom reports an access that has no order to this one.
            self.things[number as usize].with_mut(|thing| unsafe { *thing += 1 });
        }

        fn push(&self, number: u32) -> bool {
            self.write(number);
            let link = |below| {
                // SAFETY: loom reports an access that has no order to this one.
                self.links[number as usize].with_mut(|link| unsafe { *link = below });
            };
            // SAFETY: the stack is there; the caller has the number.
            unsafe { Returns::push(NonNull::from(&self.returns), number, link) }
        }

        /// All numbers of what was taken.
        fn numbers(&self, mut taken: Word) -> Vec<u32> {
            // SAFETY: loom reports an access that has no order to this one.
            let link = |number| self.links[number as usize].with(|link| unsafe { *link });
            let mut numbers = Vec::new();
            while let Some((number, rest)) = taken.next(self.packing, link) {
                self.write(number);
                numbers.push(number);
                taken = rest;
            }
            numbers
        }
    }

    /// Of words of two numbers, of one each, and of numbers that need more bits than others.
    fn model(test: impl Fn(Packing) + Sync + Send + Copy + 'static) {
        let all = [
            Packing::below(NUMBERS as usize),
            Packing::NONE,
            Packing::UNBOUNDED,
        ];
        for packing in all {
            loom::model(move || test(packing));
        }
    }

    fn assert_all(mut numbers: Vec<u32>) {
        numbers.sort_unstable();
        assert_eq!(numbers, (0..NUMBERS).collect::<Vec<_>>());
    }

    #[test]
    fn loom_each_number_is_taken_once_whether_it_found_room_or_not() {
        model(|packing| {
            let shared = Shared::new(packing);
            let pushes = [&[0, 1][..], &[2]].map(|numbers| {
                let shared = shared.clone();
                thread::spawn(move || numbers.iter().for_each(|it| assert!(shared.push(*it))))
            });
            let mut taken = shared.numbers(shared.returns.take());
            for thread in pushes {
                thread.join().unwrap();
            }
            taken.extend(shared.numbers(shared.returns.take()));
            assert_all(taken);
        });
    }

    #[test]
    fn loom_a_word_that_comes_back_with_other_numbers_below_loses_none() {
        model(|packing| {
            let shared = Shared::new(packing);
            assert!(shared.push(0) && shared.push(1));
            let other = shared.clone();
            let pushes = thread::spawn(move || assert!(other.push(2)));
            let mut taken = shared.numbers(shared.returns.take());
            // The word that the other thread may have seen, over another link.
            taken.retain(|number| *number == 2);
            assert!(shared.push(0) && shared.push(1));
            pushes.join().unwrap();
            taken.extend(shared.numbers(shared.returns.take()));
            assert_all(taken);
        });
    }

    #[test]
    fn loom_a_number_is_taken_by_the_close_or_leaves() {
        model(|packing| {
            let shared = Shared::new(packing);
            assert!(shared.push(0));
            let pushes = [1, 2].map(|number| {
                let shared = shared.clone();
                thread::spawn(move || {
                    // SAFETY: a refused push says that the stack is closed; each thread leaves
                    // once.
                    !shared.push(number)
                        && unsafe { Returns::leave(NonNull::from(&shared.returns)) }
                })
            });
            let taken = shared.numbers(shared.returns.close());
            assert!(taken.contains(&0));
            let out = NUMBERS as usize - taken.len();
            // SAFETY: `close` has returned, `out` are those that it did not take, and this settles
            // once.
            let settled = unsafe { Returns::settle(NonNull::from(&shared.returns), out) };
            let last = pushes.map(|thread| thread.join().unwrap());
            let lasts = last.into_iter().chain([settled]).filter(|last| *last);
            assert_eq!(lasts.count(), 1);
        });
    }
}
