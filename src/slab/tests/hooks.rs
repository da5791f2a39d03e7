//! What only a test and a fuzz target can ask a slab, as a trait over both.

use flatslab::{BoundedSlab, Key, Slab};

#[allow(dead_code, reason = "the fuzz target uses a part of this")]
pub trait Hooks<T> {
    fn check(&self);
    fn free_key(&self, count: usize) -> Option<Key>;
    fn state_bits(&self, key: Key) -> Option<u32>;
}

macro_rules! hooks {
    ($($slab:ident),*) => {$(
        impl<T> Hooks<T> for $slab<T> {
            fn check(&self) {
                self.check();
            }
            fn free_key(&self, count: usize) -> Option<Key> {
                self.free_key(count)
            }
            fn state_bits(&self, key: Key) -> Option<u32> {
                self.state_bits(key)
            }
        }
    )*};
}

hooks!(BoundedSlab, Slab);
