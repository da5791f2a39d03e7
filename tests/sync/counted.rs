//! Values that any thread may drop and that are counted, and memory that is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use flatslab::memory::Pages;

use crate::source::Counted;

/// How many of its [`Value`]s there are.
#[derive(Clone, Default)]
pub(crate) struct Alive(Arc<AtomicUsize>);

impl Alive {
    pub(crate) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }

    pub(crate) fn value(&self, number: u64) -> Value {
        self.0.fetch_add(1, SeqCst);
        Value {
            number,
            check: !number,
            alive: self.clone(),
        }
    }
}

/// A number that is counted, and knows whether it is whole.
pub(crate) struct Value {
    pub(crate) number: u64,
    check: u64,
    alive: Alive,
}

impl Value {
    #[track_caller]
    pub(crate) fn expect(&self, number: u64) {
        assert_eq!((self.number, self.check), (number, !number));
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.expect(self.number);
        // Found by who drops it twice, or reads it afterwards.
        self.check = self.number;
        assert!(self.alive.0.fetch_sub(1, SeqCst) > 0);
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.number.fmt(f)
    }
}

/// Runs `f` with memory that is counted, which has come back when `f` returns.
pub(crate) fn without_leak<R>(f: impl FnOnce(Pages) -> R) -> R {
    let source = Counted::new();
    let result = f(source.pages());
    source.expect_all_back();
    result
}
