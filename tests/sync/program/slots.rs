//! The steps of a program on two slabs of a kind, and on values that are sent from them.

use std::thread;

use flatslab::TrackedSlab;
use flatslab::sync::SendSlot;
use flatslab::{AccessError, Bounded, BoundedSlab, FullError, Growable, Key, Memory, Slab, Slot};

use super::values::{Sample, alive};
use super::{Input, REFUSED, pages};

/// How slabs of a kind are made.
pub(super) trait Kind: Memory + Sized {
    const GROWS: bool;

    fn build<T>(slots: usize) -> TrackedSlab<T, Self>;

    fn shrink<T>(slab: &TrackedSlab<T, Self>);
}

impl Kind for Bounded {
    const GROWS: bool = false;

    fn build<T>(slots: usize) -> BoundedSlab<T> {
        BoundedSlab::builder()
            .capacity(slots)
            .pages(pages())
            .build()
    }

    fn shrink<T>(slab: &BoundedSlab<T>) {
        assert!(slab.len() <= slab.capacity());
    }
}

impl Kind for Growable {
    const GROWS: bool = true;

    fn build<T>(slots: usize) -> Slab<T> {
        Slab::builder()
            .chunk_capacity(slots.max(1))
            .pages(pages())
            .build()
    }

    fn shrink<T>(slab: &Slab<T>) {
        slab.shrink_to_fit();
    }
}

/// A value's slab and number, and what leads to it.
struct Held<H> {
    slab: usize,
    number: u64,
    by: H,
}

/// A slab, and what the model knows of it besides the values.
struct Side<T, M: Memory> {
    slab: Option<TrackedSlab<T, M>>,
    /// Values that were sent and are over, whose slots were not all reclaimed.
    returning: Vec<Key>,
    /// How many of them were reclaimed at most: the model does not know which.
    reclaimed: usize,
    /// Numbers and keys of values that were retired.
    retired: Vec<(u64, Key)>,
}

impl<T, M: Memory> Side<T, M> {
    /// All that came back without a value was reclaimed.
    fn all_reclaimed(&mut self) {
        self.returning.clear();
        self.reclaimed = 0;
    }

    /// So many were, or fewer.
    fn some_reclaimed(&mut self, most: usize) {
        self.reclaimed = self
            .returning
            .len()
            .min(self.reclaimed.saturating_add(most));
    }

    fn still_returning(&self) -> std::ops::RangeInclusive<usize> {
        self.returning.len() - self.reclaimed..=self.returning.len()
    }
}

struct World<'i, 'p, T, M: Memory> {
    input: &'i mut Input<'p>,
    sides: [Side<T, M>; 2],
    slots: Vec<Held<Slot<T>>>,
    keys: Vec<Held<Key>>,
    sent: Vec<Held<SendSlot<T>>>,
    /// Slots whose value is gone.
    stale: Vec<(usize, Slot<T>)>,
    last_number: u64,
}

impl<T: Sample, M: Kind> World<'_, '_, T, M> {
    /// Values of a slab.
    fn live(&self, index: usize) -> usize {
        let slots = self.slots.iter().map(|it| it.slab);
        let keys = self.keys.iter().map(|it| it.slab);
        let sent = self.sent.iter().map(|it| it.slab);
        let all = slots.chain(keys).chain(sent);
        all.filter(|it| *it == index).count() + self.sides[index].retired.len()
    }

    /// Slots of it that no reclaiming frees.
    fn used(&self, index: usize) -> usize {
        let stale = self.stale.iter().filter(|(slab, _)| *slab == index);
        self.live(index) + stale.count()
    }

    fn side(&mut self) -> usize {
        usize::from(self.input.one_in(4))
    }

    fn insert(&mut self) {
        let index = self.side();
        let used = self.used(index);
        let side = &mut self.sides[index];
        let Some(slab) = &side.slab else { return };
        self.last_number += 1;
        let number = self.last_number;
        let has_room = used < slab.capacity();
        let has_free = used + side.returning.len() < slab.capacity();
        match slab.try_insert(T::new(number)) {
            Ok(slot) => {
                assert!(has_room || M::GROWS);
                // One that grows frees some before it uses slots for the first time, of which
                // the model knows nothing.
                if !has_free || M::GROWS {
                    side.some_reclaimed(16);
                }
                let held = Held {
                    slab: index,
                    number,
                    by: slot,
                };
                self.slots.push(held);
            }
            Err(FullError(value)) => {
                assert!(!has_room && value.is(number));
                side.all_reclaimed();
            }
        }
    }

    fn send(&mut self) {
        if let Some(place) = self.input.pick(&self.stale) {
            if self.input.one_in(4) {
                let (index, slot) = self.stale.swap_remove(place);
                let slot = slot.try_into_send().err().expect("it has no value");
                self.stale.push((index, slot));
                return;
            }
        }
        let is_read = self.input.one_in(8);
        let Some(held) = self.input.take(&mut self.slots) else {
            return;
        };
        let Held { slab, number, by } = held;
        let owner = self.sides[slab].slab.as_ref().expect("its slots are stale");
        if is_read {
            let reader = owner.get(by.key()).expect("it is there");
            let by = by.try_into_send().err().expect("it is borrowed");
            assert!(reader.is(number));
            drop(reader);
            self.slots.push(Held { slab, number, by });
            return;
        }
        let key = by.key();
        let by = by.into_send();
        assert_eq!(SendSlot::key(&by), key);
        self.sent.push(Held { slab, number, by });
    }

    /// Ends a sent value in one of the ways there are.
    fn end_sent(&mut self) {
        let Some(Held { slab, number, by }) = self.input.take(&mut self.sent) else {
            return;
        };
        let key = SendSlot::key(&by);
        assert!(by.is(number));
        let kind = self.input.below(6);
        match kind {
            0 | 1 => {
                if kind == 0 {
                    assert!(SendSlot::into_inner(by).is(number));
                } else {
                    drop(SendSlot::into_pin(by));
                }
                // Without `std` nothing says that this is the slab's own thread, on which the slot
                // is free at once.
                if cfg!(not(feature = "std")) {
                    self.sides[slab].returning.push(key);
                }
            }
            4 | 5 => match (SendSlot::retire(by), &self.sides[slab].slab) {
                (Ok(()), Some(_)) => self.sides[slab].retired.push((number, key)),
                (Err(by), None) => assert!(SendSlot::key(&by) == key && by.is(number)),
                _ => panic!("a slab that is gone refuses, and no other"),
            },
            // The last handle would free memory, which is counted here.
            _ if self.sides[slab].slab.is_none() => drop(by),
            _ => {
                // The value ends here, where values are counted, too.
                let there = || SendSlot::into_inner(by);
                let value = thread::scope(|scope| scope.spawn(there).join());
                assert!(value.expect("it does not panic").is(number));
                self.sides[slab].returning.push(key);
            }
        }
    }

    fn change(&mut self) {
        let Some(place) = self.input.pick(&self.sent) else {
            return;
        };
        self.last_number += 1;
        let (slab, key) = (self.sent[place].slab, SendSlot::key(&self.sent[place].by));
        self.expect_borrowed(slab, key);
        let held = &mut self.sent[place];
        held.number = self.last_number;
        *held.by = T::new(held.number);
    }

    fn receive(&mut self) {
        let index = self.side();
        let Some(slab) = &self.sides[index].slab else {
            return;
        };
        let Some(held) = self.input.take(&mut self.sent) else {
            return;
        };
        let key = SendSlot::key(&held.by);
        let Held {
            slab: owner,
            number,
            by,
        } = held;
        match slab.receive(by) {
            Ok(by) => {
                assert!(owner == index && by.key() == key && by.get().is(number));
                self.slots.push(Held {
                    slab: owner,
                    number,
                    by,
                });
            }
            Err(by) => {
                assert!(owner != index && by.is(number));
                self.sent.push(Held {
                    slab: owner,
                    number,
                    by,
                });
            }
        }
    }

    /// What is not sent: slots that end, values left to their keys, keys that become slots.
    fn end_local(&mut self) {
        match self.input.below(5) {
            0 => drop(self.input.take(&mut self.stale)),
            1 => drop(self.input.take(&mut self.slots)),
            2 => {
                let held = self.input.take(&mut self.slots);
                self.keys.extend(held.map(|held| Held {
                    slab: held.slab,
                    number: held.number,
                    by: held.by.leak(),
                }));
            }
            kind => {
                let Some(Held { slab, number, by }) = self.input.take(&mut self.keys) else {
                    return;
                };
                let owner = self.sides[slab].slab.as_ref().expect("its keys are gone");
                if kind == 3 {
                    assert!(owner.remove_by_key(by).is(number));
                } else {
                    let by = owner.slot(by).expect("it is there");
                    self.slots.push(Held { slab, number, by });
                }
            }
        }
    }

    /// A method that reclaims, whatever else it does.
    fn reclaim(&mut self) {
        let index = self.side();
        let (live, used) = (self.live(index), self.used(index));
        let sent = self.sent.iter().filter(|it| it.slab == index).count();
        let used_keys = self.keys_in_use(index);
        let side = &mut self.sides[index];
        let Some(slab) = &side.slab else { return };
        let out = sent + side.retired.len();
        let kind = self.input.below(14);
        let mut keeps = |_: Key, _: &mut T| true;
        match kind {
            0 | 1 => {
                let freed = slab.reclaim() - std::mem::take(&mut side.retired).len();
                assert!(side.still_returning().contains(&freed));
            }
            2 => assert_eq!(slab.len(), live),
            3 => assert_eq!(slab.free_slots(), slab.capacity() - used),
            4 => {
                assert_eq!(slab.is_full(), slab.capacity() == used);
                side.some_reclaimed(16);
                return;
            }
            9 => {
                let most = self.input.below(8);
                let before = slab.retired_values();
                let freed = slab.reclaim_some(most);
                let dropped = before - slab.retired_values();
                // Of retired values the model does not know which were dropped first.
                let is_there = |key| slab.try_get(key).err() == Some(AccessError::Borrowed);
                if dropped > 0 {
                    side.retired.retain(|it| is_there(it.1));
                    side.all_reclaimed();
                }
                assert!(freed <= most && side.retired.len() == before - dropped);
                side.some_reclaimed(freed - dropped);
                return;
            }
            12 | 13 => {
                let Some(&(_, key)) = side.retired.first() else {
                    return;
                };
                self.expect_borrowed(index, key);
                return;
            }
            10 | 11 => {
                // A conflict with a value that is over frees all that came back.
                let free = |key: &&Key| !used_keys.contains(key);
                let Some(&key) = side.returning.iter().find(free) else {
                    return;
                };
                match kind {
                    10 => assert_eq!(slab.try_get(key).err(), Some(AccessError::Missing)),
                    _ => assert!(!slab.contains_key(key)),
                }
                // Unless it was free already.
                side.some_reclaimed(usize::MAX);
                return;
            }
            5 => M::shrink(slab),
            6 => assert_eq!(slab.try_retain(&mut keeps), out, "what is sent is left"),
            7 => {
                let result = slab.try_clear();
                assert_eq!(result.is_err(), sent > 0);
                if result.is_ok() {
                    self.sides[index].retired.clear();
                    self.emptied(index);
                }
            }
            _ => {
                let left = slab.try_retain(|_, _| false);
                assert_eq!(left, out, "what is sent is left");
                self.emptied(index);
            }
        }
        let side = &mut self.sides[index];
        side.all_reclaimed();
        if let Some(slab) = &side.slab {
            assert_eq!(
                (slab.retired_values(), slab.reclaim_some(0)),
                (side.retired.len(), 0)
            );
        }
    }

    /// Keys of a slab that lead to a value.
    fn keys_in_use(&self, index: usize) -> Vec<Key> {
        let slots = self.slots.iter().map(|it| (it.slab, it.by.key()));
        let keys = self.keys.iter().map(|it| (it.slab, it.by));
        let sent = self.sent.iter().map(|it| (it.slab, SendSlot::key(&it.by)));
        let all = slots.chain(keys).chain(sent).filter(|it| it.0 == index);
        let retired = self.sides[index].retired.iter().map(|it| it.1);
        all.map(|it| it.1).chain(retired).collect()
    }

    /// All values of a slab that were not sent are gone.
    fn emptied(&mut self, index: usize) {
        for held in std::mem::take(&mut self.slots) {
            if held.slab == index {
                self.stale.push((index, held.by));
            } else {
                self.slots.push(held);
            }
        }
        assert!(self.stale.iter().all(|(_, slot)| !slot.is_valid()));
        self.keys.retain(|it| it.slab != index);
    }

    fn drop_slab(&mut self, index: usize) {
        if self.sides[index].slab.take().is_some() {
            self.sides[index].all_reclaimed();
            self.sides[index].retired.clear();
            self.emptied(index);
        }
    }

    fn step(&mut self, step: u8) {
        match step % 16 {
            0..4 => self.insert(),
            4..7 => self.send(),
            7..10 => self.end_sent(),
            10 => self.change(),
            11 | 12 => self.receive(),
            13 => self.end_local(),
            14 => self.reclaim(),
            _ if step > 230 => {
                let index = self.side();
                self.drop_slab(index);
            }
            _ => REFUSED.set(self.input.below(3) as u8),
        }
    }

    /// Compares everything there is with the model; reclaims nothing.
    fn compare(&self) {
        for held in &self.slots {
            assert!(held.by.get().is(held.number));
        }
        for held in &self.sent {
            assert!(held.by.is(held.number));
        }
        for held in &self.keys {
            let slab = self.sides[held.slab].slab.as_ref();
            assert!(
                slab.expect("it is there")
                    .get(held.by)
                    .unwrap()
                    .is(held.number)
            );
        }
        for side in &self.sides {
            let retired = side.slab.as_ref().map_or(0, TrackedSlab::retired_values);
            assert_eq!(retired, side.retired.len());
            #[cfg(fuzzing)]
            side.slab.iter().for_each(TrackedSlab::check);
        }
        assert_eq!(alive(), self.live(0) + self.live(1));
    }

    fn expect_borrowed(&mut self, index: usize, key: Key) {
        let side = &mut self.sides[index];
        let Some(slab) = &side.slab else {
            return;
        };
        // Each conflict frees what came back, to tell what is out from what is over.
        let borrowed = Some(AccessError::Borrowed);
        assert_eq!(slab.try_get(key).err(), borrowed);
        assert_eq!(slab.try_get_mut(key).err(), borrowed);
        assert_eq!(slab.try_remove_by_key(key).err(), borrowed);
        assert_eq!(slab.try_slot(key).err(), Some(AccessError::Owned));
        side.some_reclaimed(usize::MAX);
    }
}

pub(super) fn run<T: Sample, M: Kind>(input: &mut Input<'_>) {
    let sides = [0, 1].map(|_| Side {
        slab: Some(M::build(input.below(10))),
        returning: Vec::new(),
        reclaimed: 0,
        retired: Vec::new(),
    });
    let mut world = World::<T, M> {
        input,
        sides,
        slots: Vec::new(),
        keys: Vec::new(),
        sent: Vec::new(),
        stale: Vec::new(),
        last_number: 0,
    };
    while let Some(step) = world.input.next() {
        world.step(step);
        world.compare();
    }
    // Sent values before the slabs, or after.
    if world.sent.len() % 2 == 0 {
        world.drop_slab(0);
        world.drop_slab(1);
    }
    while !world.sent.is_empty() {
        world.end_sent();
        world.compare();
    }
}
