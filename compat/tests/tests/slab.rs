//! The facade of `slab` beside `slab`: random programs, and every panic's text.

use flatslab_compat_tests::{Random, implements, outcome, programs};

/// Calls the same method of both, and compares what they return.
macro_rules! both {
    ($pair:expr, |$slab:ident| $call:expr) => {{
        let ours = {
            let $slab = &mut $pair.ours;
            $call
        };
        let theirs = {
            let $slab = &mut $pair.theirs;
            $call
        };
        assert_eq!(ours, theirs);
        ours
    }};
}

#[derive(Clone, Default)]
struct Pair {
    ours: slab::Slab<u64>,
    theirs: real_slab::Slab<u64>,
}

impl Pair {
    fn check(&mut self) {
        both!(self, |slab| slab.len());
        both!(self, |slab| slab.is_empty());
        both!(self, |slab| slab.capacity());
        both!(self, |slab| slab.vacant_key());
        both!(self, |slab| slab.vacant_entry().key());
        both!(self, |slab| slab.iter().map(pair).collect::<Vec<_>>());
        both!(self, |slab| slab.iter().rev().map(pair).collect::<Vec<_>>());
        both!(self, |slab| slab
            .iter_mut()
            .map(|(key, value)| (key, *value))
            .collect::<Vec<_>>());
        both!(self, |slab| format!("{slab:?} {slab:#?} {:?}", slab.iter()));
        both!(self, |slab| serde_json::to_string(slab).unwrap());
        for (_, value) in &self.ours {
            assert_eq!(self.ours[self.ours.key_of(value)], *value);
        }
    }

    /// All keys that are handed out from here on, until no slot is free.
    fn drain_free_slots(&self) {
        let mut copy = self.clone();
        for _ in 0..copy.theirs.capacity() + 3 {
            both!(copy, |slab| slab.insert(0));
        }
    }

    /// Where a capacity is not promised, both are below twice what it takes, or what was asked
    /// for. Then they are made exact.
    fn shrink_both(&mut self) {
        assert!(self.ours.capacity() <= 2 * self.theirs.capacity());
        self.ours.shrink_to_fit();
        self.theirs.shrink_to_fit();
    }
}

fn pair((key, value): (usize, &u64)) -> (usize, u64) {
    (key, *value)
}

fn step(pair: &mut Pair, random: &mut Random, value: u64) {
    // Some keys are of no slot, and some of none that there can be.
    let key = match random.below(20) {
        0 => random.below(1 << 20),
        1 => (1 << 32) + random.below(4),
        2 => usize::MAX - random.below(2),
        _ => random.below(pair.theirs.capacity() + 2),
    };
    let other = random.below(pair.theirs.capacity() + 1);
    match random.below(60) {
        0..14 => drop(both!(pair, |slab| slab.insert(value))),
        14..24 => drop(both!(pair, |slab| slab.try_remove(key))),
        24..26 => drop(both!(pair, |slab| outcome(|| slab.remove(key)))),
        26..28 => drop(both!(pair, |slab| {
            let entry = slab.vacant_entry();
            let shown = format!("{entry:?}");
            (entry.key(), *entry.insert(value), shown)
        })),
        28..30 => drop(both!(pair, |slab| slab.get(key).copied())),
        30..32 => drop(both!(pair, |slab| slab
            .get_mut(key)
            .map(|at| std::mem::replace(at, value)))),
        32 => drop(both!(pair, |slab| slab.contains(key))),
        33 => drop(both!(pair, |slab| outcome(|| slab[key]))),
        34 => drop(both!(pair, |slab| outcome(|| slab[key] = value))),
        35 => {
            let keys = [
                key.min(pair.theirs.capacity() / 4),
                other.min(pair.theirs.capacity() / 4),
            ];
            // `slab` panics for keys out of bounds where it says that it returns `None`.
            if keys.iter().all(|&key| pair.theirs.contains(key)) || keys[0] == keys[1] {
                drop(both!(pair, |slab| outcome(|| {
                    slab.get2_mut(keys[0], keys[1])
                        .map(|(one, two)| (*one, *two))
                })));
            }
        }
        36..38 => {
            let keys = [key, other, random.below(4)];
            drop(both!(pair, |slab| slab
                .get_disjoint_mut(keys)
                .map(|values| values.map(|value| *value))
                .map_err(|error| (
                    format!("{error:?} {error:>30}"),
                    error.to_string()
                ))));
        }
        38..41 => {
            let divisor = 2 + random.below(6) as u64;
            both!(pair, |slab| {
                let mut seen = Vec::new();
                slab.retain(|key, value| {
                    seen.push((key, *value));
                    *value % divisor != 0
                });
                seen
            });
        }
        41 => both!(pair, |slab| slab.clear()),
        42 => {
            let (front, back) = (random.below(4), random.below(4));
            both!(pair, |slab| {
                let mut drain = slab.drain();
                let shown = format!("{drain:?}");
                let front: Vec<_> = drain.by_ref().take(front).collect();
                let back: Vec<_> = drain.by_ref().rev().take(back).collect();
                (shown, front, back, drain.size_hint())
            });
        }
        43..46 => both!(pair, |slab| slab.shrink_to_fit()),
        46 => {
            let additional = random.below(40);
            both!(pair, |slab| slab.reserve(additional));
        }
        47 => {
            let additional = random.below(40);
            both!(pair, |slab| slab.reserve_exact(additional));
        }
        48..51 => {
            let limit = random.below(8);
            both!(pair, |slab| {
                let mut seen = Vec::new();
                slab.compact(|value, from, to| {
                    seen.push((*value, from, to));
                    *value += 1;
                    seen.len() <= limit
                });
                seen
            });
        }
        51 => {
            let limit = random.below(4);
            drop(both!(pair, |slab| {
                let mut left = limit;
                outcome(|| {
                    slab.compact(|_, _, _| {
                        left = left.checked_sub(1).expect("as the test wants it");
                        true
                    })
                })
            }));
            pair.shrink_both();
        }
        52..54 => {
            let pairs: Vec<_> = (0..random.below(12))
                .map(|n| (random.below(30), value + n as u64))
                .collect();
            pair.ours = pairs.iter().copied().collect();
            pair.theirs = pairs.into_iter().collect();
            pair.shrink_both();
        }
        54 => {
            let (ours, theirs) = (pair.ours.clone(), pair.theirs.clone());
            (pair.ours, pair.theirs) = (ours, theirs);
        }
        55 => {
            let mut other = Pair::default();
            for n in 0..random.below(20) {
                both!(other, |slab| slab.insert(n as u64));
            }
            other.ours.clone_from(&pair.ours);
            other.theirs.clone_from(&pair.theirs);
            *pair = other;
            pair.shrink_both();
        }
        56 => {
            // In the order of the keys, or not.
            let mut json = serde_json::to_string(&pair.theirs).unwrap();
            if random.once_in(2) {
                let shuffled: Vec<_> = (0..random.below(9))
                    .map(|_| format!("\"{}\":{value}", random.below(12)))
                    .collect();
                json = format!("{{{}}}", shuffled.join(","));
            }
            pair.ours = serde_json::from_str(&json).unwrap();
            pair.theirs = serde_json::from_str(&json).unwrap();
            pair.shrink_both();
        }
        57 => {
            let copy = pair.clone();
            let (mut ours, mut theirs) = (copy.ours.into_iter(), copy.theirs.into_iter());
            loop {
                assert_eq!(
                    (ours.len(), format!("{ours:?}")),
                    (theirs.len(), format!("{theirs:?}"))
                );
                let next = if random.once_in(2) {
                    (ours.next(), theirs.next())
                } else {
                    (ours.next_back(), theirs.next_back())
                };
                assert_eq!(next.0, next.1);
                if next.0.is_none() {
                    break;
                }
            }
        }
        58 => {
            let capacity = random.below(30);
            pair.ours = slab::Slab::with_capacity(capacity);
            pair.theirs = real_slab::Slab::with_capacity(capacity);
        }
        _ => {
            // The keys that both hold are within bounds.
            let keys: Vec<usize> = pair.theirs.iter().map(|(key, _)| key).collect();
            if let [one, .., two] = keys[..] {
                both!(pair, |slab| {
                    // SAFETY: two different keys of values.
                    let (one, two) = unsafe { slab.get2_unchecked_mut(one, two) };
                    std::mem::swap(one, two);
                    (*one, *two)
                });
                // SAFETY: a key of a value.
                both!(pair, |slab| unsafe { *slab.get_unchecked_mut(one) += 1 });
                // SAFETY: a key of a value.
                both!(pair, |slab| unsafe { *slab.get_unchecked(one) });
            }
        }
    }
}

#[test]
fn random_programs_return_what_slab_returns() {
    for seed in 0..programs(200) {
        let (mut random, mut pair) = (Random::new(seed), Pair::default());
        for value in 0..200 {
            step(&mut pair, &mut random, value);
            pair.check();
        }
        pair.drain_free_slots();
    }
}

#[test]
fn vacant_slots_within_bounds_panic_without_a_check() {
    let mut slab: slab::Slab<u64> = (0..3).map(|n| (n, 0)).collect();
    slab.remove(1);
    // SAFETY: 1 is within bounds.
    assert!(outcome(|| unsafe { *slab.get_unchecked(1) }).is_err());
    // SAFETY: 1 is within bounds.
    assert!(outcome(|| unsafe { *slab.get_unchecked_mut(1) }).is_err());
    // SAFETY: 0 and 1 are within bounds, and different.
    assert!(outcome(|| unsafe { *slab.get2_unchecked_mut(0, 1).0 }).is_err());
}

#[test]
fn limits_panic_with_the_text_of_slab() {
    type Ours = slab::Slab<u64>;
    type Theirs = real_slab::Slab<u64>;
    let overflow = Err("capacity overflow".to_string());
    for capacity in [usize::MAX, isize::MAX as usize] {
        assert_eq!(outcome(|| drop(Ours::with_capacity(capacity))), overflow);
        assert_eq!(outcome(|| drop(Theirs::with_capacity(capacity))), overflow);
        assert_eq!(outcome(|| Ours::new().reserve(capacity)), overflow);
        assert_eq!(outcome(|| Theirs::new().reserve(capacity)), overflow);
        assert_eq!(outcome(|| Ours::new().reserve_exact(capacity)), overflow);
        assert_eq!(outcome(|| Theirs::new().reserve_exact(capacity)), overflow);
    }
    for key in [1 << 30, u32::MAX as usize, 1 << 32, usize::MAX] {
        assert_eq!(
            outcome(|| drop([(key, 1)].into_iter().collect::<Ours>())),
            overflow
        );
        assert!(serde_json::from_str::<Ours>(&format!("{{\"{key}\":1}}")).is_err());
    }
}

#[test]
fn a_number_is_refused_and_not_cut() {
    let mut slab: slab::Slab<u64> = (0..3).map(|n| (n, 0)).collect();
    for key in [1 << 32, (1 << 32) + 1, usize::MAX] {
        assert_eq!((slab.get(key), slab.contains(key)), (None, false));
        assert_eq!(slab.get_mut(key), None);
        assert_eq!(slab.try_remove(key), None);
        assert_eq!(slab.get2_mut(0, key), None);
        assert_eq!(
            slab.get_disjoint_mut([0, key]),
            Err(slab::GetDisjointMutError::IndexOutOfBounds)
        );
        assert_eq!(outcome(|| slab[key]), Err("invalid key".to_string()));
        assert_eq!(outcome(|| slab.remove(key)), Err("invalid key".to_string()));
    }
    assert_eq!(slab.len(), 3);
}

#[test]
fn a_forgotten_drain_leaks_no_value() {
    let mut slab: slab::Slab<String> = (0..3).map(|n| (n, n.to_string())).collect();
    std::mem::forget(slab.drain());
    assert!(
        slab.iter()
            .map(|(_, value)| value.as_str())
            .eq(["0", "1", "2"])
    );
}

#[test]
fn auto_traits_are_those_of_slab() {
    use std::cell::Cell;
    use std::marker::PhantomPinned;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::rc::Rc;
    use std::sync::MutexGuard;

    macro_rules! compare {
        ($($value:ty),*; $types:tt) => {$(
            compare!(@ $value; $types);
        )*};
        (@ $value:ty; [$($name:ident $(<$lifetime:lifetime>)?),*]) => {$(
            compare!(@@ slab::$name<$($lifetime,)? $value>, real_slab::$name<$($lifetime,)? $value>);
        )*};
        (@@ $ours:ty, $theirs:ty) => {
            let name = stringify!($theirs);
            assert_eq!(implements!($ours: Send), implements!($theirs: Send), "{name}");
            assert_eq!(implements!($ours: Sync), implements!($theirs: Sync), "{name}");
            assert_eq!(implements!($ours: Unpin), implements!($theirs: Unpin), "{name}");
            assert_eq!(implements!($ours: Clone), implements!($theirs: Clone), "{name}");
            assert_eq!(implements!($ours: std::fmt::Debug), implements!($theirs: std::fmt::Debug), "{name}");
            assert_eq!(implements!($ours: UnwindSafe), implements!($theirs: UnwindSafe), "{name} UnwindSafe");
            assert_eq!(implements!($ours: RefUnwindSafe), implements!($theirs: RefUnwindSafe), "{name} RefUnwindSafe");
        };
    }
    compare!(
        u8, Cell<u8>, Rc<u8>, &'static mut u8, PhantomPinned, MutexGuard<'static, u8>, fn();
        [Slab, IntoIter, Iter<'static>, IterMut<'static>, Drain<'static>, VacantEntry<'static>]
    );
    assert!(implements!(slab::Slab<u8>: Send) && !implements!(slab::Slab<Rc<u8>>: Send));
}

/// These compile: what is covariant there is here.
#[allow(dead_code, reason = "only has to compile")]
mod variance {
    fn slab<'a>(slab: slab::Slab<&'static str>) -> slab::Slab<&'a str> {
        slab
    }
    fn into_iter<'a>(iter: slab::IntoIter<&'static str>) -> slab::IntoIter<&'a str> {
        iter
    }
    fn iter<'a>(iter: slab::Iter<'static, &'static str>) -> slab::Iter<'a, &'a str> {
        iter
    }
    fn iter_mut<'a, 'b>(iter: slab::IterMut<'static, &'b str>) -> slab::IterMut<'a, &'b str> {
        iter
    }
    static EMPTY: slab::Slab<u64> = slab::Slab::new();
}

/// Values that say when they are dropped, and may panic then.
mod drops {
    use std::cell::RefCell;

    use flatslab_compat_tests::{Random, outcome, programs};

    thread_local! {
        static LOG: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    #[derive(Clone)]
    struct Logged {
        number: u64,
        panics: bool,
    }

    impl Drop for Logged {
        fn drop(&mut self) {
            LOG.with_borrow_mut(|log| log.push(self.number));
            assert!(!self.panics, "{} is dropped", self.number);
        }
    }

    /// What happens to one of the crates: results of calls, and the numbers of dropped values.
    macro_rules! program {
        ($name:ident, $crate_name:ident) => {
            fn $name(seed: u64) -> Vec<String> {
                let mut random = Random::new(seed);
                let mut events = Vec::new();
                let mut slab = $crate_name::Slab::new();
                for number in 0..60 {
                    // One at most panics at a time: two would end the process.
                    let is_calm = slab.iter().all(|(_, value): (_, &Logged)| !value.panics);
                    let panics = is_calm && random.once_in(12);
                    let (key, taken) = (random.below(12), random.below(3));
                    let result = match random.below(16) {
                        0..8 => Ok(slab.insert(Logged { number, panics })),
                        8 => outcome(|| usize::from(slab.try_remove(key).is_some())),
                        9 => outcome(|| {
                            slab.retain(|_, value| value.number % 3 != 0);
                            0
                        }),
                        // After a panic `slab` would count values that are gone.
                        10 if is_calm => outcome(|| {
                            slab.clear();
                            0
                        }),
                        11 => outcome(|| slab.drain().take(taken).count()),
                        12 => outcome(|| std::mem::take(&mut slab).into_iter().take(taken).count()),
                        // The closure panics, and then a destructor may not.
                        13 if is_calm => outcome(|| {
                            slab.compact(|_, _, to| to != 2 || panic!("{to} is not wanted"));
                            0
                        }),
                        14 => outcome(|| {
                            let pairs = (0..3).map(|n| {
                                let (number, panics) = (1000 + n as u64, false);
                                (n / 2 + key, Logged { number, panics })
                            });
                            slab = pairs.collect();
                            slab.len()
                        }),
                        // Of a clone and its original, one destructor may panic.
                        _ if !is_calm => Ok(0),
                        _ => outcome(|| {
                            slab.shrink_to_fit();
                            slab = slab.clone();
                            slab.len()
                        }),
                    };
                    let dropped = LOG.take();
                    let left: Vec<_> = slab
                        .iter()
                        .map(|(key, value)| (key, value.number))
                        .collect();
                    events.push(format!(
                        "{number}: {result:?} {dropped:?} {left:?} {}",
                        slab.vacant_key()
                    ));
                }
                drop(outcome(|| drop(slab)));
                events.push(format!("{:?}", LOG.take()));
                events
            }
        };
    }
    program!(ours, slab);
    program!(theirs, real_slab);

    #[test]
    fn values_are_dropped_when_those_of_slab_are() {
        let mut panics = 0;
        for seed in 0..programs(300) {
            let (ours, theirs) = (ours(seed), theirs(seed));
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert_eq!(ours, theirs, "seed {seed}");
            }
            panics += ours
                .iter()
                .filter(|event| event.contains("is dropped"))
                .count();
        }
        assert!(
            panics as u64 > programs(60),
            "{panics} destructors panicked"
        );
    }
}
