//! The gateway as its clients see it, after a restart, and what it allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use gateway::*;

/// Counts the calls of the thread that asks for it.
struct Counting;
thread_local! { static CALLS: Cell<u64> = const { Cell::new(0) }; }

// SAFETY: all calls go on to the system's allocator, as they came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}
#[global_allocator]
static COUNTING: Counting = Counting;

const LIMITS: Limits = Limits {
    sessions: 8,
    orders: 1000,
    prices: 512,
    reports: 4096,
};
const GTC: Life = Life::GoodTillCancelled;

fn drain(reports: &mut Reports) -> Vec<Report> {
    reports.batch().collect()
}

fn gateway() -> (Gateway, Reports, SessionKey, SessionKey) {
    let (mut gateway, reports) = Gateway::new(LIMITS);
    let one = gateway.log_on(1, SelfTrade::CancelResting, 400).unwrap();
    let two = gateway.log_on(2, SelfTrade::CancelIncoming, 400).unwrap();
    (gateway, reports, one, two)
}

#[test]
fn trades_by_price_and_time() {
    let (mut g, mut reports, one, two) = gateway();
    let first = g.place(one, 1, Side::Sell, 100, 10, GTC).unwrap();
    let second = g.place(one, 2, Side::Sell, 100, 10, GTC).unwrap();
    g.place(one, 3, Side::Sell, 99, 5, GTC).unwrap();
    g.place(two, 1, Side::Buy, 100, 20, GTC).unwrap();
    assert!(g.order(first).is_none());
    assert_eq!(g.order(second).unwrap().open, 5);
    assert_eq!(g.best(), (None, Some(100)));
    assert_eq!(
        g.cancel_by_wire(one, first.into_raw()),
        Err(Refusal::UnknownOrder)
    );
    assert_eq!(
        g.cancel_by_wire(two, second.into_raw()),
        Err(Refusal::UnknownOrder)
    );
    assert_eq!(g.cancel_by_wire(one, second.into_raw()), Ok(()));
    let reports = drain(&mut reports);
    assert!(
        reports
            .iter()
            .enumerate()
            .all(|(at, report)| report.sequence == at as u64 + 1)
    );
    assert_eq!(
        reports
            .iter()
            .filter(|report| report.kind == Kind::Traded)
            .count(),
        6
    );
}

#[test]
fn replace_keeps_or_loses_the_place() {
    let (mut g, _reports, one, two) = gateway();
    let a = g.place(one, 1, Side::Buy, 100, 10, GTC).unwrap();
    let b = g.place(one, 2, Side::Buy, 100, 10, GTC).unwrap();
    assert_eq!(g.replace(one, 1, 2, 100, 5), Err(Refusal::DuplicateId));
    g.replace(one, 1, 11, 100, 5).unwrap();
    g.place(two, 1, Side::Sell, 100, 5, GTC).unwrap();
    assert!(g.order(a).is_none());
    let c = g.place(one, 3, Side::Buy, 100, 10, GTC).unwrap();
    g.replace(one, 2, 12, 100, 20).unwrap(); // more: behind `c`
    g.place(two, 2, Side::Sell, 100, 10, GTC).unwrap();
    assert!(g.order(c).is_none() && g.order(b).unwrap().open == 20);
    g.place(two, 3, Side::Sell, 120, 7, GTC).unwrap();
    g.replace(one, 12, 13, 120, 7).unwrap(); // trades at once
    assert_eq!(g.best(), (None, None));
}

#[test]
fn prevents_self_trades() {
    let (mut g, mut reports, one, two) = gateway();
    let rest = g.place(one, 1, Side::Buy, 100, 10, GTC).unwrap();
    let other = g.place(one, 2, Side::Sell, 100, 10, GTC).unwrap();
    assert!(g.order(rest).is_none() && g.order(other).is_some());
    g.cancel(one, 2).unwrap();
    let rest = g.place(two, 1, Side::Buy, 100, 10, GTC).unwrap();
    let other = g.place(two, 2, Side::Sell, 100, 10, GTC).unwrap();
    assert!(g.order(rest).is_some() && g.order(other).is_none());
    assert_eq!(
        drain(&mut reports)
            .iter()
            .filter(|it| it.kind == Kind::SelfTradeCancelled)
            .count(),
        2
    );
}

#[test]
fn kills_a_session() {
    let (mut g, mut reports, one, two) = gateway();
    for id in 0..300 {
        g.place(one, id, Side::Buy, 50 + id as u32 % 50, 1, GTC)
            .unwrap();
    }
    g.place(two, 1, Side::Buy, 10, 1, GTC).unwrap();
    drain(&mut reports);
    assert_eq!(g.kill(one), Ok(300));
    let ids: Vec<u64> = drain(&mut reports).iter().map(|it| it.client_id).collect();
    assert_eq!(ids, (0..300).collect::<Vec<_>>());
    assert_eq!(g.best(), (Some(10), None));
    assert_eq!(g.place(one, 1, Side::Buy, 50, 1, GTC), Err(Refusal::Killed));
}

#[test]
fn refuses_when_full_and_goes_on() {
    let (mut g, _reports) = Gateway::new(Limits {
        orders: 3,
        ..LIMITS
    });
    let one = g.log_on(1, SelfTrade::CancelResting, 100).unwrap();
    for id in 0..3 {
        g.place(one, id, Side::Buy, 50, 1, GTC).unwrap();
    }
    assert_eq!(
        g.place(one, 3, Side::Buy, 50, 1, GTC),
        Err(Refusal::BookFull)
    );
    // A full book also refuses an order that would have traded at once.
    assert_eq!(
        g.place(one, 3, Side::Sell, 50, 1, GTC),
        Err(Refusal::BookFull)
    );
    g.cancel(one, 0).unwrap();
    g.place(one, 3, Side::Buy, 50, 1, GTC).unwrap();
    let ([orders, ..], metrics) = g.stats();
    assert_eq!((orders.live, orders.free, metrics.refused_full), (3, 0, 2));
    assert_eq!(orders.refusals, Some(2));
    println!("{}", g.metrics_text());
}

fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    *state >> 33
}

/// Any commands; the answers.
fn play(
    g: &mut Gateway,
    sessions: &[SessionKey],
    seed: &mut u64,
    commands: usize,
    answers: &mut Vec<(u64, Option<Refusal>)>,
) {
    for _ in 0..commands {
        let session = sessions[random(seed) as usize % sessions.len()];
        let id = random(seed) % 500;
        let price = 200 + (random(seed) % 60) as u32;
        let side = if random(seed) % 2 == 0 {
            Side::Buy
        } else {
            Side::Sell
        };
        let answer = match random(seed) % 10 {
            0..5 => {
                let life = if random(seed) % 3 == 0 {
                    Life::Day {
                        expires: random(seed) % 4000,
                    }
                } else {
                    GTC
                };
                g.place(
                    session,
                    id,
                    side,
                    price,
                    1 + (random(seed) % 20) as u32,
                    life,
                )
                .map(OrderKey::into_raw)
            }
            5..8 => g.cancel(session, id).map(|()| 0),
            8 => g
                .replace(
                    session,
                    id,
                    random(seed) % 500,
                    price,
                    1 + (random(seed) % 20) as u32,
                )
                .map(|()| 1),
            _ => {
                g.tick();
                Ok(2)
            }
        };
        answers.push((answer.unwrap_or(0), answer.err()));
    }
}

#[test]
fn survives_a_restart_with_the_same_ids() {
    let (mut g, mut reports, one, two) = gateway();
    let mut seed = 1;
    play(&mut g, &[one, two], &mut seed, 20_000, &mut Vec::new());
    drain(&mut reports);
    let bytes = g.snapshot();
    let (mut restored, mut reports_2) = Gateway::restore(&bytes, LIMITS).unwrap();
    assert!(Gateway::restore(&bytes[..bytes.len() / 2], LIMITS).is_err());
    let (mut seed_2, mut before, mut after) = (seed, Vec::new(), Vec::new());
    play(&mut g, &[one, two], &mut seed, 20_000, &mut before);
    play(&mut restored, &[one, two], &mut seed_2, 20_000, &mut after);
    assert!(before == after && before.iter().any(|it| it.0 > 2));
    let lengths = (drain(&mut reports).len(), drain(&mut reports_2).len());
    assert_eq!(lengths.0, lengths.1);
    assert_eq!(g.snapshot(), restored.snapshot());
}

#[test]
fn allocates_nothing_in_the_steady_state() {
    let (mut g, mut reports, one, two) = gateway();
    let consumer = std::thread::spawn(move || {
        let (mut sum, mut last, mut gaps) = (0, 0, 0);
        let before = CALLS.get();
        loop {
            let closed = reports.is_closed();
            while let Some(report) = reports.pop() {
                gaps += report.sequence - last - 1;
                last = report.sequence;
                sum += 1;
            }
            if closed {
                return (sum, last, gaps, CALLS.get() - before);
            }
            std::thread::yield_now();
        }
    });
    let mut seed = 3;
    let mut answers = Vec::with_capacity(500_000);
    play(&mut g, &[one, two], &mut seed, 1000, &mut answers);
    let before = CALLS.get();
    play(&mut g, &[one, two], &mut seed, 400_000, &mut answers);
    let calls = CALLS.get() - before;
    let lost = g.stats().0[2].refusals.unwrap();
    drop(g);
    let (sum, last, gaps, theirs) = consumer.join().unwrap();
    println!("{sum} reports, last {last}, gaps {gaps}, lost {lost}; calls {calls}, {theirs}");
    assert_eq!((calls, theirs), (0, 0));
    assert_eq!(sum + gaps + (lost - gaps), last);
}
