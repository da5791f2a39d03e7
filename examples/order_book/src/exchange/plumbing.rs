//! What carries bytes and reports from thread to thread, and where orders and scratch live:
//! flatslab's families, and what people use instead.

use std::ops::Deref;

use super::frame::Numbered;
use crate::engine::command::Response;
use crate::engine::matching::Engine;
use crate::engine::measure::reserved;
use crate::engine::store::Store;
use crate::exit::Failure;

/// What the engine says of one command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) number: u64,
    pub(crate) response: Response,
}

/// One end of a queue of bytes between two threads.
pub(crate) trait Push {
    /// Whether there was room.
    fn push(&mut self, bytes: &[u8]) -> bool;
}

/// The other end.
pub(crate) trait Pop {
    /// What `f` makes of the next bytes.
    fn pop<R>(&mut self, f: impl FnOnce(&[u8]) -> R) -> Option<R>;
}

/// Market data, which the engine never waits for: the oldest is lost.
pub(crate) trait Publish {
    fn publish(&mut self, bytes: &[u8]);
    /// There is no more.
    fn close(&mut self);
}

/// Its reader, who looks again and again.
pub(crate) trait Follow {
    /// The next bytes and how many frames were published before them; `None` at the end.
    fn next<R>(&mut self, f: impl FnOnce(u64, &[u8]) -> R) -> Option<R>;
}

/// The engine's end of the reports.
pub(crate) trait SendReport {
    fn send(&mut self, report: Report);
    /// Memory of reports that were read goes back: all of it, at the end. Whether all came back.
    fn settle(&mut self) -> bool;
}

/// The gateway's end.
pub(crate) trait ReceiveReport {
    type Report: Deref<Target = Report>;
    fn receive(&mut self) -> Option<Self::Report>;
    /// It has been read.
    fn end(&mut self, report: Self::Report);
}

/// Memory for one batch of what the gateway decodes.
pub(crate) trait Scratch {
    /// Takes what `next` returns, and then gives each to `each`.
    fn batch(&mut self, next: impl FnMut() -> Option<Numbered>, each: impl FnMut(&Numbered));
}

/// All of it.
pub(crate) trait Plumbing {
    const NAME: &'static str;
    type Push: Push + Send;
    type Pop: Pop + Send;
    type Publish: Publish + Send;
    type Follow: Follow + Send;
    type Receive: ReceiveReport;
    type Scratch: Scratch;
    type Store: Store<Link: Send> + Send;
    /// Made by the engine's thread, which owns the memory of reports.
    type Reports: Send;
    type Sender: SendReport;

    /// A queue of so many entries.
    fn queue(entries: usize, bytes: usize) -> (Self::Push, Self::Pop);
    fn market(entries: usize, bytes: usize) -> (Self::Publish, Self::Follow);
    fn reports(entries: usize) -> (Self::Reports, Self::Receive);
    fn sender(reports: Self::Reports) -> Self::Sender;
    fn scratch() -> Self::Scratch;
    /// A store with room for so many orders.
    ///
    /// # Errors
    ///
    /// If there is no such memory.
    fn store(orders: usize) -> Result<Self::Store, Failure> {
        reserved(orders)
    }

    /// Whether an engine that is restored from a snapshot gives the same ids from then on. If not,
    /// the standby begins with the first command.
    const HAS_SNAPSHOTS: bool = false;

    /// The engine as bytes.
    fn snapshot(_: &Engine<Self::Store>) -> Option<Vec<u8>> {
        None
    }

    /// The engine of a snapshot, with room for so many orders.
    ///
    /// # Errors
    ///
    /// If the bytes are none.
    fn restore(_: &[u8], _: usize) -> Result<Engine<Self::Store>, String> {
        Err("this store has no snapshots".to_owned())
    }
}
