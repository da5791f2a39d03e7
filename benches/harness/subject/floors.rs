//! What no checked slab can beat: dense LIFOs of bare pointers and not one
//! check. A use after free, a foreign or a second removal, an insertion into a
//! full one are all undefined behaviour; the benches insert no more than the
//! capacity, and ask for and remove what is there, once.

#![allow(
    clippy::undocumented_unsafe_blocks,
    clippy::not_unsafe_ptr_arg_deref,
    reason = "every block below has the one reason above: a floor is what is left without checks"
)]

use std::mem::MaybeUninit;

use super::{Contains, subject};
use crate::payload::Payload;

/// A value and a word where a stamp would be.
pub type Stampable<V> = (V, u64);

/// Cells of type `C`, and the stack of those that are free.
pub struct Lifo<C> {
    /// Where the stack's top stands, on its own, as handles point to it.
    home: *mut *mut *mut C,
    _top: Box<*mut *mut C>,
    _stack: Vec<*mut C>,
    _cells: Vec<MaybeUninit<C>>,
}

impl<C> Lifo<C> {
    fn new(capacity: usize, vacant: impl Fn(u64) -> C) -> Self {
        let mut cells: Vec<MaybeUninit<C>> = (0..capacity as u64)
            .map(|number| MaybeUninit::new(vacant(number)))
            .collect();
        let first = cells.as_mut_ptr().cast::<C>();
        let mut stack: Vec<_> = (0..capacity)
            .rev()
            .map(|at| first.wrapping_add(at))
            .collect();
        let mut top = Box::new(stack.as_mut_ptr().wrapping_add(capacity));
        Lifo {
            home: &raw mut *top,
            _top: top,
            _stack: stack,
            _cells: cells,
        }
    }
}

/// # Safety
///
/// The home is alive and its stack not empty.
#[inline(always)]
unsafe fn pop<C>(home: *mut *mut *mut C) -> *mut C {
    // SAFETY: says the caller.
    unsafe {
        let top = home.read().sub(1);
        home.write(top);
        top.read()
    }
}

/// # Safety
///
/// The home is alive; the cell is one of its own and not on the stack.
#[inline(always)]
unsafe fn push<C>(home: *mut *mut *mut C, cell: *mut C) {
    // SAFETY: says the caller.
    unsafe {
        let top = home.read();
        top.write(cell);
        home.write(top.add(1));
    }
}

subject! {
    /// The barest: handles of 8 bytes, and cells of nothing but the value. To
    /// remove needs the slab.
    BareFloor(Lifo<V>) named "floor, bare" by *mut V;
    new(capacity) Lifo::new(capacity, V::of);
    insert(lifo, value) unsafe {
        let cell = pop(lifo.home);
        cell.write(value);
        cell
    };
    get(_lifo, cell) unsafe { (**cell).number() };
    add(_lifo, cell, number) unsafe { *(**cell).number_mut() += number };
    replace(_lifo, cell, value) unsafe { cell.replace(value) };
    remove(lifo, cell) unsafe {
        push(lifo.home, cell);
        cell.read()
    };
    free(lifo, cell) unsafe { push(lifo.home, cell) };
    refill(_lifo, cell, value) unsafe { (cell.replace(value), cell) };
}

/// A handle of the size of ours: the cell and its home.
type Wide<V> = (*mut Stampable<V>, *mut *mut *mut Stampable<V>);

/// A cell without a value is no answer.
#[cold]
#[inline(never)]
fn no_value() -> ! {
    panic!("no value");
}

/// The two floors with handles and cells of the same size as ours, which leave
/// their stamps alone, or write whether a cell is vacant and ask before they read.
macro_rules! stampable_floor {
    (
        $(#[$documentation:meta])* $subject:ident, $name:literal,
        |$cell:ident, $vacant:ident| $stamp:block,
        |$asked:ident| $ask:block
    ) => {
        subject! {
            $(#[$documentation])*
            $subject(Lifo<Stampable<V>>) named $name by Wide<V>;
            new(capacity) Lifo::new(capacity, |number| (V::of(number), 1));
            insert(lifo, value) unsafe {
                let home = lifo.home;
                let $cell = pop(home);
                (&raw mut (*$cell).0).write(value);
                let $vacant = 0;
                $stamp
                ($cell, home)
            };
            get(_lifo, handle) unsafe {
                let $asked = handle.0;
                $ask
                (*$asked).0.number()
            };
            add(_lifo, handle, number) unsafe {
                let $asked = handle.0;
                $ask
                *(*$asked).0.number_mut() += number
            };
            replace(_lifo, handle, value) unsafe { (&raw mut (*handle.0).0).replace(value) };
            remove(_lifo, handle) unsafe {
                let ($cell, home) = handle;
                let $vacant = 1;
                $stamp
                push(home, $cell);
                (&raw const (*$cell).0).read()
            };
            free(_lifo, handle) unsafe {
                let ($cell, home) = handle;
                let $vacant = 1;
                $stamp
                push(home, $cell)
            };
            refill(_lifo, handle, value) unsafe {
                ((&raw mut (*handle.0).0).replace(value), handle)
            };
        }
    };
}

stampable_floor! {
    /// No stamp is written: what is left is what any slab with such handles has
    /// to do.
    Floor, "floor", |_cell, _vacant| {}, |asked| {}
}
stampable_floor! {
    /// [`Floor`] that also writes into a cell whether it is vacant, and asks before it
    /// reads a value. A slab needs that to answer a stale key or handle: the difference is
    /// what the store costs, or the question, and the line of the cache that the stamp has
    /// for itself where the value is large.
    StampedFloor, "floor, stamped", |cell, vacant| { (&raw mut (*cell).1).write(vacant) },
    |asked| {
        if (*asked).1 != 0 {
            no_value();
        }
    }
}

impl<V: Payload> Contains<V> for StampedFloor<V> {
    #[inline(always)]
    fn contains(&self, handle: &Wide<V>) -> bool {
        // SAFETY: cells are there as long as the floor.
        unsafe { (*handle.0).1 == 0 }
    }
}
