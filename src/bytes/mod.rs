//! Byte arenas: reference-counted buffers of any size for networks, in size classes, with chains,
//! positions that fit into tables, and rings.
//!
//! ```
//! use flatslab::bytes::{Buf, BufMut, ByteArena, Loc};
//!
//! let arena = ByteArena::new();
//! let mut buf: BufMut = arena.alloc(900);         // unique; length 0, capacity 900
//! buf.extend_from_slice(b"hello")?;
//! let buf: Buf = buf.freeze();                    // shared; O(1), copies nothing
//! let head = buf.slice(..4);                      // one more reference
//! let loc: Loc = buf.into_loc();                  // moves the reference; 16 bytes, `Copy`
//! let again: Buf = arena.resolve(loc)?;           // one more reference
//! assert_eq!((&*head, &*again), (&b"hell"[..], &b"hello"[..]));
//! arena.release(loc)?;                            // drops the position's reference
//! drop(head);
//! assert!(again.release());                       // the last one: its memory is free
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to use it
//!
//! Use it for bytes of different lengths that are allocated and freed all the time, such as frames,
//! messages and values of a cache, if several parts of a program read them, or tables refer to
//! them. A request takes a buffer of the first size class that fits, in O(1). After a warm-up, or a
//! [`prepare`](ByteArena::prepare), it does not call the allocator.
//!
//! For objects of one type use a slab or a [`Pool`](crate::pool::Pool). For temporaries of one
//! message use a [`bump::Arena`](crate::bump::Arena).
//!
//! # One thread, or many
//!
//! One thread allocates from an arena. With [`Local`] counts, the default, its buffers stay on that
//! thread. With [`Atomic`] counts, as in [`ByteArena::atomic`], buffers can be filled, read, cloned
//! and dropped on any thread, and the arena itself may be sent. Code for both is generic over
//! `R: `[`References`].
//!
//! | type | is | `Send` | `Sync` |
//! |---|---|---|---|
//! | [`ByteArena`] | the size classes and their chunks | if `Atomic` | no |
//! | [`BufMut`] | a buffer with one owner, which fills it | if `Atomic` | if `Atomic` |
//! | [`Buf`] | a reference to bytes; `clone`, `slice` and `next` make more | if `Atomic` | if `Atomic` |
//! | [`Loc`] | a position in a `Local` arena: 16 bytes, `Copy`; resolves to a `Buf` or an error | yes | yes |
//! | [`Ring`] | a number of entries; the newest overwrites the oldest | if `Atomic` | no |
//! | [`Stats`], the errors | numbers | yes | yes |
//!
//! The last drop of a buffer with atomic counts, on any thread, pushes it on the return stack of
//! its class by one compare-exchange. An allocation that finds no free buffer of its class frees up
//! to 16 of the returned ones. Free buffers are used before returned ones, so more memory is in use
//! than with `Local` counts, where the buffer dropped last is used next.
//!
//! A drop does a bounded amount of work: it frees at most 64 buffers of a [chain](Buf::set_next),
//! and leaves the rest to later calls. The exceptions are the drop of an arena, and the last drop
//! of a buffer whose arena was dropped, which take O(n) for n chunks and for n buffers of
//! [what is left](Buf::set_next) of its chains. With [`Atomic`] counts the drop of a chain whose
//! arena was dropped frees all of its buffers, up to one that has other references.
//!
//! Rings for several threads are in [`sync`](crate::sync). No ring of the crate passes each entry
//! to every reader: [how to do that](crate::sync#each-entry-to-every-reader).
//!
//! # What it costs
//!
//! A buffer takes 64 bytes of header in addition to its own, and less than one byte in tables.
//! Headers are in separate blocks. Classes double from 64 bytes to 1 MiB unless the builder says
//! otherwise, so up to half of a buffer is unused. With a [growth](crate::Builder::growth) of 1.25
//! at most a fifth is unused, but there are more classes, each with its chunks.
//!
//! The address of a buffer is a multiple of the largest power of two that divides the size of its
//! class, up to 4,096. So a buffer of 512 bytes suits a disk's direct reads, one of 2,048 is a frame
//! of AF_XDP, and one of 4,096 is a page. Chunks are aligned for this, to what the class with the
//! largest such power needs.
//!
//! An allocation that finds no free buffer creates the next 16 of its chunk. If the chunk has no
//! more, it allocates a chunk, which is not touched, so the first use of a buffer may fault.
//! [`prepare`](ByteArena::prepare) does both in advance, and touches the memory.
//!
//! [`alloc`](ByteArena::alloc) panics if more bytes are requested than the largest class has, or if
//! a limit is reached. If the allocator refuses, the program aborts, as with `Vec`.
//! [`try_alloc`](ByteArena::try_alloc) returns an error in all three cases.
//!
//! A buffer that is forgotten keeps its memory for good. A position is a number, which can be
//! copied and dropped without effect: the reference that [`into_loc`](Buf::into_loc) has moved into
//! it lasts until [`release`](ByteArena::release), or until the arena is dropped. These references
//! are counted for each buffer; a release when its positions hold none is an error,
//! [`Stale`](LocError::Stale).
//!
//! # If there is no memory
//!
//! A chunk belongs to its class while one of its buffers is in use. At a
//! [limit](crate::Builder::max_bytes), or if the allocator refuses, a request takes over a chunk of
//! another class that has no buffer in use, or frees such chunks for a new one. If there is no
//! memory for a chunk of the usual size, it takes a smaller one. The classes know the chunks that
//! no buffer uses, so the request looks at no buffers. Buffers that other threads returned, and the
//! rest of chains, are reclaimed before a request is refused, however many there are.
//!
//! A request frees at most 64 chunks. If it needs the memory of more chunks, it is refused, and the
//! next request can free 64 more: an arena of n chunks, none of whose buffers is in use, serves
//! what a new arena could serve from the same memory after at most n / 64 refusals.
//! [`shrink_to_fit`](ByteArena::shrink_to_fit) frees all of them at once.
//!
//! # Coming from `bytes`
//!
//! | there | here |
//! |---|---|
//! | `BytesMut::with_capacity(n)` | [`ByteArena::alloc`]; it does not grow |
//! | `Bytes` | `Buf<Atomic>`; with the feature `bytes` it converts into `Bytes` |
//! | `freeze`, `slice`, `split_to`, `split`, `advance`, `truncate`, `clone` | the same, where the type has them; [`BufMut::split_to`] returns a frozen part |
//! | `BytesMut::reserve`, `try_reclaim` | [`BufMut::try_reclaim`]: within the buffer |
//! | `unsplit` | [`Buf::try_unsplit`], of frozen parts |
//! | `split_off` of `BytesMut`, `unsplit` of `BytesMut` | missing: what is split off can only be read, and becomes writable as a whole by `try_reclaim` or `try_into_mut` |
//! | `Bytes::copy_from_slice` | [`ByteArena::copy`] |
//! | `Bytes::try_into_mut` | [`Buf::try_into_mut`] |
//! | `Chain` | [`Buf::set_next`], [`Buf::parts`] |
//! | `read_buf` of `tokio`, which takes a `BytesMut` | [`BufMut::read_from`], with a reader of `std`; with the feature `bytes` a `BufMut` can be passed to `read_buf` itself |
//!
//! # Coming from `go-slab`
//!
//! | there | here |
//! |---|---|
//! | `NewArena(start, slabSize, growth, malloc)` | [`ByteArena::builder`] |
//! | `Alloc`, `AddRef`, `DecRef` | [`alloc`](ByteArena::alloc) and [`freeze`](BufMut::freeze), `clone`, [`release`](Buf::release) or `drop` |
//! | `GetNext`, `SetNext` | [`Buf::next`]; [`Buf::set_next`], which refuses what could make a cycle |
//! | `BufToLoc`, `LocToBuf`, `LocAddRef`, `LocDecRef` | [`Buf::loc`], [`Buf::into_loc`]; [`resolve`](ByteArena::resolve), [`release`](ByteArena::release) |
//! | `Owns`, `Stats` | [`owns`](ByteArena::owns), [`stats`](ByteArena::stats) |
//!
//! The statistics for both kinds of counts. Some fields need the feature `stats`:
//!
//! | there | here |
//! |---|---|
//! | `totSlabClasses` | [`size_classes`](Stats::size_classes) |
//! | `totAllocs`, which counts refused ones too | [`requests`](Stats::requests) |
//! | `totAddRefs`, `totDecRefs` | `add_refs`, `dec_refs`: all references, including those of `next`, positions and links |
//! | `totDecRefZeroes` | `dec_ref_zeroes` |
//! | `totGetNexts`, `totSetNexts` | `get_nexts`, `set_nexts` |
//! | `totMallocs`, `totMallocErrs` | [`mallocs`](Stats::mallocs), [`malloc_errs`](Stats::malloc_errs) |
//! | `totTooBigErrs` | [`too_large_errs`](Stats::too_large_errs) |
//! | `totAddSlabErrs` | [`add_chunk_errs`](Stats::add_chunk_errs) |
//! | `totPushFreeChunks`, `totPopFreeChunks` | [`frees`](Stats::frees), including `BufMut`s; [`allocs`](Stats::allocs) |
//! | `totPopFreeChunkErrs` | [`pop_free_errs`](Stats::pop_free_errs): requests that got no buffer |
//! | of a class: `numSlabs`, `chunkSize` | [`chunks`](ClassStats::chunks), [`size`](ClassStats::size) |
//! | `numChunks`, `numChunksFree`, `numChunksInUse` | [`buffers`](ClassStats::buffers), [`free`](ClassStats::free), [`in_use`](ClassStats::in_use) |

// | file | what |
// |---|---|
// | `arena.rs` | `ByteArena`, from which one thread allocates, and its builder |
// | `buf.rs`, `chain.rs` | a buffer, which is filled and then shared; links from one to the next |
// | `references.rs` | how references to a buffer are counted: `Local`, `Atomic` |
// | `arena_core.rs` | the data that an arena and its buffers share: size classes, chunks, headers |
// | `drop.rs` | how references, chains and arenas are dropped |
// | `refill.rs` | where free buffers come from if the hand of their class is empty |
// | `sizes.rs` | the class of a request |
// | `numbers.rs`, `loc.rs` | numbers of buffers; positions, which contain them |
// | `ring.rs` | the ring of one thread |
// | `stats.rs` | the statistics of an arena |
// | `views.rs` | typed views (feature `zerocopy`) |
//
// The way of a buffer through them is in DESIGN.md, "A buffer through a `ByteArena`".

mod arena;
mod arena_core;
mod buf;
mod chain;
mod counters;
mod drop;
mod loc;
#[cfg(all(test, loom))]
mod models;
mod numbers;
mod references;
mod refill;
mod ring;
mod sizes;
mod stats;
#[cfg(all(test, not(loom)))]
mod tests;
#[cfg(feature = "zerocopy")]
mod views;

use core::fmt;

use crate::error::{AllocError, SizeError};

pub use arena::ByteArena;
pub use buf::{Buf, BufMut};
pub use chain::{Parts, SharedError};
pub use loc::{Loc, LocError};
pub use references::{Atomic, Local, References};
#[cfg(all(feature = "std", feature = "threads"))]
pub(crate) use ring::RingOptions;
pub use ring::{Evicted, Ring, RingIter};
pub use stats::{ClassStats, Stats};
#[cfg(feature = "zerocopy")]
pub use views::ViewError;

/// The reason why a request got no buffer.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::{ByteArena, RequestError};
///
/// let error = ByteArena::new().try_alloc(usize::MAX).unwrap_err();
/// assert!(matches!(error, RequestError::TooLarge(error) if error.limit == 1 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The request is for more bytes than the largest buffer has.
    TooLarge(SizeError),
    /// No buffer of the class is free, nor a larger one, and there is no memory for more.
    Memory(AllocError),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::TooLarge(error) => error.fmt(f),
            RequestError::Memory(_) => {
                f.write_str("no buffer is free, and there is no memory for another")
            }
        }
    }
}

impl core::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // It is what `Display` writes.
            RequestError::TooLarge(_) => None,
            RequestError::Memory(error) => Some(error),
        }
    }
}
