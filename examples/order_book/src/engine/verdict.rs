//! What the figures say, in sentences.

use std::fmt;

use crate::engine::kind::StoreKind;
use crate::engine::rounds::{Figures, StoreResult};

/// What is compared of two stores.
pub(crate) type Figure = fn(&Figures) -> u64;

/// Commands a second.
pub(crate) const RATE: Figure = |it| it.commands_per_second;

/// Of the closed loop: the name, and the figure.
pub(crate) const PERCENTILES: [(&str, Figure); 4] = [
    ("p50", |it| it.closed.p50_ns),
    ("p99", |it| it.closed.p99_ns),
    ("p99.9", |it| it.closed.p99_9_ns),
    ("p99.99", |it| it.closed.p99_99_ns),
];

/// The median of a figure over the rounds; of two values, the larger.
pub(crate) fn median(rounds: &[Figures], figure: Figure) -> u64 {
    let mut values: Vec<u64> = rounds.iter().map(figure).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The lowest of the rounds: what a shared machine adds to a single command is not the
/// store's.
pub(crate) fn lowest(rounds: &[Figures], figure: Figure) -> u64 {
    rounds.iter().map(figure).min().unwrap_or(0)
}

/// A figure of one store divided by that of another, round by round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

impl Ratio {
    pub(crate) fn of(one: &[Figures], other: &[Figures], figure: Figure) -> Option<Self> {
        let mut ratios: Vec<f64> = (one.iter().zip(other))
            .map(|(one, other)| figure(one) as f64 / figure(other).max(1) as f64)
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        Some(Ratio {
            median: *ratios.get(ratios.len() / 2)?,
            lowest: *ratios.first()?,
            highest: *ratios.last()?,
        })
    }

    /// Whether the rounds do not agree on which of the two is ahead, or it is by 3 % at most.
    fn is_level(&self) -> bool {
        self.lowest <= 1.0 && self.highest >= 1.0 || (0.97..=1.03).contains(&self.median)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio {
            median,
            lowest,
            highest,
        } = self;
        write!(f, "{median:.2} ({lowest:.2}–{highest:.2})")
    }
}

/// The rounds of a store from one of the two starts.
type Rounds = fn(&StoreResult) -> &[Figures];

const STARTS: [(&str, Rounds); 2] = [
    ("From empty", |it| &it.from_empty),
    ("Reserved", |it| &it.reserved),
];

/// Fewer than this say nothing.
const FEW_ROUNDS: usize = 3;

/// What was seen of `keys` beside the better of `slab + number` and `slotmap`, and how much
/// a map costs, if it was there. A difference that not every
/// round shows, or of 3 % at most, is level.
pub(crate) fn sentences(stores: &[StoreResult]) -> Vec<String> {
    let find = |kind| stores.iter().find(|it| it.store == kind);
    let Some(keys) = find(StoreKind::Keys) else {
        return Vec::new();
    };
    if keys.reserved.len() < FEW_ROUNDS {
        return vec![format!(
            "Fewer than {FEW_ROUNDS} rounds agree by chance too often to compare the stores."
        )];
    }
    let mut said = Vec::new();
    for (start, rounds) in STARTS {
        let rivals = [StoreKind::SlabNumber, StoreKind::Slotmap];
        let rivals = rivals.into_iter().filter_map(find);
        if let Some(rival) = rivals.max_by_key(|it| median(rounds(it), RATE)) {
            said.extend(beside(start, rounds(keys), rounds(rival), rival.name));
        }
    }
    if let Some(mapped) = find(StoreKind::SlabMap) {
        let rate = Ratio::of(&keys.reserved, &mapped.reserved, RATE);
        said.extend(rate.map(|rate| {
            format!("A map from numbers to slots: `keys` does {rate} times its commands.")
        }));
    }
    said
}

fn beside(start: &str, keys: &[Figures], rival: &[Figures], name: &str) -> Option<String> {
    let rate = Ratio::of(keys, rival, RATE)?;
    let mut ahead = Vec::new();
    let mut behind = Vec::new();
    for (percentile, figure) in PERCENTILES {
        let ratio = Ratio::of(keys, rival, figure)?;
        match ratio.is_level() {
            true => {}
            false if ratio.median < 1.0 => ahead.push(format!("{percentile} {ratio}")),
            false => behind.push(format!("{percentile} {ratio}")),
        }
    }
    let mut said = match rate.is_level() {
        true => format!("{start}, `keys` is level with `{name}`: {rate} times its commands"),
        false => format!("{start}, `keys` does {rate} times the commands of `{name}`"),
    };
    for (what, list) in [("shorter at", ahead), ("longer at", behind)] {
        if !list.is_empty() {
            said += &format!(", {what} {}", list.join(", "));
        }
    }
    let longest = |rounds: &[Figures]| lowest(rounds, |it| it.closed.max_ns).max(1) as f64;
    let longest = longest(keys) / longest(rival);
    Some(format!(
        "{said}; the longest command takes {longest:.2} times as long."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::measure::Latency;

    fn rounds(rates: [u64; 3]) -> Vec<Figures> {
        let closed = Latency {
            p50_ns: 1,
            p99_ns: 1,
            p99_9_ns: 1,
            p99_99_ns: 1,
            ..Latency::default()
        };
        let of = |commands_per_second| Figures {
            commands_per_second,
            closed: closed.clone(),
            ..Figures::default()
        };
        rates.map(of).to_vec()
    }

    #[test]
    fn what_not_every_round_shows_is_level() {
        let rival = rounds([10, 20, 30]);
        let said = |rates| beside("From empty", &rounds(rates), &rival, "slotmap").unwrap();
        assert!(said([11, 22, 33]).starts_with(
            "From empty, `keys` does 1.10 (1.10–1.10) times the commands of `slotmap`;"
        ));
        assert!(said([11, 22, 29]).starts_with("From empty, `keys` is level with `slotmap`: "));
        assert!(said([9, 18, 27]).contains("does 0.90 (0.90–0.90) times"));
    }
}
