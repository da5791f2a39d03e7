//! What must not compile of pools.

use flatslab::pool::{
    Heap, InStorage, Pool, PoolBox, PoolMemory, PoolStorage, SendBox, StorageBox,
};

// # No box is freed twice

#[test]
fn freed_once() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    drop(boxed);
    let boxed = pool.alloc(8);
    PoolBox::into_inner(boxed);
}

#[cfg(compile_fail)]
fn dropped_twice() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    drop(boxed);
    drop(boxed); //~ E0382
}

#[cfg(compile_fail)]
fn dropped_after_into_inner() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    PoolBox::into_inner(boxed);
    drop(boxed); //~ E0382
}

#[cfg(compile_fail)]
fn dropped_after_leak() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    let value = PoolBox::leak(boxed);
    drop(boxed); //~ E0382
}

// A copy would be a second owner.
#[cfg(compile_fail)]
fn box_cloned() {
    fn copied<T: Clone>() {}
    copied::<PoolBox<'_, u64>>(); //~ E0277
}

// A cell without a value is written once.
#[test]
fn vacant_cell_written_once() {
    let pool = Pool::with_capacity(1);
    let (seven, vacant) = PoolBox::take(pool.alloc(7));
    assert_eq!(*PoolBox::write(vacant, seven + 1), 8);
}

#[cfg(compile_fail)]
fn vacant_cell_written_twice() {
    let pool = Pool::with_capacity(1);
    let vacant = pool.alloc_uninit();
    let first = PoolBox::write(vacant, 7);
    let second = PoolBox::write(vacant, 8); //~ E0382
}

#[cfg(compile_fail)]
fn vacant_cell_read() {
    let pool = Pool::<u64>::with_capacity(1);
    let vacant = pool.alloc_uninit();
    let value = *vacant + 1; //~ E0369
}

// # No box is freed in another pool

// A free names no pool, so none can be the wrong one: wherever a box goes, its cell goes back
// to where it came from.
#[test]
fn boxes_swapped_between_pools() {
    let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
    let (mut a, mut b) = (one.alloc(1), two.alloc(2));
    std::mem::swap(&mut a, &mut b);
    drop(a);
    assert!(two.is_empty() && one.is_full());
    drop(b);
    assert!(one.is_empty());
}

// No safe function of a pool takes a box or a pointer.
#[cfg(compile_fail)]
fn box_given_to_a_pool() {
    let (one, two) = (Pool::with_capacity(1), Pool::<u64>::with_capacity(1));
    two.free(one.alloc(1)); //~ E0599
}

#[test]
fn box_from_its_raw_pointer() {
    let pool = Pool::with_capacity(1);
    let pointer = PoolBox::into_raw(pool.alloc(1));
    // SAFETY: straight from `into_raw` of a box of this pool.
    drop(unsafe { pool.box_from_raw(pointer) });
}

#[cfg(compile_fail)]
fn box_from_a_raw_pointer_without_unsafe() {
    let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
    let pointer = PoolBox::into_raw(one.alloc(1));
    drop(two.box_from_raw(pointer)); //~ E0133
}

// None of one kind of memory is one of another, nor is one made by hand (`private_fields.rs`).
#[test]
fn box_of_a_storage() {
    let mut storage = PoolStorage::<u64, 1>::new();
    let pool = Pool::in_storage(&mut storage);
    let boxed: StorageBox<'_, u64> = pool.alloc(7);
}

#[cfg(compile_fail)]
fn box_of_another_kind_of_memory() {
    let mut storage = PoolStorage::<u64, 1>::new();
    let pool = Pool::in_storage(&mut storage);
    let boxed: PoolBox<'_, u64> = pool.alloc(7); //~ E0308
}

// Nor is there a kind of memory that is not the crate's: what it would have to have has types that
// cannot be named.
#[cfg(compile_fail)]
fn own_kind_of_memory() {
    enum Mine {}
    unsafe impl PoolMemory for Mine {} //~ E0046
}

// A box does not go into a collection that outlives its pool, of another pool's boxes or not.
#[test]
fn boxes_of_two_pools_together() {
    let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
    let mut live = vec![one.alloc(1)];
    live.push(two.alloc(2));
}

#[cfg(compile_fail)]
fn box_in_a_collection_that_outlives_its_pool() {
    let one = Pool::with_capacity(1);
    let mut live = vec![one.alloc(1)];
    {
        let two = Pool::with_capacity(1);
        live.push(two.alloc(2)); //~ E0597
    }
}

// # No box is used after its pool is gone

#[test]
fn box_ends_before_its_pool() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    assert_eq!(*boxed, 7);
    drop(boxed);
    drop(pool);
}

#[cfg(compile_fail)]
fn box_after_its_pool() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    drop(pool); //~ E0505
    assert_eq!(*boxed, 7);
}

// Not even to be dropped, nor if the pool is only moved:
#[cfg(compile_fail)]
fn box_declared_before_its_pool() {
    let boxed;
    let pool = Pool::with_capacity(1);
    boxed = pool.alloc(7); //~ E0597
}

#[cfg(compile_fail)]
fn box_over_a_moved_pool() {
    let mut storage = PoolStorage::<u64, 1>::new();
    let pool = Pool::in_storage(&mut storage);
    let boxed = pool.alloc(7);
    let moved = pool; //~ E0505
    drop(boxed);
}

#[cfg(compile_fail)]
fn box_returned_without_its_pool<'p>() -> PoolBox<'p, u64> {
    let pool = Pool::with_capacity(1);
    pool.alloc(7) //~ E0515
}

// Nor is a recycled one:
#[test]
fn recycled_box_ends_before_its_pool() {
    let pool = Pool::builder().capacity(1).recycle().build();
    let boxed = pool.alloc_or_reuse(|| 7, |_| {});
    drop(boxed);
    drop(pool);
}

#[cfg(compile_fail)]
fn recycled_box_after_its_pool() {
    let pool = Pool::builder().capacity(1).recycle().build();
    let boxed = pool.alloc_or_reuse(|| 7, |_| {});
    drop(pool); //~ E0505
    drop(boxed);
}

// A pool is not used after its storage is gone, or while another one has it.
#[test]
fn pools_of_a_storage_in_turn() {
    let mut storage = PoolStorage::<u64, 1>::new();
    let pool = Pool::in_storage(&mut storage);
    assert_eq!(pool.len(), 0);
    let pool = Pool::in_storage(&mut storage);
    assert_eq!(pool.len(), 0);
    drop(storage);
}

#[cfg(compile_fail)]
fn pool_after_its_storage() {
    let mut storage = PoolStorage::<u64, 1>::new();
    let pool = Pool::in_storage(&mut storage);
    drop(storage); //~ E0505
    assert_eq!(pool.len(), 0);
}

#[cfg(compile_fail)]
fn two_pools_of_a_storage_at_once() {
    let mut storage = PoolStorage::<u64, 1>::new();
    let one = Pool::in_storage(&mut storage);
    let two = Pool::in_storage(&mut storage); //~ E0499
    assert_eq!(one.len(), 0);
}

// Only a storage that is there for ever is claimed, and then it has no other pool.
#[test]
fn static_storage_claimed() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    assert!(STORAGE.claim().is_some());
}

#[cfg(compile_fail)]
fn local_storage_claimed() {
    let storage = PoolStorage::<u64, 1>::new();
    assert!(storage.claim().is_some()); //~ E0597
}

#[cfg(compile_fail)]
fn constant_storage_claimed() {
    const STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    assert!(STORAGE.claim().is_some()); //~ E0716
}

#[test]
fn pool_in_a_leaked_storage() {
    let storage: &'static mut PoolStorage<u64, 1> = Box::leak(Box::new(PoolStorage::new()));
    let pool = Pool::in_storage(storage);
    assert!(pool.try_alloc(7).is_ok());
}

#[cfg(compile_fail)]
fn pool_in_a_claimed_storage() {
    let storage: &'static mut PoolStorage<u64, 1> = Box::leak(Box::new(PoolStorage::new()));
    let claimed = storage.claim();
    let pool = Pool::in_storage(storage); //~ E0502
}

// # No pool is reset under a box

#[test]
fn reset_after_the_boxes() {
    let mut pool = Pool::with_capacity(2);
    let boxed = pool.alloc(7);
    let leaked = PoolBox::leak(pool.alloc(8));
    assert_eq!(*boxed + *leaked, 15);
    drop(boxed);
    pool.reset();
}

#[cfg(compile_fail)]
fn reset_under_a_box() {
    let mut pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    pool.reset(); //~ E0502
    assert_eq!(*boxed, 7);
}

#[cfg(compile_fail)]
fn reset_under_a_box_that_is_only_dropped() {
    let mut pool = Pool::with_capacity(1);
    let boxed = pool.alloc(7);
    pool.reset(); //~ E0502
    drop(boxed);
}

#[cfg(compile_fail)]
fn reset_under_a_leaked_value() {
    let mut pool = Pool::with_capacity(1);
    let leaked = PoolBox::leak(pool.alloc(7));
    pool.reset(); //~ E0502
    assert_eq!(*leaked, 7);
}

#[cfg(compile_fail)]
fn reset_under_a_vacant_cell() {
    let mut pool = Pool::<u64>::with_capacity(1);
    let vacant = pool.alloc_uninit();
    pool.reset(); //~ E0502
    drop(vacant);
}

// A leaked pool is never reset.
#[cfg(compile_fail)]
fn leaked_pool_reset() {
    let pool = Pool::<u64>::leak(1);
    pool.reset(); //~ E0596
}

// Nor is one cleared under a recycled box.
#[test]
fn cleared_after_the_boxes() {
    let mut pool = Pool::builder().capacity(1).recycle().build();
    drop(pool.alloc_or_reuse(|| 7, |_| {}));
    pool.clear();
}

#[cfg(compile_fail)]
fn cleared_under_a_box() {
    let mut pool = Pool::builder().capacity(1).recycle().build();
    let boxed = pool.alloc_or_reuse(|| 7, |_| {});
    pool.clear(); //~ E0502
    drop(boxed);
}

// # No reference outlives its box, and no leaked one its pool

#[test]
fn references_end_first() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(String::from("text"));
    let text: &str = &boxed;
    assert_eq!(text, "text");
    let leaked: &mut String = PoolBox::leak(boxed);
    leaked.clear();
    drop(pool);
}

#[cfg(compile_fail)]
fn reference_after_its_box() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(String::from("text"));
    let text: &str = &boxed;
    drop(boxed); //~ E0505
    assert_eq!(text, "text");
}

#[cfg(compile_fail)]
fn reference_after_take() {
    let pool = Pool::with_capacity(1);
    let boxed = pool.alloc(String::from("text"));
    let text: &str = &boxed;
    let (string, vacant) = PoolBox::take(boxed); //~ E0505
    assert_eq!(text, "text");
}

#[cfg(compile_fail)]
fn leaked_reference_after_its_pool() {
    let pool = Pool::with_capacity(1);
    let leaked = PoolBox::leak(pool.alloc(7));
    drop(pool); //~ E0505
    *leaked = 8;
}

// A value that is made fit for use does not get out of that call.
#[test]
fn length_kept_from_reuse() {
    let pool = Pool::builder().capacity(1).recycle().build();
    let mut length = 0;
    drop(pool.alloc_or_reuse(String::new, |_| {}));
    drop(pool.alloc_or_reuse(String::new, |text| length = text.len()));
    assert_eq!(length, 0);
}

#[cfg(compile_fail)]
fn reference_kept_from_reuse() {
    let pool = Pool::builder().capacity(1).recycle().build();
    let mut kept = None;
    drop(pool.alloc_or_reuse(String::new, |_| {}));
    drop(pool.alloc_or_reuse(String::new, |text| kept = Some(text))); //~ E0521
    kept.unwrap().clear();
}

// # What goes to another thread does not use the free list there

#[test]
fn sent_box_moved() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool: &'static Pool<'static, u64, InStorage> = STORAGE.claim().unwrap();
    let boxed = PoolBox::into_send(pool.alloc(7));
    std::thread::spawn(move || drop(boxed)).join().unwrap();
}

#[cfg(compile_fail)]
fn box_moved_without_into_send() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool: &'static Pool<'static, u64, InStorage> = STORAGE.claim().unwrap();
    let boxed = pool.alloc(7);
    std::thread::spawn(move || drop(boxed)).join().unwrap(); //~ E0277
}

#[cfg(compile_fail)]
fn received_box_moved() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool: &'static Pool<'static, u64, InStorage> = STORAGE.claim().unwrap();
    let boxed = pool.receive(PoolBox::into_send(pool.alloc(7))).unwrap();
    std::thread::spawn(move || drop(boxed)).join().unwrap(); //~ E0277
}

#[cfg(compile_fail)]
fn sent_on_another_thread() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool: &'static Pool<'static, u64, InStorage> = STORAGE.claim().unwrap();
    let boxed = PoolBox::into_send(pool.alloc(7));
    let there = move || drop(pool.receive(boxed));
    std::thread::spawn(there).join().unwrap(); //~ E0277
}

#[cfg(compile_fail)]
fn rc_sent() {
    static STORAGE: PoolStorage<std::rc::Rc<u64>, 1> = PoolStorage::new();
    let pool: &'static Pool<'static, std::rc::Rc<u64>, InStorage> = STORAGE.claim().unwrap();
    drop(PoolBox::into_send(pool.alloc(7.into()))); //~ E0277
}

#[cfg(compile_fail)]
fn sent_box_of_rc_moved() {
    fn moved<T: Send>() {}
    moved::<SendBox<std::rc::Rc<u64>>>(); //~ E0277
}

#[cfg(compile_fail)]
fn sent_box_of_a_cell_shared() {
    fn shared<T: Sync>() {}
    shared::<SendBox<std::cell::Cell<u64>>>(); //~ E0277
}

// The pool outlives the box, and is not reset under it.
#[test]
fn reset_before_the_first_is_sent() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    drop(pool.try_alloc(7));
    pool.reset();
    drop(PoolBox::into_send(pool.alloc(7)));
}

#[cfg(compile_fail)]
fn reset_under_a_sent_box() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    let sent = PoolBox::into_send(pool.alloc(7));
    pool.reset(); //~ E0502
    drop(sent);
}

#[cfg(compile_fail)]
fn reset_after_a_sent_box() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    drop(PoolBox::into_send(pool.alloc(7)));
    pool.reset(); //~ E0502
}

#[cfg(compile_fail)]
fn sent_box_of_a_pool_on_the_stack() {
    let mut storage = PoolStorage::<u64, 1>::new();
    let pool = Pool::in_storage(&mut storage); //~ E0597
    drop(PoolBox::into_send(pool.alloc(7))); //~ E0597
}

#[cfg(compile_fail)]
fn sent_box_of_a_pool_on_the_heap() {
    let pool: &'static Pool<u64> = Pool::leak(1);
    drop(PoolBox::into_send(pool.alloc(7))); //~ E0308
}

#[cfg(compile_fail)]
fn sent_box_dropped_after_receive() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool: &'static Pool<'static, u64, InStorage> = STORAGE.claim().unwrap();
    let sent = PoolBox::into_send(pool.alloc(7));
    let boxed = pool.receive(sent);
    drop(sent); //~ E0382
}

#[cfg(compile_fail)]
fn received_by_a_pool_of_another_type() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    static OTHER: PoolStorage<i64, 1> = PoolStorage::new();
    let pool: &'static Pool<'static, u64, InStorage> = STORAGE.claim().unwrap();
    let other: &'static Pool<'static, i64, InStorage> = OTHER.claim().unwrap();
    drop(other.receive(PoolBox::into_send(pool.alloc(7)))); //~ E0308
}

// The kinds of memory are markers, for structs that are generic over them.
#[test]
fn a_kind_of_memory_as_a_marker_goes_anywhere() {
    fn anywhere<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    anywhere::<std::marker::PhantomData<Heap>>();
    anywhere::<std::marker::PhantomData<InStorage>>();
}

#[cfg(compile_fail)]
fn pool_in_a_storage_shared() {
    fn shared<T: Sync>() {}
    shared::<Pool<'static, u64, InStorage>>(); //~ E0277
}
