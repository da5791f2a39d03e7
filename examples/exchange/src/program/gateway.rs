//! The gateway: decodes what clients send, refuses what is no command, and takes the reports.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use order_flow::digest::Digest;

use super::parts::{Batches, Producer, ReceiveReports};
use super::wait_for;
use crate::clients::Received;
use crate::frame::{BadFrame, Frame, Report};

/// Frames that are decoded at once.
const BATCH: usize = 64;

/// How commands come.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    /// As many are under way at most.
    Window(usize),
    /// One in each interval, whether the exchange is ready or not.
    Every(Duration),
}

pub(super) struct Gateway<'a> {
    pub(super) clients: std::slice::Iter<'a, Received>,
    pub(super) symbols: u32,
    pub(super) batches: Batches,
    pub(super) commands: Producer<Frame>,
    pub(super) reports: ReceiveReports,
    /// When each command that is under way came, by its number.
    pub(super) came: Vec<Instant>,
    pub(super) sent: u64,
    pub(super) reported: u64,
    /// Frames refused, by reason.
    pub(super) bad: [u64; BadFrame::COUNT],
    /// Of all reports: the engine has the same of all that it has sent.
    pub(super) answers: Digest,
}

impl Gateway<'_> {
    /// Lets all commands before this one through, and waits for their reports.
    pub(super) fn run(&mut self, end: u64, pace: Pace, latency: &mut Histogram<u64>) -> Duration {
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
            match room.min(BATCH).min((end - self.sent) as usize) {
                0 => std::thread::yield_now(),
                room => self.accept(room, |number| match pace {
                    Pace::Window(_) => Instant::now(),
                    Pace::Every(interval) => start + interval * (number - first) as u32,
                }),
            }
        }
        start.elapsed()
    }

    /// Decodes so many commands, and passes them on.
    fn accept(&mut self, most: usize, came: impl Fn(u64) -> Instant) {
        self.batches.batch(|batch| {
            while batch.len() < most {
                let Some(received) = self.clients.next() else {
                    break;
                };
                let number = self.sent + batch.len() as u64;
                let (bytes, session) = (received.bytes(), received.session);
                match Frame::accept(bytes, number, session, self.symbols) {
                    Ok(frame) => batch.push(frame),
                    Err(reason) => self.bad[reason as usize] += 1,
                }
            }
            let places = self.came.len();
            for frame in batch.iter() {
                self.came[frame.number as usize % places] = came(frame.number);
                wait_for(|| self.commands.push(*frame).ok());
            }
            self.sent += batch.len() as u64;
        });
    }

    /// Takes the reports there are.
    fn collect(&mut self, latency: &mut Histogram<u64>) {
        while let Some(Report { number, response }) = self.reports.next() {
            assert_eq!(number, self.reported, "reports come in order");
            let came = self.came[number as usize % self.came.len()];
            latency.saturating_record(came.elapsed().as_nanos() as u64);
            self.answers.add(response.to_word());
            self.reported += 1;
        }
    }
}
