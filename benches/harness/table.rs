//! Results, as tables a person can read.

use comfy_table::{Cell, CellAlignment, presets};

use crate::record::Table;

/// Rows of cells under a head, the first column left, figures right.
#[must_use]
pub fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = comfy_table::Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(head.to_vec());
    for row in rows {
        table.add_row(row.iter().map(Cell::new));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// One operation: ticks and core cycles per operation, percentiles of the
/// batches, and the ratio of each median to that of `slab`.
#[must_use]
pub fn operation(table: &Table) -> String {
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let figures = [row.ticks, row.ticks / table.ticks_per_cycle];
            let mut cells = vec![row.subject.clone()];
            cells.extend(
                figures
                    .iter()
                    .chain(&row.percentiles)
                    .map(|figure| format!("{figure:.1}")),
            );
            cells.push(format!("{:.2}", row.ticks / table.rows[0].ticks));
            cells
        })
        .collect();
    let head = [
        "subject",
        "ticks/op",
        "cycles/op",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "ratio",
    ];
    markdown(&head, &rows)
}
