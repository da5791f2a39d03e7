//! The invariants, walked.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::chunk::{ChunkPtr, Memory};
use super::epoch_record::{EpochState, Kind};
use super::raw_epochs::RawEpochs;
use super::store::Store;
use super::word::END;

impl ChunkPtr {
    /// C1, C2, C4.
    pub(super) fn check(self) {
        let mut vacant = BTreeSet::new();
        let mut next = self.free();
        while next != END {
            assert!(next < self.slots && vacant.insert(next), "C1: each once");
            let word = self.word(next).get();
            assert!(word.is_vacant(), "C1: vacant");
            next = word.next_free();
        }
        let all = |is: fn(super::word::Word) -> bool| {
            (0..self.slots)
                .filter(|&slot| is(self.word(slot).get()))
                .count()
        };
        assert_eq!(all(super::word::Word::is_vacant), vacant.len(), "C1: all");
        let retired = all(super::word::Word::is_retired);
        assert_eq!(self.usable() + retired, self.slots as usize, "C2: usable");
        let live = all(super::word::Word::has_value);
        assert_eq!(live, self.live() as usize, "C2: the count");
        assert!(
            live == 0 || !self.idle.get(),
            "E2: an idle one has no value"
        );
        assert!(live > 0 || !self.is_pinned(), "C2: the last value has left");
        let has_memory = self.memory.get() == Memory::Committed;
        assert!(has_memory || live == 0, "C3: memory");
    }
}

impl RawEpochs {
    /// Panics where an invariant does not hold.
    pub(super) fn check(&self) {
        self.records.check(self.ring());
        let mut seen = BTreeMap::new();
        for index in 0.. {
            let Some(record) = self.records.get(index) else {
                break;
            };
            let state = record.state.get();
            if record.generation.get() == 0 {
                assert_eq!(record.chunks.get(), 0, "R1: a spare record has no chunks");
                continue;
            }
            let open = if state == EpochState::Open {
                record.generation.get()
            } else {
                0
            };
            assert_eq!(record.open.get(), open, "E1: open");
            let mut chunks = 0;
            for chunk in self.chunks_of(record) {
                chunk.check();
                chunks += 1;
                assert_eq!(chunk.epoch.get(), Some(record), "E2: its own");
                assert_eq!(seen.insert(chunk.index(), "an epoch"), None, "E2: once");
                let pinned = state == EpochState::Pinned;
                assert_eq!(chunk.is_pinned(), pinned, "E1: pinned");
                // SAFETY: the class of a chunk of the slab's.
                let list = unsafe { record.list(chunk.class as usize) };
                let open = times_on_stack(list.open.get(), chunk);
                let idle = times_on_stack(list.idle.get(), chunk);
                if !pinned {
                    assert_eq!(chunk.listed.get(), open + idle == 1, "E2: the stack");
                    assert_eq!(open + idle, usize::from(chunk.has_room()), "E2: once");
                }
                assert_eq!(idle, usize::from(chunk.idle.get()), "E2: idle");
            }
            assert_eq!(record.chunks.get(), chunks, "E2: all");
            assert!(chunks > 0 || state != EpochState::Pinned, "E1: over");
            let replaced = !matches!(record.kind.get(), Kind::Ring(_)) || record.replaced.get();
            assert!(chunks == 0 || replaced, "R2: a record for the ring");
        }
        self.store.check(&mut seen);
    }
}

fn times_on_stack(stack: Option<ChunkPtr>, chunk: ChunkPtr) -> usize {
    let stack = core::iter::successors(stack, |above| above.next_open.get());
    stack.filter(|&it| it == chunk).count()
}

impl Store {
    fn check(&self, seen: &mut BTreeMap<u64, &'static str>) {
        let mut committed = 0;
        for class in 0..self.classes() {
            let (cached, bare) = self.unused(class);
            let mut count = 0;
            for (list, first) in [("cached", cached), ("bare", bare)] {
                let mut next = first;
                while let Some(chunk) = next {
                    chunk.check();
                    assert_eq!(chunk.live(), 0, "C3: unused");
                    assert!(chunk.epoch.get().is_none(), "U1: no epoch's");
                    let cached = chunk.memory.get() == Memory::Committed;
                    assert_eq!(cached, list == "cached", "U1: {list}");
                    assert_eq!(seen.insert(chunk.index(), list), None, "U1: once");
                    count += usize::from(cached);
                    next = chunk.next.get();
                }
            }
            assert_eq!(count, self.cached_of(class), "U1: the cached ones");
            let (first, count) = self.idle_of(class);
            let idle: Vec<_> =
                core::iter::successors(first, |chunk| chunk.next_idle.get()).collect();
            assert!(idle.iter().all(|chunk| chunk.idle.get()), "U5");
            assert_eq!(idle.len(), count, "U5: how many");
        }
        for index in 0.. {
            let Some(chunk) = self.get(index) else { break };
            if chunk.memory.get() == Memory::Committed {
                committed += self.plan(chunk.class as usize).data.size();
            }
            let retired = (0..chunk.slots).all(|slot| chunk.word(slot).get().is_retired());
            assert!(seen.contains_key(&chunk.index()) || retired, "U1: lost");
        }
        assert_eq!(committed, self.committed(), "U2");
        for place in self.noted.places() {
            if let Some(chunk) = self.noted.get(place) {
                assert_eq!(chunk.noted.get(), Some(place), "U5: its place");
                assert!(!chunk.is_pinned() && !chunk.idle.get(), "U5: noted");
                assert!(chunk.epoch.get().is_some(), "U5: an epoch's");
            }
        }
    }
}
