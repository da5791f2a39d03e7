//! What memory is worth: access at random, first touch and growth in pages of
//! each kind, each container in a process of its own. Linux.

mod allocators;
mod peers;

use flatslab::BoundedSlab;
use flatslab_benches::first_touch::{FAULTS, TIMES, faults, faults_none_in_steady_state, times};
use flatslab_benches::growth::{growing, of_full_size};
use flatslab_benches::operation::{GET_AHEAD, get_ahead, get_without_a_look_ahead};
use flatslab_benches::prelude::*;
use flatslab_benches::subject::ours::{BoundedByKey, BoundedBySlot, GrowableBySlot, Plain};
use flatslab_benches::subject::paged::*;
use flatslab_benches::{keyed, table};
use peers::SlabCrate;

const GROWN: usize = 2_000_000;
const MANY: usize = 1 << 20;
/// More than the caches of a large server hold.
const MOST: usize = 1 << 23;

const PLAN: Plan = Plan {
    runs: 5,
    in_processes: true,
    notes,
    ..plan::of(
        "pages",
        &[(GROWN, &[8, 64]), (MANY, &[64]), (MOST, &[64])],
        51_200,
        &["slab"],
        cases,
    )
};

fn main() -> ExitCode {
    if cfg!(target_os = "linux") {
        return run::main(&PLAN);
    }
    let _ = Arguments::of_this_process();
    println!("this bench needs Linux, its pages and its count of faults; nothing to do here");
    ExitCode::SUCCESS
}

type Value = [u64; 8];

fn cases(arguments: &Arguments, live: usize, bytes: usize) -> Vec<Case> {
    let all = arguments.quick || !arguments.live.is_empty();
    let mut cases = Vec::new();
    if bytes == 64 && (all || live != GROWN) && machine::has_free(memory(live, bytes)) {
        cases.push(at_random());
        if all || live == MANY {
            cases.extend(first_touch());
        }
    }
    if all || live == GROWN {
        cases.push(match bytes {
            8 => growth::<u64>(),
            _ => growth::<Value>(),
        });
    }
    if !explicit_pages_for(live, bytes) {
        for entry in cases.iter_mut().flat_map(|case| &mut case.entries) {
            leave_out_explicit(entry);
        }
    }
    cases
}

const ACCESS: &[Column] = &[
    Column::Nanoseconds,
    Column::Cycles,
    Column::Value(Metric::P50),
    Column::Value(Metric::P99),
    Column::RatioOf(Metric::P50, "slab"),
];

const TIME: &[Column] = &[
    Column::Nanoseconds,
    Column::Value(Metric::P99),
    Column::Value(Metric::Worst),
];

const FAULT: &[Column] = &[
    Column::Value(Metric::Faults),
    Column::Highest(Metric::Faults),
];

fn at_random() -> Case {
    let entries = entries!(Value,
        get_without_a_look_ahead: SlabCrate SlabAdvised;
        get_ahead:
            BoundedByKey BoundedByKeySystem BoundedByKeyTransparent BoundedByKeyExplicit
            BoundedBySlot BoundedBySlotSystem BoundedBySlotTransparent BoundedBySlotExplicit
            Plain PlainSystem PlainTransparent PlainExplicit);
    Case::of(&GET_AHEAD, 1, ACCESS, entries)
}

fn first_touch() -> [Case; 2] {
    macro_rules! entries {
        ($default:ident, $with_pages:ident) => {
            flatslab_benches::entries!(Value,
                $default: SlabCrate BoundedBySlot Lazy GrowableBySlot Plain;
                $with_pages:
                    BoundedBySlotSystem BoundedBySlotTransparent BoundedBySlotExplicit
                    LazySystem LazyTransparent
                    GrowableSystem GrowableTransparent GrowableExplicit
                    PlainSystem PlainTransparent PlainExplicit)
        };
    }
    let counted = entries!(faults, faults_none_in_steady_state);
    [
        Case::of(&TIMES, 1, TIME, entries!(times, times)),
        Case::of(&FAULTS, 1, FAULT, counted),
    ]
}

fn growth<V: Payload>() -> Case {
    let entries = entries!(V,
        growing: SlabCrate
            GrowableBySlot GrowableSystem GrowableTransparent GrowableExplicit
            GrowableTransparentAhead;
        of_full_size: Lazy LazySystem LazyTransparent BoundedBySlot;
        growing: Plain PlainTransparent);
    Case::of(&["GROWTH"], 1, table::PERCENTILES, entries)
}

keyed! {
    /// The `slab` crate in transparent huge pages, as far as its user can have
    /// them: the system is told of its memory before it is touched.
    SlabAdvised(slab::Slab<V>) named "slab, transparent" by usize;
    new(capacity) {
        let mut slab = slab::Slab::with_capacity(capacity);
        advise(&mut slab);
        slab
    };
}

/// Asks for huge pages where the slab's memory lies: all whole ones of it.
fn advise<V: Payload>(slab: &mut slab::Slab<V>) {
    let key = slab.insert(V::of(0));
    let start = (&raw mut slab[key]).addr();
    let end = start + slab.capacity() * size_of::<V>();
    slab.clear();
    machine::advise_huge(start, end);
}

/// Bytes of a slab of so many values, its stamps and free list, and of the bench.
fn memory(live: usize, bytes: usize) -> usize {
    live * (bytes + 24) + (8 << 20)
}

/// Whether so many huge pages are set aside that a slab of this size, and a
/// growing one's store of an eighth, find room in them.
fn explicit_pages_for(live: usize, bytes: usize) -> bool {
    let (free, size) = machine::free_huge_pages();
    free * size >= memory(live, bytes) / 8 * 9
}

/// Keeps the name of a subject that cannot be made here, without figures.
fn leave_out_explicit(entry: &mut Entry) {
    if entry.subject.contains("explicit") {
        entry.check = || Ok(());
        entry.turn = |_| Turn(Vec::new());
    }
}

/// What the machine offers, and what a slab obtains of it.
fn notes(arguments: &Arguments) -> Vec<String> {
    let live = if arguments.quick {
        PLAN.quick_live
    } else {
        MANY
    };
    let (free, size) = machine::free_huge_pages();
    let mut notes = vec![format!(
        "transparent huge pages: {}; defragmentation: {}; explicit: {free} of {} KiB free",
        machine::transparent_huge_pages("enabled"),
        machine::transparent_huge_pages("defrag"),
        size >> 10,
    )];
    for (kind, pages) in kinds() {
        let builder = BoundedSlab::<Value>::builder().capacity(live).pages(pages);
        notes.push(match builder.try_build() {
            Ok(slab) => format!("{kind}: {}", slab.memory()),
            Err(error) => format!("{kind}: not obtained: {error}"),
        });
    }
    if !arguments.quick && !machine::has_free(memory(MOST, 64)) {
        notes.push(format!("{MOST} values of 64 bytes: not enough memory"));
    }
    notes
}
