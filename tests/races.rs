//! Where two threads meet, each meeting by itself: small enough for an interpreter to try many
//! orders of what they do (`ci/miri.sh`).

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]

#[path = "sync/counted.rs"]
mod counted;
#[path = "memory/source.rs"]
#[allow(dead_code, reason = "a part of it is for slabs")]
mod source;

use std::sync::Barrier;
use std::thread;

use flatslab::bytes::ByteArena;
use flatslab::memory::Pages;
use flatslab::pool::{PoolBox, PoolStorage, SendBox};
#[cfg(feature = "std")]
use flatslab::sync::SharedRing;
use flatslab::sync::{SendSlot, SpscRing};
#[cfg(target_has_atomic = "64")]
use flatslab::sync::{SharedRef, SharedSlab};
use flatslab::{BoundedSlab, Slab};

use counted::{Alive, Value, without_leak};

/// Runs both at once, or nearly so.
fn meet<A: Send, B>(there: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            barrier.wait();
            there()
        });
        barrier.wait();
        let mine = here();
        (other.join().unwrap(), mine)
    })
}

#[test]
fn a_value_is_dropped_while_its_slot_is_wanted() {
    let alive = Alive::default();
    let slab = BoundedSlab::with_capacity(1);
    let sent = slab.insert(alive.value(1)).unwrap().into_send();
    meet(
        || drop(sent),
        || {
            for number in 2..6 {
                if let Ok(slot) = slab.try_insert_with(|_| alive.value(number)) {
                    slot.into_send().expect(number);
                }
            }
        },
    );
    assert_eq!((slab.len(), alive.count()), (0, 0));
}

#[test]
fn values_come_back_from_two_threads_while_slots_are_freed() {
    let alive = Alive::default();
    let slab = Slab::new();
    let mut sent = (0..4).map(|number| slab.insert(alive.value(number)).into_send());
    let [one, two, three, four] = [(); 4].map(|()| sent.next().unwrap());
    drop(sent);
    meet(
        || {
            meet(
                || drop((one, two)),
                || SendSlot::into_inner(three).expect(2),
            )
        },
        || while slab.reclaim() == 0 {},
    );
    drop(four);
    assert_eq!((slab.len(), alive.count()), (0, 0));
}

#[test]
fn values_of_a_static_pool_end_on_two_threads_while_cells_are_wanted() {
    static STORAGE: PoolStorage<Value, 3> = PoolStorage::new();
    // Each order is a process of its own.
    let pool = &*STORAGE.claim().unwrap();
    let alive = Alive::default();
    let send = |number| {
        Some(PoolBox::into_send(
            pool.try_alloc(alive.value(number)).ok()?,
        ))
    };
    let [one, two, three] = [1, 2, 3].map(|number| send(number).unwrap());
    let (kept, ()) = meet(
        || {
            let (two, kept) = meet(
                || {
                    drop(one);
                    three
                },
                || SendBox::into_inner(two),
            );
            kept.expect(2);
            two
        },
        || {
            for number in 4..8 {
                if let Some(sent) = send(number) {
                    sent.expect(number);
                }
                pool.reclaim();
            }
        },
    );
    let kept = pool.receive(kept).unwrap();
    kept.expect(3);
    drop(kept);
    pool.reclaim();
    assert_eq!((pool.len(), alive.count()), (0, 0));
}

#[test]
fn a_slab_ends_while_its_values_do() {
    without_leak(|pages| {
        let alive = Alive::default();
        let builder = BoundedSlab::builder().capacity(3).pages(pages);
        let slab = builder.try_build().unwrap();
        let insert = |number| slab.insert(alive.value(number)).unwrap();
        let (one, two, local) = (insert(1).into_send(), insert(2).into_send(), insert(3));
        meet(|| meet(|| drop(one), || drop(two)), || drop((slab, local)));
        assert_eq!(alive.count(), 0);
    });
}

/// A slab that grows, and three values of it that were sent.
fn with_three_sent(pages: Pages, alive: &Alive) -> (Slab<Value>, [SendSlot<Value>; 3]) {
    let builder = Slab::builder().chunk_capacity(1).pages(pages);
    let slab = builder.try_build().unwrap();
    let sent = [0, 1, 2].map(|number| slab.insert(alive.value(number)).into_send());
    (slab, sent)
}

#[test]
fn a_value_is_retired_while_its_slab_looks_at_it() {
    without_leak(|pages| {
        let alive = Alive::default();
        let (slab, [one, two, three]) = with_three_sent(pages, &alive);
        let key = SendSlot::key(&one);
        meet(
            || {
                for sent in [one, two, three] {
                    assert!(SendSlot::retire(sent).is_ok());
                }
            },
            || {
                assert_eq!(slab.keys().count(), 3);
                assert!(slab.try_iter().all(|(_, value)| value.is_err()));
                assert!(slab.try_get(key).is_err() && slab.contains_key(key));
                slab.shrink_to_fit();
                assert!(slab.reclaim_some(1) <= 1);
                assert!(slab.keys().count() >= 2);
            },
        );
        slab.reclaim();
        assert_eq!(
            (slab.len(), slab.retired_values(), alive.count()),
            (0, 0, 0)
        );
    });
}

#[test]
fn values_are_retired_while_their_slab_goes() {
    without_leak(|pages| {
        let alive = Alive::default();
        let (slab, [one, two, three]) = with_three_sent(pages, &alive);
        meet(
            || {
                meet(
                    || drop(SendSlot::retire(one)),
                    || (drop(SendSlot::retire(two)), drop(three)),
                )
            },
            || drop(slab),
        );
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn a_local_handle_ends_last_or_another_one_does() {
    without_leak(|pages| {
        let slab = Slab::builder().pages(pages).try_build().unwrap();
        let (local, sent) = (slab.insert(1).into_box(), slab.insert(2).into_send());
        drop(slab);
        let (there, here) = meet(
            || SendSlot::into_inner(sent),
            || flatslab::SlotBox::into_inner(local),
        );
        assert_eq!((there, here), (2, 1));
    });
}

#[cfg(target_has_atomic = "64")]
#[test]
fn a_shared_value_is_read_while_it_is_removed_and_another_comes() {
    let alive = Alive::default();
    let slab = SharedSlab::with_capacity(1);
    let key = slab.insert(alive.value(1)).unwrap();
    meet(
        || {
            if let Some(guard) = slab.get(key) {
                guard.expect(1);
            }
            assert!(slab.get(key).is_none_or(|guard| guard.number == 1));
        },
        || {
            assert!(slab.remove(key) && !slab.contains_key(key));
            // Its slot is free once the reader has gone.
            while slab.insert_with(|_| alive.value(2)).is_err() {
                thread::yield_now();
            }
        },
    );
    assert!(slab.get(key).is_none());
    assert_eq!((slab.len(), alive.count()), (1, 1));
}

#[cfg(target_has_atomic = "64")]
#[test]
#[cfg(target_has_atomic = "64")]
fn shared_values_are_retired_while_another_thread_drops_them() {
    let alive = Alive::default();
    let slab = SharedSlab::with_capacity(2);
    let guards = [1, 2].map(|number| {
        let key = slab.insert(alive.value(number)).unwrap();
        let guard = slab.get(key).unwrap();
        slab.remove(key);
        guard
    });
    let ((), early) = meet(
        || guards.into_iter().for_each(SharedRef::retire),
        || slab.reclaim(),
    );
    assert_eq!((early + slab.reclaim(), alive.count()), (2, 0));
    assert!(slab.is_empty());
}

#[test]
fn two_threads_remove_one_shared_value() {
    let alive = Alive::default();
    let slab = SharedSlab::with_capacity(2);
    let key = slab.insert(alive.value(1)).unwrap();
    let reader = slab.get(key);
    let (there, here) = meet(
        || {
            let removed = slab.remove(key);
            drop(reader);
            removed
        },
        || slab.try_take(key).is_ok() || slab.remove(key),
    );
    assert!(there != here, "by one of them");
    assert_eq!((slab.len(), alive.count()), (0, 0));
}

#[cfg(target_has_atomic = "64")]
#[test]
fn threads_take_the_last_shared_slots() {
    let slab = SharedSlab::with_capacity(2);
    let churn = || {
        for number in 0..3 {
            let key = slab.insert(number).expect("each of the two has one");
            assert_eq!(slab.try_take(key), Ok(number));
        }
    };
    meet(churn, churn);
    assert!(slab.is_empty() && !slab.is_full());
}

#[test]
fn the_last_references_to_a_buffer_end_while_its_arena_does() {
    let arena = ByteArena::builder()
        .atomic()
        .smallest(16)
        .chunk_bytes(256)
        .build();
    let one = arena.try_copy(b"one").unwrap();
    let (two, three) = (one.clone(), one.slice(1..));
    meet(
        || {
            assert_eq!(*two, *b"one");
            drop(two);
        },
        || meet(|| drop(one), || drop(arena)),
    );
    assert_eq!(*three, *b"ne");
}

#[test]
fn a_buffer_comes_back_while_one_is_wanted() {
    let arena = ByteArena::builder()
        .atomic()
        .smallest(16)
        .chunk_bytes(64)
        .build();
    let sent = arena.try_copy(b"sent").unwrap();
    meet(
        || drop(sent),
        || {
            for _ in 0..3 {
                assert_eq!(*arena.try_copy(b"here").unwrap(), *b"here");
            }
        },
    );
}

#[test]
fn entries_of_a_ring_arrive_in_their_order() {
    let (mut producer, mut consumer) = SpscRing::with_capacity(1, 8).split();
    meet(
        move || {
            for number in 0..4_u64 {
                while producer.push(&number.to_le_bytes()).is_err() {
                    thread::yield_now();
                }
            }
        },
        move || {
            for number in 0..4_u64 {
                loop {
                    if let Some(frame) = consumer.pop() {
                        assert_eq!(*frame, number.to_le_bytes());
                        break;
                    }
                    thread::yield_now();
                }
            }
        },
    );
}

#[cfg(feature = "std")]
#[test]
fn a_shared_ring_is_written_by_one_thread_and_read_by_another() {
    let ring = SharedRing::with_capacity(2, 8);
    let (sum, evicted) = meet(
        || {
            let mut evicted = 0;
            for number in 1..6_u64 {
                let pushed = ring.push(&number.to_le_bytes()).unwrap();
                evicted += pushed.map_or(0, |it| it.count);
            }
            evicted
        },
        || {
            let (mut popped, mut last) = (0, 0);
            while last < 5 {
                let frame = ring.pop_wait().unwrap();
                let number = u64::from_le_bytes((*frame).try_into().unwrap());
                assert!(number > last, "in their order");
                last = number;
                popped += 1;
            }
            popped
        },
    );
    assert_eq!(sum + evicted, 5);
}
