//! The engine's thread: carries out commands, and says what came of each to the gateway, and to the
//! readers of events.

use std::sync::mpsc;

use engine_trial::stores::Subject;
use order_book::matching::Engine;
use order_flow::digest::Digest;
use order_flow::top::Top;

use super::parts::{self, Consumer, Events, Orders, Outbox, SendReports, Subscriber};
use super::{UNDER_WAY, next};
use crate::frame::{Event, Frame, Report};

pub(super) struct Desk {
    pub(super) engine: Engine<Orders>,
    pub(super) commands: Consumer<Frame>,
    pub(super) events: Events,
    pub(super) reports: SendReports,
    /// The command before which the standby gets a snapshot, and joins.
    pub(super) snapshot_at: u64,
    pub(super) snapshots: mpsc::Sender<(Vec<u8>, Subscriber)>,
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
        while let Some(frame) = next(&mut self.commands) {
            let Frame { number, command } = frame;
            if number == self.snapshot_at {
                let standby = (parts::snapshot(&self.engine), self.events.join());
                let _ = self.snapshots.send(standby);
            }
            let response = self.engine.apply(&command);
            let answer = response.to_word();
            answers.add(answer);

            let symbol = usize::from(command.symbol);
            let top = self.engine.top(symbol);
            let is_new = top != std::mem::replace(&mut tops[symbol], top);
            self.events.push(Event {
                frame,
                answer,
                quote: is_new.then_some(top),
                quotes: published,
            });
            published += u64::from(is_new);
            outbox.send(Report { number, response }, &mut self.reports);
        }
        drop(self.events);
        outbox.close();
        Closed {
            engine: self.engine,
            answers,
            published,
        }
    }
}
