//! A snapshot between two commands, and the engine that is restored from it: it gives the same
//! ids for the same commands as the one that went on.

use std::io::Write;
use std::time::Instant;

use order_flow::program::Failure;
use order_flow::traffic::Traffic;

use crate::measure::{Start, opened};
use crate::stores::Snapshots;
use crate::wire::Clerk;

/// What came of it.
#[derive(Debug)]
pub struct Restart {
    orders: usize,
    bytes: usize,
    /// Commands that both engines have answered alike afterwards.
    pub compared: usize,
    written_ms: u128,
    read_ms: u128,
}

/// Takes a snapshot in the middle of the commands that count, restores it, and lets both
/// engines carry out the rest.
///
/// # Errors
///
/// [`Failure::Run`], if there is no memory, or the two answer or end differently.
pub fn run<E: Snapshots>(traffic: &Traffic) -> Result<Restart, Failure> {
    let mut engine: E = opened(traffic, Start::Empty)?;
    let mut clerk = Clerk::new(traffic.commands.len());
    let half = traffic.ramp + (traffic.commands.len() - traffic.ramp) / 2;
    let mut commands = traffic.commands.iter().zip(&traffic.targets);
    for (command, &target) in commands.by_ref().take(half) {
        let command = clerk.address::<E>(command, target);
        clerk.note(engine.apply(&command));
    }

    let start = Instant::now();
    let bytes = engine.snapshot()?;
    let written_ms = start.elapsed().as_millis();
    let start = Instant::now();
    let mut restored = E::restore(&bytes)?;
    let read_ms = start.elapsed().as_millis();
    restored.check().map_err(Failure::Run)?;
    let orders = restored.orders();

    let mut compared = 0;
    for (command, &target) in commands {
        let command = clerk.address::<E>(command, target);
        let (went_on, came_back) = (engine.apply(&command), restored.apply(&command));
        if went_on != came_back {
            return Err(Failure::Run(format!(
                "the restored engine answers {came_back:?} instead of {went_on:?}"
            )));
        }
        clerk.note(went_on);
        compared += 1;
    }
    if (engine.digest(), engine.tape()) != (restored.digest(), restored.tape()) {
        return Err(Failure::Run(
            "the restored engine ends otherwise".to_owned(),
        ));
    }
    Ok(Restart {
        orders,
        bytes: bytes.len(),
        compared,
        written_ms,
        read_ms,
    })
}

impl Restart {
    pub(crate) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(
            out,
            "A snapshot of {} orders: {} MiB, written in {} ms, restored in {} ms.\n\
             The restored engine gave the same ids, trades and refusals for the {} commands after.",
            self.orders,
            self.bytes >> 20,
            self.written_ms,
            self.read_ms,
            self.compared
        )
    }
}
