//! An allocator of system pages for the user's own collections, and the user's allocators for the
//! slabs.

use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;

use allocator_api2::alloc::{AllocError as Refusal, Allocator};

use super::{MemorySource, Pages, Report};
use crate::error::{AllocError, BuildError};
use crate::raw::memory::Block;
use crate::raw::pages::options::Shortfalls;
use crate::raw::source::{Kind, Source};

/// An allocator of system pages for your own collections, such as an index of the values.
///
/// Its clones share the same pages. Every allocation takes whole cache lines, is populated, and
/// takes a lock, so it is meant for few and large ones. An allocation of 2 MiB or more has a
/// mapping of its own, which is unmapped when it is freed.
///
/// # Examples
///
/// ```
/// use flatslab::memory::{HugePages, PageAllocator, Pages};
/// use hashbrown::{DefaultHashBuilder, HashMap};
///
/// let pages = PageAllocator::try_new(Pages::new().huge(HugePages::Try))?;
/// let mut index = HashMap::with_capacity_and_hasher_in(
///     10_000,
///     DefaultHashBuilder::default(),
///     pages.clone(),
/// );
/// index.insert(7_u64, "seven");
/// assert_eq!(index[&7], "seven");
/// assert!(pages.memory().bytes() > 10_000 * 16);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
pub struct PageAllocator {
    source: Source,
}

impl PageAllocator {
    /// Creates an allocator of these pages, without memory yet.
    ///
    /// # Errors
    ///
    /// If a required option is not supported, or the global allocator refuses a few bytes. If the
    /// system refuses memory later, the collection reports that its allocator failed, so reserve
    /// with its `try_` methods first.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::memory::{PageAllocator, Pages};
    ///
    /// let pages = PageAllocator::try_new(Pages::new())?;
    /// assert_eq!(pages.memory().bytes(), 0);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    pub fn try_new(pages: Pages) -> Result<Self, BuildError> {
        let kind = pages.into_kind()?;
        let source = Source::try_new(kind.unwrap_or(Kind::Without(Shortfalls::NONE)))?;
        Ok(PageAllocator { source })
    }

    /// Returns a report on the memory of all clones together: its size, and which of the requested
    /// page options were obtained.
    ///
    /// ```
    /// use flatslab::memory::{PageAllocator, Pages, allocator_api2};
    ///
    /// let pages = PageAllocator::try_new(Pages::new())?;
    /// let mut vector = allocator_api2::vec::Vec::with_capacity_in(100, pages.clone());
    /// vector.push(7_u64);
    /// assert_eq!(pages.memory().bytes(), 800);
    /// # Ok::<(), flatslab::BuildError>(())
    /// ```
    #[must_use]
    pub fn memory(&self) -> Report {
        Report::new(self.source.bytes(), &self.source)
    }
}

impl Clone for PageAllocator {
    /// Clones the handle to the same pages. O(1); does not allocate.
    fn clone(&self) -> Self {
        PageAllocator {
            source: self.source.clone(),
        }
    }
}

impl fmt::Debug for PageAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageAllocator")
            .field("source", &self.source)
            .field("bytes", &self.source.bytes())
            .finish()
    }
}

// SAFETY: a block stays where it is until it is deallocated, because its source lives as long as a
// clone of this; clones share the source.
unsafe impl Allocator for PageAllocator {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, Refusal> {
        let block = Block::allocate(layout, &self.source).map_err(|_| Refusal)?;
        Ok(NonNull::slice_from_raw_parts(
            block.leak_start(),
            layout.size(),
        ))
    }

    unsafe fn deallocate(&self, start: NonNull<u8>, layout: Layout) {
        // SAFETY: from `allocate`, which gave the block up, of this or a clone.
        drop(unsafe { Block::from_start(start, layout, &self.source) });
    }
}

/// A [`MemorySource`] that uses your own allocator.
///
/// # Examples
///
/// Several containers in the same pages:
///
/// ```
/// use std::sync::Arc;
///
/// use flatslab::memory::{FromAllocator, HugePages, PageAllocator, Pages};
/// use flatslab::{KeySlab, Slab};
///
/// let shared = PageAllocator::try_new(Pages::new().huge(HugePages::Try))?;
/// let pages = Pages::from_source(Arc::new(FromAllocator(shared.clone())));
/// let mut orders = KeySlab::<u64>::builder().pages(pages.clone()).try_build()?;
/// let sessions = Slab::<String>::builder().pages(pages).try_build()?;
/// orders.insert(7);
/// sessions.insert_key("seven".to_string());
/// assert!(shared.memory().bytes() > 0);
/// drop((orders, sessions));
/// assert_eq!(shared.memory().bytes(), 0);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FromAllocator<A>(
    /// The allocator.
    pub A,
);

// SAFETY: what an allocator returns has the layout that was asked for and is valid until it is
// deallocated, while the allocator lives, which this owns. If `deallocate` unwinds the program
// ends.
unsafe impl<A: Allocator + Send + Sync + 'static> MemorySource for FromAllocator<A> {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        match self.0.allocate(layout) {
            Ok(block) => Ok(block.cast()),
            Err(_) => Err(AllocError::OutOfMemory {
                bytes: layout.size(),
            }),
        }
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        /// Aborts the program if it is dropped during a panic that unwinds.
        struct Unwound;

        impl Drop for Unwound {
            fn drop(&mut self) {
                panic!("the allocator panicked in `deallocate`");
            }
        }

        let unwound = Unwound;
        // SAFETY: `allocate` returned the memory with this layout (precondition), and called the
        // allocator for it.
        unsafe { self.0.deallocate(start, layout) };
        core::mem::forget(unwound);
    }
}
