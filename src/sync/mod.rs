//! Values, slabs and rings for several threads.
//!
//! These types are separate from those of one thread, which pay nothing for them. Their `Send` and
//! `Sync` say how they can be used.
//!
//! ```
//! use std::thread;
//!
//! use flatslab::BoundedSlab;
//! use flatslab::sync::SharedSlab;
//!
//! // One thread creates values and another drops them; the slots return to the slab.
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
//! | values that one thread creates and others drop: reports, events, orders on their way | a [`SendSlot`] each, of a [`BoundedSlab`](crate::BoundedSlab) or [`Slab`](crate::Slab); without an allocator a [`SendBox`](crate::pool::SendBox) |
//! | the same, and threads on which no destructor may run, such as an audio callback | [`SendSlot::retire`], [`SharedRef::retire`] |
//! | values that any thread creates, reads and drops: sessions, connections, shared state | [`SharedSlab`] |
//! | values that are expensive to create, filled on one thread and dropped on another: buffers | a [`SharedPool`]: a value comes back with what it has allocated |
//! | bytes that one thread creates and others read | an [atomic `ByteArena`](crate::bytes::ByteArena::atomic) |
//! | handles of these, on their way from thread to thread | a queue of [another crate](#queues-of-handles) |
//! | all frames or values of one thread, for one other thread | a [`SpscRing`], split; it refuses entries when it is full |
//! | all values of one thread, each for several other threads | a [`BroadcastRing`]; it waits for a reader, or tells it what it missed |
//! | the newest frames of many threads, for many readers, each frame for one | a [`SharedRing`]; it overwrites the oldest, and readers may sleep |
//!
//! A tracked slab itself stays on its thread. Create it on the thread that uses it. [`SharedSlab`]
//! and [`SharedPool`] need a target with atomics of 64 bits, and `SharedRing` the feature `std`.
//!
//! # Each entry to every reader
//!
//! [`bytes::Ring`](crate::bytes::Ring), [`SpscRing`] and `SharedRing` hand each entry to one reader. A
//! [`BroadcastRing`] hands it to all of them, and each reader chooses what a slow one means:
//!
//! | you have | use |
//! |---|---|
//! | readers that need every entry: a journal, a drop copy | a [`BroadcastConsumer`] each; a push is refused while one is a whole ring behind |
//! | readers that may miss entries, but must know it: a market data feed | a [`Follower`] each, of the same ring; it is told which entries it missed, and does not hold up the producer |
//! | bytes of different lengths | a ring of [atomic](crate::bytes::Atomic) [`Buf`](crate::bytes::Buf)s for each reader: the bytes are copied once, and each ring gets a clone; see below |
//! | readers that only need the last state | a [`SharedSlab`] or a lock with the state, and no queue |
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
//! # Queues of handles
//!
//! The rings of this crate are for bytes and for `Copy` values, such as keys. A [`SendSlot`] or an
//! atomic `Buf` is neither: it has a destructor. It is `Send`, two or three words long, and can be
//! sent through any queue, which then moves no value and copies no byte. Use one of another crate:
//!
//! | between | use | properties |
//! |---|---|---|
//! | two threads | `rtrb` | bounded and wait-free; a push to a full queue returns the handle |
//! | many threads, none of which sleeps | `ArrayQueue` of `crossbeam-queue` | bounded; `force_push` overwrites the oldest handle, and returns it |
//! | many threads that sleep while the queue is empty | `crossbeam-channel`, or `std::sync::mpsc` for one receiver | `select!` waits for several |
//! | a poller and its workers | `rtrb` and a waker, next section | |
//!
//! Bound every queue: the memory in it belongs to the slab or arena of its sender, which gets full,
//! or grows, if a receiver is slow. A handle that a queue returns is dropped or sent again; either
//! way nothing is lost. A queue that is dropped drops the handles in it, and their memory is
//! returned or freed, even if the slab or the arena was dropped before.
//!
//! Memory is returned without a queue. A dropped [`SendSlot`] returns its slot to the slab, which
//! frees it in [`reclaim`](crate::TrackedSlab::reclaim), or when an insertion finds no other free
//! slot. The last reference to an atomic `Buf` returns its buffer to the arena in the same way. A
//! second queue is only needed for a value that is used again:
//! [`receive`](crate::TrackedSlab::receive) turns a `SendSlot` into a `Slot` of its slab.
//!
//! `cargo run -p threads --bin two_threads` (`rtrb`, to and fro) and `--bin many_threads`
//! (`ArrayQueue`, all readers and the newest) show it.
//!
//! # Waiting
//!
//! A consumer that has nothing to do sleeps, and the sender wakes it. `SharedRing`,
//! [`SharedPool`] and [`BroadcastRing`] do that themselves. For a queue, and for a [`SpscRing`], the
//! order is always the same:
//!
//! - the sender pushes, and *then* wakes;
//! - the consumer takes all entries, and *then* sleeps, in a call that returns at once if it was
//!   woken since it last returned.
//!
//! So nothing is missed, whatever the two do at once. Such calls are:
//!
//! | the consumer sleeps in | the sender calls |
//! |---|---|
//! | `std::thread::park` | `Thread::unpark` of that thread |
//! | a poller, for sockets too | `mio::Waker::wake`, which is an event descriptor on Linux |
//! | `poll_fn` of an async runtime: it registers its `Waker` in an `AtomicWaker`, and looks once more | `AtomicWaker::wake` |
//!
//! A consumer may wake up for nothing, and then finds nothing. Waking a consumer that is awake
//! costs an atomic operation with `park`, and a system call with `mio`, so wake it once for several
//! pushes. If a consumer must not wait some microseconds for the system, let it poll in a loop on a
//! core of its own instead of sleeping.
//!
//! The end is an event too: drop the queue's sending end, or [close](SharedRing::close) the ring,
//! and wake the consumer. The consumer checks whether the queue is closed *before* it takes all
//! entries, so that it finds the ones that were pushed before the end.
//!
//! *One arena for each worker.* An arena allocates on one thread, so each worker creates its own,
//! and sends the buffers that it fills. The buffers return to its arena from any thread that drops
//! them, and after a warm-up no thread calls the allocator. A worker that ends drops its arena,
//! whose memory is freed with the last of its buffers. A worker that sleeps reclaims nothing:
//! returned buffers are found when it allocates again.
//!
//! `cargo run -p threads --bin sleeping` shows a worker that parks. The member `examples/server`
//! shows a poller that a waker wakes, and workers with arenas of their own.
//!
//! # Which types may go where
//!
//! The families' pages say more.
//!
//! | type | `Send` | `Sync` |
//! |---|---|---|
//! | [`KeySlab`](crate::KeySlab), [`BoundedKeySlab`](crate::BoundedKeySlab), with any keys | if `T` is | if `T` is |
//! | [`Slab`](crate::Slab), [`BoundedSlab`](crate::BoundedSlab), their handles, guards and iterators | no | no |
//! | [`SendSlot`] | if `T` is | if `T` is |
//! | [`SharedSlab`] | if `T` is | if `T` is `Send` and `Sync` |
//! | [`SharedRef`] | if `T` is `Send` and `Sync` | the same |
//! | [`SharedPool`] | if `T` is | if `T` is `Send` |
//! | [`Pooled`] | if `T` is | if `T` is `Send` and `Sync` |
//! | [`SecondarySlab`](crate::key_slab::SecondarySlab) | if the entries are | if the entries are |
//! | [`Pool`](crate::pool::Pool), [`RecyclingPool`](crate::pool::RecyclingPool) | if `T` is | no |
//! | [`PoolBox`](crate::pool::PoolBox), [`RecycledBox`](crate::pool::RecycledBox) | no | if `T` is |
//! | [`SendBox`](crate::pool::SendBox) | if `T` is | if `T` is |
//! | [`PoolStorage`](crate::pool::PoolStorage), [`KeySlabStorage`](crate::key_slab::KeySlabStorage) | yes | yes |
//! | [`Arena`](crate::bump::Arena) | yes | no |
//! | [`Scope`](crate::bump::Scope) | no | no |
//! | [`ArenaBox`](crate::bump::ArenaBox) | if `T` is | if `T` is |
//! | [`ArenaVec`](crate::bump::ArenaVec) | no | if `T` is |
//! | [`ByteArena`](crate::bytes::ByteArena), its buffers and rings, with local counts | no | no |
//! | with atomic counts: the arena, a [`Ring`](crate::bytes::Ring) | yes | no |
//! | with atomic counts: [`BufMut`](crate::bytes::BufMut), [`Buf`](crate::bytes::Buf) | yes | yes |
//! | [`SpscRing`], its [`Producer`], [`Consumer`], [`Entry`], [`Frame`]; [`SharedRing`], [`SharedFrame`] | yes | yes |
//! | the same of [`Values<T>`](Values), and a [`Batch`] | if `T` is | if `T` is `Send` |
//! | [`BroadcastRing`], its ends and claims, [`Follower`] | if `T` is | if `T` is `Send` |
//! | [`EpochSlab`](crate::epoch::EpochSlab) | if `T` is | no |
//! | [`EpochBytes`](crate::epoch::EpochBytes) | yes | no |
//! | borrows, guards and scopes of epoch slabs | no | no |
//! | keys, positions, errors without a value, reports, statistics; [`Pages`](crate::memory::Pages) | yes | yes |
//!
//! # Guarantees
//!
//! Everything that one thread does with a value before it gives the value up happens before another
//! thread gets the value or its memory; each ordering in the code says which one it pairs with. A
//! model checker (loom) runs the shipped code in small cases: two threads, sometimes three, with
//! one to three slots or buffers and one to three operations each. It tries orders with at most
//! three preemptions, and not every one of those. Miri, ThreadSanitizer and stress tests run more
//! threads and longer programs, in some orders. DESIGN.md, "Across threads", says which orderings
//! no model notices. No atomic operation waits; a compare-exchange is repeated if another thread
//! was faster.

// `send_slot.rs`: values that other threads drop; `shared_slab/`: the slab that threads share;
// `shared_pool/`: values that come back; `free_map/`: the free cells of both; `spsc/`, `broadcast/`,
// `shared_ring.rs`: the rings of two threads, of one and several, and of many; `sleepers.rs`: threads
// that sleep.

#[cfg(target_has_atomic = "64")]
mod broadcast;
#[cfg(all(test, not(loom), target_has_atomic = "64"))]
mod counted;
#[cfg(target_has_atomic = "64")]
mod free_map;
#[cfg(feature = "tracked")]
mod send_slot;
#[cfg(target_has_atomic = "64")]
mod shared_pool;
#[cfg(all(feature = "std", feature = "arenas"))]
mod shared_ring;
#[cfg(target_has_atomic = "64")]
mod shared_slab;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
mod sleepers;
mod spsc;

use core::fmt;

#[cfg(target_has_atomic = "64")]
pub use broadcast::{
    BroadcastBatch, BroadcastClaim, BroadcastConsumer, BroadcastProducer, BroadcastReaders,
    BroadcastRing, Follower, MissedError, Wait,
};
#[cfg(feature = "tracked")]
pub use send_slot::SendSlot;
#[cfg(target_has_atomic = "64")]
pub use shared_pool::{Pooled, SharedPool};
#[cfg(all(feature = "std", feature = "arenas"))]
pub use shared_ring::{SharedFrame, SharedPushError, SharedRing};
#[cfg(target_has_atomic = "64")]
pub use shared_slab::{Iter, SharedKey, SharedRef, SharedSlab};
pub use spsc::{Batch, Consumer, Entry, Frame, Producer, SpscRing, Values};

use crate::error::SizeError;

/// The reason why an entry was not pushed to a [`SpscRing`] of bytes.
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
pub enum PushError {
    /// All places have entries.
    Full,
    /// There are more bytes than an entry has room for.
    TooLarge(SizeError),
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PushError::Full => f.write_str("ring is full"),
            PushError::TooLarge(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PushError {}
