//! A program on two arenas, and a model that knows what each buffer and each position leads
//! to: for random programs and for the fuzz target.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::swap;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use flatslab::AllocError;
use flatslab::bytes::{Buf, BufMut, ByteArena, Loc, LocError, RequestError, Shared};
use flatslab::memory::{MemorySource, Pages};

thread_local! {
    /// Bytes that the source gave and did not get back.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// Requests that it refuses from now on.
    static REFUSED: Cell<u8> = const { Cell::new(0) };
}

struct Refusing;

// SAFETY: the memory is that of the system's allocator.
unsafe impl MemorySource for Refusing {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let bytes = layout.size();
        let refused = REFUSED.get();
        if refused > 0 {
            REFUSED.set(refused - 1);
            return Err(AllocError::OutOfMemory { bytes });
        }
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { System.alloc(layout) });
        let start = start.ok_or(AllocError::OutOfMemory { bytes })?;
        BYTES.set(BYTES.get() + bytes);
        Ok(start)
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        BYTES.set(BYTES.get() - layout.size());
        // SAFETY: from `allocate` with this layout; the block has that many bytes.
        unsafe {
            // A buffer that is read after its memory came back is seen.
            start.write_bytes(0xa5, layout.size());
            System.dealloc(start.as_ptr(), layout);
        }
    }
}

/// The rest of a program.
struct Input<'p>(&'p [u8]);

impl Input<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> usize {
        self.next().unwrap_or(0).into()
    }

    fn below(&mut self, end: usize) -> usize {
        self.number() % end
    }

    /// A place in a list, if it has any.
    fn pick<T>(&mut self, list: &[T]) -> Option<usize> {
        (!list.is_empty()).then(|| self.below(list.len()))
    }
}

/// What a reference reads: some bytes of a chunk, by the chunk's name.
#[derive(Clone, PartialEq, Debug)]
struct Part {
    name: u32,
    range: Range<usize>,
}

/// A chunk in use.
struct Chunk {
    arena: usize,
    /// Its filled bytes.
    bytes: Vec<u8>,
    /// References: buffers, links, those of positions. None while it is filled.
    references: usize,
    held: usize,
    /// Counts how often its positions became stale.
    epoch: u32,
    next: Option<Part>,
}

struct Position {
    loc: Loc,
    part: Part,
    epoch: u32,
    arena: usize,
}

/// Everything there is. The handles are dropped before the arenas, or after.
struct World<'p> {
    input: Input<'p>,
    arenas: [Option<ByteArena>; 2],
    is_limited: [bool; 2],
    chunks: BTreeMap<u32, Chunk>,
    last: u32,
    bufs: Vec<(Part, Buf)>,
    filled: Vec<(u32, usize, BufMut)>,
    positions: Vec<Position>,
}

/// The byte at a place of a chunk with that name.
fn byte(name: u32, index: usize) -> u8 {
    (name as u8).wrapping_mul(29).wrapping_add(index as u8)
}

fn owned_bytes(name: u32, range: Range<usize>) -> Vec<u8> {
    range.map(|index| byte(name, index)).collect()
}

impl World<'_> {
    fn chunk(&mut self, name: u32) -> &mut Chunk {
        self.chunks.get_mut(&name).expect("it is in use")
    }

    fn bytes(&self, part: &Part) -> &[u8] {
        &self.chunks[&part.name].bytes[part.range.clone()]
    }

    /// Counts one reference less, and ends what has none along the chain. Says whether it was
    /// the last one.
    fn drop_reference(&mut self, name: u32) -> bool {
        let (mut name, mut is_first_gone) = (name, None);
        loop {
            let chunk = self.chunk(name);
            chunk.references -= 1;
            let is_gone = chunk.references == 0;
            is_first_gone.get_or_insert(is_gone);
            let next = if is_gone {
                assert_eq!(chunk.held, 0);
                self.chunks.remove(&name).and_then(|it| it.next)
            } else {
                None
            };
            match next {
                Some(part) => name = part.name,
                None => return is_first_gone == Some(true),
            }
        }
    }

    /// A buffer to be filled that was dropped.
    fn end_filled(&mut self, name: u32) {
        self.chunk(name).references = 1;
        self.drop_reference(name);
    }

    fn arena(&mut self) -> Option<usize> {
        let arena = self.input.below(2);
        self.arenas[arena].as_ref().map(|_| arena)
    }

    fn allocate(&mut self) {
        let Some(index) = self.arena() else { return };
        let size = self.input.number() * [1, 1, 3, 8][self.input.below(4)];
        let is_zeroed = self.input.below(4) == 0;
        let may_fail = self.is_limited[index] || REFUSED.get() > 0;
        let arena = self.arenas[index].as_ref().unwrap();
        let largest = arena.stats().classes().last().unwrap().chunk_size;
        let result = if is_zeroed {
            arena.alloc_zeroed(size)
        } else {
            arena.alloc(size)
        };
        match result {
            Ok(buf) => {
                assert!(size <= largest && buf.capacity() == size);
                self.last += 1;
                let chunk = Chunk {
                    arena: index,
                    bytes: vec![0; buf.len()],
                    references: 0,
                    held: 0,
                    epoch: 0,
                    next: None,
                };
                assert!(buf.len() == if is_zeroed { size } else { 0 });
                self.chunks.insert(self.last, chunk);
                self.filled.push((self.last, 0, buf));
            }
            Err(RequestError::TooBig { .. }) => assert!(size > largest),
            Err(error) => assert!(may_fail && size <= largest, "{error}"),
        }
    }

    /// Writes to a buffer: more bytes, or other ones, or fewer.
    fn fill(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let (kind, number) = (self.input.below(4), self.input.number());
        let (name, start, buf) = &mut self.filled[place];
        let chunk = self.chunks.get_mut(name).unwrap();
        let end = *start + buf.len();
        match kind {
            0 => buf.truncate(number),
            1 => {
                for (index, old) in buf.iter_mut().enumerate() {
                    *old = byte(*name, *start + index);
                }
                chunk.bytes[*start..].copy_from_slice(buf);
            }
            _ => {
                let bytes = owned_bytes(*name, end..end + number);
                let has_room = number <= buf.remaining();
                assert_eq!(buf.extend_from_slice(&bytes).is_ok(), has_room);
                if has_room {
                    chunk.bytes.extend(bytes);
                }
            }
        }
        chunk.bytes.truncate(*start + buf.len());
        assert_eq!(**buf, chunk.bytes[*start..]);
    }

    fn freeze(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let (name, start, buf) = self.filled.swap_remove(place);
        let range = start..start + buf.len();
        self.chunk(name).references = 1;
        self.bufs.push((Part { name, range }, buf.freeze()));
    }

    fn share(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (start, end) = (self.input.number(), self.input.number());
        let is_slice = start % 2 == 0;
        let (part, buf) = &self.bufs[place];
        let mut part = part.clone();
        let shared = if is_slice {
            let shared = buf.try_slice(start / 2..end);
            let is_within = start / 2 <= end && end <= part.range.len();
            assert_eq!(shared.is_some(), is_within);
            let Some(shared) = shared else { return };
            part.range = part.range.start + start / 2..part.range.start + end;
            shared
        } else {
            buf.clone()
        };
        self.chunk(part.name).references += 1;
        self.bufs.push((part, shared));
    }

    fn shorten(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (kind, number) = (self.input.below(2), self.input.number());
        let (part, buf) = &mut self.bufs[place];
        let range = &mut part.range;
        if kind == 0 {
            buf.truncate(number);
            range.end = range.end.min(range.start + number);
        } else if number <= buf.len() {
            buf.advance(number);
            range.start += number;
        }
    }

    fn drop_buf(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = self.bufs.swap_remove(place);
        assert_eq!(buf.release(), self.drop_reference(part.name));
    }

    fn make_mutable(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = self.bufs.swap_remove(place);
        let is_unique = self.chunks[&part.name].references == 1;
        match buf.try_into_mut() {
            Ok(buf) => {
                assert!(is_unique);
                let chunk = self.chunk(part.name);
                chunk.references = 0;
                chunk.epoch += 1;
                chunk.bytes.truncate(part.range.end);
                self.filled.push((part.name, part.range.start, buf));
            }
            Err(buf) => {
                assert!(!is_unique);
                self.bufs.push((part, buf));
            }
        }
    }

    /// Two different buffers, of which the second is taken out.
    fn two(&mut self) -> Option<(usize, (Part, Buf))> {
        if self.bufs.len() < 2 {
            return None;
        }
        let place = self.input.below(self.bufs.len());
        let other = self.bufs.swap_remove(place);
        Some((self.input.below(self.bufs.len()), other))
    }

    fn link(&mut self) {
        let Some((place, (next, next_buf))) = self.two() else {
            return;
        };
        let (part, buf) = &mut self.bufs[place];
        let chunk = self.chunks.get_mut(&part.name).unwrap();
        let before = match buf.set_next(next_buf) {
            Ok(before) => {
                assert_eq!(chunk.references, 1);
                let expected = chunk.next.replace(next);
                assert_eq!(before.is_some(), expected.is_some());
                before.zip(expected)
            }
            Err(error) => {
                assert!(chunk.references > 1);
                Some((error.into_inner(), next))
            }
        };
        self.bufs.extend(before.map(|(buf, part)| (part, buf)));
    }

    fn unlink(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = &mut self.bufs[place];
        let chunk = self.chunks.get_mut(&part.name).unwrap();
        match buf.take_next() {
            Ok(taken) => {
                assert_eq!(chunk.references, 1);
                assert_eq!(taken.is_some(), chunk.next.is_some());
                let taken = chunk.next.take().zip(taken);
                self.bufs.extend(taken);
            }
            Err(Shared) => assert!(chunk.references > 1),
        }
    }

    fn follow(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = &self.bufs[place];
        let (expected, next) = (self.chunks[&part.name].next.clone(), buf.next());
        assert_eq!(next.is_some(), expected.is_some());
        if let Some((part, buf)) = expected.zip(next) {
            self.chunk(part.name).references += 1;
            self.bufs.push((part, buf));
        }
    }

    /// Replaces a link some way down a chain, as far as it may be changed.
    fn replace_link(&mut self) {
        let Some((place, (mut other, mut other_buf))) = self.two() else {
            return;
        };
        let steps = self.input.below(3);
        let (head, mut buf) = {
            let (part, buf) = &mut self.bufs[place];
            (part.name, buf)
        };
        let mut name = head;
        for step in 0..=steps {
            let chunk = self.chunks.get_mut(&name).unwrap();
            let link = match buf.next_mut() {
                Ok(link) => link,
                Err(Shared) => {
                    assert!(chunk.references > 1);
                    break;
                }
            };
            assert_eq!(chunk.references, 1);
            chunk.epoch += 1;
            assert_eq!(link.is_some(), chunk.next.is_some());
            let Some((link, part)) = link.zip(chunk.next.as_mut()) else {
                break;
            };
            if step == steps {
                swap(link, &mut other_buf);
                swap(part, &mut other);
                break;
            }
            (name, buf) = (part.name, link);
        }
        self.bufs.push((other, other_buf));
    }

    fn note_position(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let is_held = self.input.below(2) == 0;
        let (part, buf) = &self.bufs[place];
        let chunk = self.chunks.get_mut(&part.name).unwrap();
        let (arena, epoch) = (chunk.arena, chunk.epoch);
        if self.arenas[arena].is_none() {
            assert_eq!(buf.try_loc(), Err(LocError::Closed));
            return;
        }
        let part = part.clone();
        let loc = if is_held {
            chunk.held += 1;
            self.bufs.swap_remove(place).1.into_loc()
        } else {
            buf.loc()
        };
        assert_eq!(loc.len(), part.range.len());
        let position = Position {
            loc,
            part,
            epoch,
            arena,
        };
        self.positions.push(position);
    }

    /// Whether a position is of that arena, and the buffer is as it was.
    fn expected(&self, position: &Position, arena: usize) -> Result<(), LocError> {
        if position.arena != arena {
            return Err(LocError::Foreign);
        }
        let chunk = self.chunks.get(&position.part.name);
        let is_there = chunk.is_some_and(|it| it.epoch == position.epoch && it.references > 0);
        is_there.then_some(()).ok_or(LocError::Stale)
    }

    fn resolve(&mut self) {
        let (place, arena) = (self.input.pick(&self.positions), self.arena());
        let (Some(place), Some(index)) = (place, arena) else {
            return;
        };
        let position = &self.positions[place];
        let expected = self.expected(position, index);
        match self.arenas[index].as_ref().unwrap().resolve(position.loc) {
            Ok(buf) => {
                assert_eq!(expected, Ok(()));
                let part = position.part.clone();
                assert_eq!(*buf, *self.bytes(&part));
                self.chunk(part.name).references += 1;
                self.bufs.push((part, buf));
            }
            Err(error) => assert_eq!(Err(error), expected),
        }
    }

    fn release(&mut self) {
        let (place, arena) = (self.input.pick(&self.positions), self.arena());
        let (Some(place), Some(index)) = (place, arena) else {
            return;
        };
        let position = &self.positions[place];
        let name = position.part.name;
        let expected = self.expected(position, index).and_then(|()| {
            let holds = self.chunks[&name].held > 0;
            holds.then_some(()).ok_or(LocError::Stale)
        });
        match self.arenas[index].as_ref().unwrap().release(position.loc) {
            Ok(is_last) => {
                assert_eq!(expected, Ok(()));
                self.chunk(name).held -= 1;
                assert_eq!(is_last, self.drop_reference(name));
            }
            Err(error) => assert_eq!(Err(error), expected),
        }
    }

    /// A position with other words leads to bytes of the buffer whose serial it has, or
    /// nowhere.
    fn forge(&mut self) {
        let (place, arena) = (self.input.pick(&self.positions), self.arena());
        let (Some(place), Some(index)) = (place, arena) else {
            return;
        };
        let position = &self.positions[place];
        let [serial, place] = position.loc.into_raw();
        let number = |input: &mut Input<'_>| input.number() as u64;
        let (low, bits) = (number(&mut self.input), number(&mut self.input) << 40);
        let (start, len) = (number(&mut self.input), number(&mut self.input));
        let forged = match low % 4 {
            0 => [serial.wrapping_add(low), place],
            1 => [serial, bits | start << 20 | len],
            _ => [serial, place >> 40 << 40 | start << 20 | len],
        };
        let loc = Loc::from_raw(forged);
        let Ok(buf) = self.arenas[index].as_ref().unwrap().resolve(loc) else {
            return;
        };
        // Which buffer has that serial now is said by a position that has it.
        let is_of = |it: &&Position| it.loc.into_raw()[0] == forged[0] && it.arena == index;
        let original = self.positions.iter().find(is_of).expect("it was given out");
        assert_eq!(self.expected(original, index), Ok(()));
        let start = (forged[1] >> 20) as usize % (1 << 20);
        let bytes = &self.chunks[&original.part.name].bytes;
        assert_eq!(*buf, bytes[start..start + loc.len()]);
    }

    fn reserve(&mut self) {
        let Some(index) = self.arena() else { return };
        let (size, count) = (self.input.number() * 4, self.input.below(20));
        let may_fail = self.is_limited[index] || REFUSED.get() > 0;
        let arena = self.arenas[index].as_ref().unwrap();
        let result = arena.reserve(size, count);
        let stats = arena.stats();
        let class = stats.classes().iter().find(|it| it.chunk_size >= size);
        match result {
            Ok(()) => assert!(class.unwrap().free >= count),
            Err(RequestError::TooBig { .. }) => assert!(class.is_none()),
            Err(error) => assert!(may_fail, "{error}"),
        }
    }

    fn trim(&mut self) {
        let Some(index) = self.arena() else { return };
        let arena = self.arenas[index].as_ref().unwrap();
        let (before, given) = (arena.memory().bytes(), BYTES.get());
        let trimmed = arena.trim();
        assert_eq!(before - arena.memory().bytes(), trimmed.bytes);
        assert_eq!(given - BYTES.get(), trimmed.bytes);
    }

    fn drop_arena(&mut self, index: usize) {
        if self.arenas[index].take().is_none() {
            return;
        }
        let names: Vec<u32> = self.chunks.keys().copied().collect();
        for name in names {
            let chunk = self.chunks.get_mut(&name);
            let chunk = chunk.filter(|it| it.arena == index);
            // Chunks that go along with one before have no reference of a position.
            let held = chunk.map_or(0, |it| std::mem::take(&mut it.held));
            for _ in 0..held {
                self.drop_reference(name);
            }
        }
    }

    fn step(&mut self, step: u8) {
        match step % 24 {
            0..3 => self.allocate(),
            3 | 4 => self.fill(),
            5..8 => self.freeze(),
            8 => self.share(),
            9 => self.shorten(),
            10 => self.drop_buf(),
            11 => self.make_mutable(),
            12 => self.link(),
            13 => self.unlink(),
            14 => self.follow(),
            15 => self.replace_link(),
            16 => self.note_position(),
            17 => self.resolve(),
            18 => self.release(),
            19 => self.forge(),
            20 => self.reserve(),
            21 => self.trim(),
            22 => {
                if let Some(place) = self.input.pick(&self.filled) {
                    let (name, _, buf) = self.filled.swap_remove(place);
                    drop(buf);
                    self.end_filled(name);
                }
            }
            _ if step > 230 => {
                let index = self.input.below(2);
                self.drop_arena(index);
            }
            _ => REFUSED.set(self.input.below(3) as u8),
        }
    }

    /// Compares everything there is with the model.
    fn compare(&self) {
        for (part, buf) in &self.bufs {
            let chunk = &self.chunks[&part.name];
            assert_eq!(**buf, chunk.bytes[part.range.clone()]);
            assert_eq!(buf.references(), Some(chunk.references));
            let mut expected = Some(part);
            for bytes in buf.parts() {
                let part = expected.expect("a chain of so many");
                assert_eq!(*bytes, *self.bytes(part));
                expected = self.chunks[&part.name].next.as_ref();
            }
            assert_eq!(expected, None, "a chain of more");
        }
        for (name, start, buf) in &self.filled {
            assert_eq!(**buf, self.chunks[name].bytes[*start..]);
        }
        for (index, arena) in self.arenas.iter().enumerate() {
            let Some(arena) = arena else { continue };
            let stats = arena.stats();
            let of_it = || self.chunks.values().filter(|it| it.arena == index);
            assert_eq!(stats.in_use(), of_it().count());
            let held: usize = of_it().map(|it| it.held).sum();
            assert_eq!(stats.held_by_locs, held as u64);
        }
        let known = self.arenas.iter().flatten().map(|it| it.memory().bytes());
        let known: usize = known.sum();
        if self.arenas.iter().all(Option::is_some) {
            assert_eq!(known, BYTES.get());
        } else {
            assert!(known <= BYTES.get());
        }
    }

    /// Drops all that is left, in an order that the program chooses.
    fn end(mut self) {
        while !(self.bufs.is_empty() && self.filled.is_empty()) {
            match self.input.below(8) {
                0..4 => self.drop_buf(),
                6 | 7 if self.input.number() % 4 == 3 => {
                    let index = self.input.below(2);
                    self.drop_arena(index);
                }
                _ => self.freeze(),
            }
            if self.bufs.is_empty() {
                self.freeze();
            }
        }
        (0..2).for_each(|index| self.drop_arena(index));
        assert!(self.chunks.is_empty(), "the model has more");
    }
}

/// Runs a program: the first bytes say which arenas, the others are steps. `check` is
/// called on each arena after every step.
pub(crate) fn run(bytes: &[u8], check: fn(&ByteArena)) {
    REFUSED.set(0);
    let mut input = Input(bytes);
    let mut is_limited = [false; 2];
    let arenas = [0, 1].map(|index| {
        let (kind, growth) = (input.number(), input.number());
        is_limited[index] = kind % 3 == 0;
        let limit = if is_limited[index] {
            2000 + kind * 40
        } else {
            usize::MAX
        };
        let builder = ByteArena::builder()
            .start(1 + kind)
            .growth(1.2 + growth as f64 / 64.0)
            .slab_size([100, 600, 2048, 4096][kind % 4])
            .largest(2048)
            .max_bytes(limit)
            .pages(Pages::from_source(Arc::new(Refusing)));
        Some(builder.build())
    });
    let mut world = World {
        input,
        arenas,
        is_limited,
        chunks: BTreeMap::new(),
        last: 0,
        bufs: Vec::new(),
        filled: Vec::new(),
        positions: Vec::new(),
    };
    while let Some(step) = world.input.next() {
        world.step(step);
        world.compare();
        world.arenas.iter().flatten().for_each(check);
    }
    world.end();
    assert_eq!(BYTES.get(), 0, "memory is lost");
}
