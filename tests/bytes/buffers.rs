//! What a buffer has: its bytes, their bounds, and how it compares.

use std::borrow::{Borrow, BorrowMut};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;

use flatslab::bytes::{Buf, ByteArena};

use crate::common::panics;
use crate::small;

fn hello() -> (ByteArena, Buf) {
    let arena = small(512);
    let buf = arena.try_copy(b"hello").unwrap();
    (arena, buf)
}

#[test]
fn a_new_buffer_has_no_bytes_and_the_capacity_asked_for() {
    let arena = small(512);
    for size in [0, 1, 15, 16, 17, 100, 512] {
        let buf = arena.try_alloc(size).unwrap();
        assert_eq!((buf.len(), buf.capacity()), (0, size));
        assert_eq!(buf.remaining(), size);
        assert!(buf.is_empty() && buf.as_ref().is_empty());
    }
}

#[test]
fn a_zeroed_buffer_is_zeroed_where_another_had_the_chunk() {
    let arena = small(512);
    drop(crate::owned_by(&arena, 0xee, 200));
    let buf = arena.try_alloc_zeroed(200).unwrap();
    assert_eq!((buf.len(), buf.remaining()), (200, 0));
    crate::expect_owner(&buf, 0);
}

#[test]
fn extending_beyond_the_capacity_writes_nothing() {
    let arena = small(512);
    let mut buf = arena.try_alloc(10).unwrap();
    buf.extend_from_slice(b"").unwrap();
    buf.extend_from_slice(b"1234567").unwrap();
    let error = buf.extend_from_slice(b"8901").unwrap_err();
    assert_eq!((error.size, error.limit), (4, 3));
    assert_eq!(*buf, *b"1234567");
    buf.extend_from_slice(b"890").unwrap();
    assert!(buf.extend_from_slice(b"1").is_err());
    assert!(buf.extend_from_slice(b"").is_ok());
    assert_eq!(*buf, *b"1234567890");
}

#[test]
fn resize_fills_what_it_adds_and_keeps_what_there_is() {
    let arena = small(512);
    let mut buf = arena.try_alloc(10).unwrap();
    buf.resize(4, b'a').unwrap();
    buf.resize(2, b'x').unwrap();
    buf.resize(5, b'b').unwrap();
    assert_eq!(*buf, *b"aabbb");
    for len in [11, usize::MAX] {
        let error = buf.resize(len, 0).unwrap_err();
        assert_eq!((error.size, error.limit), (len - 5, 5));
    }
    assert_eq!(*buf, *b"aabbb");
    buf.resize(10, b'c').unwrap();
    assert_eq!(*buf, *b"aabbbccccc");
}

#[test]
fn truncate_and_clear_keep_the_capacity() {
    let arena = small(512);
    let mut buf = arena.try_alloc(10).unwrap();
    buf.extend_from_slice(b"12345").unwrap();
    buf.truncate(usize::MAX);
    buf.truncate(5);
    assert_eq!(buf.len(), 5);
    buf.truncate(2);
    assert_eq!(*buf, *b"12");
    buf.clear();
    assert_eq!((buf.len(), buf.remaining()), (0, 10));
}

#[test]
fn what_is_written_to_the_spare_bytes_is_there_once_it_is_said_so() {
    let arena = small(512);
    let mut buf = arena.try_alloc(10).unwrap();
    buf.extend_from_slice(b"ab").unwrap();
    let spare = buf.spare_capacity_mut();
    assert_eq!(spare.len(), 8);
    spare[0].write(b'c');
    // SAFETY: three bytes are written.
    unsafe { buf.set_len(3) };
    assert_eq!(*buf, *b"abc");
    buf.resize(10, 0).unwrap();
    assert!(buf.spare_capacity_mut().is_empty());
}

#[test]
fn freezing_keeps_the_bytes_in_their_place() {
    let arena = small(512);
    let mut buf = arena.try_alloc(10).unwrap();
    buf.extend_from_slice(b"abc").unwrap();
    let place = buf.as_ptr();
    let buf = buf.freeze();
    assert_eq!((buf.as_ptr(), buf.len()), (place, 3));
    let buf = Buf::from(buf.try_into_mut().unwrap());
    assert_eq!((buf.as_ptr(), &*buf), (place, &b"abc"[..]));
}

#[test]
fn a_buffer_that_is_filled_can_be_changed_through_every_view() {
    let arena = small(512);
    let mut buf = arena.try_alloc(3).unwrap();
    buf.extend_from_slice(b"abc").unwrap();
    buf[0] = b'1';
    buf.as_mut()[1] = b'2';
    let bytes: &mut [u8] = buf.borrow_mut();
    bytes[2] = b'3';
    let bytes: &[u8] = buf.borrow();
    assert_eq!(bytes, b"123");
    assert_eq!(format!("{buf:?}"), format!("{:?}", b"123"));
}

#[test]
fn text_is_written_whole_or_not_at_all() {
    let arena = small(512);
    let mut buf = arena.try_alloc(6).unwrap();
    write!(buf, "{}-{}", 12, 34).unwrap();
    assert!(buf.write_str("ab").is_err());
    assert_eq!(*buf, *b"12-34");
    assert!(buf.write_str("a").is_ok());
}

#[test]
#[cfg(feature = "std")]
fn bytes_are_written_as_far_as_there_is_room() {
    use std::io::{ErrorKind, Write};
    let arena = small(512);
    let mut buf = arena.try_alloc(6).unwrap();
    assert_eq!(Write::write(&mut buf, b"1234").unwrap(), 4);
    assert_eq!(Write::write(&mut buf, b"5678").unwrap(), 2);
    assert_eq!(Write::write(&mut buf, b"9").unwrap(), 0);
    let error = Write::write_all(&mut buf, b"9").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WriteZero);
    Write::flush(&mut buf).unwrap();
    assert_eq!(*buf, *b"123456");
}

#[test]
fn a_slice_is_the_same_part_as_of_a_slice() {
    let (_arena, buf) = hello();
    assert_eq!(buf.slice(..), *b"hello");
    assert_eq!(buf.slice(1..3), *b"el");
    assert_eq!(buf.slice(1..=3), *b"ell");
    assert_eq!(buf.slice(..=0), *b"h");
    assert_eq!(buf.slice(5..), *b"");
    assert_eq!(buf.slice(5..5), *b"");
    assert_eq!(buf.slice(0..0), *b"");
    let after_first = (Bound::Excluded(0), Bound::Excluded(3));
    assert_eq!(buf.slice(after_first), *b"el");
    assert_eq!(buf.slice(2..).slice(1..), *b"lo");
    assert_eq!(buf.references(), Some(1), "slices are gone");
}

#[test]
fn a_slice_outside_is_refused_and_counts_no_reference() {
    let (_arena, buf) = hello();
    let max = usize::MAX;
    let ranges = [
        (Bound::Included(6), Bound::Unbounded),
        (Bound::Unbounded, Bound::Excluded(6)),
        (Bound::Unbounded, Bound::Included(5)),
        (Bound::Included(3), Bound::Excluded(2)),
        (Bound::Included(max), Bound::Unbounded),
        (Bound::Excluded(max), Bound::Unbounded),
        (Bound::Excluded(max), Bound::Included(max)),
        (Bound::Unbounded, Bound::Included(max)),
        (Bound::Unbounded, Bound::Excluded(max)),
        (Bound::Included(max), Bound::Excluded(0)),
        (Bound::Excluded(5), Bound::Unbounded),
        (Bound::Included(2), Bound::Excluded(max)),
    ];
    for range in ranges {
        assert!(buf.try_slice(range).is_none(), "{range:?}");
        assert!(panics(|| drop(buf.slice(range))));
    }
    assert_eq!(buf.references(), Some(1));
}

#[test]
fn a_reference_is_shortened_apart_from_the_others() {
    let (_arena, mut buf) = hello();
    let other = buf.clone();
    buf.truncate(usize::MAX);
    buf.advance(0);
    assert_eq!(buf, *b"hello");
    buf.truncate(4);
    buf.advance(1);
    let head = buf.split_to(1);
    assert_eq!(
        (&*head, &*buf, &*other),
        (&b"e"[..], &b"ll"[..], &b"hello"[..])
    );
    assert_eq!(buf.references(), Some(3));
    buf.advance(2);
    assert!(buf.is_empty());
    assert!(panics(|| buf.advance(1)));
    assert!(panics(|| drop(buf.split_to(1))));
    assert!(panics(|| buf.advance(usize::MAX)));
    assert_eq!((buf.len(), buf.references()), (0, Some(3)));
}

#[test]
fn buffers_compare_as_their_bytes() {
    let arena = small(512);
    let words: [&[u8]; 6] = [b"", b"a", b"ab", b"b", b"\xff", b"ab\0"];
    let hasher = RandomState::new();
    for one in words {
        for other in words {
            let (x, y) = (arena.try_copy(one).unwrap(), arena.try_copy(other).unwrap());
            assert_eq!(x == y, one == other);
            assert_eq!(x.cmp(&y), one.cmp(other));
            assert_eq!(x.partial_cmp(&y), one.partial_cmp(other));
            assert_eq!(x == *other, one == other);
            assert_eq!(x == other, one == other);
        }
        let buf = arena.try_copy(one).unwrap();
        assert_eq!(hasher.hash_one(&buf), hasher.hash_one(one));
        assert_eq!(format!("{buf:?}"), format!("{one:?}"));
        let borrowed: &[u8] = buf.borrow();
        assert_eq!((borrowed, buf.as_ref()), (one, one));
    }
}

#[test]
fn sets_of_buffers_are_searched_by_bytes() {
    let arena = small(512);
    let make = |byte: u8| arena.try_copy(&[byte; 3]).unwrap();
    let hashed: HashSet<Buf> = (0..9).map(make).collect();
    let sorted: BTreeSet<Buf> = (0..9).rev().map(make).collect();
    for byte in 0..12 {
        assert_eq!(hashed.contains(&[byte; 3][..]), byte < 9);
        assert_eq!(sorted.contains(&[byte; 3][..]), byte < 9);
    }
    assert!(sorted.iter().zip(0..).all(|(buf, byte)| *buf == [byte; 3]));
}

#[test]
fn references_are_counted_and_the_last_release_says_so() {
    let (arena, buf) = hello();
    let others = [buf.clone(), buf.slice(1..2), buf.slice(..0)];
    assert_eq!(buf.references(), Some(4));
    assert!(!buf.is_unique());
    for other in others {
        assert!(!other.release());
    }
    assert!(buf.is_unique());
    assert_eq!(arena.stats().in_use(), 1);
    assert!(buf.release());
    assert_eq!(arena.stats().in_use(), 0);
}

#[test]
fn an_arena_owns_its_buffers_and_no_others() {
    let (arena, buf) = hello();
    let (other, foreign) = hello();
    assert!(arena.owns(&buf) && arena.owns(&buf.slice(1..1)));
    assert!(!arena.owns(&foreign) && other.owns(&foreign));
    drop(other);
    assert!(!arena.owns(&foreign));
}

#[test]
fn buffers_are_a_few_words() {
    assert_eq!(size_of::<Option<Buf>>(), 3 * size_of::<usize>());
    // Three pointers, a length and a capacity.
    let fields = 3 * size_of::<usize>() + 2 * size_of::<u32>();
    assert_eq!(size_of::<Option<flatslab::bytes::BufMut>>(), fields);
}
