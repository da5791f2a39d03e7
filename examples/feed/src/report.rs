//! The results of a run, as a table or as JSON.

use std::fmt;
use std::io::{self, Write};

use flatslab::memory::Report as MemoryReport;
use order_flow::program::table::{grouped, write_columns};
use order_flow::stats::{FlowStats, Quantiles};
use serde::Serialize;

use crate::variant::{PageKind, Variant};

/// All results of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) flow: FlowReport,
    /// The figures are medians over this many rounds.
    pub(crate) rounds: u32,
    /// Nanoseconds of each latency that reading the clock takes.
    pub(crate) clock_ns: u64,
    /// Of each variant.
    pub(crate) stores: Vec<StoreReport>,
    /// Whether all variants ended in the same books.
    pub(crate) same_books: bool,
}

/// Where the messages came from, and their statistics.
#[derive(Debug, Default, Serialize)]
pub(crate) struct FlowReport {
    /// `generated` or `lobster`.
    pub(crate) source: &'static str,
    /// The seed of a generated flow.
    pub(crate) seed: Option<u64>,
    /// The path of a recorded flow.
    pub(crate) file: Option<String>,
    /// Copies of the flow, each a symbol of its own.
    pub(crate) symbols: u32,
    /// Messages of one pass, all symbols together.
    pub(crate) messages_replayed: u64,
    /// Statistics of one symbol's messages.
    pub(crate) per_symbol: FlowStats,
}

/// The results of one variant.
#[derive(Debug, Serialize)]
pub(crate) struct StoreReport {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    /// Medians over the rounds.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    pub(crate) peak_live_orders: usize,
    pub(crate) live_orders_at_end: usize,
    pub(crate) bytes_held: usize,
    pub(crate) memory: Obtained,
    /// Digest of the books at the end, in hexadecimal.
    pub(crate) book_digest: String,
    /// The figures of each round.
    pub(crate) of_rounds: Vec<Figures>,
}

/// What memory was obtained, as flatslab reports it at the end of the first pass.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Obtained {
    /// Of the orders. `None` if the store cannot tell.
    store: Option<String>,
    /// Of the index and the price levels.
    index: String,
    /// Whether any of it is in huge pages.
    #[serde(skip)]
    huge: bool,
}

impl Obtained {
    pub(crate) fn new(store: Option<MemoryReport>, index: MemoryReport) -> Self {
        let huge = |report: &MemoryReport| report.huge_bytes().is_some_and(|bytes| bytes > 0);
        Obtained {
            huge: huge(&index) || store.as_ref().is_some_and(huge),
            store: store.map(|report| report.to_string()),
            index: index.to_string(),
        }
    }
}

/// What is measured of a variant.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figures {
    pub(crate) messages_per_second: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p99_9_ns: u64,
    pub(crate) p99_99_ns: u64,
    pub(crate) max_ns: u64,
}

impl Figures {
    const NAMES: [&str; 6] = [
        "messages/s",
        "p50 ns",
        "p99 ns",
        "p99.9 ns",
        "p99.99 ns",
        "max ns",
    ];

    fn all(&self) -> [u64; 6] {
        [
            self.messages_per_second,
            self.p50_ns,
            self.p99_ns,
            self.p99_9_ns,
            self.p99_99_ns,
            self.max_ns,
        ]
    }

    /// The median of each figure; of two values, the larger.
    pub(crate) fn medians(rounds: &[Figures]) -> Self {
        let median = |figure: fn(&Figures) -> u64| {
            let mut values: Vec<u64> = rounds.iter().map(figure).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or(0)
        };
        Figures {
            messages_per_second: median(|it| it.messages_per_second),
            p50_ns: median(|it| it.p50_ns),
            p99_ns: median(|it| it.p99_ns),
            p99_9_ns: median(|it| it.p99_9_ns),
            p99_99_ns: median(|it| it.p99_99_ns),
            max_ns: median(|it| it.max_ns),
        }
    }
}

/// A figure of one variant divided by that of another, each round by itself: the
/// median, the lowest and the highest.
struct Ratio {
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Ratio {
    fn of(store: &StoreReport, other: &StoreReport, figure: usize) -> Option<Self> {
        let mut ratios: Vec<f64> = store
            .of_rounds
            .iter()
            .zip(&other.of_rounds)
            .map(|(one, other)| one.all()[figure] as f64 / other.all()[figure].max(1) as f64)
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        Some(Ratio {
            median: *ratios.get(ratios.len() / 2)?,
            lowest: *ratios.first()?,
            highest: *ratios.last()?,
        })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio {
            median,
            lowest,
            highest,
        } = self;
        write!(f, "{median:.2} ({lowest:.2}-{highest:.2})")
    }
}

/// The figures in which a variant is better than another in every round, and those in
/// which it is worse.
fn clear_differences(
    store: &StoreReport,
    other: &StoreReport,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut better, mut worse) = (Vec::new(), Vec::new());
    for (figure, name) in Figures::NAMES.into_iter().enumerate() {
        let Some(ratio) = Ratio::of(store, other, figure) else {
            continue;
        };
        // More messages per second are better, and fewer nanoseconds.
        let (above, below) = match figure {
            0 => (&mut better, &mut worse),
            _ => (&mut worse, &mut better),
        };
        if ratio.lowest > 1.0 {
            above.push(name);
        } else if ratio.highest < 1.0 {
            below.push(name);
        }
    }
    (better, worse)
}

/// The names, with commas between.
fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

/// Fewer rounds agree by chance too often to say so.
const FEW_ROUNDS: u32 = 3;

impl Report {
    /// One JSON object on one line.
    pub(crate) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }

    /// Text and tables.
    pub(crate) fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_flow(out)?;
        writeln!(out)?;
        let mut rows = vec![vec!["store".to_owned()]];
        rows[0].extend(Figures::NAMES.map(str::to_owned));
        rows[0].extend(["peak live", "bytes held"].map(str::to_owned));
        for store in &self.stores {
            let mut row = vec![store.variant.to_string()];
            row.extend(store.figures.all().map(grouped));
            row.extend([store.peak_live_orders, store.bytes_held].map(|it| grouped(it as u64)));
            rows.push(row);
        }
        write_columns(out, &rows)?;
        writeln!(out)?;
        self.write_ratios(out)?;
        writeln!(
            out,
            "Medians of {} {}; reading the clock is {} ns of each latency.",
            self.rounds,
            if self.rounds == 1 { "round" } else { "rounds" },
            self.clock_ns
        )?;
        let live = self
            .stores
            .first()
            .map_or(0, |store| store.live_orders_at_end);
        match (self.same_books, self.stores.len()) {
            (true, 1) => writeln!(
                out,
                "The books end with {} live orders.",
                grouped(live as u64)
            ),
            (true, count) => writeln!(
                out,
                "All {count} {} end in the same books, with {} live orders.",
                if self.is_plain() {
                    "stores"
                } else {
                    "variants"
                },
                grouped(live as u64)
            ),
            (false, _) => writeln!(out, "The stores end in different books!"),
        }?;
        if let Some(verdict) = self.verdict() {
            writeln!(out, "{verdict}")?;
        }
        if !self.is_plain() {
            self.write_clear_differences(out)?;
        }
        self.write_memory(out)
    }

    /// Whether no variant has other pages or a look-ahead.
    fn is_plain(&self) -> bool {
        self.stores.iter().all(|it| it.variant.is_plain())
    }

    /// What the others are divided by: `slab`, or the first variant.
    fn baseline(&self) -> Option<&StoreReport> {
        let slab = self.stores.iter().find(|it| it.variant == Variant::SLAB);
        slab.or(self.stores.first())
    }

    /// All variants but the baseline.
    fn others(&self, baseline: &StoreReport) -> impl Iterator<Item = &StoreReport> {
        let baseline = baseline.variant;
        self.stores.iter().filter(move |it| it.variant != baseline)
    }

    /// The variants divided by the baseline, with the spread.
    fn write_ratios(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(baseline) = self.baseline() else {
            return Ok(());
        };
        if self.stores.len() == 1 {
            return Ok(());
        }
        writeln!(
            out,
            "Divided by `{}` of the same round: the median, the lowest and the highest.",
            baseline.variant
        )?;
        let mut rows = vec![vec!["store".to_owned()]];
        rows[0].extend(Figures::NAMES.map(str::to_owned));
        for store in self.others(baseline) {
            let mut row = vec![store.variant.to_string()];
            row.extend((0..Figures::NAMES.len()).filter_map(|figure| {
                Ratio::of(store, baseline, figure).map(|ratio| ratio.to_string())
            }));
            rows.push(row);
        }
        write_columns(out, &rows)?;
        writeln!(out)
    }

    /// What was seen, in one sentence: flatslab's stores, on default pages and without
    /// look-ahead, compared with the baseline.
    fn verdict(&self) -> Option<String> {
        let baseline = self.baseline()?;
        let seen: Vec<String> = (self.others(baseline))
            .filter(|it| it.variant.is_plain() && it.variant.store.is_ours())
            .filter_map(|store| {
                let rate = Ratio::of(store, baseline, 0)?;
                let max = Ratio::of(store, baseline, Figures::NAMES.len() - 1)?;
                Some(format!(
                    "`{}` applied {:.2} times as many messages per second with a slowest \
                     message of {:.2} times the length",
                    store.variant, rate.median, max.median,
                ))
            })
            .collect();
        let name = baseline.variant;
        (!seen.is_empty()).then(|| {
            format!(
                "Compared with `{name}`, {}. In a feed, whose order numbers are somebody else's, \
                 a message is the search for its number, so the store hardly matters, but for \
                 the longest message. Where the keys are the numbers: `order_book`.",
                seen.join("; ")
            )
        })
    }

    /// For each variant with other pages or a look-ahead, the figures in which it is
    /// better or worse than the baseline in every round; nothing for a few rounds.
    fn write_clear_differences(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(baseline) = self.baseline() else {
            return Ok(());
        };
        let stores: Vec<_> = (self.others(baseline))
            .filter(|it| !it.variant.is_plain())
            .collect();
        if stores.is_empty() || self.rounds < FEW_ROUNDS {
            return Ok(());
        }
        let (name, rounds) = (baseline.variant, self.rounds);
        writeln!(
            out,
            "\nBetter or worse than `{name}` in each of {rounds} rounds:"
        )?;
        let names = stores.iter().map(|it| it.variant.to_string().len());
        let width = names.max().unwrap_or(0);
        for store in stores {
            let name = store.variant.to_string();
            let (better, worse) = clear_differences(store, baseline);
            let (better, worse) = (listed(&better), listed(&worse));
            writeln!(out, "  {name:<width$}  better: {better}; worse: {worse}")?;
        }
        Ok(())
    }

    /// What memory the variants with huge pages have obtained, once for each store. It
    /// does not depend on the look-ahead.
    fn write_memory(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut huge: Vec<&StoreReport> = (self.stores.iter())
            .filter(|it| it.variant.pages == PageKind::Huge)
            .collect();
        if huge.is_empty() {
            return Ok(());
        }
        let granted = huge.iter().any(|it| it.memory.huge);
        huge.dedup_by_key(|it| it.variant.store);
        writeln!(out, "\nMemory at the end of a pass:")?;
        for StoreReport {
            variant, memory, ..
        } in huge
        {
            let name = variant.store.name();
            let orders = memory.store.as_deref();
            let orders = orders.unwrap_or("the global allocator's");
            writeln!(out, "  {name} huge, orders: {orders}")?;
            writeln!(out, "  {name} huge, index and levels: {}", memory.index)?;
        }
        if !granted {
            writeln!(out, "The machine granted no huge pages.")?;
        }
        Ok(())
    }

    fn write_flow(&self, out: &mut dyn Write) -> io::Result<()> {
        let flow = &self.flow;
        let stats = &flow.per_symbol;
        match (&flow.file, flow.seed) {
            (Some(file), _) => write!(out, "{file}")?,
            (None, seed) => write!(out, "Generated flow, seed {}", seed.unwrap_or(0))?,
        }
        writeln!(
            out,
            ": {} messages, {}, {} replayed",
            grouped(stats.messages),
            match flow.symbols {
                1 => "1 symbol".to_owned(),
                symbols => format!("{} symbols", grouped(u64::from(symbols))),
            },
            grouped(flow.messages_replayed)
        )?;
        let (kinds, anomalies) = (stats.kinds, stats.anomalies);
        let counts = [
            ("adds", kinds.adds),
            ("partial cancels", kinds.partial_cancels),
            ("deletes", kinds.deletes),
            ("executions", kinds.executions),
            ("hidden executions, not applied", kinds.hidden_executions),
            ("auctions, not applied", kinds.crosses),
            ("halts, not applied", kinds.halts),
            ("unknown ids, not applied", anomalies.unknown_ids),
            ("duplicate ids, not applied", anomalies.duplicate_ids),
            (
                "reductions beyond the order's size",
                anomalies.excess_reductions,
            ),
            (
                "orders live at once, at most",
                stats.peak_live_orders as u64,
            ),
        ];
        let width = counts
            .iter()
            .map(|count| grouped(count.1).len())
            .max()
            .unwrap_or(0);
        for (name, count) in counts {
            writeln!(out, "  {:>width$}  {name}", grouped(count))?;
        }
        writeln!(out)?;
        let measures = [
            ("life, messages", stats.life_in_messages),
            (
                "distance from the best price, cents",
                stats.distance_in_cents,
            ),
            ("size, shares", stats.size_in_shares),
        ];
        let mut rows = vec![
            ["of the orders", "p10", "p50", "p90", "p99"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for (name, Quantiles { p10, p50, p90, p99 }) in measures {
            let mut row = vec![name.to_owned()];
            row.extend([p10, p50, p90, p99].map(|value| value.to_string()));
            rows.push(row);
        }
        write_columns(out, &rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::StoreKind;

    /// A store with these figures in three rounds, the others all alike.
    fn timed(store: StoreKind, rates: [u64; 3], max_ns: u64) -> StoreReport {
        let of_rounds = rates.map(|messages_per_second| Figures {
            messages_per_second,
            p50_ns: 1,
            p99_ns: 2,
            p99_9_ns: 3,
            p99_99_ns: 4,
            max_ns,
        });
        StoreReport {
            variant: Variant::plain(store),
            figures: Figures::medians(&of_rounds),
            peak_live_orders: 0,
            live_orders_at_end: 0,
            bytes_held: 0,
            memory: Obtained::default(),
            book_digest: String::new(),
            of_rounds: of_rounds.to_vec(),
        }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let one = timed(StoreKind::Keys, [10, 40, 15], 5);
        let other = timed(StoreKind::Slab, [10, 20, 30], 5);
        assert_eq!(one.figures.messages_per_second, 15);
        let ratio = Ratio::of(&one, &other, 0).unwrap();
        assert_eq!(ratio.to_string(), "1.00 (0.50-2.00)");
    }
    #[test]
    fn a_difference_is_clear_if_every_round_shows_it() {
        let slab = timed(StoreKind::Slab, [10, 20, 30], 5);
        let names =
            |rates, max_ns| clear_differences(&timed(StoreKind::Keys, rates, max_ns), &slab);
        assert_eq!(names([11, 20, 31], 5), (vec![], vec![]));
        assert_eq!(names([11, 19, 31], 5), (vec![], vec![]));
        // More messages are better, and fewer nanoseconds.
        assert_eq!(names([11, 21, 31], 6), (vec!["messages/s"], vec!["max ns"]));
        assert_eq!(names([9, 19, 29], 4), (vec!["max ns"], vec!["messages/s"]));
    }

    #[test]
    fn a_machine_without_huge_pages_is_told() {
        let mut store = timed(StoreKind::Keys, [1; 3], 1);
        for (pages, huge, is_told) in [
            (PageKind::Default, false, false),
            (PageKind::Huge, false, true),
            (PageKind::Huge, true, false),
        ] {
            store.variant.pages = pages;
            store.memory.huge = huge;
            let mut out = Vec::new();
            let report = Report {
                stores: vec![store],
                ..Report::default()
            };
            report.write_table(&mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            let told = out.contains("The machine granted no huge pages.");
            assert_eq!(told, is_told, "{out}");
            store = report.stores.into_iter().next().unwrap();
        }
    }
}
