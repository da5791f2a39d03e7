//! A store and a round in a process of its own, so that no store finds the memory, the
//! caches or the branch predictors as another one left them.
//!
//! The process measures throughput and the closed loop, says so in a line of JSON, waits for
//! the rates of the open loop, which depend on the slowest store, and says what came of
//! those.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use order_flow::program::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::engine::arguments::Arguments;
use crate::engine::kind::{Job, StoreKind};
use crate::engine::measure::{Desk, Latency, Start};
use crate::engine::store::Store;

/// Shares of the slowest store's throughput at which commands come in the open loop.
pub(crate) const LOADS: [f64; 2] = [0.5, 0.8];

/// glibc's thresholds as they are when a program begins: once it frees a large block, it would
/// raise them, and no longer move the next ones by page tables. What grows from empty is to find
/// malloc as an engine that has just been started does.
const AS_AT_THE_START: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "131072"),
    ("MALLOC_TRIM_THRESHOLD_", "131072"),
];

/// What a process says first: from empty, and reserved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unhurried {
    /// Of all that was traded, refused and rests.
    pub(crate) digest: [u64; 2],
    pub(crate) trades: u64,
    /// Refused commands, by reason.
    pub(crate) refused: [u64; 4],
    /// The most orders live at once.
    pub(crate) peak: usize,
    /// Commands that count.
    pub(crate) commands: [usize; 2],
    pub(crate) per_second: [u64; 2],
    /// None, if it is to be brief.
    pub(crate) closed: Option<[Latency; 2]>,
}

/// What it says then: for each start and each of [`LOADS`].
pub(crate) type Loaded = [[Latency; 2]; 2];

/// The program, as a process that times one store.
///
/// # Errors
///
/// [`Failure`], if it cannot.
pub(crate) fn serve(
    arguments: &Arguments,
    store: StoreKind,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    store.with(Serve { arguments, out })
}

struct Serve<'a> {
    arguments: &'a Arguments,
    out: &'a mut dyn Write,
}

impl Job for Serve<'_> {
    type Result = Result<(), Failure>;

    fn run<S: Store>(self) -> Result<(), Failure> {
        let traffic = self.arguments.traffic()?;
        let [empty, reserved] = Start::ALL.map(|start| Desk::new::<S>(&traffic, start));
        let desks = [empty?, reserved?];
        let of_both = |measure: &dyn Fn(&Desk<'_>) -> Result<Latency, Failure>| {
            Ok([measure(&desks[0])?, measure(&desks[1])?])
        };
        let closed = match self.arguments.brief {
            true => None,
            false => Some(of_both(&|desk| desk.closed::<S>())?),
        };
        let tape = desks[0].tape();
        say(
            self.out,
            &Unhurried {
                digest: [desks[0].digest, desks[1].digest],
                trades: tape.trades,
                refused: tape.refused,
                peak: traffic.peak,
                commands: [desks[0].counted().len(), desks[1].counted().len()],
                per_second: [desks[0].throughput::<S>()?, desks[1].throughput::<S>()?],
                closed,
            },
        )?;
        if self.arguments.brief {
            return Ok(());
        }
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        read.map_err(|error| Failure::Run(format!("no rates: {error}")))?;
        let rates: [f64; 2] = understood(&line)?;
        let mut loaded = Loaded::default();
        for ((of_desk, desk), rate) in loaded.iter_mut().zip(&desks).zip(rates) {
            for (latency, load) in of_desk.iter_mut().zip(LOADS) {
                *latency = desk.open::<S>(rate * load)?;
            }
        }
        say(self.out, &loaded)
    }
}

/// A process that times one store.
pub(crate) struct Process {
    child: Child,
    answers: BufReader<ChildStdout>,
    store: StoreKind,
}

impl Process {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if the system refuses.
    pub(crate) fn start(
        arguments: &Arguments,
        store: StoreKind,
        late: u32,
        brief: bool,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Run(format!("{}: {error}", store.name()));
        let program = env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .args(arguments.of_child(store, late, brief))
            .envs(AS_AT_THE_START)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let answers = child.stdout.take().expect("it is piped");
        Ok(Process {
            child,
            answers: BufReader::new(answers),
            store,
        })
    }

    /// What it has measured without a rate.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if the process has failed.
    pub(crate) fn unhurried(&mut self) -> Result<Unhurried, Failure> {
        self.answer()
    }

    /// What it measures where the slowest store has these rates.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`], if the process has failed.
    pub(crate) fn loaded(&mut self, slowest: [f64; 2]) -> Result<Loaded, Failure> {
        let mut input = self.child.stdin.take().expect("it is piped");
        say(&mut input, &slowest)?;
        self.answer()
    }

    fn answer<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => understood(&line),
            // It has said why.
            _ => Err(Failure::Run(format!(
                "the process of `{}` ended early",
                self.store.name()
            ))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It waits for rates that will not come, or has ended.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(out: &mut dyn Write, what: &impl Serialize) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Run(format!("standard output: {error}"));
    serde_json::to_writer(&mut *out, what).map_err(|error| failed(error.into()))?;
    writeln!(out).and_then(|()| out.flush()).map_err(failed)
}

fn understood<T: DeserializeOwned>(line: &str) -> Result<T, Failure> {
    serde_json::from_str(line).map_err(|error| Failure::Run(format!("{line:?}: {error}")))
}
