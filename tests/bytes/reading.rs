//! Bytes that a reader fills in place: how many, by what readers, and when the room is filled
//! with zeros first.

use std::io::{self, ErrorKind, Read};
use std::mem::MaybeUninit;
use std::thread;

use flatslab::bytes::{BufMut, ByteArena, References, Ring};

use crate::common::readers::{Reader, fails, lies, looks, message};
use crate::small;

#[test]
fn one_call_fills_what_there_is_room_for_after_what_is_there() {
    let arena = small(512);
    let mut buf = arena.alloc(10);
    buf.extend_from_slice(b"ab").unwrap();
    let mut input = &b"0123456789"[..];
    assert_eq!(buf.read_from(&mut input).unwrap(), 8);
    assert_eq!((&*buf, input), (&b"ab01234567"[..], &b"89"[..]));
    // A full buffer asks no one, and is not at the end of the input.
    let mut never = Reader(|_: &mut [u8]| panic!("there is no room"));
    for full in [&mut buf, &mut arena.alloc(0)] {
        let error = full.read_from(&mut never).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }
    assert_eq!(*buf, *b"ab01234567");
    // The end of the input, and a part of it, by a reader whose type is not known.
    buf.truncate(4);
    assert_eq!(buf.read_from(&mut io::empty()).unwrap(), 0);
    let reader: &mut dyn Read = &mut input.take(1);
    assert_eq!(buf.read_from(reader).unwrap(), 1);
    assert_eq!(*buf.freeze(), *b"ab018");
}

#[test]
fn errors_are_passed_on_and_fill_nothing() {
    let arena = small(512);
    let mut buf = arena.alloc(10);
    buf.extend_from_slice(b"ab").unwrap();
    for kind in [ErrorKind::Interrupted, ErrorKind::WouldBlock] {
        let error = buf.read_from(&mut fails(kind)).unwrap_err();
        assert_eq!((error.kind(), &*buf), (kind, &b"ab"[..]));
    }
    assert_eq!(buf.remaining(), 8);
}

fn refuses_liars<R: References>(arena: &ByteArena<R>) {
    let mut buf = arena.alloc(10);
    buf.extend_from_slice(b"ab").unwrap();
    for by in [1, 22, u32::MAX as usize, usize::MAX] {
        let message = message(|| drop(buf.read_from(&mut lies(by))));
        assert!(message.contains("buffer of 8 bytes"), "{message}");
        assert_eq!(*buf, *b"ab");
    }
    // What is exactly the room is no lie.
    assert_eq!(buf.read_from(&mut lies(0)).unwrap(), 8);
    assert_eq!(*buf, *b"ab!!!!!!!!");
}

#[test]
fn a_reader_that_says_more_than_the_room_is_refused() {
    refuses_liars(&small(512));
    refuses_liars(&ByteArena::atomic());
}

#[test]
fn a_reader_that_panics_leaves_the_buffer_as_it_was() {
    let arena = small(512);
    let mut buf = arena.alloc(10);
    buf.extend_from_slice(b"ab").unwrap();
    let mut panicking = Reader(|room: &mut [u8]| {
        room.fill(b'!');
        panic!("in a reader")
    });
    assert!(message(|| drop(buf.read_from(&mut panicking))).contains("in a reader"));
    assert_eq!(*buf, *b"ab");
    buf.read_from(&mut &b"cd"[..]).unwrap();
    assert_eq!(*buf.freeze(), *b"abcd");
}

#[test]
fn a_reader_may_use_the_arena() {
    let arena = small(512);
    let mut buf = arena.alloc(10);
    let mut inner = Vec::new();
    let mut reader = Reader(|room: &mut [u8]| {
        inner.push(arena.copy(b"inner"));
        arena.shrink_to_fit();
        let mut other = arena.alloc(16);
        let count = other.read_from(&mut &b"other"[..])?;
        room[..count].copy_from_slice(&other);
        Ok(count)
    });
    assert_eq!(buf.read_from(&mut reader).unwrap(), 5);
    assert_eq!((&*buf, &*inner[0]), (&b"other"[..], &b"inner"[..]));
}

/// The bytes that a reader is lent, which fills them with `byte`.
fn seen<R: References>(buf: &mut BufMut<R>, byte: u8) -> Vec<u8> {
    let mut seen = Vec::new();
    buf.read_from(&mut looks(&mut seen, byte)).unwrap();
    seen
}

/// A buffer's room is zeros once, and from then on what was written there last, whatever the
/// lengths it was allocated with.
fn is_zeroed_once<R: References>(arena: &ByteArena<R>) {
    let mut buf = arena.alloc(20);
    buf.extend_from_slice(b"abcd").unwrap();
    let start = buf.as_ptr();
    assert_eq!(seen(&mut buf, 1), [0; 16]);
    drop(buf);
    // The same buffer of 32 bytes, of which 12 were beyond the capacity.
    let mut buf = arena.alloc(32);
    assert_eq!(buf.as_ptr(), start);
    let expected = [&b"abcd"[..], &[1; 16], &[0; 12]].concat();
    assert_eq!(seen(&mut buf, 2), expected);
    // While it is shared it stays so.
    let part = buf.freeze().slice(8..12);
    let mut buf = part.try_into_mut().unwrap();
    assert_eq!(seen(&mut buf, 3), [2; 20]);
    // Uninitialised again, by safe code.
    buf.truncate(2);
    buf.spare_capacity_mut().fill(MaybeUninit::uninit());
    assert_eq!(seen(&mut buf, 4), [0; 22]);
    drop(buf);
    let mut buf = arena.alloc(17);
    buf.spare_capacity_mut()[16] = MaybeUninit::uninit();
    drop(buf);
    assert_eq!(seen(&mut arena.alloc(32), 5), [0; 32]);
}

#[test]
fn the_room_is_filled_with_zeros_once_for_each_buffer() {
    // A chunk has one buffer, so that the next one is the same.
    let builder = ByteArena::builder().smallest(32).chunk_bytes(32);
    is_zeroed_once(&builder.clone().build());
    is_zeroed_once(&builder.atomic().build());
}

#[test]
fn a_part_of_a_buffer_has_zeros_after_it_alone() {
    let arena = small(512);
    let part = arena.copy(b"0123456789abcdef0123").slice(4..6);
    let mut buf = part.try_into_mut().unwrap();
    // Of the class of 32 bytes. What came after the part was never cleared by it.
    assert_eq!(seen(&mut buf, b'-'), [0; 26]);
    assert_eq!(buf.len(), 28);
    assert_eq!(*buf.freeze(), *[&b"45"[..], &[b'-'; 26]].concat());
}

#[test]
fn memory_that_comes_again_has_zeros() {
    let arena = small(64);
    drop(seen(&mut arena.alloc(64), 7));
    arena.shrink_to_fit();
    assert_eq!(seen(&mut arena.alloc(64), 7), [0; 64]);
    // Touched, which writes to a byte of each page, and the last.
    arena.prepare(64, 1).unwrap();
    assert_eq!(seen(&mut arena.alloc(60), 7)[1], 7);
}

#[test]
fn other_threads_read_into_buffers_while_the_arena_makes_more() {
    let arena = ByteArena::builder()
        .smallest(16)
        .largest(16)
        .atomic()
        .build();
    thread::scope(|scope| {
        let mut readers = Vec::new();
        // Each allocation of a fresh buffer reads the number of the header before it.
        for number in 0..40_u8 {
            let mut buf = arena.alloc(16);
            readers.push(scope.spawn(move || {
                buf.read_from(&mut &[number; 12][..]).unwrap();
                buf.freeze()
            }));
        }
        for (number, reader) in readers.into_iter().enumerate() {
            assert_eq!(*reader.join().unwrap(), [number as u8; 12]);
        }
    });
}

#[test]
fn the_entries_of_a_ring_are_read_in_place() {
    let mut ring = Ring::with_capacity(2, 8);
    let mut input = &b"0123456789abcdefgh"[..];
    loop {
        let mut buf = ring.try_alloc().unwrap();
        if buf.read_from(&mut input).unwrap() == 0 {
            break;
        }
        ring.push_buf(buf);
    }
    assert_eq!(*ring.pop().unwrap(), *b"89abcdef");
    assert_eq!(*ring.pop().unwrap(), *b"gh");
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "an interpreter has no sockets")]
fn a_socket_is_read_in_place() {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    let arena = ByteArena::new();
    let (mut sender, mut receiver) = UnixStream::pair().unwrap();
    receiver.set_nonblocking(true).unwrap();
    let mut buf = arena.alloc(6);
    let error = buf.read_from(&mut receiver).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    sender.write_all(b"received").unwrap();
    assert_eq!(buf.read_from(&mut receiver).unwrap(), 6);
    let mut rest = arena.alloc(100);
    // By a reference to the stream, which is a reader too.
    assert_eq!(rest.read_from(&mut &receiver).unwrap(), 2);
    drop(sender);
    assert_eq!(rest.read_from(&mut receiver).unwrap(), 0);
    assert_eq!((&*buf, &*rest), (&b"receiv"[..], &b"ed"[..]));
}
