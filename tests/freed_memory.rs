//! What goes back to the allocator, and when: with the layout it came with, and
//! not before the slab has let go of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};

use flatslab::{BoundedSlab, Slab, Slot};

/// The system's allocator, which remembers what was asked for.
struct Remembering;

const REMEMBERED: usize = 256;

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static LIVE: RefCell<[Option<(usize, Layout)>; REMEMBERED]> =
        const { RefCell::new([None; REMEMBERED]) };
    static WRONG: Cell<usize> = const { Cell::new(0) };
    /// The slab that is looked at behind each `dealloc`.
    static SHRINKING: Cell<*const Slab<u64>> = const { Cell::new(std::ptr::null()) };
}

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's word.
        let start = unsafe { System.alloc(layout) };
        if ON.try_with(Cell::get).unwrap_or(false) {
            LIVE.with_borrow_mut(|live| match live.iter_mut().find(|entry| entry.is_none()) {
                Some(entry) => *entry = Some((start.addr(), layout)),
                None => WRONG.set(WRONG.get() + 1),
            });
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let mut asked = layout;
        if ON.try_with(Cell::get).unwrap_or(false) {
            LIVE.with_borrow_mut(|live| {
                let found = live
                    .iter_mut()
                    .find(|entry| entry.is_some_and(|(at, _)| at == start.addr()));
                match found.and_then(Option::take) {
                    Some((_, layout)) => asked = layout,
                    None => asked = Layout::new::<()>(),
                }
            });
            if asked != layout {
                WRONG.set(WRONG.get() + 1);
            }
        }
        // SAFETY: allocated with that layout.
        unsafe { System.dealloc(start, if asked.size() == 0 { layout } else { asked }) };
        let slab = SHRINKING.try_with(Cell::get).unwrap_or(std::ptr::null());
        // SAFETY: null, or set by the test below, to a slab of its own.
        if let Some(slab) = unsafe { slab.as_ref() } {
            // No key leads into what was freed.
            let bound = slab.keys().size_hint().1;
            WRONG.set(WRONG.get() + usize::from(bound != Some(slab.capacity())));
        }
    }
}

#[global_allocator]
static ALLOCATOR: Remembering = Remembering;

/// Every block goes back with the layout it came with.
#[test]
fn memory_is_freed_with_the_layout_it_was_allocated_with() {
    #[repr(align(64))]
    struct Line;
    #[repr(align(4096))]
    struct Page;
    fn come_and_go<T>(make: fn() -> T) {
        drop(BoundedSlab::<T>::with_capacity(0));
        let bounded = BoundedSlab::<T>::with_capacity(5);
        let slot = bounded.insert(make());
        drop(bounded);
        drop(slot);
        let slab = Slab::<T>::builder().chunk_capacity(2).build();
        // Across a larger table and larger stacks; then holes, and none.
        let mut slots: [Option<Slot<T>>; 20] = std::array::from_fn(|_| Some(slab.insert(make())));
        for slot in &mut slots[2..18] {
            *slot = None;
        }
        slab.shrink();
        slab.reserve(9);
        slots[19] = None;
        slots[18] = None;
        slab.shrink();
        drop(slab);
        drop(slots);
    }
    ON.set(true);
    come_and_go(|| 7_u8);
    come_and_go(|| 7_u64);
    come_and_go(|| [7_u64; 9]);
    come_and_go(|| Line);
    come_and_go(|| Page);
    ON.set(false);
    assert_eq!(WRONG.get(), 0);
    assert!(LIVE.with_borrow(|live| live.iter().all(Option::is_none)));
}

/// When a chunk is freed no key leads there any more.
#[test]
fn a_shrinking_slab_forgets_a_chunk_before_it_is_freed() {
    let slab = Slab::<u64>::builder().chunk_capacity(4).reserve(12).build();
    let _slot = slab.insert(7);
    SHRINKING.set(&raw const slab);
    slab.shrink();
    SHRINKING.set(std::ptr::null());
    assert_eq!((WRONG.get(), slab.capacity()), (0, 4));
}
