//! A program on two arenas, and a model that knows what each buffer and each position leads
//! to: for random programs and for the fuzz target.

mod handles;
mod positions;
mod source;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use flatslab::BuildError;
use flatslab::bytes::{Buf, BufMut, ByteArena, Loc, RequestError};
use flatslab::memory::Pages;

use source::{BYTES, REFUSED, Refusing};

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
    /// References: buffers, links, those of positions, and the one that fills it, if that was split.
    references: usize,
    held: usize,
    /// Counts how often its positions became stale.
    epoch: u32,
    next: Option<Part>,
}

/// What fills a chunk, from `start` on.
struct Filled {
    name: u32,
    start: usize,
    /// Whether the chunk counts it as a reference.
    is_counted: bool,
    buf: BufMut,
}

impl Filled {
    /// Its first bytes.
    fn part(&self, count: usize) -> Part {
        let (name, range) = (self.name, self.start..self.start + count);
        Part { name, range }
    }
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
    filled: Vec<Filled>,
    positions: Vec<Position>,
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

    /// Drops a buffer that is being filled.
    fn drop_filled(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let Filled {
            name, is_counted, ..
        } = self.filled.swap_remove(place);
        if !is_counted {
            self.chunk(name).references = 1;
        }
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
        let largest = arena.stats().classes().last().unwrap().size;
        let result = if is_zeroed {
            arena.try_alloc_zeroed(size)
        } else {
            arena.try_alloc(size)
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
                self.filled.push(Filled {
                    name: self.last,
                    start: 0,
                    is_counted: false,
                    buf,
                });
            }
            Err(RequestError::TooLarge(_)) => assert!(size > largest),
            Err(error) => assert!(may_fail && size <= largest, "{error}"),
        }
    }
    fn reserve(&mut self) {
        let Some(index) = self.arena() else { return };
        let (size, count) = (self.input.number() * 4, self.input.below(20));
        let may_fail = self.is_limited[index] || REFUSED.get() > 0;
        let arena = self.arenas[index].as_ref().unwrap();
        let result = arena.prepare(size, count);
        let stats = arena.stats();
        let class = stats.classes().iter().find(|it| it.size >= size);
        match result {
            Ok(()) => assert!(class.unwrap().free >= count),
            Err(RequestError::TooLarge(_)) => assert!(class.is_none()),
            Err(error) => assert!(may_fail, "{error}"),
        }
    }

    fn shrink(&mut self) {
        let Some(index) = self.arena() else { return };
        let arena = self.arenas[index].as_ref().unwrap();
        let (before, given) = (arena.memory().bytes(), BYTES.get());
        arena.shrink_to_fit();
        assert_eq!(before - arena.memory().bytes(), given - BYTES.get());
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
        match step % 28 {
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
            21 => self.shrink(),
            22 => self.drop_filled(),
            23 | 24 => self.split(),
            25 => self.reclaim(),
            26 => self.unsplit(),
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
        for it in &self.filled {
            assert_eq!(*it.buf, self.chunks[&it.name].bytes[it.start..]);
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
            .smallest(1 + kind)
            .growth(1.2 + growth as f64 / 64.0)
            .chunk_bytes([100, 600, 2048, 4096][kind % 4])
            .largest(2048)
            .max_bytes(limit)
            .pages(Pages::from_source(Arc::new(Refusing)));
        let built = match builder.clone().try_build() {
            // What the largest class needs, and little more.
            Err(BuildError::OutOfRange { min, .. }) => builder.max_bytes(min + kind).build(),
            built => built.unwrap(),
        };
        Some(built)
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
