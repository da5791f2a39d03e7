//! What is compared.

use std::alloc::{GlobalAlloc, Layout};
use std::marker::PhantomData;
use std::ptr::NonNull;

use flatslab::BoundedSlab;
use flatslab::sync::SendSlot;
use flatslab_benches::payload::{Payload, whole};
use flatslab_benches::threads::{MALLOC, MIMALLOC, PLURALITY, SLAB, WORD};

use super::Store;

/// Ours: slots that are handed over and come back.
pub(crate) struct Sends;

impl<V: Payload + Send> Store<V> for Sends {
    const NAME: &'static str = SLAB;
    type Common = ();
    type Own = BoundedSlab<V>;
    type Handle = SendSlot<V>;

    fn common(_: usize) {}

    fn own(capacity: usize) -> BoundedSlab<V> {
        BoundedSlab::with_capacity(capacity)
    }

    #[inline(always)]
    fn make((): &(), slab: &BoundedSlab<V>, value: V) -> Option<SendSlot<V>> {
        Some(slab.insert(value).ok()?.into_send())
    }

    #[inline(always)]
    fn number((): &(), sent: &SendSlot<V>) -> u64 {
        sent.number()
    }

    #[inline(always)]
    fn end((): &(), sent: SendSlot<V>) -> u64 {
        sent.number()
    }

    const RECLAIMS: bool = true;

    #[inline(always)]
    fn reclaim(slab: &BoundedSlab<V>) {
        slab.reclaim();
    }
}

/// A `Box` each, on malloc: this program has no allocator but the system's.
pub(crate) struct Malloc;

impl<V: Payload> Store<V> for Malloc {
    const NAME: &'static str = MALLOC;
    type Common = ();
    type Own = ();
    type Handle = Box<V>;

    fn common(_: usize) {}

    fn own(_: usize) {}

    #[inline(always)]
    fn make((): &(), (): &(), value: V) -> Option<Box<V>> {
        Some(Box::new(value))
    }

    #[inline(always)]
    fn number((): &(), boxed: &Box<V>) -> u64 {
        Payload::number(&**boxed)
    }

    #[inline(always)]
    fn end((): &(), boxed: Box<V>) -> u64 {
        Payload::number(&*boxed)
    }
}

/// A box each, on mimalloc, which is called without being the program's allocator.
pub(crate) struct Mimalloc;

/// A value in memory of mimalloc.
pub(crate) struct MiBox<V>(NonNull<V>);

// SAFETY: it owns its value, as a `Box` does, and its memory may be freed anywhere.
unsafe impl<V: Send> Send for MiBox<V> {}

impl<V: Payload> MiBox<V> {
    #[inline(always)]
    fn value(&self) -> &V {
        // SAFETY: written where it was made, and its own.
        unsafe { self.0.as_ref() }
    }
}

impl<V> Drop for MiBox<V> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: of this allocator and layout, freed once; payloads have no destructor.
        unsafe { mimalloc::MiMalloc.dealloc(self.0.as_ptr().cast(), Layout::new::<V>()) };
    }
}

impl<V: Payload> Store<V> for Mimalloc {
    const NAME: &'static str = MIMALLOC;
    type Common = ();
    type Own = ();
    type Handle = MiBox<V>;

    fn common(_: usize) {}

    fn own(_: usize) {}

    #[inline(always)]
    fn make((): &(), (): &(), value: V) -> Option<MiBox<V>> {
        // SAFETY: payloads have a size.
        let place = unsafe { mimalloc::MiMalloc.alloc(Layout::new::<V>()) };
        let place = NonNull::new(place.cast::<V>()).expect("there is memory");
        // SAFETY: fresh memory of this layout.
        unsafe { place.write(value) };
        Some(MiBox(place))
    }

    #[inline(always)]
    fn number((): &(), boxed: &MiBox<V>) -> u64 {
        boxed.value().number()
    }

    #[inline(always)]
    fn end((): &(), boxed: MiBox<V>) -> u64 {
        boxed.value().number()
    }
}

/// `plurality`: a pool of the thread that makes values, whose boxes may end on another.
pub(crate) struct Plurality;

impl<V: Payload + Send> Store<V> for Plurality {
    const NAME: &'static str = PLURALITY;
    type Common = ();
    type Own = plurality::Pool<V>;
    type Handle = plurality::Box<V>;

    fn common(_: usize) {}

    fn own(capacity: usize) -> plurality::Pool<V> {
        let pool = plurality::Pool::new();
        // Its builder sizes chunks, and not the pool: one fill allocates them.
        let filled: Vec<_> = (0..capacity as u64)
            .map(|at| pool.alloc_box(V::of(at)))
            .collect();
        drop(filled);
        pool
    }

    #[inline(always)]
    fn make((): &(), pool: &plurality::Pool<V>, value: V) -> Option<plurality::Box<V>> {
        Some(pool.alloc_box(value))
    }

    #[inline(always)]
    fn number((): &(), boxed: &plurality::Box<V>) -> u64 {
        boxed.number()
    }

    #[inline(always)]
    fn end((): &(), boxed: plurality::Box<V>) -> u64 {
        boxed.number()
    }
}

/// What the channel takes for itself: a word, and no memory for it.
pub(crate) struct Word<V>(PhantomData<V>);

impl<V: Payload> Store<V> for Word<V> {
    const NAME: &'static str = WORD;
    type Common = ();
    type Own = ();
    type Handle = usize;

    fn common(_: usize) {}

    fn own(_: usize) {}

    #[inline(always)]
    fn make((): &(), (): &(), value: V) -> Option<usize> {
        // The value is made as the others make theirs.
        whole(&value);
        Some(value.number() as usize)
    }

    #[inline(always)]
    fn number((): &(), word: &usize) -> u64 {
        *word as u64
    }

    #[inline(always)]
    fn end((): &(), word: usize) -> u64 {
        word as u64
    }
}
