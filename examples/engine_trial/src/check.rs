//! Every answer of a store compared with that of the naive engine.

use order_flow::command::Response;
use order_flow::naive_engine::NaiveEngine;
use order_flow::program::Failure;
use order_flow::traffic::Traffic;

use crate::measure::{Start, opened};
use crate::stores::{Job, Subject};
use crate::wire::Clerk;

/// Compares one store.
pub struct Check<'a> {
    /// The commands.
    pub traffic: &'a Traffic,
    /// After how many commands the invariants are checked again.
    pub every: usize,
}

impl Job for Check<'_> {
    type Result = Result<(), Failure>;

    fn run<E: Subject>(self) -> Result<(), Failure> {
        let traffic = self.traffic;
        let extent = traffic.extent;
        for start in Start::ALL {
            let mut engine = opened::<E>(traffic, start)?;
            let mut naive = NaiveEngine::new(extent.symbols, extent.sessions);
            let mut clerk = Clerk::new(traffic.commands.len());
            for (number, (command, &target)) in
                (traffic.commands.iter().zip(&traffic.targets)).enumerate()
            {
                let wanted = naive.apply(command, target);
                let addressed = clerk.address::<E>(command, target);
                let answer = engine.apply(&addressed);
                let differs = |what: &str| {
                    Failure::Run(format!(
                        "command {number}, {command:?}: {what} {answer:?}, not {wanted:?}"
                    ))
                };
                if without_id(answer) != without_id(wanted) {
                    return Err(differs("the answer is"));
                }
                let symbol = command.symbol;
                if usize::from(symbol) < extent.symbols
                    && engine.top(symbol.into()) != naive.top(symbol)
                {
                    return Err(differs("the top differs after"));
                }
                clerk.note(answer);
                if number % self.every == 0 {
                    engine.check().map_err(Failure::Run)?;
                }
            }
            engine.check().map_err(Failure::Run)?;
            if *engine.tape() != naive.tape || engine.orders() != naive.len() {
                return Err(Failure::Run("the tapes or the books differ".to_owned()));
            }
        }
        Ok(())
    }
}

/// The answer, and of an id only whether there is one: each store has its own.
fn without_id(response: Response) -> (Response, bool) {
    match response {
        Response::Entered { traded, id } => (Response::Entered { traded, id: None }, id.is_some()),
        other => (other, false),
    }
}
