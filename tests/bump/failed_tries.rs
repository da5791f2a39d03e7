//! What a closure that fails had memory for is given back, but only if nothing else was
//! allocated since (A2).

use std::alloc::Layout;

use flatslab::bump::{Arena, BoundedArena};

#[test]
fn a_failed_try_gives_its_memory_back() {
    let arena = BoundedArena::with_capacity(256);
    for _ in 0..100 {
        assert_eq!(arena.alloc_try_with(|| Err::<[u64; 20], _>(7)), Err(7));
        assert_eq!(
            arena.try_alloc_try_with(|| Err::<u8, _>(8)).unwrap(),
            Err(8)
        );
    }
    assert_eq!(arena.remaining(), 256);
}

#[test]
fn a_failed_try_keeps_what_was_allocated_since() {
    let arena = BoundedArena::with_capacity(256);
    let mut kept = None;
    let failed = arena.alloc_try_with(|| {
        kept = Some(arena.alloc(1_u64));
        Err::<[u64; 4], _>(())
    });
    assert!(failed.is_err());
    let after = arena.alloc([2_u64; 8]);
    assert_eq!((*kept.unwrap(), *after), (1, [2; 8]));
}

#[test]
fn a_failed_try_whose_closure_went_to_another_chunk_gives_nothing_back() {
    for bytes in (1..40).step_by(if cfg!(miri) { 13 } else { 1 }) {
        let arena = Arena::builder().chunk_bytes(256).build();
        arena.alloc(0_u8);
        let mut kept = Vec::new();
        let failed = arena.alloc_try_with(|| {
            for number in 0..30 {
                kept.push((arena.alloc_slice_fill(bytes, number), number));
            }
            Err::<[u64; 4], _>(())
        });
        assert!(failed.is_err());
        let after = arena.alloc([99_u8; 64]);
        for (row, number) in &kept {
            assert!(row.iter().all(|byte| byte == number));
        }
        assert_eq!(*after, [99; 64]);
    }
}

#[test]
fn a_failed_try_of_a_large_request_gives_nothing_back_to_the_chunk() {
    let arena = Arena::new();
    let kept = arena.alloc(1_u64);
    let before = arena.remaining();
    let failed = arena.alloc_try_with(|| Err::<[u64; 4000], _>(()));
    assert!(failed.is_err());
    assert_eq!(arena.remaining(), before);
    let after = arena.alloc([2_u64; 16]);
    assert_eq!((*kept, *after), (1, [2; 16]));
}

#[test]
fn an_error_may_hold_what_the_closure_allocated() {
    let arena = Arena::new();
    let error = arena.alloc_try_with(|| Err::<[u64; 9], _>(arena.alloc_str("kept")));
    arena.alloc([7_u64; 20]);
    assert_eq!(error.unwrap_err(), "kept");
}

#[test]
fn a_try_of_no_bytes_gives_nothing_back() {
    let arena = Arena::new();
    let kept = arena.alloc(1_u64);
    assert!(arena.alloc_try_with(|| Err::<[u64; 0], _>(())).is_err());
    arena.alloc_layout(Layout::new::<[u64; 4]>());
    assert_eq!(*kept, 1);
}
