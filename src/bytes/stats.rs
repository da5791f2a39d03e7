//! What an arena counts.

use core::cell::Cell;
use core::fmt;

use super::class::Class;
use super::home::Home;
use super::sizes::MOST_CLASSES;

/// A number that goes up.
#[derive(Default)]
pub(super) struct Counter(Cell<u64>);

impl Counter {
    #[inline(always)]
    pub(super) fn add(&self) {
        self.add_many(1);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.get()
    }

    pub(super) fn add_many(&self, count: u64) {
        self.0.set(self.0.get().wrapping_add(count));
    }
}

/// What is counted apart from the classes.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) mallocs: Counter,
    pub(super) malloc_errs: Counter,
    pub(super) too_big_errs: Counter,
    pub(super) add_slab_errs: Counter,
    pub(super) pop_free_chunk_errs: Counter,
    pub(super) get_nexts: Counter,
    pub(super) set_nexts: Counter,
    pub(super) moved_slabs: Counter,
    pub(super) trimmed_slabs: Counter,
}

/// One size class of a [`ByteArena`](super::ByteArena), at the time of a
/// [`stats`](super::ByteArena::stats).
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// let _buf = arena.alloc(100).unwrap();
/// let stats = arena.stats();
/// let class = stats.classes().iter().find(|class| class.in_use > 0).unwrap();
/// assert_eq!((class.chunk_size, class.slabs, class.in_use), (128, 1, 1));
/// assert_eq!(class.free, class.chunks - 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassStats {
    /// Bytes of a chunk.
    pub chunk_size: usize,
    /// Slabs that are cut into such chunks.
    pub slabs: usize,
    /// Chunks of these slabs.
    pub chunks: usize,
    /// Chunks that are not in use.
    pub free: usize,
    /// Chunks that buffers, links or positions use.
    pub in_use: usize,
    /// Bytes at the ends of slabs that make no chunk.
    pub unused_bytes: usize,
    /// Chunks that were handed out since the arena was made.
    pub allocs: u64,
}

/// What a [`ByteArena`](super::ByteArena) has, and what was done with it: a snapshot.
///
/// Prints as indented text. [`iter`](Self::iter) is for exporters of metrics, and
/// [`ClassStats::iter`] for each class. `slab_classes`, `held_by_locs` and `slab_bytes` are of now
/// (gauges), and of a class all but `allocs`; the others count from when the arena was made.
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// let buf = arena.copy(b"hello").unwrap();
/// drop(buf);
/// let stats = arena.stats();
/// assert_eq!((stats.allocs, stats.dec_ref_zeroes, stats.in_use()), (1, 1, 0));
/// assert!(stats.to_string().contains("allocs: 1"));
/// for (name, value) in stats.iter() {
///     println!("{name} {value}");
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Size classes.
    pub slab_classes: u64,
    /// Chunks that were handed out.
    pub allocs: u64,
    /// References that were added, by `clone`, `slice`, `next` or `resolve`. Counting them
    /// makes each of those a third slower, so only with the feature `stats`.
    #[cfg(feature = "stats")]
    pub add_refs: u64,
    /// References that were given back.
    #[cfg(feature = "stats")]
    pub dec_refs: u64,
    /// Chunks that were given back: their last reference was dropped, or the buffer that was
    /// to be filled.
    pub dec_ref_zeroes: u64,
    /// Links that were read by [`Buf::next`](super::Buf::next).
    pub get_nexts: u64,
    /// Links that were set by [`Buf::set_next`](super::Buf::set_next).
    pub set_nexts: u64,
    /// Requests of memory for a slab.
    pub mallocs: u64,
    /// Of them, those that were refused.
    pub malloc_errs: u64,
    /// Requests of buffers above the largest chunk.
    pub too_big_errs: u64,
    /// Slabs that could neither be added nor taken from another class.
    pub add_slab_errs: u64,
    /// Chunks that were put on a free stack after use.
    pub push_free_chunks: u64,
    /// Chunks that were taken from a free stack.
    pub pop_free_chunks: u64,
    /// Requests of buffers for which there was no chunk.
    pub pop_free_chunk_errs: u64,
    /// Slabs that were moved from one class to another.
    pub moved_slabs: u64,
    /// Slabs that were given back by [`trim`](super::ByteArena::trim).
    pub trimmed_slabs: u64,
    /// References that positions hold now.
    pub held_by_locs: u64,
    /// Bytes of all slabs with their headers now.
    pub slab_bytes: u64,
    classes: [ClassStats; MOST_CLASSES],
}

impl Home {
    pub(super) fn stats(&self) -> Stats {
        let mut classes = [ClassStats::default(); MOST_CLASSES];
        for (entry, class) in classes.iter_mut().zip(self.classes()) {
            *entry = self.class_stats(class);
        }
        let allocs = classes.iter().map(|class| class.allocs).sum::<u64>();
        let in_use = classes.iter().map(|class| class.in_use as u64).sum::<u64>();
        let counters = self.counters();
        Stats {
            slab_classes: self.classes().len() as u64,
            allocs,
            #[cfg(feature = "stats")]
            add_refs: self
                .classes()
                .iter()
                .map(|class| class.add_refs.get())
                .sum(),
            #[cfg(feature = "stats")]
            dec_refs: self
                .classes()
                .iter()
                .map(|class| class.dec_refs.get())
                .sum(),
            // Each chunk that was handed out and is not in use came back, once.
            dec_ref_zeroes: allocs - in_use,
            get_nexts: counters.get_nexts.get(),
            set_nexts: counters.set_nexts.get(),
            mallocs: counters.mallocs.get(),
            malloc_errs: counters.malloc_errs.get(),
            too_big_errs: counters.too_big_errs.get(),
            add_slab_errs: counters.add_slab_errs.get(),
            push_free_chunks: allocs - in_use,
            pop_free_chunks: allocs,
            pop_free_chunk_errs: counters.pop_free_chunk_errs.get(),
            moved_slabs: counters.moved_slabs.get(),
            trimmed_slabs: counters.trimmed_slabs.get(),
            held_by_locs: self.held(),
            slab_bytes: self.slab_bytes() as u64,
            classes,
        }
    }

    fn class_stats(&self, class: &Class) -> ClassStats {
        ClassStats {
            chunk_size: class.size(),
            slabs: class.slabs(),
            chunks: class.chunks(),
            free: class.chunks() - class.in_use(),
            in_use: class.in_use(),
            unused_bytes: class.data_bytes() - class.chunks() * class.size(),
            allocs: class.allocs(),
        }
    }
}

impl ClassStats {
    /// The figures, by name: those of the fields.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let class = arena.stats().classes()[0];
    /// assert!(class.iter().any(|figure| figure == ("chunk_size", 64)));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        [
            ("chunk_size", self.chunk_size as u64),
            ("slabs", self.slabs as u64),
            ("chunks", self.chunks as u64),
            ("chunks_free", self.free as u64),
            ("chunks_in_use", self.in_use as u64),
            ("unused_bytes", self.unused_bytes as u64),
            ("allocs", self.allocs),
        ]
        .into_iter()
    }
}

impl Stats {
    /// The size classes, by size.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.stats().classes()[0].chunk_size, 64);
    /// ```
    #[must_use]
    pub fn classes(&self) -> &[ClassStats] {
        &self.classes[..self.slab_classes as usize]
    }

    /// Chunks in use, of all classes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let _buf = arena.alloc(100).unwrap();
    /// assert_eq!(arena.stats().in_use(), 1);
    /// ```
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.classes().iter().map(|class| class.in_use).sum()
    }

    /// The totals, by name: those of the fields.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let _buf = arena.alloc(100).unwrap();
    /// assert!(arena.stats().iter().any(|total| total == ("allocs", 1)));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        [
            ("slab_classes", self.slab_classes),
            ("allocs", self.allocs),
            #[cfg(feature = "stats")]
            ("add_refs", self.add_refs),
            #[cfg(feature = "stats")]
            ("dec_refs", self.dec_refs),
            ("dec_ref_zeroes", self.dec_ref_zeroes),
            ("get_nexts", self.get_nexts),
            ("set_nexts", self.set_nexts),
            ("mallocs", self.mallocs),
            ("malloc_errs", self.malloc_errs),
            ("too_big_errs", self.too_big_errs),
            ("add_slab_errs", self.add_slab_errs),
            ("push_free_chunks", self.push_free_chunks),
            ("pop_free_chunks", self.pop_free_chunks),
            ("pop_free_chunk_errs", self.pop_free_chunk_errs),
            ("moved_slabs", self.moved_slabs),
            ("trimmed_slabs", self.trimmed_slabs),
            ("held_by_locs", self.held_by_locs),
            ("slab_bytes", self.slab_bytes),
        ]
        .into_iter()
    }
}

/// The totals, then the classes that have slabs.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.iter().enumerate() {
            let newline = if index > 0 { "\n" } else { "" };
            write!(f, "{newline}{name}: {value}")?;
        }
        for class in self.classes().iter().filter(|class| class.slabs > 0) {
            f.write_str("\nslab class:")?;
            for (name, value) in class.iter() {
                write!(f, "\n  {name}: {value}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Stats");
        for (name, value) in self.iter() {
            debug.field(name, &value);
        }
        debug.field("classes", &self.classes()).finish()
    }
}
