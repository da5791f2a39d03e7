//! A recorded hour as commands of one symbol: after each message the engine must have the top of
//! book that the messages lead to.

use std::io::{self, BufWriter, Write};

use order_flow::command::Response;
use order_flow::message::Message;
use order_flow::naive::NaiveBook;
use order_flow::program::Failure;
use order_flow::script::Script;
use order_flow::top::{Top, TopsFile};
use order_flow::traffic::Traffic;

use crate::measure::{Start, opened};
use crate::stores::{Engines, Job, StoreKind, Subject};
use crate::wire::Clerk;

/// Compares the tops of each store with those of the book that follows the messages. Writes the
/// tops of the first store to `file`: one for each message, whether it leads to a command or not.
///
/// # Errors
///
/// [`Failure::Run`], if a top differs or cannot be written; the file is empty then.
pub fn check<S: Engines>(
    messages: &[Message],
    stores: &[StoreKind],
    file: Option<&TopsFile<'_>>,
) -> Result<(), Failure> {
    let mut book = NaiveBook::default();
    let followed = messages.iter().map(|message| {
        book.apply(message);
        book.top()
    });
    let wanted: Vec<Top> = followed.collect();
    let script = Script::of_messages(messages);
    let traffic = Traffic::of_one_symbol(&script);
    let mut file_of_first = file;
    let checked = stores.iter().try_for_each(|&store| {
        S::with(
            store,
            Tops {
                rows: &script.rows,
                traffic: &traffic,
                wanted: &wanted,
                file: file_of_first.take(),
            },
        )
    });
    if let (Err(_), Some(file)) = (&checked, file) {
        file.clear();
    }
    checked
}

/// The tops of one store.
struct Tops<'a> {
    /// For each command, the number of messages up to it.
    rows: &'a [usize],
    traffic: &'a Traffic,
    /// After each message.
    wanted: &'a [Top],
    file: Option<&'a TopsFile<'a>>,
}

impl Job for Tops<'_> {
    type Result = Result<(), Failure>;

    fn run<E: Subject>(self) -> Result<(), Failure> {
        let mut engine = opened::<E>(self.traffic, Start::Empty)?;
        let mut clerk = Clerk::new(self.traffic.commands.len());
        let targeted = self.traffic.commands.iter().zip(&self.traffic.targets);
        let mut commands = targeted.zip(self.rows).peekable();
        let mut out = self.file.map(|file| (file, BufWriter::new(&file.file)));
        for (row, &wanted) in (1..).zip(self.wanted) {
            while let Some(((command, &target), _)) = commands.next_if(|next| *next.1 <= row) {
                let response = engine.apply(&clerk.address::<E>(command, target));
                if let Response::Refused(reason) = response {
                    return Err(Failure::Run(format!(
                        "message {row} leads to {command:?}, which is refused: {reason:?}"
                    )));
                }
                clerk.note(response);
            }
            let top = engine.top(0);
            if top != wanted {
                return Err(Failure::Run(format!(
                    "after message {row} the engine has the top {top}, and the messages lead to \
                     {wanted}"
                )));
            }
            if let Some((file, out)) = &mut out {
                writeln!(out, "{top}").map_err(|error| failed(file, &error))?;
            }
        }
        if let Some((file, out)) = &mut out {
            out.flush().map_err(|error| failed(file, &error))?;
        }
        engine.check().map_err(Failure::Run)
    }
}

fn failed(file: &TopsFile<'_>, error: &io::Error) -> Failure {
    Failure::file(file.path, error)
}
