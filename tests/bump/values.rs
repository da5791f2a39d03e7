//! Values that are counted, and what all tests ask of memory.

use std::alloc::Layout;
use std::cell::RefCell;
use std::marker::PhantomData;

thread_local! {
    /// How many values each [`Count`] has. Values that are never dropped leak nothing else.
    static COUNTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// How many values there are; of this thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count(usize, PhantomData<*const ()>);

/// A value that is counted from when it is made until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: usize,
    count: Count,
    /// Too large to be built in registers.
    _bytes: [u64; 4],
}

impl Default for Count {
    fn default() -> Self {
        COUNTS.with_borrow_mut(|counts| {
            counts.push(0);
            Count(counts.len() - 1, PhantomData)
        })
    }
}

impl Count {
    fn get(self) -> usize {
        COUNTS.with_borrow(|counts| counts[self.0])
    }

    fn set(self, alive: usize) {
        COUNTS.with_borrow_mut(|counts| counts[self.0] = alive);
    }

    pub(crate) fn make(self, number: usize) -> Counted {
        self.set(self.get() + 1);
        Counted {
            number,
            count: self,
            _bytes: [7; 4],
        }
    }

    #[track_caller]
    pub(crate) fn expect(self, alive: usize) {
        assert_eq!(self.get(), alive, "values that are alive");
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.count.make(self.number)
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
