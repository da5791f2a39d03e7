//! `KeySlab` and `BoundedKeySlab`, with plain keys and with generations.

#![forbid(unsafe_code)]

mod generations;
mod iteration;
mod model;
mod panics;
mod restore;
#[cfg(feature = "serde")]
mod serde;
mod slab_promises;
mod threads;

use std::cell::RefCell;
use std::rc::Rc;

/// A value that is counted from when it is made until it is dropped, with bytes
/// that make a chunk of a few slots where there are many.
#[derive(Debug)]
struct Counted<const BYTES: usize = 0> {
    number: u64,
    count: Rc<RefCell<usize>>,
    _bytes: [u8; BYTES],
}

/// How many values there are.
#[derive(Clone, Default)]
struct Count(Rc<RefCell<usize>>);

impl Count {
    fn make<const BYTES: usize>(&self, number: u64) -> Counted<BYTES> {
        *self.0.borrow_mut() += 1;
        Counted {
            number,
            count: self.0.clone(),
            _bytes: [0; BYTES],
        }
    }

    fn alive(&self) -> usize {
        *self.0.borrow()
    }
}

impl<const BYTES: usize> Clone for Counted<BYTES> {
    fn clone(&self) -> Self {
        Count(self.count.clone()).make(self.number)
    }
}

impl<const BYTES: usize> Drop for Counted<BYTES> {
    fn drop(&mut self) {
        *self.count.borrow_mut() -= 1;
    }
}

/// Eight slots a chunk.
const LARGE: usize = 24 << 10;

/// The message with which `what` panics, as it has to.
fn message_of<R>(what: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(what));
    match panic.map(drop).expect_err("it panics").downcast::<String>() {
        Ok(message) => *message,
        Err(other) => (*other.downcast::<&str>().expect("a message")).to_string(),
    }
}
