//! What must not compile of byte arenas.

use flatslab::bytes::{
    Atomic, Buf, BufMut, ByteArena, ClassStats, Evicted, Loc, LocError, RequestError, Ring,
    SharedError, Stats,
};
use flatslab::{Builder, SizeError};

fn local<T>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn both<T: Send + Sync>() {}

// # Nothing that counts references goes to another thread, unless they are atomic

#[test]
fn what_goes_to_other_threads() {
    local::<ByteArena>();
    local::<Buf>();
    local::<BufMut>();
    local::<Ring>();
    local::<SharedError<Buf>>();
    both::<Loc>();
    both::<Stats>();
    both::<ClassStats>();
    both::<Evicted>();
    both::<RequestError>();
    both::<LocError>();
    both::<SizeError>();
    both::<SharedError>();
    both::<Builder<ByteArena>>();
    both::<Builder<Ring>>();
    both::<Buf<Atomic>>();
    both::<BufMut<Atomic>>();
    both::<SharedError<Buf<Atomic>>>();
    send::<ByteArena<Atomic>>();
    send::<Ring<Atomic>>();
}

#[cfg(compile_fail)]
fn sent_or_shared() {
    send::<ByteArena>(); //~ E0277
    sync::<ByteArena>(); //~ E0277
    send::<Buf>(); //~ E0277
    sync::<Buf>(); //~ E0277
    send::<BufMut>(); //~ E0277
    sync::<BufMut>(); //~ E0277
    send::<Ring>(); //~ E0277
    sync::<Ring>(); //~ E0277
    send::<SharedError<Buf>>(); //~ E0277
    sync::<ByteArena<Atomic>>(); //~ E0277
    sync::<Ring<Atomic>>(); //~ E0277
}

// # A buffer stays with its kind of counts

#[test]
fn link_with_the_same_counts() {
    let arena = ByteArena::new();
    let mut head = arena.copy(b"head");
    head.set_next(arena.copy(b"tail")).unwrap();
}

#[cfg(compile_fail)]
fn link_with_other_counts() {
    let arena = ByteArena::new();
    let mut head = arena.copy(b"head");
    head.set_next(ByteArena::atomic().copy(b"tail")).unwrap(); //~ E0308
}

// There are no positions of buffers that other threads count.
#[test]
fn position_of_a_local_buffer() {
    let loc = ByteArena::new().copy(b"hello").try_loc();
}

#[cfg(compile_fail)]
fn position_of_an_atomic_buffer() {
    let loc = ByteArena::atomic().copy(b"hello").try_loc(); //~ E0599
}

// # A link does not change while the chain is read

#[test]
fn link_changed_after_its_parts_are_read() {
    let arena = ByteArena::new();
    let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let parts = head.parts();
    assert_eq!(parts.count(), 2);
    head.set_next(other).unwrap();
}

#[cfg(compile_fail)]
fn link_changed_while_its_parts_are_read() {
    let arena = ByteArena::new();
    let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let parts = head.parts();
    head.set_next(other).unwrap(); //~ E0502
    assert_eq!(parts.count(), 2);
}

#[cfg(compile_fail)]
fn link_taken_under_a_part() {
    let arena = ByteArena::new();
    let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let part = head.parts().nth(1).unwrap();
    drop(head.take_next()); //~ E0502
    assert_eq!(part, b"2");
}

#[cfg(compile_fail)]
fn link_borrowed_mutably_under_a_shared_borrow() {
    let arena = ByteArena::new();
    let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let next = head.next_ref();
    drop(head.next_mut()); //~ E0502
    assert!(next.is_some());
}

#[cfg(compile_fail)]
fn head_dropped_under_a_link() {
    let arena = ByteArena::new();
    let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let next = head.next_ref();
    drop(head); //~ E0505
    assert!(next.is_some());
}

#[cfg(compile_fail)]
fn head_dropped_under_its_parts() {
    let arena = ByteArena::new();
    let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let parts = head.parts();
    drop(head); //~ E0505
    assert_eq!(parts.count(), 2);
}

// # A borrowed link is borrowed from one head

#[test]
fn head_cloned_after_its_link_was_changed() {
    let arena = ByteArena::new();
    let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    *head.next_mut().unwrap().unwrap() = other;
    let shared = head.clone();
    assert_eq!(shared.chain_len(), 2);
}

#[cfg(compile_fail)]
fn head_cloned_under_a_mutable_link() {
    let arena = ByteArena::new();
    let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let link = head.next_mut().unwrap().unwrap();
    let shared = head.clone(); //~ E0502
    *link = other;
    assert_eq!(shared.chain_len(), 2);
}

#[cfg(compile_fail)]
fn head_moved_into_its_own_link() {
    let arena = ByteArena::new();
    let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let link = head.next_mut().unwrap().unwrap();
    *link = head; //~ E0505
}

#[cfg(compile_fail)]
fn head_made_a_position_under_a_mutable_link() {
    let arena = ByteArena::new();
    let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
    head.set_next(next).unwrap();
    let link = head.next_mut().unwrap().unwrap();
    let loc = head.into_loc(); //~ E0505
    assert!(link.is_unique());
}

// # Bytes are read as long as their buffer is there, and not while they are written

#[test]
fn bytes_read_before_their_buffer_ends() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"hello");
    let bytes = &buf[1..];
    assert_eq!(bytes, b"ello");
    drop(buf.try_into_mut());
}

#[cfg(compile_fail)]
fn bytes_read_after_try_into_mut() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"hello");
    let bytes = &buf[1..];
    drop(buf.try_into_mut()); //~ E0505
    assert_eq!(bytes, b"ello");
}

#[cfg(compile_fail)]
fn bytes_read_after_release() {
    let arena = ByteArena::new();
    let buf = arena.copy(b"hello");
    let bytes = &buf[1..];
    buf.release(); //~ E0505
    assert_eq!(bytes, b"ello");
}

#[cfg(compile_fail)]
fn bytes_read_after_more_are_written() {
    let arena = ByteArena::new();
    let mut buf = arena.alloc_zeroed(5);
    let bytes = &buf[1..];
    buf.extend_from_slice(b"more").unwrap(); //~ E0502
    assert_eq!(bytes, [0; 4]);
}

#[cfg(compile_fail)]
fn shared_bytes_written() {
    let arena = ByteArena::new();
    let mut buf = arena.copy(b"hello");
    buf[0] = b'H'; //~ E0594
}

// # Entries of a ring are borrowed from it

#[test]
fn entry_cloned_out_of_a_ring() {
    let mut ring = Ring::with_capacity(1, 8);
    ring.push(b"hello").unwrap();
    let entry = ring.get(0).unwrap().clone();
    ring.push(b"again").unwrap();
    assert_eq!(entry, *b"hello");
}

#[cfg(compile_fail)]
fn entry_borrowed_over_a_push() {
    let mut ring = Ring::with_capacity(1, 8);
    ring.push(b"hello").unwrap();
    let entry = ring.get(0).unwrap();
    ring.push(b"again").unwrap(); //~ E0502
    assert_eq!(*entry, *b"hello");
}

#[cfg(compile_fail)]
fn arena_borrowed_over_a_push() {
    let mut ring = Ring::with_capacity(1, 8);
    let arena = ring.arena();
    ring.push(b"again").unwrap(); //~ E0502
    arena.shrink_to_fit();
}
