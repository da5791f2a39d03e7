//! Programs that obey the letter of an unsafe contract, and limits that an
//! error has to name.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use flatslab::{
    AllocError, BoundedSlab, BuildError, DisjointError, Key, Memory, Slab, SlotBox, TrackedSlab,
};

fn message(result: std::thread::Result<()>) -> String {
    *result.unwrap_err().downcast().expect("a formatted message")
}

/// Runs a test over both slabs, each with one slot at least.
macro_rules! over_both {
    ($($name:ident),* $(,)?) => {$(
        #[test]
        fn $name() {
            cases::$name(&BoundedSlab::with_capacity(1));
            cases::$name(&Slab::builder().chunk_capacity(1).build());
        }
    )*};
}

over_both!(
    untracked_access_does_not_see_a_doomed_value,
    untracked_access_does_not_see_a_pinned_value_whose_box_was_forgotten,
    untracked_access_beside_readers_finds_the_value,
);

mod cases {
    use super::*;

    pub(super) fn untracked_access_does_not_see_a_doomed_value<M: Memory>(
        slab: &TrackedSlab<Rc<u64>, M>,
    ) {
        let slot = slab.try_insert(Rc::new(7)).unwrap();
        let key = slot.key();
        let reader = slab.get(key).unwrap();
        drop(slot);
        // SAFETY: nothing else uses a value while a reference lives.
        let mut values = unsafe { slab.untracked() };
        // The end of the reader would destroy it under the reference.
        assert!(values.get(key).is_none() && values.get_mut(key).is_none());
        drop(reader);
        assert!(slab.is_empty());
    }

    pub(super) fn untracked_access_does_not_see_a_pinned_value_whose_box_was_forgotten<
        M: Memory,
    >(
        slab: &TrackedSlab<Rc<u64>, M>,
    ) {
        let value = Rc::new(7);
        let slot = slab.try_insert(value.clone()).unwrap();
        let (key, address) = (slot.key(), slot.as_mut_ptr());
        std::mem::forget(SlotBox::into_pin(slot.into_box()));
        // SAFETY: nothing else uses a value while a reference lives.
        let mut values = unsafe { slab.untracked() };
        // Moving it out of a `&mut` would break the promise of `Pin`.
        assert!(values.get(key).is_none() && values.get_mut(key).is_none());
        let refused = catch_unwind(AssertUnwindSafe(|| values[key] = Rc::new(8)));
        let expected = format!("untracked access was refused for {key:?}: it is mutably borrowed");
        assert_eq!(message(refused), expected);
        assert_eq!(Rc::strong_count(&value), 2);
        // SAFETY: the value's own pointer, whose box was given up; so that
        // nothing leaks.
        drop(unsafe { slab.box_from_raw(address) });
    }

    pub(super) fn untracked_access_beside_readers_finds_the_value<M: Memory>(
        slab: &TrackedSlab<Rc<u64>, M>,
    ) {
        let key = slab.try_insert(Rc::new(7)).unwrap().leak();
        let reader = slab.get(key).unwrap();
        // SAFETY: shared references only.
        let values = unsafe { slab.untracked() };
        assert!(Rc::ptr_eq(&values[key], &reader));
        let missing = catch_unwind(AssertUnwindSafe(|| drop(values[Key::NONE].clone())));
        assert_eq!(
            message(missing),
            "untracked access was refused for Key::NONE: the slab has no such slot"
        );
    }
}

#[test]
fn a_leaked_orphan_is_dropped_as_its_slab_would_have_dropped_it() {
    let value = Rc::new(7);
    let slab = Slab::builder().chunk_capacity(1).build();
    let vacant = slab.vacant_slot();
    drop(slab);
    let key = vacant.insert(value.clone()).leak();
    assert_eq!((key.index(), Rc::strong_count(&value)), (0, 1));
}

#[test]
#[cfg(target_pointer_width = "64")]
fn chunks_whose_bytes_together_pass_the_limit_are_an_error_that_names_them() {
    // One to a chunk, and each chunk within the limit.
    type Huge = [u8; 1 << 40];
    let error = AllocError::TooManyBytes {
        slots: 1 << 24,
        slot_bytes: (1 << 40) + 8,
    };
    assert_eq!(Slab::<Huge>::try_with_capacity(1 << 24).err(), Some(error));
    assert_eq!(Slab::<Huge>::new().try_reserve(1 << 24), Err(error));
    let chunks = Slab::<Huge>::builder().chunk_capacity((1 << 24) - 7);
    assert_eq!(
        chunks.try_build().unwrap_err().to_string(),
        error.to_string().replace("16777216", "16777209")
    );
    let built = catch_unwind(|| drop(Slab::<Huge>::with_capacity(1 << 24)));
    assert_eq!(message(built), error.to_string());
    #[cfg(feature = "std")]
    assert_eq!(
        (Slab::<Huge>::builder().spare_chunks(1 << 24).try_build()).err(),
        Some(error.into())
    );
}

#[test]
fn a_refused_capacity_names_what_was_asked_for() {
    let refused = |requested, limit| Some(AllocError::TooManySlots { requested, limit });
    let builder = Slab::<u8>::builder;
    let refused_build = |requested, limit| refused(requested, limit).map(BuildError::Memory);
    let (last, half) = ((1 << 30) - 1, 1 << 29);
    assert_eq!(
        BoundedSlab::<u8>::try_with_capacity(last + 2).err(),
        refused(last + 2, last)
    );
    // Whole chunks of 4096 below 2^30.
    assert_eq!(
        Slab::<u8>::try_with_capacity(last).err(),
        refused(last, (1 << 30) - 4096)
    );
    for given in [half + 1, usize::MAX] {
        let error = builder().chunk_capacity(given).try_build().err();
        let (option, min, max) = ("chunk_capacity", 0, half);
        let expected = BuildError::OutOfRange {
            option,
            given,
            min,
            max,
        };
        assert_eq!(error, Some(expected));
    }
    assert_eq!(
        builder()
            .chunk_capacity(1000)
            .reserve(last)
            .try_build()
            .err(),
        refused_build(last, (1 << 30) - 1024)
    );
}

/// The helper thread does not exist there, and joining it panics.
#[test]
#[cfg(all(target_os = "linux", feature = "std", not(miri)))]
fn a_slab_with_spare_chunks_is_dropped_in_a_forked_child() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }

    let value = Rc::new(7);
    let slab = Slab::builder().chunk_capacity(4).spare_chunks(2).build();
    for _ in 0..6 {
        slab.insert(value.clone()).leak();
    }
    // SAFETY: the child uses what this thread alone has locked or owns, and
    // the allocator, which the system keeps usable.
    let child = unsafe { fork() };
    assert!(child >= 0, "the system refuses a process");
    if child == 0 {
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // It grows on, too.
            for _ in 0..20 {
                slab.insert(value.clone()).leak();
            }
            drop(slab);
        }));
        let good = dropped.is_ok() && Rc::strong_count(&value) == 1;
        // SAFETY: ends this process and nothing else.
        unsafe { _exit(i32::from(!good)) };
    }
    let mut status = -1;
    // SAFETY: waits for the child above.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child's drop");
    drop(slab);
    assert_eq!(Rc::strong_count(&value), 1);
}

#[test]
fn several_values_are_borrowed_at_once_or_none() {
    let slab = Slab::builder().chunk_capacity(2).build();
    let keys = [1, 2, 3].map(|value| slab.insert_key(value));
    let [a, b, c] = keys;
    // SAFETY: nothing else uses the values while the references live.
    let mut values = unsafe { slab.untracked() };
    for value in values.get_disjoint_mut(keys).unwrap() {
        *value *= 10;
    }
    assert_eq!(values.get_disjoint_mut([]), Ok([]));
    assert_eq!(
        values.get_disjoint_mut([c, a, c]),
        Err(DisjointError::Overlapping)
    );
    let missing = values.get_disjoint_mut([a, Key::NONE, a]);
    assert_eq!(missing, Err(DisjointError::Missing));
    let writer = slab.get_mut(b).unwrap();
    let borrowed = values.get_disjoint_mut([a, b]);
    assert_eq!(borrowed, Err(DisjointError::Missing));
    drop(writer);
    assert_eq!(keys.map(|key| values[key]), [10, 20, 30]);
}
