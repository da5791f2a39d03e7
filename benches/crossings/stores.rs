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
use crate::allocators::{Allocator, HeapBox};

/// Writes a store: its parameters, what the values of its container have to be, its name and
/// handle, what all threads have and what one has of its own, and an expression for each operation.
macro_rules! store {
    (
        $(#[$what:meta])*
        $store:ty: $($value:ident)+ $(; $parameter:ident: $bound:path)?, named $name:expr;
        $handle:ty;
        common($common_capacity:ident) $common:ty = $new_common:expr;
        own($own_capacity:ident) $own:ty = $new_own:expr;
        make($make_common:pat_param, $make_own:pat_param, $made:ident) $make:expr;
        number($number_common:pat_param, $numbered:ident) $number:expr;
        take($take_common:pat_param, $taken:ident) $take:expr;
        remove($remove_common:pat_param, $removed:pat_param) $remove:expr;
        $(reclaim($reclaim_own:ident) $reclaim:expr;)?
    ) => {
        $(#[$what])*
        impl<V: $($value +)+ $(, $parameter: $bound)?> Container<V> for $store {
            const NAME: &'static str = $name;
            type Common = $common;
            type Own = $own;
            type Handle = $handle;

            fn common($common_capacity: usize) -> $common {
                $new_common
            }

            fn own($own_capacity: usize) -> $own {
                $new_own
            }

            #[inline(always)]
            fn make($make_common: &$common, $make_own: &$own, $made: V) -> Option<$handle> {
                $make
            }

            #[inline(always)]
            fn remove($remove_common: &$common, $removed: $handle) {
                $remove
            }
        }

        impl<V: Payload + $($value +)+ $(, $parameter: $bound)?> Store<V> for $store {
            #[inline(always)]
            fn number($number_common: &$common, $numbered: &$handle) -> u64 {
                $number
            }

            #[inline(always)]
            fn take($take_common: &$common, $taken: $handle) -> V {
                $take
            }

            $(const RECLAIMS: bool = true;

            #[inline(always)]
            fn reclaim($reclaim_own: &$own) {
                $reclaim;
            })?
        }
    };
}

/// Ours: slots that are handed over and come back.
pub(crate) struct Sends;

store! {
    Sends: Send, named SLAB; SendSlot<V>;
    common(_capacity) () = ();
    own(capacity) BoundedSlab<V> = BoundedSlab::with_capacity(capacity);
    make((), slab, value) Some(slab.insert(value).ok()?.into_send());
    number((), sent) sent.number();
    take((), sent) SendSlot::into_inner(sent);
    remove((), sent) drop(sent);
    reclaim(slab) slab.reclaim();
}

/// A `Box` each, on malloc: this program has no allocator but the system's.
pub(crate) struct Malloc;

store! {
    Malloc: Sized, named MALLOC; Box<V>;
    common(_capacity) () = ();
    own(_capacity) () = ();
    make((), (), value) Some(Box::new(value));
    number((), boxed) Payload::number(&**boxed);
    take((), boxed) *boxed;
    remove((), boxed) drop(boxed);
}

/// A box each, on an allocator that is not the program's.
pub(crate) struct On<A>(PhantomData<A>);

pub(crate) type Mimalloc = On<crate::allocators::Mimalloc>;
pub(crate) type Jemalloc = On<crate::allocators::Jemalloc>;

store! {
    On<A>: Sized; A: Allocator, named A::BOXED; HeapBox<V, A>;
    common(_capacity) () = ();
    own(_capacity) () = ();
    make((), (), value) Some(HeapBox::new(value));
    number((), boxed) boxed.value().number();
    take((), boxed) *boxed.value();
    remove((), boxed) drop(boxed);
}

/// `plurality`: a pool of the thread that makes values, whose boxes may end on another.
pub(crate) struct Plurality;

store! {
    Plurality: Payload Send, named PLURALITY; plurality::Box<V>;
    common(_capacity) () = ();
    own(capacity) plurality::Pool<V> = {
        let pool = plurality::Pool::new();
        // Its builder sizes chunks, and not the pool: one fill allocates them.
        let filled = (0..capacity as u64).map(|at| pool.alloc_box(V::of(at)));
        drop(filled.collect::<Vec<_>>());
        pool
    };
    make((), pool, value) Some(pool.alloc_box(value));
    number((), boxed) boxed.number();
    take((), boxed) *boxed;
    remove((), boxed) drop(boxed);
}

/// What the channel takes for itself: a word, and no memory for it.
pub(crate) struct Word<V>(PhantomData<V>);

store! {
    Word<V>: Payload, named WORD; usize;
    common(_capacity) () = ();
    own(_capacity) () = ();
    make((), (), value) {
        // The value is made as the others make theirs.
        whole(&value);
        Some(value.number() as usize)
    };
    number((), word) *word as u64;
    take((), word) V::of(word as u64);
    remove((), _) ();
}

/// Ours, shared.
pub(crate) struct Shared;

store! {
    Shared: Send Sync, named SHARED; SharedKey;
    common(capacity) SharedSlab<V> = SharedSlab::with_capacity(capacity);
    own(_capacity) () = ();
    make(slab, (), value) slab.insert(value).ok();
    number(slab, key) slab.get(*key).expect("it is there").number();
    take(slab, key) slab.try_take(key).expect("it is there");
    remove(slab, key) assert!(slab.remove(key), "it is there");
}

/// `sharded-slab`: each thread inserts into a shard of its own.
pub(crate) struct Sharded;

store! {
    Sharded: Send Sync, named SHARDED; usize;
    common(_capacity) sharded_slab::Slab<V> = sharded_slab::Slab::new();
    own(_capacity) () = ();
    make(slab, (), value) slab.insert(value);
    number(slab, key) slab.get(*key).expect("it is there").number();
    take(slab, key) slab.take(key).expect("it is there");
    remove(slab, key) assert!(slab.remove(key), "it is there");
}

/// The `slab` crate in a lock.
pub(crate) struct Locked;

store! {
    Locked: Payload Send, named LOCKED; usize;
    common(capacity) Mutex<slab::Slab<V>> = Mutex::new(slab::Slab::with_capacity(capacity));
    own(_capacity) () = ();
    make(slab, (), value) {
        let mut slab = slab.lock().expect("nothing panics");
        (slab.len() < slab.capacity()).then(|| slab.insert(value))
    };
    number(slab, key) slab.lock().expect("nothing panics")[*key].number();
    take(slab, key) slab.lock().expect("nothing panics").remove(key);
    remove(slab, key) {
        slab.lock().expect("nothing panics").remove(key);
    };
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

impl<V: Payload> Places<V> {
    fn with_capacity(capacity: usize) -> Self {
        let free = ArrayQueue::new(capacity);
        for place in 0..capacity as u32 {
            free.push(place).expect("it has room for all");
        }
        let values = (0..capacity).map(|_| UnsafeCell::new(V::of(0))).collect();
        Places { values, free }
    }
}

store! {
    Indices: Payload Send, named INDICES; u32;
    common(capacity) Places<V> = Places::with_capacity(capacity);
    own(_capacity) () = ();
    make(places, (), value) {
        let place = places.free.pop()?;
        // SAFETY: the place is this thread's now.
        unsafe { *places.values[place as usize].get() = value };
        Some(place)
    };
    // SAFETY: the place is this thread's.
    number(places, place) unsafe { (*places.values[*place as usize].get()).number() };
    take(places, place) {
        // SAFETY: the place is this thread's until it is pushed.
        let value = unsafe { *places.values[place as usize].get() };
        <Self as Container<V>>::remove(places, place);
        value
    };
    remove(places, place) places.free.push(place).expect("it has room for all");
}

/// A slab of each thread's own: what threads cost each other where they share nothing.
pub(crate) struct Unshared;

store! {
    Unshared: Payload, named UNSHARED; Slot<V>;
    common(_capacity) () = ();
    own(capacity) BoundedSlab<V> = BoundedSlab::with_capacity(capacity);
    make((), slab, value) slab.insert(value).ok();
    number((), slot) slot.get().number();
    take((), slot) *slot.get();
    remove((), slot) drop(slot);
}
