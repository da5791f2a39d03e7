//! Pools in other memory than the global allocator's, and lazy ones: everything comes
//! back to the source, reports are exact, and each request for memory may fail.

use flatslab::memory::{HugePages, Lock, Node, PageOption, Pages};
use flatslab::pool::{Pool, PoolBox, RecyclingPool};
use flatslab::{AllocError, BuildError, Builder};

use crate::source::{Counted, Fault, unless_it_panics, with_fault};
use crate::values::{Sample, alive, with_each_value};

/// Several segments of the larger values.
const CAPACITY: usize = if cfg!(miri) { 20 } else { 70 };

fn builders<V>(pages: &Pages) -> [Builder<Pool<'static, V>>; 2] {
    let builder = Pool::builder().capacity(CAPACITY).pages(pages.clone());
    [builder.clone(), builder.lazy()]
}

/// Fills a pool, frees every other cell and fills it again; some of the values are
/// leaked before a reset.
macro_rules! use_pool {
    ($pool:expr, $value:ty) => {{
        let mut pool = $pool;
        for round in 0..2 {
            let make = |number: usize| pool.try_alloc(<$value>::new(number as u64)).ok();
            let mut boxes: Vec<_> = (0..CAPACITY).map(|n| (make(n).unwrap(), n)).collect();
            assert!(pool.is_full() && make(0).is_none());
            boxes.retain(|(_, number)| number % 2 == 1);
            pool.prepare(pool.capacity()).unwrap();
            assert_eq!(pool.len(), CAPACITY / 2);
            let again = (0..CAPACITY / 2).map(|n| (make(n + 1000).unwrap(), n + 1000));
            boxes.extend(again);
            assert!(boxes.iter().all(|(boxed, number)| boxed.is(*number as u64)));
            drop(boxes);
            assert_eq!((pool.len(), alive()), (0, 0), "round {round}");
            std::mem::forget(pool.try_alloc_uninit());
            pool.reset();
        }
    }};
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn everything_comes_back_to_the_source() {
    fn run<V: Sample>() {
        let source = Counted::new();
        for builder in builders::<V>(&source.pages()) {
            use_pool!(builder.clone().build(), V);
            assert_eq!(source.bytes(), 0);
            let pool = builder.recycle().build();
            for _ in 0..2 {
                let make = |n| pool.alloc_or_reuse(|| V::new(n as u64), |_| {});
                let boxes: Vec<_> = (0..CAPACITY).map(make).collect();
                assert_eq!((pool.len(), boxes.len()), (CAPACITY, CAPACITY));
            }
            assert_eq!((alive(), pool.idle()), (CAPACITY, CAPACITY));
            drop(pool);
            assert_eq!((alive(), source.bytes()), (0, 0));
        }
        source.expect_all_back();
    }
    with_each_value!(run);
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_bytes_that_a_pool_reports_are_those_that_the_source_gave() {
    type Order = [u64; 8];
    let source = Counted::new();
    for capacity in [0, 1, 9, if cfg!(miri) { 30 } else { 3000 }] {
        for builder in builders::<Order>(&source.pages()) {
            let builder = builder.capacity(capacity);
            let pool = builder.clone().build();
            assert_eq!(pool.memory().bytes(), source.bytes());
            pool.prepare(pool.capacity()).unwrap();
            assert_eq!(pool.memory().bytes(), source.bytes());
            assert!(pool.memory().to_string().ends_with("of a memory source"));
            drop(pool);
            let pool = builder.recycle().build();
            assert_eq!(pool.memory().bytes(), source.bytes());
            drop(pool.try_alloc_or_reuse(|| [7; 8], |_| {}));
            assert_eq!(pool.memory().bytes(), source.bytes());
        }
    }
    source.expect_all_back();
}

/// The memory is asked for at the start, whatever follows.
#[test]
fn no_operation_of_a_pool_asks_the_source() {
    let source = Counted::new();
    for builder in builders::<u64>(&source.pages()) {
        let pool = builder.build();
        let was_asked = with_fault(0, Fault::Panic, true, || {
            let boxes: Vec<_> = (0..).map_while(|n| pool.try_alloc(n).ok()).collect();
            assert_eq!(boxes.len(), CAPACITY);
            drop(boxes);
            pool.prepare(pool.capacity()).unwrap();
            assert_eq!(pool.try_alloc_with(|| 7).map(PoolBox::into_inner), Ok(7));
        });
        assert!(!was_asked);
    }
    source.expect_all_back();
}

#[test]
fn a_pool_whose_construction_fails_gives_back_what_it_got() {
    type Case = (
        &'static str,
        fn(Builder<Pool<'static, u64>>) -> Result<(), BuildError>,
        usize,
    );
    // Cells with the home, free list; the list of values that are kept.
    let cases: [Case; 2] = [
        ("heap", |builder| builder.try_build().map(drop), 2),
        (
            "recycling",
            |builder| builder.recycle().try_build().map(drop),
            3,
        ),
    ];
    for (name, build, requests) in cases {
        for fault in [Fault::Refuse, Fault::Panic] {
            for is_lazy in [0, 1] {
                let fails = |left| {
                    let source = Counted::new();
                    let is_reached = with_fault(left, fault, false, || {
                        let [usual, lazy] = builders(&source.pages());
                        let builder = if is_lazy == 1 { lazy } else { usual };
                        match unless_it_panics(|| build(builder)) {
                            None => assert_eq!(fault, Fault::Panic),
                            Some(Ok(())) => {}
                            Some(Err(BuildError::Memory(AllocError::OutOfMemory { bytes }))) => {
                                assert!(bytes > 0 && fault == Fault::Refuse);
                            }
                            Some(Err(error)) => panic!("{error}"),
                        }
                    });
                    source.expect_all_back();
                    is_reached
                };
                let failures = (0..).take_while(|&left| fails(left)).count();
                assert_eq!(failures, requests, "{name}, {fault:?}, lazy: {is_lazy}");
            }
        }
    }
}

#[test]
fn options_of_pages_are_refused_or_reported_where_there_are_none() {
    let pages = || Counted::new().pages();
    for (pages, option) in [
        (pages().huge(HugePages::Require), PageOption::HugePages),
        (pages().lock(Lock::Require), PageOption::Lock),
        (pages().numa_node(Node::Require(0)), PageOption::Node(0)),
    ] {
        for builder in builders::<u64>(&pages) {
            let refused = BuildError::Unsupported(option);
            assert_eq!(builder.clone().try_build().err(), Some(refused));
            assert!(builder.recycle().try_build().is_err());
        }
    }
    let pages = pages().huge(HugePages::Try).lock(Lock::Try);
    for builder in builders::<u64>(&pages) {
        let pool: RecyclingPool<u64> = builder.clone().recycle().build();
        assert_eq!(pool.memory().shortfalls().count(), 2);
        let pool = builder.build();
        assert_eq!(pool.memory().shortfalls().count(), 2);
        assert_eq!(*pool.alloc(7), 7);
    }
}
