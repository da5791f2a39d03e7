//! Arenas: scratch memory of mixed types, allocated by moving a pointer, and given back
//! all at once: per message, per frame, per request.
//!
//! ```
//! use flatslab::bump::{Arena, Scope};
//!
//! let mut arena = Arena::new();                   // allocates nothing yet
//! let number: &mut u32 = arena.alloc(42);
//! let text: &str = arena.alloc_str("hello");
//! let row: &mut [u64] = arena.alloc_slice_fill_with(12, |index| index as u64);
//! assert_eq!((*number as usize + row.len(), text.len()), (54, 5));
//! arena.reset();                                  // O(1); keeps its chunks
//!
//! let mut root = arena.as_scope();
//! let kept = root.alloc(1_u32);                   // outlives the inner scope
//! root.scope(|scope: Scope<'_, '_>| {             // what is allocated here ends here
//!     let temporary = scope.alloc(2_u32);
//!     assert_eq!(*kept + *temporary, 3);
//! });
//! assert_eq!(*kept, 1);
//! ```
//!
//! # When to take it, and when not
//!
//! Take an arena for what is made in one go and not needed afterwards: the temporaries of
//! a message that is decoded, of a frame that is drawn, of a request. After a first frame
//! an arena calls the allocator no more: [`reset`](Arena::reset) keeps its chunks.
//!
//! Nothing is freed one by one: for objects that come and go take a
//! [`Pool`](crate::pool::Pool) or a slab.
//!
//! # `Drop` is not run
//!
//! References that `alloc` and its kin return never drop their values: a `String` in an
//! arena leaks its buffer. Where values have something to drop take
//! [`boxed`](Arena::boxed), whose [`ArenaBox`] drops its value, or an [`ArenaVec`]; better
//! still, keep texts and rows in the arena too ([`alloc_str`](Arena::alloc_str),
//! [`alloc_slice_copy`](Arena::alloc_slice_copy)).
//!
//! # Which arena
//!
//! | you want | take |
//! |---|---|
//! | scratch memory that grows by chunks | [`Arena`] |
//! | one chunk, allocated and touched at the start; no call of the allocator afterwards | [`Arena::bounded`] |
//! | temporaries within temporaries | [`Arena::scope`], [`Scope`] |
//! | to go back to a place by hand | [`Arena::checkpoint`], unsafe |
//! | collections in an arena | [`ArenaVec`]; with the feature `allocator-api2`, `&Arena` is an allocator |
//!
//! # What it costs
//!
//! An allocation is a handful of instructions and one branch. Values and copies of up to 128
//! bytes take the bytes that they have, aligned; what is longer, what is built where it
//! stands, and what may grow there, a multiple of 8. Arenas are `Send`, and neither they nor
//! scopes `Sync`.
//!
//! The first chunk takes 4 KiB, and each further one at least twice as much as the one before
//! it, or as much as a request needs that is larger still. Requests of any size share chunks:
//! one that does not fit the current chunk moves on to the first later one that is large
//! enough. The rest of the current chunk, and the chunks in between, are used again after the
//! next reset or rewind.
//!
//! - *Steps.* An allocation that leaves its chunk looks at the later ones, 42 at most and
//!   commonly fewer than 16, and may ask for memory. What earlier frames left does not slow
//!   it down.
//! - *Memory.* All chunks together have less than four times the bytes that the largest frame
//!   took, with what it reserved, headers, and what alignments skip; or else the bytes of a
//!   first chunk.
//! - *Calls of the allocator.* A frame that repeats makes none. All frames together make one
//!   per chunk, unless chunks are freed by [`shrink`](Arena::shrink).
//!
//! A limit makes chunks smaller. A source that refuses a chunk of the usual size is asked for a
//! quarter, and so on, 21 times at most, down to what is needed. The chunks may be more than 42
//! then, and of those that are further away an allocation makes no use.
//!
//! # Coming from `bumpalo`
//!
//! | there | here |
//! |---|---|
//! | `Bump`, `alloc`, `alloc_with`, `alloc_str`, `alloc_slice_copy` … | [`Arena`] and the same names |
//! | `reset`, which keeps the last chunk | [`reset`](Arena::reset) keeps all; [`shrink`](Arena::shrink) frees those that are not in use |
//! | `boxed::Box`, `collections::Vec` | [`ArenaBox`], [`ArenaVec`] |
//! | `alloc_try_with` | the same |
//! | `set_allocation_limit` | [`ArenaBuilder::max_bytes`] |
//! | a checkpoint | [`Arena::scope`]; [`Arena::checkpoint`] |

#[cfg(feature = "allocator-api2")]
mod allocator;
mod boxed;
mod builder;
mod chunks;
mod list;
mod methods;
mod place;
mod refusal;
#[cfg(test)]
mod tests;
mod vec;

#[expect(clippy::disallowed_types, reason = "the vectors are the user's")]
use alloc::vec::Vec;
use core::alloc::Layout;
use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

pub use boxed::ArenaBox;
pub use builder::ArenaBuilder;
pub use vec::{ArenaVec, InArena};

use crate::error::{AllocError, Full};
use crate::raw::memory;
use crate::raw::report::Report;
use crate::raw::source::Source;
use chunks::{Chunks, Mark};
use methods::methods;
use refusal::{Explains, Fails, Refuses};

mod sealed {
    /// Leads to the memory of an arena that is borrowed for `'a`.
    pub trait Chunks<'a> {
        fn chunks(self) -> &'a super::Chunks;
    }
}

/// Ends the program, or panics, where there is no room.
#[inline(always)]
#[track_caller]
fn or_fail<T>(result: Result<T, AllocError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => memory::fail(error),
    }
}

/// The result of what [`Fails`] otherwise.
#[inline(always)]
fn done<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// Scratch memory of mixed types that grows by chunks; see the [module](self).
///
/// What is allocated lives until the arena is [reset](Self::reset) or dropped, and is
/// **not dropped**.
pub struct Arena {
    chunks: Chunks,
}

/// A stretch of an arena's memory: what is allocated through it lives for `'s`, and its
/// memory is free again when the call of [`scope`](Self::scope) that made it returns.
///
/// The scope that [`Arena::as_scope`] returns is the outermost one: what it allocates stays
/// until the arena is reset. A scope allocates by `&self`, and lends itself by `&mut self`
/// to an inner one, so whatever may allocate later, a vector for one, cannot live across an
/// inner scope that would take back its memory.
///
/// `'env` is what lies outside of the call, and outlives it: values that refer to that, or
/// to what the scope itself has allocated, can be allocated; those that refer to variables
/// of the closure cannot, for `'s` is longer ([`boxed`](Self::boxed) takes them). So it is
/// with [`std::thread::scope`].
///
/// A function that is given a scope takes a `&Scope<'s, '_>`, and returns what it allocates
/// for `'s`; where it opens inner ones, a `Scope<'s, '_>` or `&mut` of that. What an inner
/// scope has found out, and the outer one is to keep, is returned as a value that owns what
/// it has, or else found out in the outer one.
///
/// Not `Send`: it is a borrow of the arena.
///
/// # Examples
///
/// ```
/// use flatslab::bump::{Arena, Scope};
///
/// struct Field<'t> { name: &'t str }
///
/// fn decode<'s>(scope: &Scope<'s, '_>, text: &'s str) -> &'s [Field<'s>] {
///     scope.alloc_slice_iter(text.split(' ').map(|name| Field { name }))
/// }
///
/// let mut arena = Arena::new();
/// let text = String::from("price quantity");
/// let longest = arena.scope(|scope| {
///     decode(&scope, &text).iter().map(|field| field.name.len()).max()
/// });
/// assert_eq!(longest, Some(8));
/// ```
pub struct Scope<'s, 'env: 's> {
    chunks: &'s Chunks,
    /// Invariant: inner references are not outer ones.
    scope: PhantomData<&'s mut &'s ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Where an arena stood.
///
/// # Examples
///
/// ```
/// let arena = flatslab::bump::Arena::with_capacity(1024);
/// arena.alloc(1);
/// let mark = arena.checkpoint();
/// assert_eq!(*arena.alloc(42), 42);
/// // SAFETY: the reference is not used any more.
/// unsafe { arena.rewind(mark) };
/// assert_eq!(arena.checkpoint(), mark);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(Mark);

// SAFETY: it owns its chunks; what was allocated borrows the arena, so none of it is there
// when it moves to another thread.
unsafe impl Send for Arena {}

impl core::panic::UnwindSafe for Arena {}
impl core::panic::RefUnwindSafe for Arena {}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

impl Arena {
    methods!(self: &'a Self => 'a, 'a);

    /// An arena that has allocated nothing.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.allocated_bytes(), 0);
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Arena {
            chunks: Chunks::new(Source::GLOBAL),
        }
    }

    /// An arena with room for so many bytes.
    ///
    /// # Panics
    ///
    /// If they pass `isize::MAX`. Where the allocator refuses the program ends, as with
    /// `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::with_capacity(10_000);
    /// assert!(arena.remaining() >= 10_000);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        or_fail(Self::try_with_capacity(bytes))
    }

    /// An arena with room for so many bytes; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If they pass `isize::MAX`, or the allocator refuses.
    ///
    /// ```
    /// assert!(flatslab::bump::Arena::try_with_capacity(usize::MAX).is_err());
    /// ```
    pub fn try_with_capacity(bytes: usize) -> Result<Self, AllocError> {
        let arena = Self::new();
        arena.try_reserve(bytes)?;
        Ok(arena)
    }

    /// An arena of one chunk of `bytes` bytes, rounded up to a multiple of 8; O(bytes). The
    /// chunk is allocated and touched here, and the arena never calls the allocator
    /// afterwards: when the chunk is full the methods panic, and their `try_` forms return an
    /// error.
    ///
    /// # Panics
    ///
    /// If `bytes` passes `isize::MAX`. Where the allocator refuses the program ends, as with
    /// `Vec`.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::bump::Arena;
    ///
    /// let mut arena = Arena::bounded(64);
    /// let row = arena.alloc_slice_fill_with(8, |index| index as u64);
    /// assert_eq!(row[7], 7);
    /// assert_eq!(arena.try_alloc(7).unwrap_err().into_inner(), 7);
    /// arena.reset();
    /// assert_eq!(*arena.alloc(7), 7);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn bounded(bytes: usize) -> Self {
        or_fail(Self::try_bounded(bytes))
    }

    /// As [`bounded`](Self::bounded); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If `bytes` passes `isize::MAX`, or the allocator refuses.
    ///
    /// ```
    /// assert!(flatslab::bump::Arena::try_bounded(usize::MAX).is_err());
    /// ```
    pub fn try_bounded(bytes: usize) -> Result<Self, AllocError> {
        let arena = Self::new();
        arena.chunks.bound(bytes)?;
        Ok(arena)
    }

    /// Makes sure that allocations of so many bytes in all need no call of the allocator: from
    /// now on, until the next reset, rewind or [`shrink`](Self::shrink), in any sizes and any
    /// order.
    ///
    /// Each of them counts as its size, rounded up to a multiple of 8, and, if its alignment is
    /// above 8, that alignment less 8. A vector that grows counts with each of its sizes. It is
    /// room in one piece: a single allocation may have it all.
    ///
    /// O(1): looks at 42 chunks at most, and adds one if none of them has that room.
    ///
    /// # Panics
    ///
    /// If the bytes pass `isize::MAX`, or the limit is reached. Where the allocator refuses the
    /// program ends, as with `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// arena.reserve(10_000);
    /// let before = arena.allocated_bytes();
    /// arena.alloc([0_u8; 10_000]);
    /// assert_eq!(arena.allocated_bytes(), before);
    /// ```
    #[track_caller]
    pub fn reserve(&self, bytes: usize) {
        or_fail(self.try_reserve(bytes));
    }

    /// As [`reserve`](Self::reserve); never panics or aborts.
    ///
    /// # Errors
    ///
    /// If the bytes pass `isize::MAX`; if they and the header of a chunk, 64 bytes, do not fit
    /// the limit besides the chunks that there are; if the allocator refuses them. A chunk
    /// larger than that is asked for first, and no reason to fail.
    ///
    /// ```
    /// assert!(flatslab::bump::Arena::new().try_reserve(usize::MAX).is_err());
    /// ```
    pub fn try_reserve(&self, bytes: usize) -> Result<(), AllocError> {
        self.chunks.reserve(bytes)
    }

    /// Frees the chunks that are not in use: after a [`reset`](Self::reset) all but the
    /// first, and that too if it is larger than a first chunk is without a request of its size.
    /// The chunk of a [bounded](Self::bounded) arena stays. O(chunks).
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// arena.alloc([0_u8; 100_000]);
    /// arena.reset();
    /// arena.shrink();
    /// assert!(arena.allocated_bytes() < 100_000);
    /// ```
    pub fn shrink(&mut self) {
        self.chunks.shrink();
    }
}

impl Arena {
    #[inline(always)]
    fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    /// Makes all memory free; O(1). Chunks are kept, values are not dropped. What
    /// was allocated borrows the arena, so none of it is there any more.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::bounded(8);
    /// arena.alloc(42_u64);
    /// arena.reset();
    /// assert_eq!(arena.remaining(), 8);
    /// ```
    pub fn reset(&mut self) {
        // SAFETY: the borrow is exclusive, so no reference is there.
        unsafe { self.chunks.reset() };
    }

    /// The same as [`reset`](Self::reset).
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::bounded(8);
    /// arena.alloc(42_u64);
    /// arena.clear();
    /// assert_eq!(arena.remaining(), 8);
    /// ```
    pub fn clear(&mut self) {
        self.reset();
    }

    /// The arena as the outermost scope, for inner ones.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let mut root = arena.as_scope();
    /// let kept = root.alloc(1);
    /// root.scope(|scope| *kept += *scope.alloc(2));
    /// assert_eq!(*kept, 3);
    /// ```
    pub fn as_scope(&mut self) -> Scope<'_, '_> {
        Scope {
            chunks: &self.chunks,
            scope: PhantomData,
            env: PhantomData,
        }
    }

    /// Calls `f` with a scope; what it allocates is free again when this returns,
    /// or panics. Short for `as_scope().scope(f)`.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let sum = arena.scope(|scope| scope.alloc_slice_copy(&[1, 2]).iter().sum::<u64>());
    /// assert_eq!(sum, 3);
    /// ```
    pub fn scope<'env, R>(&mut self, f: impl FnOnce(Scope<'_, 'env>) -> R) -> R {
        self.as_scope().scope(f)
    }

    /// Where the arena stands, to [`rewind`](Self::rewind) to.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::new();
    /// assert_eq!(arena.checkpoint(), arena.checkpoint());
    /// ```
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.chunks.mark())
    }

    /// Makes all memory free that was allocated since that checkpoint; O(1).
    /// [`scope`](Self::scope) does so safely.
    ///
    /// # Safety
    ///
    /// - The checkpoint is this arena's. Since it was taken the arena was neither
    ///   reset, nor shrunk, nor rewound to an earlier one.
    /// - Nothing that was allocated since is used any more, and to drop a box or a
    ///   vector is a use of it.
    /// - Nothing that was allocated before has grown, shrunk or been freed since: vectors
    ///   and other collections keep the memory that they had, and are not dropped.
    /// - No method of this arena that was called since is still running. One that was
    ///   called before may be, where it runs the code that rewinds (a closure, an
    ///   iterator, a clone, a formatter, a destructor, a source of memory), if it has
    ///   done nothing since: the checkpoint was taken in the same call of that code, and
    ///   a formatter has written nothing in between.
    ///
    /// So the closure of [`alloc_with`](Self::alloc_with) may rewind to a checkpoint that
    /// it has taken itself, and to none that was taken before the call: its value may
    /// have its place already, which the rewind would make free.
    ///
    /// Debug builds panic where they see the first or the last of these broken, which is not
    /// always.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let kept: *mut u64 = arena.alloc(1);
    /// let mark = arena.checkpoint();
    /// arena.alloc([0_u8; 1000]);
    /// // SAFETY: the reference to the zeroes is not used any more.
    /// unsafe { arena.rewind(mark) };
    /// assert_eq!(arena.checkpoint(), mark);
    /// ```
    pub unsafe fn rewind(&self, checkpoint: Checkpoint) {
        #[cfg(debug_assertions)]
        self.chunks.check_mark(checkpoint.0);
        // SAFETY: says the caller.
        unsafe { self.chunks.rewind(checkpoint.0) };
    }

    /// Bytes of all chunks but their headers; O(chunks).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// assert_eq!(arena.allocated_bytes(), 1024);
    /// ```
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.chunks.bytes() - self.chunks.count().1
    }

    /// Bytes of all chunks with their headers; O(1).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// assert!(arena.allocated_bytes_including_metadata() > 1024);
    /// ```
    #[must_use]
    pub fn allocated_bytes_including_metadata(&self) -> usize {
        self.chunks.bytes()
    }

    /// Bytes left in the current chunk; O(1).
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// arena.alloc(7_u8);
    /// assert_eq!(arena.remaining(), 1024 - 1);
    /// ```
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.chunks.remaining()
    }

    /// How many chunks there are; O(chunks).
    ///
    /// ```
    /// assert_eq!(flatslab::bump::Arena::new().chunks_allocated(), 0);
    /// ```
    #[must_use]
    pub fn chunks_allocated(&self) -> usize {
        self.chunks.count().0
    }

    /// What memory the arena has, and what was obtained of what was asked for.
    ///
    /// ```
    /// let arena = flatslab::bump::Arena::bounded(1024);
    /// assert!(arena.memory().bytes() >= 1024);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.chunks.bytes(), self.chunks.source())
    }

    /// Panics where an invariant does not hold.
    #[cfg(any(test, fuzzing))]
    pub fn check(&self) {
        self.chunks.check();
    }
}

/// Prints how much memory there is, not what is in it.
impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("bytes", &self.chunks.bytes())
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

impl<'a> sealed::Chunks<'a> for &'a Arena {
    fn chunks(self) -> &'a Chunks {
        &self.chunks
    }
}

impl<'a> InArena<'a> for &'a Arena {}

impl<'s> Scope<'s, '_> {
    methods!(self: &Self => 's);

    #[inline(always)]
    fn chunks(&self) -> &'s Chunks {
        self.chunks
    }

    /// Calls `f` with an inner scope; what that allocates is free again when this returns,
    /// or panics.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let mut scope = arena.as_scope();
    /// let before = scope.remaining();
    /// scope.scope(|mut inner| {
    ///     inner.alloc(1);
    ///     inner.scope(|innermost| *innermost.alloc(2))
    /// });
    /// ```
    pub fn scope<'inner, R>(&mut self, f: impl FnOnce(Scope<'_, 'inner>) -> R) -> R {
        /// Here and not in `Scope`: that is passed by value, and could be dropped while
        /// its references live.
        struct Rewind<'c>(&'c Chunks, Mark);

        impl Drop for Rewind<'_> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: taken below of these chunks. What was allocated since then lived
                // no longer than the inner scope's lifetime, which is over. That scope was
                // borrowed of this one, so nothing else was done to these chunks; neither
                // it nor inner ones can reset or shrink.
                unsafe { self.0.rewind(self.1) };
            }
        }

        let _rewind = Rewind(self.chunks, self.chunks.mark());
        f(Scope {
            chunks: self.chunks,
            scope: PhantomData,
            env: PhantomData,
        })
    }

    /// Bytes left in the current chunk; O(1).
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::bounded(1024);
    /// assert_eq!(arena.as_scope().remaining(), 1024);
    /// ```
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.chunks.remaining()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

impl<'a> sealed::Chunks<'a> for &'a Scope<'_, '_> {
    fn chunks(self) -> &'a Chunks {
        self.chunks
    }
}

impl<'a> InArena<'a> for &'a Scope<'_, '_> {}
