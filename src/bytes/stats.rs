//! Statistics of arenas.

use core::fmt;

use super::arena_core::{ArenaCore, Class};
use super::references::References;
use super::sizes::MOST_CLASSES;
use crate::stats::{Figure, print_figures};

/// The state of one size class of a [`ByteArena`](super::ByteArena), from
/// [`stats`](super::ByteArena::stats).
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// let _buf = arena.alloc(100);
/// let stats = arena.stats();
/// let class = stats.classes().iter().find(|class| class.in_use > 0).unwrap();
/// assert_eq!((class.size, class.chunks, class.in_use), (128, 1, 1));
/// assert_eq!(class.free, class.buffers - 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassStats {
    /// Bytes of a buffer.
    pub size: usize,
    /// Number of chunks of the class.
    pub chunks: usize,
    /// Number of buffers of these chunks.
    pub buffers: usize,
    /// Number of buffers that are not in use.
    pub free: usize,
    /// Number of buffers that are in use by references, links or positions.
    pub in_use: usize,
    /// Number of buffers handed out since the arena was created.
    pub allocs: u64,
}

/// A snapshot of the statistics of a [`ByteArena`](super::ByteArena).
///
/// `Display` prints it as indented text. Exporters of metrics use [`figures`](Self::figures), and
/// [`ClassStats::figures`] for each class, which say which fields count since the arena was
/// created, and which are current values.
///
/// # Examples
///
/// ```
/// # let arena = flatslab::bytes::ByteArena::new();
/// drop(arena.copy(b"hello"));
/// let stats = arena.stats();
/// assert_eq!((stats.allocs, stats.frees, stats.in_use()), (1, 1, 0));
/// assert!(stats.to_string().contains("allocs: 1"));
/// for (name, value) in stats.iter() {
///     println!("{name} {value}");
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of size classes.
    pub size_classes: u64,
    /// Number of requests of buffers, including refused ones.
    pub requests: u64,
    /// Number of buffers that were handed out, that is, taken from the free ones.
    pub allocs: u64,
    /// Number of buffers that became free again because their last reference or their `BufMut` was
    /// dropped.
    pub frees: u64,
    /// Number of references that were added by `clone`, `slice`, `next` or `resolve`.
    ///
    /// Counting makes each of these a third slower, so this field and the next four exist only with
    /// the feature `stats`.
    #[cfg(feature = "stats")]
    pub add_refs: u64,
    /// Number of references that were dropped, including those of links.
    #[cfg(feature = "stats")]
    pub dec_refs: u64,
    /// Number of buffers that became free because their last reference was dropped. The other
    /// [`frees`](Self::frees) were drops of a `BufMut`.
    #[cfg(feature = "stats")]
    pub dec_ref_zeroes: u64,
    /// Number of accesses to the next buffer of a chain, by `next`, `next_ref`, `next_mut`, or an
    /// iteration over the parts.
    #[cfg(feature = "stats")]
    pub get_nexts: u64,
    /// Number of calls that set or remove a link, `set_next` and `take_next`, including refused
    /// ones.
    #[cfg(feature = "stats")]
    pub set_nexts: u64,
    /// Number of requests for the memory of a chunk.
    pub mallocs: u64,
    /// Number of requests for memory that were refused.
    pub malloc_errs: u64,
    /// Number of requests of buffers larger than the largest class.
    pub too_large_errs: u64,
    /// Number of chunks that could not be added.
    pub add_chunk_errs: u64,
    /// Number of requests for which there was no buffer.
    pub pop_free_errs: u64,
    /// Number of chunks that were freed, by [`shrink_to_fit`](super::ByteArena::shrink_to_fit) or
    /// to make room for a chunk of another class.
    pub freed_chunks: u64,
    /// Number of references that positions hold.
    pub held_by_locs: u64,
    /// Bytes of all chunks with their headers.
    pub chunk_bytes: u64,
    classes: [ClassStats; MOST_CLASSES],
}

impl Stats {
    pub(super) fn of<R: References>(core: &ArenaCore<R>) -> Self {
        let mut classes = [ClassStats::default(); MOST_CLASSES];
        for (entry, class) in classes.iter_mut().zip(core.classes()) {
            *entry = ClassStats::of(class);
        }
        let allocs = classes.iter().map(|class| class.allocs).sum::<u64>();
        let in_use = classes.iter().map(|class| class.in_use as u64).sum::<u64>();
        let counters = core.counters();
        #[cfg(feature = "stats")]
        let tallies = core.tallies();
        let (too_large_errs, pop_free_errs) =
            (counters.too_large_errs.get(), counters.pop_free_errs.get());
        Stats {
            size_classes: core.classes().len() as u64,
            requests: allocs + too_large_errs + pop_free_errs,
            allocs,
            // Each buffer that was handed out and is not in use was freed, once.
            frees: allocs - in_use,
            #[cfg(feature = "stats")]
            add_refs: tallies.add_refs.get(),
            #[cfg(feature = "stats")]
            dec_refs: tallies.dec_refs.get(),
            #[cfg(feature = "stats")]
            dec_ref_zeroes: tallies.dec_ref_zeroes.get(),
            #[cfg(feature = "stats")]
            get_nexts: tallies.get_nexts.get(),
            #[cfg(feature = "stats")]
            set_nexts: tallies.set_nexts.get(),
            mallocs: counters.mallocs.get(),
            malloc_errs: counters.malloc_errs.get(),
            too_large_errs,
            add_chunk_errs: counters.add_chunk_errs.get(),
            pop_free_errs,
            freed_chunks: counters.freed_chunks.get(),
            held_by_locs: core.held.get(),
            chunk_bytes: core.chunk_bytes() as u64,
            classes,
        }
    }
}

impl ClassStats {
    fn of<R: References>(class: &Class<R>) -> Self {
        ClassStats {
            size: class.size(),
            chunks: class.chunks(),
            buffers: class.buffers(),
            free: class.buffers() - class.in_use(),
            in_use: class.in_use(),
            allocs: class.allocs(),
        }
    }
}

impl ClassStats {
    /// Iterates over the fields: pairs of a name and a value.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let class = arena.stats().classes()[0];
    /// assert!(class.iter().any(|figure| figure == ("size", 64)));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.figures().map(|figure| (figure.name, figure.value))
    }

    /// Iterates over the same figures, each with its name, its value and its kind.
    ///
    /// `allocs` is a counter. The others are gauges.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let class = arena.stats().classes()[0];
    /// assert_eq!(class.figures().next().unwrap().kind.to_string(), "gauge");
    /// ```
    pub fn figures(&self) -> impl Iterator<Item = Figure> + use<> {
        [
            Figure::gauge("size", self.size as u64),
            Figure::gauge("chunks", self.chunks as u64),
            Figure::gauge("buffers", self.buffers as u64),
            Figure::gauge("buffers_free", self.free as u64),
            Figure::gauge("buffers_in_use", self.in_use as u64),
            Figure::counter("allocs", self.allocs),
        ]
        .into_iter()
    }
}

impl Stats {
    /// Returns the size classes, from the smallest to the largest.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// assert_eq!(arena.stats().classes()[0].size, 64);
    /// ```
    #[must_use]
    pub fn classes(&self) -> &[ClassStats] {
        &self.classes[..self.size_classes as usize]
    }

    /// Returns the number of buffers in use, in all classes.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let _buf = arena.alloc(100);
    /// assert_eq!(arena.stats().in_use(), 1);
    /// ```
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.classes().iter().map(|class| class.in_use).sum()
    }

    /// Iterates over the fields of the whole arena: pairs of a field's name and its value.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// let _buf = arena.alloc(100);
    /// assert!(arena.stats().iter().any(|total| total == ("allocs", 1)));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.figures().map(|figure| (figure.name, figure.value))
    }

    /// Iterates over the same figures, each with its name, its value and its kind.
    ///
    /// `size_classes`, `held_by_locs` and `chunk_bytes` are gauges. The others are counters.
    ///
    /// ```
    /// # let arena = flatslab::bytes::ByteArena::new();
    /// for figure in arena.stats().figures() {
    ///     println!("# TYPE arena_{} {}", figure.name, figure.kind);
    /// }
    /// ```
    pub fn figures(&self) -> impl Iterator<Item = Figure> + use<> {
        [
            Figure::gauge("size_classes", self.size_classes),
            Figure::counter("requests", self.requests),
            Figure::counter("allocs", self.allocs),
            Figure::counter("frees", self.frees),
            #[cfg(feature = "stats")]
            Figure::counter("add_refs", self.add_refs),
            #[cfg(feature = "stats")]
            Figure::counter("dec_refs", self.dec_refs),
            #[cfg(feature = "stats")]
            Figure::counter("dec_ref_zeroes", self.dec_ref_zeroes),
            #[cfg(feature = "stats")]
            Figure::counter("get_nexts", self.get_nexts),
            #[cfg(feature = "stats")]
            Figure::counter("set_nexts", self.set_nexts),
            Figure::counter("mallocs", self.mallocs),
            Figure::counter("malloc_errs", self.malloc_errs),
            Figure::counter("too_large_errs", self.too_large_errs),
            Figure::counter("add_chunk_errs", self.add_chunk_errs),
            Figure::counter("pop_free_errs", self.pop_free_errs),
            Figure::counter("freed_chunks", self.freed_chunks),
            Figure::gauge("held_by_locs", self.held_by_locs),
            Figure::gauge("chunk_bytes", self.chunk_bytes),
        ]
        .into_iter()
    }
}

/// Prints the totals, then the classes that have chunks.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_figures(self.iter(), f)?;
        for class in self.classes().iter().filter(|class| class.chunks > 0) {
            f.write_str("\nsize class:")?;
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
