//! Containers that only matter while they grow.

#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::not_unsafe_ptr_arg_deref,
    reason = "cells of the prototype stand as long as it does, and the benches ask for what is there"
)]

use std::mem::MaybeUninit;

use flatslab::{Slab, Slot};

use super::floors::Stampable;
use super::subject;

subject! {
    /// `Slab` that has chunks built ahead.
    GrowableAhead(Slab<V>) named "Slab, 8 spare chunks" by Slot<V>;
    new(capacity) Slab::builder().reserve(capacity).spare_chunks(8).build();
    insert(slab, value) slab.insert(value);
    get(_slab, slot) slot.get().number();
    add(_slab, slot, number) slot.get_mut().number_mut();
    replace(_slab, slot, value) slot.replace(value);
    remove(slab, slot) slab.into_inner(slot);
    free(_slab, slot) slot;
    refill(_slab, slot, value) {
        let (old, vacant) = slot.take();
        (old, vacant.insert(value))
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
    add(vec, index, number) vec[*index].number_mut();
    replace(vec, index, value) core::mem::replace(&mut vec[*index], value);
    remove(vec, index) vec[index];
    free(_vec, index) index;
    refill(vec, index, value) (core::mem::replace(&mut vec[index], value), index);
}

const CHUNK: usize = 4096;
/// Cells of the next chunk that an insertion builds: done when this one is full.
const A_FEW: usize = 2;

/// A prototype of the third way to grow: once a chunk is half full, every
/// insertion allocates, or touches and stamps, a little of the next one.
pub struct Growing<V> {
    chunks: Vec<Box<[MaybeUninit<Stampable<V>>]>>,
    /// Cells handed out of the last chunk but one while the last is being built,
    /// else of the last.
    used: usize,
    /// Cells of the chunk to come that are built; `None` when there is none yet.
    built: Option<usize>,
    free: Vec<*mut Stampable<V>>,
}

impl<V: Copy> Growing<V> {
    fn new() -> Self {
        Growing {
            chunks: Vec::with_capacity(1 << 16),
            used: CHUNK,
            built: None,
            free: Vec::new(),
        }
    }

    fn add_chunk(&mut self) {
        self.chunks.push(Box::new_uninit_slice(CHUNK));
        self.built = Some(0);
    }

    fn build(&mut self, cells: usize) {
        let (Some(built), Some(chunk)) = (self.built, self.chunks.last_mut()) else {
            return;
        };
        let until = (built + cells).min(CHUNK);
        for cell in &mut chunk[built..until] {
            unsafe { (&raw mut (*cell.as_mut_ptr()).1).write(1) };
        }
        self.built = Some(until);
    }

    #[cold]
    #[inline(never)]
    fn next_chunk(&mut self) {
        if self.built.is_none() {
            self.add_chunk();
        }
        self.build(CHUNK);
        self.built = None;
        self.used = 0;
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> *mut Stampable<V> {
        if let Some(cell) = self.free.pop() {
            unsafe { cell.write((value, 0)) };
            return cell;
        }
        if self.used == CHUNK {
            self.next_chunk();
        } else if self.used >= CHUNK / 2 {
            match self.built {
                None => self.add_chunk(),
                Some(CHUNK) => {}
                Some(_) => self.build(A_FEW),
            }
        }
        let last = self.chunks.len() - 1 - usize::from(self.built.is_some());
        let cell = self.chunks[last][self.used].write((value, 0));
        self.used += 1;
        core::ptr::from_mut(cell)
    }
}

subject! {
    /// Handles are pointers, unchecked, as those of a floor.
    Incremental(Growing<V>) named "incremental (prototype)" by *mut Stampable<V>;
    new(_capacity) Growing::new();
    insert(slab, value) slab.insert(value);
    get(_slab, cell) unsafe { (**cell).0.number() };
    add(_slab, cell, number) unsafe { (**cell).0.number_mut() };
    replace(_slab, cell, value) unsafe { (&raw mut (**cell).0).replace(value) };
    remove(slab, cell) {
        slab.free.push(cell);
        unsafe { (*cell).0 }
    };
    free(slab, cell) slab.free.push(cell);
    refill(_slab, cell, value) unsafe { ((&raw mut (*cell).0).replace(value), cell) };
}
