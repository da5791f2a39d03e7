//! Random programs over slabs in each kind of memory.

#![forbid(unsafe_code)]

use flatslab::memory::Pages;
use flatslab::{Bounded, Growable};

use crate::common::slabs::with_memory;
use crate::common::values::expect_refusals;
use crate::program::Programs;
use crate::program::whole::{leaks, run};
use crate::source::Counted;

/// The programs of these numbers.
fn numbers(most: u64) -> impl Iterator<Item = (u64, u64)> {
    let (last, steps) = if cfg!(miri) { (1, 15) } else { (most, 300) };
    // Under Miri those that leak neither slabs nor guards.
    (1..=last)
        .filter(|&number| !cfg!(miri) || !leaks(number))
        .map(move |number| (number, steps))
}

/// Everything comes back to a source.
fn in_a_source<M: Programs>(lazy: bool) {
    expect_refusals();
    for (number, steps) in numbers(80) {
        let source = Counted::new();
        with_memory(source.pages(), lazy, || run::<M>(number, steps));
        if !leaks(number) {
            source.expect_all_back();
        }
    }
}

fn in_pages<M: Programs>(pages: &Pages, lazy: bool, most: u64) {
    expect_refusals();
    for (number, steps) in numbers(most) {
        with_memory(pages.clone(), lazy, || run::<M>(number, steps));
    }
}

#[test]
fn bounded_in_a_source() {
    in_a_source::<Bounded>(false);
}

#[test]
fn growable_in_a_source() {
    in_a_source::<Growable>(false);
}

#[test]
fn lazy_in_a_source() {
    in_a_source::<Bounded>(true);
}

#[test]
fn lazy_in_the_global_allocator() {
    in_pages::<Bounded>(&Pages::new(), true, 80);
}

#[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
mod system {
    use flatslab::memory::{HugePages, Lock, Node};

    use super::*;

    #[test]
    fn bounded_in_pages_of_the_system() {
        in_pages::<Bounded>(&Pages::system(), false, 60);
    }

    #[test]
    fn growable_in_pages_of_the_system() {
        in_pages::<Growable>(&Pages::system(), false, 60);
    }

    #[test]
    fn lazy_in_pages_of_the_system() {
        in_pages::<Bounded>(&Pages::system(), true, 60);
    }

    #[test]
    fn both_with_every_option_tried() {
        let pages = Pages::new()
            .huge(HugePages::Try)
            .lock(Lock::Try)
            .numa_node(Node::Try(0));
        in_pages::<Bounded>(&pages, true, 12);
        in_pages::<Bounded>(&pages, false, 12);
        in_pages::<Growable>(&pages, false, 12);
    }
}
