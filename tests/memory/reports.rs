//! What a container says about its memory, and what a builder says about options that
//! it cannot have.

use flatslab::memory::{HugePages, Lock, Node, PageOption, Pages, Reason, Report};
use flatslab::{BoundedKeySlab, BoundedSlab, BuildError, KeySlab, Slab};

use crate::common::{Wide, wide};
use crate::source::Counted;

#[test]
fn the_bytes_reported_are_those_that_the_source_gave() {
    let source = Counted::new();
    let pages = source.pages();
    let expect = |report: Report| assert_eq!(report.bytes(), source.bytes(), "{report}");

    let slab = BoundedSlab::<Wide>::builder()
        .capacity(9)
        .pages(pages.clone())
        .build();
    expect(slab.memory());
    drop(slab);

    let slab = Slab::builder()
        .chunk_capacity(2)
        .pages(pages.clone())
        .build();
    expect(slab.memory());
    for number in 0..30 {
        slab.insert_key(wide(number));
        expect(slab.memory());
    }
    slab.retain(|key, _| key.index() % 7 == 0);
    slab.shrink_to_fit();
    expect(slab.memory());
    slab.reserve(50);
    expect(slab.memory());
    drop(slab);

    // An interpreter takes long to fill so large values.
    let values = if cfg!(miri) { 0 } else { 30 };
    let mut slab = KeySlab::<[u64; 3000]>::builder()
        .pages(pages.clone())
        .build();
    expect(slab.memory());
    for _ in 0..values {
        slab.insert([7; 3000]);
        expect(slab.memory());
    }
    slab.clear();
    slab.shrink_to_fit();
    expect(slab.memory());
    drop(slab);

    let slab = BoundedKeySlab::<u64>::builder()
        .capacity(100)
        .pages(pages.clone())
        .build();
    expect(slab.memory());
    assert!(slab.memory().to_string().ends_with("of a memory source"));
    drop((slab, pages));
    source.expect_all_back();
}

/// What is required is an error, and what is tried a shortfall.
fn expect_unsupported(pages: impl Fn() -> Pages) {
    type Case = (fn(Pages) -> Pages, fn(Pages) -> Pages, PageOption);
    let cases: [Case; 3] = [
        (
            |pages| pages.huge(HugePages::Require),
            |pages| pages.huge(HugePages::Try),
            PageOption::HugePages,
        ),
        (
            |pages| pages.lock(Lock::Require),
            |pages| pages.lock(Lock::Try),
            PageOption::Lock,
        ),
        (
            |pages| pages.numa_node(Node::Require(0)),
            |pages| pages.numa_node(Node::Try(0)),
            PageOption::Node(0),
        ),
    ];
    for (require, try_for, option) in cases {
        let built = Slab::<u64>::builder().pages(require(pages())).try_build();
        assert_eq!(built.err(), Some(BuildError::Unsupported(option)));
        let built = KeySlab::<u64>::builder()
            .pages(require(pages()))
            .try_build();
        assert_eq!(built.err(), Some(BuildError::Unsupported(option)));
        let built = BoundedKeySlab::<u64>::builder()
            .pages(require(pages()))
            .try_build();
        assert_eq!(built.err(), Some(BuildError::Unsupported(option)));
        let built = BoundedSlab::<u64>::builder()
            .pages(require(pages()))
            .try_build();
        assert_eq!(built.err(), Some(BuildError::Unsupported(option)));

        let slab = BoundedSlab::<u64>::builder()
            .capacity(9)
            .pages(try_for(pages()))
            .build();
        let lacks: Vec<_> = slab.memory().shortfalls().collect();
        assert_eq!(lacks.len(), 1);
        assert_eq!(
            (lacks[0].option, lacks[0].reason),
            (option, Reason::Unsupported)
        );
        let lacks = format!(
            "; not obtained: {option}: not supported by this platform, build or memory source"
        );
        assert!(slab.memory().to_string().ends_with(&lacks));
        assert_eq!(slab.memory().resident_bytes(), None);
        assert!(slab.insert_key(7).is_ok());
    }
    let pages = pages()
        .huge(HugePages::Transparent)
        .lock(Lock::Try)
        .numa_node(Node::Try(7));
    let report = Slab::<u64>::builder().pages(pages).build().memory();
    assert_eq!(report.shortfalls().count(), 3);
}

#[test]
fn a_source_of_ones_own_has_no_options() {
    expect_unsupported(|| Counted::new().pages());
}

#[test]
#[cfg(not(all(feature = "os-memory", target_os = "linux")))]
fn without_access_to_pages_there_are_no_options() {
    expect_unsupported(Pages::new);
    let refused = Some(BuildError::Unsupported(PageOption::System));
    let pages = Pages::system();
    assert_eq!(
        Slab::<u64>::builder()
            .pages(pages.clone())
            .try_build()
            .err(),
        refused
    );
    assert_eq!(
        KeySlab::<u64>::builder().pages(pages).try_build().err(),
        refused
    );
}

#[test]
fn memory_that_was_not_asked_for_pages_says_nothing_of_them() {
    let report = Slab::<u64>::with_capacity(100).memory();
    assert!(report.bytes() >= 100 * (8 + 8 + 8));
    assert_eq!(report.mapped_bytes(), None);
    assert_eq!((report.page_size(), report.node()), (None, None));
    assert_eq!(report.shortfalls().count(), 0);
}
