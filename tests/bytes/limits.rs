//! The limits of a position: a start and a length of 20 bits.

use flatslab::bytes::{ByteArena, LocError};

const LIMIT: usize = 1 << 20;

/// Three times the limit, of which a few bytes are filled under an interpreter too.
fn large(arena: &ByteArena) -> flatslab::bytes::Buf {
    arena.try_alloc_zeroed(3 * LIMIT).unwrap().freeze()
}

fn arena() -> ByteArena {
    ByteArena::builder()
        .smallest(3 * LIMIT)
        .chunk_bytes(3 * LIMIT)
        .build()
}

#[test]
fn a_length_past_20_bits_has_no_position() {
    let arena = arena();
    let buf = large(&arena);
    for len in [LIMIT, LIMIT + 1, 3 * LIMIT] {
        let slice = buf.slice(..len);
        assert_eq!(slice.try_loc(), Err(LocError::Range));
        let back = slice.try_into_loc().unwrap_err();
        assert_eq!(back.len(), len);
    }
    let loc = buf.slice(..LIMIT - 1).into_loc();
    assert_eq!(arena.resolve(loc).unwrap().len(), LIMIT - 1);
    assert!(!arena.release(loc).unwrap());
    assert_eq!(buf.references(), Some(1));
    assert!(crate::common::panics(|| buf.loc()));
    assert!(crate::common::panics(|| buf.clone().into_loc()));
    assert_eq!(buf.references(), Some(1), "a panic loses no reference");
}

#[test]
fn a_start_past_20_bits_has_no_position() {
    let arena = arena();
    let buf = large(&arena);
    for start in [LIMIT, 2 * LIMIT, 3 * LIMIT] {
        assert_eq!(buf.slice(start..start).try_loc(), Err(LocError::Range));
    }
    // A start and a length may both be the largest.
    let slice = buf.slice(LIMIT - 1..2 * LIMIT - 2);
    let loc = slice.into_loc();
    let again = arena.resolve(loc).unwrap();
    assert_eq!((again.len(), loc.len()), (LIMIT - 1, LIMIT - 1));
    assert_eq!(again.as_ptr().addr() - buf.as_ptr().addr(), LIMIT - 1);
    assert!(!arena.release(loc).unwrap());
}
