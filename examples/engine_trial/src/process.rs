//! A pass of one store in a process of its own, so that no store finds the memory, the caches
//! or the branch predictors as another one left them.
//!
//! The process reads on its standard input what it has to do, in a line of JSON, and then the
//! commands as they stand on the wire. It answers with another line.

use std::env;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command as Program, Stdio};

use order_flow::command::Command;
use order_flow::program::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zerocopy::{IntoBytes, TryFromBytes};

use crate::measure::{Assignment, Desk, Pass, Timed};
use crate::stores::{Engines, Job, StoreKind, Subject};

/// The block that a running program has freed: a file that it has read. glibc then maps no
/// block below this size, and copies what grows within it. It raises that threshold to blocks
/// of 32 MiB at most, with their header and rounded up to pages: so a little less.
const FREED: usize = (32 << 20) - (64 << 10);

/// The program, as a process that times one store.
///
/// # Errors
///
/// [`Failure`], if it cannot.
pub(crate) fn serve<S: Engines>(store: StoreKind, out: &mut dyn Write) -> Result<(), Failure> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut line = String::new();
    let failed = |error: io::Error| Failure::Run(format!("standard input: {error}"));
    input.read_line(&mut line).map_err(failed)?;
    let assignment: Assignment = understood(&line)?;
    if assignment.running {
        have_run();
    }
    let bytes = assignment.commands * size_of::<Command>();
    // Words, for their alignment.
    let mut words = vec![0_u64; bytes.div_ceil(size_of::<u64>())];
    let buffer = &mut words.as_mut_bytes()[..bytes];
    input.read_exact(buffer).map_err(failed)?;
    let wire = <[Command]>::try_ref_from_bytes(buffer);
    let wire = wire.map_err(|error| Failure::Run(format!("standard input: {error}")))?;
    let time = Time {
        assignment: &assignment,
        wire,
    };
    let timed = S::with(store, time)?;
    Ok(say(out, &timed)?)
}

/// Does what every program has done that has been running for a while.
fn have_run() {
    let mut block = vec![0_u8; FREED];
    for byte in block.iter_mut().step_by(4_096) {
        *byte = 1;
    }
    black_box(&block);
}

struct Time<'a> {
    assignment: &'a Assignment,
    wire: &'a [Command],
}

impl Job for Time<'_> {
    type Result = Result<Timed, Failure>;

    fn run<E: Subject>(self) -> Self::Result {
        self.assignment.time::<E>(self.wire)
    }
}

/// Times a pass of a store in another process.
///
/// # Errors
///
/// [`Failure::Run`], if the process cannot be started, fails, or ends otherwise than the
/// recorded pass.
pub(crate) fn time(
    desk: &Desk<'_>,
    store: StoreKind,
    pass: Pass,
    running: bool,
) -> Result<Timed, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Run(format!("the process of `{}`: {error}", store.name()))
    };
    let program = env::current_exe().map_err(|error| failed(&error))?;
    let mut child = Program::new(program)
        .args(["--child", &store.argument()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut input = child.stdin.take().expect("it is piped");
    let mut answer = BufReader::new(child.stdout.take().expect("it is piped"));
    // A process that ends early says why on standard error: that the pipe broke does not.
    let _ =
        say(&mut input, &desk.assignment(pass, running)).and_then(|()| desk.write_wire(&mut input));
    drop(input);
    let mut line = String::new();
    let read = answer.read_line(&mut line);
    let ended = child.wait().map_err(|error| failed(&error))?;
    match read {
        Ok(1..) if ended.success() => {}
        _ => return Err(failed(&ended)),
    }
    let timed: Timed = understood(&line)?;
    match desk.agrees(&timed) {
        true => Ok(timed),
        false => Err(failed(&"two passes through the store differ")),
    }
}

/// Writes a line of JSON.
pub(crate) fn say(out: &mut dyn Write, what: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, what)?;
    writeln!(out)
}

fn understood<T: DeserializeOwned>(line: &str) -> Result<T, Failure> {
    serde_json::from_str(line).map_err(|error| Failure::Run(format!("{line:?}: {error}")))
}
