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
//! | all frames of one thread, for one other thread | a [`SpscRing`], split; it refuses entries when it is full |
//! | the newest frames of many threads, for many, each for one reader | a [`SharedRing`]; it overwrites the oldest, and readers may sleep |
//!
//! A tracked slab itself stays on its thread. It may be built on the thread that uses it.
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
