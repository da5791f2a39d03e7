//! The workloads of the malloc bench, and their tables.

use crate::record::Malloc;
use crate::table;

/// What is done to an allocator all day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// A million orders allocated in a row.
    LinearAllocation,
    /// A million freed, the newest first.
    LinearFreeLifo,
    /// A million freed, the oldest first.
    LinearFreeFifo,
    /// A hundred bursts of ten thousand, allocated and freed newest first.
    HotChurnLifo,
    /// The same, oldest first.
    HotChurnFifo,
    /// A million random toggles of 16,384 places.
    SwissCheese,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 6] = [
        Workload::LinearAllocation,
        Workload::LinearFreeLifo,
        Workload::LinearFreeFifo,
        Workload::HotChurnLifo,
        Workload::HotChurnFifo,
        Workload::SwissCheese,
    ];

    /// As it stands in the tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Workload::LinearAllocation => "linear allocation",
            Workload::LinearFreeLifo => "linear free, LIFO",
            Workload::LinearFreeFifo => "linear free, FIFO",
            Workload::HotChurnLifo => "hot churn, LIFO (pair)",
            Workload::HotChurnFifo => "hot churn, FIFO (pair)",
            Workload::SwissCheese => "Swiss cheese",
        }
    }
}

/// The subject that the speed-up refers to.
const MALLOC: &str = "Box, malloc";
/// The subject that the ratio refers to.
const FLOOR: &str = "floor";

/// One workload on all subjects: nanoseconds and core cycles an operation, how
/// many times as fast as malloc, and the ratio to the floor; with all of an order
/// written, and with its first word alone.
#[must_use]
pub fn render(result: &Malloc, workload: Workload) -> String {
    let ticks = |written: usize, subject: &str| {
        let mut rows = result.rows.iter();
        let row = rows.find(|row| {
            row.workload == workload.name() && row.written == written && row.subject == subject
        })?;
        Some(row.ticks)
    };
    let subjects = result
        .rows
        .iter()
        .filter(|row| row.workload == workload.name() && row.written == 64)
        .map(|row| row.subject.as_str());
    let rows: Vec<Vec<String>> = subjects
        .map(|subject| {
            let mut cells = vec![subject.to_owned()];
            for written in [64, 8] {
                let own = ticks(written, subject);
                let of = |other: &str| Some((own?, ticks(written, other)?));
                let shown =
                    |figure: Option<f64>| figure.map_or("–".to_owned(), |it| format!("{it:.2}"));
                cells.extend([
                    shown(own.map(|own| own / result.ticks_per_ns)),
                    shown(own.map(|own| own / result.ticks_per_cycle)),
                    shown(of(MALLOC).map(|(own, malloc)| malloc / own)),
                    shown(of(FLOOR).map(|(own, floor)| own / floor)),
                ]);
            }
            cells
        })
        .collect();
    let head = [
        "64 bytes written; 8 bytes written",
        "ns",
        "cycles",
        "× malloc",
        "/ floor",
        "ns",
        "cycles",
        "× malloc",
        "/ floor",
    ];
    table::markdown(&head, &rows)
}
