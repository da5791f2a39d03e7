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

/// What no checked slab can beat: a dense LIFO of bare pointers with cells and
/// handles of the same size as ours, and not one check. A use after free, a
/// foreign or a second removal, an insertion into a full one are all undefined
/// behaviour.
///
/// `STAMPED` also writes whether a cell is vacant into it, as anyone must who
/// wants to answer a stale key later: it shows what that store alone costs.
pub struct Floor<V, const STAMPED: bool = false> {
    /// Where the handles point back to: the stack's top.
    home: *mut *mut *mut Bare<V>,
    _top: Box<*mut *mut Bare<V>>,
    _stack: Vec<*mut Bare<V>>,
    _cells: Vec<MaybeUninit<Bare<V>>>,
}

/// A value and a word where a stamp would be.
pub type Bare<V> = (V, u64);

/// [`Floor`] with its stamps written.
pub type StampedFloor<V> = Floor<V, true>;

impl<V: Payload, const STAMPED: bool> Subject<V> for Floor<V, STAMPED> {
    const NAME: &'static str = if STAMPED { "floor, stamped" } else { "floor" };
    type Handle = (*mut Bare<V>, *mut *mut *mut Bare<V>);

    fn with_capacity(capacity: usize) -> Self {
        let mut cells: Vec<MaybeUninit<Bare<V>>> = Vec::with_capacity(capacity);
        for number in 0..capacity {
            cells.push(MaybeUninit::new((V::of(number as u64), 0)));
        }
        let first = cells.as_mut_ptr().cast::<Bare<V>>();
        let mut stack: Vec<_> = (0..capacity)
            .rev()
            .map(|at| first.wrapping_add(at))
            .collect();
        let mut top = Box::new(stack.as_mut_ptr().wrapping_add(capacity));
        Floor {
            home: &raw mut *top,
            _top: top,
            _stack: stack,
            _cells: cells,
        }
    }

    #[inline(always)]
    fn insert(&mut self, value: V) -> Self::Handle {
        let home = self.home;
        // SAFETY: the benches insert no more than the capacity.
        unsafe {
            let top = home.read().sub(1);
            let cell = top.read();
            home.write(top);
            (&raw mut (*cell).0).write(value);
            if STAMPED {
                (&raw mut (*cell).1).write(0);
            }
            (cell, home)
        }
    }

    #[inline(always)]
    fn get(&self, handle: &Self::Handle) -> u64 {
        // SAFETY: the benches ask for values that are there.
        unsafe { (*handle.0).0.number() }
    }

    #[inline(always)]
    fn remove(&mut self, handle: Self::Handle) -> V {
        let (cell, home) = handle;
        // SAFETY: the benches remove values that are there, once.
        unsafe {
            if STAMPED {
                (&raw mut (*cell).1).write(1);
            }
            let top = home.read();
            top.write(cell);
            home.write(top.add(1));
            (&raw const (*cell).0).read()
        }
    }
}
