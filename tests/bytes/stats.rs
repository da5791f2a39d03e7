//! What is counted, and how it is printed.

use flatslab::bytes::{ByteArena, Stats};

use crate::{owned_by, small};

fn value(stats: &Stats, name: &str) -> u64 {
    let mut found = stats.iter().filter(|(it, _)| *it == name);
    let (_, value) = found.next().unwrap_or_else(|| panic!("{name}"));
    assert!(found.next().is_none(), "{name} twice");
    value
}

/// The totals that changed while `f` ran, and by how much; without those of references, which
/// are there with the feature `stats` alone.
fn changes(arena: &ByteArena, f: impl FnOnce()) -> Vec<(&'static str, i64)> {
    let before = arena.stats();
    f();
    let after = arena.stats();
    let differ = |(name, now): (&'static str, u64)| {
        let by = now as i64 - value(&before, name) as i64;
        (by != 0).then_some((name, by))
    };
    let tallies = [
        "add_refs",
        "dec_refs",
        "dec_ref_zeroes",
        "get_nexts",
        "set_nexts",
    ];
    let always = |total: &(&str, u64)| !tallies.contains(&total.0);
    after.iter().filter(always).filter_map(differ).collect()
}

#[test]
#[cfg(feature = "stats")]
fn references_are_counted_that_are_added_and_dropped() {
    let arena = ByteArena::new();
    let buf = owned_by(&arena, 1, 60);
    let loc = buf.slice(1..).into_loc();
    drop((buf.clone(), arena.resolve(loc).unwrap()));
    let stats = arena.stats();
    assert_eq!((stats.add_refs, stats.dec_refs), (3, 2));
    assert!(!arena.release(loc).unwrap() && buf.release());
    let stats = arena.stats();
    assert_eq!((stats.add_refs, stats.dec_refs), (3, 4));
    assert_eq!((stats.frees, stats.dec_ref_zeroes), (1, 1));
}

/// The five that are there with the feature `stats` alone.
#[cfg(feature = "stats")]
fn tallies(stats: &Stats) -> [u64; 5] {
    [
        stats.add_refs,
        stats.dec_refs,
        stats.dec_ref_zeroes,
        stats.get_nexts,
        stats.set_nexts,
    ]
}

#[cfg(feature = "stats")]
fn links_and_last_references_are_counted<R: flatslab::bytes::References>(arena: &ByteArena<R>) {
    drop(arena.alloc(10));
    let stats = arena.stats();
    assert_eq!((stats.frees, tallies(&stats)), (1, [0; 5]), "no reference");
    let mut head = arena.copy(b"head");
    assert!(head.set_next(arena.copy(b"tail")).unwrap().is_none());
    assert_eq!(tallies(&arena.stats()), [0, 0, 0, 0, 1]);
    // One more reference, and one less.
    drop(head.next());
    assert_eq!(tallies(&arena.stats()), [1, 1, 0, 1, 1]);
    assert!(head.next_ref().is_some() && head.next_mut().unwrap().is_some());
    assert_eq!(tallies(&arena.stats()), [1, 1, 0, 3, 1]);
    // From the first to the second, and that there is no third.
    assert_eq!(head.parts().count(), 2);
    assert_eq!(tallies(&arena.stats()), [1, 1, 0, 5, 1]);
    drop(head.take_next().unwrap());
    assert_eq!(tallies(&arena.stats()), [1, 2, 1, 5, 2]);
    head.set_next(arena.copy(b"tail")).unwrap();
    drop(head);
    let stats = arena.stats();
    assert_eq!(tallies(&stats), [1, 4, 3, 5, 3]);
    assert_eq!((stats.allocs, stats.frees), (4, 4));
    drop(arena.copy(b"mutable").try_into_mut().unwrap());
    assert_eq!(tallies(&arena.stats()), [1, 4, 3, 5, 3]);
    assert_eq!(arena.stats().frees, 5);
    assert!(arena.try_alloc(usize::MAX).is_err());
    assert_eq!(arena.stats().requests, 6);
}

#[test]
#[cfg(feature = "stats")]
fn the_totals_of_the_go_library_are_counted_with_both_counts() {
    links_and_last_references_are_counted(&ByteArena::new());
    links_and_last_references_are_counted(&ByteArena::atomic());
    let names: Vec<_> = ByteArena::new().stats().iter().map(|it| it.0).collect();
    for name in [
        "size_classes",
        "requests",
        "add_refs",
        "dec_refs",
        "dec_ref_zeroes",
        "get_nexts",
        "set_nexts",
        "mallocs",
        "malloc_errs",
        "too_large_errs",
        "add_chunk_errs",
        "frees",
        "allocs",
        "pop_free_errs",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let class = ByteArena::new().stats().classes()[0];
    let names: Vec<_> = class.iter().map(|it| it.0).collect();
    for name in [
        "chunks",
        "size",
        "buffers",
        "buffers_free",
        "buffers_in_use",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
#[cfg(feature = "stats")]
fn references_are_counted_on_every_thread() {
    const THREADS: u64 = 2;
    let (count, arena) = (crate::common::amount(1000, 10), ByteArena::atomic());
    let buf = arena.copy(b"shared");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let buf = buf.clone();
            scope.spawn(move || (0..count).for_each(|_| drop(buf.clone())));
        }
    });
    let stats = arena.stats();
    let expected = THREADS * (count + 1);
    assert_eq!((stats.add_refs, stats.dec_refs), (expected, expected));
    assert_eq!(stats.dec_ref_zeroes, 0);
}

#[test]
fn a_new_arena_has_counted_nothing() {
    let arena = ByteArena::new();
    let stats = arena.stats();
    for (name, value) in stats.iter() {
        let expected = if name == "size_classes" { 15 } else { 0 };
        assert_eq!(value, expected, "{name}");
    }
    assert_eq!((stats.in_use(), stats.classes().len()), (0, 15));
}

#[test]
fn each_operation_moves_its_counters_and_no_others() {
    let arena = ByteArena::builder()
        .smallest(64)
        .chunk_bytes(256)
        .max_bytes(600);
    let arena = arena.build();
    let allocated = [("requests", 1), ("allocs", 1)];
    let freed = [("frees", 1)];
    let mut head = None;
    // A slab: its bytes, a record, four headers.
    let first = changes(&arena, || head = Some(owned_by(&arena, 1, 60)));
    let chunk_bytes = 256 + 64 + 4 * 64;
    let added = [("mallocs", 1), ("chunk_bytes", chunk_bytes)];
    assert_eq!(first, [allocated, added].concat());
    let mut head = head.unwrap();
    let mut tail = None;
    assert_eq!(
        changes(&arena, || tail = Some(owned_by(&arena, 2, 60))),
        allocated
    );
    let tail = tail.unwrap();
    assert_eq!(
        changes(&arena, || drop(arena.try_alloc(1).unwrap())),
        [&allocated[..], &freed].concat()
    );
    assert_eq!(
        changes(&arena, || drop((head.clone(), tail.slice(1..)))),
        []
    );
    assert_eq!(changes(&arena, || drop(head.next())), []);
    assert_eq!(
        changes(&arena, || assert_eq!(
            head.parts().count(),
            1 + usize::from(head.next_ref().is_some())
        )),
        []
    );
    let set = changes(&arena, || drop(head.set_next(tail.clone()).unwrap()));
    assert_eq!(set, []);
    assert_eq!(changes(&arena, || drop(head.take_next())), []);
    let mut loc = None;
    let held = changes(&arena, || loc = Some(tail.clone().into_loc()));
    assert_eq!(held, [("held_by_locs", 1)]);
    let loc = loc.unwrap();
    assert_eq!(changes(&arena, || drop(arena.resolve(loc))), []);
    let released = changes(&arena, || assert!(!arena.release(loc).unwrap()));
    assert_eq!(released, [("held_by_locs", -1)]);
    assert_eq!(changes(&arena, || assert!(arena.release(loc).is_err())), []);
    let too_big = changes(&arena, || assert!(arena.try_alloc(257).is_err()));
    assert_eq!(too_big, [("requests", 1), ("too_large_errs", 1)]);
    // The limit is asked before the source is.
    let refused = changes(&arena, || assert!(arena.try_alloc(256).is_err()));
    let expected = [("requests", 1), ("add_chunk_errs", 1), ("pop_free_errs", 1)];
    assert_eq!(refused, expected);
    assert_eq!(
        changes(&arena, || drop(tail.try_into_mut().unwrap().freeze())),
        freed
    );
    assert_eq!(changes(&arena, || drop(head)), freed);
    let trimmed = changes(&arena, || arena.shrink_to_fit());
    assert_eq!(
        trimmed,
        [("freed_chunks", 1), ("chunk_bytes", -chunk_bytes)]
    );
}

#[test]
fn a_refusal_of_the_source_is_counted() {
    use crate::source::{Counted, Fault, with_fault};
    let source = Counted::new();
    let arena = ByteArena::builder()
        .chunk_bytes(256)
        .pages(source.pages())
        .build();
    let counted = changes(&arena, || {
        let is_reached = with_fault(0, Fault::Refuse, true, || {
            assert!(arena.try_alloc(100).is_err());
            assert!(arena.prepare(100, 1).is_err());
        });
        assert!(is_reached);
    });
    // For two buffers, and for one.
    let expected = [
        ("requests", 1),
        ("mallocs", 4),
        ("malloc_errs", 4),
        ("add_chunk_errs", 2),
        ("pop_free_errs", 1),
    ];
    assert_eq!(counted, expected);
}

#[test]
fn classes_count_what_is_theirs() {
    let arena = small(512);
    let bufs = [20, 20, 100].map(|size| owned_by(&arena, 1, size));
    drop(owned_by(&arena, 1, 100));
    let stats = arena.stats();
    let sizes: Vec<_> = stats.classes().iter().map(|it| it.size).collect();
    assert_eq!(sizes, [16, 32, 64, 128, 256, 512]);
    let in_use: Vec<_> = stats.classes().iter().map(|it| it.in_use).collect();
    assert_eq!(in_use, [0, 2, 0, 1, 0, 0]);
    let allocs: Vec<_> = stats.classes().iter().map(|it| it.allocs).collect();
    assert_eq!(allocs, [0, 2, 0, 2, 0, 0]);
    for class in stats.classes() {
        assert_eq!(class.free + class.in_use, class.buffers);
        assert_eq!(class.buffers * class.size, class.chunks * 512);
    }
    assert_eq!((stats.in_use(), stats.allocs, stats.frees), (3, 4, 1));
    drop(bufs);
    assert_eq!(stats.in_use(), 3, "a snapshot");
}

#[test]
fn counts_go_on_after_memory_was_given_back() {
    let arena = small(512);
    for round in 1..5 {
        drop([(); 3].map(|()| owned_by(&arena, 1, 20)));
        arena.shrink_to_fit();
        let stats = arena.stats();
        assert_eq!((stats.allocs, stats.frees), (3 * round, 3 * round));
        assert_eq!(stats.freed_chunks, round);
    }
}

#[test]
fn each_total_is_a_line_of_the_text() {
    let arena = small(512);
    let _bufs = [20, 100].map(|size| owned_by(&arena, 1, size).into_loc());
    let stats = arena.stats();
    let text = stats.to_string();
    let mut lines = text.lines();
    for (name, value) in stats.iter() {
        assert_eq!(lines.next(), Some(&*format!("{name}: {value}")));
    }
    for size in [32, 128] {
        let class = stats.classes().iter().find(|it| it.size == size).unwrap();
        assert_eq!(lines.next(), Some("size class:"));
        for (name, value) in class.iter() {
            assert_eq!(lines.next(), Some(&*format!("  {name}: {value}")));
        }
        let figure = |name| class.iter().find(|figure| figure.0 == name).unwrap().1;
        assert_eq!(figure("size"), size as u64);
        assert_eq!((figure("chunks"), figure("buffers_in_use")), (1, 1));
    }
    assert_eq!(lines.next(), None);
    let debug = format!("{stats:?}");
    assert!(stats.iter().all(|(name, _)| debug.contains(name)));
}

#[test]
fn an_arena_prints_its_use() {
    let arena = small(512);
    let _buf = owned_by(&arena, 1, 20);
    let text = format!("{arena:?} {:?}", ByteArena::builder());
    assert!(
        text.contains("in_use: 1") && text.contains("chunk_bytes"),
        "{text}"
    );
}
