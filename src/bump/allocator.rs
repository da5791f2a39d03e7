//! Arenas as allocators of other crates' collections.
//!
//! Only references are allocators: safe code could reset an arena owned by the collection while the
//! collection uses its memory.

use core::alloc::Layout;
use core::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator};

use super::chunks::{Chunks, Refuses};
use super::{Arena, Scope, place};

/// # Safety
///
/// The conditions are those of [`Allocator::grow`] or of [`Allocator::shrink`], depending on the
/// sizes.
unsafe fn resize(
    chunks: &Chunks,
    place: NonNull<u8>,
    old: Layout,
    new: Layout,
) -> Result<NonNull<[u8]>, AllocError> {
    let aligned = place.addr().get() & (new.align() - 1) == 0;
    if aligned && old.size() != 0 {
        // SAFETY: `place` was allocated here with the layout `old` (precondition).
        if let Some(place) = unsafe { chunks.resize(place, old.size(), new.size()) } {
            return Ok(NonNull::slice_from_raw_parts(place, new.size()));
        }
    }
    if aligned && new.size() <= old.size() {
        return Ok(NonNull::slice_from_raw_parts(place, new.size()));
    }
    let moved = allocate(chunks, new)?;
    let bytes = old.size().min(new.size());
    // SAFETY: both blocks have that many bytes, and the new one was just taken, so they are
    // apart.
    unsafe { moved.cast().copy_from_nonoverlapping(place, bytes) };
    Ok(moved)
}

fn allocate(chunks: &Chunks, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    let place = place::room_for::<Refuses>(chunks, layout).map_err(|()| AllocError)?;
    Ok(NonNull::slice_from_raw_parts(place, layout.size()))
}

/// The references that implement `Allocator`.
macro_rules! allocators {
    ($(
        $(#[$documentation:meta])*
        $owner:ty
    ),+) => {$(
        $(#[$documentation])*
        // SAFETY: memory stays until the arena is reset, rewound or dropped. For a reset and the
        // drop this borrow must be over, `rewind` is unsafe, and a borrowed scope has neither ended
        // nor an inner one that is open. A copy of the reference is the same arena.
        unsafe impl Allocator for &$owner {
            #[inline]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                allocate(self.chunks(), layout)
            }

            #[inline]
            unsafe fn deallocate(&self, place: NonNull<u8>, layout: Layout) {
                if layout.size() != 0 {
                    // SAFETY: `place` was allocated here with that layout and is not used any more
                    // (precondition).
                    unsafe { self.chunks().take_back(place, layout.size()) };
                }
            }

            #[inline]
            unsafe fn grow(
                &self,
                place: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, AllocError> {
                // SAFETY: `place` is memory of this arena with the layout `old`, which the caller
                // gives up (precondition).
                unsafe { resize(self.chunks(), place, old, new) }
            }

            #[inline]
            unsafe fn grow_zeroed(
                &self,
                place: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, AllocError> {
                // SAFETY: `place` is memory of this arena with the layout `old`, which the caller
                // gives up (precondition). The new block has `new.size()` bytes, which is
                // `old.size()` at least.
                unsafe {
                    let grown = resize(self.chunks(), place, old, new)?;
                    let rest = grown.cast::<u8>().add(old.size());
                    rest.write_bytes(0, new.size() - old.size());
                    Ok(grown)
                }
            }

            #[inline]
            unsafe fn shrink(
                &self,
                place: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, AllocError> {
                // SAFETY: `place` is memory of this arena with the layout `old`, which the caller
                // gives up (precondition).
                unsafe { resize(self.chunks(), place, old, new) }
            }
        }
    )+};
}

allocators! {
    /// Memory grows in place and is freed only if it was allocated last. Other memory stays in
    /// use until the arena is reset.
    Arena,
    /// Memory grows in place and is freed only if it was allocated last. Other memory stays in
    /// use until the scope ends.
    Scope<'_, '_>
}

/// An arena is an allocator by reference, never by value.
///
/// ```
/// use flatslab::bump::{Arena, Scope};
///
/// fn allocator<A: flatslab::memory::allocator_api2::alloc::Allocator>() {}
/// allocator::<&Arena>();
/// allocator::<&Scope<'_, '_>>();
/// ```
///
/// ```compile_fail,E0277
/// fn allocator<A: flatslab::memory::allocator_api2::alloc::Allocator>() {}
/// allocator::<flatslab::bump::Arena>();
/// ```
///
/// ```compile_fail,E0277
/// fn allocator<A: flatslab::memory::allocator_api2::alloc::Allocator>() {}
/// allocator::<flatslab::bump::Scope<'_, '_>>();
/// ```
///
/// A collection keeps its arena from being reset, and its scope from an inner one.
///
/// ```compile_fail,E0502
/// use flatslab::memory::allocator_api2::vec::Vec;
///
/// let mut arena = flatslab::bump::Arena::new();
/// let vec = Vec::<u64, _>::new_in(&arena);
/// arena.reset();
/// drop(vec);
/// ```
///
/// ```compile_fail,E0502
/// use flatslab::memory::allocator_api2::vec::Vec;
///
/// let mut arena = flatslab::bump::Arena::new();
/// let mut root = arena.as_scope();
/// let vec = Vec::<u64, _>::new_in(&root);
/// root.scope(|_| ());
/// drop(vec);
/// ```
#[cfg(doctest)]
mod allocators_by_reference {}
