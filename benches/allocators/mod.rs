//! Allocators that are called without being the program's, and boxes on them.

#![allow(unreachable_pub, reason = "the subjects that use them are public")]
#![allow(dead_code, reason = "each bench takes what it compares")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// An allocator.
pub trait Allocator {
    const NAME: &'static str;
    /// The name of a box on it.
    const BOXED: &'static str;
    type Global: GlobalAlloc;
    const GLOBAL: Self::Global;
}

macro_rules! allocators {
    ($($(#[$only:meta])* $allocator:ident($global:ty = $value:expr) named $name:literal;)*) => {
        $(
            $(#[$only])*
            pub struct $allocator;

            $(#[$only])*
            impl Allocator for $allocator {
                const NAME: &'static str = $name;
                const BOXED: &'static str = concat!("Box, ", $name);
                type Global = $global;
                const GLOBAL: $global = $value;
            }
        )*
    };
}

allocators! {
    Malloc(System = System) named "malloc";
    #[cfg(feature = "allocators")]
    Mimalloc(mimalloc::MiMalloc = mimalloc::MiMalloc) named "mimalloc";
    #[cfg(all(feature = "allocators", unix, not(target_env = "musl")))]
    Jemalloc(tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc) named "jemalloc";
}

/// A value on its own in an allocator's memory, as a `Box` has it. Its destructor never runs: no
/// value here has one.
pub struct HeapBox<V, A: Allocator>(NonNull<V>, PhantomData<A>);

// SAFETY: it owns its value, as a `Box` does, and its memory may be freed anywhere.
unsafe impl<V: Send, A: Allocator> Send for HeapBox<V, A> {}

impl<V, A: Allocator> HeapBox<V, A> {
    #[inline(always)]
    pub fn new(value: V) -> Self {
        const { assert!(size_of::<V>() > 0 && !std::mem::needs_drop::<V>()) };
        let layout = Layout::new::<V>();
        // SAFETY: values have a size.
        let place = unsafe { A::GLOBAL.alloc(layout) }.cast::<V>();
        let Some(place) = NonNull::new(place) else {
            std::alloc::handle_alloc_error(layout);
        };
        // SAFETY: fresh memory of this layout.
        unsafe { place.write(value) };
        HeapBox(place, PhantomData)
    }

    #[inline(always)]
    pub fn value(&self) -> &V {
        // SAFETY: written in `new`, and its own.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    pub fn value_mut(&mut self) -> &mut V {
        // SAFETY: as in `value`.
        unsafe { self.0.as_mut() }
    }
}

impl<V, A: Allocator> Drop for HeapBox<V, A> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: of this allocator and layout, freed once; the value has no destructor.
        unsafe { A::GLOBAL.dealloc(self.0.as_ptr().cast(), Layout::new::<V>()) };
    }
}
