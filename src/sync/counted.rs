//! Atomics that count, for tests that say how many locked operations something takes.

use core::sync::atomic;
use std::cell::Cell;

use crate::raw::atomic::Ordering;

std::thread_local! {
    static CHANGES: Cell<usize> = const { Cell::new(0) };
}

fn change() {
    CHANGES.with(|changes| changes.set(changes.get() + 1));
}

/// The number of read-modify-writes of the counting atomics on this thread while `run` ran,
/// including failed ones.
pub(crate) fn changes(run: impl FnOnce()) -> usize {
    let before = CHANGES.with(Cell::get);
    run();
    CHANGES.with(Cell::get) - before
}

macro_rules! counted {
    ($name:ident, $integer:ty) => {
        #[repr(transparent)]
        pub(crate) struct $name(atomic::$name);

        #[allow(dead_code, reason = "each of the two has what the other needs")]
        impl $name {
            pub(crate) const fn new(value: $integer) -> Self {
                Self(atomic::$name::new(value))
            }

            #[inline]
            pub(crate) fn load(&self, order: Ordering) -> $integer {
                self.0.load(order)
            }

            #[inline]
            pub(crate) fn store(&self, value: $integer, order: Ordering) {
                self.0.store(value, order);
            }

            #[inline]
            pub(crate) fn swap(&self, value: $integer, order: Ordering) -> $integer {
                change();
                self.0.swap(value, order)
            }

            #[inline]
            pub(crate) fn fetch_and(&self, bits: $integer, order: Ordering) -> $integer {
                change();
                self.0.fetch_and(bits, order)
            }

            #[inline]
            pub(crate) fn fetch_or(&self, bits: $integer, order: Ordering) -> $integer {
                change();
                self.0.fetch_or(bits, order)
            }

            #[inline]
            pub(crate) fn fetch_add(&self, more: $integer, order: Ordering) -> $integer {
                change();
                self.0.fetch_add(more, order)
            }

            #[inline]
            pub(crate) fn fetch_sub(&self, less: $integer, order: Ordering) -> $integer {
                change();
                self.0.fetch_sub(less, order)
            }

            #[inline]
            pub(crate) fn compare_exchange(
                &self,
                current: $integer,
                new: $integer,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$integer, $integer> {
                change();
                self.0.compare_exchange(current, new, success, failure)
            }

            #[inline]
            pub(crate) fn compare_exchange_weak(
                &self,
                current: $integer,
                new: $integer,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$integer, $integer> {
                change();
                self.0.compare_exchange_weak(current, new, success, failure)
            }
        }
    };
}

counted!(AtomicU32, u32);
counted!(AtomicU64, u64);
