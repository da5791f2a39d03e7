//! Both slabs, for tests that are written once and run over each.

use std::cell::Cell;
use std::ptr::NonNull;

use flatslab::{
    Borrowed, BoundedSlab, CapacityError, Drain, Full, Iter, IterMut, Key, Keys, Ref, RefMut, Slab,
    Slot, SlotBox, VacantSlot,
};

/// A kind of slab.
pub trait Kind: Sized + 'static {
    type Slab<T: 'static>: AnySlab<T> + 'static;

    /// Whether an insertion into a full slab adds a chunk.
    const GROWS: bool;

    /// Bounded: exactly so many slots. Growable: chunks of two.
    fn with_room<T: 'static>(slots: usize) -> Self::Slab<T>;

    /// Bounded: exactly so many slots. Growable: chunks of one.
    fn smallest<T: 'static>(slots: usize) -> Self::Slab<T>;

    /// Does nothing to a bounded slab.
    fn reserve<T: 'static>(slab: &Self::Slab<T>, additional: usize);

    /// Does nothing to a bounded slab.
    fn shrink<T: 'static>(slab: &Self::Slab<T>);
}

pub struct Bounded;

impl Kind for Bounded {
    type Slab<T: 'static> = BoundedSlab<T>;

    const GROWS: bool = false;

    fn with_room<T: 'static>(slots: usize) -> BoundedSlab<T> {
        BoundedSlab::with_capacity(slots)
    }

    fn smallest<T: 'static>(slots: usize) -> BoundedSlab<T> {
        BoundedSlab::with_capacity(slots)
    }

    fn reserve<T: 'static>(_: &BoundedSlab<T>, _: usize) {}

    fn shrink<T: 'static>(_: &BoundedSlab<T>) {}
}

pub struct Growable;

impl Kind for Growable {
    type Slab<T: 'static> = Slab<T>;

    const GROWS: bool = true;

    fn with_room<T: 'static>(_: usize) -> Slab<T> {
        Slab::builder().chunk_capacity(2).build()
    }

    fn smallest<T: 'static>(_: usize) -> Slab<T> {
        Slab::builder().chunk_capacity(1).build()
    }

    fn reserve<T: 'static>(slab: &Slab<T>, additional: usize) {
        slab.reserve(additional);
    }

    fn shrink<T: 'static>(slab: &Slab<T>) {
        slab.shrink();
    }
}

/// The methods that both slabs have, as a trait.
macro_rules! any_slab {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)? $(where T: $bound:path)?;)*) => {
        #[allow(clippy::wrong_self_convention, reason = "the slab's names")]
        pub trait AnySlab<T>: crate::Hooks<T> {
            $(fn $name(&self $(, $argument: $type)*) $(-> $result)? $(where T: $bound)?;)*

            /// # Safety
            ///
            /// That of the slab's method.
            unsafe fn box_from_raw(&self, pointer: *mut T) -> SlotBox<T>;
        }

        any_slab!(@of BoundedSlab: $(fn $name(&self $(, $argument: $type)*) $(-> $result)? $(where T: $bound)?;)*);
        any_slab!(@of Slab: $(fn $name(&self $(, $argument: $type)*) $(-> $result)? $(where T: $bound)?;)*);
    };
    (@of $slab:ident: $(fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)? $(where T: $bound:path)?;)*) => {
        impl<T> AnySlab<T> for $slab<T> {
            $(fn $name(&self $(, $argument: $type)*) $(-> $result)? $(where T: $bound)? {
                self.$name($($argument),*)
            })*

            unsafe fn box_from_raw(&self, pointer: *mut T) -> SlotBox<T> {
                // SAFETY: the caller's word.
                unsafe { self.box_from_raw(pointer) }
            }
        }
    };
}

any_slab! {
    fn try_insert(&self, value: T) -> Result<Slot<T>, Full<T>>;
    fn try_insert_with(&self, f: impl FnOnce(&VacantSlot<T>) -> T) -> Result<Slot<T>, CapacityError>;
    fn try_vacant_slot(&self) -> Result<VacantSlot<T>, CapacityError>;
    fn get(&self, key: Key) -> Option<Ref<'_, T>>;
    fn get_mut(&self, key: Key) -> Option<RefMut<'_, T>>;
    fn get_copied(&self, key: Key) -> Option<T> where T: Copy;
    fn contains_key(&self, key: Key) -> bool;
    fn into_inner(&self, slot: Slot<T>) -> T;
    fn remove_by_key(&self, key: Key) -> T;
    fn try_remove_by_key(&self, key: Key) -> Option<T>;
    fn slot(&self, key: Key) -> Option<Slot<T>>;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
    fn is_empty(&self) -> bool;
    fn is_full(&self) -> bool;
    fn clear(&self);
    fn try_clear(&self) -> Result<(), Borrowed>;
    fn iter(&self) -> Iter<'_, T>;
    fn iter_mut(&self) -> IterMut<'_, T>;
    fn keys(&self) -> Keys<'_, T>;
    fn retain(&self, keep: impl FnMut(Key, &mut T) -> bool);
    fn drain(&self) -> Drain<'_, T>;
}

/// Makes the tests `bounded::name` and `growable::name` of each
/// `fn name<K: Kind>()`.
macro_rules! over_both_slabs {
    ($($(#[$attribute:meta])* $name:ident),* $(,)?) => {
        mod bounded {
            $(
                #[test]
                $(#[$attribute])*
                fn $name() { super::$name::<$crate::common::Bounded>(); }
            )*
        }
        mod growable {
            $(
                #[test]
                $(#[$attribute])*
                fn $name() { super::$name::<$crate::common::Growable>(); }
            )*
        }
    };
}
pub(crate) use over_both_slabs;

/// A guard of either kind.
pub enum Guard<'a, T> {
    Shared(Ref<'a, T>),
    Exclusive(RefMut<'a, T>),
}

impl<T> Guard<'_, T> {
    pub fn value(&self) -> &T {
        match self {
            Guard::Shared(guard) => guard,
            Guard::Exclusive(guard) => guard,
        }
    }
}

/// A slab with guards stored next to it, which borrow it for `'static`.
pub struct Detached<S>(Cell<Option<NonNull<S>>>);

impl<S: 'static> Detached<S> {
    /// # Safety
    ///
    /// What borrows the slab, through a reference from [`get`](Self::get), is
    /// not used after [`end`](Self::end).
    pub unsafe fn new(slab: S) -> Self {
        Detached(Cell::new(NonNull::new(Box::into_raw(Box::new(slab)))))
    }

    /// The slab, if it has not been dropped.
    pub fn get(&self) -> Option<&'static S> {
        // SAFETY: from a box that `end` takes out before it drops it; a borrow
        // that is longer is not used (`new`).
        self.0.get().map(|slab| unsafe { slab.as_ref() })
    }

    /// Drops the slab. `false` if it was dropped before.
    pub fn end(&self) -> bool {
        let slab = self.0.take();
        if let Some(slab) = slab {
            // SAFETY: from `into_raw`, once; no borrow is used any more (`new`).
            drop(unsafe { Box::from_raw(slab.as_ptr()) });
        }
        slab.is_some()
    }
}
