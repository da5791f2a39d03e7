//! The replay: from arguments to text and an exit code.

use std::io::Write;

use order_flow::flow::Flow;
use order_flow::lobster;
use order_flow::message::Message;
use order_flow::program::{Failure, memory, progress_bar};
use order_flow::stats::FlowStats;
use order_flow::top::TopsFile;

use crate::cli::Arguments;
use crate::replay::{self, Job};
use crate::report::{FlowReport, Report};

/// Rounds if `--rounds` is not given.
const ROUNDS: u64 = 7;
/// Messages of all rounds of one variant together; longer flows get fewer rounds.
const MANY_MESSAGES: u64 = 7_000_000;

/// What an order takes at most while it is live: the largest slot, its entry in the
/// index at the lowest load, both once more while they grow.
const ORDER_BYTES: u128 = 2 * (64 + 40);

/// Replays, and prints the report.
///
/// # Errors
///
/// [`Failure`], if a replay cannot begin or end.
pub(crate) fn run(cli: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    finish(&execute(cli)?, cli.json, out)
}

/// Prints the report. Fails if that fails or the books differ.
fn finish(report: &Report, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    match json {
        true => report.write_json(out)?,
        false => report.write_table(out)?,
    }
    match report.same_books {
        true => Ok(()),
        false => Err(Failure::run("the stores end in different books")),
    }
}

/// Opens the files, then generates messages if there is no input, and replays.
fn execute(cli: &Arguments) -> Result<Report, Failure> {
    // Read first: a bad input must not overwrite an existing file of tops.
    let recorded = cli
        .lobster
        .as_deref()
        .map(|path| lobster::read(path, cli.messages).map_err(Failure::Input))
        .transpose()?;
    let tops = cli
        .bbo
        .as_deref()
        .map(|path| TopsFile::create(path, cli.lobster.as_deref()))
        .transpose()?;
    let report = recorded
        .map_or_else(|| generate(cli), Ok)
        .and_then(|messages| replay(cli, &messages, tops.as_ref()));
    if let (Err(_), Some(tops)) = (&report, &tops) {
        tops.clear();
    }
    report
}

/// Generates the messages.
fn generate(cli: &Arguments) -> Result<Vec<Message>, Failure> {
    let resting = cli.resting as usize;
    let count = cli.generated_messages() as usize + resting;
    let orders = resting as u128 * u128::from(cli.symbols());
    let bytes = (count * size_of::<Message>()) as u128 + orders * ORDER_BYTES;
    memory::check(
        &format!("{count} messages to {} symbols", cli.symbols()),
        bytes,
    )?;
    let mut messages = Vec::new();
    messages
        .try_reserve_exact(count)
        .map_err(|error| Failure::Input(format!("no memory for {count} messages: {error}")))?;
    messages.extend(Flow::new(cli.seed).with_resting(resting).take(count));
    Ok(messages)
}

/// Replays the messages through the stores.
fn replay(
    cli: &Arguments,
    messages: &[Message],
    tops: Option<&TopsFile<'_>>,
) -> Result<Report, Failure> {
    let stats = FlowStats::measure(messages);
    let orders = stats.peak_live_orders as u128 * u128::from(cli.symbols());
    memory::check(&format!("{orders} live orders"), orders * ORDER_BYTES)?;
    let total = messages.len() as u64 * u64::from(cli.symbols());
    let rounds = cli
        .rounds
        .unwrap_or_else(|| (MANY_MESSAGES / total).clamp(1, ROUNDS) as u32);
    let variants = &cli.variants();
    let passes = variants.len() as u64 * (2 * u64::from(rounds) + u64::from(tops.is_some()));
    let bar = progress_bar(total.saturating_mul(passes));
    let job = Job {
        messages,
        symbols: cli.symbols(),
        // All symbols advance together, so they reach their peaks together.
        peak_live_orders: stats.peak_live_orders * cli.symbols() as usize,
        peak_levels: stats.peak_levels,
        progress: &bar,
    };

    let stores = tops
        .map_or(Ok(()), |tops| {
            replay::write_tops(job, variants, tops.path, &tops.file)
        })
        .and_then(|()| replay::time(job, variants, rounds));
    // Before an error is printed.
    bar.finish_and_clear();
    let stores = stores?;

    let same_books = stores
        .windows(2)
        .all(|pair| pair[0].book_digest == pair[1].book_digest);
    let (source, seed) = match cli.lobster {
        Some(_) => ("lobster", None),
        None => ("generated", Some(cli.seed)),
    };
    Ok(Report {
        flow: FlowReport {
            source,
            seed,
            file: cli.lobster.as_ref().map(|path| path.display().to_string()),
            symbols: cli.symbols(),
            messages_replayed: total,
            per_symbol: stats,
        },
        rounds,
        clock_ns: replay::clock_cost(),
        stores,
        same_books,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_that_differ_exit_with_1() {
        // All fields are empty; `same_books` is false.
        let report = Report::default();
        for json in [false, true] {
            let mut out = Vec::new();
            let failure = finish(&report, json, &mut out).unwrap_err();
            assert!(matches!(failure, Failure::Run(reason) if reason.ends_with("different books")));
            assert!(!out.is_empty());
        }
    }
}
