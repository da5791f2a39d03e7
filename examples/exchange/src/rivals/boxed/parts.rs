//! Boxes in channels, and `slab` with a map. The boxes come from the `Heap` beside it.

use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};

use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use order_book::store::SlabMapStore;

use super::Heap;
pub(crate) use super::common::{
    Events, Follower, Subscriber, orders, restored, snapshot, snapshot_at,
};
use crate::frame::{Frame, Report};

pub(crate) const NAME: &str = super::NAME;
pub(crate) type Orders = SlabMapStore;
pub(crate) type SendReports = SyncSender<Box<Report, Heap>>;

/// A channel that has room for so many boxes.
pub(crate) struct Producer<T>(SyncSender<Box<T, Heap>>);

pub(crate) struct Consumer<T> {
    receiver: Receiver<Box<T, Heap>>,
    is_closed: bool,
}

pub(crate) fn queue<T: Copy>(entries: usize) -> (Producer<T>, Consumer<T>) {
    let (sender, receiver) = mpsc::sync_channel(entries);
    let is_closed = false;
    let consumer = Consumer {
        receiver,
        is_closed,
    };
    (Producer(sender), consumer)
}

impl<T: Copy> Producer<T> {
    pub(crate) fn push(&mut self, value: T) -> Result<(), ()> {
        self.0.try_send(Box::new_in(value, Heap)).map_err(drop)
    }
}

impl<T: Copy> Consumer<T> {
    pub(crate) fn pop(&mut self) -> Option<T> {
        let received = self.receiver.try_recv();
        self.is_closed = matches!(received, Err(TryRecvError::Disconnected));
        Some(*received.ok()?)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }
}

/// Each report in a box of its own.
pub(crate) struct ReceiveReports(Receiver<Box<Report, Heap>>);
pub(crate) struct Outbox;

pub(crate) fn reports(most: usize) -> (SendReports, ReceiveReports) {
    let (sender, receiver) = mpsc::sync_channel(most);
    (sender, ReceiveReports(receiver))
}

impl Outbox {
    pub(crate) fn new(_: usize) -> Self {
        Outbox
    }

    pub(crate) fn send(&self, report: Report, to: &mut SendReports) {
        let sent = to.try_send(Box::new_in(report, Heap));
        assert!(sent.is_ok(), "there is room for all that are under way");
    }

    pub(crate) fn close(self) {}
}

impl ReceiveReports {
    pub(crate) fn next(&mut self) -> Option<Report> {
        Some(*self.0.try_recv().ok()?)
    }
}

/// A new `Vec` for each batch.
pub(crate) struct Batches;

impl Batches {
    pub(crate) fn new() -> Self {
        Batches
    }

    pub(crate) fn batch<R>(&mut self, f: impl FnOnce(&mut Vec<Frame, Heap>) -> R) -> R {
        f(&mut Vec::new_in(Heap))
    }
}
