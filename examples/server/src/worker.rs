//! A worker: a thread that parks until there are frames, and an arena of its own for the answers.

use std::io::Write;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use flatslab::GenKey;
use flatslab::bytes::{Atomic, Buf, ByteArena};
use mio::Waker;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::connection::LENGTH;

/// The most frames of a worker whose answers are not taken.
const QUEUED: usize = 256;

type Addressed = (GenKey, Buf<Atomic>);

/// The server's side of a worker.
pub(crate) struct Worker {
    frames: Producer<Addressed>,
    answers: Consumer<Addressed>,
    /// Frames whose answers are not taken: neither queue has more.
    out: usize,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(crate) fn start(waker: &Arc<Waker>) -> Self {
        let (frames, receiver) = RingBuffer::new(QUEUED);
        let (sender, answers) = RingBuffer::new(QUEUED);
        let waker = waker.clone();
        Worker {
            frames,
            answers,
            out: 0,
            thread: thread::spawn(move || work(receiver, sender, &waker)),
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.out < QUEUED
    }

    pub(crate) fn send(&mut self, key: GenKey, frame: Buf<Atomic>) {
        self.frames.push((key, frame)).expect("fewer are out");
        self.out += 1;
        // After the push. Costs little while the worker is awake.
        self.thread.thread().unpark();
    }

    /// The next answer that has come.
    pub(crate) fn take(&mut self) -> Option<Addressed> {
        let answer = self.answers.pop().ok()?;
        self.out -= 1;
        Some(answer)
    }

    pub(crate) fn join(self) {
        // The end of the frames, which the worker has to be woken for, too.
        drop(self.frames);
        self.thread.thread().unpark();
        self.thread.join().expect("a worker ends");
    }
}

/// The price of what has that name.
pub fn quote(name: &[u8]) -> u64 {
    name.iter()
        .fold(7, |price, &byte| (price * 31 + u64::from(byte)) % 1_000_003)
}

fn work(mut frames: Consumer<Addressed>, mut answers: Producer<Addressed>, waker: &Waker) {
    // On the thread that uses it. What the server has written comes back to it.
    let arena = ByteArena::atomic();
    loop {
        // Asked first: what was pushed before the end is found.
        let ends = frames.is_abandoned();
        let mut count = 0;
        while let Ok((key, name)) = frames.pop() {
            let mut answer = arena.alloc(LENGTH + name.len() + 8);
            let length = name.len() as u32 + 8;
            answer
                .write_all(&length.to_le_bytes())
                .expect("it has room");
            answer.write_all(&name).expect("it has room");
            answer
                .write_all(&quote(&name).to_le_bytes())
                .expect("it has room");
            answers.push((key, answer.freeze())).expect("fewer are out");
            count += 1;
        }
        // Once for all of them, after the pushes.
        if count > 0 {
            waker.wake().expect("the poller is there");
        }
        if ends {
            return;
        }
        thread::park();
    }
}
