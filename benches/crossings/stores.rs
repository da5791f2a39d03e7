//! What is compared.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::sync::Mutex;

use crossbeam_queue::ArrayQueue;
use flatslab::sync::{SendSlot, SharedKey, SharedSlab};
use flatslab::{BoundedSlab, Slot};
use flatslab_benches::payload::{Payload, whole};
use flatslab_benches::threads::{
    INDICES, LOCKED, MALLOC, PLURALITY, SHARDED, SHARED, SLAB, UNSHARED, WORD,
};

use super::{Container, Store};

/// Ours: slots that are handed over and come back.
pub(crate) struct Sends;

impl<V: Send> Container<V> for Sends {
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
    fn remove((): &(), sent: SendSlot<V>) {
        drop(sent);
    }
}

impl<V: Payload + Send> Store<V> for Sends {
    #[inline(always)]
    fn number((): &(), sent: &SendSlot<V>) -> u64 {
        sent.number()
    }

    #[inline(always)]
    fn take((): &(), sent: SendSlot<V>) -> V {
        SendSlot::into_inner(sent)
    }

    const RECLAIMS: bool = true;

    #[inline(always)]
    fn reclaim(slab: &BoundedSlab<V>) {
        slab.reclaim();
    }
}

/// A `Box` each, on malloc: this program has no allocator but the system's.
pub(crate) struct Malloc;

impl<V> Container<V> for Malloc {
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
    fn remove((): &(), boxed: Box<V>) {
        drop(boxed);
    }
}

impl<V: Payload> Store<V> for Malloc {
    #[inline(always)]
    fn number((): &(), boxed: &Box<V>) -> u64 {
        Payload::number(&**boxed)
    }

    #[inline(always)]
    fn take((): &(), boxed: Box<V>) -> V {
        *boxed
    }
}

/// `plurality`: a pool of the thread that makes values, whose boxes may end on another.
pub(crate) struct Plurality;

impl<V: Payload + Send> Container<V> for Plurality {
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
    fn remove((): &(), boxed: plurality::Box<V>) {
        drop(boxed);
    }
}

impl<V: Payload + Send> Store<V> for Plurality {
    #[inline(always)]
    fn number((): &(), boxed: &plurality::Box<V>) -> u64 {
        boxed.number()
    }

    #[inline(always)]
    fn take((): &(), boxed: plurality::Box<V>) -> V {
        *boxed
    }
}

/// What the channel takes for itself: a word, and no memory for it.
pub(crate) struct Word<V>(PhantomData<V>);

impl<V: Payload> Container<V> for Word<V> {
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
    fn remove((): &(), _: usize) {}
}

impl<V: Payload> Store<V> for Word<V> {
    #[inline(always)]
    fn number((): &(), word: &usize) -> u64 {
        *word as u64
    }

    #[inline(always)]
    fn take((): &(), word: usize) -> V {
        V::of(word as u64)
    }
}

/// Ours, shared.
pub(crate) struct Shared;

impl<V: Send + Sync> Container<V> for Shared {
    const NAME: &'static str = SHARED;
    type Common = SharedSlab<V>;
    type Own = ();
    type Handle = SharedKey;

    fn common(capacity: usize) -> SharedSlab<V> {
        SharedSlab::with_capacity(capacity)
    }

    fn own(_: usize) {}

    #[inline(always)]
    fn make(slab: &SharedSlab<V>, (): &(), value: V) -> Option<SharedKey> {
        slab.insert(value).ok()
    }

    #[inline(always)]
    fn remove(slab: &SharedSlab<V>, key: SharedKey) {
        assert!(slab.remove(key), "it is there");
    }
}

impl<V: Payload + Send + Sync> Store<V> for Shared {
    #[inline(always)]
    fn number(slab: &SharedSlab<V>, key: &SharedKey) -> u64 {
        slab.get(*key).expect("it is there").number()
    }

    #[inline(always)]
    fn take(slab: &SharedSlab<V>, key: SharedKey) -> V {
        slab.try_take(key).expect("it is there")
    }
}

/// `sharded-slab`: each thread inserts into a shard of its own.
pub(crate) struct Sharded;

impl<V: Send + Sync> Container<V> for Sharded {
    const NAME: &'static str = SHARDED;
    type Common = sharded_slab::Slab<V>;
    type Own = ();
    type Handle = usize;

    fn common(_: usize) -> sharded_slab::Slab<V> {
        sharded_slab::Slab::new()
    }

    fn own(_: usize) {}

    #[inline(always)]
    fn make(slab: &sharded_slab::Slab<V>, (): &(), value: V) -> Option<usize> {
        slab.insert(value)
    }

    #[inline(always)]
    fn remove(slab: &sharded_slab::Slab<V>, key: usize) {
        assert!(slab.remove(key), "it is there");
    }
}

impl<V: Payload + Send + Sync> Store<V> for Sharded {
    #[inline(always)]
    fn number(slab: &sharded_slab::Slab<V>, key: &usize) -> u64 {
        slab.get(*key).expect("it is there").number()
    }

    #[inline(always)]
    fn take(slab: &sharded_slab::Slab<V>, key: usize) -> V {
        slab.take(key).expect("it is there")
    }
}

/// The `slab` crate in a lock.
pub(crate) struct Locked;

impl<V: Payload + Send> Container<V> for Locked {
    const NAME: &'static str = LOCKED;
    type Common = Mutex<slab::Slab<V>>;
    type Own = ();
    type Handle = usize;

    fn common(capacity: usize) -> Mutex<slab::Slab<V>> {
        Mutex::new(slab::Slab::with_capacity(capacity))
    }

    fn own(_: usize) {}

    #[inline(always)]
    fn make(slab: &Mutex<slab::Slab<V>>, (): &(), value: V) -> Option<usize> {
        let mut slab = slab.lock().expect("nothing panics");
        (slab.len() < slab.capacity()).then(|| slab.insert(value))
    }

    #[inline(always)]
    fn remove(slab: &Mutex<slab::Slab<V>>, key: usize) {
        slab.lock().expect("nothing panics").remove(key);
    }
}

impl<V: Payload + Send> Store<V> for Locked {
    #[inline(always)]
    fn number(slab: &Mutex<slab::Slab<V>>, key: &usize) -> u64 {
        slab.lock().expect("nothing panics")[*key].number()
    }

    #[inline(always)]
    fn take(slab: &Mutex<slab::Slab<V>>, key: usize) -> V {
        slab.lock().expect("nothing panics").remove(key)
    }
}

/// What is usual where no crate is wanted: the places of values in a queue, and no check.
pub(crate) struct Indices;

/// The values and the free places.
pub(crate) struct Places<V> {
    values: Box<[UnsafeCell<V>]>,
    free: ArrayQueue<u32>,
}

// SAFETY: a place is used by the thread alone that took it from the queue, or was sent it.
unsafe impl<V: Send> Sync for Places<V> {}

impl<V: Payload + Send> Container<V> for Indices {
    const NAME: &'static str = INDICES;
    type Common = Places<V>;
    type Own = ();
    type Handle = u32;

    fn common(capacity: usize) -> Places<V> {
        let free = ArrayQueue::new(capacity);
        for place in 0..capacity as u32 {
            free.push(place).expect("it has room for all");
        }
        let values = (0..capacity).map(|_| UnsafeCell::new(V::of(0))).collect();
        Places { values, free }
    }

    fn own(_: usize) {}

    #[inline(always)]
    fn make(places: &Places<V>, (): &(), value: V) -> Option<u32> {
        let place = places.free.pop()?;
        // SAFETY: the place is this thread's now.
        unsafe { *places.values[place as usize].get() = value };
        Some(place)
    }

    #[inline(always)]
    fn remove(places: &Places<V>, place: u32) {
        places.free.push(place).expect("it has room for all");
    }
}

impl<V: Payload + Send> Store<V> for Indices {
    #[inline(always)]
    fn number(places: &Places<V>, place: &u32) -> u64 {
        // SAFETY: the place is this thread's.
        unsafe { (*places.values[*place as usize].get()).number() }
    }

    #[inline(always)]
    fn take(places: &Places<V>, place: u32) -> V {
        // SAFETY: the place is this thread's until it is pushed.
        let value = unsafe { *places.values[place as usize].get() };
        Self::remove(places, place);
        value
    }
}

/// A slab of each thread's own: what threads cost each other where they share nothing.
pub(crate) struct Unshared;

impl<V: Payload> Container<V> for Unshared {
    const NAME: &'static str = UNSHARED;
    type Common = ();
    type Own = BoundedSlab<V>;
    type Handle = Slot<V>;

    fn common(_: usize) {}

    fn own(capacity: usize) -> BoundedSlab<V> {
        BoundedSlab::with_capacity(capacity)
    }

    #[inline(always)]
    fn make((): &(), slab: &BoundedSlab<V>, value: V) -> Option<Slot<V>> {
        slab.insert(value).ok()
    }

    #[inline(always)]
    fn remove((): &(), slot: Slot<V>) {
        drop(slot);
    }
}

impl<V: Payload> Store<V> for Unshared {
    #[inline(always)]
    fn number((): &(), slot: &Slot<V>) -> u64 {
        slot.get().number()
    }

    #[inline(always)]
    fn take((): &(), slot: Slot<V>) -> V {
        *slot.get()
    }
}
