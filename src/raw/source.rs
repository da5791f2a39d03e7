//! Where blocks come from: the global allocator, pages of the system, or memory
//! that the user brings.
//!
//! The owner of a block has its source: a [`Block`](super::memory::Block) itself, or
//! the stack or table that holds blocks by address. So the source lives until its last
//! block has been released, in whatever order a slab, its handles and its helper thread
//! end.
//!
//! # Invariants
//!
//! * `source-owners`: `owners` counts the [`Source`]s that point to a
//!   [`Shared`]; the one that counts down to none frees it.
//! * `same-source`: a block is released to the source it came from, with its layout.

#![allow(
    clippy::disallowed_types,
    reason = "the `Arc` is the user's, who has allocated it"
)]

use alloc::alloc::{alloc, dealloc, realloc};
use alloc::sync::Arc;
use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;

use super::atomic::{Count, Ordering};
use super::pages::options::Shortfalls;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
use super::pages::system::System;
use super::touch::touch;
use crate::error::AllocError;

/// A source of memory of your own. A container that is built with
/// [`Pages::from_source`](crate::memory::Pages::from_source) takes all of its memory from
/// it.
///
/// Several threads may call it at once, for example the thread that builds spare chunks.
/// A container holds it in an [`Arc`] until its last block is released. That may be after
/// the container was dropped: when its last handle is dropped.
///
/// # Safety
///
/// The memory that `allocate` returns has the requested size and alignment. Nothing else uses
/// it, and it stays valid until it is released or the source is dropped. It does not include the
/// last byte of the address space, because the address after its last byte must not wrap around to
/// 0.
/// `release` does not unwind.
///
/// # Examples
///
/// A source that counts its bytes:
///
/// ```
/// use std::alloc::{Layout, alloc, dealloc};
/// use std::ptr::NonNull;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use flatslab::memory::{MemorySource, Pages};
/// use flatslab::{AllocError, BoundedSlab};
///
/// #[derive(Default)]
/// struct Counted(AtomicUsize);
///
/// // SAFETY: the memory is that of the global allocator.
/// unsafe impl MemorySource for Counted {
///     fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
///         let bytes = layout.size();
///         // The method is safe, so it can be called with any layout.
///         if bytes == 0 {
///             return Err(AllocError::OutOfMemory { bytes });
///         }
///         // SAFETY: the layout has a size.
///         let start = NonNull::new(unsafe { alloc(layout) });
///         let start = start.ok_or(AllocError::OutOfMemory { bytes })?;
///         self.0.fetch_add(bytes, Ordering::Relaxed);
///         Ok(start)
///     }
///
///     unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
///         self.0.fetch_sub(layout.size(), Ordering::Relaxed);
///         // SAFETY: from `allocate`, with this layout.
///         unsafe { dealloc(start.as_ptr(), layout) };
///     }
/// }
///
/// let counted = Arc::new(Counted::default());
/// let pages = Pages::from_source(counted.clone());
/// let slab = BoundedSlab::<u64>::builder().capacity(100).pages(pages).try_build()?;
/// assert!(counted.0.load(Ordering::Relaxed) >= 100 * (8 + 8 + 8));
/// drop(slab);
/// assert_eq!(counted.0.load(Ordering::Relaxed), 0);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
pub unsafe trait MemorySource: Send + Sync + 'static {
    /// Allocates uninitialised memory of a layout.
    ///
    /// Containers request layouts whose size is not 0. Other callers may pass any layout, because
    /// the method is safe. It may run any code, even methods of the container that calls it, and it
    /// may panic.
    ///
    /// # Errors
    ///
    /// Returns [`AllocError::OutOfMemory`] if there is no memory.
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError>;

    /// Takes memory back.
    ///
    /// # Safety
    ///
    /// `start` came from [`allocate`](Self::allocate) of this source with this
    /// layout, is released once, and not used afterwards.
    unsafe fn release(&self, start: NonNull<u8>, layout: Layout);
}

/// The source of blocks; its clones are the same source.
pub(crate) struct Source(Option<NonNull<Shared>>);

/// The state that the clones of a source share.
struct Shared {
    owners: Count,
    /// Allocated and not released.
    bytes: Count,
    kind: Kind,
}

impl Shared {
    fn note_reallocation(&self, from: usize, to: usize) {
        // Relaxed: a figure for people. The sum wraps back to the difference.
        let change = to.wrapping_sub(from);
        self.bytes.fetch_add(change, Ordering::Relaxed);
    }
}

/// The kinds of sources that are not just the global allocator.
pub(crate) enum Kind {
    /// The global allocator, in place of pages that were to be tried for.
    #[allow(dead_code, reason = "with pages of the system, only for allocators")]
    Without(Shortfalls),
    /// A user's, which was to be as it cannot be made.
    Foreign(Arc<dyn MemorySource>, Shortfalls),
    #[cfg(all(feature = "os-memory", target_os = "linux"))]
    System(System),
}

// SAFETY: `Shared` is used by reference alone, and what it has is `Sync` and
// `Send`; `source-owners` counts atomically.
unsafe impl Send for Source {}
// SAFETY: `&Source` gives `&Shared`, which has only what is `Sync`.
unsafe impl Sync for Source {}

impl core::panic::UnwindSafe for Source {}
impl core::panic::RefUnwindSafe for Source {}

impl Source {
    /// The global allocator.
    pub(crate) const GLOBAL: Source = Source(None);

    /// A source of that kind.
    ///
    /// # Errors
    ///
    /// When the global allocator refuses the memory for its own record.
    pub(crate) fn try_new(kind: Kind) -> Result<Self, AllocError> {
        let shared = Shared {
            owners: Count::new(1),
            bytes: Count::new(0),
            kind,
        };
        let place = allocate_global(Layout::new::<Shared>())?.cast();
        // SAFETY: memory of the layout of `Shared`, which nothing else uses.
        unsafe { place.write(shared) };
        Ok(Source(Some(place)))
    }

    /// Whether both are the same place.
    pub(crate) fn is(&self, other: &Source) -> bool {
        self.0 == other.0
    }

    #[inline]
    fn shared(&self) -> Option<&Shared> {
        // SAFETY: by `source-owners` it lives as long as `self`.
        self.0.map(|shared| unsafe { shared.as_ref() })
    }

    #[inline]
    pub(crate) fn kind(&self) -> Option<&Kind> {
        Some(&self.shared()?.kind)
    }

    /// Bytes that all owners of a source have allocated; of the global allocator
    /// they are not counted.
    #[cfg(feature = "allocator-api2")]
    pub(crate) fn bytes(&self) -> usize {
        // Relaxed: a figure for people.
        (self.shared()).map_or(0, |shared| shared.bytes.load(Ordering::Relaxed))
    }

    /// Memory of that layout, which has a size.
    ///
    /// # Errors
    ///
    /// When there is none.
    #[inline]
    pub(crate) fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        match self.shared() {
            None => allocate_global(layout),
            Some(shared) => Self::allocate_shared(shared, layout),
        }
    }

    fn allocate_shared(shared: &Shared, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let start = match &shared.kind {
            Kind::Without(_) => allocate_global(layout),
            Kind::Foreign(source, _) => source.allocate(layout),
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            Kind::System(system) => system.allocate(layout),
        }?;
        // Relaxed: a figure for people.
        shared.bytes.fetch_add(layout.size(), Ordering::Relaxed);
        Ok(start)
    }

    /// Memory of that layout, to be [committed](Self::commit) from its start on
    /// before it is used.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn reserve(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        #[cfg(all(feature = "os-memory", target_os = "linux"))]
        if let Some(shared) = self.shared() {
            if let Kind::System(system) = &shared.kind {
                let start = system.reserve(layout)?;
                shared.bytes.fetch_add(layout.size(), Ordering::Relaxed);
                return Ok(start);
            }
        }
        self.allocate(layout)
    }

    /// Makes the bytes of a reserved block usable that lie between `from`, up to
    /// which it is committed, and `to`; returns up to where it then is. They are
    /// not populated.
    ///
    /// # Errors
    ///
    /// When the system refuses; nothing has changed then.
    ///
    /// # Safety
    ///
    /// `start` is a block that was reserved here, with a size; `from < to`, which
    /// is not more than its size; its bytes from `from` on are not in use.
    pub(super) unsafe fn commit(
        &self,
        start: NonNull<u8>,
        from: usize,
        to: usize,
    ) -> Result<usize, AllocError> {
        match self.kind() {
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            // SAFETY: a reserved block of this source (precondition).
            Some(Kind::System(system)) => unsafe { system.commit(start, to) },
            _ => {
                let _ = (start, from);
                Ok(to)
            }
        }
    }

    /// Gives back the memory of a reserved block from `from` on, as far as its
    /// source can; returns up to where it is committed then.
    ///
    /// # Safety
    ///
    /// As for [`commit`](Self::commit); it is committed up to `to`.
    pub(super) unsafe fn decommit(&self, start: NonNull<u8>, from: usize, to: usize) -> usize {
        match self.kind() {
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            // SAFETY: a reserved block of this source, not in use from there on (precondition).
            Some(Kind::System(system)) => unsafe { system.decommit(start, from, to) },
            _ => {
                let _ = (start, from);
                to
            }
        }
    }

    /// Populates the pages of those bytes, so that no access faults.
    ///
    /// # Errors
    ///
    /// When the system refuses.
    ///
    /// # Safety
    ///
    /// They are a block's from here, committed, and not in use.
    pub(super) unsafe fn populate(
        &self,
        start: NonNull<u8>,
        from: usize,
        to: usize,
    ) -> Result<(), AllocError> {
        match self.kind() {
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            // SAFETY: bytes of a block of this source, not in use (precondition).
            Some(Kind::System(system)) => unsafe { system.populate(start, from, to) },
            // SAFETY: the bytes are a block's, committed, and not in use (precondition).
            _ => unsafe {
                touch(start, from, to);
                Ok(())
            },
        }
    }

    /// Gives the whole pages of a block back to the system, if it comes from there; they stay
    /// accessible. Returns how many bytes: 0 if none.
    ///
    /// # Safety
    ///
    /// `start` is a block of that many bytes from here, and not in use.
    pub(super) unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> usize {
        match self.kind() {
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            // SAFETY: a block of this source, not in use (precondition).
            Some(Kind::System(system)) => unsafe { system.discard(start, bytes) },
            _ => {
                let _ = (start, bytes);
                0
            }
        }
    }

    /// The bytes of a page that can be given back to the system, if blocks come from there.
    pub(crate) fn page_size(&self) -> Option<usize> {
        match self.kind() {
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            Some(Kind::System(system)) => Some(system.sizes().usual),
            _ => None,
        }
    }

    /// Whether it is a [`MemorySource`] of the user's, which may have few bytes.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.kind(), Some(Kind::Foreign(..)))
    }

    /// Whether [`reallocate`](Self::reallocate) is there: with blocks of the global allocator.
    #[inline]
    pub(crate) fn can_reallocate(&self) -> bool {
        matches!(self.kind(), None | Some(Kind::Without(_)))
    }

    /// Changes the size of a block, which may move.
    ///
    /// # Errors
    ///
    /// When the allocator refuses: the block is as it was.
    ///
    /// # Safety
    ///
    /// The source [can](Self::can_reallocate); the block came from it, with this layout. The new
    /// size is neither 0 nor above `isize::MAX`, rounded up to the alignment.
    #[inline]
    pub(crate) unsafe fn reallocate(
        &self,
        start: NonNull<u8>,
        layout: Layout,
        size: usize,
    ) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: from the global allocator, with this layout, to a valid size (preconditions).
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        let moved = unsafe { realloc(start.as_ptr(), layout, size) };
        let moved = NonNull::new(moved).ok_or(AllocError::OutOfMemory { bytes: size })?;
        if let Some(shared) = self.shared() {
            shared.note_reallocation(layout.size(), size);
        }
        Ok(moved)
    }

    /// Takes memory back.
    ///
    /// # Safety
    ///
    /// `start` came from here with this layout, which has a size, is released
    /// once, and not used afterwards.
    pub(crate) unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        if let Some(shared) = self.shared() {
            // Relaxed: a figure for people.
            shared.bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: from the global allocator, or this source, with this layout (precondition,
        // `same-source`).
        unsafe {
            match self.kind() {
                None | Some(Kind::Without(_)) => release_global(start, layout),
                Some(Kind::Foreign(source, _)) => source.release(start, layout),
                #[cfg(all(feature = "os-memory", target_os = "linux"))]
                Some(Kind::System(system)) => system.release(start, layout),
            }
        }
    }

    /// Whether memory that is only reserved costs nothing but address space.
    pub(crate) fn reserves(&self) -> bool {
        self.populates()
    }

    /// Whether memory comes with its pages, so that touching them is in vain.
    #[inline]
    pub(crate) fn populates(&self) -> bool {
        match self.kind() {
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            Some(Kind::System(_)) => true,
            _ => false,
        }
    }
}

#[inline]
fn allocate_global(layout: Layout) -> Result<NonNull<u8>, AllocError> {
    // SAFETY: the layout has a size, as each caller has checked.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    let start = unsafe { alloc(layout) };
    NonNull::new(start).ok_or(AllocError::OutOfMemory {
        bytes: layout.size(),
    })
}

/// # Safety
///
/// As for [`Source::release`].
#[inline]
unsafe fn release_global(start: NonNull<u8>, layout: Layout) {
    // SAFETY: from `allocate_global` with this layout, and freed once (precondition).
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    unsafe {
        dealloc(start.as_ptr(), layout);
    }
}

/// Owners that are forgotten count for ever and take no memory, so the count can
/// come near the end where it has 32 bits. As many threads as there are numbers
/// above this would have to clone at once to pass it.
const MOST_OWNERS: usize = isize::MAX as usize;

impl Clone for Source {
    fn clone(&self) -> Self {
        if let Some(Shared { owners, .. }) = self.shared() {
            // Relaxed: the caller has an owner, so it is not freed before this (`source-owners`).
            if owners.fetch_add(1, Ordering::Relaxed) > MOST_OWNERS {
                owners.fetch_sub(1, Ordering::Relaxed);
                panic!("memory source has too many owners (limit {MOST_OWNERS})");
            }
        }
        Source(self.0)
    }
}

impl Drop for Source {
    #[inline]
    fn drop(&mut self) {
        if let Some(shared) = self.0 {
            // SAFETY: this is an owner of it, which ends (`source-owners`).
            unsafe { Self::end_of_owner(shared) };
        }
    }
}

impl Source {
    /// Counts out an owner, and drops the shared part after the last one.
    ///
    /// # Safety
    ///
    /// The caller is an owner, and does not use it any more.
    unsafe fn end_of_owner(shared: NonNull<Shared>) {
        // Release: what this owner did comes before the end of the shared part. Acquire:
        // pairs with the release of every other owner. Not a fence for the last one alone,
        // which ThreadSanitizer would not see.
        //
        // SAFETY: it lives as long as the caller, an owner (precondition, `source-owners`).
        if unsafe { shared.as_ref().owners.fetch_sub(1, Ordering::AcqRel) } == 1 {
            // SAFETY: `try_new` wrote it into memory of the global allocator of this layout;
            // by `source-owners` this was the last owner, so nothing uses the memory any more.
            drop(unsafe {
                let value = shared.read();
                release_global(shared.cast(), Layout::new::<Shared>());
                value
            });
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind() {
            None | Some(Kind::Without(_)) => "global allocator",
            Some(Kind::Foreign(..)) => "memory source",
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            Some(Kind::System(_)) => "pages of the system",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::memory::Block;

    #[test]
    fn forgotten_owners_cannot_wrap_the_count() {
        let source = Source::try_new(Kind::Without(Shortfalls::NONE)).unwrap();
        let owners = &source.shared().unwrap().owners;
        owners.store(MOST_OWNERS + 1, Ordering::Relaxed);
        let clone = || drop(source.clone());
        let refused = std::panic::catch_unwind(core::panic::AssertUnwindSafe(clone)).is_err();
        assert!(refused && owners.load(Ordering::Relaxed) == MOST_OWNERS + 1);
        owners.store(1, Ordering::Relaxed);
    }

    #[test]
    fn the_last_owner_frees_the_source() {
        let source = Source::try_new(Kind::Without(Shortfalls::NONE)).unwrap();
        let clone = source.clone();
        assert!(clone.is(&source) && !clone.is(&Source::GLOBAL));
        let layout = Layout::new::<[u64; 9]>();
        let block = Block::allocate(layout, &clone).unwrap();
        drop((source, clone));
        assert_eq!(
            block
                .source()
                .shared()
                .unwrap()
                .bytes
                .load(Ordering::Relaxed),
            72
        );
    }
}
