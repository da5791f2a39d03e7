//! Records of measurements: JSON files under `benches/record/`, which the
//! `report` program turns into the tables of the documents.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// All that was measured on one machine in a day: the newest of each bench.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// Where, and with which compiler.
    pub machine: Machine,
    /// The runs of the cycle bench.
    #[serde(default)]
    pub cycles: Vec<Run>,
    /// The last run of the growth bench.
    #[serde(default)]
    pub growth: Option<Growth>,
    /// The last run of the malloc bench.
    #[serde(default)]
    pub malloc: Option<Malloc>,
}

/// One run of the malloc bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Malloc {
    /// Of which commit.
    pub commit: String,
    /// Ticks of the counter per nanosecond.
    pub ticks_per_ns: f64,
    /// Ticks of the counter in a core cycle.
    pub ticks_per_cycle: f64,
    /// Rounds of which each figure is the median.
    pub rounds: usize,
    /// All figures.
    pub rows: Vec<MallocRow>,
}

/// One subject in one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MallocRow {
    /// The workload.
    pub workload: String,
    /// Bytes of an order that are written.
    pub written: usize,
    /// The subject.
    pub subject: String,
    /// Ticks an operation.
    pub ticks: f64,
}

/// One run of the growth bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Growth {
    /// Of which commit.
    pub commit: String,
    /// Ticks of the counter per nanosecond.
    pub ticks_per_ns: f64,
    /// Insertions into each container.
    pub inserts: usize,
    /// One for each value size.
    pub tables: Vec<GrowthTable>,
}

/// All subjects with values of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GrowthTable {
    /// The size of a value.
    pub bytes: usize,
    /// The subjects, `slab` first.
    pub rows: Vec<GrowthRow>,
}

/// One subject, each round a process of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GrowthRow {
    /// The subject.
    pub subject: String,
    /// What each round gave.
    pub rounds: Vec<GrowthRound>,
}

/// One process: ticks of single insertions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GrowthRound {
    /// p50, p90, p99, p99.9, p99.99, and the worst.
    pub percentiles: [u32; 6],
    /// Ticks of the counter in a core cycle.
    pub ticks_per_cycle: f64,
    /// The worst of each stretch of the insertions, all of one length: the lowest
    /// of the rounds, in the last.
    #[serde(default)]
    pub stretches: Vec<u32>,
}

impl GrowthTable {
    /// The row of a subject.
    #[must_use]
    pub fn row(&self, subject: &str) -> Option<&GrowthRow> {
        self.rows.iter().find(|row| row.subject == subject)
    }
}

impl GrowthRow {
    /// The median over rounds of a percentile, by its place in
    /// [`percentiles`](GrowthRound::percentiles).
    #[must_use]
    pub fn percentile(&self, place: usize) -> f64 {
        let of = |round: &GrowthRound| f64::from(round.percentiles[place]);
        median(self.rounds.iter().map(of).collect())
    }

    /// The lowest and the highest worst insertion of the rounds.
    #[must_use]
    pub fn worst(&self) -> (u32, u32) {
        let worst = self.rounds.iter().map(|round| round.percentiles[5]);
        (worst.clone().min().unwrap_or(0), worst.max().unwrap_or(0))
    }

    /// The median over rounds of the core's clock.
    #[must_use]
    pub fn ticks_per_cycle(&self) -> f64 {
        median(
            self.rounds
                .iter()
                .map(|round| round.ticks_per_cycle)
                .collect(),
        )
    }
}

/// One run of the cycle bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Of which commit.
    pub commit: String,
    /// Ticks of the counter per nanosecond.
    pub ticks_per_ns: f64,
    /// Ticks in which the counter advances.
    pub step: u64,
    /// One for each operation, value size and number of live values.
    pub tables: Vec<Table>,
}

/// One operation on all its subjects.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// The operation.
    pub operation: String,
    /// The size of a value.
    pub bytes: usize,
    /// How many values are live.
    pub live: usize,
    /// Ticks of the counter in a core cycle, in this round.
    pub ticks_per_cycle: f64,
    /// The subjects, `slab` first.
    pub rows: Vec<Row>,
}

/// One subject's ticks per operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The subject.
    pub subject: String,
    /// The median over turns of the mean of a turn.
    pub ticks: f64,
    /// Of the batches: p50, p90, p99, p99.9, and the worst.
    pub percentiles: [f64; 5],
}

impl Table {
    /// The row of a subject.
    #[must_use]
    pub fn row(&self, subject: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.subject == subject)
    }

    /// A subject's ticks over those of `slab`, which stands first.
    #[must_use]
    pub fn ratio(&self, subject: &str) -> Option<f64> {
        Some(self.row(subject)?.ticks / self.rows.first()?.ticks)
    }
}

impl Record {
    /// Where records are kept.
    #[must_use]
    pub fn directory() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("record")
    }

    /// Adds to today's record of this machine what `add` puts in. A record with
    /// another compiler is begun anew.
    ///
    /// # Errors
    ///
    /// If the file can be neither read nor written, or is not a record.
    pub fn extend(add: impl FnOnce(&mut Record)) -> Result<PathBuf, String> {
        let machine = Machine::this();
        let path = Self::directory().join(machine.file_stem() + ".json");
        let fresh = |machine| Record {
            machine,
            cycles: Vec::new(),
            growth: None,
            malloc: None,
        };
        let mut record = match path.exists() {
            true => Self::read(&path)?,
            false => fresh(machine.clone()),
        };
        if record.machine != machine {
            record = fresh(machine);
        }
        add(&mut record);
        let failed = |error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(Self::directory()).map_err(failed)?;
        std::fs::write(&path, record.to_json()).map_err(failed)?;
        Ok(path)
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// If there is none, or what is there is not one.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// A line for each row: fit to be compared, and not longer than need be.
    fn to_json(&self) -> String {
        let mut json = serde_json::to_string(self).expect("plain data");
        for (end, broken) in [("},{", "},\n{"), (":[{", ":[\n{")] {
            json = json.replace(end, broken);
        }
        json + "\n"
    }
}

/// With two decimals: more than the clock can vouch for.
#[must_use]
pub fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// The one in the middle; of an even number the lower.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[(figures.len() - 1) / 2]
}
