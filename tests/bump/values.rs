//! Values that are counted, and what all tests ask of memory.

use std::alloc::Layout;
use std::cell::Cell;
use std::rc::Rc;

/// How many values there are.
#[derive(Clone, Default)]
pub(crate) struct Count(Rc<Cell<usize>>);

/// A value that is counted from when it is made until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: usize,
    count: Rc<Cell<usize>>,
    /// Too large to be built in registers.
    _bytes: [u64; 4],
}

impl Count {
    pub(crate) fn make(&self, number: usize) -> Counted {
        self.0.set(self.0.get() + 1);
        Counted {
            number,
            count: self.0.clone(),
            _bytes: [7; 4],
        }
    }

    #[track_caller]
    pub(crate) fn expect(&self, alive: usize) {
        assert_eq!(self.0.get(), alive, "values that are alive");
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Count(self.count.clone()).make(self.number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.set(self.count.get() - 1);
    }
}

/// Bytes, aligned to a word.
pub(crate) fn bytes(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 8).unwrap()
}

/// Panics if two of these ranges of addresses overlap.
#[track_caller]
pub(crate) fn expect_apart<T>(rows: &[&[T]]) {
    for (at, row) in rows.iter().enumerate() {
        for other in &rows[at + 1..] {
            let (a, b) = (row.as_ptr_range(), other.as_ptr_range());
            assert!(a.end <= b.start || b.end <= a.start, "{a:?} and {b:?}");
        }
    }
}

/// Takes what is of no interest.
pub(crate) fn ignore<T>(_: T) {}
