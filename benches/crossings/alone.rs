//! The two sides of a hand-over in turns on one core, which is repeatable; and what a slab's own
//! operations take before and after values of it were sent.

use flatslab::BoundedSlab;
use flatslab_benches::clock;
use flatslab_benches::operation::{BATCH, Setting};
use flatslab_benches::payload::{Payload, barrier};
use flatslab_benches::run::{Measured, Turn};

use super::Store;

/// Values that were sent before, where some were.
const SENT: u64 = 1_000;

fn rounds(setting: &Setting) -> usize {
    if setting.live < 1024 { 8 } else { 64 }
}

/// Fills, ends all, and takes the memory back: a row each, by value. What is made includes
/// that the memory comes back.
pub(crate) fn sides<S: Store<V, Handle: Send>, V: Payload>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let (live, rounds) = (setting.live, rounds(&setting));
    let (common, own) = (S::common(live), S::own(live));
    let mut handles = Vec::with_capacity(live);
    let mut rows = [const { Vec::new() }; 3];
    for round in 0..rounds / 4 + rounds {
        // Every other round takes back apart from what is then made.
        let is_apart = round % 2 == 1;
        let begun = clock::start();
        S::reclaim(&own);
        let reclaimed = clock::stop();
        let making = if is_apart { clock::start() } else { begun };
        for number in 0..live {
            barrier(&own);
            let made = S::make(&common, &own, V::of((round + number) as u64));
            handles.push(made.expect("all have come back"));
        }
        let made = clock::stop();
        assert_eq!(S::number(&common, &handles[0]), round as u64, "{}", S::NAME);
        // Another thread on the same core: on its own a value would not go back.
        let (sum, ending, ended) = std::thread::scope(|scope| {
            let (handles, common) = (&mut handles, &common);
            let end = scope.spawn(move || {
                let mut sum = 0;
                let ending = clock::start();
                for handle in handles.drain(..) {
                    sum += S::end(common, handle);
                }
                (sum, ending, clock::stop())
            });
            end.join().expect("it ends all")
        });
        let (live, round) = (live as u64, round as u64);
        assert_eq!(sum, live * round + live * (live - 1) / 2, "{}", S::NAME);
        if round as usize >= rounds / 4 {
            let by_value = |ticks: u64| ticks.saturating_sub(setting.overhead) as f64 / live as f64;
            rows[1].push(by_value(ended - ending));
            match is_apart {
                true if S::RECLAIMS => rows[2].push(by_value(reclaimed - begun)),
                true => {}
                false => rows[0].push(by_value(made - making)),
            }
        }
    }
    Turn(rows.map(Measured::from).into())
}

/// A value that is inserted and whose slot is dropped: of a slab that has sent none, or many.
pub(crate) fn owner<V: Payload + Send, const HAS_SENT: bool>(setting: Setting) -> Turn {
    let _spacer = setting.spacer();
    let slab = BoundedSlab::<V>::with_capacity(setting.live);
    if HAS_SENT {
        let mut number = 0;
        while number < SENT {
            let sent = (0..setting.live as u64 / 2).map(|at| slab.insert(V::of(number + at)));
            let sent: Vec<_> = sent
                .map(|it| it.ok().map(|slot| slot.into_send()))
                .collect();
            number += sent.len() as u64;
            // On another thread, from where its slots come back.
            std::thread::scope(|scope| {
                scope.spawn(|| drop(sent));
            });
        }
    }
    assert_eq!(slab.reclaim() > 0, HAS_SENT);
    // In the middle of the free slots, which lie in the same order in both.
    let mut slots: Vec<_> = (0..setting.live as u64)
        .map(|number| slab.insert(V::of(number)).expect("it is empty"))
        .collect();
    slots.sort_by_key(|slot| slot.key().index());
    slots.truncate(setting.live / 2);
    let mut ticks = Vec::new();
    for round in 0..4 * rounds(&setting) {
        let begun = clock::start();
        for number in 0..BATCH {
            barrier(&slab);
            let slot = slab.insert(V::of((round + number) as u64));
            let slot = slot.expect("half of it is free");
            barrier(&slot);
            drop(slot);
        }
        let passed = (clock::stop() - begun).saturating_sub(setting.overhead);
        ticks.push(passed as f64 / BATCH as f64);
    }
    assert_eq!(slab.len(), slots.len());
    let mut places = slots.iter().map(|slot| slot.key().index());
    assert!((0..slots.len()).all(|at| places.next() == Some(at)));
    ticks.into()
}
