//! Values that one thread makes and another ends, and containers that threads share.

pub(crate) mod alone;
pub(crate) mod frames;
pub(crate) mod hand_over;
pub(crate) mod larson;
pub(crate) mod recycled;
pub(crate) mod rings;
pub(crate) mod scratch;
pub(crate) mod shared;
pub(crate) mod stores;
pub(crate) mod values;

use std::hint;
use std::thread;

use flatslab_benches::payload::Payload;

/// Where values are that more than one thread has to do with.
pub(crate) trait Container<V> {
    const NAME: &'static str;
    /// What all threads have.
    type Common: Sync;
    /// What a thread that makes values has of its own.
    type Own;
    type Handle;

    fn common(capacity: usize) -> Self::Common;

    fn own(capacity: usize) -> Self::Own;

    /// A value; `None` where no slot has come back yet.
    fn make(common: &Self::Common, own: &Self::Own, value: V) -> Option<Self::Handle>;

    /// Drops a value where it stands.
    fn remove(common: &Self::Common, handle: Self::Handle);
}

/// One of values that carry a number.
pub(crate) trait Store<V: Payload>: Container<V> {
    /// The value's number.
    fn number(common: &Self::Common, handle: &Self::Handle) -> u64;

    /// Moves a value out.
    fn take(common: &Self::Common, handle: Self::Handle) -> V;

    /// Reads the number of a value, which ends on this thread, whichever that is.
    #[inline(always)]
    fn end(common: &Self::Common, handle: Self::Handle) -> u64 {
        let number = Self::number(common, &handle);
        Self::remove(common, handle);
        number
    }

    /// Whether the memory of what has ended comes back in a step of its own.
    const RECLAIMS: bool = false;

    /// That step.
    fn reclaim(_own: &Self::Own) {}
}

/// Looks again and again. Where there are fewer processors than threads, the other one gets
/// its turn.
#[inline]
pub(crate) fn wait_until(mut is: impl FnMut() -> bool) {
    let mut looks = 0_u32;
    while !is() {
        hint::spin_loop();
        looks += 1;
        if looks % (1 << 12) == 0 {
            thread::yield_now();
        }
    }
}
