//! What must not compile of what goes across threads.

use std::cell::Cell;
use std::rc::Rc;

use flatslab::Slab;
use flatslab::sync::{
    BroadcastConsumer, BroadcastProducer, BroadcastReaders, BroadcastRing, Consumer, Entry,
    Follower, Frame, Pooled, Producer, SendSlot, SharedFrame, SharedKey, SharedPool, SharedRef,
    SharedRing, SharedSlab, SpscRing, Values,
};

fn local<T>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn both<T: Send + Sync>() {}

// # A value is sent only if its type may be

#[test]
fn cell_sent() {
    let slab = Slab::new();
    let sent = slab.insert(Cell::new(7)).into_send();
    std::thread::spawn(move || sent.set(8)).join().unwrap();
}

#[cfg(compile_fail)]
fn rc_sent() {
    let slab = Slab::new();
    let sent = slab.insert(Rc::new(7)).into_send(); //~ E0599
}

#[test]
fn handles_that_go() {
    send::<SendSlot<Cell<u64>>>();
    both::<SendSlot<u64>>();
}

#[cfg(compile_fail)]
fn handle_sent_or_shared() {
    send::<SendSlot<Rc<u64>>>(); //~ E0277
    send::<SendSlot<*const u64>>(); //~ E0277
    sync::<SendSlot<Cell<u64>>>(); //~ E0277
}

// # The slab stays on its thread

#[test]
fn value_dropped_on_another_thread() {
    let slab = Slab::new();
    let sent = slab.insert(7).into_send();
    std::thread::spawn(move || drop(sent)).join().unwrap();
    slab.reclaim();
}

#[cfg(compile_fail)]
fn value_received_on_another_thread() {
    let slab = Slab::new();
    let sent = slab.insert(7).into_send();
    std::thread::spawn(move || slab.receive(sent)) //~ E0277
        .join()
        .unwrap();
}

// # What a value borrows outlives its handle

#[test]
fn what_a_value_borrows_ends_last() {
    let text = String::from("text");
    let slab = Slab::new();
    let sent = slab.insert(text.as_str()).into_send();
    drop(slab);
    assert_eq!(*sent, "text");
}

#[cfg(compile_fail)]
fn what_a_value_borrows_ends_first() {
    let text = String::from("text");
    let slab = Slab::new();
    let sent = slab.insert(text.as_str()).into_send();
    drop(text); //~ E0505
    assert_eq!(*sent, "text");
}

// # A handle is invariant in its value's type, as the slot it came from

#[test]
fn handle_of_the_same_lifetime() {
    fn same<'a>(sent: SendSlot<&'a str>) -> SendSlot<&'a str> {
        sent
    }
}

#[cfg(compile_fail)]
fn handle_shortened<'a>(sent: SendSlot<&'static str>) -> SendSlot<&'a str> {
    sent //~ lifetime may not live long enough
}

// # Rings go to other threads, and so do their ends

#[test]
fn rings_and_their_ends() {
    both::<SpscRing>();
    both::<Producer>();
    both::<Consumer>();
    both::<Entry<'static>>();
    both::<Frame<'static>>();
    both::<Producer<Values<Sent>>>();
    both::<Consumer<Values<Sent>>>();
    both::<BroadcastRing<Sent>>();
    both::<BroadcastProducer<Sent>>();
    both::<BroadcastReaders<Sent>>();
    both::<BroadcastConsumer<Sent>>();
    both::<Follower<Sent>>();
    both::<SharedRing>();
    both::<SharedFrame>();
}

/// A value that may be sent, and not shared.
type Sent = std::marker::PhantomData<Cell<u64>>;

#[cfg(compile_fail)]
fn ends_of_values_that_stay() {
    send::<Producer<Values<*const u64>>>(); //~ E0277
    sync::<Consumer<Values<*const u64>>>(); //~ E0277
    send::<BroadcastProducer<*const u64>>(); //~ E0277
    sync::<BroadcastProducer<*const u64>>(); //~ E0277
    send::<BroadcastReaders<*const u64>>(); //~ E0277
    sync::<BroadcastReaders<*const u64>>(); //~ E0277
    send::<BroadcastConsumer<*const u64>>(); //~ E0277
    send::<Follower<*const u64>>(); //~ E0277
}

// # A value that is borrowed is read no longer than it may be

#[test]
fn a_borrowed_value_goes_through_a_ring() {
    let text = String::from("text");
    let (mut producer, mut consumer) = SpscRing::of_values(2).split();
    producer.push(text.as_str()).unwrap();
    assert_eq!(consumer.pop(), Some("text"));
    let (mut producer, readers) = BroadcastRing::with_capacity(2, 1).split();
    let mut consumer = readers.join().unwrap();
    producer.push(text.as_str()).unwrap();
    assert_eq!(consumer.pop(), Some("text"));
}

#[cfg(compile_fail)]
fn a_borrowed_value_outlives_what_it_borrows() {
    let (mut producer, mut consumer) = SpscRing::of_values(2).split();
    {
        let text = String::from("text");
        producer.push(text.as_str()).unwrap(); //~ E0597
    }
    consumer.pop();
}

#[cfg(compile_fail)]
fn a_producer_takes_no_shorter_borrows<'a>(
    producer: &'a mut Producer<Values<&'static str>>,
) -> &'a mut Producer<Values<&'a str>> {
    producer //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn a_broadcast_producer_takes_no_shorter_borrows<'a>(
    producer: BroadcastProducer<&'static str>,
) -> BroadcastProducer<&'a str> {
    producer //~ lifetime may not live long enough
}

// # A frame borrows its end, and an entry too

#[test]
fn one_frame_at_a_time() {
    let (mut producer, mut consumer) = SpscRing::with_capacity(2, 8).split();
    producer.push(b"1").unwrap();
    let frame = consumer.pop().unwrap();
    assert_eq!(*frame, *b"1");
    drop(frame);
    consumer.pop();
}

#[cfg(compile_fail)]
fn two_frames_at_a_time() {
    let (mut producer, mut consumer) = SpscRing::with_capacity(2, 8).split();
    producer.push(b"1").unwrap();
    let frame = consumer.pop().unwrap();
    consumer.pop(); //~ E0499
    assert_eq!(*frame, *b"1");
}

#[cfg(compile_fail)]
fn push_under_a_reserved_entry() {
    let (mut producer, _consumer) = SpscRing::with_capacity(2, 8).split();
    let entry = producer.vacant_entry().unwrap();
    producer.push(b"1").unwrap(); //~ E0499
    entry.commit();
}

// # A shared slab goes where its values may

#[test]
fn shared_slabs_and_their_guards() {
    local::<SharedSlab<Rc<u64>>>();
    send::<SharedSlab<Cell<u64>>>();
    both::<SharedSlab<u64>>();
    both::<SharedRef<u64, &'static SharedSlab<u64>>>();
    both::<SharedRef<u64>>();
    both::<SharedKey>();
}

#[cfg(compile_fail)]
fn shared_slab_sent_or_shared() {
    send::<SharedSlab<Rc<u64>>>(); //~ E0277
    sync::<SharedSlab<Cell<u64>>>(); //~ E0277
}

// A guard may be the one that drops the value, so its value has to be `Send`; and another
// thread may read it at once, so it has to be `Sync`.
#[cfg(compile_fail)]
fn guard_sent() {
    send::<SharedRef<Cell<u64>, &'static SharedSlab<Cell<u64>>>>(); //~ E0277
    send::<SharedRef<Cell<u64>>>(); //~ E0277
    send::<SharedRef<std::sync::MutexGuard<'static, u64>>>(); //~ E0277
}

// # What is exclusive waits for the guards

#[test]
fn exclusive_after_the_guards() {
    let mut slab = SharedSlab::with_capacity(1);
    let key = slab.insert(7).unwrap();
    let guard = slab.get(key).unwrap();
    assert_eq!(*guard, 7);
    drop(guard);
    *slab.get_mut(key).unwrap() = 8;
    slab.clear();
}

#[cfg(compile_fail)]
fn get_mut_under_a_guard() {
    let mut slab = SharedSlab::with_capacity(1);
    let key = slab.insert(7).unwrap();
    let guard = slab.get(key).unwrap();
    *slab.get_mut(key).unwrap() = 8; //~ E0502
    assert_eq!(*guard, 7);
}

#[cfg(compile_fail)]
fn clear_under_a_guard() {
    let mut slab = SharedSlab::with_capacity(1);
    let key = slab.insert(7).unwrap();
    let guard = slab.get(key).unwrap();
    slab.clear(); //~ E0502
    assert_eq!(*guard, 7);
}

#[cfg(compile_fail)]
fn guard_after_its_slab() {
    let slab = SharedSlab::with_capacity(1);
    let key = slab.insert(7).unwrap();
    let guard = slab.get(key).unwrap();
    drop(slab); //~ E0505
    assert_eq!(*guard, 7);
}

// # A guard is read through, not written

#[cfg(compile_fail)]
fn written_through_a_guard() {
    let slab = SharedSlab::with_capacity(1);
    let key = slab.insert(7).unwrap();
    *slab.get(key).unwrap() = 8; //~ E0594
}

// # A shared pool moves values between threads, and lends none to two

#[test]
fn shared_pools_and_their_guards() {
    local::<SharedPool<Rc<u64>>>();
    both::<SharedPool<Cell<u64>>>();
    send::<Pooled<Cell<u64>>>();
    send::<Pooled<Cell<u64>, &'static SharedPool<Cell<u64>>>>();
    both::<Pooled<u64>>();
    both::<Pooled<u64, &'static SharedPool<u64>>>();
}

#[cfg(compile_fail)]
fn shared_pool_sent_or_shared() {
    send::<SharedPool<Rc<u64>>>(); //~ E0277
    sync::<SharedPool<Rc<u64>>>(); //~ E0277
    send::<Pooled<Rc<u64>>>(); //~ E0277
    sync::<Pooled<Cell<u64>>>(); //~ E0277
    sync::<Pooled<std::sync::MutexGuard<'static, u64>>>(); //~ E0277
}

#[test]
fn pooled_value_before_its_pool() {
    let pool = SharedPool::with_capacity(1, || 7, |_| {});
    let value = pool.take();
    drop(value);
    drop(pool);
}

#[cfg(compile_fail)]
fn pooled_value_after_its_pool() {
    let pool = SharedPool::with_capacity(1, || 7, |_| {});
    let value = pool.take();
    drop(pool); //~ E0505
    drop(value);
}
