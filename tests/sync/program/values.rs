//! Values made of a number, which are counted.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

thread_local! {
    static NAMES: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
    static LAST: Cell<u64> = const { Cell::new(0) };
    static COUNTED: Cell<usize> = const { Cell::new(0) };
}

/// How many values were made and not dropped.
pub(super) fn alive() -> usize {
    NAMES.with_borrow(BTreeSet::len) + COUNTED.get()
}

fn count() {
    COUNTED.set(COUNTED.get() + 1);
}

fn uncount() {
    COUNTED.set(COUNTED.get().checked_sub(1).expect("dropped twice"));
}

pub(super) trait Sample: Send + Sync + Sized + 'static {
    fn new(number: u64) -> Self;

    fn is(&self, number: u64) -> bool;
}

/// Text in memory of its own, with a name that is dropped once.
pub(super) struct Text {
    text: String,
    name: u64,
}

impl Sample for Text {
    fn new(number: u64) -> Self {
        let name = LAST.get() + 1;
        LAST.set(name);
        NAMES.with_borrow_mut(|names| names.insert(name));
        let text = number.to_string();
        Text { text, name }
    }

    fn is(&self, number: u64) -> bool {
        self.text == number.to_string()
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let was_there = NAMES.with_borrow_mut(|names| names.remove(&self.name));
        assert!(was_there, "dropped twice");
    }
}

/// A value of no size.
pub(super) struct Unit;

impl Sample for Unit {
    fn new(_: u64) -> Self {
        count();
        Unit
    }

    fn is(&self, _: u64) -> bool {
        true
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        uncount();
    }
}

/// A value with an alignment of its own.
#[repr(align(128))]
pub(super) struct Aligned([u64; 3]);

impl Sample for Aligned {
    fn new(number: u64) -> Self {
        count();
        Aligned([number, !number, number])
    }

    fn is(&self, number: u64) -> bool {
        assert!(std::ptr::from_ref(self).is_aligned());
        self.0 == [number, !number, number]
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        uncount();
    }
}
