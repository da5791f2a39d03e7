//! Memory that is counted, and refused as a program says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::NonNull;

use flatslab::AllocError;
use flatslab::memory::MemorySource;

thread_local! {
    /// Bytes that the source gave and did not get back.
    pub(super) static BYTES: Cell<usize> = const { Cell::new(0) };
    /// Requests that it refuses from now on.
    pub(super) static REFUSED: Cell<u8> = const { Cell::new(0) };
}

pub(super) struct Refusing;

// SAFETY: the memory is that of the system's allocator.
unsafe impl MemorySource for Refusing {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let bytes = layout.size();
        let refused = REFUSED.get();
        if refused > 0 {
            REFUSED.set(refused - 1);
            return Err(AllocError::OutOfMemory { bytes });
        }
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { System.alloc(layout) });
        let start = start.ok_or(AllocError::OutOfMemory { bytes })?;
        BYTES.set(BYTES.get() + bytes);
        Ok(start)
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        BYTES.set(BYTES.get() - layout.size());
        // SAFETY: from `allocate` with this layout; the block has that many bytes.
        unsafe {
            // A buffer that is read after its memory came back is seen.
            start.write_bytes(0xa5, layout.size());
            System.dealloc(start.as_ptr(), layout);
        }
    }
}
