//! Both slabs against a plain model: which value stands where, who holds it and
//! who borrows it, in which order free slots are handed out, which chunks there
//! are, and which values must have been dropped, in which order.
//!
//! Operations come from bytes, so that whoever has bytes can run them.

#![allow(unreachable_pub, reason = "each test file is a crate of its own")]

use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

use crate::common::{AnySlab, Kind};
use flatslab::{Borrowed, Key, Ref, RefMut, Slot, SlotBox, VacantSlot};

/// Slots of the bounded slab.
const ROOM: usize = 6;
/// Slots of the growable one's chunks.
const CHUNK: usize = 2;

/// A number picks one of the handles there are, by remainder.
#[derive(Clone, Debug)]
enum Op {
    Insert,
    InsertWith,
    Reserve,
    Fill(u8),
    DropVacant(u8),
    Read(u8),
    Write(u8),
    ReadByKey(u8),
    WriteByKey(u8),
    HoldRef(u8),
    HoldRefMut(u8),
    DropGuard(u8),
    Replace(u8),
    Modify(u8),
    IntoInner(u8),
    Take(u8),
    Leak(u8),
    DropSlot(u8),
    Regain(u8),
    IntoBox(u8),
    Unbox(u8),
    BoxIntoInner(u8),
    BoxThroughRaw(u8),
    WriteBox(u8),
    DropBox(u8),
    RemoveByKey(u8),
    Iterate,
    IterateMut,
    Retain(u8),
    Drain(u8),
    MakeRoom(u8),
    Shrink,
    Clear,
    DropSlab,
}

/// How often an operation comes, and how a byte makes one.
type Weighted = (usize, fn(u8) -> Op);

const OPS: [Weighted; 34] = [
    (8, |_| Op::Insert),
    (2, |_| Op::InsertWith),
    (2, |_| Op::Reserve),
    (2, Op::Fill),
    (1, Op::DropVacant),
    (1, Op::Read),
    (1, Op::Write),
    (1, Op::ReadByKey),
    (1, Op::WriteByKey),
    (4, Op::HoldRef),
    (2, Op::HoldRefMut),
    (4, Op::DropGuard),
    (1, Op::Replace),
    (1, Op::Modify),
    (2, Op::IntoInner),
    (2, Op::Take),
    (3, Op::Leak),
    (3, Op::DropSlot),
    (3, Op::Regain),
    (2, Op::IntoBox),
    (2, Op::Unbox),
    (1, Op::BoxIntoInner),
    (1, Op::BoxThroughRaw),
    (1, Op::WriteBox),
    (1, Op::DropBox),
    (3, Op::RemoveByKey),
    (1, |_| Op::Iterate),
    (1, |_| Op::IterateMut),
    (1, Op::Retain),
    (1, Op::Drain),
    (2, Op::MakeRoom),
    (2, |_| Op::Shrink),
    (1, |_| Op::Clear),
    (1, |_| Op::DropSlab),
];

/// An operation from two bytes: cheap to draw, under an interpreter too, and
/// the same for whoever draws them.
fn decode((kind, index): (u8, u8)) -> Op {
    let all: usize = OPS.iter().map(|(weight, _)| weight).sum();
    let mut place = usize::from(kind) % all;
    for (weight, make) in OPS {
        if place < weight {
            return make(index);
        }
        place -= weight;
    }
    unreachable!("the place is below the sum of the weights")
}

/// A value that writes its number down when it is dropped.
struct Logged {
    number: u64,
    log: Rc<RefCell<Vec<u64>>>,
}

impl Drop for Logged {
    fn drop(&mut self) {
        self.log.borrow_mut().push(self.number);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Holder {
    #[default]
    Nobody,
    Slot,
    Vacant,
    Box,
}

/// What the model knows of a cell.
#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    value: Option<u64>,
    holder: Holder,
    readers: usize,
    writer: bool,
    doomed: bool,
}

impl Cell {
    fn is_borrowed(&self) -> bool {
        self.readers > 0 || self.writer || self.holder == Holder::Box
    }

    /// By key, and by a slot of a living slab.
    fn admits_reader(&self) -> bool {
        self.value.is_some() && !self.doomed && !self.writer && self.holder != Holder::Box
    }

    fn admits_writer(&self) -> bool {
        self.value.is_some() && !self.is_borrowed()
    }
}

enum Guard {
    Shared(Ref<'static, Logged>),
    Exclusive(RefMut<'static, Logged>),
}

impl Guard {
    fn number(&self) -> u64 {
        match self {
            Guard::Shared(guard) => guard.number,
            Guard::Exclusive(guard) => guard.number,
        }
    }
}

/// The slab under test and all that holds its cells; the model of both.
struct World<K: Kind> {
    /// Leaked, so that guards may stand beside it; taken back to be dropped. A
    /// pointer, since a reference that is passed on must not be freed.
    slab: Option<NonNull<K::Slab<Logged>>>,
    slots: Vec<Slot<Logged>>,
    vacants: Vec<VacantSlot<Logged>>,
    boxes: Vec<SlotBox<Logged>>,
    guards: Vec<(Key, Guard)>,

    cells: Vec<Cell>,
    /// Of the growable slab: whether there is a chunk of that number.
    chunks: Vec<bool>,
    /// Free slots in the order in which they will be handed out, the next last.
    free: Vec<usize>,
    grows: bool,
    made: u64,
    log: Rc<RefCell<Vec<u64>>>,
    /// What the log must say after this operation.
    due: Vec<u64>,
}

fn pick(index: u8, len: usize) -> Option<usize> {
    (len > 0).then(|| index as usize % len)
}

impl<K: Kind> World<K> {
    fn new(grows: bool) -> Self {
        let room = if grows { 0 } else { ROOM };
        let slab = Box::into_raw(Box::new(K::Slab::with_room(ROOM)));
        World {
            slab: NonNull::new(slab),
            slots: Vec::new(),
            vacants: Vec::new(),
            boxes: Vec::new(),
            guards: Vec::new(),
            cells: vec![Cell::default(); room],
            chunks: Vec::new(),
            free: (0..room).rev().collect(),
            grows,
            made: 0,
            log: Rc::default(),
            due: Vec::new(),
        }
    }

    /// The slab, if it is not gone. Its borrows end before `drop_slab` is called.
    fn slab(&self) -> Option<&'static K::Slab<Logged>> {
        // SAFETY: made in `new`, and `drop_slab` takes it before it frees it.
        self.slab.map(|slab| unsafe { slab.as_ref() })
    }

    fn value(&mut self) -> Logged {
        self.made += 1;
        Logged {
            number: self.made,
            log: self.log.clone(),
        }
    }

    fn cell(&mut self, key: Key) -> &mut Cell {
        &mut self.cells[key.index()]
    }

    /// The slot that the next insertion must get.
    fn claim(&mut self) -> Option<Key> {
        if self.free.is_empty() && self.grows {
            self.add_chunk();
        }
        self.free.pop().map(|index| Key::from_raw(index as u32))
    }

    /// The lowest number that no chunk has; its slots come after all others.
    fn add_chunk(&mut self) {
        let hole = self.chunks.iter().position(|&is_there| !is_there);
        let number = hole.unwrap_or(self.chunks.len());
        if hole.is_none() {
            self.chunks.push(true);
            self.cells
                .resize(self.chunks.len() * CHUNK, Cell::default());
        }
        self.chunks[number] = true;
        let keys = number * CHUNK..(number + 1) * CHUNK;
        self.free.splice(0..0, keys.rev());
    }

    fn shrink(&mut self) {
        for (number, is_there) in self.chunks.iter_mut().enumerate() {
            let keys = number * CHUNK..(number + 1) * CHUNK;
            if keys.clone().all(|key| self.free.contains(&key)) {
                *is_there = false;
                self.free.retain(|key| !keys.contains(key));
            }
        }
        while self.chunks.last() == Some(&false) {
            self.chunks.pop();
        }
        self.cells.truncate(self.chunks.len() * CHUNK);
    }

    /// Keys and values of those cells that `admits`, in key order.
    fn expect_values(&self, admits: fn(&Cell) -> bool) -> Vec<(Key, u64)> {
        let cells = self.cells.iter().enumerate();
        cells
            .filter(|(_, cell)| admits(cell))
            .map(|(index, cell)| (Key::from_raw(index as u32), cell.value.unwrap()))
            .collect()
    }

    fn free_if_unused(&mut self, key: Key) {
        let cell = self.cell(key);
        if cell.value.is_none() && cell.holder == Holder::Nobody && self.slab.is_some() {
            self.free.push(key.index());
        }
    }

    /// The value dies where it stands.
    fn destroy(&mut self, key: Key) {
        let cell = self.cell(key);
        let number = cell.value.take().unwrap();
        cell.doomed = false;
        self.due.push(number);
        self.free_if_unused(key);
    }

    /// The value comes out alive, and the test drops it.
    fn expect_out(&mut self, key: Key, value: &Logged) {
        assert_eq!(self.cell(key).value.take(), Some(value.number));
        self.due.push(value.number);
    }

    fn slot_gone(&mut self, key: Key) {
        let cell = self.cell(key);
        cell.holder = Holder::Nobody;
        if cell.value.is_none() {
            self.free_if_unused(key);
        } else if cell.is_borrowed() {
            cell.doomed = true;
        } else {
            self.destroy(key);
        }
    }

    fn any_key(&self, index: u8) -> Key {
        // One beyond the bound, and the key that nobody has, are asked for too.
        match index as usize % (self.cells.len() + 2) {
            index if index <= self.cells.len() => Key::from_raw(index as u32),
            _ => Key::NONE,
        }
    }

    fn model(&self, key: Key) -> Cell {
        self.cells.get(key.index()).copied().unwrap_or_default()
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Insert => {
                let Some(slab) = self.slab() else { return };
                let value = self.value();
                let number = value.number;
                match (slab.insert(value), self.claim()) {
                    (Ok(slot), Some(key)) => {
                        assert_eq!(slot.key(), key, "slots are reused last in, first out");
                        self.cell(key).value = Some(number);
                        self.cell(key).holder = Holder::Slot;
                        self.slots.push(slot);
                    }
                    (Err(full), None) => {
                        assert_eq!(full.0.number, number);
                        self.due.push(number);
                    }
                    (result, key) => panic!("{result:?}, but the model says {key:?}"),
                }
            }
            Op::InsertWith => {
                let Some(slab) = self.slab() else { return };
                let key = self.claim();
                let value = self.value();
                let number = value.number;
                let mut value = Some(value);
                let result = slab.insert_with(|vacant| {
                    assert_eq!(Some(vacant.key()), key);
                    assert!(!slab.contains_key(vacant.key()));
                    value.take().unwrap()
                });
                assert_eq!(result.is_ok(), key.is_some());
                match (result, key) {
                    (Ok(slot), Some(key)) => {
                        self.cell(key).value = Some(number);
                        self.cell(key).holder = Holder::Slot;
                        self.slots.push(slot);
                    }
                    _ => {
                        assert!(value.is_some(), "the closure is not called");
                        self.due.push(number);
                    }
                }
            }
            Op::Reserve => {
                let Some(slab) = self.slab() else { return };
                let (result, key) = (slab.vacant_slot(), self.claim());
                assert_eq!(result.as_ref().ok().map(VacantSlot::key), key);
                if let (Ok(vacant), Some(key)) = (result, key) {
                    self.cell(key).holder = Holder::Vacant;
                    self.vacants.push(vacant);
                }
            }
            Op::Fill(index) => {
                let Some(at) = pick(index, self.vacants.len()) else {
                    return;
                };
                let (vacant, value) = (self.vacants.swap_remove(at), self.value());
                let (key, number, address) = (vacant.key(), value.number, vacant.as_ptr());
                let slot = vacant.insert(value);
                assert_eq!((slot.key(), slot.as_mut_ptr()), (key, address));
                assert_eq!(slot.is_valid(), self.slab.is_some());
                self.cell(key).value = Some(number);
                self.cell(key).holder = Holder::Slot;
                self.slots.push(slot);
            }
            Op::DropVacant(index) => {
                let Some(at) = pick(index, self.vacants.len()) else {
                    return;
                };
                let vacant = self.vacants.swap_remove(at);
                let key = vacant.key();
                drop(vacant);
                self.cell(key).holder = Holder::Nobody;
                self.free_if_unused(key);
            }
            Op::Read(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let slot = &self.slots[at];
                let cell = self.cells[slot.key().index()];
                let admitted = self.slab.is_some() && cell.admits_reader();
                assert_eq!(
                    slot.try_get().map(|value| value.number),
                    cell.value.filter(|_| admitted)
                );
            }
            Op::Write(index) | Op::Modify(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let number = self.made + 1;
                let slot = &self.slots[at];
                let key = slot.key();
                let cell = self.cells[key.index()];
                let admitted = self.slab.is_some() && cell.admits_writer();
                if matches!(op, Op::Write(_)) || cell.is_borrowed() {
                    let guard = slot.try_get_mut();
                    assert_eq!(guard.is_some(), admitted);
                    if let Some(mut guard) = guard {
                        guard.number = number;
                    }
                } else {
                    let mut called = false;
                    slot.and_modify(|value| {
                        value.number = number;
                        called = true;
                    });
                    assert_eq!(called, admitted);
                }
                if admitted {
                    self.made = number;
                    self.cell(key).value = Some(number);
                }
            }
            Op::ReadByKey(index) => {
                let Some(slab) = self.slab() else { return };
                let key = self.any_key(index);
                let cell = self.model(key);
                assert_eq!(
                    slab.get(key).map(|value| value.number),
                    cell.value.filter(|_| cell.admits_reader())
                );
                let is_there = cell.value.is_some() && !cell.doomed;
                assert_eq!(slab.contains_key(key), is_there);
            }
            Op::WriteByKey(index) => {
                let Some(slab) = self.slab() else { return };
                let key = self.any_key(index);
                let admitted = self.model(key).admits_writer();
                let guard = slab.get_mut(key);
                assert_eq!(guard.is_some(), admitted);
                if let Some(mut guard) = guard {
                    self.made += 1;
                    guard.number = self.made;
                    self.cell(key).value = Some(self.made);
                }
            }
            Op::HoldRef(index) => {
                let Some(slab) = self.slab() else { return };
                let key = self.any_key(index);
                let guard = slab.get(key);
                assert_eq!(guard.is_some(), self.model(key).admits_reader());
                if let Some(guard) = guard {
                    self.cell(key).readers += 1;
                    self.guards.push((key, Guard::Shared(guard)));
                }
            }
            Op::HoldRefMut(index) => {
                let Some(slab) = self.slab() else { return };
                let key = self.any_key(index);
                let guard = slab.get_mut(key);
                assert_eq!(guard.is_some(), self.model(key).admits_writer());
                if let Some(guard) = guard {
                    self.cell(key).writer = true;
                    self.guards.push((key, Guard::Exclusive(guard)));
                }
            }
            Op::DropGuard(index) => {
                let Some(at) = pick(index, self.guards.len()) else {
                    return;
                };
                self.drop_guard(at);
            }
            Op::Replace(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let value = self.value();
                let number = value.number;
                let key = self.slots[at].key();
                let admitted = self.slab.is_some() && self.cell(key).admits_writer();
                match self.slots[at].try_replace(value) {
                    Ok(old) => {
                        assert!(admitted);
                        self.expect_out(key, &old);
                        self.cell(key).value = Some(number);
                    }
                    Err(value) => {
                        assert!(!admitted);
                        assert_eq!(value.number, number);
                        self.due.push(number);
                    }
                }
            }
            Op::IntoInner(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let slot = self.slots.swap_remove(at);
                let key = slot.key();
                // A value filled in after the slab was gone comes out too.
                let admitted = self.cell(key).admits_writer();
                match slot.try_into_inner() {
                    Ok(value) => {
                        assert!(admitted);
                        self.expect_out(key, &value);
                        self.cell(key).holder = Holder::Nobody;
                        self.free_if_unused(key);
                    }
                    Err(slot) => {
                        assert!(!admitted);
                        self.slots.push(slot);
                    }
                }
            }
            Op::Take(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let slot = self.slots.swap_remove(at);
                let key = slot.key();
                let admitted = self.slab.is_some() && self.cell(key).admits_writer();
                match slot.try_take() {
                    Ok((value, vacant)) => {
                        assert!(admitted);
                        self.expect_out(key, &value);
                        self.cell(key).holder = Holder::Vacant;
                        self.vacants.push(vacant);
                    }
                    Err(slot) => {
                        assert!(!admitted);
                        self.slots.push(slot);
                    }
                }
            }
            Op::Leak(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let slot = self.slots.swap_remove(at);
                let key = slot.key();
                assert_eq!(slot.leak(), key);
                if self.slab.is_none() || self.cell(key).value.is_none() {
                    self.slot_gone(key);
                } else {
                    self.cell(key).holder = Holder::Nobody;
                }
            }
            Op::DropSlot(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let slot = self.slots.swap_remove(at);
                let key = slot.key();
                drop(slot);
                self.slot_gone(key);
            }
            Op::Regain(index) => {
                let Some(slab) = self.slab() else { return };
                let key = self.any_key(index);
                let cell = self.model(key);
                let admitted = cell.value.is_some()
                    && cell.holder == Holder::Nobody
                    && !cell.writer
                    && !cell.doomed;
                let slot = slab.slot(key);
                assert_eq!(slot.is_some(), admitted);
                if let Some(slot) = slot {
                    self.cell(key).holder = Holder::Slot;
                    self.slots.push(slot);
                }
            }
            Op::IntoBox(index) => {
                let Some(at) = pick(index, self.slots.len()) else {
                    return;
                };
                let slot = self.slots.swap_remove(at);
                let key = slot.key();
                let admitted = self.slab.is_some() && self.cell(key).admits_writer();
                match slot.try_into_box() {
                    Ok(boxed) => {
                        assert!(admitted);
                        self.cell(key).holder = Holder::Box;
                        self.boxes.push(boxed);
                    }
                    Err(slot) => {
                        assert!(!admitted);
                        self.slots.push(slot);
                    }
                }
            }
            Op::Unbox(index) => {
                let Some(at) = pick(index, self.boxes.len()) else {
                    return;
                };
                let slot = SlotBox::into_slot(self.boxes.swap_remove(at));
                assert_eq!(slot.is_valid(), self.slab.is_some());
                self.cell(slot.key()).holder = Holder::Slot;
                self.slots.push(slot);
            }
            Op::BoxIntoInner(index) => {
                let Some(at) = pick(index, self.boxes.len()) else {
                    return;
                };
                let boxed = self.boxes.swap_remove(at);
                let key = SlotBox::key(&boxed);
                let value = SlotBox::into_inner(boxed);
                self.expect_out(key, &value);
                self.cell(key).holder = Holder::Nobody;
                self.free_if_unused(key);
            }
            Op::BoxThroughRaw(index) => {
                let Some(slab) = self.slab() else { return };
                let Some(at) = pick(index, self.boxes.len()) else {
                    return;
                };
                let pointer = SlotBox::into_raw(self.boxes.swap_remove(at));
                // SAFETY: straight from `into_raw` of this slab's box.
                self.boxes.push(unsafe { slab.box_from_raw(pointer) });
            }
            Op::WriteBox(index) => {
                let Some(at) = pick(index, self.boxes.len()) else {
                    return;
                };
                let key = SlotBox::key(&self.boxes[at]);
                assert_eq!(Some(self.boxes[at].number), self.cell(key).value);
                self.made += 1;
                self.boxes[at].number = self.made;
                self.cell(key).value = Some(self.made);
            }
            Op::DropBox(index) => {
                let Some(at) = pick(index, self.boxes.len()) else {
                    return;
                };
                let boxed = self.boxes.swap_remove(at);
                let key = SlotBox::key(&boxed);
                drop(boxed);
                self.cell(key).holder = Holder::Nobody;
                self.destroy(key);
            }
            Op::RemoveByKey(index) => {
                let Some(slab) = self.slab() else { return };
                let key = self.any_key(index);
                let admitted = self.model(key).admits_writer();
                let value = slab.try_remove_by_key(key);
                assert_eq!(value.is_some(), admitted);
                if let Some(value) = value {
                    self.expect_out(key, &value);
                    self.free_if_unused(key);
                }
            }
            Op::Iterate => {
                let Some(slab) = self.slab() else { return };
                let expected = self.expect_values(Cell::admits_reader);
                let guards: Vec<_> = slab.iter().collect();
                let seen = guards.iter().map(|(key, value)| (*key, value.number));
                assert!(seen.eq(expected));
                assert!(slab.iter_mut().next().is_none(), "all are read");
                let expected = self.expect_values(|cell| cell.value.is_some() && !cell.doomed);
                assert!(slab.keys().eq(expected.iter().map(|(key, _)| *key)));
            }
            Op::IterateMut => {
                let Some(slab) = self.slab() else { return };
                let mut expected = self.expect_values(Cell::admits_writer).into_iter();
                for (key, mut value) in slab.iter_mut() {
                    assert_eq!(Some((key, value.number)), expected.next());
                    self.made += 1;
                    value.number = self.made;
                    self.cell(key).value = Some(self.made);
                }
                assert_eq!(expected.next(), None);
            }
            Op::Retain(pattern) => {
                let Some(slab) = self.slab() else { return };
                let expected = self.expect_values(Cell::admits_writer);
                let keeps = |key: Key| pattern >> (key.index() % 8) & 1 == 0;
                let mut seen = Vec::new();
                slab.retain(|key, value| {
                    assert!(slab.get(key).is_none() && slab.contains_key(key));
                    seen.push((key, value.number));
                    keeps(key)
                });
                assert_eq!(seen, expected);
                for (key, _) in expected.into_iter().filter(|(key, _)| !keeps(*key)) {
                    self.destroy(key);
                }
            }
            Op::Drain(count) => {
                let Some(slab) = self.slab() else { return };
                let expected = self.expect_values(Cell::admits_writer);
                let count = usize::from(count) % (self.cells.len() + 2);
                let mut drain = slab.drain();
                for _ in 0..count {
                    if let Some((key, value)) = drain.next() {
                        assert!(!slab.contains_key(key));
                        drop(value);
                    }
                }
                assert!(expected.len().saturating_sub(count) <= drain.size_hint().1.unwrap());
                drop(drain);
                for (key, _) in expected {
                    self.destroy(key);
                }
            }
            Op::MakeRoom(count) => {
                let Some(slab) = self.slab() else { return };
                let count = usize::from(count) % (2 * CHUNK + 2);
                slab.reserve(count);
                while self.grows && self.free.len() < count {
                    self.add_chunk();
                }
            }
            Op::Shrink => {
                let Some(slab) = self.slab() else { return };
                slab.shrink();
                if self.grows {
                    self.shrink();
                }
            }
            Op::Clear => {
                let Some(slab) = self.slab() else { return };
                let refused = self
                    .cells
                    .iter()
                    .any(|cell| cell.value.is_some() && cell.is_borrowed());
                assert_eq!(
                    slab.try_clear(),
                    if refused { Err(Borrowed) } else { Ok(()) }
                );
                if !refused {
                    self.destroy_all();
                }
            }
            Op::DropSlab => self.drop_slab(),
        }
        self.check();
    }

    fn drop_guard(&mut self, at: usize) {
        let (key, guard) = self.guards.swap_remove(at);
        assert_eq!(Some(guard.number()), self.cell(key).value);
        let cell = self.cell(key);
        match &guard {
            Guard::Shared(_) => cell.readers -= 1,
            Guard::Exclusive(_) => cell.writer = false,
        }
        drop(guard);
        if self.cell(key).doomed && !self.cell(key).is_borrowed() {
            self.destroy(key);
        }
    }

    /// Every value that is not borrowed goes, in key order.
    fn destroy_all(&mut self) {
        for index in 0..self.cells.len() {
            if self.cells[index].value.is_some() && !self.cells[index].is_borrowed() {
                self.destroy(Key::from_raw(index as u32));
            }
        }
    }

    fn drop_slab(&mut self) {
        // Guards borrow the slab, so they go first; then some come by slot,
        // which may stay.
        while !self.guards.is_empty() {
            self.drop_guard(0);
        }
        let Some(slab) = self.slab.take() else { return };
        let slots = std::mem::take(&mut self.slots);
        {
            let guards: Vec<_> = slots
                .iter()
                .step_by(2)
                .map(|slot| (slot.key(), slot.try_get()))
                .collect();
            for (key, guard) in &guards {
                self.cell(*key).readers += usize::from(guard.is_some());
            }
            // SAFETY: made in `new`, and no borrow of it is left.
            drop(unsafe { Box::from_raw(slab.as_ptr()) });
            self.destroy_all();
            self.check_log();
            for (key, guard) in guards {
                let held = guard.is_some();
                if let Some(guard) = &guard {
                    assert_eq!(Some(guard.number), self.cell(key).value);
                }
                drop(guard);
                if held {
                    self.cell(key).readers -= 1;
                    self.destroy(key);
                    self.check_log();
                }
            }
        }
        for slot in &slots {
            assert!(!slot.is_valid());
        }
        self.slots = slots;
    }

    fn check(&mut self) {
        self.check_log();
        let Some(slab) = self.slab() else { return };
        slab.check();
        let used = |cell: &&Cell| cell.value.is_some() || cell.holder == Holder::Vacant;
        assert_eq!(slab.len(), self.cells.iter().filter(used).count());
        assert_eq!(slab.is_empty(), slab.len() == 0);
        assert_eq!(slab.is_full(), self.free.is_empty());
        if self.grows {
            let chunks = self.chunks.iter().filter(|&&is_there| is_there).count();
            assert_eq!(slab.capacity(), chunks * CHUNK);
        } else {
            assert_eq!(slab.capacity(), ROOM);
        }
        let stacked: Vec<_> = (0..).map_while(|count| slab.free_key(count)).collect();
        // Of a growable slab some may be fresh, and come last.
        assert!(self.grows || stacked.len() == self.free.len());
        for (key, next) in stacked.iter().zip(self.free.iter().rev()) {
            assert_eq!(
                key.index(),
                *next,
                "slots are handed out last in, first out"
            );
        }
        for slot in &self.slots {
            let cell = self.cells[slot.key().index()];
            assert_eq!(slot.is_valid(), cell.value.is_some());
        }
    }

    fn check_log(&mut self) {
        assert_eq!(self.log.take(), std::mem::take(&mut self.due));
    }

    fn finish(mut self) {
        self.drop_slab();
        while !self.vacants.is_empty() {
            self.apply(Op::Fill(0));
        }
        while !self.boxes.is_empty() {
            self.apply(Op::DropBox(0));
        }
        while !self.slots.is_empty() {
            self.apply(Op::DropSlot(0));
        }
        assert!(self.cells.iter().all(|cell| cell.value.is_none()));
    }
}

/// Runs a program and everything's end; panics where slab and model differ.
pub fn run<K: Kind>(bytes: impl IntoIterator<Item = (u8, u8)>, grows: bool) {
    let mut world = World::<K>::new(grows);
    for op in bytes.into_iter().map(decode) {
        world.apply(op);
    }
    world.finish();
}
