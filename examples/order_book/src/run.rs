//! The whole program, callable in process: arguments in, text and an exit code
//! out.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::book::Top;
use crate::cli::{Cli, DEFAULT_MESSAGES, StoreKind};
use crate::flow::Flow;
use crate::lobster;
use crate::message::Message;
use crate::replay::{self, Failure, Job};
use crate::report::{FlowReport, Report, StoreReport};
use crate::stats::FlowStats;

/// All is well.
pub(crate) const SUCCESS: u8 = 0;
/// Something went wrong that no argument is to blame for.
pub(crate) const FAILED: u8 = 1;
/// A bad argument or file.
pub(crate) const BAD_INPUT: u8 = 2;

/// Rounds where nothing else is asked for, and replayed messages, all rounds
/// of a store together, from which on there are fewer.
const ROUNDS: u64 = 7;
const MANY_MESSAGES: u64 = 20_000_000;

/// Runs the program; `args` begin with its name. The exit code is returned.
///
/// With `progress`, a bar is drawn where standard error is a terminal. The last
/// line of defence against a reader that has gone is silence: what cannot be
/// written to `err` is lost.
pub(crate) fn run<I>(args: I, out: &mut dyn Write, err: &mut dyn Write, progress: bool) -> u8
where
    I: IntoIterator<Item = OsString>,
{
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let _ = write!(err, "{error}");
            return BAD_INPUT;
        }
        // `--help` and `--version` are answers, not errors.
        Err(answer) => {
            return written(write!(out, "{answer}").and_then(|()| out.flush()), err);
        }
    };
    match execute(&cli, progress) {
        Ok(report) => finish(&report, cli.json, out, err),
        Err(Failure::Input(reason)) => {
            let _ = writeln!(err, "error: {reason}");
            BAD_INPUT
        }
        Err(Failure::Run(reason)) => {
            let _ = writeln!(err, "error: {reason}");
            FAILED
        }
    }
}

/// Prints the report and judges it.
pub(crate) fn finish(report: &Report, json: bool, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let result = if json {
        report.write_json(out)
    } else {
        report.write_table(out)
    };
    let code = written(result.and_then(|()| out.flush()), err);
    if report.same_books {
        return code;
    }
    let _ = writeln!(err, "error: the stores end in different books");
    FAILED
}

/// The exit code of having written to standard output.
fn written(result: io::Result<()>, err: &mut dyn Write) -> u8 {
    match result {
        Ok(()) => SUCCESS,
        // Whoever reads has seen enough, as in `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => SUCCESS,
        Err(error) => {
            let _ = writeln!(err, "error: standard output: {error}");
            FAILED
        }
    }
}

/// Loads the flow and replays it.
pub(crate) fn execute(cli: &Cli, progress: bool) -> Result<Report, Failure> {
    let messages = load(cli)?;
    let stats = FlowStats::measure(&messages).map_err(|full| {
        Failure::Input(format!("more than {} orders are live at once", full.len))
    })?;
    // All copies advance together, so they are at their most together.
    let peak_live_orders = stats.peak_live_orders * cli.symbols as usize;
    let total = messages.len() as u64 * u64::from(cli.symbols);
    let rounds = cli
        .rounds
        .unwrap_or_else(|| (MANY_MESSAGES / total).clamp(1, ROUNDS) as u32);
    let kinds = cli.store.kinds();
    let passes = kinds.len() as u64 * (2 * u64::from(rounds) + u64::from(cli.bbo.is_some()));
    let bar = progress_bar(total.saturating_mul(passes), progress);
    let job = Job {
        messages: &messages,
        symbols: cli.symbols,
        peak_live_orders,
        progress: &bar,
    };

    let timings = cli
        .bbo
        .as_ref()
        .map_or(Ok(()), |path| {
            write_bbo(job, kinds, path, cli.lobster.as_deref())
        })
        .and_then(|()| replay::time(job, kinds, rounds));
    // Before anything is said about a failure.
    bar.finish_and_clear();
    let timings = timings?;

    let same_books = timings
        .windows(2)
        .all(|pair| pair[0].end.digest == pair[1].end.digest);
    Ok(Report {
        flow: FlowReport {
            source: if cli.lobster.is_some() {
                "lobster"
            } else {
                "generated"
            },
            seed: cli.lobster.is_none().then_some(cli.seed),
            file: cli.lobster.as_ref().map(|path| path.display().to_string()),
            symbols: cli.symbols,
            messages_replayed: total,
            per_symbol: stats,
        },
        rounds,
        clock_ns: replay::clock_cost(),
        stores: timings
            .iter()
            .map(|timing| StoreReport::new(timing, peak_live_orders))
            .collect(),
        same_books,
    })
}

fn load(cli: &Cli) -> Result<Vec<Message>, Failure> {
    if let Some(path) = &cli.lobster {
        let limit = cli.messages.map_or(usize::MAX, |limit| limit as usize);
        return lobster::read(path, limit).map_err(Failure::Input);
    }
    let count = cli.messages.unwrap_or(DEFAULT_MESSAGES) as usize;
    let mut messages = Vec::new();
    messages
        .try_reserve_exact(count)
        .map_err(|error| Failure::Input(format!("no memory for {count} messages: {error}")))?;
    messages.extend(Flow::new(cli.seed).take(count));
    Ok(messages)
}

/// Writes the tops of book of the first store and holds the others' against
/// them.
fn write_bbo(
    job: Job<'_>,
    kinds: &[StoreKind],
    path: &Path,
    source: Option<&Path>,
) -> Result<(), Failure> {
    let failure = |error: io::Error| Failure::Input(format!("{}: {error}", path.display()));
    let same_file = |source: &Path| matches!((source.canonicalize(), path.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if source.is_some_and(same_file) {
        return Err(Failure::Input(format!(
            "{}: would overwrite the input",
            path.display()
        )));
    }
    let mut file = BufWriter::new(File::create(path).map_err(failure)?);
    let mut tops: Vec<Top> = Vec::with_capacity(job.messages.len());
    for (turn, &kind) in kinds.iter().enumerate() {
        replay::tops(job, kind, &mut |row, top| {
            if turn == 0 {
                tops.push(top);
                return write_top(&mut file, top).map_err(failure);
            }
            if tops[row] != top {
                return Err(Failure::Run(format!(
                    "after message {}, {} has {top:?}, {} has {:?}",
                    row + 1,
                    kind.name(),
                    kinds[0].name(),
                    tops[row]
                )));
            }
            Ok(())
        })?;
    }
    file.flush().map_err(failure)
}

/// One line of the file of tops.
pub(crate) fn write_top(out: &mut dyn Write, top: Top) -> io::Result<()> {
    writeln!(
        out,
        "{},{},{},{}",
        top.ask, top.ask_size, top.bid, top.bid_size
    )
}

fn progress_bar(length: u64, visible: bool) -> ProgressBar {
    if !visible {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:8} {wide_bar} {percent:>3} % {eta:>4}");
    ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
