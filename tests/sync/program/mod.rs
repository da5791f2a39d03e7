//! A program on what crosses threads, on one thread, and a model that knows what each answer
//! has to be: for random programs and for the fuzz target.

mod buffers;
#[cfg(target_has_atomic = "64")]
mod shared_slab;
mod slots;
#[allow(
    clippy::duplicate_mod,
    reason = "buffers of one thread have it too, in another program"
)]
#[path = "../../bytes/program/source.rs"]
mod source;
mod spsc_ring;
mod values;

use std::sync::Arc;

use flatslab::memory::Pages;
use flatslab::{Bounded, Growable};

use source::{BYTES, REFUSED, Refusing};
use values::{Aligned, Text, Unit};

/// The rest of a program; 0 when it is over.
struct Input<'p>(&'p [u8]);

impl Input<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> usize {
        self.next().unwrap_or(0).into()
    }

    fn below(&mut self, end: usize) -> usize {
        self.number() % end
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == count - 1
    }

    /// A place in a list, if it has any.
    fn pick<T>(&mut self, list: &[T]) -> Option<usize> {
        (!list.is_empty()).then(|| self.below(list.len()))
    }

    /// Takes something out of a list, if it has any.
    fn take<T>(&mut self, list: &mut Vec<T>) -> Option<T> {
        self.pick(list).map(|place| list.swap_remove(place))
    }
}

/// Memory that is counted.
fn pages() -> Pages {
    Pages::from_source(Arc::new(Refusing))
}

/// Kinds of programs: the first byte says which one it is.
pub(crate) const KINDS: u8 = 12;

/// Runs a program: the first byte says on what, the next ones how that is made, the others are
/// steps.
pub(crate) fn run(program: &[u8]) {
    REFUSED.set(0);
    let mut input = Input(program);
    let input = &mut input;
    match input.number() as u8 % KINDS {
        0 => slots::run::<Text, Bounded>(input),
        1 => slots::run::<Text, Growable>(input),
        2 => slots::run::<Unit, Bounded>(input),
        3 => slots::run::<Aligned, Growable>(input),
        4 | 5 | 11 => buffers::run(input),
        6 => spsc_ring::run(input),
        #[cfg(target_has_atomic = "64")]
        7 | 8 => shared_slab::run::<Text>(input),
        #[cfg(target_has_atomic = "64")]
        9 => shared_slab::run::<Unit>(input),
        #[cfg(target_has_atomic = "64")]
        10 => shared_slab::run::<Aligned>(input),
        _ => {}
    }
    REFUSED.set(0);
    assert_eq!(values::alive(), 0, "values are lost");
    assert_eq!(BYTES.get(), 0, "memory is lost");
}
