//! What the slabs take from the allocator, how often, and when they give it
//! back: with the layout it came with, and not while anything leads there.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};

use flatslab::{BoundedSlab, Key, Slab, Slot, SlotBox};

use crate::common::{Audit, Wide, wide};
use crate::{
    Call, LIVE_BYTES, SHARED, allocations, shared, with_conduct, with_holes, without_leak,
};

thread_local! {
    static LIVE: RefCell<[Option<(usize, Layout)>; 256]> = const { RefCell::new([None; 256]) };
    static WRONG: Cell<usize> = const { Cell::new(0) };
}

/// Notes each block that is given, and compares its layout when it comes back.
fn remember(call: Call) -> bool {
    let (found, then) = match call {
        Call::Asked | Call::Freed => return true,
        Call::Given(start, layout) => (None, Some((start.addr(), layout))),
        Call::Returned(start, layout) => (Some((start.addr(), layout)), None),
    };
    LIVE.with_borrow_mut(
        |live| match live.iter_mut().find(|entry| **entry == found) {
            Some(entry) => *entry = then,
            None => WRONG.set(WRONG.get() + 1),
        },
    );
    true
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
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
        slab.shrink_to_fit();
        slab.reserve(9);
        slots[19] = None;
        slots[18] = None;
        slab.shrink_to_fit();
        drop(slab);
        drop(slots);
    }
    with_conduct(remember, || {
        come_and_go(|| 7_u8);
        come_and_go(|| 7_u64);
        come_and_go(|| [7_u64; 9]);
        come_and_go(|| Line);
        come_and_go(|| Page);
    });
    assert_eq!(WRONG.get(), 0);
    assert!(LIVE.with_borrow(|live| live.iter().all(Option::is_none)));
}

#[test]
fn no_key_leads_into_a_chunk_that_is_freed() {
    let slab = Slab::<Wide>::builder()
        .chunk_capacity(4)
        .reserve(12)
        .build();
    let _slot = slab.insert(wide(7));
    SHARED.set(&raw const slab);
    let look = |call| {
        if let Call::Freed = call {
            let bound = shared().keys().size_hint().1;
            WRONG.set(WRONG.get() + usize::from(bound != Some(shared().capacity())));
        }
        true
    };
    with_conduct(look, || slab.shrink_to_fit());
    SHARED.set(std::ptr::null());
    assert_eq!((WRONG.get(), slab.capacity()), (0, 4));
}

#[test]
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
            Box::new(move || drop(SlotBox::into_inner(boxed)))
        }),
        ("box, unboxed", |slab| {
            let boxed = slab.insert(text()).into_box();
            Box::new(move || drop(SlotBox::into_slot(boxed)))
        }),
        ("box, unboxed and moved out of", |slab| {
            let boxed = slab.insert(text()).into_box();
            Box::new(move || drop(SlotBox::into_slot(boxed).into_inner()))
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

#[test]
fn filling_the_last_hole_allocates_once_at_most() {
    without_leak(|| {
        let slab = with_holes();
        slab.reserve(4);
        assert_eq!(slab.chunks(), 3);
        (0..4).for_each(|number| {
            slab.insert(wide(number)).leak();
        });
        let mut key = Key::NONE;
        let allocations = allocations(|| key = slab.insert(wide(7)).leak());
        assert_eq!(key.index(), 8, "the second of two holes");
        assert!(allocations <= 1, "{allocations}");
        assert_eq!(slab.capacity(), 16);
        slab.audit();
    });
}

#[test]
fn a_slab_allocates_nothing_before_its_first_value() {
    let allocations = allocations(|| {
        let slab = Slab::<Wide>::new();
        assert!(slab.get(Key::from_raw(0)).is_none() && slab.is_full());
        slab.clear();
        drop(slab);
        drop(Slab::<Wide>::builder().chunk_capacity(8).build());
    });
    assert_eq!(allocations, 0);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn growth_allocates_a_chunk_and_rarely_more() {
    let slab = Slab::builder().chunk_capacity(4).build();
    let of_growth = allocations(|| {
        for number in 0..4 * 256 {
            slab.insert(wide(number)).leak();
        }
    });
    // Apart from the chunks: the header, and a stack and a table that double.
    assert!(of_growth - 256 <= 1 + 10 + 7, "{of_growth}");

    let builder = Slab::<Wide>::builder().chunk_capacity(4).reserve(4 * 8);
    // The chunks, the header, the stack, the table.
    assert_eq!(allocations(|| drop(builder.build())), 8 + 1 + 1 + 1);
}

/// Also those pages of a large value that no stamp is in.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "an interpreter has no pages")]
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
    // Pages of 4 KiB or more: a page is at most a value. A few less than there
    // are, since other tests run at the same time.
    let expected = (1 << 10) * if cfg!(target_arch = "x86_64") { 14 } else { 1 };
    assert!(with_bounded - before >= expected);
    assert!(resident_pages() - with_bounded >= expected);
    drop((bounded, growable));
}
