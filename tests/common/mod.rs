//! Both slabs behind one trait, and values that tell what became of them.

#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(unreachable_pub, reason = "each test file is a crate of its own")]

use std::cell::Cell;
use std::rc::Rc;

use flatslab::{
    Borrowed, BoundedSlab, CapacityError, Full, Key, Ref, RefMut, Slab,
    Slot, SlotBox, VacantSlot,
};

/// A kind of slab, for tests that are written once and run over both.
pub trait Kind: 'static {
    type Slab<T: 'static>: AnySlab<T> + 'static;
}

pub struct Bounded;
pub struct Growable;

impl Kind for Bounded {
    type Slab<T: 'static> = BoundedSlab<T>;
}

impl Kind for Growable {
    type Slab<T: 'static> = Slab<T>;
}

/// What both slabs do, with the growable one's `try_` forms where only those
/// can fail.
pub trait AnySlab<T> {
    /// Bounded: exactly so many slots. Growable: chunks of two.
    fn with_room(slots: usize) -> Self;
    /// Bounded: exactly so many slots. Growable: chunks of one.
    fn smallest(slots: usize) -> Self;
    fn insert(&self, value: T) -> Result<Slot<T>, Full<T>>;
    fn insert_with(&self, f: impl FnOnce(&VacantSlot<T>) -> T) -> Result<Slot<T>, CapacityError>;
    fn vacant_slot(&self) -> Result<VacantSlot<T>, CapacityError>;
    fn get(&self, key: Key) -> Option<Ref<'_, T>>;
    fn get_mut(&self, key: Key) -> Option<RefMut<'_, T>>;
    fn contains_key(&self, key: Key) -> bool;
    #[expect(clippy::wrong_self_convention, reason = "the method of that name")]
    fn into_inner(&self, slot: Slot<T>) -> T;
    fn remove_by_key(&self, key: Key) -> T;
    fn try_remove_by_key(&self, key: Key) -> Option<T>;
    fn slot(&self, key: Key) -> Option<Slot<T>>;
    /// # Safety
    ///
    /// That of `box_from_raw`.
    unsafe fn box_from_raw(&self, pointer: *mut T) -> SlotBox<T>;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
    fn is_empty(&self) -> bool;
    fn is_full(&self) -> bool;
    fn clear(&self);
    fn try_clear(&self) -> Result<(), Borrowed>;
    fn iter<'a>(&'a self) -> impl Iterator<Item = (Key, Ref<'a, T>)> + Clone + std::fmt::Debug where T: 'a;
    fn iter_mut<'a>(&'a self) -> impl Iterator<Item = (Key, RefMut<'a, T>)> + std::fmt::Debug where T: 'a;
    fn keys(&self) -> impl Iterator<Item = Key> + Clone + std::fmt::Debug;
    fn retain(&self, keep: impl FnMut(Key, &mut T) -> bool);
    fn drain(&self) -> impl Iterator<Item = (Key, T)> + std::fmt::Debug;
    fn get_copied(&self, key: Key) -> Option<T>
    where
        T: Copy;
    /// Nothing for the bounded one.
    fn reserve(&self, additional: usize);
    /// Nothing for the bounded one.
    fn shrink(&self);
    fn check(&self);
    fn free_key(&self, count: usize) -> Option<Key>;
    fn state_bits(&self, key: Key) -> Option<u32>;
}

macro_rules! any_slab {
    ($slab:ident, $with_room:expr, $smallest:expr, $insert:ident, $insert_with:ident, $vacant_slot:ident, $reserve:expr, $shrink:expr) => {
        impl<T> AnySlab<T> for $slab<T> {
            fn with_room(slots: usize) -> Self {
                $with_room(slots)
            }
            fn smallest(slots: usize) -> Self {
                $smallest(slots)
            }
            fn insert(&self, value: T) -> Result<Slot<T>, Full<T>> {
                self.$insert(value)
            }
            fn insert_with(
                &self,
                f: impl FnOnce(&VacantSlot<T>) -> T,
            ) -> Result<Slot<T>, CapacityError> {
                self.$insert_with(f)
            }
            fn vacant_slot(&self) -> Result<VacantSlot<T>, CapacityError> {
                self.$vacant_slot()
            }
            fn get(&self, key: Key) -> Option<Ref<'_, T>> {
                self.get(key)
            }
            fn get_mut(&self, key: Key) -> Option<RefMut<'_, T>> {
                self.get_mut(key)
            }
            fn contains_key(&self, key: Key) -> bool {
                self.contains_key(key)
            }
            fn into_inner(&self, slot: Slot<T>) -> T {
                self.into_inner(slot)
            }
            fn remove_by_key(&self, key: Key) -> T {
                self.remove_by_key(key)
            }
            fn try_remove_by_key(&self, key: Key) -> Option<T> {
                self.try_remove_by_key(key)
            }
            fn slot(&self, key: Key) -> Option<Slot<T>> {
                self.slot(key)
            }
            unsafe fn box_from_raw(&self, pointer: *mut T) -> SlotBox<T> {
                // SAFETY: the caller's word.
                unsafe { self.box_from_raw(pointer) }
            }
            fn len(&self) -> usize {
                self.len()
            }
            fn capacity(&self) -> usize {
                self.capacity()
            }
            fn is_empty(&self) -> bool {
                self.is_empty()
            }
            fn is_full(&self) -> bool {
                self.is_full()
            }
            fn clear(&self) {
                self.clear();
            }
            fn try_clear(&self) -> Result<(), Borrowed> {
                self.try_clear()
            }
            fn iter<'a>(&'a self) -> impl Iterator<Item = (Key, Ref<'a, T>)> + Clone + std::fmt::Debug where T: 'a {
                self.iter()
            }
            fn iter_mut<'a>(&'a self) -> impl Iterator<Item = (Key, RefMut<'a, T>)> + std::fmt::Debug where T: 'a {
                self.iter_mut()
            }
            fn keys(&self) -> impl Iterator<Item = Key> + Clone + std::fmt::Debug {
                self.keys()
            }
            fn retain(&self, keep: impl FnMut(Key, &mut T) -> bool) {
                self.retain(keep);
            }
            fn drain(&self) -> impl Iterator<Item = (Key, T)> + std::fmt::Debug {
                self.drain()
            }
            fn get_copied(&self, key: Key) -> Option<T>
            where
                T: Copy,
            {
                self.get_copied(key)
            }
            fn reserve(&self, additional: usize) {
                $reserve(self, additional);
            }
            fn shrink(&self) {
                $shrink(self);
            }
            fn check(&self) {
                self.check();
            }
            fn free_key(&self, count: usize) -> Option<Key> {
                self.free_key(count)
            }
            fn state_bits(&self, key: Key) -> Option<u32> {
                self.state_bits(key)
            }
        }
    };
}

any_slab!(
    BoundedSlab,
    BoundedSlab::with_capacity,
    BoundedSlab::with_capacity,
    insert,
    insert_with,
    vacant_slot,
    |_: &Self, _| {},
    |_: &Self| {}
);
any_slab!(
    Slab,
    |_| growable(2),
    |_| growable(1),
    try_insert,
    try_insert_with,
    try_vacant_slot,
    Slab::reserve,
    Slab::shrink
);

thread_local! {
    /// Chunks that growable slabs have built ahead.
    pub static SPARE_CHUNKS: Cell<usize> = const { Cell::new(0) };
}

fn growable<T>(chunk_capacity: usize) -> Slab<T> {
    let builder = Slab::builder().chunk_capacity(chunk_capacity);
    #[cfg(feature = "std")]
    let builder = builder.spare_chunks(SPARE_CHUNKS.get());
    builder.build()
}

/// Makes `bounded::name` and `growable::name` of each `fn name<K: Kind>()`.
#[macro_export]
macro_rules! over_both_slabs {
    ($($name:ident),* $(,)?) => {
        mod bounded {
            $(#[test] fn $name() { super::$name::<$crate::common::Bounded>(); })*
        }
        mod growable {
            $(#[test] fn $name() { super::$name::<$crate::common::Growable>(); })*
        }
    };
}

/// Counts the drops of its [`Counted`]s.
#[derive(Clone, Default)]
pub struct Drops(Rc<Cell<usize>>);

impl Drops {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn count(&self) -> usize {
        self.0.get()
    }

    pub fn value(&self, number: u64) -> Counted {
        Counted {
            number,
            drops: self.clone(),
        }
    }
}

/// A value whose drop is counted.
pub struct Counted {
    pub number: u64,
    drops: Drops,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.0.set(self.drops.0.get() + 1);
    }
}

/// A value whose destructor runs a closure: user code at the worst of moments.
pub struct Hooked(Option<Box<dyn FnOnce()>>);

impl Hooked {
    pub fn new(hook: impl FnOnce() + 'static) -> Self {
        Hooked(Some(Box::new(hook)))
    }

    pub fn plain() -> Self {
        Hooked(None)
    }

    /// Whether the closure is still to run.
    pub fn is_armed(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        if let Some(hook) = self.0.take() {
            hook();
        }
    }
}

/// Whether `f` panicked; what it holds is dropped either way.
pub fn panics<R>(f: impl FnOnce() -> R) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(f()))).is_err()
}
