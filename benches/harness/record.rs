//! Records of measurements: JSON files under `benches/record/`, which the
//! `report` program turns into the tables of the documents.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// All that was measured on one machine, of one commit.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// Where, and of what.
    pub machine: Machine,
    /// The runs of the cycle bench.
    #[serde(default)]
    pub cycles: Vec<Run>,
}

/// One run of the cycle bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
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

    /// Adds to today's record of this machine what `add` puts in. A record of
    /// another commit or compiler is begun anew.
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
