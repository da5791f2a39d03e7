//! A source of memory that uses, at each call in turn, the slab that asks, or another
//! one that lives in the same memory.

use std::cell::RefCell;
use std::rc::Rc;

use flatslab::{BoundedSlab, Key, KeySlab, Slab, Slot};

use crate::common::{Audit, Wide, wide};
use crate::source::{Counted, with_hook};

type Hook = fn(&Slab<Wide>);

fn insert(slab: &Slab<Wide>, numbers: std::ops::Range<u64>) {
    for number in numbers {
        slab.insert_key(wide(number));
    }
}

#[test]
fn a_source_may_use_the_slab_that_asks() {
    let hooks: [Hook; 8] = [
        |slab| {
            slab.insert_key(wide(1_000));
        },
        |slab| {
            // All slots of two chunks, so that the insertion finds none free.
            for number in 0..8 {
                slab.insert_key(wide(2_000 + number));
            }
        },
        |slab| {
            let _ = slab.try_remove_by_key(Key::from_raw(0));
            let _ = slab.try_remove_by_key(Key::from_raw(2));
        },
        |slab| slab.iter().for_each(|(_, value)| assert!(value.0 < 9_000)),
        Slab::shrink_to_fit,
        |slab| {
            slab.reserve(9);
            slab.retain(|key, _| key.index() % 8 < 4);
            slab.shrink_to_fit();
        },
        |slab| assert!(slab.memory().bytes() > 0 || slab.capacity() == 0),
        |slab| {
            let stats = slab.stats();
            assert_eq!(stats.live + stats.free, stats.capacity, "{stats}");
            assert!(stats.peak.is_none_or(|peak| peak >= stats.live), "{stats}");
            assert_eq!(stats.bytes, slab.memory().bytes());
        },
    ];
    let operations: [Hook; 5] = [
        |slab| {
            let slot = slab.insert(wide(7));
            assert_eq!(*slab.get(slot.key()).unwrap(), 7);
        },
        |slab| slab.reserve(11),
        |slab| slab.prepare(4).unwrap(),
        Slab::shrink_to_fit,
        // Half a chunk, whose other cells are not stamped; then more.
        |slab| {
            let slots: Vec<_> = (0..6).map(|number| slab.insert(wide(number))).collect();
            slab.shrink_to_fit();
            drop(slots);
        },
    ];
    // With chunks of four: none, one that is full, one that is not stamped to the
    // end, two with a hole of two between them.
    let makings: [Hook; 4] = [
        |_| {},
        |slab| insert(slab, 0..4),
        |slab| insert(slab, 0..5),
        |slab| {
            insert(slab, 0..16);
            slab.retain(|key, _| !(4..12).contains(&key.index()));
            slab.shrink_to_fit();
        },
    ];
    let (mut interrupted, mut combinations) = (0, 0);
    for making in makings {
        for operation in operations {
            for hook in hooks {
                combinations += 1;
                if cfg!(miri) && combinations % 61 != 0 {
                    continue;
                }
                let is_called = |calls| {
                    let source = Counted::new();
                    let builder = Slab::builder().chunk_capacity(4).pages(source.pages());
                    let slab = Rc::new(builder.build());
                    making(&slab);
                    let asked = slab.clone();
                    let result = with_hook(calls, Rc::new(move || hook(&asked)), || {
                        operation(&slab);
                    });
                    slab.audit();
                    assert_eq!(slab.iter().count(), slab.len());
                    let bytes = source.bytes();
                    assert_eq!(slab.memory().bytes(), bytes, "all is reported");
                    drop(slab);
                    source.expect_all_back();
                    result.is_some()
                };
                interrupted += (0..).take_while(|&calls| is_called(calls)).count();
            }
        }
    }
    assert!(
        interrupted > if cfg!(miri) { 0 } else { 300 },
        "{interrupted}"
    );
}

/// What lives in the same memory, and goes at a call.
#[test]
fn a_source_may_drop_what_else_lives_in_its_memory() {
    type Things = (
        Option<Slot<Wide>>,
        Option<Slab<Wide>>,
        Option<KeySlab<u64>>,
        Option<BoundedSlab<u64>>,
    );
    let is_called = |calls: usize, which: usize| {
        let source = Counted::new();
        let things: Rc<RefCell<Things>> = Rc::default();
        {
            let mut things = things.borrow_mut();
            // Its slab is gone.
            let gone = Slab::builder()
                .chunk_capacity(1)
                .pages(source.pages())
                .build();
            things.0 = Some(gone.insert(wide(7)));
            let slab = Slab::builder()
                .chunk_capacity(1)
                .pages(source.pages())
                .build();
            slab.insert_key(wide(8));
            things.1 = Some(slab);
            let mut plain = KeySlab::builder().pages(source.pages()).build();
            plain.insert(9);
            things.2 = Some(plain);
            let lazy = BoundedSlab::builder()
                .capacity(9)
                .lazy()
                .pages(source.pages());
            things.3 = Some(lazy.build());
        }
        let dropped = things.clone();
        let hook = move || {
            let mut things = dropped.borrow_mut();
            match which {
                0 => drop(things.0.take()),
                1 => drop(things.1.take()),
                2 => drop(things.2.take()),
                _ => drop(things.3.take()),
            }
        };
        let result = with_hook(calls, Rc::new(hook), || {
            let slab = Slab::builder()
                .chunk_capacity(1)
                .pages(source.pages())
                .build();
            for number in 0..10 {
                slab.insert_key(wide(number));
            }
            slab.retain(|key, _| key.index() == 5);
            slab.shrink_to_fit();
            slab.audit();
        });
        drop(things);
        source.expect_all_back();
        result.is_some()
    };
    for which in 0..4 {
        let step = if cfg!(miri) { 60 } else { 1 };
        let calls = (0..)
            .step_by(step)
            .take_while(|&calls| is_called(calls, which));
        assert!(calls.count() > 0);
    }
}
