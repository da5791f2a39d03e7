//! What a slab has to have and to answer.

use std::collections::BTreeMap;

use flatslab::epoch::{Contents, Epoch, EpochError, EpochKey, EpochState, EpochStats, Epochs};

use super::subject::{Config, Plan, Refused, limit};

/// Bits of a key that are the chunk; those of the slab follow, then slot and generation.
const INDEX_BITS: u32 = 30;

/// How many chunks without values are noted before they are idle.
const NOTED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Permanent,
    Ring(usize),
    Outside,
}

/// A chunk of an epoch.
struct Chunk {
    class: usize,
    live: usize,
}

/// An epoch that is not over.
pub(super) struct Record {
    pub(super) state: EpochState,
    kind: Kind,
    begun: u64,
    pub(super) tag: u64,
    chunks: BTreeMap<u64, Chunk>,
    /// Of the ring: whether the slab has a record for another epoch in its place, should it stay
    /// pinned, as it has had a chunk.
    is_replaced: bool,
    close_calls: u64,
    scanned: u64,
    recycled: u64,
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) epoch: Epoch,
    pub(super) class: usize,
    pub(super) size: usize,
    pub(super) number: u64,
    pub(super) readers: usize,
    pub(super) is_written: bool,
}

impl Entry {
    pub(super) fn is_borrowed(&self) -> bool {
        self.readers > 0 || self.is_written
    }
}

/// What closing an epoch has to report.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Report {
    pub(super) scanned: usize,
    pub(super) recycled: usize,
    pub(super) pinned: usize,
    pub(super) live: usize,
    pub(super) released_bytes: usize,
}

impl From<&flatslab::epoch::CloseReport> for Report {
    fn from(report: &flatslab::epoch::CloseReport) -> Self {
        Report {
            scanned: report.scanned,
            recycled: report.recycled,
            pinned: report.pinned,
            live: report.live,
            released_bytes: report.released_bytes,
        }
    }
}

pub(super) struct Model {
    plans: Vec<Plan>,
    pub(super) slab: u64,
    pub(super) records: BTreeMap<Epoch, Record>,
    pub(super) values: BTreeMap<EpochKey, Entry>,
    ring: Vec<Option<Epoch>>,
    position: usize,
    pub(super) current: Epoch,
    pub(super) advances: u64,
    last_generation: u64,
    cached: Vec<usize>,
    bound: usize,
    max_bytes: usize,
    /// The chunks that lost their last values last, by turns, and those before that have none.
    noted: [Option<(Epoch, u64)>; NOTED],
    turn: usize,
    /// Of chunks of scopes, which have none.
    last_name: u64,
    idle: Vec<(Epoch, u64)>,
    totals: [u64; 3],
    close_calls: u64,
    /// Records of epochs, used and spare.
    epoch_records: usize,
}

/// The slab's number and chunk of a key.
fn place(key: EpochKey) -> u64 {
    key.into_raw() as u64
}

impl Model {
    pub(super) fn new<C: Contents>(slab: &Epochs<C>, plans: Vec<Plan>, config: Config) -> Self {
        let mut model = Model {
            slab: 0,
            records: BTreeMap::new(),
            values: BTreeMap::new(),
            ring: vec![None; config.ring],
            position: 0,
            current: slab.current(),
            advances: 0,
            last_generation: slab.current().generation(),
            cached: vec![0; plans.len()],
            bound: config.cached,
            max_bytes: limit(config, &plans),
            noted: [None; NOTED],
            turn: 0,
            last_name: u64::MAX,
            idle: Vec::new(),
            plans,
            totals: [0; 3],
            close_calls: 0,
            epoch_records: config.ring + 1,
        };
        assert_eq!(slab.ring(), config.ring);
        model.ring[0] = Some(slab.current());
        model.begin(slab.current(), Kind::Ring(0));
        model.begin(slab.permanent(), Kind::Permanent);
        model
    }

    fn begin(&mut self, epoch: Epoch, kind: Kind) {
        let record = Record {
            state: EpochState::Open,
            kind,
            begun: self.advances,
            tag: 0,
            chunks: BTreeMap::new(),
            is_replaced: false,
            close_calls: 0,
            scanned: 0,
            recycled: 0,
        };
        let same_index = self.records.keys().any(|it| it.index() == epoch.index());
        assert!(!same_index, "two epochs with one index");
        self.records.insert(epoch, record);
    }

    fn begin_next(&mut self, epoch: Epoch, kind: Kind) {
        self.last_generation += 1;
        assert_eq!(
            epoch.generation(),
            self.last_generation,
            "records are counted"
        );
        self.begin(epoch, kind);
    }

    // Records of epochs.

    /// Whether a record is spare that the ring may not need.
    fn has_spare_record(&self) -> bool {
        let is_owed = |place: &&Option<Epoch>| place.is_none_or(|it| self.records[&it].is_replaced);
        let owed = self.ring.iter().filter(is_owed).count();
        self.epoch_records - self.records.len() > owed
    }

    /// Whether an epoch without room needs memory for a record, before it asks for a chunk.
    fn needs_record(&self, epoch: Epoch) -> bool {
        let record = &self.records[&epoch];
        let may_stay = matches!(record.kind, Kind::Ring(_)) && !record.is_replaced;
        may_stay && !self.has_spare_record()
    }

    /// An epoch asks for a chunk: it has its record.
    fn replace(&mut self, epoch: Epoch) {
        self.epoch_records += usize::from(self.needs_record(epoch));
        self.records.get_mut(&epoch).unwrap().is_replaced = true;
    }

    // Insertion.

    pub(super) fn class_of(&self, size: usize) -> Option<usize> {
        self.plans.iter().position(|plan| size <= plan.cell)
    }

    /// Why an insertion is refused, were there memory enough.
    pub(super) fn why_refused(&self, epoch: Epoch, is_foreign: bool) -> Option<Refused> {
        match self.records.get(&epoch).map(|record| record.state) {
            _ if is_foreign => Some(Refused::Foreign),
            Some(EpochState::Open) => None,
            Some(EpochState::Closing) => Some(Refused::Closing),
            _ => Some(Refused::Closed),
        }
    }

    fn has_room(&self, epoch: Epoch, class: usize) -> bool {
        let slots = self.plans[class].slots;
        let mut chunks = self.records[&epoch].chunks.values();
        chunks.any(|chunk| chunk.class == class && chunk.live < slots)
    }

    fn committed(&self) -> usize {
        let of_epochs = self
            .records
            .values()
            .flat_map(|record| record.chunks.values());
        let of_epochs: usize = of_epochs.map(|chunk| self.plans[chunk.class].bytes).sum();
        let cached = self.cached.iter().zip(&self.plans);
        of_epochs
            + cached
                .map(|(count, plan)| count * plan.bytes)
                .sum::<usize>()
    }

    /// Whether there is no memory for a chunk of a class, though all that is free makes way.
    fn at_limit(&self, class: usize) -> bool {
        let others = self.others(class);
        let cached: usize = others
            .map(|it| self.cached[it] * self.plans[it].bytes)
            .sum();
        // Also the one that was noted, if it has no values.
        let empty = |chunk: &&Chunk| chunk.live == 0 && self.cached[class] == 0;
        let records = self.records.values();
        let open = records.filter(|record| record.state != EpochState::Pinned);
        let empty: Vec<_> = open
            .flat_map(|it| it.chunks.values())
            .filter(empty)
            .collect();
        if self.cached[class] > 0 || empty.iter().any(|chunk| chunk.class == class) {
            return false;
        }
        let idle: usize = empty
            .iter()
            .map(|chunk| self.plans[chunk.class].bytes)
            .sum();
        self.committed() - cached - idle + self.plans[class].bytes > self.max_bytes
    }

    fn exceeds(&self, class: usize) -> bool {
        self.committed() + self.plans[class].bytes > self.max_bytes
    }

    // Chunks without values of epochs that are not closed.

    /// The chunks that were noted are idle, unless they have values again.
    fn settle(&mut self) {
        for index in 0..NOTED {
            self.settle_one((self.turn + index) % NOTED);
        }
    }

    fn settle_one(&mut self, place: usize) {
        if let Some((epoch, name)) = self.noted[place].take() {
            if self.records[&epoch].chunks[&name].live == 0 {
                self.idle.push((epoch, name));
            }
        }
    }

    /// A chunk of an epoch that is not closed has lost its last value.
    fn emptied(&mut self, epoch: Epoch, name: u64) {
        if !self.noted.contains(&Some((epoch, name))) {
            self.settle_one(self.turn);
            self.noted[self.turn] = Some((epoch, name));
            self.turn = (self.turn + 1) % NOTED;
        }
    }

    /// The chunks of an epoch leave it, or are pinned.
    fn forget(&mut self, epoch: Epoch) {
        self.noted = self.noted.map(|it| it.filter(|it| it.0 != epoch));
        self.idle.retain(|it| it.0 != epoch);
    }

    fn class_of_chunk(&self, (epoch, name): &(Epoch, u64)) -> usize {
        self.records[epoch].chunks[name].class
    }

    /// The idle chunk of a class that was idle last leaves its epoch. Returns its name.
    fn give_up(&mut self, class: usize) -> Option<u64> {
        let is_of = |it: &&(Epoch, u64)| self.class_of_chunk(it) == class;
        let (epoch, name) = *self.idle.iter().rfind(is_of)?;
        self.idle.retain(|it| *it != (epoch, name));
        let record = self.records.get_mut(&epoch).unwrap();
        record.chunks.remove(&name);
        record.is_replaced &= !record.chunks.is_empty();
        Some(name)
    }

    /// What free chunks of other classes make way for one of this class.
    fn make_way(&mut self, class: usize) {
        let cached = |model: &Self| -> usize {
            let others = model.others(class);
            others
                .map(|it| model.cached[it] * model.plans[it].bytes)
                .sum()
        };
        // Unused ones, if they are enough; else idle ones too.
        let is_enough = self.committed() - cached(self) + self.plans[class].bytes <= self.max_bytes;
        if !is_enough {
            self.settle();
        }
        for other in self.others(class) {
            while self.exceeds(class) {
                if self.cached[other] > 0 {
                    self.cached[other] -= 1;
                } else if is_enough || self.give_up(other).is_none() {
                    break;
                }
            }
        }
    }

    /// The other classes, in the order in which their unused chunks make way.
    fn others(&self, class: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.plans.len()).filter(move |&other| other != class)
    }

    /// Panics unless an insertion into an open epoch may be refused for want of memory.
    pub(super) fn expect_full(&mut self, epoch: Epoch, class: usize) {
        assert!(!self.has_room(epoch, class), "there is room");
        self.replace(epoch);
        self.settle();
        assert!(self.at_limit(class), "there is memory");
    }

    /// Accounts for a chunk of that name, if it has one: the epoch has no room.
    fn take_chunk(&mut self, epoch: Epoch, class: usize, name: Option<u64>) {
        assert!(!self.has_room(epoch, class), "chunks are filled first");
        self.replace(epoch);
        let is_another =
            |it: &(&Epoch, &Record)| name.is_some_and(|name| it.1.chunks.contains_key(&name));
        if self.cached[class] == 0 && self.exceeds(class) {
            let others = self.others(class);
            let cached: usize = others
                .map(|it| self.cached[it] * self.plans[it].bytes)
                .sum();
            let is_enough = self.committed() - cached + self.plans[class].bytes <= self.max_bytes;
            if !is_enough {
                self.settle();
                if let Some(given) = self.give_up(class) {
                    assert!(
                        name.is_none_or(|name| name == given),
                        "another chunk was idle last"
                    );
                    return self.add_chunk(epoch, class, given);
                }
            }
        }
        assert!(!self.at_limit(class), "past the limit");
        if self.cached[class] == 0 {
            self.make_way(class);
        }
        // It may be that of one that made way.
        let is_taken = self.records.iter().any(|it| is_another(&it));
        assert!(!is_taken, "a chunk of two epochs");
        self.cached[class] = self.cached[class].saturating_sub(1);
        let name = name.unwrap_or_else(|| {
            self.last_name -= 1;
            self.last_name
        });
        self.add_chunk(epoch, class, name);
    }

    fn add_chunk(&mut self, epoch: Epoch, class: usize, name: u64) {
        let chunk = Chunk { class, live: 0 };
        let record = self.records.get_mut(&epoch).unwrap();
        assert!(record.chunks.insert(name, chunk).is_none());
    }

    pub(super) fn insert(&mut self, key: EpochKey, entry: Entry) {
        let name = place(key) % (1 << INDEX_BITS);
        let slab = place(key) >> INDEX_BITS;
        assert!(self.slab == 0 || self.slab == slab, "one slab, one number");
        self.slab = slab;
        // One of another class made way, and its name is that of the new one.
        let chunk = self.records[&entry.epoch].chunks.get(&name);
        if chunk.is_none_or(|chunk| chunk.class != entry.class) {
            self.take_chunk(entry.epoch, entry.class, Some(name));
        }
        self.idle.retain(|it| *it != (entry.epoch, name));
        let slots = self.plans[entry.class].slots;
        let record = self.records.get_mut(&entry.epoch).unwrap();
        let chunk = record.chunks.get_mut(&name).unwrap();
        assert_eq!(chunk.class, entry.class, "chunks have one class");
        chunk.live += 1;
        assert!(chunk.live <= slots);
        let before = self.values.insert(key, entry);
        assert!(before.is_none(), "two values with one key");
    }

    /// A value of a scope, which has no key. If it `comes_twice`, it was removed once before.
    pub(super) fn insert_in_scope(&mut self, epoch: Epoch, class: usize, comes_twice: bool) {
        let slots = self.plans[class].slots;
        if !self.has_room(epoch, class) {
            self.take_chunk(epoch, class, None);
        }
        let mut chunks = self.records.get_mut(&epoch).unwrap().chunks.iter_mut();
        let chunk = chunks.find(|it| it.1.class == class && it.1.live < slots);
        let (&name, chunk) = chunk.unwrap();
        chunk.live += 1;
        if comes_twice && chunk.live == 1 {
            self.emptied(epoch, name);
        }
    }

    // Removal.

    pub(super) fn remove(&mut self, key: EpochKey) {
        let entry = self.values.remove(&key).unwrap();
        let name = place(key) % (1 << INDEX_BITS);
        let record = self.records.get_mut(&entry.epoch).unwrap();
        let chunk = record.chunks.get_mut(&name).unwrap();
        chunk.live -= 1;
        if chunk.live == 0 && record.state != EpochState::Pinned {
            self.emptied(entry.epoch, name);
        } else if chunk.live == 0 {
            record.chunks.remove(&name);
            self.cached[entry.class] += 1;
            if record.chunks.is_empty() {
                self.records.remove(&entry.epoch);
            }
        }
        self.trim();
    }

    pub(super) fn keys_in(&self, epoch: Epoch) -> Vec<EpochKey> {
        let of_epoch = self.values.iter().filter(|it| it.1.epoch == epoch);
        let mut keys: Vec<_> = of_epoch.map(|it| *it.0).collect();
        keys.sort_by_key(|key| (place(*key), (key.into_raw() >> 64) as u16));
        keys
    }

    /// Clears an epoch. Returns the answer; where a value is borrowed, of any such one.
    pub(super) fn clear(&mut self, epoch: Epoch, is_foreign: bool) -> Result<usize, EpochError> {
        if is_foreign {
            return Err(EpochError::Foreign);
        }
        let keys = self.keys_in(epoch);
        let borrowed = keys.iter().find(|key| self.values[key].is_borrowed());
        if let Some(key) = borrowed {
            return Err(EpochError::Borrowed(*key));
        }
        for key in &keys {
            self.values.remove(key);
        }
        self.forget(epoch);
        if let Some(record) = self.records.get_mut(&epoch) {
            for (_, chunk) in std::mem::take(&mut record.chunks) {
                self.cached[chunk.class] += 1;
            }
            if record.state == EpochState::Pinned {
                self.records.remove(&epoch);
            }
        }
        self.trim();
        Ok(keys.len())
    }

    fn trim(&mut self) -> usize {
        self.trim_to(self.bound)
    }

    fn trim_to(&mut self, kept: usize) -> usize {
        let mut released = 0;
        for (cached, plan) in self.cached.iter_mut().zip(&self.plans) {
            let goes = cached.saturating_sub(kept);
            *cached -= goes;
            released += goes * plan.bytes;
        }
        released
    }

    pub(super) fn set_cached_chunks(&mut self, chunks: usize) -> usize {
        self.bound = chunks;
        self.trim()
    }

    pub(super) fn shrink_to_fit(&mut self) -> usize {
        self.trim_to(0)
    }

    // Epochs.

    fn close_epoch(&mut self, epoch: Epoch) -> Report {
        self.forget(epoch);
        let record = self.records.get_mut(&epoch).unwrap();
        assert_eq!(record.state, EpochState::Closing);
        if let Kind::Ring(place) = record.kind {
            self.ring[place] = None;
        }
        let scanned = record.chunks.len();
        let cached = &mut self.cached;
        record.chunks.retain(|_, chunk| {
            cached[chunk.class] += usize::from(chunk.live == 0);
            chunk.live > 0
        });
        let pinned = record.chunks.len();
        let report = Report {
            scanned,
            recycled: scanned - pinned,
            pinned,
            live: record.chunks.values().map(|chunk| chunk.live).sum(),
            released_bytes: 0,
        };
        record.state = EpochState::Pinned;
        record.scanned = report.scanned as u64;
        record.recycled = report.recycled as u64;
        let more = [1, record.scanned, record.recycled];
        self.totals = [0, 1, 2].map(|it| self.totals[it] + more[it]);
        if pinned == 0 {
            self.records.remove(&epoch);
        }
        report
    }

    fn stop(&mut self, epoch: Epoch) {
        self.records.get_mut(&epoch).unwrap().state = EpochState::Closing;
    }

    fn advance_to(&mut self, next: Epoch) {
        self.position = (self.position + 1) % self.ring.len();
        if let Some(last) = self.ring[self.position] {
            self.close_epoch(last);
        }
        self.advances += 1;
        self.begin_next(next, Kind::Ring(self.position));
        self.ring[self.position] = Some(next);
        self.current = next;
    }

    pub(super) fn advance(&mut self, next: Epoch) {
        self.stop(self.current);
        self.advance_to(next);
        self.trim();
    }

    pub(super) fn advance_and_close(&mut self, next: Epoch) -> Report {
        self.stop(self.current);
        let mut report = self.close_epoch(self.current);
        self.advance_to(next);
        report.released_bytes = self.trim();
        report
    }

    pub(super) fn close(&mut self, epoch: Epoch, is_foreign: bool) -> Result<Report, EpochError> {
        self.close_calls += 1;
        if is_foreign {
            return Err(EpochError::Foreign);
        }
        let Some(record) = self.records.get_mut(&epoch) else {
            return Err(EpochError::Closed);
        };
        record.close_calls += 1;
        match (record.state, record.kind) {
            (EpochState::Open, Kind::Permanent) => Err(EpochError::Permanent),
            (EpochState::Open, Kind::Ring(_)) => Err(EpochError::Current),
            (EpochState::Open, Kind::Outside) | (EpochState::Closing, _) => {
                self.stop(epoch);
                let mut report = self.close_epoch(epoch);
                report.released_bytes = self.trim();
                Ok(report)
            }
            _ => Err(EpochError::Closed),
        }
    }

    pub(super) fn open(&mut self, epoch: Epoch) {
        self.epoch_records += usize::from(!self.has_spare_record());
        self.begin_next(epoch, Kind::Outside);
    }

    /// How many epochs outside the ring are open.
    pub(super) fn opened(&self) -> usize {
        let records = self.records.values();
        records
            .filter(|record| record.state == EpochState::Open && record.kind == Kind::Outside)
            .count()
    }

    pub(super) fn end_scope(&mut self, epoch: Epoch) {
        self.stop(epoch);
        self.clear(epoch, false).unwrap();
        self.close_epoch(epoch);
    }

    // What it reports.

    fn stats_of(&self, record: &Record, sizes: &[usize]) -> EpochNumbers {
        let is_pinned = record.state == EpochState::Pinned;
        let bytes = record.chunks.values().map(|it| self.plans[it.class].bytes);
        EpochNumbers {
            state: record.state,
            age: self.advances - record.begun,
            live: sizes.len(),
            chunks: record.chunks.len(),
            pinned_chunks: if is_pinned { record.chunks.len() } else { 0 },
            committed_bytes: bytes.sum(),
            live_bytes: sizes.iter().sum(),
            counted: [record.close_calls, record.scanned, record.recycled],
        }
    }

    /// Panics unless the slab reports what there has to be.
    pub(super) fn compare_stats<C: Contents>(&mut self, slab: &Epochs<C>) {
        let mut sizes: BTreeMap<Epoch, Vec<usize>> = BTreeMap::new();
        for entry in self.values.values() {
            sizes.entry(entry.epoch).or_default().push(entry.size);
        }
        let sizes_in = |epoch| sizes.get(epoch).map_or(&[][..], |sizes| sizes);
        let expected = self.records.iter();
        let expected: BTreeMap<_, _> = expected
            .map(|(epoch, record)| (*epoch, self.stats_of(record, sizes_in(epoch))))
            .collect();
        let found: BTreeMap<_, _> = slab
            .epochs()
            .map(|stats| (stats.epoch, EpochNumbers::from(&stats)))
            .collect();
        assert_eq!(found, expected);
        let stats = slab.stats();
        let sum = |of: fn(&EpochNumbers) -> usize| expected.values().map(of).sum::<usize>();
        assert_eq!(stats.live, sum(|it| it.live));
        assert_eq!(stats.live_bytes, sum(|it| it.live_bytes));
        assert_eq!(stats.epochs, expected.len());
        assert_eq!(stats.chunks, sum(|it| it.chunks));
        assert_eq!(stats.pinned_chunks, sum(|it| it.pinned_chunks));
        let pinned = |it: &EpochNumbers| usize::from(it.state == EpochState::Pinned);
        assert_eq!(stats.pinned_epochs, sum(pinned));
        assert_eq!(stats.cached_chunks, self.cached.iter().sum::<usize>());
        assert_eq!(stats.committed_bytes, self.committed());
        let all_bytes = self.committed() + stats.record_bytes;
        assert_eq!(slab.memory().bytes(), all_bytes);
        assert_eq!(stats.advances, self.advances);
        let totals = [stats.closed, stats.scanned, stats.recycled];
        assert_eq!(totals, self.totals);
        assert_eq!(stats.close_calls, self.close_calls);
        assert!(stats.record_bytes > 0);
        assert_eq!(slab.current(), self.current);
        for (epoch, record) in &self.records {
            assert_eq!(slab.epoch_stats(*epoch).unwrap().tag, record.tag);
        }
    }
}

/// What is reported of an epoch, but for its tag.
#[derive(Debug, PartialEq)]
struct EpochNumbers {
    state: EpochState,
    age: u64,
    live: usize,
    chunks: usize,
    pinned_chunks: usize,
    committed_bytes: usize,
    live_bytes: usize,
    counted: [u64; 3],
}

impl From<&EpochStats> for EpochNumbers {
    fn from(stats: &EpochStats) -> Self {
        EpochNumbers {
            state: stats.state,
            age: stats.age,
            live: stats.live,
            chunks: stats.chunks,
            pinned_chunks: stats.pinned_chunks,
            committed_bytes: stats.committed_bytes,
            live_bytes: stats.live_bytes,
            counted: [stats.close_calls, stats.scanned, stats.recycled],
        }
    }
}
