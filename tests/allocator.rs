//! A global allocator that uses the very slab that is growing, while it
//! allocates and while it frees: the one piece of user code that runs within
//! growth. Its `unsafe` is that of the trait alone.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flatslab::{Key, Slab};

/// When the allocator uses the slab, and how.
#[derive(Clone, Copy, Default)]
struct Mode {
    allocating: bool,
    freeing: bool,
    inserts: bool,
}

struct Meddling;

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode { allocating: false, freeing: false, inserts: false }) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static WRONG: Cell<u32> = const { Cell::new(0) };
    static MEDDLED: Cell<u32> = const { Cell::new(0) };
    /// So many keys, from 0 on, have their own number as a value.
    static KEYS: Cell<u32> = const { Cell::new(0) };
    static SLAB: Slab<u32> = Slab::builder().chunk_capacity(1).build();
}

/// Reads every value there is; inserts one, finds it and removes it.
fn meddle(slab: &Slab<u32>, inserts: bool) {
    MEDDLED.set(MEDDLED.get() + 1);
    let wrong = |is_wrong: bool| WRONG.set(WRONG.get() + u32::from(is_wrong));
    for raw in 0..KEYS.get() {
        wrong(
            slab.get(Key::from_raw(raw))
                .is_none_or(|value| *value != raw),
        );
    }
    if inserts {
        let key = slab.insert(u32::MAX).leak();
        wrong(slab.get(key).is_none());
        wrong(slab.try_remove_by_key(key).is_none());
    }
}

fn use_the_slab(wanted: impl Fn(Mode) -> bool) {
    let (Ok(mode), depth) = (MODE.try_with(Cell::get), DEPTH.get()) else {
        return;
    };
    if wanted(mode) && depth < 3 {
        DEPTH.set(depth + 1);
        SLAB.with(|slab| meddle(slab, mode.inserts));
        DEPTH.set(depth);
    }
}

// SAFETY: memory is the system allocator's.
unsafe impl GlobalAlloc for Meddling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        use_the_slab(|mode| mode.allocating);
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's word.
        unsafe { System.dealloc(pointer, layout) };
        // Behind it: what was freed must not be looked at any more.
        use_the_slab(|mode| mode.freeing);
    }
}

#[global_allocator]
static ALLOCATOR: Meddling = Meddling;

/// Chunks of one slot each: the table moves at 8, 16, 32 and 64 of them.
const VALUES: usize = if cfg!(miri) { 17 } else { 70 };

/// Grows a slab through several tables and stacks under a meddling allocator.
fn grow_under(mode: Mode) {
    let run = move || {
        SLAB.with(|slab| {
            for _ in 0..VALUES {
                MODE.set(mode);
                let key = slab.insert_with(|vacant| vacant.key().into_raw()).leak();
                MODE.set(Mode::default());
                slab.check();
                if key.into_raw() == KEYS.get() {
                    KEYS.set(KEYS.get() + 1);
                }
            }
            assert_eq!(slab.len(), VALUES);
        });
        assert!(MEDDLED.get() > 0, "the allocator has used the slab");
        assert_eq!(WRONG.get(), 0);
    };
    std::thread::spawn(run).join().unwrap();
}

#[test]
fn an_allocator_that_reads_the_slab_while_it_allocates() {
    grow_under(Mode {
        allocating: true,
        ..Mode::default()
    });
}

#[test]
fn an_allocator_that_inserts_while_it_allocates() {
    grow_under(Mode {
        allocating: true,
        inserts: true,
        ..Mode::default()
    });
}

#[test]
fn an_allocator_that_reads_the_slab_while_it_frees() {
    grow_under(Mode {
        freeing: true,
        ..Mode::default()
    });
}

#[test]
fn an_allocator_that_inserts_while_it_frees() {
    grow_under(Mode {
        freeing: true,
        inserts: true,
        ..Mode::default()
    });
}

#[test]
fn an_allocator_that_does_all_of_it() {
    grow_under(Mode {
        allocating: true,
        freeing: true,
        inserts: true,
    });
}
