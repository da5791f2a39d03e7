//! The arguments, the same in every bench. What cannot be measured is refused
//! before anything is: with the value, the limit, and exit code 2.

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser};

use crate::operation::BATCH;

/// Bytes of values that are live at once, at most.
const MOST_BYTES: u64 = 1 << 30;

/// What is to be measured.
#[derive(Clone, Debug, Default, Args)]
pub struct Arguments {
    /// A few turns of each, on few values: checks the answers, measures roughly
    #[arg(long)]
    pub quick: bool,
    /// Keeps the result under benches/record/, for the report
    #[arg(long, conflicts_with = "quick")]
    pub record: bool,
    /// Prints all rows and the workshop's goals, which otherwise go to a file
    #[arg(long)]
    pub all: bool,
    /// Whole runs, one after the other
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: Option<u32>,
    /// Live values, rounded up to whole batches of 64
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u64).range(BATCH as u64..=1 << 23))]
    pub live: Vec<u64>,
    /// Sizes of a value in bytes
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub bytes: Vec<usize>,
    /// Only subjects whose name contains this, and those that ratios refer to; once
    /// for each part of a name
    #[arg(long)]
    pub subject: Vec<String>,
    /// Lists rows and subjects, and measures nothing
    #[arg(long)]
    pub list: bool,
    /// Only rows whose name contains this
    pub row: Option<String>,
    /// One turn of one subject, for the bench that started this process
    #[arg(long, hide = true)]
    pub(crate) child: bool,
    /// The number of that turn
    #[arg(long, hide = true, default_value_t = 0)]
    pub(crate) turn: usize,
    /// What `cargo bench` passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// The command line of a bench without arguments of its own.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: Arguments,
}

impl Arguments {
    /// Those of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        CommandLine::parse().arguments
    }

    /// Ends the process with this message and exit code 2.
    pub fn refuse(&self, message: &str) -> ! {
        CommandLine::command()
            .error(ErrorKind::ValueValidation, message)
            .exit()
    }

    /// Whether the row is asked for.
    #[must_use]
    pub fn takes_row(&self, row: &str) -> bool {
        self.row.as_ref().is_none_or(|part| row.contains(part))
    }

    /// Whether the subject is asked for.
    #[must_use]
    pub fn takes_subject(&self, subject: &str) -> bool {
        let mut parts = self.subject.iter();
        self.subject.is_empty() || parts.any(|part| subject.contains(part))
    }

    /// Keeps those items of a bench whose row and subject are asked for; ends the
    /// process if there are none.
    pub fn select<T>(&self, items: &mut Vec<T>, name: impl Fn(&T) -> (&str, &str)) {
        let pairs: Vec<_> = items.iter().map(&name).collect();
        if let Err(message) = self.find_in(&pairs) {
            self.refuse(&message);
        }
        items.retain(|item| self.takes_row(name(item).0) && self.takes_subject(name(item).1));
    }

    /// Looks for what is asked for in what a bench has: pairs of rows and subjects.
    ///
    /// # Errors
    ///
    /// What is not there, and what is.
    pub fn find_in(&self, pairs: &[(&str, &str)]) -> Result<(), String> {
        let any = |wanted: &dyn Fn(&(&str, &str)) -> bool| pairs.iter().any(wanted);
        let row = self.row.as_deref().unwrap_or_default();
        let missing = |part: &&String| !any(&|pair| pair.1.contains(*part));
        let names = |of: fn(&(&str, &str)) -> String| {
            let mut names: Vec<String> = pairs.iter().map(of).collect();
            names.sort();
            names.dedup();
            names.join("; ")
        };
        if !any(&|pair| self.takes_row(pair.0)) {
            let names = names(|pair| pair.0.to_owned());
            Err(format!("no row contains '{row}'; there are {names}"))
        } else if let Some(subject) = self.subject.iter().find(missing) {
            let names = names(|pair| pair.1.to_owned());
            Err(format!(
                "no subject contains '{subject}'; there are {names}"
            ))
        } else if !any(&|pair| self.takes_row(pair.0) && self.takes_subject(pair.1)) {
            let subject = self.subject.join("' or '");
            Err(format!(
                "no row with '{row}' has a subject with '{subject}'"
            ))
        } else {
            Ok(())
        }
    }

    /// The pairs of live values and value sizes that are asked for: by default
    /// those of `grid`, all its sizes at `quick` live values in a quick run.
    ///
    /// # Errors
    ///
    /// A size that there is not, or pairs that take too much memory.
    pub fn pairs(
        &self,
        grid: &[(usize, &[usize])],
        quick: usize,
    ) -> Result<Vec<(usize, usize)>, String> {
        let mut sizes: Vec<usize> = grid.iter().flat_map(|it| it.1).copied().collect();
        sizes.sort_unstable();
        sizes.dedup();
        if let Some(size) = self.bytes.iter().find(|size| !sizes.contains(size)) {
            return Err(format!("no values of {size} bytes; there are {sizes:?}"));
        }
        let chosen = if self.bytes.is_empty() {
            &sizes
        } else {
            &self.bytes
        };
        let every = |live: usize, sizes: &[usize]| {
            let live = live.next_multiple_of(BATCH);
            sizes.iter().map(|&size| (live, size)).collect::<Vec<_>>()
        };
        let mut pairs: Vec<_> = if !self.live.is_empty() {
            let lives = self.live.iter();
            lives
                .flat_map(|&live| every(live as usize, chosen))
                .collect()
        } else if self.quick {
            every(quick, chosen)
        } else if self.bytes.is_empty() {
            grid.iter()
                .flat_map(|&(live, sizes)| every(live, sizes))
                .collect()
        } else {
            every(grid[0].0, chosen)
        };
        pairs.sort_unstable();
        pairs.dedup();
        let too_many = |&&(live, size): &&(usize, usize)| live as u64 * size as u64 > MOST_BYTES;
        if let Some((live, size)) = pairs.iter().find(too_many) {
            return Err(format!(
                "{live} live values of {size} bytes take more than {MOST_BYTES} bytes"
            ));
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, clap::Error> {
        let words = ["bench"].into_iter().chain(line.split_ascii_whitespace());
        CommandLine::try_parse_from(words).map(|it| it.arguments)
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_value_and_the_limit() {
        for (line, value, limit) in [
            ("--runs 0", "'0'", "1..=100"),
            ("--runs x", "'x'", "--runs"),
            ("--live 0", "'0'", "64..=8388608"),
            ("--live 99999999999", "'99999999999'", "64..=8388608"),
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            let message = error.to_string();
            assert!(
                message.contains(value) && message.contains(limit),
                "{message}"
            );
        }
    }

    #[test]
    fn names_that_are_not_there_are_refused() {
        let pairs = [("INSERT", "slab"), ("CONTAINS", "slab"), ("INSERT", "Box")];
        for line in [
            "REMOVE",
            "--subject Vec",
            "--subject slab --subject Vec",
            "CONTAINS --subject Box",
        ] {
            let arguments = parsed(line).expect("good arguments");
            assert!(arguments.find_in(&pairs).is_err(), "{line}");
        }
        for line in [
            "",
            "INS",
            "--subject B",
            "CONTAINS --subject slab",
            "CONTAINS --subject slab --subject Box",
            "--bench",
        ] {
            let arguments = parsed(line).expect("good arguments");
            assert!(arguments.find_in(&pairs).is_ok(), "{line}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_grid() {
        let grid: [(usize, &[usize]); 2] = [(8192, &[8, 64]), (1024, &[8])];
        let pairs = |line| parsed(line).expect("good arguments").pairs(&grid, 128);
        assert_eq!(pairs(""), Ok(vec![(1024, 8), (8192, 8), (8192, 64)]));
        assert_eq!(pairs("--quick"), Ok(vec![(128, 8), (128, 64)]));
        assert_eq!(pairs("--live 100,65 --bytes 8"), Ok(vec![(128, 8)]));
        assert_eq!(pairs("--bytes 64"), Ok(vec![(8192, 64)]));
        assert!(pairs("--bytes 7").is_err());
    }
}
