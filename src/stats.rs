//! The figures of a container, in one shape for all of them.

use core::fmt;

/// A snapshot of the figures of a container, from its method `stats`: for logs, and for exporters
/// of metrics.
///
/// `Display` prints one figure a line, [`iter`](Self::iter) yields names and values, and
/// [`figures`](Self::figures) also which of them are counters. All leave out the figures that the
/// container does not have, whose fields are `None`. Every container has `live`, `capacity`, `free`
/// and `bytes`; of the others:
///
/// | | tracked slabs | key slabs | [`Pool`](crate::pool::Pool) | [`SharedSlab`](crate::sync::SharedSlab) |
/// |---|---|---|---|---|
/// | `peak` | with the feature `stats` | always | with the feature `stats` | |
/// | `refusals` | always | always | always | |
/// | `growths` | [`Slab`](crate::Slab) | [`KeySlab`](crate::KeySlab) | | |
/// | `retired` | | always | | always |
/// | `returned` | always | | | |
///
/// The producers of a [`SpscRing`](crate::sync::SpscRing) and of a
/// [`BroadcastRing`](crate::sync::BroadcastRing) have `refusals`; a
/// [`SharedPool`](crate::sync::SharedPool) has none of these.
///
/// With the feature `stats`, a tracked slab or a pool takes one comparison more in each removal, to
/// find its peak. Shared slabs and pools do not count refusals: count what they return. A ring counts
/// each call that found it full, those of a loop that tries again too.
///
/// Only the system knows some figures of the memory, such as the size of its pages. They are in the
/// report of the container's method `memory`, which takes longer, and has an
/// [iterator](crate::memory::Report::iter) of the same kind. Byte arenas and epoch slabs have more
/// figures, in structs of their own: [`bytes::Stats`](crate::bytes::Stats),
/// [`epoch::Stats`](crate::epoch::Stats). A bump arena has no values to count, but
/// [bytes](crate::bump::Arena::allocated_bytes). The guide's page
/// [`metrics`](crate::guide::metrics) exports the figures.
///
/// # Examples
///
/// ```
/// let slab = flatslab::BoundedSlab::with_capacity(2);
/// let slot = slab.insert(7).unwrap();
/// let stats = slab.stats();
/// assert_eq!((stats.live, stats.free, stats.capacity), (1, 1, 2));
/// for (name, value) in stats.iter() {
///     println!("slab_{name} {value}");
/// }
/// # drop(slot);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Number of values, as the container's method `len` counts them.
    pub live: usize,
    /// Number of slots or cells.
    pub capacity: usize,
    /// Number of slots or cells that are free.
    pub free: usize,
    /// Bytes that the container has allocated.
    pub bytes: usize,
    /// The largest number of values at the same time, since the container was created or reset.
    ///
    /// In a tracked slab it also counts slots that a stale [`Slot`](crate::Slot) keeps. In a key slab
    /// it is [`used_slots`](crate::PlainSlab::used_slots): it also counts slots that are retired,
    /// that are kept for a detached value, or that [`insert_at`](crate::PlainSlab::insert_at)
    /// skipped, and it can fall when the slab is cleared, shrunk or rewound.
    pub peak: Option<usize>,
    /// Number of insertions or allocations that were refused since the container was created,
    /// because it was full or got no memory.
    ///
    /// A key slab starts again from 0 after 2,147,483,647; exporters treat that as a restart.
    pub refusals: Option<u64>,
    /// Number of times the container grew since it was created: the chunks that a
    /// [`Slab`](crate::Slab) added, or the new blocks of a [`KeySlab`](crate::KeySlab), which stops
    /// counting at 65,535.
    pub growths: Option<u64>,
    /// Number of slots that take no more values, because their generations are used up.
    pub retired: Option<usize>,
    /// Number of slots that the slab has freed since it was created after other threads returned
    /// them, with their value or without.
    pub returned: Option<u64>,
}

impl Stats {
    /// The figures that every container has.
    pub(crate) fn new(live: usize, free: usize, capacity: usize, bytes: usize) -> Self {
        Stats {
            live,
            capacity,
            free,
            bytes,
            peak: None,
            refusals: None,
            growths: None,
            retired: None,
            returned: None,
        }
    }

    /// Iterates over the figures that the container has: pairs of a field's name and its value.
    ///
    /// [`figures`](Self::figures) also says which of them are counters.
    ///
    /// ```
    /// let pool = flatslab::pool::Pool::<u64>::with_capacity(8);
    /// assert!(pool.stats().iter().any(|figure| figure == ("capacity", 8)));
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.figures().map(|figure| (figure.name, figure.value))
    }

    /// Iterates over the figures that the container has, each with its name, its value and its
    /// kind.
    ///
    /// `refusals`, `growths` and `returned` are counters. The others are gauges.
    ///
    /// ```
    /// use flatslab::FigureKind;
    ///
    /// let slab = flatslab::BoundedKeySlab::<u64>::with_capacity(8);
    /// for figure in slab.stats().figures() {
    ///     println!("# TYPE slab_{} {}\nslab_{0} {}", figure.name, figure.kind, figure.value);
    /// }
    /// let is_counter = |name| {
    ///     let mut figures = slab.stats().figures();
    ///     figures.any(|figure| figure.name == name && figure.kind == FigureKind::Counter)
    /// };
    /// assert!(is_counter("refusals") && !is_counter("live"));
    /// ```
    pub fn figures(&self) -> impl Iterator<Item = Figure> + use<> {
        let gauge = |name, value: usize| Some(Figure::gauge(name, value as u64));
        let counter = |name, value: Option<u64>| Some(Figure::counter(name, value?));
        [
            gauge("live", self.live),
            gauge("capacity", self.capacity),
            gauge("free", self.free),
            gauge("bytes", self.bytes),
            self.peak.and_then(|value| gauge("peak", value)),
            counter("refusals", self.refusals),
            counter("growths", self.growths),
            self.retired.and_then(|value| gauge("retired", value)),
            counter("returned", self.returned),
        ]
        .into_iter()
        .flatten()
    }
}

/// A figure of a container, from [`Stats::figures`] and the methods of that name of the structs of
/// other families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Figure {
    /// The name of its field or method.
    pub name: &'static str,
    /// The value.
    pub value: u64,
    /// The kind: whether it only increases.
    pub kind: FigureKind,
}

impl Figure {
    pub(crate) const fn counter(name: &'static str, value: u64) -> Self {
        let kind = FigureKind::Counter;
        Figure { name, value, kind }
    }

    pub(crate) const fn gauge(name: &'static str, value: u64) -> Self {
        let kind = FigureKind::Gauge;
        Figure { name, value, kind }
    }
}

/// The kind of a [`Figure`]: whether it only increases.
///
/// `Display` prints the word that Prometheus and OpenMetrics have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FigureKind {
    /// A count since the container was created, of which an exporter computes rates.
    Counter,
    /// A current value, which rises and falls.
    Gauge,
}

/// Prints `counter` or `gauge`.
impl fmt::Display for FigureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FigureKind::Counter => "counter",
            FigureKind::Gauge => "gauge",
        })
    }
}

/// Prints each figure on a line of its own.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_figures(self.iter(), f)
    }
}

/// Prints each figure on a line of its own, without a newline at the end.
pub(crate) fn print_figures(
    figures: impl Iterator<Item = (&'static str, u64)>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    for (index, (name, value)) in figures.enumerate() {
        let newline = if index > 0 { "\n" } else { "" };
        write!(f, "{newline}{name}: {value}")?;
    }
    Ok(())
}
