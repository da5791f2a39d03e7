//! Values, slabs and rings for several threads.
//!
//! The other families have no atomic operations, and pay nothing for this one. Values that cross
//! threads have types of their own, whose `Send` and `Sync` say what they may do.
//!
//! ```
//! use std::thread;
//!
//! use flatslab::BoundedSlab;
//! use flatslab::sync::SharedSlab;
//!
//! // One thread makes values, another one ends them; memory comes back to the first.
//! let slab = BoundedSlab::with_capacity(1000);
//! let report = slab.insert([7_u64; 8]).unwrap().into_send();
//! thread::spawn(move || assert_eq!(report[0], 7)).join().unwrap();
//! assert_eq!(slab.reclaim(), 1);
//!
//! // Any thread puts values in, reads them, and takes them out, by key.
//! let sessions = SharedSlab::with_capacity(1000);
//! let key = sessions.insert("session").unwrap();
//! thread::scope(|scope| {
//!     scope.spawn(|| assert_eq!(*sessions.get(key).unwrap(), "session"));
//!     scope.spawn(|| sessions.contains_key(key));
//! });
//! assert!(sessions.remove(key) && sessions.get(key).is_none());
//! ```
//!
//! # Which one
//!
//! | you have | use |
//! |---|---|
//! | a whole container that moves to another thread | [`KeySlab`](crate::KeySlab), a [`Pool`](crate::pool), an [`EpochSlab`](crate::epoch): they are `Send` |
//! | values made by one thread and ended by others: reports, events, orders on their way | a [`SendSlot`] each, of a [`BoundedSlab`](crate::BoundedSlab) or [`Slab`](crate::Slab); without an allocator a [`SendBox`](crate::pool::SendBox) |
//! | the same, and threads on which no destructor may run: an audio callback | [`SendSlot::retire`], [`SharedRef::retire`] |
//! | values that any thread makes, reads and ends: sessions, connections, shared state | [`SharedSlab`] |
//! | bytes made by one thread and read by others | an [atomic `ByteArena`](crate::bytes::ByteArena::atomic) |
//! | handles of those, on their way from thread to thread | a queue of [another crate](#queues-are-not-in-this-crate) |
//! | all frames of one thread, for one other thread | a [`SpscRing`], split; it refuses entries when it is full |
//! | the newest frames of many threads, for many, each for one reader | a [`SharedRing`]; it overwrites the oldest, and readers may sleep |
//!
//! A tracked slab itself stays on its thread. It may be built on the thread that uses it.
//!
//! # Each entry to every reader
//!
//! None of the rings does that: [`bytes::Ring`](crate::bytes::Ring), [`SpscRing`] and `SharedRing`
//! hand each entry to one reader. A ring that waited for every reader would be as slow as the
//! slowest; one that did not would overwrite what a reader is at. Instead:
//!
//! | you have | take |
//! |---|---|
//! | a few readers, each of which needs every entry | one queue for each; the bytes once, in an [atomic](crate::bytes::Atomic) [`Buf`](crate::bytes::Buf), of which each queue gets a clone |
//! | readers that may miss entries, but need the newest | the same, with a queue that overwrites: `force_push` of the crate `crossbeam-queue`, below |
//! | readers that need the last state alone | a [`SharedSlab`] or a lock with the state, and no queue |
//! | readers in other processes, or a history that each of them reads at its own pace | a log or a message broker: out of the crate's scope |
//!
//! ```
//! use std::sync::mpsc;
//! use std::thread;
//!
//! use flatslab::bytes::{Atomic, Buf, ByteArena};
//!
//! let arena = ByteArena::atomic();
//! let (senders, readers): (Vec<_>, Vec<_>) = (0..3)
//!     .map(|_| {
//!         let (sender, receiver) = mpsc::sync_channel::<Buf<Atomic>>(16);
//!         (sender, thread::spawn(move || receiver.iter().map(|it| it.len()).sum::<usize>()))
//!     })
//!     .unzip();
//! for line in ["one", "two", "three"] {
//!     let bytes = arena.copy(line.as_bytes());    // one copy for all readers
//!     for sender in &senders {
//!         sender.send(bytes.clone()).unwrap();
//!     }
//! }
//! drop(senders);
//! assert!(readers.into_iter().all(|reader| reader.join().unwrap() == 11));
//! ```
//!
//! # Queues are not in this crate
//!
//! What crosses threads here is memory: a [`SendSlot`], an atomic `Buf`, a key. They are `Send`,
//! two or three words long, and go through any queue; a queue of such handles moves no value and
//! copies no byte. The rings of this crate are for bytes that have no buffer of their own. So for
//! handles take a queue of those who write queues:
//!
//! | between | take | which |
//! |---|---|---|
//! | two threads | `rtrb` | is bounded and wait-free; a push to a full one gives the handle back |
//! | many threads, none of which sleeps | `ArrayQueue` of `crossbeam-queue` | is bounded; `force_push` overwrites the oldest, and gives it back |
//! | many threads that sleep while there is nothing | `crossbeam-channel`, or `std::sync::mpsc` for one receiver | `select!` waits for several |
//! | a poller and its workers | `rtrb` and a waker, next section | |
//!
//! Bound every queue: the memory in it belongs to the slab or arena of its sender, which is full,
//! or grows, while a receiver is slow. A handle that a queue gives back is dropped or sent again;
//! either way nothing is lost. A queue that is dropped drops the handles in it, and their memory
//! goes home, also if the slab or the arena is gone by then.
//!
//! Memory comes back without a queue. A dropped [`SendSlot`] gives its slot to the slab, which
//! finds it at its next insertion or [`reclaim`](crate::TrackedSlab::reclaim). The last reference
//! to an atomic `Buf` gives its buffer to the arena in the same way. Only a value that is to be
//! used again goes back through a second queue: [`receive`](crate::TrackedSlab::receive) makes a
//! `SendSlot` a `Slot` of its slab.
//!
//! `cargo run -p threads --bin two_threads` (`rtrb`, to and fro) and `--bin many_threads`
//! (`ArrayQueue`, all readers and the newest) show it.
//!
//! # Waiting
//!
//! A consumer that has nothing to do sleeps, and the sender wakes it. Of the types here only a
//! `SharedRing` can do that itself. For a queue, and for a [`SpscRing`], the order is always the
//! same:
//!
//! - the sender pushes, and *then* wakes;
//! - the consumer takes all there is, and *then* sleeps, in a call that returns at once if it was
//!   woken since it last returned.
//!
//! So nothing is missed, whatever the two do at once. Such a call is:
//!
//! | the consumer sleeps in | the sender calls |
//! |---|---|
//! | `std::thread::park` | `Thread::unpark` of that thread |
//! | a poller, for sockets too | `mio::Waker::wake`, which is an event descriptor on Linux |
//! | `poll_fn` of an async runtime: it registers its `Waker` in an `AtomicWaker`, and looks once more | `AtomicWaker::wake` |
//!
//! A consumer may wake for nothing, and then finds nothing. To wake one that is awake costs an
//! atomic operation with `park`, and a system call with `mio`: wake once for all that was pushed in
//! a row. A consumer that must not wait for the system, some microseconds, does not sleep but looks
//! again and again, on a core of its own.
//!
//! The end is an event too: drop the queue's sending end, or [close](SharedRing::close) the ring,
//! and wake. The consumer asks whether the queue is closed *before* it takes what there is: what
//! was pushed before the end is found.
//!
//! *One arena for each worker.* An arena allocates on one thread, so each worker makes its own, and
//! sends what it fills. The buffers come back to it from wherever they are dropped, and after a
//! warm-up no thread calls the allocator. A worker that ends drops its arena; its memory is freed
//! with the last of the buffers that are still out. A worker that sleeps reclaims nothing: what
//! came back is found when it allocates again.
//!
//! `cargo run -p threads --bin sleeping` shows a worker that parks; the member `examples/server` a
//! poller that a waker wakes, and workers with arenas of their own.
//!
//! # Which types may go where
//!
//! Of all types of the crate; the families' pages say more.
//!
//! | type | `Send` | `Sync` |
//! |---|---|---|
//! | [`KeySlab`](crate::KeySlab), [`BoundedKeySlab`](crate::BoundedKeySlab), with any keys | if `T` is | if `T` is |
//! | [`Slab`](crate::Slab), [`BoundedSlab`](crate::BoundedSlab), their handles, guards and iterators | no | no |
//! | [`SendSlot`] | if `T` is | if `T` is |
//! | [`SharedSlab`] | if `T` is | if `T` is `Send` and `Sync` |
//! | [`SharedRef`] | if `T` is `Send` and `Sync` | the same |
//! | [`Pool`](crate::pool::Pool) | if `T` is | no |
//! | [`PoolBox`](crate::pool::PoolBox) | no | if `T` is |
//! | [`SendBox`](crate::pool::SendBox) | if `T` is | if `T` is |
//! | [`Arena`](crate::bump::Arena) | yes | no |
//! | [`ByteArena`](crate::bytes::ByteArena), its buffers and rings, with local counts | no | no |
//! | with atomic counts: the arena, a [`Ring`](crate::bytes::Ring) | yes | no |
//! | with atomic counts: [`BufMut`](crate::bytes::BufMut), [`Buf`](crate::bytes::Buf) | yes | yes |
//! | [`SpscRing`], its [`Producer`], [`Consumer`], [`Entry`], [`Frame`]; [`SharedRing`], [`SharedFrame`] | yes | yes |
//! | [`EpochSlab`](crate::epoch::EpochSlab), [`EpochBytes`](crate::epoch::EpochBytes) | if `T` is | no |
//! | keys, positions, errors, reports, figures; [`Pages`](crate::memory::Pages) | yes | yes |
//!
//! # Guarantees
//!
//! What one thread does with a value before it gives it up happens before another thread gets
//! the value or its memory: each ordering in the code says what it pairs with. A model checker
//! (loom) runs the shipped code in small cases: two threads, sometimes three, with one to three
//! slots or buffers and one to three operations each. It tries orders with at most three
//! preemptions, and not every one of those. Miri, ThreadSanitizer and stress tests run more
//! threads and longer programs, in some orders. DESIGN.md, "Across threads", says which orderings
//! no model notices. No atomic operation waits; a compare-exchange is repeated if another thread
//! was faster.

// `send_slot.rs`: values that other threads end; `shared_slab/`: the slab that threads share;
// `spsc/`, `shared_ring.rs`: the rings of two threads, and of many.

mod send_slot;
#[cfg(feature = "std")]
mod shared_ring;
#[cfg(target_has_atomic = "64")]
mod shared_slab;
mod spsc;

use core::fmt;

pub use send_slot::SendSlot;
#[cfg(feature = "std")]
pub use shared_ring::{SharedFrame, SharedRing};
#[cfg(target_has_atomic = "64")]
pub use shared_slab::{Iter, SharedKey, SharedRef, SharedSlab};
pub use spsc::{Consumer, Entry, Frame, Producer, SpscRing};

use crate::error::SizeError;

/// Why an entry was not pushed to a ring.
///
/// # Examples
///
/// ```
/// use flatslab::sync::{PushError, SpscRing};
///
/// let (mut producer, _consumer) = SpscRing::with_capacity(1, 5).split();
/// assert!(matches!(producer.push(b"hello!"), Err(PushError::TooLarge(error)) if error.limit == 5));
/// assert_eq!(producer.push(b"hello"), Ok(()));
/// assert_eq!(producer.push(b"hello"), Err(PushError::Full));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushError {
    /// Of a [`SpscRing`]: all places have entries. Of a `SharedRing`: readers keep all buffers.
    Full,
    /// More bytes were given than an entry has room for.
    TooLarge(SizeError),
    /// The `SharedRing` was closed.
    Closed,
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::Full => f.write_str("the ring is full"),
            PushError::TooLarge(error) => error.fmt(f),
            PushError::Closed => f.write_str("the ring is closed"),
        }
    }
}

impl core::error::Error for PushError {}
