//! A server of quotes on a local socket: one thread polls, workers make the answers.
//!
//! | what | how |
//! |---|---|
//! | connections | in a `KeySlab` with generations; the raw key is the poller's token, so an event or an answer for a connection that is gone finds nothing, even if its slot has another one |
//! | bytes that come in | read by `read_from` into buffers of a `ByteArena`, and cut into frames without a copy |
//! | frames | sent to a worker as `Buf`s, through a queue of `rtrb`; the worker parks while it is empty |
//! | answers | written by the worker into an arena of its own, sent back through another queue with a `mio::Waker`, and written to the socket without a copy |
//!
//! A frame is a length of four bytes, little-endian, and that many bytes; an answer has the same
//! form. A connection has one worker, so answers are in the order of the requests.
//!
//! If `UNREAD` answers of a client are not read, the server stops reading from it. If a worker has
//! `QUEUED` frames, its connections wait. So memory is bounded by the number of connections, and a
//! queue is never full.
#![cfg(unix)]
#![forbid(unsafe_code)]

mod connection;
#[cfg(test)]
mod tests;
mod worker;

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flatslab::bytes::{Atomic, ByteArena};
use flatslab::{GenKey, KeySlab};
use mio::net::UnixListener;
use mio::{Events, Interest, Poll, Token, Waker};

use connection::Connection;
use worker::Worker;
pub use worker::quote;

/// No key is as high as these, nor loses its generation in a token.
const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);
const _: () = assert!(usize::BITS == 64);

/// A server, on the thread that polls.
pub struct Server {
    poll: Poll,
    waker: Arc<Waker>,
    listener: UnixListener,
    connections: KeySlab<Connection, GenKey>,
    /// Of the bytes that come in.
    arena: ByteArena<Atomic>,
    workers: Vec<Worker>,
    /// Connections that got an answer, or wait for a worker: they go on at the end of a turn.
    later: Vec<GenKey>,
    is_asked_to_end: Arc<AtomicBool>,
    /// When it ends at last, once it is asked to.
    end: Option<Instant>,
    patience: Duration,
    /// Answers to connections that were gone by then.
    lost: u64,
}

impl Server {
    /// A server at that path, with one worker at least. If it is stopped it waits so long for
    /// clients that do not read.
    pub fn bind(path: &Path, workers: usize, patience: Duration) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = UnixListener::bind(path)?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let workers = (0..workers.max(1)).map(|_| Worker::start(&waker)).collect();
        Ok(Server {
            poll,
            waker,
            listener,
            connections: KeySlab::with_key(),
            arena: ByteArena::atomic(),
            workers,
            later: Vec::new(),
            is_asked_to_end: Arc::default(),
            end: None,
            patience,
            lost: 0,
        })
    }

    /// What stops it, from any thread: what clients have sent by then is answered.
    pub fn stop(&self) -> impl Fn() -> io::Result<()> + Send + use<> {
        let (is_asked, waker) = (self.is_asked_to_end.clone(), self.waker.clone());
        move || {
            is_asked.store(true, Ordering::Release);
            waker.wake()
        }
    }

    /// Serves until it is stopped; returns how many answers found no connection any more.
    pub fn run(mut self) -> io::Result<u64> {
        let mut events = Events::with_capacity(256);
        while self.end.is_none() || !self.connections.is_empty() {
            let left = self
                .end
                .map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            self.turn(&mut events, left)?;
        }
        self.workers.into_iter().for_each(Worker::join);
        Ok(self.lost)
    }

    /// Waits for events, and does what they are for.
    fn turn(&mut self, events: &mut Events, limit: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(events, limit) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            polled => polled?,
        }
        for event in &*events {
            match event.token() {
                LISTENER => self.accept()?,
                // Answers, which are delivered below, or the end.
                WAKER => {}
                Token(raw) => GenKey::from_raw(raw as u64).map_or((), |key| self.go_on(key)),
            }
        }
        self.deliver();
        if self.end.is_none() && self.is_asked_to_end.load(Ordering::Acquire) {
            // Who has connected by now has perhaps sent something.
            self.accept()?;
            self.poll.registry().deregister(&mut self.listener)?;
            self.end = Some(Instant::now() + self.patience);
            let keys: Vec<_> = self.connections.keys().collect();
            keys.into_iter().for_each(|key| self.go_on(key));
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            // The key is there before the connection.
            let entry = self.connections.vacant_entry();
            let token = Token(entry.key().into_raw() as usize);
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll
                .registry()
                .register(&mut stream, token, interest)?;
            entry.insert(Connection::new(stream, &self.arena));
        }
    }

    /// Has a connection write and read what it can; removes it if it is over. No effect if it is
    /// gone: an event may be of one that ended earlier in the same batch.
    fn go_on(&mut self, key: GenKey) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let worker = key.index() % self.workers.len();
        let worker = &mut self.workers[worker];
        match connection.go_on(key, worker, &self.arena, self.end.is_some()) {
            Ok(true) if connection.waits_for_worker() => self.later.push(key),
            Ok(true) => {}
            // It is over, or its client is gone, or has sent what is no frame.
            Ok(false) | Err(_) => {
                let Connection { mut stream, .. } = self.connections.remove(key);
                // An error would say that the system has done so.
                let _ = self.poll.registry().deregister(&mut stream);
            }
        }
    }

    /// Gives the answers that have come to their connections.
    fn deliver(&mut self) {
        for worker in &mut self.workers {
            while let Some((key, answer)) = worker.take() {
                match self.connections.get_mut(key) {
                    Some(connection) => connection.answer(answer),
                    // Another one in its slot has another key.
                    None => self.lost += 1,
                }
                self.later.push(key);
            }
        }
        let mut later = std::mem::take(&mut self.later);
        later.sort_unstable();
        later.dedup();
        later.into_iter().for_each(|key| self.go_on(key));
    }
}
