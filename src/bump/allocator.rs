//! Arenas as allocators of other crates' collections.
//!
//! For references alone: an arena by value could be reset, safely, under a collection.

use core::alloc::Layout;
use core::ptr::NonNull;

use allocator_api2::alloc::{AllocError, Allocator};

use super::chunks::Chunks;
use super::refusal::Refuses;
use super::{Arena, Scope, place};

fn allocate(chunks: &Chunks, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    let place = place::room_for::<Refuses>(chunks, layout).map_err(|()| AllocError)?;
    Ok(NonNull::slice_from_raw_parts(place, layout.size()))
}

/// # Safety
///
/// As for [`Allocator::grow`] and [`Allocator::shrink`], in one.
unsafe fn resize(
    chunks: &Chunks,
    place: NonNull<u8>,
    old: Layout,
    new: Layout,
) -> Result<NonNull<[u8]>, AllocError> {
    let aligned = place.addr().get() & (new.align() - 1) == 0;
    if aligned && old.size() != 0 {
        // SAFETY: says the caller: the place came from here with the old size.
        if let Some(place) = unsafe { chunks.resize(place, old.size(), new.size()) } {
            return Ok(NonNull::slice_from_raw_parts(place, new.size()));
        }
    }
    if aligned && new.size() <= old.size() {
        return Ok(NonNull::slice_from_raw_parts(place, new.size()));
    }
    let moved = allocate(chunks, new)?;
    let bytes = old.size().min(new.size());
    // SAFETY: both have that many bytes, and the new memory was just taken.
    unsafe { moved.cast().copy_from_nonoverlapping(place, bytes) };
    Ok(moved)
}

macro_rules! allocator {
    ($arena:ty) => {
        /// Memory that was allocated last is given back, and grows where it stands; other
        /// memory is given back with the arena's.
        // SAFETY: memory stays until the arena is reset, rewound or dropped, or the scope
        // ends, for each of which this borrow must be over. A copy of the reference is the
        // same arena.
        unsafe impl Allocator for &$arena {
            #[inline]
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                allocate(self.chunks(), layout)
            }

            #[inline]
            unsafe fn deallocate(&self, place: NonNull<u8>, layout: Layout) {
                if layout.size() != 0 {
                    // SAFETY: says the caller.
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
                // SAFETY: says the caller.
                unsafe { resize(self.chunks(), place, old, new) }
            }

            #[inline]
            unsafe fn grow_zeroed(
                &self,
                place: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, AllocError> {
                // SAFETY: says the caller; the new memory has that many bytes.
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
                // SAFETY: says the caller.
                unsafe { resize(self.chunks(), place, old, new) }
            }
        }
    };
}

allocator!(Arena);
allocator!(Scope<'_, '_>);
