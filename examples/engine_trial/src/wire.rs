//! The commands as they stand on the wire: with the ids that a store has given.
//!
//! A client knows the id of its order from the answer to the command that entered it. To
//! look it up while a clock runs would be a miss of the measurement's own, so each store
//! gives its ids in a pass before, and gives the same ones again: ids follow from the
//! commands alone.

use order_flow::command::{Command, NO_ID, Response};
use order_flow::traffic::{Target, Traffic};

use crate::stores::Subject;

/// Puts ids into commands, one after the other, and notes the ids in the answers.
#[derive(Debug)]
pub(crate) struct Clerk {
    /// Of the order that each command entered.
    ids: Vec<u64>,
}

impl Clerk {
    pub(crate) fn new(commands: usize) -> Self {
        Clerk {
            ids: Vec::with_capacity(commands),
        }
    }

    /// The next command with the id that its client knows.
    pub(crate) fn address<E: Subject>(&self, command: &Command, target: Target) -> Command {
        let id = match target.number() {
            Some((_, false)) if E::TRUSTS_IDS => NO_ID,
            Some((number, _)) => self.ids[number],
            None => NO_ID,
        };
        Command { id, ..*command }
    }

    /// Notes the answer to it.
    pub(crate) fn note(&mut self, response: Response) {
        self.ids.push(match response {
            Response::Entered { id: Some(id), .. } => id,
            _ => NO_ID,
        });
    }
}

/// Carries out all commands, and returns them as they stood on the wire.
pub fn record<E: Subject>(traffic: &Traffic, engine: &mut E) -> Vec<Command> {
    let mut clerk = Clerk::new(traffic.commands.len());
    let addressed = traffic.commands.iter().zip(&traffic.targets);
    addressed
        .map(|(command, &target)| {
            let command = clerk.address::<E>(command, target);
            clerk.note(engine.apply(&command));
            command
        })
        .collect()
}
