//! Boxes on allocators that are called without being the program's.

use std::alloc::{GlobalAlloc, Layout};
use std::marker::PhantomData;
use std::ptr::NonNull;

use flatslab_benches::payload::Payload;
use flatslab_benches::threads::{JEMALLOC, MIMALLOC};

use super::{Container, Store};

/// An allocator.
pub(crate) trait Heap {
    const NAME: &'static str;
    type Global: GlobalAlloc;
    const GLOBAL: Self::Global;
}

/// See [`Heap`].
pub(crate) struct OfMimalloc;

impl Heap for OfMimalloc {
    const NAME: &'static str = MIMALLOC;
    type Global = mimalloc::MiMalloc;
    const GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;
}

/// See [`Heap`].
pub(crate) struct OfJemalloc;

impl Heap for OfJemalloc {
    const NAME: &'static str = JEMALLOC;
    type Global = tikv_jemallocator::Jemalloc;
    const GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
}

/// A box each, on this allocator.
pub(crate) struct On<H>(PhantomData<H>);

pub(crate) type Mimalloc = On<OfMimalloc>;
pub(crate) type Jemalloc = On<OfJemalloc>;

/// A value in memory of an allocator. Its destructor never runs: no value here has one.
pub(crate) struct HeapBox<V, H: Heap>(NonNull<V>, PhantomData<H>);

// SAFETY: it owns its value, as a `Box` does, and its memory may be freed anywhere.
unsafe impl<V: Send, H: Heap> Send for HeapBox<V, H> {}

impl<V, H: Heap> HeapBox<V, H> {
    #[inline(always)]
    pub(crate) fn new(value: V) -> Self {
        const { assert!(size_of::<V>() > 0 && !std::mem::needs_drop::<V>()) };
        // SAFETY: values have a size.
        let place = unsafe { H::GLOBAL.alloc(Layout::new::<V>()) };
        let place = NonNull::new(place.cast::<V>()).expect("there is memory");
        // SAFETY: fresh memory of this layout.
        unsafe { place.write(value) };
        HeapBox(place, PhantomData)
    }

    #[inline(always)]
    pub(crate) fn value(&self) -> &V {
        // SAFETY: written where it was made, and its own.
        unsafe { self.0.as_ref() }
    }
}

impl<V, H: Heap> Drop for HeapBox<V, H> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: of this allocator and layout, freed once; the value has no destructor.
        unsafe { H::GLOBAL.dealloc(self.0.as_ptr().cast(), Layout::new::<V>()) };
    }
}

impl<V, H: Heap> Container<V> for On<H> {
    const NAME: &'static str = H::NAME;
    type Common = ();
    type Own = ();
    type Handle = HeapBox<V, H>;

    fn common(_: usize) {}

    fn own(_: usize) {}

    #[inline(always)]
    fn make((): &(), (): &(), value: V) -> Option<HeapBox<V, H>> {
        Some(HeapBox::new(value))
    }

    #[inline(always)]
    fn remove((): &(), boxed: HeapBox<V, H>) {
        drop(boxed);
    }
}

impl<V: Payload, H: Heap> Store<V> for On<H> {
    #[inline(always)]
    fn number((): &(), boxed: &HeapBox<V, H>) -> u64 {
        boxed.value().number()
    }

    #[inline(always)]
    fn take((): &(), boxed: HeapBox<V, H>) -> V {
        *boxed.value()
    }
}
