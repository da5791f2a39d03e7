//! The n-th allocation fails, for n = 1, 2, ...: an error each time, the value
//! back, nothing lost, nothing leaked. A program of its own, because the
//! allocator is the whole program's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
    /// Whether this thread runs tests.
    static IS_TEST: Cell<bool> = const { Cell::new(false) };
    /// The slab that a hook uses.
    static SHARED: Cell<*const Slab<u64>> = const { Cell::new(std::ptr::null()) };
}

/// Refuses what threads ask for that have no [`FUSE`] of a test's: the helper's
/// chunks, told by their alignment.
static HELPERS_ARE_REFUSED: AtomicBool = AtomicBool::new(false);
/// How often that was.
static REFUSED: AtomicUsize = AtomicUsize::new(0);
const CHUNKS_ALIGNMENT: usize = 4096;

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
        let is_helpers = layout.align() == CHUNKS_ALIGNMENT && !IS_TEST.get();
        if is_helpers && HELPERS_ARE_REFUSED.load(Ordering::Relaxed) {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            return std::ptr::null_mut();
        }
        match FUSE.get() {
            Some(0) => {
                run_hook();
                return std::ptr::null_mut();
            }
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

/// A slab of chunks of four with three chunks' worth of values and, if asked
/// for, holes: the chunks 0 and 3 of four are left.
fn filled(with_holes: bool) -> Slab<u64> {
    let slab = Slab::builder().chunk_capacity(4).build();
    if with_holes {
        let mut slots: Vec<_> = (0..16).map(|number| slab.insert(number)).collect();
        slots.drain(4..12);
        slab.shrink();
        assert_eq!((slab.chunks(), slab.capacity()), (2, 8));
        slots.into_iter().for_each(|slot| {
            slot.leak();
        });
    } else {
        (0..12).for_each(|number| {
            slab.insert(number).leak();
        });
    }
    slab
}

fn reserving_keeps_what_it_got_and_the_slab_goes_on() {
    let before = LIVE_BYTES.get();
    for with_holes in [false, true] {
        let mut failures = 0;
        for fuse in 0.. {
            let slab = filled(with_holes);
            let (len, chunks) = (slab.len(), slab.chunks());
            FUSE.set(Some(fuse));
            let result = slab.try_reserve(10);
            FUSE.set(None);
            slab.check();
            assert_eq!(slab.len(), len);
            match result {
                Ok(()) => {
                    assert_eq!(slab.chunks(), chunks + 3);
                    // Nothing is left to be allocated for the ten.
                    FUSE.set(Some(0));
                    for number in 0..12 {
                        assert!(slab.try_insert(number).map(Slot::leak).is_ok());
                    }
                    assert!(slab.try_insert(12).is_err());
                    FUSE.set(None);
                    break;
                }
                Err(error) => {
                    assert!(matches!(error, AllocError::OutOfMemory { .. }));
                    assert!(slab.chunks() < chunks + 3);
                    let free = slab.capacity() - slab.len();
                    FUSE.set(Some(0));
                    let got = (0..).map_while(|number| slab.try_insert(number).ok());
                    assert_eq!(got.map(Slot::leak).count(), free);
                    FUSE.set(None);
                    failures += 1;
                }
            }
        }
        assert!(failures >= 3, "each chunk can fail: {failures}");
    }
    assert_eq!(LIVE_BYTES.get(), before);
}

fn shrinking_gives_memory_back_and_needs_none() {
    for with_holes in [false, true] {
        let before = LIVE_BYTES.get();
        let slab = filled(with_holes);
        slab.reserve(400);
        let (chunks, full) = (slab.chunks(), LIVE_BYTES.get());
        // Without memory for a smaller stack it keeps the large one.
        FUSE.set(Some(0));
        slab.shrink();
        FUSE.set(None);
        slab.check();
        let chunk_bytes = 4 * 16;
        let given_back = (chunks - slab.chunks()) as isize * chunk_bytes;
        let kept_for_holes = if with_holes { chunk_bytes } else { 0 };
        assert!(given_back >= 95 * chunk_bytes);
        assert_eq!(full - LIVE_BYTES.get(), given_back - kept_for_holes);
        // And takes the smaller one when there is some.
        let large_stack = LIVE_BYTES.get();
        slab.shrink();
        slab.check();
        assert!(large_stack - LIVE_BYTES.get() > 350 * 8);

        // The last hole is filled without an allocation of a chunk.
        slab.clear();
        slab.shrink();
        assert_eq!((slab.chunks(), slab.capacity()), (0, 0));
        slab.check();
        drop(slab);
        assert_eq!(LIVE_BYTES.get(), before);
    }
}

fn the_chunk_that_stood_in_fills_the_last_hole() {
    let slab = filled(true);
    let stack_room = 16;
    slab.reserve(4);
    assert_eq!(slab.chunks(), 3);
    (0..4).for_each(|number| {
        slab.insert(number).leak();
    });
    let before = ALLOCATIONS.get();
    let slot = slab.insert(7);
    assert_eq!(slot.key().index(), 8, "the second of two holes");
    assert!(ALLOCATIONS.get() - before <= 1, "a stack at most");
    assert_eq!(slab.capacity(), stack_room);
    slab.check();
}

fn no_operation_of_a_bounded_slab_allocates() {
    let slab = BoundedSlab::with_capacity(8);
    FUSE.set(Some(0));
    let before = ALLOCATIONS.get();
    let slots: [_; 8] = std::array::from_fn(|n| slab.insert(n).unwrap());
    assert!(slab.insert(8).is_err());
    let keys: [_; 8] = std::array::from_fn(|n| slots[n].key());
    assert!(keys.iter().all(|&key| slab.get(key).is_some()));
    assert_eq!(
        slab.iter().count() + slab.iter_mut().count() + slab.keys().count(),
        24
    );
    assert_eq!(slab.get_copied(keys[0]), Some(0));
    slab.retain(|_, value| *value > 1);
    assert!(slab.drain().take(2).map(|(_, value)| value).eq([2, 3]));
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

/// Each call of the allocator in an operation that changes what there is of
/// chunks, interrupted by each use of the same slab.
fn an_allocator_may_use_the_slab_that_grows_or_shrinks() {
    let hooks: [fn(); 8] = [
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
        || shared().shrink(),
        || {
            shared().reserve(9);
        },
        || {
            // As many chunks as before, but not the same.
            shared().reserve(9);
            shared().retain(|key, _| key.index() % 8 < 4);
            shared().shrink();
        },
        || {
            let _ = shared().drain().nth(3);
        },
    ];
    type Operation = (&'static str, fn(&Slab<u64>));
    let operations: [Operation; 4] = [
        ("insert", |slab| {
            let slot = slab.insert(7);
            assert_eq!(*slab.get(slot.key()).unwrap(), 7);
            assert_eq!(slot.into_inner(), 7);
        }),
        ("reserve", |slab| slab.reserve(11)),
        ("shrink", Slab::shrink),
        ("drain and shrink", |slab| {
            slab.retain(|key, _| key.index() < 4);
            slab.shrink();
        }),
    ];
    type Making = (&'static str, fn() -> Slab<u64>);
    // None yet; a chunk more; the ninth chunk, for which the table grows; holes.
    let makings: [Making; 5] = [
        ("empty", || Slab::builder().chunk_capacity(4).build()),
        ("one chunk", || with_values(4)),
        ("eight chunks", || with_values(32)),
        ("with holes", || filled(true)),
        ("with spare chunks", || {
            let slab = filled(true);
            slab.reserve(30);
            slab
        }),
    ];
    let before = LIVE_BYTES.get();
    let (mut interrupted, mut combinations) = (0, 0);
    for (making_name, making) in makings {
        for (operation_name, operation) in operations {
            for hook in hooks {
                combinations += 1;
                if cfg!(miri) && combinations % 11 != 0 {
                    // It would take an interpreter ten minutes.
                    continue;
                }
                for at in 0.. {
                    let slab = making();
                    SHARED.set(&raw const slab);
                    HOOK.set(Some((at, hook)));
                    operation(&slab);
                    let ran = HOOK.take().is_none();
                    slab.check();
                    let mut values = 0;
                    for (key, value) in &slab {
                        assert!(*value >= 1_000 || *value == u64::from(key.into_raw()));
                        values += 1;
                    }
                    assert_eq!(values, slab.len(), "no value is lost");
                    // Every free slot can be had, each once, with no growth.
                    let (len, capacity) = (slab.len(), slab.capacity());
                    for number in 0..(capacity - len) as u64 {
                        slab.insert(3_000 + number).leak();
                    }
                    assert_eq!((slab.len(), slab.capacity()), (capacity, capacity));
                    slab.check();
                    drop(slab);
                    assert_eq!(
                        LIVE_BYTES.get(),
                        before,
                        "{operation_name}, {making_name}, call {at}"
                    );
                    if !ran {
                        break;
                    }
                    interrupted += 1;
                }
            }
        }
    }
    // `shrink` of a slab without memory calls no allocator.
    let least = if cfg!(miri) { 14 } else { (5 * 4 - 2) * 8 };
    assert!(interrupted >= least, "{interrupted}");
}

/// Runs `operation` with `hook` at its first call of the allocator, its second,
/// and so on, each time on a new slab, and looks what has become of that.
fn at_each_call<R>(
    making: fn() -> Slab<u64>,
    hook: fn(),
    operation: impl Fn(&Slab<u64>) -> R,
    look: impl Fn(&Slab<u64>, R),
) {
    for at in 0.. {
        let slab = making();
        SHARED.set(&raw const slab);
        HOOK.set(Some((at, hook)));
        let result = operation(&slab);
        if HOOK.take().is_some() {
            assert!(at > 0, "the allocator was called");
            return;
        }
        slab.check();
        look(&slab, result);
    }
}

fn free_slots_keep_their_order_though_the_allocator_uses_the_slab() {
    // What is freed during growth was freed last, be it before the insertion
    // has got its slot or behind that.
    at_each_call(
        || with_values(12),
        || {
            shared().try_remove_by_key(flatslab::Key::from_raw(5));
        },
        |slab| slab.insert(7).leak().index(),
        |slab, first| {
            let second = slab.insert(8).leak().index();
            assert!([[5, 12], [12, 5]].contains(&[first, second]), "{first}");
            let rest = [(); 3].map(|()| slab.insert(9).leak().index());
            assert_eq!(rest, [13, 14, 15]);
        },
    );
    // What is inserted during growth takes one from a row that ascends.
    at_each_call(
        || Slab::builder().chunk_capacity(16).build(),
        || {
            shared().insert(1_000).leak();
        },
        |slab| slab.insert(0).leak().index(),
        |slab, first| {
            let mut keys = vec![first];
            keys.extend((1..12).map(|number| slab.insert(number).leak().index()));
            assert!(keys.is_sorted(), "{keys:?}");
            assert!(slab.keys().map(flatslab::Key::index).eq(0..13));
        },
    );
}

/// An allocator that evicts and refuses all the same: there is room now.
fn an_allocator_that_refuses_may_have_made_room() {
    let evict = || {
        shared().try_remove_by_key(flatslab::Key::from_raw(5));
    };
    for at in 0..2 {
        let slab = with_values(8);
        SHARED.set(&raw const slab);
        let run = |operation: &dyn Fn()| {
            FUSE.set(Some(at));
            HOOK.set(Some((at, evict)));
            operation();
            FUSE.set(None);
            assert!(HOOK.take().is_none(), "the allocator was called");
            slab.check();
        };
        run(&|| {
            let slot = slab.try_insert(7).expect("a slot is free");
            assert_eq!(slot.leak().index(), 5);
        });
        run(&|| assert_eq!(slab.try_reserve(1), Ok(())));
        assert_eq!((slab.len(), slab.capacity()), (7, 8));
    }
}

/// The allocator fills the slab while the last chunk is allocated for it, and
/// refuses the larger stack that this takes: no more chunks are added than the
/// stack has room for.
fn chunks_for_which_the_stack_has_no_room_are_not_added() {
    fn fill_and_refuse(capacity: usize) {
        while shared().capacity() < capacity || !shared().is_full() {
            shared().insert(1_000).leak();
        }
        FUSE.set(Some(0));
    }
    type Case = (fn(&Slab<u64>) -> bool, usize, fn(), (usize, usize));
    let cases: [Case; 3] = [
        // The stack is allocated first, then a chunk. Room for 16, all taken.
        (
            |slab| slab.try_insert(7).is_ok(),
            1,
            || fill_and_refuse(16),
            (16, 16),
        ),
        (
            |slab| slab.try_reserve(1).is_ok(),
            1,
            || fill_and_refuse(16),
            (16, 16),
        ),
        // Then three chunks; room for 16, of which 12 are taken: one fits.
        (
            |slab| slab.try_reserve(12).is_ok(),
            3,
            || fill_and_refuse(12),
            (12, 16),
        ),
    ];
    let before = LIVE_BYTES.get();
    for (operation, call, hook, len_and_capacity) in cases {
        let slab = with_values(4);
        SHARED.set(&raw const slab);
        HOOK.set(Some((call, hook)));
        assert!(!operation(&slab));
        FUSE.set(None);
        assert!(HOOK.take().is_none(), "the allocator was called");
        assert_eq!((slab.len(), slab.capacity()), len_and_capacity);
        slab.clear();
        slab.check();
        assert_eq!(slab.capacity(), 16);
        drop(slab);
        assert_eq!(LIVE_BYTES.get(), before);
    }
}

/// An allocator that keeps a record of each call in the slab it serves.
fn growth_ends_though_each_call_of_the_allocator_fills_a_slot() {
    fn record() {
        // Its own calls go unrecorded.
        shared().insert(1_000).leak();
        assert!(shared().len() < 100, "growth does not end");
        HOOK.set(Some((0, record)));
    }
    let operations: [fn(&Slab<u64>); 2] = [
        |slab| {
            slab.insert(7).leak();
        },
        |slab| slab.reserve(5),
    ];
    for operation in operations {
        let slab = Slab::builder().chunk_capacity(1).build();
        SHARED.set(&raw const slab);
        for _ in 0..3 {
            HOOK.set(Some((0, record)));
            operation(&slab);
            HOOK.set(None);
            slab.check();
        }
        assert!(slab.len() > 3);
    }
}

fn a_reserve_past_the_limit_allocates_nothing() {
    let before = ALLOCATIONS.get();
    for slab in [
        Slab::<u64>::new(),
        Slab::builder().chunk_capacity(1).build(),
    ] {
        for additional in [1 << 30, usize::MAX] {
            assert!(matches!(
                slab.try_reserve(additional),
                Err(AllocError::TooManySlots { .. })
            ));
        }
    }
    assert_eq!(ALLOCATIONS.get(), before);
}

fn with_values(count: u64) -> Slab<u64> {
    let slab = Slab::builder().chunk_capacity(4).build();
    (0..count).for_each(|number| {
        slab.insert(number).leak();
    });
    slab
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
    // The chunks, the home, the stack, the table.
    assert_eq!(ALLOCATIONS.get() - before, 8 + 1 + 1 + 1);
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

#[cfg(feature = "std")]
fn a_helper_without_memory_is_done_without() {
    #[repr(align(4096))]
    struct Page(u64);

    let slab = Slab::builder().chunk_capacity(1).spare_chunks(2).build();
    HELPERS_ARE_REFUSED.store(true, Ordering::Relaxed);
    let slots: Vec<_> = (0..20).map(|number| slab.insert(Page(number))).collect();
    while REFUSED.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    let right = (0..20)
        .zip(&slots)
        .all(|(number, slot)| slot.get().0 == number);
    assert!(right);
    // The two that were built with the slab, perhaps one that came in between
    // for each, and no more.
    assert!((14..=18).contains(&slab.growth_stalls()));
    slab.check();

    // When there is memory again, the next growth that misses a spare asks.
    HELPERS_ARE_REFUSED.store(false, Ordering::Relaxed);
    let mut more = Vec::new();
    let mut stalls = slab.growth_stalls();
    loop {
        more.push(slab.insert(Page(0)));
        if slab.growth_stalls() == stalls {
            break;
        }
        stalls = slab.growth_stalls();
        std::thread::yield_now();
    }
    slab.check();
}

#[cfg(feature = "std")]
fn a_refused_insertion_costs_neither_a_spare_nor_a_stall() {
    #[repr(align(4096))]
    struct Page(u64);

    let slab = Slab::builder().chunk_capacity(1).spare_chunks(4).build();
    HELPERS_ARE_REFUSED.store(true, Ordering::Relaxed);
    let mut slots = vec![slab.insert(Page(0))];
    slots.reserve(8);
    for _ in 0..3 {
        // The free stack has to grow, and cannot.
        FUSE.set(Some(0));
        let refused = slab.try_insert(Page(1));
        FUSE.set(None);
        assert!(refused.is_err());
    }
    slots.extend((1..4).map(|number| slab.insert(Page(number))));
    assert_eq!(slab.growth_stalls(), 0, "four spares, four chunks");
    HELPERS_ARE_REFUSED.store(false, Ordering::Relaxed);
    assert_eq!(slots.iter().map(|slot| slot.get().0).sum::<u64>(), 6);

    let slab: Slab<u64> = Slab::builder().chunk_capacity(1).build();
    let slots: Vec<_> = (0..4).map(|number| slab.insert(number)).collect();
    FUSE.set(Some(0));
    let refused = slab.try_insert(4);
    FUSE.set(None);
    assert!(refused.is_err());
    assert_eq!((slab.growth_stalls(), slots.len()), (4, 4));
    slab.check();
}

#[cfg(feature = "std")]
fn spares_that_cannot_be_built_leave_nothing_behind() {
    let builder = Slab::<u64>::builder().chunk_capacity(64).spare_chunks(2);
    // The ring, what it is in, and two chunks. What the standard library
    // allocates for a thread behind them it takes for granted.
    for fuse in 0..4 {
        let before = LIVE_BYTES.get();
        FUSE.set(Some(fuse));
        let result = builder.clone().try_build();
        FUSE.set(None);
        assert!(matches!(result, Err(AllocError::OutOfMemory { .. })));
        drop(result);
        assert_eq!(LIVE_BYTES.get(), before, "failure {fuse} leaks nothing");
    }
}

fn main() {
    IS_TEST.set(true);
    let tests: &[(&str, fn())] = &[
        (
            "an_allocator_may_use_the_slab_that_grows_or_shrinks",
            an_allocator_may_use_the_slab_that_grows_or_shrinks,
        ),
        (
            "free_slots_keep_their_order_though_the_allocator_uses_the_slab",
            free_slots_keep_their_order_though_the_allocator_uses_the_slab,
        ),
        (
            "an_allocator_that_refuses_may_have_made_room",
            an_allocator_that_refuses_may_have_made_room,
        ),
        (
            "chunks_for_which_the_stack_has_no_room_are_not_added",
            chunks_for_which_the_stack_has_no_room_are_not_added,
        ),
        (
            "growth_ends_though_each_call_of_the_allocator_fills_a_slot",
            growth_ends_though_each_call_of_the_allocator_fills_a_slot,
        ),
        #[cfg(feature = "std")]
        (
            "a_helper_without_memory_is_done_without",
            a_helper_without_memory_is_done_without,
        ),
        #[cfg(feature = "std")]
        (
            "a_refused_insertion_costs_neither_a_spare_nor_a_stall",
            a_refused_insertion_costs_neither_a_spare_nor_a_stall,
        ),
        #[cfg(feature = "std")]
        (
            "spares_that_cannot_be_built_leave_nothing_behind",
            spares_that_cannot_be_built_leave_nothing_behind,
        ),
        (
            "a_reserve_past_the_limit_allocates_nothing",
            a_reserve_past_the_limit_allocates_nothing,
        ),
        (
            "reserving_keeps_what_it_got_and_the_slab_goes_on",
            reserving_keeps_what_it_got_and_the_slab_goes_on,
        ),
        (
            "shrinking_gives_memory_back_and_needs_none",
            shrinking_gives_memory_back_and_needs_none,
        ),
        (
            "the_chunk_that_stood_in_fills_the_last_hole",
            the_chunk_that_stood_in_fills_the_last_hole,
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
