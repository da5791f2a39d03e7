//! The table of states and events, cell by cell.
//!
//! A state is one of an epoch with two values, `one` and `two`, in one chunk:
//!
//! | state | is |
//! |---|---|
//! | current | that of the ring which takes insertions |
//! | permanent | outside the ring, never closed |
//! | closing | of the ring, before the current one |
//! | guarded | that of an `EpochGuard` |
//! | opened | outside the ring, by name |
//! | pinned | closed, with values |
//! | over | closed, its values were dropped |
//! | foreign | current in another slab |
//!
//! The rows of [`TABLE`] are events; each cell has the answer, and the next state where it is
//! another one. `-` is what cannot happen.

use std::rc::Rc;

use flatslab::epoch::{
    Epoch, EpochError, EpochGuard, EpochKey, EpochSlab, EpochState, InsertError, Values,
};

use crate::common::Drops;
use crate::common::values::Counted;

const STATES: [&str; 8] = [
    "current",
    "permanent",
    "closing",
    "guarded",
    "opened",
    "pinned",
    "over",
    "foreign",
];

/// One row.
type Row = (&'static str, [&'static str; 8]);

/// The columns are [`STATES`].
#[rustfmt::skip]
const TABLE: [Row; 22] = [
    ("try_insert_in",             ["there", "there", "Closing", "there", "there", "Closed", "Closed", "Foreign"]),
    ("get one",                   ["there", "there", "there", "there", "there", "there", "Missing", "Missing"]),
    ("get_mut one",               ["there", "there", "there", "there", "there", "there", "Missing", "Missing"]),
    ("remove one",                ["gone", "gone", "gone", "gone", "gone", "gone", "Missing", "Missing"]),
    ("remove one and two",        ["gone", "gone", "gone", "gone", "gone", "gone > over", "Missing", "Missing"]),
    ("advance",                   ["done > closing", "done", "done", "done", "done", "done", "done", "done"]),
    ("advance round the ring",    ["done > pinned", "done", "done > pinned", "done", "done", "done", "done", "done"]),
    ("close",                     ["Current", "Permanent", "pins 1 > pinned", "pins 1 > pinned", "pins 1 > pinned", "Closed", "Closed", "Foreign"]),
    ("remove both, close",        ["Current", "Permanent", "recycles 1 > over", "recycles 1 > over", "recycles 1 > over", "Closed > over", "Closed", "Foreign"]),
    ("close twice",               ["Current", "Permanent", "Closed > pinned", "Closed > pinned", "Closed > pinned", "Closed", "Closed", "Foreign"]),
    ("advance_and_close",         ["pins 1 > pinned", "pins 0", "pins 0", "pins 0", "pins 0", "pins 0", "pins 0", "pins 0"]),
    ("clear_epoch",               ["drops 2", "drops 2", "drops 2", "drops 2", "drops 2", "drops 2 > over", "drops 0", "Foreign"]),
    ("clear_epoch, one borrowed", ["Borrowed", "Borrowed", "Borrowed", "Borrowed", "Borrowed", "Borrowed", "drops 0", "Foreign"]),
    ("guard ends",                ["-", "-", "-", "done > pinned", "-", "-", "-", "-"]),
    ("remove both, guard ends",   ["-", "-", "-", "done > over", "-", "-", "-", "-"]),
    ("close, guard ends",         ["-", "-", "-", "done > pinned", "-", "-", "-", "-"]),
    ("within",                    ["InRing", "there", "InRing", "there", "there", "Closed", "Closed", "Foreign"]),
    ("within, close",             ["InRing", "Permanent", "InRing", "Entered", "Entered", "Closed", "Closed", "Foreign"]),
    ("set_tag",                   ["true", "true", "true", "true", "true", "true", "false", "false"]),
    ("epoch_stats",               ["Open 2", "Open 2", "Closing 2", "Open 2", "Open 2", "Pinned 2", "none", "none"]),
    ("keys_in",                   ["2", "2", "2", "2", "2", "2", "0", "0"]),
    ("slab drops",                ["drops 2", "drops 2", "drops 2", "drops 2", "drops 2", "drops 2", "drops 0", "drops 0"]),
];

/// A slab with an epoch in a state.
struct World<'s> {
    slab: &'s EpochSlab<Counted>,
    epoch: Epoch,
    keys: [EpochKey; 2],
    guard: Option<EpochGuard<'s, Values<Counted>>>,
    is_foreign: bool,
    drops: Drops,
}

impl<'s> World<'s> {
    fn new(
        slab: &'s EpochSlab<Counted>,
        other: &'s EpochSlab<Counted>,
        state: &str,
        drops: &Drops,
    ) -> Self {
        let is_foreign = state == "foreign";
        let guard = (state == "guarded").then(|| slab.enter());
        let epoch = match state {
            "permanent" => slab.permanent(),
            "guarded" => guard.as_ref().unwrap().epoch(),
            "opened" => slab.open(),
            "foreign" => other.current(),
            _ => slab.current(),
        };
        let home = if is_foreign { other } else { slab };
        let keys = [1, 2].map(|number| home.try_insert_in(epoch, drops.value(number)).unwrap());
        let world = World {
            slab,
            epoch,
            keys,
            guard,
            is_foreign,
            drops: drops.clone(),
        };
        match state {
            "closing" => {
                slab.advance();
            }
            "pinned" => {
                slab.advance_and_close();
            }
            "over" => {
                slab.clear_epoch(epoch);
                slab.advance_and_close();
            }
            _ => {}
        }
        assert_eq!(world.state(), state);
        world
    }

    fn state(&self) -> &'static str {
        if self.is_foreign {
            assert!(self.slab.epoch_stats(self.epoch).is_none());
            return "foreign";
        }
        let Some(stats) = self.slab.epoch_stats(self.epoch) else {
            return "over";
        };
        match stats.state {
            EpochState::Open if self.epoch == self.slab.current() => "current",
            EpochState::Open if self.epoch == self.slab.permanent() => "permanent",
            EpochState::Open if self.guard.is_some() => "guarded",
            EpochState::Open => "opened",
            EpochState::Closing => "closing",
            EpochState::Pinned => "pinned",
            state => panic!("{state:?}"),
        }
    }

    fn remove(&self, which: &[usize]) -> String {
        let mut answer = "";
        for which in which {
            answer = match self.slab.try_take(self.keys[*which]) {
                Ok(value) => {
                    assert_eq!(value.number, *which as u64 + 1);
                    "gone"
                }
                Err(_) => "Missing",
            };
        }
        answer.into()
    }

    fn close(&self) -> String {
        match self.slab.close(self.epoch) {
            Ok(report) => {
                assert_eq!((report.epoch, report.scanned), (self.epoch, 1));
                assert_eq!(report.live, 2 * report.pinned);
                match report.pinned {
                    0 => format!("recycles {}", report.recycled),
                    pinned => format!("pins {pinned}"),
                }
            }
            Err(EpochError::Current) => "Current".into(),
            Err(EpochError::Permanent) => "Permanent".into(),
            Err(EpochError::Closed) => "Closed".into(),
            Err(EpochError::Foreign) => "Foreign".into(),
            Err(EpochError::Entered) => "Entered".into(),
            Err(error) => panic!("{error}"),
        }
    }

    fn within(&self, f: impl FnOnce() -> String) -> String {
        match self.slab.within(self.epoch, f) {
            Ok(answer) => answer,
            Err(EpochError::InRing) => "InRing".into(),
            Err(EpochError::Closed) => "Closed".into(),
            Err(EpochError::Foreign) => "Foreign".into(),
            Err(error) => panic!("{error}"),
        }
    }

    fn clear(&self) -> String {
        let before = self.drops.count();
        match self.slab.try_clear_epoch(self.epoch) {
            Ok(dropped) => {
                assert_eq!(self.drops.count(), before + dropped);
                assert!(!self.keys.iter().any(|key| self.slab.contains_key(*key)));
                format!("drops {dropped}")
            }
            Err(error) => {
                assert_eq!(self.drops.count(), before);
                match error {
                    EpochError::Borrowed(key) => {
                        assert_eq!(key, self.keys[0]);
                        "Borrowed".into()
                    }
                    EpochError::Foreign => "Foreign".into(),
                    error => panic!("{error}"),
                }
            }
        }
    }

    fn insert(&self) -> String {
        let value = self.drops.value(3);
        match self.slab.try_insert_in(self.epoch, value) {
            Ok(key) => {
                assert_eq!(self.slab.epoch_of(key), Some(self.epoch));
                self.slab.take(key).unwrap();
                "there".into()
            }
            Err(error) => {
                let reason = match &error {
                    InsertError::Closing(_) => "Closing",
                    InsertError::Closed(_) => "Closed",
                    InsertError::Foreign(_) => "Foreign",
                    error => panic!("{error}"),
                };
                assert_eq!(error.into_inner().number, 3);
                reason.into()
            }
        }
    }

    /// Lets the event happen, if it can.
    fn event(&mut self, event: &str) -> String {
        let slab = self.slab;
        match event {
            "try_insert_in" => self.insert(),
            "get one" | "get_mut one" => {
                let is_mut = event == "get_mut one";
                let number = if is_mut {
                    slab.get_mut(self.keys[0]).map(|it| it.number)
                } else {
                    slab.get(self.keys[0]).map(|it| it.number)
                };
                assert!(number.is_none_or(|number| number == 1));
                number.map_or("Missing", |_| "there").into()
            }
            "remove one" => self.remove(&[0]),
            "remove one and two" => self.remove(&[0, 1]),
            "advance" => {
                let before = slab.current();
                assert!(slab.advance() != before);
                "done".into()
            }
            "advance round the ring" => {
                for _ in 0..slab.ring() {
                    slab.advance();
                }
                "done".into()
            }
            "close" => self.close(),
            "remove both, close" => {
                self.remove(&[0, 1]);
                self.close()
            }
            "close twice" => {
                self.close();
                self.close()
            }
            "advance_and_close" => {
                let (_, report) = slab.advance_and_close();
                format!("pins {}", report.pinned)
            }
            "clear_epoch" => self.clear(),
            "clear_epoch, one borrowed" => {
                let _guard = slab.get(self.keys[0]);
                self.clear()
            }
            "guard ends" | "remove both, guard ends" | "close, guard ends" => {
                if self.guard.is_none() {
                    return "-".into();
                }
                match event {
                    "remove both, guard ends" => drop(self.remove(&[0, 1])),
                    "close, guard ends" => assert_eq!(self.close(), "pins 1"),
                    _ => {}
                }
                drop(self.guard.take());
                "done".into()
            }
            "within" => self.within(|| {
                let key = slab.insert(self.drops.value(3));
                assert_eq!(slab.epoch_of(key), Some(self.epoch));
                slab.take(key).unwrap();
                "there".into()
            }),
            "within, close" => self.within(|| self.close()),
            "set_tag" => {
                let is_set = slab.set_tag(self.epoch, 7);
                let found = slab.epoch_stats(self.epoch).map(|stats| stats.tag);
                assert_eq!(found, Some(7).filter(|_| is_set));
                is_set.to_string()
            }
            "epoch_stats" => match slab.epoch_stats(self.epoch) {
                Some(stats) => format!("{:?} {}", stats.state, stats.live),
                None => "none".into(),
            },
            "keys_in" => slab.keys_in(self.epoch).count().to_string(),
            event => panic!("no such event: {event}"),
        }
    }
}

/// The answer and the next state, as in the table.
fn drive(state: &str, event: &str) -> String {
    let drops = Drops::new();
    let build = || EpochSlab::builder().chunk_capacity(2).epochs(3).build();
    let (slab, other) = (Rc::new(build()), build());
    let mut world = World::new(&slab, &other, state, &drops);
    if event == "slab drops" {
        drop(world);
        let before = drops.count();
        drop(Rc::into_inner(slab));
        return format!("drops {}", drops.count() - before);
    }
    let answer = world.event(event);
    let next = world.state();
    drop(world);
    let (live, before) = (slab.stats().live, drops.count());
    drop(slab);
    assert_eq!(drops.count(), before + live, "dropped with the slab");
    if next == state {
        answer
    } else {
        format!("{answer} > {next}")
    }
}

#[test]
fn every_cell_of_the_table() {
    let mut wrong = Vec::new();
    for (event, expected) in TABLE {
        for (state, expected) in STATES.iter().zip(expected) {
            let found = drive(state, event);
            if found != expected {
                wrong.push(format!("{event} in {state}: {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Iterators may be kept, and end no borrow at the semicolon.
#[test]
fn keys_and_statistics_are_taken_from_iterators_with_names() {
    struct Walk<'s>(flatslab::epoch::KeysIn<'s>, flatslab::epoch::AllStats<'s>);

    let slab = EpochSlab::new();
    let keys = [slab.insert(1), slab.insert(2)];
    let epoch = slab.current();
    assert_eq!(slab.take(slab.keys_in(epoch).next().unwrap()), Some(1));
    let mut walk = Walk(slab.keys_in(epoch), slab.epochs());
    assert_eq!((walk.0.next(), walk.0.next()), (Some(keys[1]), None));
    assert_eq!(
        walk.1.next().map(|it| it.epoch),
        slab.epochs().next().map(|it| it.epoch)
    );
}
