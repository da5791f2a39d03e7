//! The results of a run, as a table or as JSON.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use crate::cli::StoreKind;
use crate::stats::{FlowStats, Quantiles};

/// All results of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) flow: FlowReport,
    /// The figures are medians over this many rounds.
    pub(crate) rounds: u32,
    /// Nanoseconds of each latency that reading the clock takes.
    pub(crate) clock_ns: u64,
    pub(crate) stores: Vec<StoreReport>,
    /// Whether all stores ended in the same books.
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

/// The results of one store.
#[derive(Debug, Serialize)]
pub(crate) struct StoreReport {
    pub(crate) store: StoreKind,
    /// Medians over the rounds.
    #[serde(flatten)]
    pub(crate) figures: Figures,
    pub(crate) peak_live_orders: usize,
    pub(crate) live_orders_at_end: usize,
    pub(crate) bytes_held: usize,
    /// Digest of the books at the end, in hexadecimal.
    pub(crate) book_digest: String,
    /// The figures of each round.
    pub(crate) of_rounds: Vec<Figures>,
}

/// What is measured of a store.
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

/// A figure of one store divided by that of another, each round by itself: the
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
            let mut row = vec![store.store.name().to_owned()];
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
            (true, stores) => writeln!(
                out,
                "All {stores} stores end in the same books, with {} live orders.",
                grouped(live as u64)
            ),
            (false, _) => writeln!(out, "The stores end in different books!"),
        }?;
        match self.verdict() {
            Some(verdict) => writeln!(out, "{verdict}"),
            None => Ok(()),
        }
    }

    fn slab(&self) -> Option<&StoreReport> {
        self.stores.iter().find(|it| it.store == StoreKind::Slab)
    }

    /// The stores beside `slab`, with the spread.
    fn write_ratios(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(slab) = self.slab() else {
            return Ok(());
        };
        if self.stores.len() == 1 {
            return Ok(());
        }
        writeln!(
            out,
            "Divided by `slab` of the same round: the median, the lowest and the highest."
        )?;
        let mut rows = vec![vec!["store".to_owned()]];
        rows[0].extend(Figures::NAMES.map(str::to_owned));
        for store in self.stores.iter().filter(|it| it.store != StoreKind::Slab) {
            let mut row = vec![store.store.name().to_owned()];
            row.extend((0..Figures::NAMES.len()).filter_map(|figure| {
                Ratio::of(store, slab, figure).map(|ratio| ratio.to_string())
            }));
            rows.push(row);
        }
        write_columns(out, &rows)?;
        writeln!(out)
    }

    /// What was seen, in one sentence: flatslab's stores beside the `slab` crate's.
    fn verdict(&self) -> Option<String> {
        let slab = self.slab()?;
        let seen: Vec<String> = (self.stores.iter())
            .filter(|it| {
                !matches!(
                    it.store,
                    StoreKind::Slab | StoreKind::Box | StoreKind::Floor
                )
            })
            .filter_map(|store| {
                let rate = Ratio::of(store, slab, 0)?;
                let max = Ratio::of(store, slab, Figures::NAMES.len() - 1)?;
                Some(format!(
                    "`{}` applied {:.2} times as many messages per second with a slowest \
                     message of {:.2} times the length",
                    store.store.name(),
                    rate.median,
                    max.median,
                ))
            })
            .collect();
        (!seen.is_empty()).then(|| format!("Compared with `slab`, {}.", seen.join("; ")))
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

/// Writes a table: the first column is aligned to the left, the others to the
/// right.
fn write_columns(out: &mut dyn Write, rows: &[Vec<String>]) -> io::Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter()
                .filter_map(|row| Some(row.get(column)?.len()))
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            match column {
                0 => write!(out, "{cell:<width$}")?,
                _ => write!(out, "  {cell:>width$}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let store = |store, rates: [u64; 3]| {
            let of_rounds = rates.map(|messages_per_second| Figures {
                messages_per_second,
                ..Figures::medians(&[])
            });
            StoreReport {
                store,
                figures: Figures::medians(&of_rounds),
                peak_live_orders: 0,
                live_orders_at_end: 0,
                bytes_held: 0,
                book_digest: String::new(),
                of_rounds: of_rounds.to_vec(),
            }
        };
        let one = store(StoreKind::Keys, [10, 40, 15]);
        let other = store(StoreKind::Slab, [10, 20, 30]);
        assert_eq!(one.figures.messages_per_second, 15);
        let ratio = Ratio::of(&one, &other, 0).unwrap();
        assert_eq!(ratio.to_string(), "1.00 (0.50-2.00)");
    }

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["a".to_owned(), "1".to_owned()],
            vec!["bbb".to_owned(), "22".to_owned()],
        ];
        let mut out = Vec::new();
        write_columns(&mut out, &rows).unwrap();
        assert_eq!(out, b"a     1\nbbb  22\n");
    }
}
