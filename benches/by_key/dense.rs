//! Values in one slice under keys: walked, whether all slots have a value or one in a hundred, and
//! found, removed and inserted by key. Beside a slab whose values stay in their slots.

use flatslab::collections::DenseSlab;
use flatslab::{GenKey, KeySlab};
use flatslab_benches::prelude::*;
use slotmap::{DefaultKey, DenseSlotMap, SlotMap};

use crate::{picks, timed};

type Value = [u64; 6];

pub(super) trait Values {
    const NAME: &str;
    type Key: Copy;

    fn empty(capacity: usize) -> Self;
    fn insert(&mut self, value: Value) -> Self::Key;
    fn number(&self, key: Self::Key) -> Option<u64>;
    fn remove(&mut self, key: Self::Key) -> Option<Value>;
    fn add(&mut self, number: u64) -> u64;
}

pub(super) fn dense<V: Values>(mut setting: Setting) -> Turn {
    let (live, count) = (setting.live, timed(setting.live));
    let picks = picks(&mut setting, count);
    let mut values = V::empty(live + 1);
    let (mut keys, mut rows) = (Vec::with_capacity(live), Vec::new());
    rows.push(setting.time(live, || {
        for number in 0..live as u64 {
            keys.push(values.insert(Value::of(number)));
        }
    }));
    let mut sum = 0_u64;
    rows.push(setting.time(count, || {
        for &pick in &picks {
            sum += values.number(keys[pick as usize]).expect("it is there");
        }
    }));
    let expected: u64 = picks.iter().map(|pick| u64::from(*pick)).sum();
    assert_eq!(sum, expected);
    rows.push(setting.time(count, || {
        for &pick in &picks {
            let value = values.remove(keys[pick as usize]).expect("it is there");
            keys[pick as usize] = values.insert(value);
        }
    }));
    let mut walked = 0;
    rows.push(setting.time(live, || walked = opaque(values.add(1))));
    let live = live as u64;
    assert_eq!(walked, live * (live - 1) / 2 + live);
    let left = live.div_ceil(100);
    for (at, key) in keys.iter().enumerate() {
        if at as u64 % 100 > 0 {
            assert!(values.remove(*key).is_some());
        }
    }
    rows.push(setting.time(left as usize, || walked = opaque(values.add(1))));
    let numbers: u64 = (0..live).step_by(100).map(|number| number + 2).sum();
    assert_eq!(walked, numbers);
    Turn(rows.into_iter().map(|ticks| vec![ticks].into()).collect())
}

/// The methods of containers that differ in how they are made, and in what removes a value.
macro_rules! values {
    ($container:ty, $key:ty, $name:expr, $new:expr, $remove:ident) => {
        impl Values for $container {
            const NAME: &str = $name;
            type Key = $key;

            fn empty(capacity: usize) -> Self {
                let new: fn(usize) -> Self = $new;
                new(capacity)
            }

            #[inline(always)]
            fn insert(&mut self, value: Value) -> $key {
                self.insert(value)
            }

            #[inline(always)]
            fn number(&self, key: $key) -> Option<u64> {
                self.get(key).map(Payload::number)
            }

            #[inline(always)]
            fn remove(&mut self, key: $key) -> Option<Value> {
                self.$remove(key)
            }

            /// Adds to each number, and returns their sum.
            #[inline(never)]
            fn add(&mut self, number: u64) -> u64 {
                let mut sum = 0;
                for (_, value) in self.iter_mut() {
                    *value.number_mut() += number;
                    sum += value.number();
                }
                sum
            }
        }
    };
}

values!(DenseSlab<Value, GenKey>, GenKey, "DenseSlab", DenseSlab::with_capacity, try_remove);
values!(DenseSlotMap<DefaultKey, Value>, DefaultKey, "DenseSlotMap", DenseSlotMap::with_capacity, remove);
values!(
    KeySlab<Value, GenKey>, GenKey, "KeySlab, GenKey",
    |capacity| {
        let mut slab = KeySlab::with_capacity_and_key(capacity);
        slab.prepare(capacity).expect("there is memory");
        slab
    },
    try_remove
);
values!(SlotMap<DefaultKey, Value>, DefaultKey, "slotmap", SlotMap::with_capacity, remove);
