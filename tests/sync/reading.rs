//! Entries of a ring of two threads that a reader fills in place.

use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::thread;

use flatslab::sync::{Entry, SpscRing};

use crate::common::readers::{Reader, fails, lies, looks, message};

/// The bytes that a reader is lent, which fills them with `byte`.
fn seen(entry: &mut Entry<'_>, byte: u8) -> Vec<u8> {
    let mut seen = Vec::new();
    entry.read_from(&mut looks(&mut seen, byte)).unwrap();
    seen
}

#[test]
fn one_call_fills_what_there_is_room_for_after_what_is_there() {
    let (mut producer, mut consumer) = SpscRing::with_capacity(1, 10).split();
    let mut entry = producer.vacant_entry().unwrap();
    entry.extend_from_slice(b"ab").unwrap();
    let mut input = &b"0123456789"[..];
    assert_eq!(entry.read_from(&mut input).unwrap(), 8);
    let mut never = Reader(|_: &mut [u8]| panic!("there is no room"));
    let error = entry.read_from(&mut never).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    entry.commit();
    assert_eq!(
        (&*consumer.pop().unwrap(), input),
        (&b"ab01234567"[..], &b"89"[..])
    );
}

#[test]
fn readers_that_fail_lie_or_panic_fill_nothing() {
    let (mut producer, mut consumer) = SpscRing::with_capacity(1, 10).split();
    let mut entry = producer.vacant_entry().unwrap();
    entry.extend_from_slice(b"ab").unwrap();
    let error = entry.read_from(&mut fails(ErrorKind::Interrupted));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Interrupted);
    for by in [1, u32::MAX as usize, usize::MAX] {
        let message = message(|| drop(entry.read_from(&mut lies(by))));
        assert!(message.contains("buffer of 8 bytes"), "{message}");
    }
    let mut panicking = Reader(|_: &mut [u8]| panic!("in a reader"));
    assert!(message(|| drop(entry.read_from(&mut panicking))).contains("in a reader"));
    assert_eq!(*entry, *b"ab");
    entry.commit();
    assert_eq!(*consumer.pop().unwrap(), *b"ab");
}

#[test]
fn the_room_is_filled_with_zeros_once_for_each_place() {
    let (mut producer, mut consumer) = SpscRing::with_capacity(2, 10).split();
    for round in 0..6_u8 {
        let mut entry = producer.vacant_entry().unwrap();
        let expected = [round.saturating_sub(2); 10];
        assert_eq!(seen(&mut entry, round), expected);
        entry.commit();
        assert_eq!(*consumer.pop().unwrap(), [round; 10]);
    }
    // Not committed, and uninitialised again, by safe code.
    let mut entry = producer.vacant_entry().unwrap();
    assert_eq!(seen(&mut entry, 7), [4; 10]);
    drop(entry);
    let mut entry = producer.vacant_entry().unwrap();
    assert_eq!(seen(&mut entry, 8), [7; 10]);
    entry.truncate(3);
    entry.spare_capacity_mut()[6] = MaybeUninit::uninit();
    assert_eq!(seen(&mut entry, 9), [0; 7]);
    entry.commit();
    assert_eq!(*consumer.pop().unwrap(), [8, 8, 8, 9, 9, 9, 9, 9, 9, 9]);
}

#[test]
fn one_thread_reads_into_entries_that_the_other_pops() {
    let (mut producer, mut consumer) = SpscRing::with_capacity(3, 5).split();
    let text: Vec<u8> = (0..200).collect();
    let expected = text.clone();
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        loop {
            let closed = consumer.is_closed();
            while let Some(frame) = consumer.pop() {
                all.extend_from_slice(&frame);
            }
            if closed {
                return all;
            }
            thread::yield_now();
        }
    });
    let mut input = &text[..];
    while !input.is_empty() {
        match producer.vacant_entry() {
            None => thread::yield_now(),
            Some(mut entry) => {
                entry.read_from(&mut input).unwrap();
                entry.commit();
            }
        }
    }
    drop(producer);
    assert_eq!(reader.join().unwrap(), expected);
}
