//! Both slabs, for tests that are written once and run over each.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use flatslab::memory::Pages;
use flatslab::{
    AllocError, Bounded, BoundedSlab, Growable, MappedRef, MappedRefMut, Memory, Ref, RefMut, Slab,
    TrackedSlab,
};

thread_local! {
    static MEMORY: RefCell<Option<(Pages, bool)>> = const { RefCell::new(None) };
}

/// Runs `f`; the slabs that a [`Room`] makes on this thread while it runs have memory
/// of these pages, and the bounded ones only reserve it if `lazy`.
pub fn with_memory<R>(pages: Pages, lazy: bool, f: impl FnOnce() -> R) -> R {
    MEMORY.set(Some((pages, lazy)));
    let result = f();
    MEMORY.set(None);
    result
}

fn bounded<T>(slots: usize) -> BoundedSlab<T> {
    MEMORY.with_borrow(|memory| match memory {
        None => BoundedSlab::with_capacity(slots),
        Some((pages, lazy)) => {
            let builder = BoundedSlab::builder().capacity(slots).pages(pages.clone());
            if *lazy { builder.lazy() } else { builder }.build()
        }
    })
}

fn growable<T>(chunk_capacity: usize) -> Slab<T> {
    let pages = MEMORY.with_borrow(|memory| memory.as_ref().map(|(pages, _)| pages.clone()));
    let builder = Slab::builder().chunk_capacity(chunk_capacity);
    match pages {
        None => builder.build(),
        Some(pages) => builder.pages(pages).build(),
    }
}

/// How a test makes room in a slab.
pub trait Room: Memory + Sized + 'static {
    /// Whether an insertion into a full slab adds a chunk.
    const GROWS: bool;

    /// Bounded: exactly so many slots. Growable: chunks of two.
    fn with_room<T>(slots: usize) -> TrackedSlab<T, Self>;

    /// Bounded: exactly so many slots. Growable: chunks of one.
    fn smallest<T>(slots: usize) -> TrackedSlab<T, Self>;

    /// Does nothing to a bounded slab.
    fn try_reserve<T>(slab: &TrackedSlab<T, Self>, additional: usize) -> Result<(), AllocError>;

    /// Does nothing to a bounded slab.
    fn shrink<T>(slab: &TrackedSlab<T, Self>);
}

impl Room for Bounded {
    const GROWS: bool = false;

    fn with_room<T>(slots: usize) -> BoundedSlab<T> {
        bounded(slots)
    }

    fn smallest<T>(slots: usize) -> BoundedSlab<T> {
        bounded(slots)
    }

    fn try_reserve<T>(_: &BoundedSlab<T>, _: usize) -> Result<(), AllocError> {
        Ok(())
    }

    fn shrink<T>(_: &BoundedSlab<T>) {}
}

impl Room for Growable {
    const GROWS: bool = true;

    fn with_room<T>(_: usize) -> Slab<T> {
        growable(2)
    }

    fn smallest<T>(_: usize) -> Slab<T> {
        growable(1)
    }

    fn try_reserve<T>(slab: &Slab<T>, additional: usize) -> Result<(), AllocError> {
        slab.try_reserve(additional)
    }

    fn shrink<T>(slab: &Slab<T>) {
        slab.shrink_to_fit();
    }
}

/// Makes the tests `bounded::name` and `growable::name` of each
/// `fn name<M: Room>()`.
macro_rules! over_both_slabs {
    ($($(#[$attribute:meta])* $name:ident),* $(,)?) => {
        mod bounded {
            $(
                #[test]
                $(#[$attribute])*
                fn $name() { super::$name::<flatslab::Bounded>(); }
            )*
        }
        mod growable {
            $(
                #[test]
                $(#[$attribute])*
                fn $name() { super::$name::<flatslab::Growable>(); }
            )*
        }
    };
}
pub(crate) use over_both_slabs;

/// A guard of either kind.
pub enum Guard<'a, T> {
    Shared(Ref<'a, T>),
    Exclusive(RefMut<'a, T>),
    /// Mapped to the whole value.
    MappedShared(MappedRef<'a, T>),
    MappedExclusive(MappedRefMut<'a, T>),
}

impl<T> Guard<'_, T> {
    pub fn mapped(self) -> Self {
        match self {
            Guard::Shared(guard) => Guard::MappedShared(Ref::map(guard, |value| value)),
            Guard::Exclusive(guard) => Guard::MappedExclusive(RefMut::map(guard, |value| value)),
            Guard::MappedShared(guard) => Guard::MappedShared(MappedRef::map(guard, |value| value)),
            Guard::MappedExclusive(guard) => {
                Guard::MappedExclusive(MappedRefMut::map(guard, |value| value))
            }
        }
    }

    pub fn value(&self) -> &T {
        match self {
            Guard::Shared(guard) => guard,
            Guard::Exclusive(guard) => guard,
            Guard::MappedShared(guard) => guard,
            Guard::MappedExclusive(guard) => guard,
        }
    }

    pub fn is_exclusive(&self) -> bool {
        matches!(self, Guard::Exclusive(_) | Guard::MappedExclusive(_))
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
