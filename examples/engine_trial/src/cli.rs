//! The program: from arguments to text and an exit code.

use std::io::Write;

use order_flow::program::Failure;
use order_flow::top::TopsFile;

use crate::arguments::Arguments;
use crate::check::Check;
use crate::rounds::Results;
use crate::stores::Engines;
use crate::{process, recorded, report, restart};

/// Orders that the naive engine goes through for each command, at most.
const MOST_CHECKED: u64 = 4_000_000_000;

/// Checks or restarts the engine, or times it by `measure`, and prints what came of it.
///
/// # Errors
///
/// [`Failure`], if it cannot, or two stores differ.
pub fn carry_out<S: Engines>(
    arguments: &Arguments,
    measure: impl FnOnce() -> Result<Results, Failure>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if let Some(store) = arguments.child {
        return process::serve::<S>(store, out);
    }
    if arguments.explain {
        return Ok(report::explain(out)?);
    }
    arguments.check_memory()?;
    if arguments.check {
        return check::<S>(arguments, out);
    }
    if arguments.restart {
        return Ok(restart::run::<S::Restarted>(&arguments.traffic()?)?.write(out)?);
    }
    if let Some(input) = arguments.message_file()? {
        // A file that cannot be read is named once, not by every process; and before the file of
        // tops is touched.
        let messages = Arguments::recorded(&input)?;
        let tops = arguments.bbo.as_deref();
        let tops = tops.map(|path| TopsFile::create(path, Some(&input)));
        recorded::check::<S>(&messages, &arguments.stores(), tops.transpose()?.as_ref())?;
    }
    let results = measure()?;
    match arguments.json {
        true => process::say(out, &results)?,
        false => report::write(&results, out)?,
    }
    Ok(())
}

/// Compares each store with the naive engine.
fn check<S: Engines>(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let traffic = arguments.traffic()?;
    let commands = traffic.commands.len();
    if commands as u64 * traffic.peak as u64 > MOST_CHECKED {
        return Err(Failure::Input(format!(
            "the naive engine would go through {} orders for each of {commands} commands: fewer \
             --symbols, --resting or --commands",
            traffic.peak
        )));
    }
    for store in arguments.stores() {
        let check = Check {
            traffic: &traffic,
            every: 1_000,
        };
        S::with(store, check)?;
        let name = store.name();
        writeln!(
            out,
            "{name}: {commands} answers and tops of book as the naive engine's"
        )?;
    }
    Ok(())
}
