//! A source of few bytes, in which blocks of others lie at random: a container whose values were
//! all dropped serves what a new one would serve in its place.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use flatslab::bump::Arena;
use flatslab::bytes::{Atomic, BufMut, ByteArena, References};
use flatslab::epoch::{EpochBytes, EpochKey, EpochSlab};
use flatslab::memory::{MemorySource, Pages};
use flatslab::pool::Pool;
use flatslab::{AllocError, Builder, Key, KeySlab, Slab, Slot};

use crate::common::random::{one_in, random, seed};

/// A fixed number of bytes, of which a request takes the first that are free.
pub(crate) struct Bounded {
    _block: Vec<MaybeUninit<u8>>,
    /// The first byte that is as aligned as a segment of a pool, if there is room for one.
    start: NonNull<u8>,
    bytes: usize,
    /// What was given, by its offset.
    given: Mutex<BTreeMap<usize, usize>>,
}

// SAFETY: the bytes belong to those who have them.
unsafe impl Send for Bounded {}
// SAFETY: as above; what was given is behind a lock.
unsafe impl Sync for Bounded {}

impl Bounded {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        let align = if bytes < 2 << 20 { 4096 } else { 2 << 20 };
        let mut block = Vec::<MaybeUninit<u8>>::with_capacity(bytes + align);
        let first = block.as_mut_ptr();
        // SAFETY: less than the alignment, which there is room for.
        let start = unsafe { first.add(first.align_offset(align)) };
        Arc::new(Bounded {
            _block: block,
            start: NonNull::new(start.cast()).unwrap(),
            bytes,
            given: Mutex::default(),
        })
    }

    /// Another one, in which the same bytes are free except those of a container.
    fn twin(&self, others: &[Range<usize>]) -> Arc<Self> {
        let twin = Bounded::new(self.bytes);
        let parts = others.iter().map(|part| (part.start, part.len()));
        *twin.given.lock().unwrap() = parts.collect();
        twin
    }

    pub(crate) fn pages(self: &Arc<Self>) -> Pages {
        Pages::from_source(self.clone())
    }

    fn take(&self, layout: Layout) -> Option<usize> {
        let mut given = self.given.lock().unwrap();
        let base = self.start.addr().get();
        let mut start = 0;
        let fitting = |start: usize| (base + start).next_multiple_of(layout.align()) - base;
        for (&next, &bytes) in given.iter() {
            if fitting(start) + layout.size() <= next {
                break;
            }
            start = next + bytes;
        }
        start = fitting(start);
        let fits = start + layout.size() <= self.bytes;
        fits.then(|| {
            given.insert(start, layout.size());
            start
        })
    }

    /// Takes bytes that are no container's.
    fn occupy(&self, bytes: usize) -> Option<Range<usize>> {
        let start = self.take(Layout::from_size_align(bytes, 16).unwrap())?;
        Some(start..start + bytes)
    }

    fn vacate(&self, part: &Range<usize>) {
        assert_eq!(
            self.given.lock().unwrap().remove(&part.start),
            Some(part.len())
        );
    }
}

// SAFETY: what is given is in the block and in nothing else that was given; it stays until the
// source is dropped. It is aligned by its address.
unsafe impl MemorySource for Bounded {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let bytes = layout.size();
        let start = self.take(layout).ok_or(AllocError::OutOfMemory { bytes })?;
        // SAFETY: within the block.
        Ok(unsafe { self.start.add(start) })
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        let offset = start.addr().get() - self.start.addr().get();
        self.vacate(&(offset..offset + layout.size()));
    }
}

/// A container of values of several sizes.
trait Container: Sized {
    type Value;

    fn sizes(&self) -> Vec<usize>;

    fn try_insert(&mut self, size: usize) -> Option<Self::Value>;

    fn remove(&mut self, value: Self::Value);

    /// What is called when all values were removed.
    fn end(&mut self) {}

    /// Refusals after which it has freed all chunks that it may have to free.
    fn refusals(&self) -> usize {
        0
    }
}

impl<R: References> Container for ByteArena<R> {
    type Value = BufMut<R>;

    fn sizes(&self) -> Vec<usize> {
        self.stats().classes().iter().map(|it| it.size).collect()
    }

    fn try_insert(&mut self, size: usize) -> Option<BufMut<R>> {
        self.try_alloc(size).ok()
    }

    fn remove(&mut self, value: BufMut<R>) {
        drop(value);
    }

    fn refusals(&self) -> usize {
        let chunks: usize = self.stats().classes().iter().map(|it| it.chunks).sum();
        chunks / 64
    }
}

impl Container for EpochBytes {
    type Value = EpochKey;

    fn sizes(&self) -> Vec<usize> {
        (6..)
            .map(|power| 3 << (power - 1))
            .take_while(|&size| size <= self.largest())
            .collect()
    }

    fn try_insert(&mut self, size: usize) -> Option<EpochKey> {
        let epoch = if one_in(4) {
            self.permanent()
        } else {
            self.current()
        };
        Some(self.try_alloc_in(epoch, size).ok()?.into_key())
    }

    fn remove(&mut self, value: EpochKey) {
        assert!(EpochBytes::remove(self, value));
    }

    fn refusals(&self) -> usize {
        let stats = self.stats();
        (stats.chunks + stats.cached_chunks) / 64
    }
}

/// Epochs of a ring.
const EPOCHS: usize = 3;

/// The epochs of a ring that goes on come back to the records that every slab has.
struct Advancing(EpochBytes);

impl Container for Advancing {
    type Value = EpochKey;

    fn sizes(&self) -> Vec<usize> {
        self.0.sizes()
    }

    fn try_insert(&mut self, size: usize) -> Option<EpochKey> {
        if one_in(8) {
            self.0.advance();
        }
        self.0.try_insert(size)
    }

    fn remove(&mut self, value: EpochKey) {
        Container::remove(&mut self.0, value);
    }

    fn end(&mut self) {
        for _ in 0..EPOCHS {
            let _ = self.0.advance();
        }
    }

    fn refusals(&self) -> usize {
        self.0.refusals()
    }
}

impl Container for EpochSlab<[u64; 12]> {
    type Value = EpochKey;

    fn sizes(&self) -> Vec<usize> {
        vec![0]
    }

    fn try_insert(&mut self, _: usize) -> Option<EpochKey> {
        if one_in(8) {
            self.advance();
        }
        let epoch = if one_in(4) {
            self.permanent()
        } else {
            self.current()
        };
        self.try_insert_in(epoch, [7; 12]).ok()
    }

    fn remove(&mut self, value: EpochKey) {
        assert!(self.take(value).is_some());
    }

    fn refusals(&self) -> usize {
        let stats = self.stats();
        (stats.chunks + stats.cached_chunks) / 64
    }
}

impl Container for Slab<[u64; 4]> {
    type Value = Slot<[u64; 4]>;

    fn sizes(&self) -> Vec<usize> {
        vec![0]
    }

    fn try_insert(&mut self, _: usize) -> Option<Self::Value> {
        Slab::try_insert(self, [7; 4]).ok()
    }

    fn remove(&mut self, value: Self::Value) {
        drop(value);
    }
}

impl Container for KeySlab<[u64; 4]> {
    type Value = Key;

    fn sizes(&self) -> Vec<usize> {
        vec![0]
    }

    fn try_insert(&mut self, _: usize) -> Option<Key> {
        KeySlab::try_insert(self, [7; 4]).ok()
    }

    fn remove(&mut self, value: Key) {
        KeySlab::remove(self, value);
    }
}

impl Container for Pool<'_, [u64; 4]> {
    type Value = ();

    fn sizes(&self) -> Vec<usize> {
        vec![0]
    }

    fn try_insert(&mut self, _: usize) -> Option<()> {
        self.try_alloc([7; 4]).ok().map(drop)
    }

    fn remove(&mut self, (): ()) {}
}

/// Its values are removed all at once.
impl Container for Arena {
    type Value = ();

    fn sizes(&self) -> Vec<usize> {
        (3..18).map(|power| 1 << power).collect()
    }

    fn try_insert(&mut self, size: usize) -> Option<()> {
        let layout = Layout::from_size_align(size, 8).unwrap();
        self.try_alloc_layout(layout).ok().map(drop)
    }

    fn remove(&mut self, (): ()) {}

    fn end(&mut self) {
        self.reset();
    }

    fn refusals(&self) -> usize {
        self.chunks_allocated() / 42
    }
}

/// Blocks of others, of random sizes.
fn scatter(source: &Bounded, count: usize, most: u64) -> Vec<Range<usize>> {
    let mut parts: Vec<_> = (0..count)
        .filter_map(|_| source.occupy(16 * (1 + random(most / 16) as usize)))
        .collect();
    parts.retain(|part| {
        let is_gone = one_in(2);
        if is_gone {
            source.vacate(part);
        }
        !is_gone
    });
    parts
}

/// Uses a container of `source` together with others, until no value is left.
fn use_at_random<C: Container>(container: &mut C, source: &Bounded, most: u64) {
    let sizes = container.sizes();
    let (mut values, mut others) = (Vec::new(), Vec::new());
    let mut size = sizes[0];
    for _ in 0..400 {
        match random(10) {
            0 => size = sizes[random(sizes.len() as u64) as usize],
            1 => others.extend(source.occupy(16 * (1 + random(most / 16) as usize))),
            2 if !others.is_empty() => {
                let index = random(others.len() as u64) as usize;
                source.vacate(&others.swap_remove(index));
            }
            3 => {
                let kept = random(values.len() as u64 + 1) as usize;
                values
                    .drain(kept..)
                    .for_each(|value| container.remove(value));
            }
            4 if !values.is_empty() => {
                let index = random(values.len() as u64) as usize;
                container.remove(values.swap_remove(index));
            }
            // As many as there are, at times.
            5 if one_in(4) => {
                values.extend(std::iter::from_fn(|| container.try_insert(size)).take(20_000))
            }
            _ => values.extend(container.try_insert(size)),
        }
    }
    values.into_iter().for_each(|value| container.remove(value));
    others.iter().for_each(|part| source.vacate(part));
    container.end();
}

fn serves_what_a_new_one_would<C: Container>(
    name: &str,
    bytes: usize,
    build: impl Fn(Pages) -> Option<C>,
) {
    let mut served = 0;
    let is_weekly = std::env::var_os("FLATSLAB_WEEKLY").is_some();
    for number in 0..if is_weekly { 500 } else { 3 } {
        seed(number);
        let source = Bounded::new(bytes);
        let most = bytes as u64 / 8;
        let others = scatter(&source, random(8) as usize, most);
        let Some(mut container) = build(source.pages()) else {
            continue;
        };
        for size in container.sizes() {
            use_at_random(&mut container, &source, most);
            let new = build(source.twin(&others).pages());
            if new.is_none_or(|mut new| new.try_insert(size).is_none()) {
                continue;
            }
            let attempts = 1 + container.refusals();
            let served_at = (0..attempts).find_map(|_| container.try_insert(size));
            let Some(value) = served_at else {
                panic!("{name}, seed {number}: {size} bytes are refused with all values dropped");
            };
            container.remove(value);
            served += 1;
        }
    }
    assert!(served > 0, "{name}");
}

fn arena<R: References>(builder: Builder<ByteArena<R>>) -> impl Fn(Pages) -> Option<ByteArena<R>> {
    move |pages| builder.clone().pages(pages).try_build().ok()
}

#[test]
fn byte_arenas_serve_what_new_ones_would() {
    let local = ByteArena::builder();
    for (name, bytes, builder) in [
        ("the default in 64 KiB", 64 << 10, local.clone()),
        ("the default in 256 KiB", 256 << 10, local.clone()),
        (
            "small chunks",
            96 << 10,
            local.clone().chunk_bytes(1 << 10).largest(16 << 10),
        ),
        (
            "uneven classes",
            96 << 10,
            local.clone().growth(1.3).chunk_bytes(5000).largest(20_000),
        ),
        (
            "limited",
            96 << 10,
            local.clone().largest(16 << 10).max_bytes(60 << 10),
        ),
        (
            "tiny chunks",
            64 << 10,
            local.clone().chunk_bytes(64).largest(30_000),
        ),
    ] {
        serves_what_a_new_one_would(name, bytes, arena(builder.clone()));
        serves_what_a_new_one_would::<ByteArena<Atomic>>(name, bytes, arena(builder.atomic()));
    }
}

#[test]
fn epochs_serve_what_new_ones_would() {
    for (name, bytes, chunk) in [
        ("buffers in 64 KiB", 64 << 10, 16 << 10),
        ("buffers, small chunks", 96 << 10, 1 << 10),
        ("buffers, tiny chunks", 96 << 10, 64),
        ("buffers, uneven chunks", 96 << 10, 5000),
    ] {
        let build = |pages| {
            let builder = EpochBytes::builder().chunk_bytes(chunk).epochs(EPOCHS);
            builder.largest(32 << 10).pages(pages).try_build().ok()
        };
        serves_what_a_new_one_would(name, bytes, build);
        serves_what_a_new_one_would(name, bytes, |pages| Some(Advancing(build(pages)?)));
    }
    for (name, bytes, capacity) in [
        ("values", 64 << 10, 64),
        ("values, small chunks", 16 << 10, 3),
        ("values, a large chunk", 16 << 10, 10_000),
    ] {
        let build = |pages| {
            let builder = EpochSlab::<[u64; 12]>::builder().chunk_capacity(capacity);
            builder.epochs(EPOCHS).pages(pages).try_build().ok()
        };
        serves_what_a_new_one_would(name, bytes, build);
    }
}

#[test]
fn slabs_serve_what_new_ones_would() {
    for bytes in [40 << 10, 100 << 10, 1 << 20] {
        let build = |pages| Slab::<[u64; 4]>::builder().pages(pages).try_build().ok();
        serves_what_a_new_one_would("slab", bytes, build);
        let build = |pages| KeySlab::<[u64; 4]>::builder().pages(pages).try_build().ok();
        serves_what_a_new_one_would("key slab", bytes, build);
    }
}

#[test]
fn bump_arenas_serve_what_new_ones_would() {
    for limit in [None, Some(40_000)] {
        let build = |pages: Pages| {
            let builder = Arena::builder().pages(pages);
            match limit {
                Some(bytes) => builder.max_bytes(bytes),
                None => builder,
            }
            .try_build()
            .ok()
            // Its first chunk stays, where it is.
            .filter(|arena| arena.try_alloc(7_u8).is_ok())
        };
        serves_what_a_new_one_would("bump", 128 << 10, build);
    }
}

#[test]
fn pools_serve_what_new_ones_would() {
    let build = |pages| {
        Pool::<[u64; 4]>::builder()
            .capacity(100)
            .pages(pages)
            .try_build()
            .ok()
    };
    serves_what_a_new_one_would("pool", 6 << 20, build);
}
