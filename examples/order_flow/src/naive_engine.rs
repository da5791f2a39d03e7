//! The engine without a store: what it must answer, as slowly and as plainly as can be.

use crate::command::{Command, Kind, Refusal, Response};
use crate::message::Side;
use crate::tape::{Tape, Trade};
use crate::top::Top;
use crate::traffic::Target;

/// An order, by the number of the command that entered it.
#[derive(Clone, Copy, Debug)]
struct NaiveOrder {
    number: usize,
    command: Command,
    open: u32,
}

/// All orders that rest, in the order of arrival.
#[derive(Debug, Default)]
pub struct NaiveEngine {
    orders: Vec<NaiveOrder>,
    symbols: usize,
    sessions: usize,
    commands: usize,
    /// What went out.
    pub tape: Tape,
}

#[expect(clippy::len_without_is_empty, reason = "no one asks")]
impl NaiveEngine {
    /// Begins with no orders.
    pub fn new(symbols: usize, sessions: usize) -> Self {
        NaiveEngine {
            symbols,
            sessions,
            ..NaiveEngine::default()
        }
    }

    /// Carries out a command. In the answer, the id of an order is the number of the
    /// command.
    pub fn apply(&mut self, command: &Command, target: Target) -> Response {
        let number = self.commands;
        self.commands += 1;
        self.attempt(command, target, number)
            .unwrap_or_else(|refusal| {
                self.tape.refuse(refusal);
                Response::Refused(refusal)
            })
    }

    fn attempt(
        &mut self,
        command: &Command,
        target: Target,
        number: usize,
    ) -> Result<Response, Refusal> {
        match command.kind {
            Kind::New => self.enter(*command, number),
            Kind::Cancel => {
                let at = self.own(command, target)?;
                self.orders.remove(at);
                Ok(Response::Cancelled)
            }
            Kind::Replace => {
                let at = self.own(command, target)?;
                if command.quantity == 0 || command.price == 0 {
                    return Err(Refusal::Nothing);
                }
                let Command { side, symbol, .. } = self.orders.remove(at).command;
                self.enter(
                    Command {
                        side,
                        symbol,
                        ..*command
                    },
                    number,
                )
            }
            Kind::Reduce => {
                let at = self.own(command, target)?;
                if command.quantity == 0 {
                    return Err(Refusal::Nothing);
                }
                if command.quantity >= self.orders[at].open {
                    self.orders.remove(at);
                    return Ok(Response::Cancelled);
                }
                self.orders[at].open -= command.quantity;
                Ok(Response::Reduced)
            }
            Kind::CancelAll => {
                if command.session as usize >= self.sessions {
                    return Err(Refusal::Unknown);
                }
                let before = self.orders.len();
                self.orders
                    .retain(|order| order.command.session != command.session);
                let orders = (before - self.orders.len()) as u32;
                Ok(Response::AllCancelled { orders })
            }
        }
    }

    fn own(&self, command: &Command, target: Target) -> Result<usize, Refusal> {
        let number = target.number().map(|target| target.0);
        let mut orders = self.orders.iter();
        let at = orders.position(|order| Some(order.number) == number);
        let at = at.ok_or(Refusal::NoSuchOrder)?;
        match self.orders[at].command.session == command.session {
            true => Ok(at),
            false => Err(Refusal::NotYours),
        }
    }

    fn enter(&mut self, command: Command, number: usize) -> Result<Response, Refusal> {
        if command.quantity == 0 || command.price == 0 {
            return Err(Refusal::Nothing);
        }
        if usize::from(command.symbol) >= self.symbols || command.session as usize >= self.sessions
        {
            return Err(Refusal::Unknown);
        }
        let mut open = command.quantity;
        while open > 0 {
            let Some(at) = self.next_in_line(&command) else {
                break;
            };
            let maker = &mut self.orders[at];
            let quantity = open.min(maker.open);
            open -= quantity;
            maker.open -= quantity;
            self.tape.trade(&Trade {
                symbol: command.symbol,
                side: maker.command.side,
                price: maker.command.price,
                quantity,
                maker: (maker.command.session, maker.command.reference),
                taker: (command.session, command.reference),
            });
            if maker.open == 0 {
                self.orders.remove(at);
            }
        }
        if open > 0 {
            self.orders.push(NaiveOrder {
                number,
                command,
                open,
            });
        }
        Ok(Response::Entered {
            traded: command.quantity - open,
            id: (open > 0).then_some(number as u64),
        })
    }

    /// The order that a new one trades with next: of the best price, the earliest.
    fn next_in_line(&self, command: &Command) -> Option<usize> {
        let crossing = |order: &&(usize, &NaiveOrder)| {
            let Command {
                symbol,
                side,
                price,
                ..
            } = order.1.command;
            symbol == command.symbol && side != command.side && !side.is_worse(price, command.price)
        };
        let orders: Vec<_> = self.orders.iter().enumerate().collect();
        let better = orders.iter().filter(crossing).min_by_key(|order| {
            let price = i64::from(order.1.command.price);
            match order.1.command.side {
                Side::Buy => -price,
                Side::Sell => price,
            }
        });
        better.map(|order| order.0)
    }

    /// The best prices of a symbol, and the shares at them.
    pub fn top(&self, symbol: u16) -> Top {
        let mut top = Top::default();
        for order in &self.orders {
            let Command { price, side, .. } = order.command;
            if order.command.symbol != symbol {
                continue;
            }
            let (best, size) = match side {
                Side::Buy => (&mut top.bid, &mut top.bid_size),
                Side::Sell => (&mut top.ask, &mut top.ask_size),
            };
            if *best == 0 || side.is_worse(*best, price) {
                (*best, *size) = (price, 0);
            }
            if *best == price {
                *size += u64::from(order.open);
            }
        }
        top
    }

    /// Whether what the command of this number entered rests.
    pub fn is_live(&self, number: usize) -> bool {
        self.orders.iter().any(|order| order.number == number)
    }

    /// Returns the number of orders that rest.
    pub fn len(&self) -> usize {
        self.orders.len()
    }
}
