//! What a figure depends on besides the code: processor, system, compiler.

use std::process::Command;

use serde::{Deserialize, Serialize};

/// Where and of what a measurement was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name for itself.
    pub cpu: String,
    /// Its family, model and stepping, where the system tells.
    pub cpu_version: String,
    /// Operating system and kernel.
    pub system: String,
    /// How the system sets the clock, where it tells.
    pub governor: String,
    /// The compiler of the benches.
    pub compiler: String,
    /// The day of the measurement.
    pub date: String,
}

impl Machine {
    /// This one, now.
    #[must_use]
    pub fn this() -> Self {
        let field = |name: &str| {
            let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
            let line = info
                .lines()
                .find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let unknown = || "unknown".to_owned();
        let number = |name| field(name).unwrap_or_else(|| "?".to_owned());
        Machine {
            cpu: field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cpu_version: format!(
                "family {}, model {}, stepping {}",
                number("cpu family"),
                number("model"),
                number("stepping")
            ),
            system: std::fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(
                |_| std::env::consts::OS.to_owned(),
                |release| {
                    // What distributors add behind the version says who built it.
                    let version = release.trim().split('-').next().unwrap_or("");
                    format!("{} {version}", std::env::consts::OS)
                },
            ),
            governor: std::fs::read_to_string(
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            )
            .map_or_else(|_| unknown(), |governor| governor.trim().to_owned()),
            compiler: env!("COMPILER").to_owned(),
            date: time::OffsetDateTime::now_utc().date().to_string(),
        }
    }

    /// A name for files: the day and the processor.
    #[must_use]
    pub fn file_stem(&self) -> String {
        let cpu: String = format!("{} {}", self.cpu, self.cpu_version)
            .to_lowercase()
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    ' '
                }
            })
            .collect();
        let words: Vec<&str> = cpu
            .split_ascii_whitespace()
            .filter(|word| !["r", "tm", "cpu", "processor", "stepping"].contains(word))
            .collect();
        format!("{}-{}", self.date, words.join("-"))
    }
}

/// The commit of the crate, with a `+` where files differ from it.
#[must_use]
pub fn commit() -> String {
    ask_git().unwrap_or_else(|| "unknown".to_owned())
}

fn ask_git() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // What is being recorded is not a change of what is measured.
    let changed = git(&["status", "--porcelain", "--", "../src", ".", ":!record"])?;
    Some(if changed.is_empty() {
        commit
    } else {
        commit + "+"
    })
}
