//! What people use instead: queues whose `Vec`s come back to be filled again, and boxes in channels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

use super::frame::Numbered;
use super::plumbing::{
    Follow, Plumbing, Pop, Publish, Push, ReceiveReport, Report, Scratch, SendReport,
};
use crate::engine::store::{SlabMapStore, SlabNumberStore};

/// `rtrb`, with `Vec`s that come back, and `slab` with a number.
pub(crate) struct Recycled;

impl Plumbing for Recycled {
    const NAME: &'static str = "rtrb, Vecs used again, slab + number";
    type Push = FilledAgain;
    type Pop = GivesBack;
    type Publish = Numbering<FilledAgain>;
    type Follow = Polling<GivesBack>;
    type Receive = rtrb::Consumer<Report>;
    type Scratch = Vec<Numbered>;
    type Store = SlabNumberStore;
    type Reports = rtrb::Producer<Report>;
    type Sender = rtrb::Producer<Report>;

    fn queue(entries: usize, bytes: usize) -> (FilledAgain, GivesBack) {
        let (full, at_reader) = rtrb::RingBuffer::new(entries);
        let (mut back, empty) = rtrb::RingBuffer::new(entries);
        for _ in 0..entries {
            let pushed = back.push(Vec::with_capacity(bytes));
            assert!(pushed.is_ok(), "there is room for so many");
        }
        let reader = GivesBack {
            full: at_reader,
            empty: back,
        };
        (FilledAgain { full, empty }, reader)
    }

    fn market(entries: usize, bytes: usize) -> (Self::Publish, Self::Follow) {
        let (push, pop) = Self::queue(entries, bytes + 8);
        numbering(push, pop)
    }

    fn reports(entries: usize) -> (Self::Reports, Self::Receive) {
        rtrb::RingBuffer::new(entries)
    }

    fn sender(reports: Self::Reports) -> Self::Sender {
        reports
    }

    fn scratch() -> Vec<Numbered> {
        Vec::with_capacity(1_024)
    }
}

pub(crate) struct FilledAgain {
    full: rtrb::Producer<Vec<u8>>,
    empty: rtrb::Consumer<Vec<u8>>,
}

pub(crate) struct GivesBack {
    full: rtrb::Consumer<Vec<u8>>,
    empty: rtrb::Producer<Vec<u8>>,
}

impl Push for FilledAgain {
    fn push(&mut self, bytes: &[u8]) -> bool {
        let Ok(mut entry) = self.empty.pop() else {
            return false;
        };
        entry.clear();
        entry.extend_from_slice(bytes);
        self.full.push(entry).is_ok()
    }
}

impl Pop for GivesBack {
    fn pop<R>(&mut self, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let entry = self.full.pop().ok()?;
        let result = f(&entry);
        let _ = self.empty.push(entry);
        Some(result)
    }
}

impl SendReport for rtrb::Producer<Report> {
    fn send(&mut self, report: Report) {
        let pushed = self.push(report);
        assert!(pushed.is_ok(), "there is room for all that is under way");
    }

    fn settle(&mut self) -> bool {
        true
    }
}

impl ReceiveReport for rtrb::Consumer<Report> {
    type Report = ByValue;

    fn receive(&mut self) -> Option<ByValue> {
        self.pop().ok().map(ByValue)
    }

    fn end(&mut self, _: ByValue) {}
}

/// A report by value.
pub(crate) struct ByValue(Report);

impl std::ops::Deref for ByValue {
    type Target = Report;

    fn deref(&self) -> &Report {
        &self.0
    }
}

impl Scratch for Vec<Numbered> {
    fn batch(&mut self, next: impl FnMut() -> Option<Numbered>, each: impl FnMut(&Numbered)) {
        self.clear();
        self.extend(std::iter::from_fn(next));
        self.iter().for_each(each);
    }
}

/// Boxes in channels, and `slab` with a map from numbers to slots.
pub(crate) struct Boxed;

impl Plumbing for Boxed {
    const NAME: &'static str = "channels of boxes, slab + map";
    type Push = SyncSender<Box<[u8]>>;
    type Pop = Receiver<Box<[u8]>>;
    type Publish = Numbering<SyncSender<Box<[u8]>>>;
    type Follow = Polling<Receiver<Box<[u8]>>>;
    type Receive = Receiver<Box<Report>>;
    type Scratch = NewVec;
    type Store = SlabMapStore;
    type Reports = Sender<Box<Report>>;
    type Sender = Sender<Box<Report>>;

    fn queue(entries: usize, _: usize) -> (Self::Push, Self::Pop) {
        mpsc::sync_channel(entries)
    }

    fn market(entries: usize, _: usize) -> (Self::Publish, Self::Follow) {
        let (push, pop) = mpsc::sync_channel(entries);
        numbering(push, pop)
    }

    fn reports(_: usize) -> (Self::Reports, Self::Receive) {
        mpsc::channel()
    }

    fn sender(reports: Self::Reports) -> Self::Sender {
        reports
    }

    fn scratch() -> NewVec {
        NewVec
    }
}

impl Push for SyncSender<Box<[u8]>> {
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.try_send(bytes.into()).is_ok()
    }
}

impl Pop for Receiver<Box<[u8]>> {
    fn pop<R>(&mut self, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.try_recv().ok().map(|entry| f(&entry))
    }
}

impl SendReport for Sender<Box<Report>> {
    fn send(&mut self, report: Report) {
        let sent = Sender::send(self, Box::new(report));
        assert!(sent.is_ok(), "the gateway ends after the engine");
    }

    fn settle(&mut self) -> bool {
        true
    }
}

impl ReceiveReport for Receiver<Box<Report>> {
    type Report = Box<Report>;

    fn receive(&mut self) -> Option<Box<Report>> {
        self.try_recv().ok()
    }

    fn end(&mut self, _: Box<Report>) {}
}

/// A new `Vec` for each batch.
pub(crate) struct NewVec;

impl Scratch for NewVec {
    fn batch(&mut self, next: impl FnMut() -> Option<Numbered>, each: impl FnMut(&Numbered)) {
        let batch: Vec<Numbered> = std::iter::from_fn(next).collect();
        batch.iter().for_each(each);
    }
}

/// Market data over a queue that does not overwrite: what finds no room is lost, and the numbers
/// before the bytes tell the reader.
pub(crate) struct Numbering<Q> {
    queue: Q,
    number: u64,
    is_closed: Arc<AtomicBool>,
}

/// Its reader, which looks again and again.
pub(crate) struct Polling<Q> {
    queue: Q,
    is_closed: Arc<AtomicBool>,
}

fn numbering<A, B>(queue: A, at_reader: B) -> (Numbering<A>, Polling<B>) {
    let is_closed = Arc::new(AtomicBool::new(false));
    let reader = Polling {
        queue: at_reader,
        is_closed: is_closed.clone(),
    };
    let number = 0;
    (
        Numbering {
            queue,
            number,
            is_closed,
        },
        reader,
    )
}

impl<Q: Push> Publish for Numbering<Q> {
    fn publish(&mut self, bytes: &[u8]) {
        let mut numbered = [0; 64];
        let (number, rest) = numbered.split_at_mut(8);
        number.copy_from_slice(&self.number.to_le_bytes());
        rest[..bytes.len()].copy_from_slice(bytes);
        self.queue.push(&numbered[..8 + bytes.len()]);
        self.number += 1;
    }

    fn close(&mut self) {
        self.is_closed.store(true, Ordering::Release);
    }
}

impl<Q: Pop> Follow for Polling<Q> {
    fn next<R>(&mut self, f: impl FnOnce(u64, &[u8]) -> R) -> Option<R> {
        let mut f = Some(f);
        loop {
            // Before it looks: what came before the end is read.
            let is_closed = self.is_closed.load(Ordering::Acquire);
            let next = self.queue.pop(|bytes| {
                let (number, bytes) = bytes.split_at(8);
                let number = u64::from_le_bytes(number.try_into().expect("eight bytes"));
                f.take().map(|f| f(number, bytes))
            });
            match next {
                Some(result) => return result,
                None if is_closed => return None,
                None => std::thread::yield_now(),
            }
        }
    }
}
