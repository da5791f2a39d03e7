//! Results, as a table a person can read.

use comfy_table::{Cell, CellAlignment, Table, presets};

use crate::operation::Turn;

/// What one subject gave in all its turns.
pub struct Row {
    /// The subject.
    pub name: &'static str,
    /// Its turns, in order.
    pub turns: Vec<Turn>,
}

impl Row {
    /// The median over turns of the mean of a turn, in ticks per operation.
    #[must_use]
    pub fn median(&self) -> f64 {
        let mut means: Vec<f64> = self.turns.iter().map(Turn::mean).collect();
        means.sort_unstable_by(f64::total_cmp);
        means[means.len() / 2]
    }

    fn percentile(&self, share: f64) -> f64 {
        let mut batches: Vec<f64> = self
            .turns
            .iter()
            .flat_map(|turn| turn.batches().iter().copied())
            .collect();
        batches.sort_unstable_by(f64::total_cmp);
        batches[((batches.len() - 1) as f64 * share) as usize]
    }
}

/// One table an operation: ticks and core cycles per operation, percentiles of
/// the batches, and the ratio of each median to the first subject's.
#[must_use]
pub fn render(rows: &[Row], ticks_per_cycle: f64) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(vec![
        "subject",
        "ticks/op",
        "cycles/op",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "ratio",
    ]);
    let measure = rows[0].median();
    for row in rows {
        let figures = [
            row.median(),
            row.median() / ticks_per_cycle,
            row.percentile(0.5),
            row.percentile(0.9),
            row.percentile(0.99),
            row.percentile(0.999),
            row.percentile(1.0),
        ];
        let mut cells = vec![Cell::new(row.name)];
        cells.extend(figures.map(|figure| Cell::new(format!("{figure:.1}"))));
        cells.push(Cell::new(format!("{:.2}", row.median() / measure)));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}
