//! What the system refuses is an error with its reason, or stands in the report, and
//! everything is given back.

use flatslab::memory::{HugePages, Lock, Node, PageOption, Pages, Reason, Report, Shortfall};
use flatslab::{AllocError, BoundedKeySlab, BoundedSlab, BuildError, KeySlab, Slab};

use super::child::{forbid_locking, forbid_more_than, in_child, mappings};

/// What each builder says to these pages.
fn each_builder(pages: &Pages) -> [Result<Report, BuildError>; 7] {
    let pages = || pages.clone();
    let capacity = 10_000;
    let bounded = BoundedSlab::<u64>::builder()
        .capacity(capacity)
        .pages(pages());
    [
        bounded.clone().try_build().map(|slab| slab.memory()),
        bounded.lazy().try_build().and_then(|slab| {
            slab.prepare(capacity)?;
            Ok(slab.memory())
        }),
        (Slab::<u64>::builder().reserve(capacity).pages(pages()))
            .try_build()
            .map(|slab| slab.memory()),
        (Slab::<u64>::builder().pages(pages()))
            .try_build()
            .and_then(|slab| {
                slab.try_reserve(capacity)?;
                Ok(slab.memory())
            }),
        (Slab::<u64>::builder().spare_chunks(2).pages(pages()))
            .try_build()
            .map(|slab| slab.memory()),
        (KeySlab::<u64>::builder().reserve(capacity).pages(pages()))
            .try_build()
            .map(|slab| slab.memory()),
        (BoundedKeySlab::<u64>::builder()
            .capacity(capacity)
            .pages(pages()))
        .try_build()
        .map(|slab| slab.memory()),
    ]
}

fn lacks(report: &Report, option: PageOption) -> Option<Reason> {
    let mut found = report.shortfalls().filter(|lacks| lacks.option == option);
    found.next().map(|Shortfall { reason, .. }| reason)
}

/// Each builder refuses for this option, and nothing is left of the attempt.
#[track_caller]
fn expect_refused(pages: &Pages, expected: PageOption) -> Reason {
    let mut last = None;
    let mut attempt = || {
        for built in each_builder(pages) {
            match built {
                Err(BuildError::Memory(AllocError::Refused {
                    option,
                    reason,
                    bytes,
                })) => {
                    assert_eq!(option, expected);
                    assert!(bytes > 0);
                    last = Some(reason);
                }
                // A lazy slab has none of those that were set aside.
                Err(BuildError::Unsupported(PageOption::HugePages))
                    if expected == PageOption::HugePages => {}
                built => panic!("{expected}: {built:?}"),
            }
        }
    };
    // The first time the allocator and the threads' stacks get mappings.
    attempt();
    let before = mappings();
    attempt();
    assert_eq!(mappings(), before, "something is still mapped");
    last.unwrap()
}

#[test]
fn memory_that_may_not_be_locked() {
    in_child("system::refusals::memory_that_may_not_be_locked", || {
        forbid_locking();
        let reason = expect_refused(&Pages::new().lock(Lock::Require), PageOption::Lock);
        let permitted = [libc::EPERM, libc::ENOMEM, libc::EAGAIN].map(Reason::Refused);
        assert!(permitted.contains(&reason), "{reason}");
        for built in each_builder(&Pages::new().lock(Lock::Try)) {
            let report = built.unwrap();
            assert_eq!(lacks(&report, PageOption::Lock), Some(reason));
            assert_eq!(report.locked_bytes(), Some(0));
            assert!(report.to_string().contains("not obtained: locked memory: "));
        }
        // It works all the same, and gives back.
        let pages = Pages::new().lock(Lock::Try);
        let builder = BoundedSlab::<u64>::builder().capacity(1 << 20).lazy();
        let mut slab = builder.pages(pages).build();
        let keys: Vec<_> = (0..200_000).map(|n| slab.insert_key(n).unwrap()).collect();
        let resident = slab.memory().resident_bytes().unwrap();
        for (number, &key) in keys.iter().enumerate() {
            assert_eq!(slab.remove_by_key(key), number as u64);
        }
        slab.shrink_to_fit();
        assert!(slab.memory().resident_bytes().unwrap() < resident / 10);
    });
}

#[test]
fn memory_that_may_be_locked_is_locked() {
    let pages = Pages::new().lock(Lock::Require);
    for built in each_builder(&pages) {
        let report = match built {
            Err(BuildError::Memory(AllocError::Refused { .. })) => return,
            built => built.unwrap(),
        };
        assert!(report.locked_bytes().unwrap() > 10_000 * 12 || report.bytes() < 10_000 * 12);
        assert_eq!(report.shortfalls().count(), 0, "{report}");
    }
}

#[test]
fn a_node_that_is_not_there() {
    in_child("system::refusals::a_node_that_is_not_there", || {
        for node in [1000, 1024, u32::MAX] {
            let reason = expect_refused(
                &Pages::new().numa_node(Node::Require(node)),
                PageOption::Node(node),
            );
            assert!(
                matches!(reason, Reason::Refused(_) | Reason::Unsupported),
                "{reason}"
            );
            for built in each_builder(&Pages::new().numa_node(Node::Try(node))) {
                assert_eq!(lacks(&built.unwrap(), PageOption::Node(node)), Some(reason));
            }
        }
    });
}

#[test]
fn explicit_huge_pages_are_obtained_or_refused() {
    in_child(
        "system::refusals::explicit_huge_pages_are_obtained_or_refused",
        || {
            let required = Pages::new().huge(HugePages::Require);
            let builder = Slab::<u64>::builder()
                .reserve(10_000)
                .pages(required.clone());
            match builder.try_build() {
                Ok(slab) => {
                    let report = slab.memory();
                    assert_eq!(lacks(&report, PageOption::HugePages), None);
                    assert!(report.huge_bytes().unwrap() >= 10_000 * 16, "{report}");
                    assert!(report.to_string().contains("explicit"), "{report}");
                }
                Err(_) => {
                    expect_refused(&required, PageOption::HugePages);
                }
            }
            let tried = Pages::new().huge(HugePages::Try);
            for built in each_builder(&tried) {
                let report = built.unwrap();
                let is_explicit = report.to_string().contains("explicit)");
                assert!(
                    is_explicit || lacks(&report, PageOption::HugePages).is_some(),
                    "{report}"
                );
            }
        },
    );
}

#[test]
fn memory_that_is_not_there() {
    in_child("system::refusals::memory_that_is_not_there", || {
        let held = Slab::<u64>::builder().pages(Pages::system()).build();
        held.insert_key(7);
        // No more than this, so no stack can be reserved for all keys there may be.
        forbid_more_than(48 << 20);
        for pages in [Pages::system(), Pages::new().huge(HugePages::Try)] {
            let attempt = || {
                let pages = || pages.clone();
                let slots = 1 << 22;
                let bounded = BoundedSlab::<[u64; 4]>::builder()
                    .capacity(slots)
                    .pages(pages());
                let is_out = |error: BuildError| {
                    assert!(
                        matches!(error, BuildError::Memory(AllocError::OutOfMemory { bytes }) if bytes > 0),
                        "{error}"
                    );
                };
                is_out(bounded.clone().try_build().unwrap_err());
                is_out(bounded.lazy().try_build().unwrap_err());
                let builder = Slab::<[u64; 4]>::builder().reserve(slots).pages(pages());
                is_out(builder.try_build().unwrap_err());
                let builder = KeySlab::<[u64; 4]>::builder().reserve(slots).pages(pages());
                is_out(builder.try_build().unwrap_err());

                // One that grows until there is no more.
                let slab = Slab::<[u64; 4]>::builder().pages(pages()).build();
                let mut inserted = 0;
                while slab.try_insert_key([inserted; 4]).is_ok() {
                    inserted += 1;
                }
                assert!(inserted > 100_000, "{inserted}");
                assert!(
                    slab.iter()
                        .all(|(key, value)| value[3] == key.index() as u64)
                );
                slab.clear();
                slab.shrink_to_fit();
                assert_eq!(slab.capacity(), 0);
                let mut plain = KeySlab::<[u64; 4]>::builder().pages(pages()).build();
                while plain.try_insert([inserted; 4]).is_ok() {}
                assert!(plain.len() > 100_000);
            };
            attempt();
            let before = mappings();
            attempt();
            assert_eq!(mappings(), before, "something is still mapped");
        }
        assert_eq!(held.len(), 1);
    });
}

/// The free list of a growing slab lies in reserved addresses, unless the system refuses them.
#[test]
fn a_slab_without_reserved_addresses_shrinks_too() {
    in_child(
        "system::refusals::a_slab_without_reserved_addresses_shrinks_too",
        || {
            forbid_more_than(1 << 30);
            let slab = Slab::<u64>::builder().pages(Pages::system()).build();
            let keys: Vec<_> = (0..100_000).map(|n| slab.insert_key(n)).collect();
            for key in keys {
                slab.remove_by_key(key);
            }
            slab.shrink_to_fit();
            assert_eq!(slab.chunks(), 0);
            assert!(slab.memory().bytes() < 1 << 16, "{}", slab.memory());
            // It grows again.
            let keys: Vec<_> = (0..100_000).map(|n| slab.insert_key(n)).collect();
            assert!(
                keys.into_iter()
                    .zip(0..)
                    .all(|(key, n)| *slab.get(key).unwrap() == n)
            );
        },
    );
}
