//! The threads: gateway, engine, market data, standby.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::client::Client;
use super::frame::{self, BadFrame, COMMAND, LOGGED, Numbered};
use super::plumbing::{
    Follow, Plumbing, Pop, Publish, Push, ReceiveReport, Report, Scratch, SendReport,
};
use crate::engine::command::{Command, Response};
use crate::engine::matching::Engine;
use crate::engine::store::NO_ID;
use crate::feed::book::{Digest, Top};

/// Commands that are decoded at once.
const BATCH: usize = 64;
/// Frames without a command: the engine takes a snapshot, or stops.
pub(crate) const SNAPSHOT: &[u8] = &[1];
pub(crate) const STOP: &[u8] = &[];

/// How commands come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// As many are under way at most.
    Window(usize),
    /// One in each interval, whether the exchange is ready or not.
    Every(Duration),
}

/// A thread that finds nothing to do lets another one run.
pub(crate) fn wait_for<R>(mut attempt: impl FnMut() -> Option<R>) -> R {
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        std::thread::yield_now();
    }
}

/// Decodes what clients send, refuses what is no command, and takes the reports.
pub(crate) struct Gateway<'a, P: Plumbing> {
    pub(crate) client: Client<'a>,
    pub(crate) scratch: P::Scratch,
    pub(crate) commands: P::Push,
    pub(crate) reports: P::Receive,
    /// When each command that is under way came, by its number.
    pub(crate) came: Vec<Instant>,
    pub(crate) sent: u64,
    pub(crate) reported: u64,
    pub(crate) bad: [u64; BadFrame::COUNT],
    /// Of all reports: the engine has the same of all that it has sent.
    pub(crate) answers: Digest,
}

impl<P: Plumbing> Gateway<'_, P> {
    /// Lets all commands before this one through, and waits for their reports.
    pub(crate) fn run(&mut self, end: u64, pace: Pace, latency: &mut Histogram<u64>) -> Duration {
        let (start, first) = (Instant::now(), self.sent);
        while self.reported < end {
            self.collect(latency);
            let under_way = (self.sent - self.reported) as usize;
            let room = match pace {
                Pace::Window(window) => window - under_way,
                Pace::Every(interval) => {
                    let due = start.elapsed().as_nanos() / interval.as_nanos().max(1);
                    let late = (first + due as u64).saturating_sub(self.sent) as usize;
                    late.min(self.came.len() - under_way)
                }
            };
            let room = room.min(BATCH).min((end - self.sent) as usize);
            if room == 0 {
                std::thread::yield_now();
                continue;
            }
            self.accept(room, |number| match pace {
                Pace::Window(_) => Instant::now(),
                Pace::Every(interval) => start + interval * (number - first) as u32,
            });
        }
        start.elapsed()
    }

    /// Decodes so many commands and passes them on.
    fn accept(&mut self, most: usize, came: impl Fn(u64) -> Instant) {
        let Gateway {
            client, bad, sent, ..
        } = self;
        let (mut taken, mut expected) = (0, *sent);
        let next = || {
            while taken < most {
                let (limits, bytes) = client.next()?;
                match frame::accept(bytes, expected, limits) {
                    Ok(command) => {
                        (taken, expected) = (taken + 1, expected + 1);
                        return Some(command);
                    }
                    Err(reason) => bad[reason as usize] += 1,
                }
            }
            None
        };
        let (commands, times) = (&mut self.commands, &mut self.came);
        self.scratch.batch(next, |numbered: &Numbered| {
            let places = times.len() as u64;
            times[(numbered.0 % places) as usize] = came(numbered.0);
            let bytes = frame::encode(numbered);
            wait_for(|| commands.push(&bytes).then_some(()));
        });
        self.sent = expected;
    }

    /// Takes the reports there are.
    fn collect(&mut self, latency: &mut Histogram<u64>) {
        while let Some(report) = self.reports.receive() {
            assert_eq!(report.number, self.reported, "reports come in order");
            let came = self.came[(report.number % self.came.len() as u64) as usize];
            latency.saturating_record(came.elapsed().as_nanos() as u64);
            self.answers.add(answer(&report.response));
            self.reported += 1;
            self.reports.end(report);
        }
    }
}

/// An answer as a number, with the id.
pub(crate) fn answer(response: &Response) -> u64 {
    match *response {
        Response::Entered { traded, id } => u64::from(traded) << 3 ^ id.unwrap_or(NO_ID),
        Response::Reduced => 1,
        Response::Cancelled => 2,
        Response::AllCancelled { orders } => u64::from(orders) << 3 | 3,
        Response::Refused(refusal) => (refusal as u64) << 3 | 4,
    }
}

/// What the engine's thread has.
pub(crate) struct Desk<P: Plumbing> {
    pub(crate) engine: Engine<P::Store>,
    pub(crate) commands: P::Pop,
    pub(crate) log: P::Push,
    pub(crate) market: P::Publish,
    pub(crate) reports: P::Sender,
    pub(crate) answers: Digest,
    /// How many quotes were published.
    pub(crate) published: u64,
}

impl<P: Plumbing> Desk<P> {
    /// Carries out commands until it is told to stop. Snapshots are for the standby.
    /// Returns the engine, the digest of its answers, and how many quotes were published.
    pub(crate) fn run(
        mut self,
        snapshots: &mpsc::Sender<Vec<u8>>,
    ) -> (Engine<P::Store>, Digest, u64) {
        enum Order {
            Stop,
            Snapshot,
            Command(Numbered),
        }
        let mut tops = vec![Top::default(); self.engine.symbols()];
        loop {
            let order = wait_for(|| {
                self.commands.pop(|bytes| match bytes {
                    STOP => Order::Stop,
                    SNAPSHOT => Order::Snapshot,
                    bytes => Order::Command(frame::decode(bytes).expect("the gateway's own")),
                })
            });
            match order {
                Order::Stop => break,
                Order::Snapshot => {
                    wait_for(|| self.log.push(SNAPSHOT).then_some(()));
                    let _ = snapshots.send(P::snapshot(&self.engine).unwrap_or_default());
                }
                Order::Command((number, command)) => self.carry_out(number, &command, &mut tops),
            }
        }
        wait_for(|| self.log.push(STOP).then_some(()));
        self.market.close();
        wait_for(|| self.reports.settle().then_some(()));
        (self.engine, self.answers, self.published)
    }

    fn carry_out(&mut self, number: u64, command: &Command, tops: &mut [Top]) {
        let response = self.engine.apply(command);
        self.answers.add(answer(&response));
        let mut logged = [0; LOGGED];
        logged[..COMMAND].copy_from_slice(&frame::encode(&(number, *command)));
        logged[COMMAND..].copy_from_slice(&answer(&response).to_le_bytes());
        wait_for(|| self.log.push(&logged).then_some(()));
        let symbol = usize::from(command.symbol);
        let top = self.engine.top(symbol);
        if top != std::mem::replace(&mut tops[symbol], top) {
            self.market.publish(&frame::quote(command.symbol, top));
            self.published += 1;
        }
        self.reports.send(Report { number, response });
    }
}

/// What the reader of market data has seen.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) frames: u64,
    /// Overwritten before it came to them.
    pub(crate) missed: u64,
}

/// Writes market data out: here, to where it is only summed up. Pauses after each `slow` frames.
pub(crate) fn write_market(mut quotes: impl Follow, slow: Option<u64>) -> Seen {
    let (mut seen, mut sum) = (Seen::default(), 0_u64);
    while let Some(number) = quotes.next(|number, bytes| {
        sum = bytes
            .iter()
            .fold(sum, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte));
        number
    }) {
        // The number says how many were published before.
        seen.missed = number - seen.frames;
        seen.frames += 1;
        if slow.is_some_and(|slow| seen.frames % slow == 0) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    std::hint::black_box(sum);
    seen
}

/// Follows an engine of so many orders: the same commands must have the same answers, with the same ids. Begins with
/// the first command, or with a snapshot.
///
/// # Errors
///
/// The first answer that differs.
pub(crate) fn follow<P: Plumbing>(
    mut log: P::Pop,
    mut standby: Option<Engine<P::Store>>,
    orders: usize,
    snapshots: &mpsc::Receiver<Vec<u8>>,
    ready: &mpsc::Sender<()>,
) -> Result<Engine<P::Store>, String> {
    enum Entry {
        Stop,
        Snapshot,
        Command(Numbered, u64),
    }
    let mut differs = None;
    loop {
        let entry = wait_for(|| {
            log.pop(|bytes| match bytes {
                STOP => Entry::Stop,
                SNAPSHOT => Entry::Snapshot,
                bytes => {
                    let (command, answer) = bytes.split_at(COMMAND);
                    let command = frame::decode(command).expect("the engine's own");
                    let answer = answer.try_into().expect("eight bytes");
                    Entry::Command(command, u64::from_le_bytes(answer))
                }
            })
        });
        match (entry, &mut standby) {
            (Entry::Stop, _) => break,
            (Entry::Snapshot, standby) => {
                let bytes = snapshots.recv().map_err(|error| error.to_string())?;
                if !bytes.is_empty() {
                    *standby = Some(P::restore(&bytes, orders)?);
                }
                let _ = ready.send(());
            }
            // What is logged before a snapshot is in it.
            (Entry::Command(..), None) => {}
            (Entry::Command((number, command), expected), Some(standby)) => {
                // It reads on: the engine waits for room in the log.
                if answer(&standby.apply(&command)) != expected && differs.is_none() {
                    differs = Some(format!("the standby answers command {number} otherwise"));
                }
            }
        }
    }
    match differs {
        Some(differs) => Err(differs),
        None => standby.ok_or_else(|| "the standby has no snapshot".to_owned()),
    }
}
