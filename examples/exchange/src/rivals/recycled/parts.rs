//! `rtrb`, `Vec`s that come back, and `slab` with a number.

use std::ops::Deref;

use order_book::store::SlabNumberStore;

pub(crate) use super::common::{
    Follower, Publisher, market, orders, restored, snapshot, snapshot_at,
};
use crate::frame::{Frame, Report};

pub(crate) const NAME: &str = "`rtrb`, `Vec`s used again, `slab` + number";

pub(crate) type Orders = SlabNumberStore;
pub(crate) type SendReports = rtrb::Producer<Report>;

/// A queue of `Vec`s, and one in which they come back.
pub(crate) struct Producer {
    full: rtrb::Producer<Vec<u8>>,
    empty: rtrb::Consumer<Vec<u8>>,
}

pub(crate) struct Consumer {
    full: rtrb::Consumer<Vec<u8>>,
    empty: rtrb::Producer<Vec<u8>>,
}

/// Bytes that were read; the `Vec` goes back.
pub(crate) struct Bytes<'a> {
    bytes: Vec<u8>,
    empty: &'a mut rtrb::Producer<Vec<u8>>,
}

pub(crate) fn queue(entries: usize, max_len: usize) -> (Producer, Consumer) {
    let (to_reader, full) = rtrb::RingBuffer::new(entries);
    let (mut empty, back) = rtrb::RingBuffer::new(entries);
    for _ in 0..entries {
        let pushed = empty.push(Vec::with_capacity(max_len));
        assert!(pushed.is_ok(), "there is room for so many");
    }
    let producer = Producer {
        full: to_reader,
        empty: back,
    };
    (producer, Consumer { full, empty })
}

impl Producer {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let mut entry = self.empty.pop().map_err(drop)?;
        entry.clear();
        entry.extend_from_slice(bytes);
        self.full.push(entry).map_err(drop)
    }
}

impl Consumer {
    pub(crate) fn pop(&mut self) -> Option<Bytes<'_>> {
        let bytes = self.full.pop().ok()?;
        let empty = &mut self.empty;
        Some(Bytes { bytes, empty })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.full.is_abandoned()
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Bytes<'_> {
    fn drop(&mut self) {
        let _ = self.empty.push(std::mem::take(&mut self.bytes));
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
