//! The steps of a program on two arenas of buffers that may go to other threads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use flatslab::BuildError;
use flatslab::bytes::{self, Atomic, RequestError};

type ByteArena = bytes::ByteArena<Atomic>;
type Buf = bytes::Buf<Atomic>;
type BufMut = bytes::BufMut<Atomic>;

use super::{BYTES, Input, REFUSED, pages};

/// A chunk in use.
struct Chunk {
    arena: usize,
    /// Its filled bytes, from its beginning.
    bytes: Vec<u8>,
    /// None while it is filled.
    references: usize,
}

/// What a reference reads: some bytes of a chunk, by the chunk's name.
#[derive(Clone)]
struct Part {
    name: u32,
    range: Range<usize>,
}

/// A buffer that is filled: which chunk, and from where in it.
struct Filled {
    name: u32,
    start: usize,
    buf: BufMut,
}

struct World<'i, 'p> {
    input: &'i mut Input<'p>,
    arenas: [Option<ByteArena>; 2],
    /// Chunks that came back and may be reclaimed, at most.
    pending: [usize; 2],
    is_limited: [bool; 2],
    chunks: BTreeMap<u32, Chunk>,
    bufs: Vec<(Part, Buf)>,
    filled: Vec<Filled>,
    last: u32,
}

impl World<'_, '_> {
    fn chunk(&mut self, name: u32) -> &mut Chunk {
        self.chunks.get_mut(&name).expect("it is in use")
    }

    fn add(&mut self, arena: usize, bytes: Vec<u8>, references: usize) -> u32 {
        self.last += 1;
        let chunk = Chunk {
            arena,
            bytes,
            references,
        };
        self.chunks.insert(self.last, chunk);
        self.last
    }

    fn end_chunk(&mut self, name: u32) {
        let chunk = self.chunks.remove(&name).expect("it is in use");
        self.pending[chunk.arena] += 1;
    }

    /// Counts one reference less, and says whether it was the last one.
    fn leave(&mut self, name: u32) -> bool {
        let chunk = self.chunk(name);
        chunk.references -= 1;
        let is_last = chunk.references == 0;
        if is_last {
            self.end_chunk(name);
        }
        is_last
    }

    fn allocate(&mut self) {
        let index = usize::from(self.input.one_in(4));
        let size = self.input.number() * [1, 1, 3, 8][self.input.below(4)];
        let (kind, byte) = (self.input.below(4), self.input.number() as u8);
        let may_fail = self.is_limited[index] || REFUSED.get() > 0;
        let Some(arena) = &self.arenas[index] else {
            return;
        };
        let failed = match kind {
            0 => {
                let bytes = vec![byte; size];
                match arena.try_copy(&bytes) {
                    Ok(buf) => {
                        assert!(buf == bytes[..] && buf.is_unique() && arena.owns(&buf));
                        let name = self.add(index, bytes, 1);
                        let range = 0..size;
                        self.bufs.push((Part { name, range }, buf));
                        None
                    }
                    Err(error) => Some(error),
                }
            }
            kind => {
                let (result, len) = match kind {
                    1 => (arena.try_alloc_zeroed(size), size),
                    _ => (arena.try_alloc(size), 0),
                };
                match result {
                    Ok(buf) => {
                        assert!(*buf == vec![0; len] && buf.capacity() == size);
                        let (name, start) = (self.add(index, buf.to_vec(), 0), 0);
                        self.filled.push(Filled { name, start, buf });
                        None
                    }
                    Err(error) => Some(error),
                }
            }
        };
        match failed {
            Some(RequestError::TooLarge(error)) => {
                assert!(error.size == size && size > error.limit);
            }
            Some(error) => assert!(may_fail, "{error}"),
            None => {}
        }
    }

    fn fill(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let (kind, number) = (self.input.below(7), self.input.number());
        let byte = self.input.number() as u8;
        let Filled { name, start, buf } = &mut self.filled[place];
        let bytes = &mut self.chunks.get_mut(name).unwrap().bytes;
        let has_room = number <= buf.remaining();
        match kind {
            0 => {
                buf.truncate(number);
                bytes.truncate(*start + number);
            }
            1 => {
                buf.clear();
                bytes.truncate(*start);
            }
            2 => {
                buf.fill(byte);
                bytes[*start..].fill(byte);
            }
            3 => {
                let is_done = buf.resize(number, byte).is_ok();
                assert_eq!(is_done, number <= buf.capacity());
                if is_done {
                    bytes.resize(*start + number, byte);
                }
            }
            4 => {
                let text = "x".repeat(number);
                assert_eq!(buf.write_str(&text).is_ok(), has_room);
                if has_room {
                    bytes.extend(text.bytes());
                }
            }
            _ => {
                let added = vec![byte; number];
                assert_eq!(buf.extend_from_slice(&added).is_ok(), has_room);
                if has_room {
                    bytes.extend(added);
                }
            }
        }
    }

    fn freeze(&mut self) {
        let Some(Filled { name, start, buf }) = self.input.take(&mut self.filled) else {
            return;
        };
        let range = start..start + buf.len();
        self.chunk(name).references = 1;
        self.bufs.push((Part { name, range }, buf.freeze()));
    }

    /// One more reference: to all of the bytes, or to some.
    fn share(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (kind, start, end) = (
            self.input.below(3),
            self.input.number(),
            self.input.number(),
        );
        let (part, buf) = &mut self.bufs[place];
        let mut new = part.clone();
        let shared = match kind {
            0 => buf.clone(),
            1 if end <= buf.len() => {
                new.range.end = new.range.start + end;
                part.range.start += end;
                buf.split_to(end)
            }
            _ => {
                let shared = buf.try_slice(start..end);
                assert_eq!(shared.is_some(), start <= end && end <= part.range.len());
                let Some(shared) = shared else { return };
                new.range = part.range.start + start..part.range.start + end;
                shared
            }
        };
        self.chunk(new.name).references += 1;
        self.bufs.push((new, shared));
    }

    fn shorten(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (kind, number) = (self.input.below(2), self.input.number());
        let (Part { range, .. }, buf) = &mut self.bufs[place];
        if kind == 0 {
            buf.truncate(number);
            range.end = range.end.min(range.start + number);
        } else if number <= buf.len() {
            buf.advance(number);
            range.start += number;
        }
    }

    fn end_buf(&mut self) {
        let releases = self.input.one_in(2);
        let Some((part, buf)) = self.input.take(&mut self.bufs) else {
            return;
        };
        let is_last = self.leave(part.name);
        if releases {
            assert_eq!(buf.release(), is_last);
        }
    }

    fn end_filled(&mut self) {
        if let Some(filled) = self.input.take(&mut self.filled) {
            self.end_chunk(filled.name);
        }
    }

    fn make_mutable(&mut self) {
        let Some((part, buf)) = self.input.take(&mut self.bufs) else {
            return;
        };
        let chunk = self.chunk(part.name);
        let is_unique = chunk.references == 1;
        match buf.try_into_mut() {
            Ok(buf) => {
                assert!(is_unique && buf.capacity() >= part.range.len());
                chunk.references = 0;
                chunk.bytes.truncate(part.range.end);
                let (name, start) = (part.name, part.range.start);
                self.filled.push(Filled { name, start, buf });
            }
            Err(buf) => {
                assert!(!is_unique);
                self.bufs.push((part, buf));
            }
        }
    }

    /// What the arena does besides giving buffers.
    fn tend(&mut self) {
        let index = usize::from(self.input.one_in(4));
        let (kind, number) = (self.input.below(3), self.input.number());
        let Some(arena) = &self.arenas[index] else {
            return;
        };
        let in_use = || self.chunks.values().filter(|it| it.arena == index).count();
        match kind {
            0 => {
                // An allocation may have reclaimed some.
                assert!(arena.reclaim() <= self.pending[index]);
                assert_eq!(arena.reclaim(), 0);
                self.pending[index] = 0;
                assert_eq!(arena.stats().in_use(), in_use());
            }
            1 => {
                let (before, given) = (arena.memory().bytes(), BYTES.get());
                arena.shrink_to_fit();
                assert_eq!(before - arena.memory().bytes(), given - BYTES.get());
            }
            _ => {
                let may_fail = self.is_limited[index] || REFUSED.get() > 0;
                match arena.prepare(number * 8, number % 5) {
                    Ok(()) => {}
                    Err(RequestError::TooLarge(error)) => assert!(error.size > error.limit),
                    Err(error) => assert!(may_fail, "{error}"),
                }
                assert_eq!(arena.stats().in_use(), in_use());
            }
        }
    }

    fn step(&mut self, step: u8) {
        match step % 16 {
            0..3 => self.allocate(),
            3 | 4 => self.fill(),
            5 | 6 => self.freeze(),
            7 | 8 => self.share(),
            9 => self.shorten(),
            10 | 11 => self.end_buf(),
            12 => self.make_mutable(),
            13 => self.tend(),
            14 => self.end_filled(),
            _ if step > 230 => {
                let index = usize::from(self.input.one_in(4));
                self.arenas[index] = None;
            }
            _ => REFUSED.set(self.input.below(3) as u8),
        }
    }

    fn compare(&self) {
        for (part, buf) in &self.bufs {
            let chunk = &self.chunks[&part.name];
            assert_eq!(**buf, chunk.bytes[part.range.clone()]);
            assert_eq!(buf.references(), Some(chunk.references));
            assert_eq!(buf.is_unique(), chunk.references == 1);
            for (index, arena) in self.arenas.iter().enumerate() {
                let owns = arena.as_ref().is_some_and(|arena| arena.owns(buf));
                assert_eq!(owns, chunk.arena == index && arena.is_some());
            }
        }
        for Filled { name, start, buf } in &self.filled {
            assert_eq!(**buf, self.chunks[name].bytes[*start..]);
            assert_eq!(buf.remaining(), buf.capacity() - buf.len());
        }
        #[cfg(fuzzing)]
        self.arenas.iter().flatten().for_each(ByteArena::check);
    }
}

pub(super) fn run(input: &mut Input<'_>) {
    let mut is_limited = [false; 2];
    let arenas = [0, 1].map(|index| {
        let (kind, growth) = (input.number(), input.number());
        is_limited[index] = kind % 3 == 0;
        let limit = if is_limited[index] {
            2500 + kind * 40
        } else {
            usize::MAX
        };
        let builder = bytes::ByteArena::builder()
            .atomic()
            .smallest(1 + kind)
            .growth(1.2 + growth as f64 / 64.0)
            .chunk_bytes([100, 600, 2048, 4096][kind % 4])
            .largest(2048)
            .max_bytes(limit)
            .pages(pages());
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
        pending: [0; 2],
        is_limited,
        chunks: BTreeMap::new(),
        bufs: Vec::new(),
        filled: Vec::new(),
        last: 0,
    };
    while let Some(step) = world.input.next() {
        world.step(step);
        world.compare();
    }
    // Buffers before the arenas, or after.
    if world.bufs.len() % 2 == 0 {
        world.arenas = [None, None];
    }
    while !(world.bufs.is_empty() && world.filled.is_empty()) {
        world.end_buf();
        world.end_filled();
        world.compare();
    }
    assert!(world.chunks.is_empty(), "the model has more");
}
