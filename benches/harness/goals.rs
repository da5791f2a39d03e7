//! The workshop's goals, as one table, and which of them are met. What users read compares with
//! what they have ([`summary`](crate::summary), [`claims`](crate::claims)), not with these.
//!
//! Each goal refers to something measured in the same run, because a fixed number
//! of ticks is wrong on the next processor. The *stamped floor* is an unchecked
//! LIFO that also notes vacancy in the cell, and asks before it reads. What asks
//! nothing, a `SlotBox` or an unchecked access, is compared with the plain floor.
//!
//! Some goals are weaker than what is known of unsafe access by key, 0.67 for GET
//! and 0.75 for REMOVE: ours checks.

use crate::record::Metric::{
    self, Chunks, Drift, Faults, Growth, Memory, P50, P999, P9999, Pinned, Recycled, Resident,
    Sigmas, Ticks, Worst,
};
use crate::record::{Case, Limit, Record};
use crate::table::{self, line};
use crate::{bytes, epoch, growth, lives, threads};

/// The cases of a bench that a goal holds for.
#[derive(Clone, Copy)]
struct Place {
    bench: &'static str,
    /// The value sizes.
    bytes: &'static [usize],
    /// The numbers of live values.
    live: &'static [usize],
}

/// One subject in some rows of a bench.
struct Goal {
    place: Place,
    subject: &'static str,
    rows: &'static [&'static str],
    /// Which of its figures.
    metric: Metric,
    /// What the figure must not exceed: each of these.
    bounds: &'static [Bound],
}

/// `factor` times what another subject takes and some core cycles more.
struct Bound {
    /// At most this ratio; at most this number where no other subject is named.
    factor: f64,
    /// The first of these subjects that was measured.
    of: &'static [&'static str],
    /// Which of its figures, if it is another one than the goal's.
    metric: Option<Metric>,
    /// Core cycles that are added to it.
    plus_cycles: f64,
    /// What is taken off both sides: that subject's figure.
    less: Option<&'static str>,
}

const fn at(bench: &'static str, bytes: &'static [usize], live: &'static [usize]) -> Place {
    Place { bench, bytes, live }
}

const fn times(factor: f64, of: &'static [&'static str]) -> Bound {
    Bound {
        factor,
        of,
        metric: None,
        plus_cycles: 0.0,
        less: None,
    }
}

const fn at_most(number: f64) -> Bound {
    times(number, &[])
}

/// What the counter cannot tell apart on the coarsest of the machines: a step of it.
const fn within_a_step(of: &'static [&'static str]) -> Bound {
    Bound {
        plus_cycles: 26.0,
        ..times(1.0, of)
    }
}

/// Both less what the channel takes for a bare word.
const fn less_a_word(factor: f64, of: &'static [&'static str]) -> Bound {
    Bound {
        less: Some(threads::WORD),
        ..times(factor, of)
    }
}

const SLAB: &[&str] = &["slab"];
const SLOTMAP: &[&str] = &["slotmap"];
const NEXUS: &[&str] = &["nexus-slab bounded"];
const BARE: &[&str] = &["floor, bare"];
const FLOOR: &[&str] = &["floor"];
const STAMPED: &[&str] = &["floor, stamped", "floor"];

/// Not slower than `slab`.
const LEVEL: &[Bound] = &[times(1.00, SLAB)];
/// By handle: at the floor, and not slower than `slab`.
const BY_SLOT: &[Bound] = &[times(1.00, SLAB), times(1.10, STAMPED)];
/// What need not ask: at the floor, which does not.
const UNASKED: &[Bound] = &[times(1.00, SLAB), times(1.10, FLOOR)];
/// With generations: not slower than `slotmap`.
const WITH_SLOTMAP: &[Bound] = &[times(1.00, SLOTMAP)];
/// At the floor of what has no metadata, which replaces in place where the others
/// take and refill; and at the slab that is unsafe to make.
const BARE_FLOOR: &[Bound] = &[times(1.10, BARE), times(1.05, NEXUS)];
/// An insertion into cells freed at random does not wait for a cell, as it does where
/// links go through the cells.
const WITHOUT_LINKS: &[Bound] = &[times(1.10, BARE), times(0.45, NEXUS)];
/// As a median insertion into `slab`.
const QUICK: &[Bound] = &[Bound {
    metric: Some(P50),
    plus_cycles: 64.0,
    ..times(1.00, SLAB)
}];
const NONE: &[Bound] = &[at_most(0.0)];
/// As one that is not built any more while it is used.
const BUILT: &[Bound] = &[times(2.0, &["BoundedSlab, Slot"])];
/// As the allocators, within what the clock can tell.
const FILLED: &[Bound] = &[
    within_a_step(&[epoch::MALLOC]),
    within_a_step(&[epoch::MIMALLOC]),
    within_a_step(&[epoch::JEMALLOC]),
];
const HANDED_OVER: &[Bound] = &[
    less_a_word(0.33, &[threads::MALLOC]),
    less_a_word(1.0, &[threads::MIMALLOC]),
];
/// Not slower than the best allocator.
const ALLOCATORS: &[Bound] = &[
    times(1.00, &[threads::MALLOC]),
    times(1.00, &[threads::MIMALLOC]),
    times(1.00, &[threads::JEMALLOC]),
];
/// Twice as fast as the one that is usual.
const SHARED: &[Bound] = &[
    times(0.50, &[threads::SHARDED]),
    times(1.00, &[threads::PLURALITY]),
];
const SPSC: &[Bound] = &[
    times(1.00, &[threads::RTRB]),
    times(1.00, &[threads::BBQUEUE]),
];

const CYCLES: Place = at("cycles", &[8, 64], &[8192]);
/// A walk has nothing to do with keys: the slabs are those whose rows by key
/// stand in the same column.
const WALKS: Place = at("cycles", &[8, 64], &[8192, 1 << 20]);
const OF_64: Place = at("cycles", &[64], &[8192]);
/// Whole lives, and many values at once.
const LIFE: Place = at(lives::BENCH, &[8, 64, 200], &[1 << 20]);
const GROWTH: Place = at(growth::BENCH, &[8, 64], &[2_000_000]);
const SMALL_GROWTH: Place = at(growth::BENCH, &[8], &[2_000_000]);
const LARGE_GROWTH: Place = at(growth::BENCH, &[64], &[2_000_000]);
/// Orders of 64 bytes; the bytes are those written.
const MALLOC: Place = at("malloc", &[8, 64], &[1_000_000]);
const IN_PAGES: Place = at("pages", &[8, 64], &[2_000_000]);
/// Access at random, in huge pages: half of the batches.
const GET_IN_PAGES: Place = at("pages", &[8, 64], &[1 << 20, 1 << 23]);
/// No page fault once the container is full. The bench fails where there is one;
/// here it can be read.
const FULL_PAGES: Place = at("pages", &[8, 64], &[1 << 20]);
/// Byte buffers, each in the rows of its own sizes.
const BYTES: Place = at(bytes::BENCH, &[1, 40, 128, 256, 1500], &[1024]);
/// At 900 bytes the copy, which all rings make, is more than half of a step.
const RINGS: Place = at(bytes::BENCH, &[40], &[1024]);
/// Facts hold in a quick run too.
const EPOCH: Place = at(epoch::BENCH, &[128, 256], &[epoch::QUICK, 4_032, 100_032]);
const THREADS: Place = at(threads::BENCH, &[8, 64], &[1024]);
const FRAMES: Place = at(threads::BENCH, &threads::FRAMES, &[1024]);
/// Patterns of the allocators' own benches.
const MIXED: Place = at(threads::BENCH, &[threads::LARGEST], &[1024]);

const INSERT: &[&str] = &["INSERT steady"];
const REMOVE: &[&str] = &["REMOVE random"];
const READS: &[&str] = &["GET random", "GET hot", "GET_MUT random"];
const ITERATE: &[&str] = &["ITERATE dense", "ITERATE 1 %", "ITERATE mut"];
const ALL: &[&str] = &[
    INSERT[0],
    "INSERT fresh",
    "GET random",
    "GET hot",
    "GET_MUT random",
    "CONTAINS",
    "REPLACE",
    REMOVE[0],
    "REMOVE LIFO",
    "FREE random",
    "TAKE",
    "CHURN LIFO",
    "CHURN LIFO, built",
    "CHURN LIFO, copied",
    "CHURN FIFO",
    "CHURN random",
];
/// Where a pool has no goal of its own.
const OTHERS: &[&str] = ALL.split_at(1).1;
/// The programs in which `slab` moves its values by page tables, and by copying them.
const GLIBC: &[&str] = &[growth::FRESH, growth::RUNNING];
const RUNNING: &[&str] = &[growth::RUNNING];
const COPYING: &[&str] = &[growth::MIMALLOC, growth::JEMALLOC];
const PACED: &[&str] = &[growth::PACED];
const IN_PLACE: &str = "KeySlab, grow_in_place";
const WORKLOADS: &[&str] = &[
    "linear allocation",
    "hot churn, LIFO (pair)",
    "hot churn, FIFO (pair)",
    "Swiss cheese",
    "linear free, LIFO",
    "linear free, FIFO",
];
/// In the linear frees the floor does not touch the cells.
const TOUCHING: &[&str] = WORKLOADS.split_at(4).0;
const GROWN: &[&str] = &["GROWTH"];
const GET: &[&str] = &["GET overlapped", "GET alone"];
const STEADY: &[&str] = &["faults of 1,000,000 in steady state"];
const AHEAD: &str = "Slab, transparent, 64 spare chunks";
const CLONES: &[&str] = &[bytes::CLONE, bytes::CLONE_MOVED];
const ALLOCS: &[&str] = &[bytes::ALLOC, bytes::ALLOC_MIXED];
const SUSTAINED: &[&str] = &[epoch::SUSTAINED];
const CHURN: &[&str] = &[epoch::CHURN];
const REQUESTS: &[&str] = &[epoch::REQUESTS];
const SENT: &[&str] = &[threads::IN_TURNS, threads::STREAMING];
const OF_FRAMES: &[&str] = &[
    threads::FRAMES_IN_TURNS,
    threads::FRAMES_STREAMING,
    threads::FRAMES_ALONE,
];

/// The goals, a line each: where it holds, for which subject in which rows, and what the figure is
/// at most.
macro_rules! goals {
    ($($place:ident: $subject:expr, $rows:expr, $metric:ident <= $bounds:tt;)*) => {
        const GOALS: &[Goal] = &[$(Goal {
            place: $place,
            subject: $subject,
            rows: $rows,
            metric: $metric,
            bounds: bounds!($bounds),
        }),*];
    };
}

macro_rules! bounds {
    ($named:ident) => {
        $named
    };
    ($given:tt) => {
        &$given
    };
}

goals! {
    CYCLES: "BoundedSlab, Slot", ALL, Ticks <= BY_SLOT;
    CYCLES: "Slab, Slot", ALL, Ticks <= BY_SLOT;
    CYCLES: "BoundedSlab, SlotBox", READS, Ticks <= UNASKED;
    CYCLES: "Slab, SlotBox", READS, Ticks <= UNASKED;
    CYCLES: "BoundedSlab, Slot unchecked", READS, Ticks <= UNASKED;
    CYCLES: "Slab, Slot unchecked", READS, Ticks <= UNASKED;
    CYCLES: "BoundedSlab, Key", ALL, Ticks <= [times(1.05, SLAB)];
    CYCLES: "Slab, Key", ALL, Ticks <= [times(1.28, SLAB)];
    WALKS: "BoundedSlab, Key", ITERATE, Ticks <= LEVEL;
    WALKS: "Slab, Key", ITERATE, Ticks <= LEVEL;
    CYCLES: "BoundedKeySlab", ALL, Ticks <= LEVEL;
    CYCLES: "KeySlab", ALL, Ticks <= LEVEL;
    CYCLES: "BoundedKeySlab", INSERT, Ticks <= [times(0.35, SLAB)];
    CYCLES: "KeySlab", INSERT, Ticks <= [times(0.35, SLAB)];
    OF_64: "BoundedKeySlab", REMOVE, Ticks <= [times(0.75, SLAB)];
    OF_64: "KeySlab", REMOVE, Ticks <= [times(0.75, SLAB)];
    CYCLES: "BoundedKeySlab, GenKey", ALL, Ticks <= WITH_SLOTMAP;
    CYCLES: "KeySlab, GenKey", ALL, Ticks <= WITH_SLOTMAP;
    WALKS: "BoundedKeySlab", ITERATE, Ticks <= LEVEL;
    WALKS: "KeySlab", ITERATE, Ticks <= LEVEL;
    WALKS: "BoundedKeySlab, GenKey", ITERATE, Ticks <= WITH_SLOTMAP;
    WALKS: "KeySlab, GenKey", ITERATE, Ticks <= WITH_SLOTMAP;
    LIFE: "KeySlab", &lives::LIVES, Ticks <= [times(1.05, SLAB)];
    LIFE: "KeySlab, GenKey", &lives::LIVES, Ticks <= [times(1.05, SLOTMAP)];
    LIFE: "many at once", &lives::MANY, Ticks <= [times(1.00, &["one by one"])];
    GROWTH: "KeySlab", GLIBC, P999 <= [times(1.05, SLAB)];
    GROWTH: "KeySlab", GLIBC, P9999 <= [times(1.05, SLAB)];
    GROWTH: IN_PLACE, RUNNING, Worst <= [times(0.083, SLAB)];
    GROWTH: IN_PLACE, COPYING, Worst <= [times(0.01, SLAB)];
    GROWTH: "Slab, Slot", GLIBC, P999 <= QUICK;
    SMALL_GROWTH: "Slab, Slot", GLIBC, P9999 <= [times(4.0, SLAB)];
    LARGE_GROWTH: "Slab, Slot", GLIBC, P9999 <= [times(10.0, SLAB)];
    GROWTH: "Slab, Slot", RUNNING, Worst <= [times(0.083, SLAB)];
    GROWTH: "Slab, Slot", COPYING, Worst <= [times(0.01, SLAB)];
    GROWTH: "Slab, touch_ahead(0)", GLIBC, P9999 <= [times(1.05, SLAB)];
    GROWTH: "Slab, 8 spare chunks", PACED, P9999 <= QUICK;
    CYCLES: "Pool, PoolBox", INSERT, Ticks <= WITHOUT_LINKS;
    CYCLES: "Pool, PoolBox", OTHERS, Ticks <= BARE_FLOOR;
    MALLOC: "Pool, PoolBox", WORKLOADS, Ticks <= [times(1.15, FLOOR)];
    MALLOC: "BoundedSlab, Slot", WORKLOADS, Ticks <= [times(1.10, STAMPED)];
    MALLOC: "BoundedSlab, Slot", TOUCHING, Ticks <= [times(2.2, FLOOR)];
    IN_PAGES: "Slab, Slot", GROWN, P9999 <= LEVEL;
    IN_PAGES: "Slab, Slot, transparent", GROWN, P9999 <= LEVEL;
    IN_PAGES: "KeySlab, transparent", GROWN, P9999 <= LEVEL;
    IN_PAGES: AHEAD, GROWN, P9999 <= [times(0.10, SLAB)];
    IN_PAGES: AHEAD, GROWN, Worst <= BUILT;
    GET_IN_PAGES: "BoundedSlab, Key, transparent", GET, P50 <= LEVEL;
    GET_IN_PAGES: "KeySlab, transparent", GET, P50 <= LEVEL;
    FULL_PAGES: "BoundedSlab, Slot, transparent", STEADY, Faults <= NONE;
    FULL_PAGES: "BoundedSlab, lazy, transparent", STEADY, Faults <= NONE;
    FULL_PAGES: "Slab, Slot, transparent", STEADY, Faults <= NONE;
    FULL_PAGES: "KeySlab, transparent", STEADY, Faults <= NONE;
    BYTES: bytes::OURS, CLONES, Ticks <= [times(1.05, &[bytes::RC])];
    BYTES: bytes::OURS, ALLOCS, Ticks <= [times(0.30, &[bytes::VEC])];
    BYTES: bytes::OURS, &[bytes::RESOLVE], Ticks <= [times(2.0, &[bytes::PAIR])];
    RINGS: bytes::RING, bytes::LOOPS, Ticks <= [times(0.35, &[bytes::DEQUE])];
    EPOCH: epoch::APART, epoch::DRAINS, Pinned <= NONE;
    EPOCH: epoch::APART, epoch::DRAINS, Drift <= NONE;
    EPOCH: epoch::MIXED, epoch::BUSY, Recycled <= [at_most(30.0)];
    EPOCH: epoch::APART, epoch::BUSY, Memory <= [times(0.5, &[epoch::MIXED])];
    EPOCH: epoch::SLAB, epoch::PINNING, Sigmas <= [at_most(3.0)];
    EPOCH: epoch::SLAB, epoch::PINNING, Chunks <= NONE;
    EPOCH: epoch::SLAB, epoch::UNPINNED, Drift <= NONE;
    EPOCH: epoch::RELEASED, SUSTAINED, Drift <= NONE;
    // The control must drift.
    EPOCH: epoch::RELEASED, SUSTAINED, Memory <= [times(0.1, &[epoch::NEVER])];
    EPOCH: epoch::SLAB, CHURN, Chunks <= NONE;
    EPOCH: epoch::SLAB, CHURN, Growth <= [at_most(1.0)];
    EPOCH: epoch::SLAB, &[epoch::RETURN], Resident <= [at_most(5.0)];
    EPOCH: epoch::RESERVED, epoch::FILLS, P50 <= FILLED;
    EPOCH: epoch::RESERVED, epoch::FILLS, P999 <= [times(0.25, &[epoch::MALLOC])];
    // The floor is part of both. Of the mean most is time without a processor.
    EPOCH: epoch::BYTES, REQUESTS, P50 <= [times(1.0, &[epoch::MIMALLOC])];
    EPOCH: epoch::BYTES, REQUESTS, Growth <= [at_most(1.0)];
    EPOCH: epoch::CLEARED, REQUESTS, Growth <= [at_most(1.0)];
    // The medians of batches.
    THREADS: threads::SLAB, SENT, P50 <= HANDED_OVER;
    // Within what one run differs from the next.
    THREADS: threads::HAS_SENT, &[threads::OWNER], P50 <= [times(1.03, &[threads::NEVER_SENT])];
    THREADS: threads::SHARED, threads::REMOVES, P50 <= SHARED;
    THREADS: threads::SHARED, threads::TAKES, P50 <= SHARED;
    THREADS: threads::SHARED, threads::OLDEST, P50 <= SHARED;
    FRAMES: threads::SPSC, OF_FRAMES, P50 <= SPSC;
    MIXED: threads::SLAB, &[threads::LARSON], P50 <= ALLOCATORS;
    MIXED: threads::SHARED, &[threads::LARSON], P50 <= ALLOCATORS;
    THREADS: threads::SLAB, threads::SCRATCH_OF_SEVERAL, P50 <= ALLOCATORS;
    THREADS: threads::SHARED, threads::SCRATCH_OF_SEVERAL, P50 <= ALLOCATORS;
}

/// A bound of a goal, and what was measured.
struct Judged<'r> {
    goal: &'static Goal,
    bound: &'static Bound,
    case: Case<'r>,
    ratio: f64,
}

/// All bounds of a bench's goals that were measured.
fn judged<'r>(record: &'r Record, bench: &str) -> Vec<Judged<'r>> {
    let mut all = Vec::new();
    let mut cases = record.cases(bench);
    cases.sort_by_key(|case| (case.live, case.bytes));
    for goal in GOALS.iter().filter(|goal| goal.place.bench == bench) {
        for &case in cases.iter().filter(|case| goal.holds_for(case)) {
            let bounds = goal.bounds.iter();
            all.extend(bounds.filter_map(|bound| {
                Some(Judged {
                    goal,
                    bound,
                    case,
                    ratio: goal.ratio(bound, record, case)?,
                })
            }));
        }
    }
    all
}

/// All goals of a bench, a line for each row of each, and how many are met. What misses is
/// **marked**.
#[must_use]
pub fn of_bench(record: &Record, bench: &str) -> Option<String> {
    let judged = judged(record, bench);
    let lines = judged.iter().map(|it| {
        let ratio = table::marked(format!("{:.2}", it.ratio), !it.is_met());
        line(it.what(), [it.bound.head(it.goal), ratio])
    });
    let table = table::markdown(line("", ["at most", "measured"]), lines)?;
    let met = judged.iter().filter(|it| it.is_met()).count();
    Some(format!(
        "{table}\n\n{met} of {} goals are met.",
        judged.len()
    ))
}

/// The goals of a bench that are missed and are of [facts](Metric::FACTS): a line each.
#[must_use]
pub fn missed_facts(record: &Record, bench: &str) -> Vec<String> {
    let judged = judged(record, bench).into_iter();
    let missed = judged.filter(|it| it.goal.metric.is_fact() && !it.is_met());
    let line = |it: Judged<'_>| {
        let bounds: Vec<String> = it
            .goal
            .bounds
            .iter()
            .map(|bound| bound.head(it.goal))
            .collect();
        let (subject, metric) = (table::prose(it.goal.subject), it.goal.metric.name());
        let head = format!("{subject}, {metric}: {}", bounds.join(" · "));
        format!("{}: {:.2}; at most: {head}", it.case.row, it.ratio)
    };
    missed.map(line).collect()
}

impl Judged<'_> {
    /// Whether the ratio, as it is printed, is within the bound.
    fn is_met(&self) -> bool {
        (self.ratio * 100.0).round() <= (self.bound.factor * 100.0).round()
    }

    /// The row, the size and number of values, as far as the rows of the bench differ in them,
    /// and whose figure it is.
    fn what(&self) -> String {
        let Case {
            row, bytes, live, ..
        } = self.case;
        let size = match self.goal.place {
            Place {
                bench: epoch::BENCH,
                ..
            } => String::new(),
            Place { live: [_], .. } => format!(", {bytes} B"),
            _ => format!(", {bytes} B, {} live", table::thousands(live)),
        };
        let (subject, metric) = (table::prose(self.goal.subject), self.goal.metric.name());
        format!("{row}{size}: {subject}, {metric}")
    }
}

impl Goal {
    fn holds_for(&self, case: &Case<'_>) -> bool {
        let Place { bytes, live, .. } = self.place;
        self.rows.contains(&case.row) && bytes.contains(&case.bytes) && live.contains(&case.live)
    }

    /// The ratio to a bound, where it was measured.
    fn ratio(&self, bound: &Bound, record: &Record, case: Case<'_>) -> Option<f64> {
        if bound.of.is_empty() {
            return record.value(case, self.subject, self.metric);
        }
        let to = |subject: &&str| {
            let limit = Limit {
                subject,
                metric: bound.metric.unwrap_or(self.metric),
                plus_cycles: bound.plus_cycles,
                less: bound.less,
            };
            record.ratio_to(case, (self.subject, self.metric), &limit)
        };
        bound.of.iter().find_map(to)
    }
}

impl Bound {
    fn head(&self, goal: &Goal) -> String {
        let Some(of) = self.of.first() else {
            return format!("{:.0}", self.factor);
        };
        let of = table::prose(of);
        let metric = match self.metric {
            Some(metric) if metric != goal.metric => format!(" {}", metric.name()),
            _ => String::new(),
        };
        match (self.plus_cycles, self.less) {
            (_, Some(less)) => {
                let less = table::prose(less);
                format!("{:.2} × {of}{metric}, both less {less}", self.factor)
            }
            (0.0, None) => format!("{:.2} × {of}{metric}", self.factor),
            (cycles, None) => format!("{:.2} × ({of}{metric} + {cycles:.0} cycles)", self.factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::record::Row;

    #[test]
    fn a_goal_that_is_missed_is_marked() {
        let row = |subject: &str, bytes, ticks| Row {
            bench: "cycles".to_owned(),
            row: "CONTAINS".to_owned(),
            bytes,
            live: 8192,
            subject: subject.to_owned(),
            run: 1,
            ticks_per_cycle: 1.0,
            values: [(Metric::Ticks, ticks)].into(),
            stretches: Vec::new(),
        };
        let mut record = Record::new(Machine::this());
        record.rows = vec![
            row("slab", 8, 2.0),
            row("BoundedSlab, Key", 8, 2.1),
            row("slab", 64, 2.0),
            row("BoundedSlab, Key", 64, 3.0),
        ];
        let goals = of_bench(&record, "cycles").expect("two goals");
        assert!(goals.ends_with("1 of 2 goals are met."), "{goals}");
        assert!(
            goals.contains("**1.50**") && !goals.contains("**1.05**"),
            "{goals}"
        );
        assert!(
            goals.contains("CONTAINS, 64 B: `BoundedSlab`, `Key`"),
            "{goals}"
        );
    }
}
