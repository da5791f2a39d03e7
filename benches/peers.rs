//! Other crates' containers, and the allocators.
//!
//! A module of each bench and not of the library: some peers need a newer compiler
//! than flatslab, so they are dev-dependencies, or features, and only `cargo bench` builds them.

#![allow(unreachable_pub, reason = "the macro's types are public")]
#![allow(dead_code, reason = "each bench takes what it compares")]

use std::marker::PhantomData;

use flatslab_benches::{keyed, subject};

#[cfg(feature = "allocators")]
use crate::allocators::Mimalloc;
use crate::allocators::{HeapBox, Malloc};

keyed! {
    /// The `slab` crate, the measure of all.
    SlabCrate(slab::Slab<V>) named "slab" by usize;
    new(capacity) slab::Slab::with_capacity(capacity);
    contains by contains;
    walks by iter iter_mut;
}

keyed! {
    /// `slotmap`: what generations cost.
    SlotMap(slotmap::SlotMap<slotmap::DefaultKey, V>) named "slotmap" by slotmap::DefaultKey;
    new(capacity) slotmap::SlotMap::with_capacity(capacity);
    removed unwrap;
    contains by contains_key;
    walks by iter iter_mut;
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

subject! {
    /// The standard library's `Box`, on the program's allocator.
    RustBox(PhantomData<V>) named "Box" by Box<V>;
    new(_capacity) PhantomData;
    insert(_it, value) Box::new(value);
    get(_it, boxed) boxed.number();
    add(_it, boxed, number) *boxed.number_mut() += number;
    replace(_it, boxed, value) core::mem::replace(&mut **boxed, value);
    remove(_it, boxed) *boxed;
    free(_it, boxed) boxed;
}

macro_rules! boxes {
    ($subject:ident named $name:literal on $allocator:ident) => {
        subject! {
            /// A `Box` each, on this allocator.
            $subject(PhantomData<V>) named $name by HeapBox<V, $allocator>;
            new(_capacity) PhantomData;
            insert(_it, value) HeapBox::new(value);
            get(_it, boxed) boxed.value().number();
            add(_it, boxed, number) *boxed.value_mut().number_mut() += number;
            replace(_it, boxed, value) core::mem::replace(boxed.value_mut(), value);
            remove(_it, boxed) *boxed.value();
            free(_it, boxed) boxed;
        }
    };
}

boxes!(BoxOnMalloc named "Box, malloc" on Malloc);
#[cfg(feature = "allocators")]
boxes!(BoxOnMimalloc named "Box, mimalloc" on Mimalloc);
