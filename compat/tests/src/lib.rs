//! What the tests share: random numbers, and what two crates do with the same call.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Random numbers, the same in each run.
pub struct Random(u64);

impl Random {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next one, below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as usize) % end
    }

    /// Whether something happens that does once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// How many random programs there are: few in an interpreter.
#[must_use]
pub const fn programs(many: u64) -> u64 {
    if cfg!(miri) { many / 100 } else { many }
}

/// The text of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    match payload.downcast_ref::<&str>() {
        Some(text) => (*text).to_string(),
        None => payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_default(),
    }
}

/// The result of a call, or the text with which it panicked.
pub fn outcome<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| text(&*payload))
}

/// Whether a type implements a trait.
#[macro_export]
macro_rules! implements {
    ($type:ty: $trait:path) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        trait No {
            const IS: bool = false;
        }
        impl<T: ?Sized> No for Probe<T> {}
        #[allow(dead_code, reason = "not used where the trait is missing")]
        impl<T: ?Sized + $trait> Probe<T> {
            const IS: bool = true;
        }
        <Probe<$type>>::IS
    }};
}
