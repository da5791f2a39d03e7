//! The experiments, one a file.

pub(crate) mod drain;
pub(crate) mod fill;
pub(crate) mod heaps;
pub(crate) mod memory;
pub(crate) mod pinning;
pub(crate) mod requests;

/// Numbers of no order, the same in each arm.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(0x2545_F491_4F6C_DD1D ^ seed)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * end as u64) >> 32) as usize
    }

    /// With that probability.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        (self.below(1 << 30) as f64) < share * f64::from(1 << 30)
    }
}

/// By how much the highest of these exceeds the first, in percent.
pub(crate) fn drift(committed: &[u64]) -> f64 {
    let most = committed.iter().max().expect("some");
    (*most as f64 / committed[0] as f64 - 1.0) * 100.0
}

/// Bytes in memory of this process.
pub(crate) fn resident() -> u64 {
    flatslab_benches::machine::resident().expect("the system says how much is resident")
}
