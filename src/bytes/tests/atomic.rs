//! Atomic counts near their end, which no test comes to by counting.

use crate::bytes::ByteArena;
use crate::bytes::counts::{Counts, MOST};
use crate::bytes::home::Home;

#[test]
fn a_count_that_comes_to_its_end_stays_there_and_the_buffer_is_never_free() {
    let arena = ByteArena::atomic();
    let buf = arena.copy(b"kept");
    buf.header().counts().set_count(MOST - 1);
    let second = buf.clone();
    assert_eq!(buf.references(), None);
    // From here on nothing is counted.
    for _ in 0..3 {
        drop(buf.clone());
    }
    let third = buf.clone();
    assert!(!second.release() && !third.release() && !buf.is_unique());
    let buf = buf.try_into_mut().unwrap_err();
    assert_eq!(buf, *b"kept");
    let part = buf.into_part();
    // SAFETY: the reference is this one's, and there are others by the count.
    assert!(!unsafe { Home::drop_ref(part.header) });
    assert_eq!((arena.reclaim(), arena.stats().in_use()), (0, 1));
    arena.check();
    // SAFETY: the buffer is still in use, and this is the only thread.
    unsafe {
        part.header.as_ref().counts().set_count(1);
        assert!(Home::drop_ref(part.header));
    }
    assert_eq!(arena.reclaim(), 1);
}

#[test]
fn dropping_from_the_end_of_a_count_saturates_it() {
    let arena = ByteArena::atomic();
    let buf = arena.copy(b"kept");
    buf.header().counts().set_count(MOST);
    drop(buf.clone());
    assert_eq!(buf.references(), None);
    buf.header().counts().set_count(1);
    assert!(buf.release());
    assert_eq!(arena.reclaim(), 1);
}
