//! Sizes and alignments of values, limits of capacity, and what types print.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use flatslab::{AllocError, BoundedSlab, BuildError, Key, Slab, Slot, SlotBox};

use crate::common::{Audit, Hooked, Room, Wide, amount, over_both_slabs, panics, wide};

trait Value: 'static {
    fn make(seed: u8) -> Self;
    fn is(&self, seed: u8) -> bool;
}

impl Value for () {
    fn make(_: u8) -> Self {}
    fn is(&self, _: u8) -> bool {
        true
    }
}

impl<const BYTES: usize> Value for [u8; BYTES] {
    fn make(seed: u8) -> Self {
        [seed; BYTES]
    }
    fn is(&self, seed: u8) -> bool {
        // Miri takes a second for every few thousand bytes.
        let step = if cfg!(miri) { 4093 } else { 1 };
        self.iter().step_by(step).all(|&byte| byte == seed)
            && self.last().is_none_or(|&byte| byte == seed)
    }
}

impl Value for u128 {
    fn make(seed: u8) -> Self {
        u128::from_ne_bytes([seed; 16])
    }
    fn is(&self, seed: u8) -> bool {
        *self == Self::make(seed)
    }
}

macro_rules! aligned {
    ($($name:ident: $align:literal, $bytes:literal;)*) => {$(
        #[repr(align($align))]
        struct $name([u8; $bytes]);

        impl Value for $name {
            fn make(seed: u8) -> Self {
                $name([seed; $bytes])
            }
            fn is(&self, seed: u8) -> bool {
                std::ptr::from_ref(self).addr() % $align == 0 && self.0.is(seed)
            }
        }
    )*};
}

aligned! {
    Two: 2, 2;
    Half: 16, 1;
    Line: 64, 64;
    EmptyLine: 64, 0;
    Page: 4096, 5000;
}

fn values_of_any_size_and_alignment_are_whole<M: Room>() {
    fn whole<M: Room, T: Value>() {
        let slab = M::with_room::<T>(5);
        let slots: Vec<Slot<T>> = (0..5)
            .map(|n| slab.try_insert(T::make(n)).unwrap())
            .collect();
        slab.audit();
        for (n, slot) in (0..).zip(&slots) {
            assert!(slot.get().is(n) && slab.get(slot.key()).unwrap().is(n));
            assert_eq!(slot.as_ptr().addr() % align_of::<T>(), 0);
            assert!(slot.replace(T::make(n + 100)).is(n));
        }
        assert!(slots[0].get().is(100) && slots[4].get().is(104));
        let mut addresses: Vec<_> = slots.iter().map(|slot| slot.as_ptr().addr()).collect();
        addresses.sort_unstable();
        assert!(
            addresses
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= size_of::<T>().max(4))
        );
        for (n, slot) in (100..).zip(slots) {
            let (value, vacant) = slot.take();
            assert!(value.is(n));
            let boxed = vacant.insert(value).into_box();
            assert!(boxed.is(n));
            let pointer = SlotBox::into_raw(boxed);
            // SAFETY: straight from `into_raw` of this slab's box.
            let boxed = unsafe { slab.box_from_raw(pointer) };
            assert!(SlotBox::into_inner(boxed).is(n));
        }
        slab.audit();
        assert!(slab.is_empty());
    }
    whole::<M, ()>();
    whole::<M, [u8; 1]>();
    whole::<M, [u8; 3]>();
    whole::<M, [u8; 7]>();
    whole::<M, [u8; 9]>();
    whole::<M, [u8; 16]>();
    whole::<M, [u8; 17]>();
    whole::<M, [u8; 65]>();
    whole::<M, u128>();
    whole::<M, Two>();
    whole::<M, Half>();
    whole::<M, Line>();
    whole::<M, EmptyLine>();
    whole::<M, Page>();
    whole::<M, [u8; 65536]>();
}

over_both_slabs!(
    values_of_any_size_and_alignment_are_whole,
    stale_doomed_dying_and_orphaned_handles_print,
);

#[test]
fn a_bounded_slab_of_no_slots_is_always_full() {
    let slab = BoundedSlab::with_capacity(0);
    assert!(slab.is_full() && slab.is_empty() && slab.capacity() == 0);
    assert_eq!(slab.insert(7).unwrap_err().into_inner(), 7);
    assert!(slab.vacant_slot().is_err());
    assert!(
        slab.insert_with(|_| unreachable!("there is no slot"))
            .is_err()
    );
    assert!(slab.get(Key::from_raw(0)).is_none() && !slab.contains_key(Key::NONE));
    slab.clear();
    slab.audit();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn bounded_capacities_past_the_limit_are_errors_that_name_it() {
    for capacity in [1 << 30, usize::MAX, isize::MAX as usize] {
        let error = BoundedSlab::<u64>::try_with_capacity(capacity).unwrap_err();
        assert_eq!(
            error,
            AllocError::TooManySlots {
                requested: capacity,
                limit: (1 << 30) - 1
            }
        );
        let text = error.to_string();
        assert!(
            text.contains(&capacity.to_string()) && text.contains("1073741823"),
            "{text}"
        );
        assert!(BoundedSlab::<u64>::try_leak(capacity).is_err());
        assert!(panics(|| BoundedSlab::<u64>::with_capacity(capacity)));
        assert!(Slab::<u64>::try_with_capacity(capacity).is_err());
        assert!(panics(|| Slab::<u64>::with_capacity(capacity)));
        let builder = Slab::<u64>::builder().chunk_capacity(capacity);
        assert!(builder.clone().try_build().is_err());
        assert!(panics(|| builder.build()));
    }
}

/// The number asked for fits; rounded up to whole chunks it does not.
#[test]
fn a_reserve_past_the_limit_names_the_rounded_number() {
    let builder = Slab::<u8>::builder().reserve((1 << 30) - 1);
    let error = builder.try_build().unwrap_err();
    assert!(
        matches!(error, BuildError::Memory(AllocError::TooManySlots { requested, limit }) if requested > limit),
        "{error}"
    );
}

#[test]
#[cfg(target_pointer_width = "64")]
fn bytes_past_the_limit_are_an_error_that_names_them() {
    type Huge = [u8; 1 << 40];
    let error = BoundedSlab::<Huge>::try_with_capacity(1 << 29).unwrap_err();
    assert!(matches!(error, AllocError::TooManyBytes { slots, .. } if slots == 1 << 29));
    assert!(error.to_string().contains(&(1u64 << 29).to_string()));
}

#[test]
fn chunk_capacities_are_rounded_up_to_a_power_of_two() {
    fn chunk<T>(asked: usize, value: T) -> usize {
        let slab = Slab::builder().chunk_capacity(asked).build();
        assert_eq!(
            (slab.capacity(), slab.chunks()),
            (0, 0),
            "no chunk before it is needed"
        );
        drop(slab.insert(value));
        assert_eq!(slab.chunks(), 1);
        slab.capacity()
    }
    let of_wide = [0, 1, 2, 3, 100].map(|asked| chunk(asked, wide(7)));
    assert_eq!(of_wide, [1, 1, 2, 4, 128]);
    // The smallest chunk takes 8 to 16 KiB, with the stamps; of values of more
    // than 248 bytes half a KiB to one.
    if !cfg!(any(fuzzing, miri)) {
        let of_small = [0, 1, 1024, 1025].map(|asked| chunk(asked, 7_u64));
        assert_eq!(of_small, [1024, 1024, 1024, 2048]);
        assert_eq!([chunk(1, ()), chunk(1, [7_u64; 8])], [1024, 128]);
        assert_eq!([chunk(1, [7_u64; 31]), chunk(1, [7_u64; 32])], [64, 2]);
    }
}

#[test]
fn a_value_larger_than_a_usual_chunk_gets_chunks_of_one() {
    let slab = Slab::<[u8; 300 << 10]>::with_capacity(2);
    assert_eq!((slab.capacity(), slab.chunks()), (2, 2));
    slab.audit();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_builders_order_of_calls_does_not_matter() {
    let one = Slab::<Wide>::builder()
        .chunk_capacity(8)
        .reserve(20)
        .build();
    let two = Slab::<Wide>::builder()
        .reserve(20)
        .chunk_capacity(8)
        .build();
    for slab in [one, two] {
        slab.audit();
        assert_eq!((slab.capacity(), slab.chunks(), slab.len()), (24, 3, 0));
        let slots: Vec<_> = (0..24).map(|n| slab.insert(wide(n))).collect();
        assert!(
            slots
                .iter()
                .enumerate()
                .all(|(at, slot)| slot.key().index() == at)
        );
        assert!(slab.is_full() && slab.chunks() == 3);
        drop(slab.insert(wide(24)));
        assert_eq!(slab.chunks(), 4);
        slab.audit();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn nothing_moves_when_a_slab_grows() {
    let (first, all) = amount((100, 500), (20, 80));
    let slab = Slab::builder().chunk_capacity(4).build();
    let slots: Vec<Slot<Wide>> = (0..first).map(|n| slab.insert(wide(n))).collect();
    let addresses: Vec<_> = slots.iter().map(Slot::as_ptr).collect();
    let more: Vec<_> = (first..all).map(|n| slab.insert(wide(n))).collect();
    slab.audit();
    for ((at, slot), address) in (0..).zip(&slots).zip(addresses) {
        assert_eq!((slot.as_ptr(), slot.get().0), (address, at));
        assert_eq!(*slab.get(slot.key()).unwrap(), at);
    }
    assert_eq!(more.len() + slots.len(), slab.len());
}

#[test]
fn slabs_start_out_in_statics() {
    // Large, for a chunk of few slots.
    type Large = [u64; 4096];
    thread_local! {
        static SLAB: Slab<Large> = const { Slab::new() };
    }
    SLAB.with(|slab| assert_eq!(slab.insert([7; 4096]).get()[4095], 7));
    let (one, two) = (Slab::new(), Slab::<Large>::new());
    let slot = one.insert([7; 4096]);
    assert!(two.is_empty() && two.get(slot.key()).is_none());
    assert_eq!(Slab::<Large>::default().capacity(), 0);
    one.audit();
    two.audit();
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn each_thread_may_have_a_slab_of_its_own() {
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            std::thread::spawn(move || {
                let slab = Slab::builder().chunk_capacity(4).build();
                let slots: Vec<_> = (seed..seed + 20).map(|n| slab.insert(n)).collect();
                slots.into_iter().map(Slot::into_inner).sum::<u64>()
            })
        })
        .collect();
    for (seed, thread) in (0..).zip(threads) {
        assert_eq!(thread.join().unwrap(), (seed..seed + 20).sum::<u64>());
    }
}

/// Slabs without memory share a static header. It is only read, or Miri sees a race.
#[test]
fn empty_slabs_of_two_threads_do_not_race() {
    let threads = [(); 2].map(|()| {
        std::thread::spawn(|| {
            let slab = Slab::<u64>::new();
            assert!(slab.is_empty() && slab.is_full() && slab.capacity() == 0);
            assert!(slab.get(Key::from_raw(0)).is_none() && slab.iter().next().is_none());
            assert!(slab.try_reserve(usize::MAX).is_err());
            slab.reserve(0);
            slab.clear();
            slab.retain(|_, _| true);
            drop(slab.drain());
            slab.shrink_to_fit();
            slab.audit();
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn handles_are_as_small_as_promised() {
    assert_eq!(size_of::<Key>(), 4);
    assert_eq!(size_of::<Slot<[u64; 8]>>(), 2 * size_of::<usize>());
    assert_eq!(size_of::<Option<Slot<[u64; 8]>>>(), 2 * size_of::<usize>());
    assert_eq!(size_of::<Option<SlotBox<u8>>>(), 2 * size_of::<usize>());
    assert_eq!(
        size_of::<Option<flatslab::VacantSlot<u8>>>(),
        2 * size_of::<usize>()
    );
    assert_eq!(size_of::<flatslab::Ref<'_, u8>>(), 2 * size_of::<usize>());
}

/// Moved-from and orphaned handles too.
#[test]
fn everything_prints_in_every_state() {
    let slab = BoundedSlab::with_capacity(4);
    let slot = slab.insert(7).unwrap();
    assert_eq!(
        format!("{slab:?}"),
        "BoundedSlab { len: 1, capacity: 4, .. }"
    );
    assert_eq!(
        format!("{slot:?}"),
        "Slot { key: Key(0), is_valid: true, .. }"
    );
    assert_eq!(format!("{:?} {}", slot.get(), slot.get()), "7 7");
    assert_eq!(format!("{:?} {}", slot.get_mut(), 7), "7 7");
    let boxed = slab.insert(8).unwrap().into_box();
    assert_eq!(format!("{boxed:?} {boxed}"), "8 8");
    let vacant = slab.vacant_slot().unwrap();
    assert_eq!(format!("{vacant:?}"), "VacantSlot { key: Key(2), .. }");
    drop(slab);
    assert_eq!(
        format!("{slot:?}"),
        "Slot { key: Key(0), is_valid: false, .. }"
    );
    assert_eq!(format!("{boxed:?}"), "8");
    assert_eq!(
        format!("{:?}", SlotBox::into_slot(boxed)),
        "Slot { key: Key(1), is_valid: false, .. }"
    );
    assert_eq!(
        format!("{:?}", vacant.insert(9)),
        "Slot { key: Key(2), is_valid: false, .. }"
    );
    let slab = Slab::<u64>::new();
    assert_eq!(format!("{slab:?}"), "Slab { len: 0, capacity: 0, .. }");
    // SAFETY: nothing is accessed.
    let accessor = unsafe { slab.untracked() };
    assert_eq!(
        format!("{accessor:?}"),
        "UntrackedAccessor { slab: Slab { len: 0, capacity: 0, .. } }"
    );
    let builder = format!("{:?}", Slab::<u64>::builder());
    assert!(builder.starts_with("Builder { options: SlabOptions { chunk_capacity: None"));
    assert_eq!(
        format!("{:?} {:?}", Key::from_raw(42), Key::NONE),
        "Key(42) Key::NONE"
    );
    assert_eq!(
        format!("{:?} {}", flatslab::FullError(()), flatslab::FullError(())),
        "FullError(..) container is full: the value was not inserted"
    );
}

fn stale_doomed_dying_and_orphaned_handles_print<M: Room>() {
    let invalid = |key: Key| format!("Slot {{ key: {key:?}, is_valid: false, .. }}");

    let slab = Rc::new(M::with_room::<Hooked>(4));
    let stale = slab.try_insert(Hooked::plain()).unwrap();
    slab.remove_by_key(stale.key());
    assert_eq!(format!("{stale:?}"), invalid(stale.key()), "stale");

    let shelf: Rc<RefCell<Option<Slot<Hooked>>>> = Rc::default();
    let (inner, printed) = (shelf.clone(), Rc::new(Cell::new(false)));
    let done = printed.clone();
    let slot = slab
        .try_insert(Hooked::new(move || {
            let slot = inner.take().unwrap();
            assert_eq!(format!("{slot:?}"), invalid(slot.key()), "dying");
            done.set(true);
        }))
        .unwrap();
    *shelf.borrow_mut() = Some(slot);
    slab.clear();
    assert!(printed.get());

    let slab = M::with_room::<u64>(6);
    let key = slab.try_insert(7).unwrap().leak();
    let guard = slab.get(key).unwrap();
    drop(slab.slot(key));
    assert_eq!(format!("{guard:?} {guard}"), "7 7", "doomed");
    drop(guard);

    let (read, written) = (slab.try_insert(8).unwrap(), slab.try_insert(9).unwrap());
    let (shared, exclusive) = (read.get(), written.get_mut());
    let vacant = slab.try_vacant_slot().unwrap();
    let stale = slab.try_insert(10).unwrap();
    slab.remove_by_key(stale.key());
    drop(slab);
    assert_eq!(format!("{shared:?} {shared}"), "8 8", "orphaned");
    assert_eq!(format!("{exclusive:?} {exclusive}"), "9 9", "orphaned");
    assert_eq!(format!("{read:?}"), invalid(read.key()));
    assert_eq!(format!("{written:?}"), invalid(written.key()));
    assert_eq!(format!("{stale:?}"), invalid(stale.key()));
    assert_eq!(
        format!("{vacant:?}"),
        format!("VacantSlot {{ key: {:?}, .. }}", vacant.key())
    );
    drop((shared, exclusive));
    assert_eq!(format!("{read:?}"), invalid(read.key()));
}
