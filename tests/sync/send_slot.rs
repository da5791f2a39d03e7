//! Values that are handed to other threads, and their slots' way back.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;

use flatslab::memory::Pages;
use flatslab::sync::SendSlot;
use flatslab::{AccessError, BoundedSlab, Key, Memory, Slab, Slot, TrackedSlab};

use crate::common::random::{random, seed};
use crate::common::{Audit, amount, by_speed, panics};
use crate::counted::{Alive, Value, without_leak};

fn bounded<T>(slots: usize, pages: &Pages) -> BoundedSlab<T> {
    let builder = BoundedSlab::builder().capacity(slots);
    builder.pages(pages.clone()).try_build().unwrap()
}

fn growable<T>(pages: &Pages) -> Slab<T> {
    let builder = Slab::builder().chunk_capacity(1);
    builder.pages(pages.clone()).try_build().unwrap()
}

/// Ends a handle on another thread.
fn drop_there<T: Send>(sent: SendSlot<T>) {
    thread::scope(|scope| {
        scope.spawn(move || drop(sent));
    });
}

/// The slab goes with its thread, late; where thread-locals are not the platform's own, that of the
/// thread's number may be gone by then, and its memory another thread's.
#[test]
fn a_value_ends_elsewhere_while_the_slab_goes_with_its_thread() {
    static GOING: AtomicBool = AtomicBool::new(false);
    static ENDED: AtomicBool = AtomicBool::new(false);

    struct Mine(BoundedSlab<u64>);

    impl Drop for Mine {
        fn drop(&mut self) {
            GOING.store(true, Relaxed);
            while !ENDED.load(Relaxed) {
                thread::yield_now();
            }
            // Nothing orders the end before this, so the slot may not be back yet.
            drop(self.0.insert(1).unwrap());
        }
    }

    thread_local! {
        static SLAB: OnceCell<Mine> = const { OnceCell::new() };
    }

    let (sender, receiver) = mpsc::channel();
    let elsewhere = thread::spawn(move || {
        let sent: SendSlot<u64> = receiver.recv().unwrap();
        while !GOING.load(Relaxed) {
            thread::yield_now();
        }
        drop(sent);
        ENDED.store(true, Relaxed);
    });
    let owner = thread::spawn(move || {
        SLAB.with(|slab| {
            let slab = slab.get_or_init(|| Mine(BoundedSlab::with_capacity(4)));
            sender.send(slab.0.insert(7).unwrap().into_send()).unwrap();
        });
    });
    owner.join().unwrap();
    elsewhere.join().unwrap();
}

#[test]
fn a_slot_comes_back_from_another_thread() {
    let alive = Alive::default();
    let slab = BoundedSlab::with_capacity(2);
    let sent = slab.insert(alive.value(1)).unwrap().into_send();
    let key = SendSlot::key(&sent);
    let moved = slab.insert(alive.value(2)).unwrap().into_send();
    let moved = thread::spawn(move || {
        sent.expect(1);
        SendSlot::into_inner(moved)
    });
    let moved = moved.join().unwrap();
    moved.expect(2);
    assert_eq!(alive.count(), 1);
    assert_eq!(slab.reclaim(), 2);
    assert_eq!(slab.reclaim(), 0);
    assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Missing);
    assert!(slab.is_empty());
    slab.audit();
}

#[test]
fn an_insertion_finds_what_came_back() {
    without_leak(|pages| {
        let (bounded, growable) = (bounded(1, &pages), growable::<[u64; 512]>(&pages));
        for number in 0..5 {
            drop_there(bounded.insert(number).unwrap().into_send());
            drop_there(growable.insert([number; 512]).into_send());
            let vacant = bounded.vacant_slot().unwrap();
            assert!(bounded.is_full());
            drop(vacant);
        }
        assert_eq!((bounded.capacity(), growable.capacity()), (1, 1));
        bounded.audit();
        growable.audit();
    });
}

#[test]
#[cfg(feature = "std")]
fn a_handle_that_ends_on_its_slabs_thread_frees_its_slot_at_once() {
    fn run<M: Memory>(slab: &TrackedSlab<Value, M>, alive: &Alive) {
        let send = |number| {
            let slot = slab.try_insert(alive.value(number));
            slot.unwrap().into_send()
        };
        // The first one that is out, which notes the thread. (`len` would reclaim its slot.)
        drop(send(0));
        assert_eq!((slab.reclaim(), slab.len()), (0, 0));
        let mut capacities = Vec::new();
        for number in 0..3 {
            let (one, two) = (send(number), send(number));
            capacities.push(slab.capacity());
            let key = SendSlot::key(&one);
            drop(one);
            assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Missing);
            // As from where it went and came back.
            let two = thread::spawn(move || two).join().unwrap();
            SendSlot::into_inner(two).expect(number);
            assert_eq!((slab.reclaim(), slab.len()), (0, 0));
        }
        assert!(capacities.iter().all(|it| *it == slab.capacity()));
        // Beside one that ends elsewhere, and one that does later.
        let (one, two) = (send(1), send(2));
        thread::scope(|scope| {
            scope.spawn(|| drop(one));
        });
        drop(two);
        assert_eq!(slab.reclaim(), 1);
    }

    without_leak(|pages| run(&bounded(2, &pages), &Alive::default()));
    let slab = Slab::builder().chunk_capacity(2).build();
    run(&slab, &Alive::default());
    slab.audit();
}

/// Its destructor ends the slab of the handle: on that thread, but too late for a free slot.
#[test]
fn a_handle_ends_on_its_slabs_thread_while_its_value_ends_the_slab() {
    struct Ends(Option<Box<BoundedSlab<Ends>>>, bool);

    impl Drop for Ends {
        fn drop(&mut self) {
            drop(self.0.take());
            assert!(!self.1, "on purpose");
        }
    }

    // SAFETY: not sent anywhere.
    unsafe impl Send for Ends {}

    for is_panicking in [false, true] {
        let slab = Box::new(BoundedSlab::with_capacity(2));
        let mut sent = slab
            .insert(Ends(None, is_panicking))
            .ok()
            .unwrap()
            .into_send();
        let other = slab.insert(Ends(None, false)).ok().unwrap().into_send();
        sent.0 = Some(slab);
        assert_eq!(panics(|| drop(sent)), is_panicking);
        drop(other);
    }
}

/// A thread may have the number of one that has ended, whose slab was leaked.
#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_slab_that_is_leaked_gets_its_slots_back_from_any_thread() {
    for _ in 0..8 {
        let sent = thread::spawn(|| {
            let slab = BoundedSlab::<u64>::with_capacity(2);
            let sent = [1, 2].map(|number| slab.insert(number).unwrap().into_send());
            mem::forget(slab);
            sent
        });
        let [one, two] = sent.join().unwrap();
        thread::spawn(move || assert_eq!(SendSlot::into_inner(one), 1))
            .join()
            .unwrap();
        assert_eq!(SendSlot::into_inner(two), 2);
    }
}

/// What other threads gave back is freed a few slots at a time.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn an_insertion_pays_for_few_of_the_slots_that_came_back() {
    fn run<M: Memory>(slab: &TrackedSlab<Value, M>) {
        let count: usize = amount(10_000, 100);
        let alive = Alive::default();
        let sent: Vec<_> = (0..count as u64)
            .map(|number| slab.try_insert(alive.value(number)).unwrap().into_send())
            .collect();
        let capacity = slab.capacity();
        thread::scope(|scope| {
            scope.spawn(|| drop(sent));
        });
        let first = slab.try_insert(alive.value(1)).unwrap();
        let pending = slab.reclaim_some(usize::MAX);
        assert!(count - pending <= 64, "{pending}");
        assert_eq!((slab.len(), slab.capacity()), (1, capacity));
        first.get().expect(1);
        slab.audit();
    }
    without_leak(|pages| run(&bounded(amount(10_000, 100), &pages)));
    without_leak(|pages| run(&growable(&pages)));
}

/// A slab that made room before each burst grew each time: it did not count what came back.
#[test]
fn room_is_made_of_the_slots_that_came_back() {
    let ways: [fn(&Slab<u64>); 2] = [|slab| slab.prepare(8).unwrap(), |slab| slab.reserve(8)];
    for make_room in ways {
        let slab = Slab::builder().chunk_capacity(8).build();
        for _ in 0..4 {
            make_room(&slab);
            let sent: Vec<_> = (0..8)
                .map(|number| slab.insert(number).into_send())
                .collect();
            thread::scope(|scope| {
                scope.spawn(|| drop(sent));
            });
        }
        make_room(&slab);
        // Small chunks are rounded up.
        assert_eq!((slab.chunks(), slab.len()), (1, 0));
    }
}

/// Whatever is done next, with a part of what came back freed and the rest not.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn slots_that_are_yet_to_be_freed_are_found_by_all_that_needs_them() {
    let after: [fn(BoundedSlab<Value>, &Alive); 7] = [
        |slab, _| drop(slab),
        |slab, _| assert_eq!(slab.len(), 0),
        |slab, _| assert_eq!(slab.free_slots(), 8),
        |slab, _| assert!(slab.iter().next().is_none() && slab.free_slots() == 8),
        |slab, _| assert_eq!((slab.clear(), slab.reclaim()), ((), 0)),
        |slab, alive| {
            // More come back while some are yet to be freed.
            let slot = slab.insert(alive.value(1)).unwrap();
            drop_there(slot.into_send());
            assert_eq!((slab.reclaim(), slab.reclaim()), (6, 0));
        },
        |slab, alive| {
            let slots: Vec<_> = (0..8)
                .map(|it| slab.insert(alive.value(it)).unwrap())
                .collect();
            assert!(slab.is_full() && slab.len() == 8);
            drop(slab);
            drop(slots);
        },
    ];
    for after in after {
        without_leak(|pages| {
            let alive = Alive::default();
            let slab = bounded(8, &pages);
            let sent: Vec<_> = (0..8)
                .map(|number| slab.insert(alive.value(number)).unwrap().into_send())
                .collect();
            sent.into_iter().for_each(drop_there);
            assert_eq!((slab.reclaim_some(0), slab.reclaim_some(3)), (0, 3));
            after(slab, &alive);
            assert_eq!(alive.count(), 0);
        });
    }
}

#[test]
fn full_is_said_only_while_a_value_is_out() {
    let slab = BoundedSlab::with_capacity(1);
    let sent = slab.insert(7).unwrap().into_send();
    assert!(slab.is_full() && slab.try_insert(8).is_err());
    assert_eq!((slab.len(), slab.free_slots()), (1, 0));
    drop_there(sent);
    assert_eq!((slab.len(), slab.free_slots()), (0, 1));
    assert!(!slab.is_full() && slab.try_insert(8).is_ok());
}

#[test]
fn a_value_that_is_out_is_borrowed_for_its_slab() {
    fn expect_conflict<M: Memory>(slab: &TrackedSlab<Value, M>, key: Key) {
        assert!(panics(|| slab.get(key)) && panics(|| slab.get_mut(key)));
        assert!(panics(|| slab.remove_by_key(key)));
        assert!(panics(|| slab.clear()) && panics(|| slab.drain()));
        assert!(panics(|| slab.retain(|_, _| true)));
        assert!(panics(|| slab.iter().count()));
        assert_eq!(slab.try_clear(), Err(AccessError::Borrowed));
        assert_eq!(slab.try_retain(|_, _| false), 1);
        assert_eq!(slab.len(), 1);
    }

    let alive = Alive::default();
    let (bounded, growable) = (BoundedSlab::with_capacity(1), Slab::new());
    let one = bounded.insert(alive.value(1)).unwrap().into_send();
    let two = growable.insert(alive.value(2)).into_send();
    expect_conflict(&bounded, SendSlot::key(&one));
    expect_conflict(&growable, SendSlot::key(&two));
    one.expect(1);
    two.expect(2);
    drop_there(one);
    drop_there(two);
    // It is gone, and no method that removes values says that it is borrowed.
    bounded.clear();
    growable.retain(|_, _| panic!("there is none"));
    assert_eq!(growable.drain().count(), 0);
    assert_eq!(alive.count(), 0);
}

#[test]
fn chunks_are_given_back_whose_values_went_elsewhere() {
    let slab = Slab::<[u64; 64]>::builder().chunk_capacity(2).build();
    let sent: Vec<_> = (0..8).map(|it| slab.insert([it; 64]).into_send()).collect();
    assert_eq!(slab.chunks(), 4);
    slab.shrink_to_fit();
    assert_eq!(slab.chunks(), 4);
    sent.into_iter().for_each(drop_there);
    slab.shrink_to_fit();
    assert_eq!(slab.chunks(), 0);
}

#[test]
fn a_value_may_come_back_as_the_slot_it_was() {
    without_leak(|pages| {
        let alive = Alive::default();
        let (slab, other) = (bounded(1, &pages), bounded(1, &pages));
        let mut sent = slab.insert(alive.value(1)).unwrap().into_send();
        for _ in 0..3 {
            let there = thread::spawn(move || {
                sent.expect(1);
                sent
            });
            let back = there.join().unwrap();
            let back = other.receive(back).unwrap_err();
            let slot: Slot<Value> = slab.receive(back).unwrap();
            slot.get().expect(1);
            assert!(slot.is_valid() && slab.len() == 1);
            sent = slot.into_send();
        }
        drop(slab);
        // Its slab is gone, and this is another one.
        let slab = bounded(1, &pages);
        let sent = slab.receive(sent).unwrap_err();
        sent.expect(1);
        drop(sent);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn what_is_not_the_slots_own_is_not_sent() {
    let slab = BoundedSlab::with_capacity(3);
    let slot = slab.insert(7).unwrap();
    let key = slot.key();
    let guard = slab.get(key).unwrap();
    let slot = slot.try_into_send().unwrap_err();
    drop(guard);
    slab.remove_by_key(key);
    let stale = slot.try_into_send().unwrap_err();
    assert!(!stale.is_valid() && panics(|| stale.into_send()));
    // A value that was put into a slot of a slab that is gone.
    let vacant = slab.vacant_slot().unwrap();
    drop(slab);
    let late = vacant.insert(8).try_into_send().unwrap_err();
    assert_eq!(late.into_inner(), 8);
}

#[test]
fn a_destructor_that_panics_gives_the_slot_back() {
    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }

    let slab = BoundedSlab::with_capacity(1);
    let sent = slab.insert(Panics).unwrap().into_send();
    thread::scope(|scope| {
        scope.spawn(move || assert!(panics(|| drop(sent))));
    });
    assert_eq!(slab.reclaim(), 1);
    let sent = slab.insert(Panics).unwrap().into_send();
    drop(slab);
    thread::scope(|scope| {
        scope.spawn(move || assert!(panics(|| drop(sent))));
    });
}

/// What is dropped, and in which order.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    Slab,
    Local,
    Sent,
}

#[test]
fn slab_and_handles_end_in_every_order_without_a_leak() {
    use End::{Local, Sent, Slab};

    fn run<M: Memory>(slab: TrackedSlab<Value, M>, order: [End; 3], alive: &Alive) {
        let insert = |number| slab.try_insert(alive.value(number)).unwrap();
        let (slot, boxed, vacant) = (insert(1), insert(2).into_box(), slab.try_vacant_slot());
        let (one, two) = (insert(3).into_send(), insert(4).into_send());
        let mut local = Some((slot, boxed, vacant.unwrap()));
        let (sender, receiver) = mpsc::channel::<SendSlot<Value>>();
        let there = thread::spawn(move || receiver.into_iter().for_each(drop));
        let mut sent = Some((sender, one, two));
        let mut slab = Some(slab);
        for end in order {
            match end {
                Slab => drop(slab.take()),
                Local => drop(local.take()),
                Sent => {
                    let (sender, one, two) = sent.take().unwrap();
                    sender.send(two).unwrap();
                    one.expect(3);
                    SendSlot::into_inner(one).expect(3);
                }
            }
        }
        there.join().unwrap();
        assert_eq!(alive.count(), 0, "{order:?}");
    }

    let alive = Alive::default();
    for order in [
        [Slab, Local, Sent],
        [Slab, Sent, Local],
        [Local, Slab, Sent],
        [Local, Sent, Slab],
        [Sent, Slab, Local],
        [Sent, Local, Slab],
    ] {
        without_leak(|pages| run(bounded(6, &pages), order, &alive));
        without_leak(|pages| run(growable(&pages), order, &alive));
    }
}

#[test]
fn the_thread_that_receives_may_end_first_and_the_slabs_thread_too() {
    without_leak(|pages| {
        let alive = Alive::default();
        let (sender, receiver) = mpsc::channel();
        // The slab's thread ends, and its slab, while its values are on their way.
        let count = amount(100, 5);
        let owner = thread::spawn({
            let (alive, pages) = (alive.clone(), pages.clone());
            move || {
                let slab = growable(&pages);
                for number in 0..count {
                    sender
                        .send(slab.insert(alive.value(number)).into_send())
                        .unwrap();
                }
            }
        });
        owner.join().unwrap();
        assert_eq!(alive.count(), count as usize);
        let (back, home) = mpsc::channel();
        let middle = thread::spawn(move || receiver.iter().for_each(|it| back.send(it).unwrap()));
        middle.join().unwrap();
        for (number, sent) in home.iter().enumerate() {
            sent.expect(number as u64);
        }
        assert_eq!(alive.count(), 0);
    });
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn forgotten_handles_keep_their_slots_and_no_others() {
    let alive = Alive::default();
    let slab = BoundedSlab::with_capacity(2);
    mem::forget(slab.insert(alive.value(1)).unwrap().into_send());
    for number in 0..3 {
        drop_there(slab.insert(alive.value(number)).unwrap().into_send());
    }
    assert_eq!((slab.len(), slab.free_slots()), (1, 1));
    let out = slab.insert(alive.value(2)).unwrap().into_send();
    drop(slab);
    out.expect(2);
    drop_there(out);
    assert_eq!(alive.count(), 1);
}

#[test]
fn values_of_every_size_and_alignment_are_sent() {
    #[repr(align(64))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Line(u8);
    #[repr(align(4096))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Page(u8);
    #[repr(align(64))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Nothing;

    fn run<T: Copy + PartialEq + std::fmt::Debug + Send>(value: T) {
        let slab = BoundedSlab::with_capacity(3);
        for _ in 0..2 {
            let sent: Vec<_> = (0..3)
                .map(|_| slab.insert(value).unwrap().into_send())
                .collect();
            thread::scope(|scope| {
                scope.spawn(move || {
                    for sent in sent {
                        assert_eq!((&raw const *sent).addr() % align_of::<T>(), 0);
                        assert_eq!(SendSlot::into_inner(sent), value);
                    }
                });
            });
        }
        slab.audit();
    }

    run(());
    run(7_u8);
    run([7_u8; 3]);
    run(7_u32);
    run([7_u8; 5]);
    run(7_u64);
    run([7_u8; 17]);
    run(7_u128);
    run([7_u64; 8]);
    run(Nothing);
    run(Line(7));
    run(Page(7));
    run([7_u8; 65536]);
}

#[test]
fn handles_print_their_values() {
    let slab = Slab::new();
    let sent = slab.insert(7).into_send();
    assert_eq!(
        (format!("{sent:?}"), format!("{sent}")),
        ("7".into(), "7".into())
    );
}

/// Slots, values that are out, and where those are, as random steps leave them.
struct World<M: Memory> {
    slab: TrackedSlab<Value, M>,
    alive: Alive,
    slots: HashMap<u64, Slot<Value>>,
    out: HashMap<u64, SendSlot<Value>>,
    keys: HashMap<u64, Key>,
    next: u64,
}

impl<M: Memory> World<M> {
    fn new(slab: TrackedSlab<Value, M>) -> Self {
        World {
            slab,
            alive: Alive::default(),
            slots: HashMap::new(),
            out: HashMap::new(),
            keys: HashMap::new(),
            next: 0,
        }
    }

    fn any<H>(of: &HashMap<u64, H>) -> Option<u64> {
        let mut numbers: Vec<_> = of.keys().copied().collect();
        numbers.sort_unstable();
        let index = random(numbers.len().max(1) as u64) as usize;
        numbers.get(index).copied()
    }

    fn step(&mut self) {
        match random(9) {
            0..=2 => {
                let number = self.next;
                self.next += 1;
                if let Ok(slot) = self.slab.try_insert(self.alive.value(number)) {
                    self.keys.insert(number, slot.key());
                    self.slots.insert(number, slot);
                }
            }
            3 | 4 => {
                if let Some(number) = Self::any(&self.slots) {
                    let slot = self.slots.remove(&number).unwrap();
                    self.out.insert(number, slot.into_send());
                }
            }
            5 | 6 => {
                if let Some(number) = Self::any(&self.out) {
                    let sent = self.out.remove(&number).unwrap();
                    sent.expect(number);
                    match random(3) {
                        0 => drop_there(sent),
                        1 => SendSlot::into_inner(sent).expect(number),
                        _ => {
                            let slot = self.slab.receive(sent).unwrap();
                            self.slots.insert(number, slot);
                            return;
                        }
                    }
                    self.keys.remove(&number);
                }
            }
            7 => {
                self.slab.reclaim_some(random(3) as usize);
            }
            _ => {
                let number = Self::any(&self.slots);
                drop(number.and_then(|number| {
                    self.keys.remove(&number);
                    self.slots.remove(&number)
                }));
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.alive.count(), self.slots.len() + self.out.len());
        // Frees all that came back, so not after each step.
        if random(4) > 0 {
            return;
        }
        assert_eq!(self.slab.len(), self.keys.len());
        for (number, slot) in &self.slots {
            slot.get().expect(*number);
        }
        for (number, sent) in &self.out {
            sent.expect(*number);
            let found = self.slab.try_get(self.keys[number]).err();
            assert_eq!(found, Some(AccessError::Borrowed));
        }
        assert_eq!(self.slab.keys().count(), self.keys.len());
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn random_steps_do_as_the_model() {
    fn run<M: Memory>(slab: TrackedSlab<Value, M>, number: u64) {
        seed(number);
        let mut world = World::new(slab);
        for _ in 0..amount(400, 25) {
            world.step();
            world.check();
        }
        world.slab.audit();
        let World {
            slab,
            slots,
            out,
            alive,
            ..
        } = world;
        if number % 2 == 0 {
            drop((slab, slots));
            out.into_values().for_each(drop_there);
        } else {
            drop((out, slots, slab));
        }
        assert_eq!(alive.count(), 0);
    }

    for number in 0..amount(40, 1) {
        without_leak(|pages| run(bounded(6, &pages), number));
        without_leak(|pages| run(growable(&pages), number));
    }
}

/// Each of two threads hands its values to the other one.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_great_many_values_each_way_arrive_once_and_whole() {
    let count: u64 = amount(by_speed(1_000_000, 200_000), 40);
    without_leak(|pages| {
        let alive = Alive::default();
        let (to_left, left) = mpsc::sync_channel::<SendSlot<Value>>(64);
        let (to_right, right) = mpsc::sync_channel::<SendSlot<Value>>(64);
        let run = |from: mpsc::Receiver<SendSlot<Value>>, to: mpsc::SyncSender<_>| {
            let slab: BoundedSlab<Value> = bounded(100, &pages);
            let (mut sent, mut received, mut sum) = (0, 0, 0_u64);
            while sent < count || received < count {
                if sent < count {
                    if let Ok(slot) = slab.try_insert_with(|_| alive.value(sent)) {
                        match to.try_send(slot.into_send()) {
                            Ok(()) => sent += 1,
                            // Taken back: the other thread is not so far.
                            Err(refused) => drop(refused),
                        }
                    }
                }
                // Several at a time, so that slots are out and come back in turns.
                for value in from.try_iter().take(random(8) as usize) {
                    value.expect(received);
                    received += 1;
                    sum = sum.wrapping_add(value.number);
                }
                if sent == count && received < count {
                    thread::yield_now();
                }
            }
            assert_eq!(sum, (0..count).sum::<u64>());
            // Some of its values are still on their way.
            drop(slab);
        };
        thread::scope(|scope| {
            scope.spawn(|| run(left, to_right));
            run(right, to_left);
        });
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn a_value_that_ended_elsewhere_is_in_no_walk() {
    let slab = BoundedSlab::with_capacity(2);
    let key = slab.insert(1).unwrap().leak();
    let end_one = || drop_there(slab.insert(2).unwrap().into_send());
    end_one();
    assert!(slab.iter().map(|(key, _)| key).eq([key]));
    end_one();
    assert!(slab.iter_mut().map(|(key, _)| key).eq([key]));
    end_one();
    assert!(slab.try_iter().all(|(_, value)| value.is_ok()));
    end_one();
    assert!(slab.try_iter_mut().all(|(_, value)| value.is_ok()));
    end_one();
    assert!(slab.keys().eq([key]));
    end_one();
    assert_eq!(slab.try_retain(|_, _| true), 0);
    end_one();
    let mut drain = slab.try_drain();
    assert_eq!((drain.next(), drain.next()), (Some((key, 1)), None));
    assert_eq!(drain.left(), 0);
}
