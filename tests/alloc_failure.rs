//! The n-th allocation fails, for n = 1, 2, ...: an error each time, the value
//! back, nothing lost, nothing leaked. A program of its own, because the
//! allocator is the whole program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flatslab::{AllocError, BoundedSlab, Slab, Slot};

/// The system's allocator, with a fuse.
struct Fused;

thread_local! {
    /// Allocations until one fails; `None` without a fuse.
    static FUSE: Cell<Option<usize>> = const { Cell::new(None) };
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is the system allocator's, or null.
unsafe impl GlobalAlloc for Fused {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match FUSE.get() {
            Some(0) => return std::ptr::null_mut(),
            Some(left) => FUSE.set(Some(left - 1)),
            None => {}
        }
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE_BYTES.set(LIVE_BYTES.get() + layout.size() as isize);
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's word.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Fused = Fused;

/// Runs `f` with the fuse set to each n until it passes; checks that each
/// failure left no memory behind. Returns how often it failed.
fn each_failure<R>(name: &str, f: impl Fn() -> Result<R, AllocError>) -> usize {
    for fuse in 0.. {
        let before = LIVE_BYTES.get();
        FUSE.set(Some(fuse));
        let result = f();
        FUSE.set(None);
        match result {
            Ok(made) => {
                drop(made);
                assert_eq!(
                    LIVE_BYTES.get(),
                    before,
                    "{name}: dropping it gives all back"
                );
                return fuse;
            }
            Err(error) => {
                assert!(matches!(error, AllocError::OutOfMemory { bytes } if bytes > 0));
                assert_eq!(
                    LIVE_BYTES.get(),
                    before,
                    "{name}: failure {fuse} leaks nothing"
                );
            }
        }
    }
    unreachable!("some fuse is long enough")
}

fn construction() {
    // The cells, the stack, the home.
    let bounded = each_failure("BoundedSlab", || BoundedSlab::<u64>::try_with_capacity(100));
    assert_eq!(bounded, 3);

    let growable = each_failure("SlabBuilder", || {
        Slab::<u64>::builder()
            .chunk_capacity(8)
            .reserve(100)
            .try_build()
    });
    assert!(
        growable > 13,
        "13 chunks, their table, the stack, the home: {growable}"
    );

    let growable = each_failure("Slab", || Slab::<u64>::try_with_capacity(100));
    assert!(growable >= 4);
}

fn leaking() {
    // One more than the slab's own: the place of the slab itself. What is made
    // in the end stays for ever, so only the failures are looked at.
    let before = LIVE_BYTES.get();
    for fuse in 0..4 {
        FUSE.set(Some(fuse));
        let result = BoundedSlab::<u64>::try_leak(8);
        FUSE.set(None);
        assert!(result.is_err());
        assert_eq!(LIVE_BYTES.get(), before);
    }
    // Miri's leak check, unlike us, would not forgive the one that stays.
    if !cfg!(miri) {
        let slab = BoundedSlab::<u64>::try_leak(8).unwrap();
        assert_eq!(*slab.insert(7).unwrap().get(), 7);
    }
}

fn insertion_gives_the_value_back_and_the_slab_goes_on() {
    let before = LIVE_BYTES.get();
    let slab = Slab::builder().chunk_capacity(4).build();
    let mut slots: Vec<Slot<String>> = Vec::with_capacity(1000);
    let mut failures = 0;
    for number in 0..1000 {
        // Every failure that this insertion can meet, then the insertion.
        let mut value = number.to_string();
        for fuse in 0.. {
            FUSE.set(Some(fuse));
            let result = slab.try_insert(value);
            FUSE.set(None);
            match result {
                Ok(slot) => {
                    slots.push(slot);
                    break;
                }
                Err(full) => {
                    value = full.into_inner();
                    assert_eq!(value, number.to_string());
                    assert_eq!(slab.len(), slots.len());
                    FUSE.set(Some(0));
                    assert!(slab.try_vacant_slot().is_err());
                    let mut called = false;
                    let result = slab.try_insert_with(|_| {
                        called = true;
                        String::new()
                    });
                    FUSE.set(None);
                    assert!(!called);
                    let error = result.unwrap_err();
                    assert!(std::error::Error::source(&error).is_some(), "{error}");
                    failures += 1;
                }
            }
        }
    }
    slab.check();
    assert!(
        failures >= 250,
        "each growth can fail at least once: {failures}"
    );
    for (number, slot) in slots.iter().enumerate() {
        assert_eq!(*slot.get(), number.to_string());
    }
    drop(slab);
    drop(slots);
    assert_eq!(LIVE_BYTES.get(), before);
}

fn no_operation_of_a_bounded_slab_allocates() {
    let slab = BoundedSlab::with_capacity(8);
    FUSE.set(Some(0));
    let before = ALLOCATIONS.get();
    let slots: [_; 8] = std::array::from_fn(|n| slab.insert(n).unwrap());
    assert!(slab.insert(8).is_err());
    let keys: [_; 8] = std::array::from_fn(|n| slots[n].key());
    assert!(keys.iter().all(|&key| slab.get(key).is_some()));
    slab.clear();
    drop(slots);
    let (value, vacant) = slab.insert(7).unwrap().take();
    let boxed = vacant.insert(value).into_box();
    let guard = slab.insert_with(|vacant| vacant.key().index()).unwrap();
    drop(slab);
    drop((boxed, guard));
    assert_eq!(ALLOCATIONS.get(), before);
    FUSE.set(None);
}

fn a_lazy_slab_allocates_nothing_before_its_first_value() {
    let before = ALLOCATIONS.get();
    let slab = Slab::<u64>::new();
    assert!(slab.get(flatslab::Key::from_raw(0)).is_none() && slab.is_full());
    slab.clear();
    drop(slab);
    drop(Slab::<u64>::builder().chunk_capacity(8).build());
    assert_eq!(ALLOCATIONS.get(), before);
}

fn main() {
    let tests: [(&str, fn()); 5] = [
        ("construction", construction),
        ("leaking", leaking),
        (
            "insertion_gives_the_value_back_and_the_slab_goes_on",
            insertion_gives_the_value_back_and_the_slab_goes_on,
        ),
        (
            "no_operation_of_a_bounded_slab_allocates",
            no_operation_of_a_bounded_slab_allocates,
        ),
        (
            "a_lazy_slab_allocates_nothing_before_its_first_value",
            a_lazy_slab_allocates_nothing_before_its_first_value,
        ),
    ];
    println!("\nrunning {} tests", tests.len());
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
    println!(
        "\ntest result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        tests.len()
    );
}
