//! Pools of the system's pages: what they fault and what is resident.

use std::hint::black_box;

use flatslab::memory::{HugePages, Pages};
use flatslab::pool::{Pool, PoolBox, PoolMemory, PoolStorage};

use super::child::{ADDRESSES, faults};

type Order = [u64; 8];

const LIVE: usize = 20_000;
const BYTES: usize = LIVE * size_of::<Order>();

fn builder() -> flatslab::Builder<Pool<'static, Order>> {
    Pool::builder().capacity(LIVE).pages(Pages::system())
}

/// The faults of filling a pool and emptying it, when what the code needs is there.
fn faults_of_a_life<M: PoolMemory>(pool: &Pool<'_, Order, M>) -> i64 {
    let mut boxes: Vec<Option<PoolBox<'_, Order, M>>> = Vec::new();
    boxes.resize_with(LIVE, || None);
    boxes[0] = pool.try_alloc([7; 8]).ok();
    boxes[0] = None;
    faults(|| {
        for (number, place) in boxes.iter_mut().enumerate() {
            *place = pool.try_alloc([number as u64; 8]).ok();
        }
        black_box(&mut boxes);
        boxes.iter_mut().for_each(|place| *place = None);
    })
}

#[test]
fn a_pool_does_not_fault_from_its_first_allocation_on() {
    assert_eq!(faults_of_a_life(&builder().build()), 0);
    let pool = builder().recycle().build();
    let mut boxes = Vec::with_capacity(LIVE);
    boxes.resize_with(LIVE, || None);
    let found = faults(|| {
        for _ in 0..2 {
            for place in &mut boxes {
                *place = pool.try_alloc_or_reuse(|| [7; 8], |_| {}).ok();
            }
            boxes.iter_mut().for_each(|place| *place = None);
        }
    });
    // What the code needs.
    assert!(found < 10, "{found}");
}

#[test]
fn a_lazy_pool_does_not_fault_after_prepare() {
    let pool = builder().lazy().build();
    let resident = |bytes: Option<usize>| bytes.unwrap();
    assert!(resident(pool.memory().resident_bytes()) < BYTES / 10);
    pool.prepare(pool.capacity()).unwrap();
    assert!(resident(pool.memory().resident_bytes()) >= BYTES + LIVE * size_of::<usize>());
    assert_eq!(faults_of_a_life(&pool), 0);

    let mut pool = builder().lazy().build();
    // Part of it is in use; then part was, and all is free.
    std::mem::forget(pool.try_alloc([7; 8]));
    pool.prepare(pool.capacity()).unwrap();
    assert!(resident(pool.memory().resident_bytes()) >= BYTES);
    pool.reset();
    assert_eq!(faults_of_a_life(&pool), 0);
    assert!(pool.memory().bytes() >= BYTES);
}

#[test]
fn a_lazy_pool_is_resident_as_far_as_it_is_used() {
    let pool = Pool::<Order>::builder()
        .capacity(ADDRESSES / size_of::<Order>())
        .lazy()
        .pages(Pages::system());
    for used in [0, 1000, 50_000] {
        let pool = pool.clone().build();
        let boxes: Vec<_> = (0..used).map(|n| pool.alloc([n; 8])).collect();
        let report = pool.memory();
        // The free list is as deep as cells were free at once.
        let (resident, least) = (report.resident_bytes().unwrap(), used as usize * 64);
        assert!((least..least + (3 << 20)).contains(&resident), "{report}");
        assert!(boxes.iter().zip(0..).all(|(boxed, n)| **boxed == [n; 8]));
    }
}

#[test]
fn a_storage_does_not_fault_after_prepare() {
    static STORAGE: PoolStorage<Order, LIVE> = PoolStorage::new();
    let pool = STORAGE.claim().unwrap();
    let touched = faults(|| pool.prepare(pool.capacity()).unwrap());
    // Of a static that was never written to; the system may map several at once.
    assert!(touched > 0);
    assert_eq!(faults_of_a_life(pool), 0);
}

#[test]
fn explicit_huge_pages_cannot_be_lazy() {
    use flatslab::BuildError;
    use flatslab::memory::PageOption;

    let pages = Pages::new().huge(HugePages::Require);
    let refused = Some(BuildError::Unsupported(PageOption::HugePages));
    assert_eq!(
        builder().lazy().pages(pages.clone()).try_build().err(),
        refused
    );
    let builder = builder().lazy().pages(pages);
    assert!(builder.recycle().try_build().is_err());
}

#[test]
fn transparent_huge_pages_of_a_pool_are_whole_or_a_shortfall() {
    let pages = Pages::new().huge(HugePages::Transparent);
    for pool in [
        builder().pages(pages.clone()).build(),
        builder().pages(pages).lazy().build(),
    ] {
        pool.prepare(pool.capacity()).unwrap();
        let report = pool.memory();
        assert!(report.resident_bytes().unwrap() >= BYTES, "{report}");
        assert_eq!(report.huge_bytes().unwrap_or(0) % (2 << 20), 0);
        assert_eq!(faults_of_a_life(&pool), 0);
    }
}
