//! Numbers for random programs: the same ones for the same seed.

use std::cell::Cell;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(1) };
}

/// Begins a row of numbers on this thread.
pub fn seed(seed: u64) {
    STATE.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
}

/// A number below `n`, by xorshift.
pub fn random(n: u64) -> u64 {
    let mut x = STATE.get();
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    STATE.set(x);
    (x >> 11) % n
}

pub fn one_in(n: u64) -> bool {
    random(n) == 0
}
