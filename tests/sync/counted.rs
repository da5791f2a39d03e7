//! Values that any thread may drop and that are counted, and memory that is.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use flatslab::AllocError;
use flatslab::memory::{MemorySource, Pages};

/// How many of its [`Value`]s there are.
#[derive(Clone, Default)]
pub(crate) struct Alive(Arc<AtomicUsize>);

impl Alive {
    pub(crate) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }

    pub(crate) fn value(&self, number: u64) -> Value {
        self.0.fetch_add(1, SeqCst);
        Value {
            number,
            check: !number,
            alive: self.clone(),
        }
    }
}

/// A number that is counted, and knows whether it is whole.
pub(crate) struct Value {
    pub(crate) number: u64,
    check: u64,
    alive: Alive,
}

impl Value {
    #[track_caller]
    pub(crate) fn expect(&self, number: u64) {
        assert_eq!((self.number, self.check), (number, !number));
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.expect(self.number);
        // Found by whoever drops it twice, or reads it afterwards.
        self.check = self.number;
        assert!(self.alive.0.fetch_sub(1, SeqCst) > 0);
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.number.fmt(f)
    }
}

/// The global allocator's memory, counted.
#[derive(Default)]
struct Counted(AtomicUsize);

// SAFETY: the memory is that of the global allocator.
unsafe impl MemorySource for Counted {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { alloc(layout) });
        self.0.fetch_add(layout.size(), SeqCst);
        start.ok_or(AllocError::OutOfMemory {
            bytes: layout.size(),
        })
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        self.0.fetch_sub(layout.size(), SeqCst);
        // SAFETY: from `allocate`, with this layout.
        unsafe { dealloc(start.as_ptr(), layout) };
    }
}

/// Runs `f` with memory that is counted, which has come back when `f` returns.
pub(crate) fn without_leak<R>(f: impl FnOnce(Pages) -> R) -> R {
    let counted = Arc::new(Counted::default());
    let result = f(Pages::from_source(counted.clone()));
    assert_eq!(counted.0.load(SeqCst), 0, "memory was leaked");
    result
}
