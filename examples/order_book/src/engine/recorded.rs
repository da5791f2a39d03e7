//! The recorded hour as commands of one symbol: the engine must have the known top of book
//! after each of them.

use order_flow::message::Message;
use order_flow::naive::NaiveBook;
use order_flow::program::Failure;
use order_flow::top::Top;

use crate::engine::command::Response;
use crate::engine::kind::{Job, StoreKind};
use crate::engine::measure::{Start, opened};
use crate::engine::script::Script;
use crate::engine::store::Store;
use crate::engine::traffic::Traffic;
use crate::engine::wire::Clerk;

/// Compares the tops of the stores with those of the book that follows the messages.
///
/// # Errors
///
/// [`Failure::Run`], if one differs.
pub(crate) fn check(messages: &[Message], stores: &[StoreKind]) -> Result<(), Failure> {
    let script = Script::of_messages(messages);
    let mut book = NaiveBook::default();
    let mut rows = messages.iter();
    let mut wanted = Vec::with_capacity(script.rows.len());
    let mut applied = 0;
    for &row in &script.rows {
        for message in rows.by_ref().take(row - applied) {
            book.apply(message);
        }
        applied = row;
        wanted.push(book.top());
    }
    let traffic = Traffic::of_one_symbol(&script);
    for &store in stores {
        store.with(Tops {
            traffic: &traffic,
            wanted: &wanted,
        })?;
    }
    Ok(())
}

/// The top of book after each command.
pub(crate) struct Tops<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) wanted: &'a [Top],
}

impl Job for Tops<'_> {
    type Result = Result<(), Failure>;

    fn run<S: Store>(self) -> Result<(), Failure> {
        let mut engine = opened::<S>(self.traffic, Start::Empty)?;
        let mut clerk = Clerk::new(self.traffic.commands.len());
        let commands = self.traffic.commands.iter().zip(&self.traffic.targets);
        for (number, ((command, &target), &wanted)) in commands.zip(self.wanted).enumerate() {
            let response = engine.apply(&clerk.address::<S>(command, target));
            let top = engine.top(0);
            if matches!(response, Response::Refused(_)) || top != wanted {
                return Err(Failure::Run(format!(
                    "after command {number}, {command:?}, {response:?}: the top is {top}, and \
                     was {wanted}"
                )));
            }
            clerk.note(response);
        }
        engine.check().map_err(Failure::Run)
    }
}
