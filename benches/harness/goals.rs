//! The workshop's goals: data, nothing else. What users read compares with what they have
//! ([`summary`](crate::summary), [`claims`](crate::claims)), not with these.
//!
//! Each goal refers to something measured in the same run, because a fixed number
//! of ticks is wrong on the next processor. The *stamped floor* is an unchecked
//! LIFO that also notes vacancy in the cell, and asks before it reads. What asks
//! nothing, a `SlotBox` or an unchecked access, is compared with the plain floor.
//!
//! Some goals are weaker than what is known of unsafe access by key, 0.67 for GET
//! and 0.75 for REMOVE: ours checks.

use crate::record::Metric;
use crate::record::Metric::{
    Chunks, Drift, Faults, Growth, Memory, P50, P999, P9999, Pinned, Recycled, Resident, Sigmas,
    Ticks, Worst,
};
use crate::{bytes, epoch, growth, lives, threads};

/// One subject in some rows of a bench.
pub struct Goal {
    /// The bench.
    pub bench: &'static str,
    /// The rows it holds for.
    pub rows: &'static [&'static str],
    /// The value sizes it holds for.
    pub bytes: &'static [usize],
    /// The numbers of live values it holds for.
    pub live: &'static [usize],
    /// The container.
    pub subject: &'static str,
    /// Which of its figures.
    pub metric: Metric,
    /// What the figure must not exceed: each of these.
    pub bounds: &'static [Bound],
}

/// `factor` times what another subject takes and some core cycles more.
pub struct Bound {
    /// At most this ratio; at most this number where no other subject is named.
    pub factor: f64,
    /// The first of these subjects that was measured.
    pub of: &'static [&'static str],
    /// Which of its figures.
    pub metric: Metric,
    /// Core cycles that are added to it.
    pub plus_cycles: f64,
    /// What is taken off both sides: that subject's figure.
    pub less: Option<&'static str>,
}

const fn bound(factor: f64, of: &'static [&'static str], metric: Metric) -> Bound {
    Bound {
        factor,
        of,
        metric,
        plus_cycles: 0.0,
        less: None,
    }
}

const fn at_most(number: f64, metric: Metric) -> Bound {
    bound(number, &[], metric)
}

const SLAB: &[&str] = &["slab"];
const SLOTMAP: &[&str] = &["slotmap"];
const NEXUS: &[&str] = &["nexus-slab bounded"];
const BARE: &[&str] = &["floor, bare"];
const STAMPED: &[&str] = &["floor, stamped", "floor"];

const READS: &[&str] = &["GET random", "GET hot", "GET_MUT random"];
const ALL: &[&str] = &[
    "INSERT fresh",
    "INSERT steady",
    "GET random",
    "GET hot",
    "GET_MUT random",
    "CONTAINS",
    "REPLACE",
    "REMOVE random",
    "REMOVE LIFO",
    "FREE random",
    "TAKE",
    "CHURN LIFO",
    "CHURN LIFO, built",
    "CHURN LIFO, copied",
    "CHURN FIFO",
    "CHURN random",
];

/// Where a pool has a goal of its own, and everywhere else.
const NOT_INSERT_STEADY: &[&str] = &[
    "INSERT fresh",
    "GET random",
    "GET hot",
    "GET_MUT random",
    "REPLACE",
    "REMOVE random",
    "REMOVE LIFO",
    "FREE random",
    "TAKE",
    "CHURN LIFO",
    "CHURN LIFO, built",
    "CHURN LIFO, copied",
    "CHURN FIFO",
    "CHURN random",
];

impl Goal {
    const fn of(
        self,
        subject: &'static str,
        rows: &'static [&'static str],
        bounds: &'static [Bound],
    ) -> Self {
        Goal {
            subject,
            rows,
            bounds,
            ..self
        }
    }
}

const INSERT_STEADY: &[&str] = &["INSERT steady"];

const CYCLES: Goal = Goal {
    bench: "cycles",
    rows: &[],
    bytes: &[8, 64],
    live: &[8192],
    subject: "",
    metric: Ticks,
    bounds: &[],
};

/// A walk has nothing to do with keys: these are just the slabs whose rows by key
/// stand in the same column.
const WALKS: Goal = Goal {
    live: &[8192, 1 << 20],
    ..CYCLES
};

const ITERATE: &[&str] = &["ITERATE dense", "ITERATE 1 %", "ITERATE mut"];

/// Not slower than `slab`.
const LEVEL: &[Bound] = &[bound(1.00, SLAB, Ticks)];

/// By handle: at the floor, and not slower than `slab`.
const BY_SLOT: &[Bound] = &[bound(1.00, SLAB, Ticks), bound(1.10, STAMPED, Ticks)];

/// What need not ask: at the floor, which does not.
const UNASKED: &[Bound] = &[bound(1.00, SLAB, Ticks), bound(1.10, &["floor"], Ticks)];

/// With generations: not slower than `slotmap`.
const LEVEL_WITH_SLOTMAP: &[Bound] = &[bound(1.00, SLOTMAP, Ticks)];

/// Whole lives, and many values at once.
const LIFE: Goal = Goal {
    bench: lives::BENCH,
    bytes: &[8, 64, 200],
    live: &[1 << 20],
    ..CYCLES
};

const REMOVE_64: Goal = Goal {
    bytes: &[64],
    ..CYCLES
};

const fn growth(
    rows: &'static [&'static str],
    subject: &'static str,
    metric: Metric,
    bounds: &'static [Bound],
) -> Goal {
    let growth = Goal {
        bench: growth::BENCH,
        live: &[2_000_000],
        metric,
        ..CYCLES
    };
    growth.of(subject, rows, bounds)
}

/// The programs in which `slab` moves its values by page tables, and by copying them.
const GLIBC: &[&str] = &[growth::FRESH, growth::RUNNING];
const RUNNING: &[&str] = &[growth::RUNNING];
const COPYING: &[&str] = &[growth::MIMALLOC, growth::JEMALLOC];
const PACED: &[&str] = &[growth::PACED];

const IN_PLACE: &str = "KeySlab, grow_in_place";

const SMALL_GROWTH: Goal = Goal {
    bench: growth::BENCH,
    live: &[2_000_000],
    bytes: &[8],
    metric: P9999,
    ..CYCLES
};

const LARGE_GROWTH: Goal = Goal {
    bytes: &[64],
    ..SMALL_GROWTH
};

const QUICK: &[Bound] = &[Bound {
    factor: 1.00,
    of: SLAB,
    metric: P50,
    plus_cycles: 64.0,
    less: None,
}];

/// Orders of 64 bytes; the bytes are those written.
const MALLOC: Goal = Goal {
    bench: "malloc",
    live: &[1_000_000],
    ..CYCLES
};

const GROWTH_IN_PAGES: Goal = Goal {
    bench: "pages",
    rows: &["GROWTH"],
    live: &[2_000_000],
    ..CYCLES
};

const fn growth_in_pages(subject: &'static str, metric: Metric, bounds: &'static [Bound]) -> Goal {
    Goal {
        subject,
        metric,
        bounds,
        ..GROWTH_IN_PAGES
    }
}

/// No page fault once the container is full. The bench fails where there is one;
/// here it can be read.
const fn no_faults(subject: &'static str) -> Goal {
    Goal {
        subject,
        metric: Faults,
        bounds: NONE,
        rows: &["faults of 1,000,000 in steady state"],
        live: &[1 << 20],
        ..GROWTH_IN_PAGES
    }
}

const NONE: &[Bound] = &[at_most(0.0, Faults)];

const AT_RANDOM: &[Bound] = &[bound(1.00, SLAB, P50)];

/// Access at random, in huge pages: half of the batches.
const fn get_in_pages(subject: &'static str) -> Goal {
    Goal {
        subject,
        metric: P50,
        bounds: AT_RANDOM,
        rows: &["GET overlapped", "GET alone"],
        live: &[1 << 20, 1 << 23],
        ..GROWTH_IN_PAGES
    }
}

const WORKLOADS: &[&str] = &[
    "linear allocation",
    "linear free, LIFO",
    "linear free, FIFO",
    "hot churn, LIFO (pair)",
    "hot churn, FIFO (pair)",
    "Swiss cheese",
];

/// At the floor of what has no metadata, which replaces in place where the others
/// take and refill; and at the slab that is unsafe to make.
const AT_THE_BARE_FLOOR: &[Bound] = &[bound(1.10, BARE, Ticks), bound(1.05, NEXUS, Ticks)];

/// An insertion into cells freed at random does not wait for a cell, as it does where
/// links go through the cells.
const WITHOUT_LINKS: &[Bound] = &[bound(1.10, BARE, Ticks), bound(0.45, NEXUS, Ticks)];

/// Byte buffers, each in the rows of its own sizes.
const BYTES: Goal = Goal {
    bench: bytes::BENCH,
    bytes: &[1, 40, 128, 256, 1500],
    live: &[1024],
    ..CYCLES
};

/// At 900 bytes the copy, which all rings make, is more than half of a step.
const RINGS: Goal = Goal {
    bytes: &[40],
    ..BYTES
};

const EPOCH: Goal = Goal {
    bench: epoch::BENCH,
    bytes: &[128, 256],
    // Facts hold in a quick run too.
    live: &[epoch::QUICK, 4_032, 100_032],
    ..CYCLES
};

const fn of_epochs(
    (subject, metric): (&'static str, Metric),
    rows: &'static [&'static str],
    bounds: &'static [Bound],
) -> Goal {
    Goal {
        metric,
        ..EPOCH.of(subject, rows, bounds)
    }
}

/// What the counter cannot tell apart on the coarsest of the machines: a step of it.
const fn within_a_step(of: &'static [&'static str]) -> Bound {
    Bound {
        plus_cycles: 26.0,
        ..bound(1.0, of, P50)
    }
}

/// The medians of batches.
const THREADS: Goal = Goal {
    bench: threads::BENCH,
    live: &[1024],
    metric: P50,
    ..CYCLES
};

/// Frames of bytes.
const FRAMES: Goal = Goal {
    bytes: &threads::FRAMES,
    ..THREADS
};

/// Patterns of the allocators' own benches.
const LARSON: Goal = Goal {
    bytes: &[threads::LARGEST],
    ..THREADS
};

/// Not slower than the best allocator.
const AS_ALLOCATORS: &[Bound] = &[
    bound(1.00, &[threads::MALLOC], P50),
    bound(1.00, &[threads::MIMALLOC], P50),
    bound(1.00, &[threads::JEMALLOC], P50),
];

/// Both less what the channel takes for a bare word.
const fn less_a_word(factor: f64, of: &'static [&'static str]) -> Bound {
    Bound {
        less: Some(threads::WORD),
        ..bound(factor, of, P50)
    }
}

/// Twice as fast as the one that is usual.
const SHARED: &[Bound] = &[
    bound(0.50, &[threads::SHARDED], P50),
    bound(1.00, &[threads::PLURALITY], P50),
];

/// All goals.
pub const GOALS: &[Goal] = &[
    CYCLES.of("BoundedSlab, Slot", ALL, BY_SLOT),
    CYCLES.of("Slab, Slot", ALL, BY_SLOT),
    CYCLES.of("BoundedSlab, SlotBox", READS, UNASKED),
    CYCLES.of("Slab, SlotBox", READS, UNASKED),
    CYCLES.of("BoundedSlab, Slot unchecked", READS, UNASKED),
    CYCLES.of("Slab, Slot unchecked", READS, UNASKED),
    CYCLES.of("BoundedSlab, Key", ALL, &[bound(1.05, SLAB, Ticks)]),
    CYCLES.of("Slab, Key", ALL, &[bound(1.28, SLAB, Ticks)]),
    WALKS.of("BoundedSlab, Key", ITERATE, LEVEL),
    WALKS.of("Slab, Key", ITERATE, LEVEL),
    CYCLES.of("BoundedKeySlab", ALL, LEVEL),
    CYCLES.of("KeySlab", ALL, LEVEL),
    CYCLES.of("BoundedKeySlab", INSERT_STEADY, &[bound(0.35, SLAB, Ticks)]),
    CYCLES.of("KeySlab", INSERT_STEADY, &[bound(0.35, SLAB, Ticks)]),
    REMOVE_64.of(
        "BoundedKeySlab",
        &["REMOVE random"],
        &[bound(0.75, SLAB, Ticks)],
    ),
    REMOVE_64.of("KeySlab", &["REMOVE random"], &[bound(0.75, SLAB, Ticks)]),
    CYCLES.of("BoundedKeySlab, GenKey", ALL, LEVEL_WITH_SLOTMAP),
    CYCLES.of("KeySlab, GenKey", ALL, LEVEL_WITH_SLOTMAP),
    WALKS.of("BoundedKeySlab", ITERATE, LEVEL),
    WALKS.of("KeySlab", ITERATE, LEVEL),
    WALKS.of("BoundedKeySlab, GenKey", ITERATE, LEVEL_WITH_SLOTMAP),
    WALKS.of("KeySlab, GenKey", ITERATE, LEVEL_WITH_SLOTMAP),
    LIFE.of("KeySlab", &lives::LIVES, &[bound(1.05, SLAB, Ticks)]),
    LIFE.of(
        "KeySlab, GenKey",
        &lives::LIVES,
        &[bound(1.05, SLOTMAP, Ticks)],
    ),
    LIFE.of(
        "many at once",
        &lives::MANY,
        &[bound(1.00, &["one by one"], Ticks)],
    ),
    growth(GLIBC, "KeySlab", P999, &[bound(1.05, SLAB, P999)]),
    growth(GLIBC, "KeySlab", P9999, &[bound(1.05, SLAB, P9999)]),
    growth(RUNNING, IN_PLACE, Worst, &[bound(0.083, SLAB, Worst)]),
    growth(COPYING, IN_PLACE, Worst, &[bound(0.01, SLAB, Worst)]),
    growth(GLIBC, "Slab, Slot", P999, QUICK),
    SMALL_GROWTH.of("Slab, Slot", GLIBC, &[bound(4.0, SLAB, P9999)]),
    LARGE_GROWTH.of("Slab, Slot", GLIBC, &[bound(10.0, SLAB, P9999)]),
    growth(RUNNING, "Slab, Slot", Worst, &[bound(0.083, SLAB, Worst)]),
    growth(COPYING, "Slab, Slot", Worst, &[bound(0.01, SLAB, Worst)]),
    growth(
        GLIBC,
        "Slab, touch_ahead(0)",
        P9999,
        &[bound(1.05, SLAB, P9999)],
    ),
    growth(PACED, "Slab, 8 spare chunks", P9999, QUICK),
    CYCLES.of("Pool, PoolBox", INSERT_STEADY, WITHOUT_LINKS),
    CYCLES.of("Pool, PoolBox", NOT_INSERT_STEADY, AT_THE_BARE_FLOOR),
    MALLOC.of(
        "Pool, PoolBox",
        WORKLOADS,
        &[bound(1.15, &["floor"], Ticks)],
    ),
    MALLOC.of(
        "BoundedSlab, Slot",
        WORKLOADS,
        &[bound(1.10, STAMPED, Ticks)],
    ),
    // In the linear frees the floor does not touch the cells.
    MALLOC.of(
        "BoundedSlab, Slot",
        &[
            "linear allocation",
            "hot churn, LIFO (pair)",
            "hot churn, FIFO (pair)",
            "Swiss cheese",
        ],
        &[bound(2.2, &["floor"], Ticks)],
    ),
    growth_in_pages("Slab, Slot", P9999, &[bound(1.0, SLAB, P9999)]),
    growth_in_pages("Slab, Slot, transparent", P9999, &[bound(1.0, SLAB, P9999)]),
    growth_in_pages("KeySlab, transparent", P9999, &[bound(1.0, SLAB, P9999)]),
    growth_in_pages(
        "Slab, transparent, 64 spare chunks",
        P9999,
        &[bound(0.10, SLAB, P9999)],
    ),
    growth_in_pages(
        "Slab, transparent, 64 spare chunks",
        Worst,
        &[bound(2.0, &["BoundedSlab, Slot"], Worst)],
    ),
    get_in_pages("BoundedSlab, Key, transparent"),
    get_in_pages("KeySlab, transparent"),
    no_faults("BoundedSlab, Slot, transparent"),
    no_faults("BoundedSlab, lazy, transparent"),
    no_faults("Slab, Slot, transparent"),
    no_faults("KeySlab, transparent"),
    BYTES.of(
        bytes::OURS,
        &[bytes::CLONE, bytes::CLONE_MOVED],
        &[bound(1.05, &[bytes::RC], Ticks)],
    ),
    BYTES.of(
        bytes::OURS,
        &[bytes::ALLOC, bytes::ALLOC_MIXED],
        &[bound(0.30, &[bytes::VEC], Ticks)],
    ),
    BYTES.of(
        bytes::OURS,
        &[bytes::RESOLVE],
        &[bound(2.0, &[bytes::PAIR], Ticks)],
    ),
    RINGS.of(
        bytes::RING,
        bytes::LOOPS,
        &[bound(0.35, &[bytes::DEQUE], Ticks)],
    ),
    of_epochs(
        (epoch::APART, Pinned),
        epoch::DRAINS,
        &[at_most(0.0, Pinned)],
    ),
    of_epochs((epoch::APART, Drift), epoch::DRAINS, &[at_most(0.0, Drift)]),
    of_epochs(
        (epoch::MIXED, Recycled),
        epoch::BUSY,
        &[at_most(30.0, Recycled)],
    ),
    of_epochs(
        (epoch::APART, Memory),
        epoch::BUSY,
        &[bound(0.5, &[epoch::MIXED], Memory)],
    ),
    of_epochs(
        (epoch::SLAB, Sigmas),
        epoch::PINNING,
        &[at_most(3.0, Sigmas)],
    ),
    of_epochs(
        (epoch::SLAB, Chunks),
        epoch::PINNING,
        &[at_most(0.0, Chunks)],
    ),
    of_epochs(
        (epoch::SLAB, Drift),
        epoch::UNPINNED,
        &[at_most(0.0, Drift)],
    ),
    of_epochs(
        (epoch::RELEASED, Drift),
        &[epoch::SUSTAINED],
        &[at_most(0.0, Drift)],
    ),
    // The control must drift.
    of_epochs(
        (epoch::RELEASED, Memory),
        &[epoch::SUSTAINED],
        &[bound(0.1, &[epoch::NEVER], Memory)],
    ),
    of_epochs(
        (epoch::SLAB, Chunks),
        &[epoch::CHURN],
        &[at_most(0.0, Chunks)],
    ),
    of_epochs(
        (epoch::SLAB, Growth),
        &[epoch::CHURN],
        &[at_most(1.0, Growth)],
    ),
    of_epochs(
        (epoch::SLAB, Resident),
        &[epoch::RETURN],
        &[at_most(5.0, Resident)],
    ),
    of_epochs(
        (epoch::RESERVED, P50),
        epoch::FILLS,
        &[
            within_a_step(&[epoch::MALLOC]),
            within_a_step(&[epoch::MIMALLOC]),
            within_a_step(&[epoch::JEMALLOC]),
        ],
    ),
    of_epochs(
        (epoch::RESERVED, P999),
        epoch::FILLS,
        &[bound(0.25, &[epoch::MALLOC], P999)],
    ),
    // The floor is part of both. Of the mean most is time without a processor.
    of_epochs(
        (epoch::BYTES, P50),
        &[epoch::REQUESTS],
        &[bound(1.0, &[epoch::MIMALLOC], P50)],
    ),
    of_epochs(
        (epoch::BYTES, Growth),
        &[epoch::REQUESTS],
        &[at_most(1.0, Growth)],
    ),
    of_epochs(
        (epoch::CLEARED, Growth),
        &[epoch::REQUESTS],
        &[at_most(1.0, Growth)],
    ),
    THREADS.of(
        threads::SLAB,
        &[threads::IN_TURNS, threads::STREAMING],
        &[
            less_a_word(0.33, &[threads::MALLOC]),
            less_a_word(1.0, &[threads::MIMALLOC]),
        ],
    ),
    // Within what one run differs from the next.
    THREADS.of(
        threads::HAS_SENT,
        &[threads::OWNER],
        &[bound(1.03, &[threads::NEVER_SENT], P50)],
    ),
    THREADS.of(threads::SHARED, threads::REMOVES, SHARED),
    THREADS.of(threads::SHARED, threads::TAKES, SHARED),
    THREADS.of(threads::SHARED, threads::OLDEST, SHARED),
    FRAMES.of(
        threads::SPSC,
        &[
            threads::FRAMES_IN_TURNS,
            threads::FRAMES_STREAMING,
            threads::FRAMES_ALONE,
        ],
        &[
            bound(1.00, &[threads::RTRB], P50),
            bound(1.00, &[threads::BBQUEUE], P50),
        ],
    ),
    LARSON.of(threads::SLAB, &[threads::LARSON], AS_ALLOCATORS),
    LARSON.of(threads::SHARED, &[threads::LARSON], AS_ALLOCATORS),
    THREADS.of(threads::SLAB, threads::SCRATCH_OF_SEVERAL, AS_ALLOCATORS),
    THREADS.of(threads::SHARED, threads::SCRATCH_OF_SEVERAL, AS_ALLOCATORS),
];
