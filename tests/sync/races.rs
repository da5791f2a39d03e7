//! Where two threads meet, each meeting by itself: small enough for an interpreter to try many
//! orders of what they do (`ci/miri.sh`).

use std::sync::Barrier;
use std::thread;

use flatslab::sync::SendSlot;
use flatslab::{BoundedSlab, Slab};

use crate::counted::{Alive, without_leak};

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
