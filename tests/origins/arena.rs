//! A bump arena with scopes (`stumpalo` 1.0): its README, and the arrays of its documentation.

use flatslab::bump::{AllocOrInitError, Arena};

#[test]
fn values_slices_and_arrays() {
    let arena = Arena::new();
    assert_eq!(
        (*arena.alloc(42_u32), *arena.alloc_with(|| 2 + 12)),
        (42, 14)
    );

    assert_eq!(arena.alloc_slice_copy(&[1, 2, 3, 4, 5]), [1, 2, 3, 4, 5]);
    let array: &mut [u8] = arena.alloc_slice_fill_default(12);
    assert_eq!(array, [0; 12]);
    let array: &mut [u8] = arena.alloc_slice_fill_with(12, |index| index as u8 + 1);
    assert_eq!(array[2], 3);

    // Of a length that is known when it is compiled.
    let array: &mut [u8; 12] = arena.alloc_sized_slice_fill_default::<u8, 12>();
    assert_eq!(array, &[0; 12]);
    let array: &mut [u8; 3] = arena.alloc_sized_slice_fill_with(|index| index as u8);
    assert_eq!(array, &[0, 1, 2]);
    assert_eq!(arena.alloc_sized_slice_copy(&[7; 3]), &[7; 3]);
    // Clones are never dropped: these own nothing.
    let ranges = [0..1, 2..3];
    assert_eq!(arena.alloc_sized_slice_clone(&ranges), &ranges);
    assert_eq!(arena.alloc_sized_slice_fill_default::<u64, 0>(), &[]);
    assert_eq!(arena.alloc_str("text"), "text");
}

/// Larger than the stack of a thread: built in its place.
#[test]
#[cfg_attr(miri, ignore = "a stack has no end there")]
fn an_array_never_lies_on_the_stack() {
    const LENGTH: usize = 8 << 20;
    let sum = std::thread::Builder::new().stack_size(256 << 10).spawn(|| {
        let arena = Arena::new();
        let large = arena.alloc_sized_slice_fill_with::<u8, LENGTH>(|index| index as u8);
        let zeroes = arena.alloc_sized_slice_fill_default::<u64, { LENGTH / 8 }>();
        large.iter().map(|byte| u64::from(*byte)).sum::<u64>() + zeroes[LENGTH / 8 - 1]
    });
    assert_eq!(
        sum.unwrap().join().unwrap(),
        (LENGTH as u64 / 256) * (255 * 128)
    );
}

#[test]
fn scoped_regions() {
    let mut arena = Arena::new();
    // Needed only where references of the outer scope outlive an inner one.
    let mut root = arena.as_scope();
    let outer = root.alloc(1_u32);
    let before = root.remaining();
    root.scope(|scope| {
        let temporary = scope.alloc(2_u32);
        let array = scope.alloc_sized_slice_copy(&[*outer, *temporary]);
        assert_eq!(array, &[1, 2]);
    });
    assert_eq!((*outer, root.remaining()), (1, before));
}

#[test]
fn clear_and_use_again() {
    let mut arena = Arena::new();
    let first = std::ptr::from_ref(arena.alloc(42_u32)).addr();
    arena.reset();
    let second: &mut u32 = arena.alloc(10);
    assert_eq!((*second, std::ptr::from_ref(second).addr()), (10, first));
    assert_eq!(arena.chunks_allocated(), 1);
}

#[test]
fn what_can_fail_returns_both_errors_as_one() {
    let arena = Arena::bounded(64);
    let large = arena.try_alloc_try_with(|| Ok::<[u64; 9], ()>([0; 9]));
    assert!(matches!(large, Err(AllocOrInitError::Alloc(_))));
    let small = arena.try_alloc_try_with(|| "x".parse::<u64>());
    assert!(matches!(small, Err(AllocOrInitError::Init(_))));
    let row = arena.try_alloc_slice_try_fill_with(2, |index| ["4", "2"][index].parse::<u64>());
    assert_eq!(row.unwrap(), [4, 2]);
    assert!(
        arena
            .try_alloc_sized_slice_fill_default::<u64, 9>()
            .is_err()
    );
    assert!(arena.try_alloc_sized_slice_copy(&[0_u64; 9]).is_err());
    assert!(arena.try_alloc_sized_slice_clone(&[0_u64; 9]).is_err());
    let unreached = |_| -> u64 { unreachable!("there is no room") };
    let array = arena.try_alloc_sized_slice_fill_with::<u64, 9>(unreached);
    assert!(array.is_err());
}
