//! An allocator that uses the slab for which it is called: user code that runs
//! within growth and shrinking.

use std::cell::Cell;
#[cfg(feature = "std")]
use std::sync::Arc;

#[cfg(feature = "std")]
use flatslab::memory::{Pages, Region};
use flatslab::{Key, Slab};

use crate::common::{Audit, Wide, amount, wide};
use crate::{
    Call, FUSE, HOOK, SHARED, shared, with_conduct, with_holes, with_hook, with_values,
    without_leak,
};

/// Runs `operation` with `hook` at its first call of the allocator, its second,
/// and so on, each time on a new slab, and `look` on the result. Returns the
/// number of calls.
fn at_each_call<R>(
    making: impl Fn() -> Slab<Wide>,
    hook: fn(),
    operation: impl Fn(&Slab<Wide>) -> R,
    look: impl Fn(&Slab<Wide>, R),
) -> usize {
    let is_called = |calls| {
        without_leak(|| {
            let slab = making();
            let result = with_hook(&slab, calls, hook, || operation(&slab));
            slab.audit();
            result.map(|result| look(&slab, result)).is_some()
        })
    };
    (0..).take_while(|&calls| is_called(calls)).count()
}

/// Each call of the allocator in an operation that adds or removes chunks,
/// interrupted by each use of the same slab.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_allocator_may_use_the_slab_that_grows_or_shrinks() {
    let hooks: [fn(); 8] = [
        || {
            shared().insert(wide(1_000)).leak();
        },
        || {
            // All slots of two chunks, so that the insertion finds none free.
            for number in 0..8 {
                shared().insert(wide(2_000 + number)).leak();
            }
        },
        || {
            let _ = shared().try_remove_by_key(Key::from_raw(0));
            let _ = shared().try_remove_by_key(Key::from_raw(2));
        },
        || {
            for raw in 0..64 {
                let _ = shared().get(Key::from_raw(raw));
            }
        },
        || shared().shrink_to_fit(),
        || shared().reserve(9),
        || {
            // As many chunks as before, but not the same.
            shared().reserve(9);
            shared().retain(|key, _| key.index() % 8 < 4);
            shared().shrink_to_fit();
        },
        || {
            let _ = shared().drain().nth(3);
        },
    ];
    let operations: [fn(&Slab<Wide>); 4] = [
        |slab| {
            let slot = slab.insert(wide(7));
            assert_eq!(*slab.get(slot.key()).unwrap(), 7);
            assert_eq!(slot.into_inner(), 7);
        },
        |slab| slab.reserve(11),
        Slab::shrink_to_fit,
        |slab| {
            slab.retain(|key, _| key.index() < 4);
            slab.shrink_to_fit();
        },
    ];
    let makings: [fn() -> Slab<Wide>; 5] = [
        || with_values(0),
        // The next insertion adds a chunk.
        || with_values(4),
        // It adds the ninth chunk, for which the table grows.
        || with_values(32),
        with_holes,
        || {
            let slab = with_holes();
            slab.reserve(30);
            slab
        },
    ];
    let look = |slab: &Slab<Wide>, ()| {
        let right = |(key, value): (Key, u64)| value >= 1_000 || value == u64::from(key.into_raw());
        assert!(slab.iter().all(|(key, value)| right((key, value.0))));
        assert_eq!(slab.iter().count(), slab.len(), "no value is lost");
    };
    // All of them take an interpreter ten minutes.
    let step = amount(1, 37);
    let (mut interrupted, mut combinations) = (0, 0);
    for making in makings {
        for operation in operations {
            for hook in hooks {
                combinations += 1;
                if combinations % step == 0 {
                    interrupted += at_each_call(making, hook, operation, look);
                }
            }
        }
    }
    // `shrink_to_fit` of a slab without memory does not call the allocator.
    let least = amount((5 * 4 - 2) * 8, 4);
    assert!(interrupted >= least, "{interrupted}");
}

#[test]
fn free_slots_keep_their_order_when_the_allocator_uses_the_slab() {
    // The slot that is freed during growth was freed last, whether the insertion
    // has its slot by then or not.
    let calls = at_each_call(
        || with_values(12),
        || {
            let _ = shared().try_remove_by_key(Key::from_raw(5));
        },
        |slab| slab.insert(wide(7)).leak().index(),
        |slab, first| {
            let second = slab.insert(wide(8)).leak().index();
            assert!([[5, 12], [12, 5]].contains(&[first, second]), "{first}");
            let rest = [(); 3].map(|()| slab.insert(wide(9)).leak().index());
            assert_eq!(rest, [13, 14, 15]);
        },
    );
    assert!(calls > 0);
    // An insertion during growth takes the next key of an ascending row.
    let calls = at_each_call(
        || Slab::builder().chunk_capacity(16).build(),
        || {
            shared().insert(wide(1_000)).leak();
        },
        |slab| slab.insert(wide(0)).leak().index(),
        |slab, first| {
            let mut keys = vec![first];
            keys.extend((1..12).map(|number| slab.insert(wide(number)).leak().index()));
            assert!(keys.is_sorted(), "{keys:?}");
            assert!(slab.keys().map(Key::index).eq(0..13));
        },
    );
    assert!(calls > 0);
}

/// The list of a region's free parts is memory of the global allocator too.
#[cfg(feature = "std")]
#[test]
fn an_allocator_may_use_the_region_that_allocates() {
    let making = || {
        let region = Arc::new(Region::try_new(64 << 10, Pages::new()).unwrap());
        let slab = Slab::builder().chunk_capacity(4).pages(region.pages());
        let slab = slab.build();
        (0..4).for_each(|number| {
            slab.insert(wide(number)).leak();
        });
        slab
    };
    let hooks: [fn(); 2] = [
        || shared().reserve(30),
        || {
            shared().retain(|key, _| key.index() < 2);
            shared().shrink_to_fit();
        },
    ];
    for hook in hooks {
        let right = |(key, value): (Key, u64)| value == u64::from(key.into_raw());
        let calls = at_each_call(
            making,
            hook,
            |slab| slab.reserve(40),
            |slab, ()| assert!(slab.iter().all(|(key, value)| right((key, value.0)))),
        );
        assert!(calls > 0, "the list grew");
    }
}

/// The allocator frees a slot and refuses the request that is not needed now.
#[test]
fn an_allocator_that_refuses_may_have_made_room() {
    fn evict() {
        let _ = shared().try_remove_by_key(Key::from_raw(5));
    }
    for calls in 0..2 {
        let slab = with_values(8);
        let run = |operation: &dyn Fn()| {
            FUSE.set(Some(calls));
            with_hook(&slab, calls, evict, operation).expect("the allocator is called");
            slab.audit();
        };
        run(&|| {
            let slot = slab.try_insert(wide(7)).expect("a slot is free");
            assert_eq!(slot.leak().index(), 5);
        });
        run(&|| assert_eq!(slab.try_reserve(1), Ok(())));
        assert_eq!((slab.len(), slab.capacity()), (7, 8));
    }
}

/// The allocator fills the slab while it allocates the last chunk, and refuses
/// the larger stack that is needed then.
#[test]
fn chunks_for_which_the_stack_has_no_room_are_not_added() {
    fn fill_and_refuse(capacity: usize) {
        while shared().capacity() < capacity || !shared().is_full() {
            shared().insert(wide(1_000)).leak();
        }
        FUSE.set(Some(0));
    }
    type Case = (fn(&Slab<Wide>) -> bool, usize, fn(), (usize, usize));
    let cases: [Case; 3] = [
        // The stack is allocated first, then a chunk. Room for 16, all taken.
        (
            |slab| slab.try_insert(wide(7)).is_ok(),
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
    for (operation, calls, hook, len_and_capacity) in cases {
        without_leak(|| {
            let slab = with_values(4);
            let succeeded = with_hook(&slab, calls, hook, || operation(&slab));
            assert_eq!(succeeded, Some(false));
            assert_eq!((slab.len(), slab.capacity()), len_and_capacity);
            slab.clear();
            slab.audit();
            assert_eq!(slab.capacity(), 16);
        });
    }
}

/// An allocator that keeps a record of each call in the slab it serves.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn growth_ends_when_each_call_of_the_allocator_fills_a_slot() {
    fn record() {
        // The calls of this insertion are not recorded.
        shared().insert(wide(1_000)).leak();
        assert!(shared().len() < 100, "growth does not end");
        HOOK.set(Some((0, record)));
    }
    let operations: [fn(&Slab<Wide>); 2] = [
        |slab| {
            slab.insert(wide(7)).leak();
        },
        |slab| slab.reserve(5),
    ];
    for operation in operations {
        let slab = Slab::builder().chunk_capacity(1).build();
        for _ in 0..3 {
            let result = with_hook(&slab, 0, record, || operation(&slab));
            assert_eq!(result, None, "the hook is set again");
            slab.audit();
        }
        assert!(slab.len() > 3);
    }
}

// At every call, within each other.

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static WRONG: Cell<u32> = const { Cell::new(0) };
    static MEDDLED: Cell<u32> = const { Cell::new(0) };
    /// So many keys, from 0 on, have their own number as a value.
    static KEYS: Cell<u32> = const { Cell::new(0) };
}

/// Reads every value; if it `inserts`, it also inserts one, finds and removes it.
fn meddle(inserts: bool) -> bool {
    let depth = DEPTH.get();
    if depth == 3 {
        return true;
    }
    DEPTH.set(depth + 1);
    MEDDLED.set(MEDDLED.get() + 1);
    let wrong = |is_wrong: bool| WRONG.set(WRONG.get() + u32::from(is_wrong));
    for raw in 0..KEYS.get() {
        let value = shared().get(Key::from_raw(raw));
        wrong(value.is_none_or(|value| *value != u64::from(raw)));
    }
    if inserts {
        let key = shared().insert(wide(u64::MAX)).leak();
        wrong(shared().get(key).is_none());
        wrong(shared().try_remove_by_key(key).is_err());
    }
    DEPTH.set(depth);
    true
}

/// Grows a slab through several tables and stacks under a meddling allocator.
fn grow_under(conduct: fn(Call) -> bool) {
    // Chunks of one slot: the table moves at 8, 16, 32 and 64 of them.
    let values = if cfg!(miri) { 9 } else { 70 };
    KEYS.set(0);
    MEDDLED.set(0);
    let slab = Slab::builder().chunk_capacity(1).build();
    SHARED.set(&raw const slab);
    for _ in 0..values {
        let insert = || slab.insert_with(|vacant| wide(vacant.key().into_raw().into()));
        let key = with_conduct(conduct, insert).leak();
        slab.audit();
        if key.into_raw() == KEYS.get() {
            KEYS.set(KEYS.get() + 1);
        }
    }
    SHARED.set(std::ptr::null());
    assert_eq!(slab.len(), values);
    assert!(MEDDLED.get() > 0, "the allocator has used the slab");
    assert_eq!(WRONG.get(), 0);
}

#[test]
fn an_allocator_may_read_the_slab_while_it_allocates() {
    grow_under(|call| !matches!(call, Call::Asked) || meddle(false));
}

#[test]
fn an_allocator_may_insert_while_it_allocates() {
    grow_under(|call| !matches!(call, Call::Asked) || meddle(true));
}

#[test]
fn an_allocator_may_read_the_slab_after_it_has_freed() {
    grow_under(|call| !matches!(call, Call::Freed) || meddle(false));
}

#[test]
fn an_allocator_may_insert_after_it_has_freed() {
    grow_under(|call| !matches!(call, Call::Freed) || meddle(true));
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_allocator_may_insert_at_every_call() {
    grow_under(|_| meddle(true));
}
