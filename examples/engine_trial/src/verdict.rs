//! What the figures say, in sentences: what growth costs, who carries out more commands, and
//! what a map costs. A sentence that the figures do not support is left out.

use std::fmt;

use crate::report::duration;
use crate::rounds::{Round, StoreResult};
use crate::stores::StoreKind;

/// Fewer than this say nothing.
const FEW_ROUNDS: usize = 3;

/// The longest commands of two stores are level if they differ by this factor at most: each is
/// one command of some millions, and differs as much from run to run.
const LONGEST_IS_LEVEL: f64 = 2.0;

/// In ns.
const MILLISECOND: u64 = 1_000_000;

/// One figure beside another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Ahead,
    Level,
    Behind,
}

/// Commands a second of one store divided by those of another, round by round.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    median: f64,
    place: Place,
}

impl Ratio {
    fn of(one: &StoreResult, other: &StoreResult) -> Option<Self> {
        let rate = |round: &Round| round.commands_per_second.max(1) as f64;
        let mut ratios: Vec<f64> = (one.from_empty.iter().zip(&other.from_empty))
            .map(|(one, other)| rate(one) / rate(other))
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let median = *ratios.get(ratios.len() / 2)?;
        // The rounds do not agree on which of the two is ahead, or it is by 3 % at most.
        let is_level =
            *ratios.first()? <= 1.0 && *ratios.last()? >= 1.0 || (0.97..=1.03).contains(&median);
        let place = match is_level {
            true => Place::Level,
            false if median > 1.0 => Place::Ahead,
            false => Place::Behind,
        };
        Some(Ratio { median, place })
    }
}

/// How many times.
struct Times(f64);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            10.0.. => write!(f, "{:.0}", self.0),
            1.95.. => write!(f, "{:.1}", self.0),
            _ => write!(f, "{:.2}", self.0),
        }
    }
}

/// What the figures say.
pub(crate) fn sentences(stores: &[StoreResult]) -> Vec<String> {
    if stores.iter().any(|it| it.from_empty.len() < FEW_ROUNDS) {
        return vec![format!(
            "Fewer than {FEW_ROUNDS} rounds agree by chance too often to compare the stores."
        )];
    }
    let sentences = [growth(stores), throughput(stores), map(stores)];
    sentences.into_iter().flatten().collect()
}

/// The stores of this crate, and those that people use instead: of the table that is printed
/// by default.
fn sides(stores: &[StoreResult]) -> (Vec<&StoreResult>, Vec<&StoreResult>) {
    let compared = stores
        .iter()
        .filter(|it| StoreKind::DEFAULT.contains(&it.store));
    compared.partition(|it| it.store.is_ours())
}

/// The longest command while the books grow. Stores of which the machine has left no round
/// undisturbed are not compared.
fn growth(stores: &[StoreResult]) -> Option<String> {
    let (mut ours, mut rivals) = sides(stores);
    for side in [&mut ours, &mut rivals] {
        side.retain(|it| it.figures.undisturbed_rounds > 0);
    }
    let longest = ours.iter().map(|it| it.figures.longest_ns).max()?.max(1);
    let (mut ahead, mut level, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    for rival in rivals {
        let name = rival.store.short_name();
        let times = rival.figures.longest_ns as f64 / longest as f64;
        if times > LONGEST_IS_LEVEL {
            ahead.push((Times(times), name));
        } else if times * LONGEST_IS_LEVEL < 1.0 {
            behind.push((Times(times), name));
        } else {
            level.push(name);
        }
    }
    let mut parts = Vec::new();
    if !ahead.is_empty() {
        parts.push(format!("it takes {}", as_long(&ahead)));
    }
    if !level.is_empty() {
        parts.push(format!("it is level in {}", list(&level)));
    }
    if !behind.is_empty() {
        parts.push(format!("it takes only {}", as_long(&behind)));
    }
    if parts.is_empty() {
        return None;
    }
    let names: Vec<_> = ours.iter().map(|it| it.store.short_name()).collect();
    Some(format!(
        "Growth: the longest command takes {} at most in {}; {}.",
        duration(longest),
        list(&names),
        parts.join("; ")
    ))
}

/// "3 times as long in a, 2 times in b and 4 times in c".
fn as_long(stores: &[(Times, &str)]) -> String {
    let mut words = Vec::new();
    for (times, name) in stores {
        let as_long = if words.is_empty() { " as long" } else { "" };
        words.push(format!("{times} times{as_long} in {name}"));
    }
    list(&words)
}

/// Commands a second, beside each rival.
fn throughput(stores: &[StoreResult]) -> Option<String> {
    let (ours, rivals) = sides(stores);
    let beside = rivals.iter().filter_map(|rival| {
        let mut places: Vec<(Place, &str, f64)> = Vec::new();
        for it in &ours {
            let ratio = Ratio::of(it, rival)?;
            places.push((ratio.place, it.store.short_name(), ratio.median));
        }
        // In the order of the table within a place.
        places.sort_by_key(|it| it.0);
        let groups = places.chunk_by(|one, next| one.0 == next.0);
        let groups = groups.map(|group| {
            let names: Vec<_> = group.iter().map(|it| it.1).collect();
            let times: Vec<_> = group.iter().map(|it| Times(it.2).to_string()).collect();
            let is = if group.len() == 1 { "is" } else { "are" };
            let (names, times) = (list(&names), times.join(", "));
            match group[0].0 {
                Place::Ahead => format!("{names} {is} ahead ({times} times)"),
                Place::Level => format!("{names} {is} level"),
                Place::Behind => format!("{names} {is} behind ({times} times)"),
            }
        });
        let groups: Vec<_> = groups.collect();
        let rival = rival.store.short_name();
        (!groups.is_empty()).then(|| format!("beside {rival}, {}", list(&groups)))
    });
    let beside: Vec<_> = beside.collect();
    (!beside.is_empty())
        .then(|| format!("Throughput, in commands a second: {}.", beside.join("; ")))
}

/// The map that keys make unnecessary.
fn map(stores: &[StoreResult]) -> Option<String> {
    let find = |kind| stores.iter().find(|it| it.store == kind);
    let (keys, mapped) = (find(StoreKind::KeySlab)?, find(StoreKind::SlabHashmap)?);
    let (key_slab, rival) = (keys.store.short_name(), mapped.store.short_name());
    let ratio = Ratio::of(keys, mapped)?;
    let times = Times(ratio.median);
    Some(match ratio.place {
        Place::Ahead => format!(
            "The map: {key_slab}, whose keys are the order numbers, does {times} times the \
             commands of {rival}."
        ),
        Place::Level => format!("The map: {key_slab} and {rival} are level, with and without it."),
        Place::Behind => format!("The map: {key_slab} does {times} times the commands of {rival}."),
    })
}

/// "a, b and c".
fn list(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Whether the machine has disturbed the figures.
///
/// What a host takes from a virtual machine in less than 10 ms the system does not show. A store
/// that does not grow is the control: its longest command is what the machine and the engine add.
pub(crate) fn machine(stores: &[StoreResult]) -> String {
    let rounds = || stores.iter().flat_map(|it| &it.from_empty);
    let count = |is: fn(&Round) -> bool| rounds().filter(|&round| is(round)).count();
    let all = count(|_| true);
    let repeated = count(|round| round.repeated);
    let disturbed = count(|round| round.disturbed);
    let lost = stores
        .iter()
        .filter(|it| it.figures.undisturbed_rounds == 0);
    let lost: Vec<_> = lost.map(|it| it.store.short_name()).collect();
    if count(|round| round.interruptions.are_known()) < all {
        return "This system does not say when it interrupts a program: figures above a \
                millisecond may be the machine's."
            .to_owned();
    }
    let said = match (repeated, disturbed) {
        (0, _) => format!("The machine disturbed none of {all} rounds"),
        (_, 0) => {
            format!("The machine disturbed {repeated} of {all} rounds, but not their repetition")
        }
        _ => format!(
            "The machine disturbed {repeated} of {all} rounds, and {disturbed} again when they were \
             repeated"
        ),
    };
    let bounded = stores.iter().find(|it| it.store == StoreKind::BoundedSlab);
    let control = bounded.map_or(0, |it| it.figures.longest_ns);
    let whose = if !lost.is_empty() {
        format!("may be the machine's in {}", list(&lost))
    } else if control > MILLISECOND {
        format!(
            "may be the machine's, for BoundedSlab allocates nothing while it runs, and took {}",
            duration(control)
        )
    } else {
        "are the stores'".to_owned()
    };
    let off_core = rounds().filter_map(|round| round.interruptions.off_core_ns);
    format!(
        "{said}: figures above a millisecond {whose}. Other programs had the core for {} in all, \
         which is not counted.",
        duration(off_core.sum())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interruptions::Interruptions;
    use crate::measure::Latency;
    use crate::rounds::Figures;
    use StoreKind::{BoundedSlab, KeySlab, Slab, SlabHashmap, SlabNumber, Slotmap};

    const MICROSECOND: u64 = 1_000;

    fn round(commands_per_second: u64, longest_ns: u64) -> Round {
        Round {
            commands_per_second,
            closed: Latency {
                longest_ns,
                ..Latency::default()
            },
            interruptions: Interruptions {
                off_core_ns: Some(2 * MILLISECOND),
                ..Interruptions::default()
            },
            ..Round::default()
        }
    }

    /// Three rounds with these commands a second, in each of which a command took this long.
    fn store(kind: StoreKind, rates: [u64; 3], longest_ns: u64) -> StoreResult {
        let rounds = rates.map(|rate| round(rate, longest_ns));
        StoreResult::new(kind, 0, rounds.to_vec())
    }

    fn disturbed(mut result: StoreResult, rounds: usize) -> StoreResult {
        for round in &mut result.from_empty[..rounds] {
            (round.disturbed, round.repeated) = (true, true);
        }
        StoreResult::new(result.store, 0, result.from_empty)
    }

    #[test]
    fn growth_says_how_many_times_longer_the_longest_command_of_each_rival_is() {
        let stores = [
            store(Slab, [10; 3], 60 * MICROSECOND),
            store(KeySlab, [10; 3], 75 * MICROSECOND),
            store(SlabNumber, [10; 3], 15 * MILLISECOND),
            store(Slotmap, [10; 3], 9 * MILLISECOND),
        ];
        assert_eq!(
            growth(&stores).unwrap(),
            "Growth: the longest command takes 75 µs at most in Slab and KeySlab; it takes 200 \
             times as long in slab + number and 120 times in slotmap."
        );
    }

    #[test]
    fn growth_says_where_the_longest_command_is_level_and_where_it_is_shorter() {
        let stores = [
            store(Slab, [10; 3], 60 * MICROSECOND),
            store(SlabNumber, [10; 3], 100 * MICROSECOND),
            store(Slotmap, [10; 3], 15 * MICROSECOND),
        ];
        assert_eq!(
            growth(&stores).unwrap(),
            "Growth: the longest command takes 60 µs at most in Slab; it is level in slab + \
             number; it takes only 0.25 times as long in slotmap."
        );
    }

    #[test]
    fn growth_compares_no_store_whose_rounds_were_all_disturbed() {
        let slab = store(Slab, [10; 3], 60 * MICROSECOND);
        let lost = disturbed(store(KeySlab, [10; 3], 20 * MILLISECOND), 3);
        let rival = store(SlabNumber, [10; 3], 15 * MILLISECOND);
        let said = growth(&[slab.clone(), lost.clone(), rival.clone()]).unwrap();
        assert!(said.starts_with("Growth: the longest command takes 60 µs at most in Slab; "));
        assert_eq!(growth(&[lost, rival.clone()]), None);
        assert_eq!(growth(&[slab, disturbed(rival, 3)]), None);
    }

    #[test]
    fn the_longest_command_is_the_longest_of_the_undisturbed_rounds() {
        let rounds = [30, 50, 40].map(|longest| round(10, longest)).to_vec();
        assert_eq!(Figures::of(&rounds).longest_ns, 50);
        let mut one_disturbed = rounds.clone();
        one_disturbed[1].disturbed = true;
        let figures = Figures::of(&one_disturbed);
        assert_eq!((figures.longest_ns, figures.undisturbed_rounds), (40, 2));
        let mut all_disturbed = rounds;
        for round in &mut all_disturbed {
            round.disturbed = true;
        }
        let figures = Figures::of(&all_disturbed);
        assert_eq!((figures.longest_ns, figures.undisturbed_rounds), (50, 0));
    }

    #[test]
    fn throughput_says_for_each_rival_who_is_ahead_level_and_behind() {
        let stores = [
            store(Slab, [8, 16, 24], 1),
            store(BoundedSlab, [10, 21, 29], 1),
            store(KeySlab, [15, 30, 45], 1),
            store(SlabNumber, [10, 20, 30], 1),
            store(Slotmap, [4, 8, 12], 1),
        ];
        assert_eq!(
            throughput(&stores).unwrap(),
            "Throughput, in commands a second: beside slab + number, KeySlab is ahead (1.50 times), BoundedSlab is level \
             and Slab is behind (0.80 times); beside slotmap, Slab, BoundedSlab and KeySlab are \
             ahead (2.0, 2.5, 3.8 times)."
        );
        assert_eq!(throughput(&stores[..3]), None);
    }

    #[test]
    fn a_difference_that_not_every_round_shows_or_of_3_per_cent_is_level() {
        let rival = store(SlabNumber, [100, 200, 300], 1);
        let place = |rates| Ratio::of(&store(Slab, rates, 1), &rival).unwrap().place;
        assert_eq!(place([110, 220, 330]), Place::Ahead);
        assert_eq!(place([110, 220, 290]), Place::Level);
        assert_eq!(place([103, 206, 309]), Place::Level);
        assert_eq!(place([97, 194, 291]), Place::Level);
        assert_eq!(place([90, 180, 310]), Place::Level);
        assert_eq!(place([90, 180, 270]), Place::Behind);
    }

    #[test]
    fn the_map_costs_what_the_figures_say() {
        let keys = store(KeySlab, [10, 20, 30], 1);
        let said = |rates| map(&[keys.clone(), store(SlabHashmap, rates, 1)]).unwrap();
        assert_eq!(
            said([5, 10, 15]),
            "The map: KeySlab, whose keys are the order numbers, does 2.0 times the commands of \
             slab + HashMap."
        );
        assert_eq!(
            said([10, 20, 31]),
            "The map: KeySlab and slab + HashMap are level, with and without it."
        );
        assert_eq!(
            said([20, 40, 60]),
            "The map: KeySlab does 0.50 times the commands of slab + HashMap."
        );
        assert_eq!(map(std::slice::from_ref(&keys)), None);
    }

    #[test]
    fn fewer_than_three_rounds_compare_nothing() {
        let one = StoreResult::new(Slab, 0, vec![round(10, 10), round(10, 10)]);
        let said = sentences(&[one]);
        assert!(said[0].starts_with("Fewer than 3 rounds"), "{said:?}");
        assert_eq!(said.len(), 1);
    }

    #[test]
    fn a_disturbed_machine_is_said_and_where_its_figures_may_be() {
        let says = |stores: &[StoreResult], begins: &str| {
            let said = machine(stores);
            assert!(said.starts_with(begins), "{said}");
            let off_core = " Other programs had the core for 12.0 ms in all, which is not counted.";
            assert!(said.ends_with(off_core), "{said}");
        };
        let quiet = store(Slab, [10; 3], 1);
        let noisy = store(KeySlab, [10; 3], 1);
        says(
            &[quiet.clone(), noisy.clone()],
            "The machine disturbed none of 6 rounds: figures above a millisecond are the stores'.",
        );
        let mut repeated = disturbed(noisy.clone(), 2);
        for round in &mut repeated.from_empty {
            round.disturbed = false;
        }
        says(
            &[
                quiet.clone(),
                StoreResult::new(KeySlab, 0, repeated.from_empty),
            ],
            "The machine disturbed 2 of 6 rounds, but not their repetition: figures above a \
             millisecond are the stores'.",
        );
        says(
            &[quiet.clone(), disturbed(noisy.clone(), 2)],
            "The machine disturbed 2 of 6 rounds, and 2 again when they were repeated: figures \
             above a millisecond are the stores'.",
        );
        says(
            &[quiet, disturbed(noisy.clone(), 3)],
            "The machine disturbed 3 of 6 rounds, and 3 again when they were repeated: figures \
             above a millisecond may be the machine's in KeySlab.",
        );
        let control = |longest_ns| store(BoundedSlab, [10; 3], longest_ns);
        says(
            &[noisy.clone(), control(2 * MILLISECOND)],
            "The machine disturbed none of 6 rounds: figures above a millisecond may be the \
             machine's, for BoundedSlab allocates nothing while it runs, and took 2.00 ms.",
        );
        says(
            &[noisy.clone(), control(MILLISECOND)],
            "The machine disturbed none of 6 rounds: figures above a millisecond are the stores'.",
        );
        let mut unknown = noisy.from_empty;
        unknown[0].interruptions = Interruptions::default();
        let said = machine(&[StoreResult::new(KeySlab, 0, unknown)]);
        assert!(said.starts_with("This system does not say"), "{said}");
    }
}
