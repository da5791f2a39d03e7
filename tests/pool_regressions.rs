//! What an attack on the pools found, once each.

use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage};

/// No power of two has room for such a value and a header: the layout divided by the
/// number of cells in a segment, which was 0. Values of this size are there only where
/// pointers have 32 bits; elsewhere the test of `src/pool/heap.rs` has the numbers.
#[test]
#[cfg(all(feature = "alloc", target_pointer_width = "32"))]
fn values_of_half_the_address_space_are_refused() {
    type Whole = [u8; isize::MAX as usize];
    assert!(Pool::<Whole>::try_with_capacity(1).is_err());
    assert!(
        Pool::<Whole>::builder()
            .capacity(1)
            .lazy()
            .try_build()
            .is_err()
    );
    assert_eq!(Pool::<Whole>::with_capacity(0).capacity(), 0);
}

/// It was not: the union of a cell has a pointer, for the link.
#[test]
fn a_storage_goes_to_another_thread_before_it_is_claimed() {
    let mut storage = PoolStorage::<std::rc::Rc<u64>, 2>::new();
    let pool = Pool::in_storage(&mut storage);
    drop(pool.try_alloc(7.into()));
    let sum = std::thread::spawn(move || {
        let mut storage = storage;
        let pool = Pool::in_storage(&mut storage);
        let one = pool.alloc(3.into());
        let two = pool.alloc(4.into());
        **one + **two
    });
    assert_eq!(sum.join().unwrap(), 7);
}

/// The contract asked for a box of the pool's very type, which a box without a value is
/// not; `RecyclingPool` did the same the other way round.
#[test]
fn a_box_without_a_value_comes_back_with_one() {
    fn round<'p>(pool: &'p Pool<'_, String, InStorage>) -> PoolBox<'p, String, InStorage> {
        let mut vacant = pool.alloc_uninit();
        vacant.write(String::from("text"));
        let pointer = PoolBox::into_raw(vacant).cast::<String>();
        // SAFETY: from `into_raw` of a box of this pool, with a value that nothing else
        // owns, and used once.
        unsafe { pool.box_from_raw(pointer) }
    }
    let mut storage = PoolStorage::new();
    let pool = Pool::in_storage::<1>(&mut storage);
    assert_eq!(*round(&pool), "text");
    assert!(pool.is_empty());
}
