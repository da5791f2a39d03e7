//! What would make a cycle is refused. A cycle would be seen as memory that is lost.

use std::mem::{replace, swap};

use flatslab::bytes::ByteArena;

use crate::owned_by;
use crate::source::Counted;

/// Runs `f` with an arena and another, whose memory has to come back.
fn without_loss(f: impl FnOnce(&ByteArena, &ByteArena)) {
    let source = Counted::new();
    let make = || {
        ByteArena::builder()
            .chunk_bytes(512)
            .pages(source.pages())
            .build()
    };
    let (arena, other) = (make(), make());
    f(&arena, &other);
    assert_eq!((arena.stats().in_use(), other.stats().in_use()), (0, 0));
    drop((arena, other));
    source.expect_all_back();
}

#[test]
fn a_buffer_is_not_linked_to_itself() {
    without_loss(|arena, _| {
        let mut buf = owned_by(arena, 1, 20);
        for own in [buf.clone(), buf.slice(1..2), buf.slice(..0)] {
            assert!(buf.set_next(own).is_err());
        }
        let loc = buf.loc();
        let own = arena.resolve(loc).unwrap();
        assert!(buf.set_next(own).is_err());
        assert!(buf.next_ref().is_none() && buf.is_unique());
    });
}

#[test]
fn a_tail_is_not_linked_to_its_head() {
    without_loss(|arena, other| {
        for second in [arena, other] {
            let mut head = owned_by(arena, 1, 20);
            let mut tail = owned_by(second, 2, 20);
            // The head is linked first: the tail has another reference.
            head.set_next(tail.clone()).unwrap();
            let back = tail.set_next(head).unwrap_err().into_inner();
            assert_eq!(back.chain_len(), 40);
            // The tail is linked first: so has the head.
            drop((back, tail));
            let mut head = owned_by(arena, 1, 20);
            let tail = owned_by(second, 2, 20);
            head.set_next(tail).unwrap();
            let again = head.clone();
            assert!(head.next_mut().is_err());
            let mut tail = again.next().unwrap();
            assert!(tail.set_next(head).is_err());
        }
    });
}

#[test]
fn a_borrowed_link_is_not_swapped_with_what_leads_there() {
    without_loss(|arena, other| {
        let mut head = owned_by(arena, 1, 20);
        head.set_next(owned_by(other, 2, 20)).unwrap();
        let mut one = head.next().unwrap();
        // What the link holds comes out, and its new content cannot lead to the head.
        let link = head.next_mut().unwrap().unwrap();
        swap(link, &mut one);
        assert!(link.set_next(one).is_err(), "it is the same buffer");
        let mut taken = replace(head.next_mut().unwrap().unwrap(), owned_by(arena, 3, 20));
        // It is alone now, and may be a head.
        taken.set_next(head).unwrap();
        assert_eq!(taken.chain_len(), 60);
    });
}

#[test]
fn positions_lead_to_no_buffer_whose_link_is_borrowed() {
    without_loss(|arena, other| {
        let mut second = owned_by(other, 2, 20);
        second.set_next(owned_by(arena, 3, 20)).unwrap();
        let mut head = owned_by(arena, 1, 20);
        head.set_next(second).unwrap();
        let (first, second) = (head.loc(), head.next_ref().unwrap().loc());
        let middle = head.next_mut().unwrap().unwrap();
        assert!(arena.resolve(first).is_err());
        // The middle one can be reached, and is shared then.
        let again = other.resolve(second).unwrap();
        assert!(middle.set_next(again).is_err());
        let last = middle.next_mut().unwrap().unwrap();
        assert!(other.resolve(second).is_err());
        assert!(arena.resolve(first).is_err());
        let third = last.loc();
        assert!(last.set_next(arena.resolve(third).unwrap()).is_err());
        *last = owned_by(other, 4, 20);
        assert_eq!(head.chain_len(), 60);
    });
}

#[test]
fn two_borrowed_links_may_be_swapped() {
    without_loss(|arena, other| {
        let mut heads = [arena, other].map(|arena| {
            let mut head = owned_by(arena, 1, 20);
            let mut second = owned_by(arena, 2, 20);
            second.set_next(owned_by(other, 3, 20)).unwrap();
            head.set_next(second).unwrap();
            head
        });
        let [one, two] = &mut heads;
        let inner = one
            .next_mut()
            .unwrap()
            .unwrap()
            .next_mut()
            .unwrap()
            .unwrap();
        swap(inner, two.next_mut().unwrap().unwrap());
        assert_eq!((one.chain_len(), two.chain_len()), (80, 40));
        // The second head itself in place of its own former tail.
        let [mut one, two] = heads;
        *one.next_mut().unwrap().unwrap() = two;
        assert_eq!(one.chain_len(), 60);
    });
}

#[test]
fn a_head_that_was_filled_is_not_linked_to_itself() {
    without_loss(|arena, _| {
        let mut head = owned_by(arena, 1, 20);
        head.set_next(owned_by(arena, 2, 20)).unwrap();
        let loc = head.loc();
        let tail = head.next().unwrap();
        let filled = head.try_into_mut().unwrap();
        assert!(arena.resolve(loc).is_err());
        let mut head = filled.freeze();
        let mut tail = tail;
        assert!(
            tail.set_next(head.clone()).is_err(),
            "the link holds it too"
        );
        assert!(head.set_next(tail).unwrap().is_some(), "by itself");
        assert_eq!(head.chain_len(), 40);
    });
}
