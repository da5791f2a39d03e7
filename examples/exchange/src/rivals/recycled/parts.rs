//! `rtrb`, a `Vec` that is filled again, and `slab` with a number.

use order_book::store::SlabNumberStore;

pub(crate) use super::common::{
    Events, Follower, Subscriber, orders, restored, snapshot, snapshot_at,
};
use crate::frame::{Frame, Report};

pub(crate) const NAME: &str = "`rtrb`, `Vec`s used again, `slab` + number";

pub(crate) type Orders = SlabNumberStore;
pub(crate) type SendReports = rtrb::Producer<Report>;

pub(crate) type Producer<T> = rtrb::Producer<T>;

pub(crate) struct Consumer<T>(rtrb::Consumer<T>);

pub(crate) fn queue<T: Copy>(entries: usize) -> (Producer<T>, Consumer<T>) {
    let (producer, consumer) = rtrb::RingBuffer::new(entries);
    (producer, Consumer(consumer))
}

impl<T: Copy> Consumer<T> {
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.0.pop().ok()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_abandoned()
    }
}

/// Reports by value.
pub(crate) struct ReceiveReports(rtrb::Consumer<Report>);
pub(crate) struct Outbox;

pub(crate) fn reports(most: usize) -> (SendReports, ReceiveReports) {
    let (sender, receiver) = rtrb::RingBuffer::new(most);
    (sender, ReceiveReports(receiver))
}

impl Outbox {
    pub(crate) fn new(_: usize) -> Self {
        Outbox
    }

    pub(crate) fn send(&self, report: Report, to: &mut SendReports) {
        to.push(report)
            .expect("there is room for all that are under way");
    }

    pub(crate) fn close(self) {}
}

impl ReceiveReports {
    pub(crate) fn next(&mut self) -> Option<Report> {
        self.0.pop().ok()
    }
}

/// A `Vec` that is filled again for each batch.
pub(crate) struct Batches(Vec<Frame>);

impl Batches {
    pub(crate) fn new() -> Self {
        Batches(Vec::with_capacity((1 << 16) / size_of::<Frame>()))
    }

    pub(crate) fn batch<R>(&mut self, f: impl FnOnce(&mut Vec<Frame>) -> R) -> R {
        self.0.clear();
        f(&mut self.0)
    }
}
