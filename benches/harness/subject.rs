//! The containers that are compared, each behind one adapter.

use std::hint::black_box;
use std::mem::MaybeUninit;

use flatslab::{BoundedSlab, Key, Slot};

/// A value of a known size that carries a number.
pub trait Payload: Sized {
    /// The bytes of a value.
    const BYTES: usize = size_of::<Self>();

    /// The value that carries `number`.
    fn of(number: u64) -> Self;

    /// The number it carries.
    fn number(&self) -> u64;
}

impl Payload for u64 {
    #[inline(always)]
    fn of(number: u64) -> Self {
        number
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        *self
    }
}

impl<const WORDS: usize> Payload for [u64; WORDS] {
    #[inline(always)]
    fn of(number: u64) -> Self {
        [number; WORDS]
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        self[WORDS / 2]
    }
}

/// A container in one role.
pub trait Subject<V: Payload> {
    /// As it stands in the tables.
    const NAME: &'static str;
    /// What the user keeps to find a value again.
    type Handle;

    /// A container with room for `capacity` values.
    fn with_capacity(capacity: usize) -> Self;

    /// Puts a value in.
    fn insert(&mut self, value: V) -> Self::Handle;

    /// The number of a value.
    fn get(&self, handle: &Self::Handle) -> u64;

    /// Moves a value out.
    fn remove(&mut self, handle: Self::Handle) -> V;
}

/// Keeps the compiler from carrying a container's fields in registers from one
/// operation to the next, as no program that does anything else in between could.
#[inline(always)]
pub fn barrier<S>(subject: &S) {
    black_box(subject);
}

/// The `slab` crate, the measure of all.
pub struct SlabCrate<V>(slab::Slab<V>);

impl<V: Payload> Subject<V> for SlabCrate<V> {
    const NAME: &'static str = "slab";
    type Handle = usize;

    fn with_capacity(capacity: usize) -> Self {
        SlabCrate(slab::Slab::with_capacity(capacity))
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> usize {
        self.0.insert(value)
    }

    #[inline(always)]
    fn get(&self, handle: &usize) -> u64 {
        self.0[*handle].number()
    }

    #[inline(always)]
    fn remove(&mut self, handle: usize) -> V {
        self.0.remove(handle)
    }
}

/// `BoundedSlab` by owning slots.
pub struct BoundedBySlot<V>(BoundedSlab<V>);

impl<V: Payload> Subject<V> for BoundedBySlot<V> {
    const NAME: &'static str = "BoundedSlab, Slot";
    type Handle = Slot<V>;

    fn with_capacity(capacity: usize) -> Self {
        BoundedBySlot(BoundedSlab::with_capacity(capacity))
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> Slot<V> {
        self.0.insert(value).unwrap()
    }

    #[inline(always)]
    fn get(&self, handle: &Slot<V>) -> u64 {
        handle.get().number()
    }

    #[inline(always)]
    fn remove(&mut self, handle: Slot<V>) -> V {
        self.0.into_inner(handle)
    }
}

/// `Slab` by owning slots.
pub struct GrowableBySlot<V>(flatslab::Slab<V>);

impl<V: Payload> Subject<V> for GrowableBySlot<V> {
    const NAME: &'static str = "Slab, Slot";
    type Handle = Slot<V>;

    fn with_capacity(capacity: usize) -> Self {
        GrowableBySlot(flatslab::Slab::with_capacity(capacity))
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> Slot<V> {
        self.0.insert(value)
    }

    #[inline(always)]
    fn get(&self, handle: &Slot<V>) -> u64 {
        handle.get().number()
    }

    #[inline(always)]
    fn remove(&mut self, handle: Slot<V>) -> V {
        self.0.into_inner(handle)
    }
}

/// `BoundedSlab` by key.
pub struct BoundedByKey<V>(BoundedSlab<V>);

impl<V: Payload> Subject<V> for BoundedByKey<V> {
    const NAME: &'static str = "BoundedSlab, Key";
    type Handle = Key;

    fn with_capacity(capacity: usize) -> Self {
        BoundedByKey(BoundedSlab::with_capacity(capacity))
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> Key {
        self.0.insert(value).unwrap().leak()
    }

    #[inline(always)]
    fn get(&self, handle: &Key) -> u64 {
        self.0.get(*handle).unwrap().number()
    }

    #[inline(always)]
    fn remove(&mut self, handle: Key) -> V {
        self.0.remove_by_key(handle)
    }
}

/// `Slab` by key.
pub struct GrowableByKey<V>(flatslab::Slab<V>);

impl<V: Payload> Subject<V> for GrowableByKey<V> {
    const NAME: &'static str = "Slab, Key";
    type Handle = Key;

    fn with_capacity(capacity: usize) -> Self {
        GrowableByKey(flatslab::Slab::with_capacity(capacity))
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> Key {
        self.0.insert(value).leak()
    }

    #[inline(always)]
    fn get(&self, handle: &Key) -> u64 {
        self.0.get(*handle).unwrap().number()
    }

    #[inline(always)]
    fn remove(&mut self, handle: Key) -> V {
        self.0.remove_by_key(handle)
    }
}

/// What no checked slab can beat: a dense LIFO of bare pointers, 16-byte cells
/// and handles, and not one check. A use after free, a foreign or a second
/// removal, an insertion into a full one are all undefined behaviour.
pub struct Floor<V> {
    top: *mut *mut (V, u64),
    _stack: Vec<*mut (V, u64)>,
    _cells: Vec<MaybeUninit<(V, u64)>>,
}

impl<V: Payload> Subject<V> for Floor<V> {
    const NAME: &'static str = "floor (unchecked)";
    type Handle = (*mut (V, u64), *mut *mut (V, u64));

    fn with_capacity(capacity: usize) -> Self {
        let mut cells: Vec<MaybeUninit<(V, u64)>> = Vec::with_capacity(capacity);
        for number in 0..capacity {
            cells.push(MaybeUninit::new((V::of(number as u64), 0)));
        }
        let first = cells.as_mut_ptr().cast::<(V, u64)>();
        let mut stack: Vec<_> = (0..capacity)
            .rev()
            .map(|at| first.wrapping_add(at))
            .collect();
        Floor {
            top: stack.as_mut_ptr().wrapping_add(capacity),
            _stack: stack,
            _cells: cells,
        }
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> Self::Handle {
        // SAFETY: the benches insert no more than the capacity.
        unsafe {
            self.top = self.top.sub(1);
            let cell = self.top.read();
            (&raw mut (*cell).0).write(value);
            (cell, &raw mut self.top as *mut *mut (V, u64))
        }
    }

    #[inline(always)]
    fn get(&self, handle: &Self::Handle) -> u64 {
        // SAFETY: the benches ask for values that are there.
        unsafe { (*handle.0).0.number() }
    }

    #[inline(always)]
    fn remove(&mut self, handle: Self::Handle) -> V {
        // SAFETY: the benches remove values that are there, once.
        unsafe {
            self.top.write(handle.0);
            self.top = self.top.add(1);
            (&raw const (*handle.0).0).read()
        }
    }
}
