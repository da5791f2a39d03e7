//! The n-th allocation fails, for n = 1, 2, ...: an error each time, the value
//! back, nothing lost, nothing leaked. A program of its own, because the
//! allocator is the whole program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use flatslab::{AllocError, BoundedSlab, Slab, Slot};

/// The system's allocator, with a fuse.
struct Fused;

/// Something the allocator does beside its duty, and at which call from now.
type Hook = Option<(usize, fn())>;

thread_local! {
    /// Allocations until one fails; `None` without a fuse.
    static FUSE: Cell<Option<usize>> = const { Cell::new(None) };
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Runs once: an allocator may use the very slab that it serves.
    static HOOK: Cell<Hook> = const { Cell::new(None) };
    /// The slab that a hook uses.
    static SHARED: Cell<*const Slab<u64>> = const { Cell::new(std::ptr::null()) };
}

fn run_hook() {
    match HOOK.take() {
        Some((0, hook)) => hook(),
        Some((left, hook)) => HOOK.set(Some((left - 1, hook))),
        None => {}
    }
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
        run_hook();
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's word.
        unsafe { System.dealloc(pointer, layout) };
        // Behind it: what is freed is gone when the hook looks.
        run_hook();
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

/// The slab under a hook.
fn shared() -> &'static Slab<u64> {
    // SAFETY: set by the test below, whose slab outlives the hook.
    unsafe { &*SHARED.get() }
}

/// Each call of the allocator in a growing insertion, interrupted by each use
/// of the same slab.
fn an_allocator_may_use_the_slab_that_grows() {
    let hooks: [fn(); 4] = [
        || {
            shared().insert(1_000).leak();
        },
        || {
            // Two chunks to the last slot: whoever waits finds none free.
            for number in 0..8 {
                shared().insert(2_000 + number).leak();
            }
        },
        || {
            shared().try_remove_by_key(flatslab::Key::from_raw(0));
            shared().try_remove_by_key(flatslab::Key::from_raw(2));
        },
        || {
            for raw in 0..64 {
                let _ = shared().get(flatslab::Key::from_raw(raw));
            }
        },
    ];
    let before = LIVE_BYTES.get();
    let mut interrupted = 0;
    // None yet; a chunk more; the ninth chunk, for which the table grows.
    for filled in [0, 4, 8, 32] {
        for hook in hooks {
            for at in 0.. {
                let slab = Slab::builder().chunk_capacity(4).build();
                for number in 0..filled {
                    slab.insert(number).leak();
                }
                SHARED.set(&raw const slab);
                HOOK.set(Some((at, hook)));
                let slot = slab.insert(7);
                let ran = HOOK.take().is_none();
                slab.check();
                assert_eq!(*slot.get(), 7);
                assert_eq!(*slab.get(slot.key()).unwrap(), 7);
                let mut values = 0;
                for raw in 0..slab.capacity() {
                    let key = flatslab::Key::from_raw(raw as u32);
                    if let Some(value) = slab.get(key) {
                        assert!(*value == 7 || *value >= 1_000 || *value == raw as u64);
                        values += 1;
                    }
                }
                assert_eq!(values, slab.len(), "no value is lost");
                // Every free slot can be had, each once.
                let free = slab.capacity() - slab.len();
                let capacity = slab.capacity();
                for number in 0..free as u64 {
                    slab.insert(3_000 + number).leak();
                }
                assert_eq!((slab.len(), slab.capacity()), (capacity, capacity));
                slab.check();
                drop(slab);
                drop(slot);
                assert_eq!(LIVE_BYTES.get(), before, "{filled} filled, call {at}");
                if !ran {
                    break;
                }
                interrupted += 1;
            }
        }
    }
    assert!(interrupted >= 4 * 4, "{interrupted}");
}

/// Whoever holds a cell after its slab, however it goes: the last gives the
/// memory back.
fn the_last_holder_gives_the_memory_back() {
    type Last = fn(&Slab<String>) -> Box<dyn FnOnce()>;
    fn text() -> String {
        "a value with memory of its own".to_string()
    }
    let holders: [(&str, Last); 12] = [
        ("slot", |slab| {
            let slot = slab.insert(text());
            Box::new(move || drop(slot))
        }),
        ("slot, leaked", |slab| {
            let slot = slab.insert(text());
            Box::new(move || {
                slot.leak();
            })
        }),
        ("stale slot", |slab| {
            let slot = slab.insert(text());
            drop(slab.remove_by_key(slot.key()));
            Box::new(move || drop(slot))
        }),
        ("box", |slab| {
            let boxed = slab.insert(text()).into_box();
            Box::new(move || drop(boxed))
        }),
        ("box, moved out of", |slab| {
            let boxed = slab.insert(text()).into_box();
            Box::new(move || drop(flatslab::SlotBox::into_inner(boxed)))
        }),
        ("box, unboxed", |slab| {
            let boxed = slab.insert(text()).into_box();
            Box::new(move || drop(flatslab::SlotBox::into_slot(boxed)))
        }),
        ("box, unboxed and moved out of", |slab| {
            let boxed = slab.insert(text()).into_box();
            Box::new(move || drop(flatslab::SlotBox::into_slot(boxed).into_inner()))
        }),
        ("reservation", |slab| {
            let vacant = slab.vacant_slot();
            Box::new(move || drop(vacant))
        }),
        ("reservation, filled", |slab| {
            let vacant = slab.vacant_slot();
            Box::new(move || drop(vacant.insert(text())))
        }),
        ("reservation, filled and leaked", |slab| {
            let vacant = slab.vacant_slot();
            Box::new(move || {
                vacant.insert(text()).leak();
            })
        }),
        ("reservation, filled and moved out of", |slab| {
            let vacant = slab.vacant_slot();
            Box::new(move || drop(vacant.insert(text()).into_inner()))
        }),
        ("reservation, filled, tried", |slab| {
            let vacant = slab.vacant_slot();
            Box::new(move || drop(vacant.insert(text()).try_into_inner()))
        }),
    ];
    for (name, holder) in holders {
        let before = LIVE_BYTES.get();
        let slab = Slab::builder().chunk_capacity(4).build();
        let last = holder(&slab);
        drop(slab);
        assert!(LIVE_BYTES.get() > before, "{name} holds the memory");
        last();
        assert_eq!(LIVE_BYTES.get(), before, "{name} was the last");
    }
}

fn growth_allocates_a_chunk_and_rarely_more() {
    let slab = Slab::builder().chunk_capacity(4).build();
    let before = ALLOCATIONS.get();
    for number in 0..4 * 256 {
        slab.insert(number).leak();
    }
    // Beside the chunks: the home, and a stack and a table that double.
    let beside = ALLOCATIONS.get() - before - 256;
    assert!(beside <= 1 + 10 + 7, "{beside}");

    let before = ALLOCATIONS.get();
    let slab = Slab::<u64>::builder()
        .chunk_capacity(4)
        .reserve(4 * 8)
        .build();
    // The chunks, the home, the empty stack and the whole one, the table.
    assert_eq!(ALLOCATIONS.get() - before, 8 + 1 + 2 + 1);
    drop(slab);
}

/// All of it, also those pages of a large value that no stamp stands in.
#[cfg(all(target_os = "linux", not(miri)))]
fn memory_is_resident_when_a_slab_is_made() {
    fn resident_pages() -> usize {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split(' ').nth(1).unwrap().parse().unwrap()
    }
    // More than `malloc` ever serves from memory it had before.
    let before = resident_pages();
    let bounded = BoundedSlab::<[u8; 1 << 16]>::with_capacity(1 << 10);
    let with_bounded = resident_pages();
    let growable = Slab::<[u8; 1 << 16]>::builder()
        .chunk_capacity(1 << 10)
        .reserve(1 << 10)
        .build();
    // Pages of 4 KiB or more: a page is at most a value.
    let expected = (1 << 10) * if cfg!(target_arch = "x86_64") { 14 } else { 1 };
    assert!(with_bounded - before >= expected);
    assert!(resident_pages() - with_bounded >= expected);
    drop((bounded, growable));
}

fn main() {
    let tests: &[(&str, fn())] = &[
        (
            "an_allocator_may_use_the_slab_that_grows",
            an_allocator_may_use_the_slab_that_grows,
        ),
        (
            "the_last_holder_gives_the_memory_back",
            the_last_holder_gives_the_memory_back,
        ),
        (
            "growth_allocates_a_chunk_and_rarely_more",
            growth_allocates_a_chunk_and_rarely_more,
        ),
        #[cfg(all(target_os = "linux", not(miri)))]
        (
            "memory_is_resident_when_a_slab_is_made",
            memory_is_resident_when_a_slab_is_made,
        ),
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
