//! The tables of the growth bench.

use crate::record::GrowthTable;
use crate::table;

/// All subjects: the median over rounds of each percentile, the lowest and the
/// highest worst, in ticks.
#[must_use]
pub fn render(table: &GrowthTable) -> String {
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let (lowest, highest) = row.worst();
            let mut cells = vec![row.subject.clone()];
            cells.extend((0..5).map(|place| format!("{:.0}", row.percentile(place))));
            cells.extend([lowest.to_string(), highest.to_string()]);
            cells
        })
        .collect();
    let head = [
        "ticks of one insertion",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "p99.99",
        "lowest worst",
        "highest worst",
    ];
    table::markdown(&head, &rows)
}

/// What is to be reached, and what was; `None` where a subject was left out.
#[must_use]
pub fn goals(table: &GrowthTable) -> Option<String> {
    let slab = table.row("slab")?;
    let (without, with) = (table.row("Slab, Slot")?, table.row("Slab, 8 spare chunks")?);
    let cycles = slab.ticks_per_cycle();
    let worst = |row: &crate::record::GrowthRow| f64::from(row.worst().0);
    let quick = slab.percentile(0) + 64.0 * cycles;
    let row = |what: &str, measured: f64, limit: f64, limit_is: &str| {
        let shown = if measured <= limit {
            format!("{measured:.0}")
        } else {
            format!("**{measured:.0}**")
        };
        vec![
            what.to_owned(),
            shown,
            format!("≤ {limit:.0}"),
            limit_is.to_owned(),
        ]
    };
    let rows = [
        row(
            "p99.9",
            without.percentile(3),
            quick,
            "`slab`'s p50 and 64 cycles",
        ),
        row("p99.9, spare chunks", with.percentile(3), quick, "the same"),
        row(
            "p99.99, spare chunks",
            with.percentile(4),
            slab.percentile(4) / 10.0,
            "`slab`'s, 1/10",
        ),
        row(
            "worst, spare chunks",
            worst(with),
            worst(slab) / 50.0,
            "`slab`'s, 1/50",
        ),
        row(
            "worst, without",
            worst(without),
            worst(slab) / 12.0,
            "`slab`'s, 1/12",
        ),
    ];
    Some(table::markdown(
        &["ticks of one insertion", "`Slab`", "goal", "which is"],
        &rows,
    ))
}
