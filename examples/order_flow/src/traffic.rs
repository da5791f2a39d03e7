//! The commands of all symbols, before any store has given ids: a command names the order
//! it is about by the number of the command that entered it.
//!
//! Every symbol plays the same script at its own pace: the next command is that of a symbol
//! drawn at random. Before it may come a latecomer: a command about an order that is filled
//! or cancelled already, as clients send it whose message crossed that of the trade. A few
//! commands are about another session's order, or an order that never was. Now and then a
//! session ends, and with it all of its orders; later steps about them are left out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::command::{Command, Kind};
use crate::flow::{Flow, Random};
use crate::message::{Message, Side};
use crate::script::{Script, Step};

/// Of so many commands after the start, one ends a session.
const COMMANDS_TO_A_SESSION: u64 = 20_000;
/// Of so many, one is about another session's order, and one about none.
const COMMANDS_TO_A_FORGERY: u64 = 2_000;
/// Steps of a generated script more than a symbol plays on average: symbols are drawn at random, and
/// none is to run out.
const SPARE_STEPS: usize = 100;
/// A latecomer is about one of the last orders that ended, of so many.
const RECENT: usize = 4_096;

/// What a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target(u32);

impl Target {
    /// No order.
    pub const NONE: Target = Target(u32::MAX);
    /// An order that never was.
    pub const FORGED: Target = Target(u32::MAX - 1);
    const GONE: u32 = 1 << 31;

    /// The order that the command of this number entered.
    pub fn live(number: usize) -> Self {
        debug_assert!(number < 1 << 30);
        Target(number as u32)
    }

    /// The same, and it is live no more.
    pub fn gone(number: usize) -> Self {
        Target(number as u32 | Self::GONE)
    }

    /// The number of the command, and whether the order is live.
    pub fn number(self) -> Option<(usize, bool)> {
        let number = (self.0 & !Self::GONE) as usize;
        (self != Self::NONE && self != Self::FORGED).then_some((number, self.0 < Self::GONE))
    }
}

/// All commands, and how much room they need.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Without the ids.
    pub commands: Vec<Command>,
    /// What each command is about.
    pub targets: Vec<Target>,
    /// The first commands, that only fill the books.
    pub ramp: usize,
    /// The engine that carries them out.
    pub extent: Extent,
    /// The most orders live at once.
    pub peak: usize,
}

/// How large an engine is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Extent {
    /// Books.
    pub symbols: usize,
    /// Sessions that can enter orders.
    pub sessions: usize,
    /// Pages of prices that orders rest at, at once.
    pub pages: usize,
    /// Prices are multiples of this; not 0.
    pub tick: u32,
}

/// How a script becomes the commands of many symbols.
#[derive(Clone, Copy, Debug)]
pub struct Market {
    /// Of the random numbers.
    pub seed: u64,
    /// Symbols, each of which plays the script.
    pub symbols: usize,
    /// Sessions that send commands.
    pub sessions: usize,
    /// Commands after those that fill the books.
    pub commands: usize,
    /// Latecomers, of each thousand.
    pub late: u64,
}

impl Traffic {
    /// The commands of one symbol, each step one: none is late, and no session ends.
    pub fn of_one_symbol(script: &Script) -> Self {
        let market = Market {
            seed: 1,
            symbols: 1,
            sessions: 100,
            commands: script.steps.len(),
            late: 0,
        };
        let mut play = Play::new(script, market);
        while play.step(0) {}
        play.traffic
    }

    /// The commands of this market, each of whose symbols plays generated messages: the first
    /// `opening` ones and `resting` orders far from the best price fill the books.
    pub fn generated(market: Market, opening: usize, resting: usize) -> Self {
        let of_each = market.commands * 3 / 2 / market.symbols + SPARE_STEPS;
        let opening = opening + resting;
        let flow = Flow::new(market.seed).with_resting(resting);
        let messages: Vec<Message> = flow.take(opening + of_each).collect();
        Self::new(&Script::after(opening, &messages), market)
    }

    /// The commands of this market.
    pub fn new(script: &Script, market: Market) -> Self {
        let mut play = Play::new(script, market);
        for _ in 0..script.opening {
            for symbol in 0..market.symbols {
                play.step(symbol);
            }
        }
        play.traffic.ramp = play.traffic.commands.len();
        let end = play.traffic.ramp + market.commands;
        let mut playing: Vec<usize> = (0..market.symbols).collect();
        while play.traffic.commands.len() < end && !playing.is_empty() {
            play.disturb();
            let drawn = play.random.below(playing.len() as u64) as usize;
            if !play.step(playing[drawn]) {
                playing.swap_remove(drawn);
            }
        }
        play.traffic
    }
}

/// A symbol in the middle of its script.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    next: usize,
    /// The command whose surplus rests.
    surplus: Option<usize>,
}

struct Play<'a> {
    script: &'a Script,
    market: Market,
    random: Random,
    cursors: Vec<Cursor>,
    /// For each symbol and order number, the command that entered the order, if it is live.
    entered: Vec<Option<u32>>,
    /// For each command, the shares of its order that rest: none, once it is gone.
    open: Vec<u32>,
    /// The orders that each session has entered.
    owned: Vec<Vec<u32>>,
    gone: VecDeque<usize>,
    orders: usize,
    traffic: Traffic,
}

impl<'a> Play<'a> {
    fn new(script: &'a Script, market: Market) -> Self {
        Play {
            script,
            market,
            random: Random::new(market.seed),
            cursors: vec![Cursor::default(); market.symbols],
            entered: vec![None; market.symbols * script.ids as usize],
            open: Vec::new(),
            owned: vec![Vec::new(); market.sessions],
            gone: VecDeque::with_capacity(RECENT + 1),
            orders: 0,
            traffic: Traffic {
                commands: Vec::new(),
                targets: Vec::new(),
                ramp: 0,
                extent: Extent {
                    symbols: market.symbols,
                    sessions: market.sessions,
                    // And one of each side for the surplus of an order that has traded.
                    pages: 2 * market.symbols * (script.pages + 1),
                    tick: script.tick,
                },
                peak: 0,
            },
        }
    }

    fn place(&self, symbol: usize, id: u64) -> usize {
        symbol * self.script.ids as usize + id as usize
    }

    /// The command that entered an order, if the order is live.
    fn entry(&self, symbol: usize, id: u64) -> Option<usize> {
        let number = self.entered[self.place(symbol, id)]? as usize;
        self.is_live(number).then_some(number)
    }

    /// Sends a command; returns its number.
    fn send(&mut self, target: Target, command: Command) -> usize {
        self.traffic.commands.push(command);
        self.traffic.targets.push(target);
        self.open.push(0);
        self.open.len() - 1
    }

    fn is_live(&self, number: usize) -> bool {
        self.open[number] > 0
    }

    /// Of what the command of this number entered, so much rests from now on.
    fn rest(&mut self, number: usize, open: u32) {
        self.open[number] = open;
        self.orders += 1;
        self.traffic.peak = self.traffic.peak.max(self.orders);
        let session = self.traffic.commands[number].session;
        self.owned[session as usize].push(number as u32);
    }

    /// What the command of this number entered rests no more.
    fn end(&mut self, number: usize) {
        self.open[number] = 0;
        self.orders -= 1;
        self.gone.push_back(number);
        if self.gone.len() > RECENT {
            self.gone.pop_front();
        }
    }

    fn session(&mut self) -> u32 {
        self.random.below(self.market.sessions as u64) as u32
    }

    /// A command about an order, as its session sends it.
    fn about(&self, number: usize, kind: Kind) -> Command {
        Command {
            kind,
            ..self.traffic.commands[number]
        }
    }

    fn enter(&mut self, symbol: usize, id: u64, command: Command) {
        let number = self.send(Target::NONE, command);
        let place = self.place(symbol, id);
        self.entered[place] = Some(number as u32);
        self.rest(number, command.quantity);
    }

    /// Plays the next step of a symbol, if it has one.
    fn step(&mut self, symbol: usize) -> bool {
        let cursor = self.cursors[symbol];
        let Some(&step) = self.script.steps.get(cursor.next) else {
            return false;
        };
        self.cursors[symbol].next += 1;
        let new = |session, price, quantity, side, id: u64| Command {
            id: 0,
            price,
            quantity,
            session,
            reference: [symbol as u32, id as u32],
            symbol: symbol as u16,
            kind: Kind::New,
            side,
        };
        match step {
            Step::Rest(message) => {
                let session = self.session();
                let command = new(
                    session,
                    message.price,
                    message.size,
                    message.side,
                    message.id,
                );
                self.enter(symbol, message.id, command);
            }
            Step::Take {
                id,
                quantity,
                surplus,
                price,
                side,
            } => {
                let Some(maker) = self.entry(symbol, id) else {
                    return true;
                };
                let side = match side {
                    Side::Buy => Side::Sell,
                    Side::Sell => Side::Buy,
                };
                let session = self.session();
                let command = new(session, price, quantity + surplus, side, 0);
                let number = self.send(Target::NONE, command);
                match self.open[maker].saturating_sub(quantity) {
                    0 => self.end(maker),
                    left => self.open[maker] = left,
                }
                if surplus > 0 {
                    self.rest(number, surplus);
                    self.cursors[symbol].surplus = Some(number);
                }
            }
            Step::Withdraw => {
                let surplus = self.cursors[symbol].surplus.take();
                if let Some(number) = surplus.filter(|&number| self.is_live(number)) {
                    self.send(Target::live(number), self.about(number, Kind::Cancel));
                    self.end(number);
                }
            }
            Step::Reduce { id, quantity } => {
                if let Some(number) = self.entry(symbol, id) {
                    let about = self.about(number, Kind::Reduce);
                    self.send(Target::live(number), Command { quantity, ..about });
                    self.open[number] -= quantity;
                }
            }
            Step::Cancel { id } => {
                if let Some(number) = self.entry(symbol, id) {
                    self.send(Target::live(number), self.about(number, Kind::Cancel));
                    self.end(number);
                }
            }
            Step::Replace { id, by } => match self.entry(symbol, id) {
                Some(number) => {
                    let command = Command {
                        price: by.price,
                        quantity: by.size,
                        reference: [symbol as u32, by.id as u32],
                        ..self.about(number, Kind::Replace)
                    };
                    let next = self.send(Target::live(number), command);
                    self.end(number);
                    let place = self.place(symbol, by.id);
                    self.entered[place] = Some(next as u32);
                    self.rest(next, by.size);
                }
                None => {
                    let session = self.session();
                    let command = new(session, by.price, by.size, by.side, by.id);
                    self.enter(symbol, by.id, command);
                }
            },
        }
        true
    }

    /// Sends what does not belong to the script, if any of it is due.
    fn disturb(&mut self) {
        // Of all commands, not of the others.
        if self.random.below(1_000 - self.market.late) < self.market.late {
            self.come_late();
        }
        if self.random.below(COMMANDS_TO_A_FORGERY) == 0 {
            self.forge();
        }
        if self.random.below(COMMANDS_TO_A_SESSION) == 0 {
            self.end_session();
        }
    }

    /// A command about an order that is gone: mostly a cancel.
    fn come_late(&mut self) {
        if self.gone.is_empty() {
            return;
        }
        let drawn = self.random.below(self.gone.len() as u64) as usize;
        let number = self.gone[drawn];
        let kind = match self.random.below(10) {
            0 => Kind::Reduce,
            1 => Kind::Replace,
            _ => Kind::Cancel,
        };
        self.send(Target::gone(number), self.about(number, kind));
    }

    /// A cancel of another session's order, and one of an order that never was.
    fn forge(&mut self) {
        let drawn = self.random.below(self.open.len() as u64) as usize;
        let about = self.about(drawn, Kind::Cancel);
        let session = (about.session + 1) % self.market.sessions as u32;
        if self.is_live(drawn) && session != about.session {
            self.send(Target::live(drawn), Command { session, ..about });
        }
        self.send(Target::FORGED, about);
    }

    fn end_session(&mut self) {
        let session = self.session();
        let orders = std::mem::take(&mut self.owned[session as usize]);
        let Some(&newest) = orders.last() else { return };
        let about = self.about(newest as usize, Kind::CancelAll);
        self.send(Target::NONE, about);
        for number in orders {
            if self.is_live(number as usize) {
                self.end(number as usize);
            }
        }
    }
}

#[cfg(test)]
mod tests;
