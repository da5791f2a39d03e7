//! The engine's thread: carries out commands, and says what came of each to the log, the market
//! and the gateway.

use std::sync::mpsc;

use engine_trial::stores::Subject;
use order_book::matching::Engine;
use order_flow::digest::Digest;
use order_flow::top::Top;
use zerocopy::{IntoBytes, TryFromBytes};

use super::parts::{self, Consumer, Orders, Outbox, Producer, Publisher, SendReports};
use super::{UNDER_WAY, next, wait_for};
use crate::frame::{Entry, Frame, Quote, Report};

pub(super) struct Desk {
    pub(super) engine: Engine<Orders>,
    pub(super) commands: Consumer,
    pub(super) log: Producer,
    pub(super) market: Publisher,
    pub(super) reports: SendReports,
    /// The command before which the standby gets a snapshot.
    pub(super) snapshot_at: u64,
    pub(super) snapshots: mpsc::Sender<Vec<u8>>,
}

/// What is left of it.
pub(super) struct Closed {
    pub(super) engine: Engine<Orders>,
    /// Of all answers.
    pub(super) answers: Digest,
    /// Quotes published.
    pub(super) published: u64,
}

impl Desk {
    /// Carries out commands until the gateway closes.
    // `benches/exchange_profile.sh` looks for it.
    #[inline(never)]
    pub(super) fn run(mut self) -> Closed {
        let outbox = Outbox::new(UNDER_WAY);
        let mut tops = vec![Top::default(); self.engine.symbols()];
        let (mut answers, mut published) = (Digest::new(), 0);
        let decode = |bytes: &[u8]| Frame::try_read_from_bytes(bytes).expect("the gateway's own");
        while let Some(frame) = next(&mut self.commands, decode) {
            let Frame { number, command } = frame;
            if number == self.snapshot_at {
                let _ = self.snapshots.send(parts::snapshot(&self.engine));
            }
            let response = self.engine.apply(&command);
            let answer = response.to_word();
            answers.add(answer);

            if number >= self.snapshot_at {
                let entry = Entry { frame, answer };
                wait_for(|| self.log.push(entry.as_bytes()).ok());
            }
            let symbol = usize::from(command.symbol);
            let top = self.engine.top(symbol);
            if top != std::mem::replace(&mut tops[symbol], top) {
                let symbol = u64::from(command.symbol);
                let pushed = self.market.push(Quote { symbol, top }.as_bytes());
                debug_assert!(pushed.is_ok(), "the reader keeps no frame");
                published += 1;
            }
            outbox.send(Report { number, response }, &mut self.reports);
        }
        self.market.close();
        outbox.close();
        Closed {
            engine: self.engine,
            answers,
            published,
        }
    }
}
