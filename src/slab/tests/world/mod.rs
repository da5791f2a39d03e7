//! Both slabs against a plain model: where each value is, who holds it and who
//! borrows it, in which order free slots are handed out, which chunks there are,
//! and which values were dropped, in which order.
//!
//! A program is a row of bytes, so that the property tests and the fuzz target
//! run the same ones.

#![allow(unreachable_pub, reason = "each user is a crate of its own")]

mod many;
mod steps;

use std::cell::RefCell;
use std::rc::Rc;

use flatslab::{AccessError, Key, Slot, SlotBox, TrackedSlab, VacantSlot};

use crate::common::{Detached, Guard, Room};

/// Slots of the bounded slab.
pub const ROOM: usize = 6;
/// Slots of the growable one's chunks.
pub const CHUNK: usize = 2;

/// A value that writes its number down when it is dropped.
pub struct Logged {
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
    None,
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

    /// There is a value for those who ask by key.
    fn is_there(&self) -> bool {
        self.value.is_some() && !self.doomed
    }

    /// What a borrow or a removal by key is refused with.
    fn refusal(&self) -> AccessError {
        if self.is_there() {
            AccessError::Borrowed
        } else {
            AccessError::Missing
        }
    }
}

/// The slab under test, everything that holds its cells, and the model.
struct World<M: Room> {
    slab: Detached<TrackedSlab<Logged, M>>,
    slots: Vec<Slot<Logged>>,
    vacants: Vec<VacantSlot<Logged>>,
    boxes: Vec<SlotBox<Logged>>,
    guards: Vec<(Key, Guard<'static, Logged>)>,

    cells: Vec<Cell>,
    /// Whether the growable slab has a chunk of that number.
    chunks: Vec<bool>,
    /// Free slots; the last one is handed out next.
    free: Vec<usize>,
    made: u64,
    log: Rc<RefCell<Vec<u64>>>,
    /// What the log must say after this step.
    due: Vec<u64>,
}

impl<M: Room> World<M> {
    fn new(slab: TrackedSlab<Logged, M>) -> Self {
        let room = if M::GROWS { 0 } else { ROOM };
        World {
            // SAFETY: `end_slab` drops all guards first.
            slab: unsafe { Detached::new(slab) },
            slots: Vec::new(),
            vacants: Vec::new(),
            boxes: Vec::new(),
            guards: Vec::new(),
            cells: vec![Cell::default(); room],
            chunks: Vec::new(),
            free: (0..room).rev().collect(),
            made: 0,
            log: Rc::default(),
            due: Vec::new(),
        }
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
        if self.free.is_empty() && M::GROWS {
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

    fn shrink_model(&mut self) {
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
        if cell.value.is_none() && cell.holder == Holder::None && self.slab.get().is_some() {
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

    /// The value is moved out, and dropped by the test.
    fn expect_out(&mut self, key: Key, value: &Logged) {
        assert_eq!(self.cell(key).value.take(), Some(value.number));
        self.due.push(value.number);
    }

    fn slot_gone(&mut self, key: Key) {
        let cell = self.cell(key);
        cell.holder = Holder::None;
        if cell.value.is_none() {
            self.free_if_unused(key);
        } else if cell.is_borrowed() {
            cell.doomed = true;
        } else {
            self.destroy(key);
        }
    }

    fn any_key(&self, index: u8) -> Key {
        // The key past the bound and `NONE` are asked for too.
        match index as usize % (self.cells.len() + 2) {
            index if index <= self.cells.len() => Key::from_raw(index as u32),
            _ => Key::NONE,
        }
    }

    fn model(&self, key: Key) -> Cell {
        self.cells.get(key.index()).copied().unwrap_or_default()
    }

    fn end_guard(&mut self, at: usize) {
        let (key, guard) = self.guards.swap_remove(at);
        assert_eq!(Some(guard.value().number), self.cell(key).value);
        let cell = self.cell(key);
        if guard.is_exclusive() {
            cell.writer = false;
        } else {
            cell.readers -= 1;
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

    fn end_slab(&mut self) {
        // Guards by key borrow the slab and go first. Those of slots may stay.
        while !self.guards.is_empty() {
            self.end_guard(0);
        }
        if self.slab.get().is_none() {
            return;
        }
        let slots = std::mem::take(&mut self.slots);
        {
            let guards: Vec<_> = slots
                .iter()
                .step_by(2)
                .map(|slot| (slot.key(), slot.try_get().ok()))
                .collect();
            for (key, guard) in &guards {
                self.cell(*key).readers += usize::from(guard.is_some());
            }
            self.slab.end();
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
        let Some(slab) = self.slab.get() else {
            return;
        };
        slab.check();
        let used = |cell: &&Cell| cell.value.is_some() || cell.holder == Holder::Vacant;
        let len = self.cells.iter().filter(used).count();
        assert_eq!((slab.len(), slab.is_empty()), (len, len == 0));
        assert_eq!(slab.is_full(), self.free.is_empty());
        assert_eq!(slab.free_slots(), self.free.len());
        if M::GROWS {
            let chunks = self.chunks.iter().filter(|&&is_there| is_there).count();
            assert_eq!(slab.capacity(), chunks * CHUNK);
        } else {
            assert_eq!(slab.capacity(), ROOM);
        }
        let stacked: Vec<_> = (0..).map_while(|count| slab.free_key(count)).collect();
        // A growable slab's fresh slots are not on the stack and come last.
        assert!(M::GROWS || stacked.len() == self.free.len());
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
        self.end_slab();
        while self.fill(0).is_some() {
            self.check();
        }
        while self.drop_box(0).is_some() {
            self.check();
        }
        while self.drop_slot(0).is_some() {
            self.check();
        }
        assert!(self.cells.iter().all(|cell| cell.value.is_none()));
    }
}

/// Runs a program on an empty slab of [`ROOM`] slots or of chunks of [`CHUNK`],
/// and ends everything. Panics where slab and model differ.
pub fn run<M: Room>(slab: TrackedSlab<Logged, M>, program: impl IntoIterator<Item = (u8, u8)>) {
    let mut world = World::<M>::new(slab);
    for bytes in program {
        world.step(bytes);
    }
    world.finish();
}
