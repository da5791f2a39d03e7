//! What must not compile of the types of pools: what values may borrow and own, variance,
//! pinning, threads.

use std::cell::Cell;
use std::rc::Rc;

use flatslab::pool::{
    InStorage, Pool, PoolBox, PoolStorage, RecycledBox, RecyclingPool, StorageBox,
};

fn local<T>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn both<T: Send + Sync>() {}

// # What a value borrows outlives its box

// It need not outlive the pool.
#[test]
fn what_a_value_borrows_ends_after_its_box() {
    let pool = Pool::with_capacity(1);
    let text = String::from("text");
    let boxed = pool.alloc(&text);
    assert_eq!(*boxed, "text");
}

#[cfg(compile_fail)]
fn text_of_an_inner_block() {
    let pool = Pool::with_capacity(1);
    let boxed;
    {
        let text = String::from("text");
        boxed = pool.alloc(&text); //~ E0597
    }
    assert_eq!(*boxed, "text");
}

// The box may drop a value that looks at what it borrows.
#[cfg(compile_fail)]
fn what_a_value_borrows_ends_before_its_box() {
    let pool = Pool::with_capacity(1);
    let boxed;
    let text = String::from("text");
    boxed = pool.alloc(&text); //~ E0597
}

// A pool that keeps values drops them, so what they borrow outlives it too.
#[test]
fn text_outlives_a_pool_that_keeps_values() {
    let text = String::from("text");
    let pool = Pool::builder().capacity(1).recycle().build();
    drop(pool.alloc_or_reuse(|| &text, |_| {}));
}

#[cfg(compile_fail)]
fn text_ends_before_a_pool_that_keeps_values() {
    let pool = Pool::builder().capacity(1).recycle().build();
    let text = String::from("text");
    drop(pool.alloc_or_reuse(|| &text, |_| {})); //~ E0597
}

// # Values may own boxes of their own pool, unless it keeps values

#[test]
fn values_that_own_boxes() {
    struct Node<'p>(Option<PoolBox<'p, Node<'p>>>);
    let pool = Pool::with_capacity(2);
    let leaf = pool.try_alloc(Node(None)).ok();
    let root = pool.try_alloc(Node(leaf)).ok();
    drop(root);
}

#[test]
fn values_that_own_boxes_of_a_storage() {
    struct Node<'p>(Option<StorageBox<'p, Node<'p>>>);
    let mut storage = PoolStorage::<Node<'_>, 2>::new();
    let pool = Pool::in_storage(&mut storage);
    let leaf = pool.try_alloc(Node(None)).ok();
    let root = pool.try_alloc(Node(leaf)).ok();
    drop(root);
}

#[test]
fn pool_of_values_that_own_recycled_boxes() {
    struct Node<'p>(Option<RecycledBox<'p, Node<'p>>>);
    let pool: RecyclingPool<Node<'_>> = Pool::builder().recycle().build();
}

#[cfg(compile_fail)]
fn values_that_own_recycled_boxes() {
    struct Node<'p>(Option<RecycledBox<'p, Node<'p>>>);
    let pool = Pool::builder().capacity(2).recycle().build();
    let leaf = pool.try_alloc_or_reuse(|| Node(None), |_| {}).ok(); //~ E0597
    let root = pool.try_alloc_or_reuse(|| Node(leaf), |_| {}).ok();
}

// Nor may those that it keeps refer to it.
#[test]
fn value_that_refers_to_its_pool() {
    struct Value<'p>(&'p Pool<'p, Value<'p>>);
    let pool = Pool::with_capacity(1);
    let boxed = pool.try_alloc(Value(&pool)).ok();
    drop(boxed);
}

#[cfg(compile_fail)]
fn kept_value_that_refers_to_its_pool() {
    struct Value<'p>(&'p RecyclingPool<Value<'p>>);
    let pool = Pool::builder().capacity(1).recycle().build();
    let boxed = pool.try_alloc_or_reuse(|| Value(&pool), |_| {}).ok(); //~ E0597
    drop(boxed);
}

// # Pools and boxes are covariant, unless a pool keeps values

#[test]
fn pools_and_boxes_shortened() {
    fn pool<'a>(pool: Pool<'static, &'static str>) -> Pool<'a, &'a str> {
        pool
    }
    fn stored<'a, 's>(
        pool: &'a Pool<'s, &'static str, InStorage>,
    ) -> &'a Pool<'a, &'a str, InStorage> {
        pool
    }
    fn boxed<'a>(boxed: PoolBox<'static, &'static str>) -> PoolBox<'a, &'a str> {
        boxed
    }
    fn stored_box<'a>(boxed: StorageBox<'static, &'static str>) -> StorageBox<'a, &'a str> {
        boxed
    }
}

// So a pool takes a value that lives shorter than the others, and is then reset.
#[test]
fn shorter_value_then_reset() {
    fn use_up<'a>(pool: &Pool<'_, &'a str>, text: &'a str) {
        std::mem::forget(pool.try_alloc(text));
    }
    let mut pool: Pool<'_, &'static str> = Pool::with_capacity(1);
    use_up(&pool, &String::from("text"));
    assert!(pool.is_full());
    pool.reset();
    assert_eq!(*pool.alloc("text"), "text");
}

#[cfg(compile_fail)]
fn pool_lengthened<'a>(pool: Pool<'static, &'a str>) -> Pool<'static, &'static str> {
    pool //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn box_lengthened<'a>(boxed: PoolBox<'a, u64>) -> PoolBox<'static, u64> {
    boxed //~ lifetime may not live long enough
}

// A mutable reference to a box is invariant, as of any type.
#[cfg(compile_fail)]
fn box_reference_shortened<'a>(
    boxed: &'a mut PoolBox<'static, &'static str>,
) -> &'a mut PoolBox<'static, &'a str> {
    boxed //~ lifetime may not live long enough
}

// A pool that keeps values gives out what was put in, and so does its box.
#[test]
fn recycling_pools_and_boxes_of_one_type() {
    fn pool<'a>(pool: &'static RecyclingPool<&'static str>) -> &'a RecyclingPool<&'static str> {
        pool
    }
    fn boxed<'a>(boxed: RecycledBox<'static, &'static str>) -> RecycledBox<'a, &'static str> {
        boxed
    }
}

#[cfg(compile_fail)]
fn recycling_pool_shortened<'a>(
    pool: &'a RecyclingPool<&'static str>,
) -> &'a RecyclingPool<&'a str> {
    pool //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn recycled_box_shortened<'a>(boxed: RecycledBox<'a, &'static str>) -> RecycledBox<'a, &'a str> {
    boxed //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn recycled_box_lengthened<'a>(boxed: RecycledBox<'a, &'a str>) -> RecycledBox<'a, &'static str> {
    boxed //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn storage_shortened<'a>(storage: &'a PoolStorage<&'static str, 1>) -> &'a PoolStorage<&'a str, 1> {
    storage //~ lifetime may not live long enough
}

// # Only what is never used again is pinned

#[test]
fn pinned_for_ever() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool: &'static Pool<'_, _, _> = STORAGE.claim().unwrap();
    let pinned = PoolBox::into_pin(pool.alloc(7));
    let pool = Pool::leak(1);
    let pinned = PoolBox::into_pin(pool.alloc(7));
}

#[cfg(compile_fail)]
fn pinned_in_a_local_pool() {
    let pool = Pool::with_capacity(1);
    let pinned = PoolBox::into_pin(pool.alloc(7)); //~ E0597
}

#[cfg(compile_fail)]
fn pinned_in_any_pool<'p>(boxed: PoolBox<'p, u64>) {
    let _pinned = PoolBox::into_pin(boxed); //~ E0521
}

// A storage that is there for ever does not make its pool so.
#[cfg(compile_fail)]
fn pinned_in_a_leaked_storage() {
    let storage: &'static mut PoolStorage<u64, 1> = Box::leak(Box::new(PoolStorage::new()));
    let pool = Pool::in_storage(storage);
    let pinned = PoolBox::into_pin(pool.alloc(7)); //~ E0597
}

// A claimed pool is not reset, replaced or claimed back once a box was pinned.
#[test]
fn claimed_pool_reset() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    drop(pool.alloc(7));
    pool.reset();
}

#[cfg(compile_fail)]
fn claimed_pool_reset_after_a_pin() {
    static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    drop(PoolBox::into_pin(pool.alloc(7)));
    pool.reset(); //~ E0502
}

// # Threads

// A pool goes to another thread if its values may, and is used on one at a time. A box stays;
// references to its value go elsewhere.
#[test]
fn what_goes_to_other_threads() {
    send::<Pool<'static, u64>>();
    send::<Pool<'static, u64, InStorage>>();
    send::<RecyclingPool<u64>>();
    send::<Pool<'static, Cell<u64>>>();
    sync::<PoolBox<'static, u64>>();
    sync::<StorageBox<'static, u64>>();
    sync::<RecycledBox<'static, u64>>();
    sync::<PoolStorage<u64, 1>>();
    local::<Pool<'static, Rc<u64>>>();
    local::<RecyclingPool<Rc<u64>>>();
    local::<PoolBox<'static, Cell<u64>>>();
    local::<RecycledBox<'static, Cell<u64>>>();
}

#[cfg(compile_fail)]
fn pool_or_box_sent_or_shared() {
    send::<Pool<'static, Rc<u64>>>(); //~ E0277
    send::<Pool<'static, Rc<u64>, InStorage>>(); //~ E0277
    send::<RecyclingPool<Rc<u64>>>(); //~ E0277
    sync::<Pool<'static, u64>>(); //~ E0277
    sync::<Pool<'static, u64, InStorage>>(); //~ E0277
    sync::<RecyclingPool<u64>>(); //~ E0277
    send::<PoolBox<'static, u64>>(); //~ E0277
    send::<StorageBox<'static, u64>>(); //~ E0277
    send::<RecycledBox<'static, u64>>(); //~ E0277
    sync::<PoolBox<'static, Cell<u64>>>(); //~ E0277
    sync::<RecycledBox<'static, Cell<u64>>>(); //~ E0277
}

// A storage has no values, and gives out its pool alone, once, on whichever thread asks: that
// is where the values are then. So any storage is shared and sent.
#[test]
fn storage_of_values_that_stay() {
    both::<PoolStorage<Rc<u64>, 1>>();
    static STORAGE: PoolStorage<Rc<u64>, 1> = PoolStorage::new();
    std::thread::spawn(|| {
        let pool = STORAGE.claim().unwrap();
        drop(pool.try_alloc(Rc::new(7)));
    });
}

#[cfg(compile_fail)]
fn claimed_pool_sent() {
    static STORAGE: PoolStorage<Rc<u64>, 1> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    std::thread::spawn(move || drop(pool.try_alloc(Rc::new(7)))); //~ E0277
}
