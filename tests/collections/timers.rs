//! Timer wheels against maps from keys to deadlines.

use std::collections::BTreeMap;

use flatslab::collections::{SlotError, TimerWheel};
use flatslab::{AllocError, GenKey, Key, KeySlab};

use crate::random::{one_in, random, seed};
use crate::steps;

/// Takes all that is due.
fn pop_all(wheel: &mut TimerWheel, now: u64, mut due: impl FnMut(u64, Key)) {
    while let Some((deadline, key)) = wheel.pop_expired(now) {
        assert!(deadline <= now);
        due(deadline, key);
    }
    assert!(wheel.next_due().is_none_or(|next| next > now));
}

/// Random operations on a wheel whose time moves by random steps up to this power of 2.
fn is_like_a_map(time: u64, most: u32) {
    let mut wheel = TimerWheel::<Key>::builder()
        .capacity(300)
        .time(time)
        .build();
    let mut model = BTreeMap::new();
    let mut now = time;
    for _ in 0..steps() {
        let key = Key::from_raw(random(300) as u32);
        match random(8) {
            0..4 => {
                let far = random(1 << random(u64::from(most) + 4).min(62));
                let deadline = now.saturating_add(far);
                assert_eq!(wheel.start(key, deadline), Ok(model.insert(key, deadline)));
            }
            4 => {
                // What is over is due at once.
                let deadline = now.saturating_sub(random(100));
                assert_eq!(wheel.start(key, deadline), Ok(model.insert(key, deadline)));
            }
            5 => assert_eq!(wheel.stop(key), model.remove(&key)),
            6 => {
                now = now.saturating_add(random(1 << random(u64::from(most))));
                pop_all(&mut wheel, now, |deadline, key| {
                    assert_eq!(model.remove(&key), Some(deadline));
                });
                assert!(model.values().all(|deadline| *deadline > now));
                assert_eq!(wheel.time(), now);
            }
            _ if one_in(4000) => {
                let all: BTreeMap<_, _> = wheel.drain().map(|(due, key)| (key, due)).collect();
                assert_eq!(all, model);
                model.clear();
            }
            _ if one_in(400) => {
                now = time + random(1 << random(u64::from(most)));
                wheel.reset(now);
                model.clear();
            }
            _ => {
                assert_eq!(wheel.deadline(key), model.get(&key).copied());
                assert_eq!(wheel.contains(key), model.contains_key(&key));
            }
        }
        assert_eq!(wheel.len(), model.len());
        let (next, earliest) = (wheel.next_due(), model.values().min().copied());
        assert_eq!(next.is_some(), earliest.is_some());
        assert!(next <= earliest.map(|earliest| earliest.max(now)));
        if one_in(64) {
            let mut all: Vec<_> = wheel
                .iter()
                .map(|(deadline, key)| (key, deadline))
                .collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(model.iter().map(|it| (*it.0, *it.1))));
        }
    }
}

#[test]
fn a_wheel_is_like_a_map_from_keys_to_deadlines() {
    seed(1);
    for most in [1, 4, 9, 20, 50] {
        is_like_a_map(0, most);
    }
}

#[test]
fn a_wheel_is_like_a_map_at_the_end_of_time() {
    seed(2);
    is_like_a_map(u64::MAX - (1 << 20), 12);
    is_like_a_map(u64::MAX - (1 << 61), 55);
}

#[test]
fn with_a_call_for_each_tick_every_timer_is_due_at_its_deadline() {
    seed(3);
    let mut wheel = TimerWheel::with_capacity(20_000);
    let slots = if cfg!(miri) { 300 } else { 20_000 };
    let ticks = if cfg!(miri) { 5_000 } else { 300_000 };
    let mut due = 0;
    for slot in 0..slots {
        // Many of them in one block of the third level.
        let deadline = match slot % 2 {
            0 => ticks - 1 - random(4_000),
            _ => 1 + random(ticks - 1),
        };
        wheel.start(Key::from_raw(slot), deadline).unwrap();
    }
    for now in 1..ticks {
        while let Some((deadline, _)) = wheel.pop_due(now) {
            assert_eq!(deadline, now);
            due += 1;
        }
    }
    assert!(due == slots && wheel.is_empty());
}

#[test]
fn timers_that_are_started_again_all_the_time_do_not_delay_another_one() {
    let slots = if cfg!(miri) { 300 } else { 5_000 };
    let (timeout, ticks) = (30, if cfg!(miri) { 200 } else { 3_000 });
    let mut wheel = TimerWheel::with_capacity(slots as usize + 1);
    for slot in 0..=slots {
        let deadline = 1 + u64::from(slot) % timeout;
        wheel.start(Key::from_raw(slot), deadline).unwrap();
    }
    let silent = Key::from_raw(slots);
    let (mut busy, mut expired) = ((0..slots).cycle(), 0);
    // More of them than 64 for each tick of the timeout.
    for now in 1..ticks {
        while let Some((deadline, key)) = wheel.pop_due(now) {
            assert!(now - deadline < 5, "{key:?} of {deadline} at {now}");
            expired += u64::from(key == silent);
            wheel.start(key, now + timeout).unwrap();
        }
        assert!(wheel.deadline(silent).unwrap() + 5 > now);
        for slot in busy.by_ref().take(slots as usize / 15) {
            wheel.start(Key::from_raw(slot), now + timeout).unwrap();
        }
    }
    assert!(expired >= ticks / (timeout + 5));
}

#[test]
fn a_program_that_calls_until_next_due_is_later_has_no_timer_late() {
    let mut wheel = TimerWheel::with_capacity(1_001);
    for slot in 0..1_000 {
        wheel.start(Key::from_raw(slot), 100).unwrap();
    }
    wheel.start(Key::from_raw(1_000), 101).unwrap();
    assert_eq!(wheel.pop_due(99), None);
    for slot in 0..1_000 {
        wheel.start(Key::from_raw(slot), 500).unwrap();
    }
    // One call moves 64 of those that were due.
    for now in [100, 101] {
        assert_eq!(wheel.pop_due(now), None);
        assert!(wheel.time() < now && wheel.next_due() <= Some(now));
    }
    let mut due = Vec::new();
    pop_all(&mut wheel, 101, |deadline, key| due.push((deadline, key)));
    assert_eq!(due, [(101, Key::from_raw(1_000))]);
    assert_eq!((wheel.time(), wheel.len()), (101, 1_000));
    assert!((102..=500).contains(&wheel.next_due().unwrap()));
}

#[test]
fn after_a_jump_no_timer_is_lost_and_the_next_calls_find_all() {
    seed(4);
    let slots = 5_000;
    let mut wheel = TimerWheel::with_capacity(slots);
    // In one block of the third level, before and after those that are due.
    for slot in 0..slots as u32 {
        let is_due = slot % 2_500 == 2_499;
        let deadline = if is_due { 11_999 } else { 12_001 + random(200) };
        wheel.start(Key::from_raw(slot), deadline).unwrap();
    }
    let now = 12_000;
    let (mut due, mut turns) = (0, 0);
    loop {
        due += std::iter::from_fn(|| wheel.pop_due(now)).count();
        assert!(due <= 2);
        match wheel.next_due() {
            // It says that there may be more.
            Some(next) if next <= now => turns += 1,
            _ => break,
        }
    }
    assert_eq!(due, 2);
    assert!(
        (slots / 64 - 2..=slots / 64 + 2).contains(&turns),
        "{turns}"
    );
    assert_eq!(due + wheel.len(), slots);
    assert!(wheel.iter().all(|(deadline, _)| deadline > now));
}

#[test]
fn a_timer_that_is_near_is_due_exactly_when_next_due_says() {
    let mut wheel = TimerWheel::<Key>::builder().capacity(2).time(1_000).build();
    assert_eq!((wheel.next_due(), wheel.time()), (None, 1_000));
    wheel.start(Key::from_raw(0), 1_063).unwrap();
    wheel.start(Key::from_raw(1), u64::MAX).unwrap();
    assert_eq!(wheel.next_due(), Some(1_063));
    assert_eq!(wheel.pop_due(1_062), None);
    assert_eq!(wheel.pop_due(1_063), Some((1_063, Key::from_raw(0))));
    assert_eq!(wheel.pop_due(1_063), None);
    assert!(wheel.next_due().unwrap() > 1_063);
    // Time does not go back.
    assert_eq!((wheel.pop_due(5), wheel.time()), (None, 1_063));
    assert_eq!(wheel.pop_due(u64::MAX), Some((u64::MAX, Key::from_raw(1))));
    assert_eq!(wheel.start(Key::from_raw(1), 7), Ok(None));
    assert_eq!(wheel.pop_due(0), Some((7, Key::from_raw(1))));
    assert_eq!(wheel.next_due(), None);
}

#[test]
fn the_key_of_an_earlier_value_does_not_stop_the_timer_of_a_later_one() {
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    let mut wheel = TimerWheel::with_capacity(1);
    let first = slab.insert(());
    wheel.start(first, 5).unwrap();
    slab.remove(first);
    let second = slab.insert(());
    assert_eq!(second.index(), first.index());
    assert_eq!((wheel.stop(second), wheel.deadline(second)), (None, None));
    assert_eq!(wheel.start(second, 7), Ok(Some(5)));
    assert_eq!((wheel.stop(first), wheel.len()), (None, 1));
    assert_eq!(wheel.pop_due(7), Some((7, second)));
    assert_eq!((wheel.stop(second), wheel.pop_due(9)), (None, None));
}

#[test]
fn the_key_of_an_earlier_value_does_not_start_the_timer_of_a_later_one() {
    let mut slab: KeySlab<(), GenKey> = KeySlab::with_key();
    let mut wheel = TimerWheel::with_capacity(1);
    let first = slab.insert(());
    slab.remove(first);
    let second = slab.insert(());
    wheel.start(second, 10).unwrap();
    for deadline in [5, 10, 20] {
        let outdated = SlotError::Outdated { slot: 0 };
        assert_eq!(wheel.start(first, deadline), Err(outdated));
        assert_eq!(wheel.deadline(second), Some(10));
    }
    assert_eq!(wheel.pop_due(10), Some((10, second)));
    // No timer runs in the slot.
    assert_eq!(wheel.start(first, 20), Ok(None));
    assert_eq!(wheel.start(second, 30), Ok(Some(20)));
}

#[test]
fn a_program_that_calls_until_none_is_due_has_no_timer_late() {
    let slots = if cfg!(miri) { 300 } else { 20_000 };
    // As a clock has it, and no time was given.
    let begin = 1_764_000_000_000;
    let mut wheel = TimerWheel::with_capacity(slots as usize + 1);
    for slot in 0..slots {
        wheel.start(Key::from_raw(slot), begin + 10).unwrap();
    }
    wheel.start(Key::from_raw(slots), begin + 13).unwrap();
    for slot in 0..slots {
        wheel
            .start(Key::from_raw(slot), begin + 20 + u64::from(slot % 8))
            .unwrap();
    }
    let mut taken = 0;
    for now in begin..begin + 40 {
        while let Some((deadline, _)) = wheel.pop_expired(now) {
            assert_eq!(deadline, now);
            taken += 1;
        }
    }
    assert!(taken == slots + 1 && wheel.is_empty());
}

#[test]
fn timers_may_be_started_and_stopped_between_those_that_are_due() {
    let [one, two, three] = [0, 1, 2].map(Key::from_raw);
    let mut wheel = TimerWheel::with_capacity(3);
    for key in [one, two, three] {
        wheel.start(key, 10).unwrap();
    }
    let mut taken = Vec::new();
    while let Some((deadline, key)) = wheel.pop_expired(20) {
        taken.push((deadline, key));
        if deadline == 10 && key == one {
            wheel.start(one, 15).unwrap();
            wheel.stop(two);
        }
    }
    taken.sort();
    assert_eq!(taken, [(10, one), (10, three), (15, one)]);
    // The clock went back, to before the deadline.
    wheel.start(two, 5).unwrap();
    assert_eq!(wheel.pop_expired(4), Some((5, two)));
    assert_eq!((wheel.pop_expired(4), wheel.time()), (None, 20));
}

#[test]
fn a_wheel_that_was_drained_in_part_has_no_timer_and_its_time() {
    let mut wheel = TimerWheel::with_capacity(8);
    assert_eq!(wheel.pop_due(100), None);
    for raw in 0..8 {
        wheel
            .start(Key::from_raw(raw), 100 + u64::from(raw) * 1_000)
            .unwrap();
    }
    wheel.stop(Key::from_raw(0));
    assert_eq!(wheel.drain().next(), Some((1_100, Key::from_raw(1))));
    assert_eq!(
        (wheel.len(), wheel.time(), wheel.next_due()),
        (0, 100, None)
    );
    assert_eq!((wheel.iter().count(), wheel.drain().count()), (0, 0));
    wheel.start(Key::from_raw(3), 101).unwrap();
    assert_eq!(wheel.pop_due(101), Some((101, Key::from_raw(3))));
}

#[test]
fn a_wheel_has_the_bytes_that_its_page_says() {
    let slots = 10_000;
    let tables = TimerWheel::<Key>::with_capacity(0).bytes();
    assert!((16 << 10..=17 << 10).contains(&tables));
    let wheel = TimerWheel::<Key>::with_capacity(slots);
    assert_eq!(wheel.bytes(), tables + 24 * slots);
    let wheel = TimerWheel::<GenKey>::with_capacity(slots);
    assert_eq!(wheel.bytes(), tables + 32 * slots);
}

#[test]
fn a_key_of_a_slot_past_the_capacity_is_refused() {
    let mut wheel = TimerWheel::with_capacity(2);
    let error = SlotError::OutOfRange {
        slot: 2,
        capacity: 2,
    };
    assert_eq!(wheel.start(Key::from_raw(2), 1), Err(error));
    assert!(wheel.start(Key::from_raw(u32::MAX), 1).is_err());
    assert_eq!(wheel.stop(Key::from_raw(u32::MAX)), None);
    assert_eq!(wheel.len(), 0);

    wheel.start(Key::from_raw(1), 3).unwrap();
    wheel.try_grow(3).unwrap();
    wheel.start(Key::from_raw(2), 4).unwrap();
    assert_eq!(wheel.capacity(), 3);
    assert_eq!(wheel.pop_due(9), Some((3, Key::from_raw(1))));
    assert_eq!(wheel.pop_due(9), Some((4, Key::from_raw(2))));
    assert_eq!(wheel.pop_due(9), None);
    assert!(matches!(
        TimerWheel::<Key>::try_with_capacity(1 << 32),
        Err(AllocError::TooManySlots { .. })
    ));
}
