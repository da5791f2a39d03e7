//! A source of memory that remembers what it gave, and does at a call what a test
//! has planned for this thread: refuse, panic, or run any code.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use flatslab::AllocError;
use flatslab::memory::{MemorySource, Pages};

/// Filled into memory when it is given and when it comes back: no stamp, no pointer
/// and no value that is intact.
const POISON: u8 = 0xa5;

/// What a source does with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Refuse,
    Panic,
}

/// Requests until the fault, and whether all that follow fail too.
#[derive(Clone, Copy)]
struct Plan {
    left: usize,
    fault: Fault,
    goes_on: bool,
}

/// Calls until it runs, and what.
type Hook = (usize, Rc<dyn Fn()>);

thread_local! {
    static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
    static WAS_REACHED: Cell<bool> = const { Cell::new(false) };
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Runs `f`; after so many requests of this thread the next one fails, and those
/// that follow if it `goes_on`. Says whether there were so many.
pub(crate) fn with_fault(left: usize, fault: Fault, goes_on: bool, f: impl FnOnce()) -> bool {
    WAS_REACHED.set(false);
    PLAN.set(Some(Plan {
        left,
        fault,
        goes_on,
    }));
    f();
    PLAN.set(None);
    WAS_REACHED.get()
}

/// Runs `f` without faults.
pub(crate) fn without_fault<R>(f: impl FnOnce() -> R) -> R {
    let plan = PLAN.take();
    let result = f();
    PLAN.set(plan);
    result
}

/// Whether a request may be refused now: some operations have no other answer to
/// that than the end of the program.
pub(crate) fn may_refuse() -> bool {
    PLAN.get().is_some_and(|plan| plan.fault == Fault::Refuse)
}

/// What `f` returns, unless a source has panicked as planned.
pub(crate) fn unless_it_panics<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Fault>() => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Runs `f`, and `hook` once, after so many calls of a source on this thread: each
/// request and each return is two, before and after. `None` if there were not so many.
pub(crate) fn with_hook<R>(calls: usize, hook: Rc<dyn Fn()>, f: impl FnOnce() -> R) -> Option<R> {
    HOOK.set(Some((calls, hook)));
    let result = f();
    HOOK.take().is_none().then_some(result)
}

fn call() {
    let hook = HOOK.with_borrow_mut(|hook| match hook {
        Some((0, _)) => hook.take(),
        Some((left, _)) => {
            *left -= 1;
            None
        }
        None => None,
    });
    if let Some((_, hook)) = hook {
        hook();
    }
}

fn ask() -> bool {
    match PLAN.get() {
        Some(Plan {
            left: 0,
            fault,
            goes_on,
        }) => {
            WAS_REACHED.set(true);
            if !goes_on {
                PLAN.set(None);
            }
            answer(fault)
        }
        Some(plan) => {
            PLAN.set(Some(Plan {
                left: plan.left - 1,
                ..plan
            }));
            true
        }
        None => true,
    }
}

fn answer(fault: Fault) -> bool {
    match fault {
        Fault::Refuse => false,
        // Calls no panic hook.
        Fault::Panic => resume_unwind(Box::new(fault)),
    }
}

/// The source.
pub(crate) struct Counted {
    blocks: Mutex<BTreeMap<usize, Layout>>,
    maker: ThreadId,
    /// What every other thread gets.
    helpers: Mutex<Option<Fault>>,
    helpers_failed: AtomicUsize,
}

impl Counted {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Counted {
            blocks: Mutex::default(),
            maker: thread::current().id(),
            helpers: Mutex::default(),
            helpers_failed: AtomicUsize::new(0),
        })
    }

    pub(crate) fn pages(self: &Arc<Self>) -> Pages {
        Pages::from_source(self.clone())
    }

    /// Bytes that were given and did not come back.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.lock().unwrap().values().map(Layout::size).sum()
    }

    /// Panics unless everything came back and no one else has the source.
    #[track_caller]
    pub(crate) fn expect_all_back(self: Arc<Self>) {
        let blocks = self.blocks.lock().unwrap();
        assert!(blocks.is_empty(), "memory is lost: {blocks:x?}");
        drop(blocks);
        assert_eq!(Arc::strong_count(&self), 1, "the source is lost");
    }

    #[cfg(feature = "std")]
    pub(crate) fn fail_helpers(&self, fault: Option<Fault>) {
        *self.helpers.lock().unwrap() = fault;
    }

    #[cfg(feature = "std")]
    pub(crate) fn helpers_failed(&self) -> usize {
        self.helpers_failed.load(SeqCst)
    }
}

// SAFETY: the memory is that of the system's allocator; nothing in `release` unwinds but
// a failed test.
unsafe impl MemorySource for Counted {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        assert!(layout.size() > 0, "no bytes were asked for");
        let bytes = layout.size();
        call();
        let helpers = *self.helpers.lock().unwrap();
        let is_given = match helpers {
            Some(fault) if thread::current().id() != self.maker => {
                self.helpers_failed.fetch_add(1, SeqCst);
                answer(fault)
            }
            _ => ask(),
        };
        if !is_given {
            return Err(AllocError::OutOfMemory { bytes });
        }
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { System.alloc(layout) });
        let start = start.ok_or(AllocError::OutOfMemory { bytes })?;
        // SAFETY: the block has that many bytes.
        unsafe { start.write_bytes(POISON, bytes) };
        let before = self
            .blocks
            .lock()
            .unwrap()
            .insert(start.addr().get(), layout);
        assert_eq!(before, None, "the same memory twice");
        call();
        Ok(start)
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        call();
        let given = self.blocks.lock().unwrap().remove(&start.addr().get());
        if given != Some(layout) {
            eprintln!("{start:?} was given as {given:?}, and came back as {layout:?}");
            std::process::abort();
        }
        // SAFETY: from `allocate` with this layout.
        unsafe {
            start.write_bytes(POISON, layout.size());
            System.dealloc(start.as_ptr(), layout);
        }
        call();
    }
}
