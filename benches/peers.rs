//! Other crates' containers, and the allocators.
//!
//! A module of each bench and not of the library: some peers need a newer compiler
//! than flatslab, so they are dev-dependencies, or features, and only `cargo bench` builds them.

#![allow(unreachable_pub, reason = "the macro's types are public")]
#![allow(dead_code, reason = "each bench takes what it compares")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::NonNull;

use flatslab_benches::payload::Payload;
use flatslab_benches::subject;

subject! {
    /// The `slab` crate, the measure of all.
    SlabCrate(slab::Slab<V>) named "slab" by usize;
    new(capacity) slab::Slab::with_capacity(capacity);
    insert(slab, value) slab.insert(value);
    get(slab, key) slab[*key].number();
    add(slab, key, number) *slab[*key].number_mut() += number;
    replace(slab, key, value) core::mem::replace(&mut slab[*key], value);
    remove(slab, key) slab.remove(key);
    free(slab, key) slab.remove(key);
    refill(slab, key, value) {
        let old = slab.remove(key);
        (old, slab.insert(value))
    };
    contains(slab, key) slab.contains(*key);
    each(slab, visit) for (_key, value) in slab.iter() {
        visit(value.number());
    };
    each_mut(slab, visit) for (_key, value) in slab.iter_mut() {
        visit(value.number_mut());
    };
}

subject! {
    /// `slotmap`: what generations cost.
    SlotMap(slotmap::SlotMap<slotmap::DefaultKey, V>) named "slotmap"
        by slotmap::DefaultKey;
    new(capacity) slotmap::SlotMap::with_capacity(capacity);
    insert(map, value) map.insert(value);
    get(map, key) map[*key].number();
    add(map, key, number) *map[*key].number_mut() += number;
    replace(map, key, value) core::mem::replace(&mut map[*key], value);
    remove(map, key) map.remove(key).unwrap();
    free(map, key) map.remove(key);
    refill(map, key, value) {
        let old = map.remove(key).unwrap();
        (old, map.insert(value))
    };
    contains(map, key) map.contains_key(*key);
    each(map, visit) for (_key, value) in map.iter() {
        visit(value.number());
    };
    each_mut(map, visit) for (_key, value) in map.iter_mut() {
        visit(value.number_mut());
    };
}

macro_rules! nexus {
    ($(#[$documentation:meta])* $subject:ident($slab:ty) named $name:literal; new($capacity:ident) $new:expr;) => {
        subject! {
            $(#[$documentation])*
            $subject($slab) named $name by nexus_slab::Slot<V>;
            // SAFETY: every slot goes back to this slab, and before it does.
            new($capacity) unsafe { $new };
            insert(slab, value) slab.alloc(value);
            get(_slab, slot) slot.number();
            add(_slab, slot, number) *slot.number_mut() += number;
            replace(_slab, slot, value) core::mem::replace(&mut **slot, value);
            remove(slab, slot) slab.take(slot);
            free(slab, slot) slab.free(slot);
            refill(slab, slot, value) {
                let old = slab.take(slot);
                (old, slab.alloc(value))
            };
        }
    };
}

nexus! {
    /// `nexus-slab`'s bounded slab. To make one is unsafe: a slot of another
    /// slab, or a slot that outlives its own, is undefined behaviour.
    NexusBounded(nexus_slab::bounded::Slab<V>) named "nexus-slab bounded";
    new(capacity) nexus_slab::bounded::Slab::with_capacity(capacity);
}

nexus! {
    /// `nexus-slab`'s growable slab, likewise unsafe to make.
    NexusUnbounded(nexus_slab::unbounded::Slab<V>) named "nexus-slab unbounded";
    new(capacity) {
        let chunk = if capacity == 0 { 4096 } else { capacity.min(4096) };
        let slab = nexus_slab::unbounded::Slab::with_chunk_capacity(chunk);
        slab.reserve_chunks(capacity.div_ceil(chunk));
        slab
    };
}

subject! {
    /// `plurality`'s pool, by its boxes. It has no way to move a value out of
    /// one: it is copied, and the box dropped.
    Plurality(plurality::Pool<V>) named "plurality, Box" by plurality::Box<V>;
    new(capacity) {
        let pool = plurality::Pool::new();
        // Its builder sizes chunks, and not the pool: one fill allocates them.
        let filled: Vec<_> = (0..capacity as u64).map(|at| pool.alloc_box(V::of(at))).collect();
        drop(filled);
        pool
    };
    insert(pool, value) pool.alloc_box(value);
    get(_pool, boxed) boxed.number();
    add(_pool, boxed, number) *boxed.number_mut() += number;
    replace(_pool, boxed, value) core::mem::replace(&mut **boxed, value);
    remove(_pool, boxed) {
        let value = *boxed;
        drop(boxed);
        value
    };
    free(_pool, boxed) boxed;
    refill(pool, boxed, value) {
        let old = *boxed;
        drop(boxed);
        (old, pool.alloc_box(value))
    };
}

subject! {
    /// `Vec`, pushed to: what is removed stays as a gap.
    VecPush(Vec<V>) named "Vec, push" by usize;
    new(capacity) Vec::with_capacity(capacity);
    insert(vec, value) {
        vec.push(value);
        vec.len() - 1
    };
    get(vec, index) vec[*index].number();
    add(vec, index, number) *vec[*index].number_mut() += number;
    replace(vec, index, value) core::mem::replace(&mut vec[*index], value);
    remove(vec, index) vec[index];
    free(_vec, index) index;
    refill(vec, index, value) (core::mem::replace(&mut vec[index], value), index);
}

/// A value on its own in an allocator's memory, as a `Box` has it.
pub struct Allocated<V>(NonNull<V>);

impl<V: Payload> Allocated<V> {
    #[inline(always)]
    fn new(allocator: &impl GlobalAlloc, value: V) -> Self {
        let layout = Layout::new::<V>();
        // SAFETY: payloads have a size.
        let place = unsafe { allocator.alloc(layout) }.cast::<V>();
        let Some(place) = NonNull::new(place) else {
            std::alloc::handle_alloc_error(layout);
        };
        // SAFETY: fresh memory of this layout.
        unsafe { place.write(value) };
        Allocated(place)
    }

    #[inline(always)]
    fn value(&self) -> &V {
        // SAFETY: written in `new`, and ours.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn value_mut(&mut self) -> &mut V {
        // SAFETY: as in `value`.
        unsafe { self.0.as_mut() }
    }

    #[inline(always)]
    fn remove(self, allocator: &impl GlobalAlloc) -> V {
        // SAFETY: written in `new`, read once; the memory goes with it.
        unsafe {
            let value = self.0.read();
            allocator.dealloc(self.0.as_ptr().cast(), Layout::new::<V>());
            value
        }
    }
}

macro_rules! allocator {
    ($subject:ident, $name:literal, $allocator:ident, $allocator_expr:expr) => {
        subject! {
            /// A `Box` each, on this allocator.
            $subject((core::marker::PhantomData<V>, $allocator)) named $name by Allocated<V>;
            new(_capacity) (core::marker::PhantomData, $allocator_expr);
            insert(it, value) Allocated::new(&it.1, value);
            get(_it, boxed) boxed.value().number();
            add(_it, boxed, number) *boxed.value_mut().number_mut() += number;
            replace(_it, boxed, value) core::mem::replace(boxed.value_mut(), value);
            remove(it, boxed) boxed.remove(&it.1);
            free(it, boxed) boxed.remove(&it.1);
            refill(it, boxed, value) {
                let old = boxed.remove(&it.1);
                (old, Allocated::new(&it.1, value))
            };
        }
    };
}

subject! {
    /// The standard library's `Box`, on the program's allocator.
    RustBox(core::marker::PhantomData<V>) named "Box" by Box<V>;
    new(_capacity) core::marker::PhantomData;
    insert(_it, value) Box::new(value);
    get(_it, boxed) boxed.number();
    add(_it, boxed, number) *boxed.number_mut() += number;
    replace(_it, boxed, value) core::mem::replace(&mut **boxed, value);
    remove(_it, boxed) *boxed;
    free(_it, boxed) boxed;
    refill(_it, boxed, value) (*boxed, Box::new(value));
}

allocator!(BoxOnMalloc, "Box, malloc", System, System);

#[cfg(feature = "allocators")]
type MiMalloc = mimalloc::MiMalloc;
#[cfg(feature = "allocators")]
allocator!(BoxOnMimalloc, "Box, mimalloc", MiMalloc, mimalloc::MiMalloc);
