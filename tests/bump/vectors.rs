//! `ArenaVec` against `Vec`, and where its room is.

use std::borrow::Borrow;
use std::hash::BuildHasher;

use flatslab::bump::{Arena, ArenaBox, ArenaVec, CollectIn, Scope};

use crate::common::panics;
use crate::common::random::{random, seed};
use crate::values::{Count, Counted, expect_apart};

/// A row that a function makes in a vector of its own, and that outlives it.
fn row<'s, T>(scope: &Scope<'s, '_>, len: usize, make: impl Fn(usize) -> T) -> &'s mut [T] {
    let mut vec = ArenaVec::with_capacity_in(len / 2, scope);
    for index in 0..len {
        vec.push(make(index));
        // So that some grow in their place and others move.
        if index % 3 == 0 {
            scope.alloc(index as u8);
        }
    }
    vec.into_slice()
}

#[test]
fn the_slice_of_a_vector_stays_while_inner_scopes_come_and_go() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(64))]
    struct Line(u8);

    let mut arena = Arena::builder().chunk_bytes(64).build();
    let mut root = arena.as_scope();
    let rows: [&mut [usize]; 3] = [0, 1, 30].map(|len| row(&root, len, |index| index));
    let lines = row(&root, 5, |index| Line(index as u8));
    let units = row(&root, 9, |_| ());
    for _ in 0..3 {
        root.scope(|mut inner| {
            let copy = row(&inner, 40, |index| rows[2][index % 30]);
            rows[1][0] += copy[9];
            inner.scope(|innermost| lines[4].0 += row(&innermost, 8, |_| Line(1))[7].0);
        });
    }
    assert_eq!((rows[0].len(), rows[1][0], rows[2].len()), (0, 27, 30));
    assert!(rows[2].iter().enumerate().all(|(index, it)| *it == index));
    assert_eq!(lines, [0, 1, 2, 3, 7].map(Line));
    assert!(lines.as_ptr().addr() % 64 == 0 && units.len() == 9);
}

#[test]
fn the_boxed_slice_of_a_vector_outlives_its_borrow_of_the_scope() {
    fn boxed<'s>(scope: &Scope<'s, '_>, count: &Count) -> ArenaBox<'s, [Counted]> {
        let mut vec = ArenaVec::new_in(scope);
        vec.extend((0..5).map(|number| count.make(number)));
        vec.into_boxed_slice()
    }
    let count = Count::default();
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let kept = boxed(&root, &count);
    root.scope(|inner| drop(boxed(&inner, &count)));
    count.expect(5);
    drop(kept);
    count.expect(0);
}

#[test]
fn a_vector_does_as_vec() {
    for number in 0..if cfg!(miri) { 2 } else { 300 } {
        seed(number);
        let count = Count::default();
        let arena = Arena::builder().chunk_bytes(64 << (number % 8)).build();
        let mut vecs: [_; 3] = std::array::from_fn(|_| ArenaVec::new_in(&arena));
        let mut models: [Vec<usize>; 3] = Default::default();
        for step in 0..if cfg!(miri) { 24 } else { 200 } {
            let at = random(3) as usize;
            let (vec, model) = (&mut vecs[at], &mut models[at]);
            match random(16) {
                0..5 => {
                    vec.push(count.make(step));
                    model.push(step);
                }
                5 => assert_eq!(vec.pop().map(|it| it.number), model.pop()),
                6 => {
                    let len = random(20) as usize;
                    vec.truncate(len);
                    model.truncate(len);
                }
                7 => {
                    let numbers = step..step + random(9) as usize;
                    vec.extend(numbers.clone().map(|number| count.make(number)));
                    model.extend(numbers);
                }
                8 => {
                    let additional = random(40) as usize;
                    vec.reserve(additional);
                    assert!(vec.capacity() - vec.len() >= additional);
                    let start = vec.as_ptr();
                    (0..additional).for_each(|number| vec.push(count.make(number)));
                    model.extend(0..additional);
                    assert_eq!(vec.as_ptr(), start, "what is reserved is there");
                }
                9 => drop(arena.alloc([step; 3])),
                12 => {
                    let index = random(model.len() as u64 + 1) as usize;
                    vec.insert(index, count.make(step));
                    model.insert(index, step);
                }
                13 if !model.is_empty() => {
                    let index = random(model.len() as u64) as usize;
                    let (removed, expected) = if step % 2 == 0 {
                        (vec.remove(index), model.remove(index))
                    } else {
                        (vec.swap_remove(index), model.swap_remove(index))
                    };
                    assert_eq!(removed.number, expected);
                }
                14 => {
                    let (divisor, rest) = (2 + random(3) as usize, random(2) as usize);
                    vec.retain(|it| it.number % divisor != rest);
                    model.retain(|it| it % divisor != rest);
                }
                15 => {
                    let old = std::mem::replace(vec, ArenaVec::new_in(&arena));
                    let (mut old, mut expected) =
                        (old.into_iter(), std::mem::take(model).into_iter());
                    for _ in 0..random(6) {
                        assert_eq!(old.len(), expected.len());
                        assert_eq!(old.next().map(|it| it.number), expected.next());
                        assert_eq!(old.next_back().map(|it| it.number), expected.next_back());
                    }
                    let again = old.collect_in(&arena);
                    *vec = again;
                    model.extend(expected);
                }
                10 => {
                    let old = std::mem::replace(vec, ArenaVec::with_capacity_in(3, &arena));
                    let boxed = old.into_boxed_slice();
                    assert!(boxed.iter().map(|it| it.number).eq(std::mem::take(model)));
                }
                _ => {
                    vec.iter_mut().for_each(|it| it.number += 1);
                    model.iter_mut().for_each(|it| *it += 1);
                    vec.sort_by_key(|it| std::cmp::Reverse(it.number));
                    model.sort_by_key(|it| std::cmp::Reverse(*it));
                }
            }
            count.expect(models.iter().map(Vec::len).sum());
            for (vec, model) in vecs.iter().zip(&models) {
                assert!(
                    vec.into_iter()
                        .map(|it| it.number)
                        .eq(model.iter().copied())
                );
                assert!(vec.len() <= vec.capacity());
            }
        }
        drop(vecs);
        count.expect(0);
    }
}

#[test]
fn a_vector_that_is_last_grows_where_it_stands() {
    let arena = Arena::bounded(1024);
    let mut vec = ArenaVec::new_in(&arena);
    vec.push(0_u64);
    let start = vec.as_ptr();
    vec.extend(1..128_u64);
    assert_eq!((vec.as_ptr(), arena.remaining()), (start, 0));
    assert!(vec.try_push(9).is_err(), "to the last byte");
    assert!(vec.iter().copied().eq(0..128));
    vec.truncate(2);
    let row = vec.into_slice();
    assert_eq!((&*row, arena.remaining()), (&[0, 1][..], 1024 - 16));
}

#[test]
fn a_vector_that_is_not_last_moves() {
    let arena = Arena::builder().chunk_bytes(256).build();
    let mut vecs: Vec<ArenaVec<'_, '_, u64>> = (0..4).map(|_| ArenaVec::new_in(&arena)).collect();
    let mut words = Vec::new();
    for number in 0..40 {
        for vec in &mut vecs {
            vec.push(number);
            words.push(arena.alloc(number));
        }
    }
    let rows: Vec<&[u64]> = vecs.iter().map(|vec| &vec[..]).collect();
    expect_apart(&rows);
    assert!(rows.iter().all(|row| row.iter().copied().eq(0..40)));
    assert!(
        words
            .iter()
            .map(|word| **word)
            .eq((0..40).flat_map(|number| [number; 4]))
    );
}

/// In two chunks that lie one after the other, and in a chunk of its own, a row may end
/// where the position is.
#[test]
fn a_vector_of_another_chunk_is_never_the_last() {
    for small in [64, 128, 200] {
        let arena = Arena::builder().chunk_bytes(small).build();
        let mut vecs = Vec::new();
        for number in (0..60_u8).step_by(if cfg!(miri) { 7 } else { 1 }) {
            let mut vec = ArenaVec::with_capacity_in(1 + usize::from(number), &arena);
            vec.extend(std::iter::repeat_n(number, vec.capacity()));
            vecs.push((vec, number));
        }
        for (vec, number) in &mut vecs {
            vec.push(*number);
        }
        let right = |(vec, number): &(ArenaVec<'_, '_, u8>, u8)| vec.iter().all(|it| it == number);
        assert!(vecs.iter().all(right));
    }
}

#[test]
fn a_refused_growth_changes_nothing() {
    let count = Count::default();
    let arena = Arena::bounded(size_of::<Counted>() * 5);
    let mut vec = ArenaVec::new_in(&arena);
    for number in 0..5 {
        assert!(vec.try_push(count.make(number)).is_ok());
    }
    let refused = vec.try_push(count.make(5)).unwrap_err();
    assert_eq!(refused.into_inner().number, 5);
    assert!(vec.try_reserve(1).is_err() && vec.try_reserve(0).is_ok());
    assert!(vec.iter().map(|it| it.number).eq(0..5));
    count.expect(5);
    let mut bytes = ArenaVec::new_in(&arena);
    assert!(bytes.try_extend_from_slice(b"text").is_err() && bytes.is_empty());
}

#[test]
fn a_vector_of_texts_and_of_borrows() {
    let text = String::from("local");
    let mut arena = Arena::new();
    {
        let mut vec = ArenaVec::new_in(&arena);
        vec.extend(text.split('c'));
        vec.push(arena.alloc_str("al"));
        assert_eq!(vec.concat(), "loalal");
    }
    let len = arena.scope(|scope| {
        let mut vec = ArenaVec::new_in(&scope);
        vec.push(1);
        let vec = std::mem::ManuallyDrop::new(vec);
        vec.len()
    });
    assert_eq!(len, 1);
}

#[test]
fn a_vector_that_ends_gives_its_room_back_if_it_was_last() {
    let count = Count::default();
    let mut arena = Arena::bounded(1024);
    arena.alloc(1_u64);
    let before = arena.checkpoint();
    for len in 0..10 {
        let mut vec = ArenaVec::new_in(&arena);
        vec.extend((0..len).map(|number| count.make(number)));
        drop(vec);
        count.expect(0);
        assert_eq!(arena.checkpoint(), before, "{len} values");
        drop(ArenaVec::<[u8; 3]>::with_capacity_in(len, &arena));
        assert_eq!(arena.checkpoint(), before, "room for {len} values");
    }
    // In the opposite order each is the last one.
    let outer = ArenaVec::<u64>::with_capacity_in(3, &arena);
    let inner = ArenaVec::<u64>::with_capacity_in(5, &arena);
    drop(inner);
    drop(outer);
    assert_eq!(arena.checkpoint(), before);
    arena.scope(|scope| {
        drop(ArenaVec::<u64>::with_capacity_in(9, &scope));
        assert_eq!(scope.remaining(), 1016);
    });
    // Those that stay as a row keep what it needs.
    let mut vec = ArenaVec::with_capacity_in(9, &arena);
    vec.push(7_u64);
    let row = vec.into_slice();
    arena.alloc([8_u64; 9]);
    assert_eq!(*row, [7]);
    assert_eq!(arena.remaining(), 1016 - 8 - 72);
}

#[test]
fn a_vector_that_ends_gives_nothing_back_if_more_was_allocated() {
    for small in [64, 128, 4096] {
        let arena = Arena::builder().chunk_bytes(small).build();
        let mut kept = Vec::new();
        for number in 0..if cfg!(miri) { 8 } else { 40_u64 } {
            let mut vec = ArenaVec::with_capacity_in(1 + number as usize % 7, &arena);
            vec.push(u64::MAX);
            kept.push((arena.alloc([number; 3]), number));
            drop(vec);
            // In a chunk of its own, it is never the last.
            drop(ArenaVec::<u64>::with_capacity_in(1000, &arena));
            // One that moved left its first room.
            let mut vec = ArenaVec::with_capacity_in(1, &arena);
            vec.push(number);
            kept.push((arena.alloc([number; 3]), number));
            vec.extend([number; 9]);
            assert_eq!(*vec, [number; 10]);
            drop(vec);
            arena.alloc_slice_fill(5, u64::MAX);
        }
        assert!(kept.iter().all(|(row, number)| **row == [*number; 3]));
    }
}

#[test]
fn destructors_of_a_vector_may_use_the_arena_while_it_ends() {
    struct Uses<'a>(&'a Arena, u64, bool);
    impl Drop for Uses<'_> {
        fn drop(&mut self) {
            let row = self.0.alloc([u64::MAX; 5]);
            let mut vec = ArenaVec::new_in(self.0);
            vec.extend(*row);
            drop(vec);
            assert_eq!((*row, self.1), ([u64::MAX; 5], 7), "both are whole");
            if self.2 {
                std::panic::resume_unwind(Box::new("on purpose"));
            }
        }
    }

    let arena = Arena::builder().chunk_bytes(256).build();
    for panics_at in [9, 0, 3] {
        let mut vec = ArenaVec::new_in(&arena);
        vec.extend((0..4).map(|number| Uses(&arena, 7, number == panics_at)));
        assert_eq!(panics(|| drop(vec)), panics_at < 4);
        assert_eq!(*arena.alloc([1_u64; 9]), [1; 9]);
    }
    // A vector of vectors: the inner ones end first, the last of them last.
    let before = arena.checkpoint();
    let mut vecs = ArenaVec::with_capacity_in(1, &arena);
    vecs.push(ArenaVec::<u64>::with_capacity_in(1, &arena));
    drop(vecs);
    assert_eq!(arena.checkpoint(), before);
}

#[test]
fn a_vector_that_ends_while_a_value_is_built_gives_its_room_back() {
    let arena = Arena::bounded(256);
    let scratch = |number| {
        let mut vec = ArenaVec::new_in(&arena);
        vec.extend([number; 6]);
        vec.iter().sum::<u64>()
    };
    let small = arena.alloc_with(|| scratch(1));
    let large = arena.alloc_with(|| [scratch(2); 4]);
    let row = arena.alloc_slice_fill_with(3, |_| scratch(3));
    let failed = arena.alloc_try_with(|| Err::<[u64; 4], _>(scratch(4)));
    assert_eq!((*small, *large, &*row), (6, [12; 4], &[18; 3][..]));
    assert_eq!((failed, arena.remaining()), (Err(24), 256 - 8 * 8));
}

/// Gives fewer values than its hint says.
struct Promises(std::ops::Range<u8>, usize);

impl Iterator for Promises {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.1, None)
    }
}

#[test]
fn a_hint_that_is_too_high_refuses_nothing_that_fits() {
    for hint in [0, 3, 100, 101, 1000, usize::MAX / 2, usize::MAX] {
        let arenas = [
            Arena::bounded(100),
            Arena::builder().max_bytes(4096).build(),
        ];
        for mut arena in arenas {
            assert_eq!(arena.alloc_slice_iter(Promises(0..3, hint)), [0, 1, 2]);
            arena.reset();
            let collected = arena.try_alloc_slice_iter(Promises(0..3, hint));
            assert_eq!(collected.unwrap(), [0, 1, 2], "hint {hint}");
            arena.reset();
            let mut vec = ArenaVec::new_in(&arena);
            vec.extend(Promises(0..3, hint));
            assert_eq!(*vec, [0, 1, 2]);
        }
    }
    // What does not fit is refused as before.
    let mut arena = Arena::bounded(104);
    assert!(arena.try_alloc_slice_iter(Promises(0..105, 0)).is_err());
    arena.reset();
    assert!(arena.try_alloc_slice_iter(Promises(0..104, 1000)).is_ok());
}

/// Whether the first says that it is equal to the second.
fn is<A: PartialEq<B> + ?Sized, B: ?Sized>(a: &A, b: &B) -> bool {
    a == b
}

#[test]
fn a_vector_is_compared_with_slices_arrays_and_vectors_of_other_types() {
    let (arena, other) = (Arena::new(), Arena::new());
    let texts = ["a", "b"].into_iter().collect_in(&arena);
    let owned = ["a", "b"].map(String::from).into_iter().collect_in(&other);
    let longer = ["a", "b", ""].into_iter().collect_in(&arena);
    let slice: &mut [&str] = &mut ["a", "b"];
    assert!(is(&texts, &slice) && is(&slice, &texts));
    assert!(is(&texts, &*slice) && is(&*slice, &texts));
    let slice: &[&str] = slice;
    for (vec, equal) in [(&texts, true), (&longer, false)] {
        assert!(is(vec, &owned) == equal && is(&owned, vec) == equal);
        assert!(is(vec, &slice) == equal && is(&slice, vec) == equal);
        assert!(is(vec, &["a", "b"]) == equal && is(vec, &&["a", "b"]) == equal);
        let hasher = std::hash::RandomState::new();
        assert_eq!(hasher.hash_one(vec) == hasher.hash_one(slice), equal);
    }
    assert!(texts < longer && texts.cmp(&longer).is_lt());
    let [borrowed, reference]: [&[&str]; 2] = [texts.borrow(), texts.as_ref()];
    assert_eq!(borrowed, reference);
}

#[test]
fn indices_out_of_bounds_are_refused_and_change_nothing() {
    let arena = Arena::new();
    let mut vec = [1, 2, 3].into_iter().collect_in(&arena);
    assert!(panics(|| vec.insert(4, 9)) && panics(|| vec.try_insert(usize::MAX, 9)));
    assert!(panics(|| vec.remove(3)) && panics(|| vec.swap_remove(3)));
    assert_eq!(vec, [1, 2, 3]);
    vec.insert(3, 4);
    vec.insert(0, 0);
    assert_eq!(vec, [0, 1, 2, 3, 4]);
}

#[test]
fn an_insertion_without_room_returns_the_value() {
    let arena = Arena::bounded(32);
    let mut vec = [1_u64, 2, 3, 4].into_iter().try_collect_in(&arena).unwrap();
    assert_eq!(vec.try_insert(2, 9).unwrap_err().into_inner(), 9);
    assert_eq!(vec, [1, 2, 3, 4]);
    assert_eq!(vec.swap_remove(1), 2);
    vec.try_insert(0, 9).unwrap();
    assert_eq!(vec, [9, 1, 4, 3]);
    assert!((0..1_u64).try_collect_in(&arena).is_err());
    drop(vec);
    // A refused one has freed what it had.
    let count = Count::default();
    assert!(
        (0..9)
            .map(|number| count.make(number))
            .try_collect_in(&arena)
            .is_err()
    );
    count.expect(0);
    assert_eq!(arena.remaining(), 32);
}

#[test]
fn a_panic_in_retain_drops_each_value_once_and_keeps_what_was_not_looked_at() {
    for panicking in 0..6 {
        let count = Count::default();
        let arena = Arena::new();
        let mut vec = (0..6).map(|number| count.make(number)).collect_in(&arena);
        assert!(panics(|| vec.retain(|it| {
            assert!(it.number != panicking, "in the closure");
            it.number % 2 == 1
        })));
        let expected = (0..6).filter(|&it| it % 2 == 1 || it >= panicking);
        assert!(vec.iter().map(|it| it.number).eq(expected));
        count.expect(vec.len());
    }
}

/// Panics when it is dropped, if it is the one.
struct Fragile(Counted, bool);

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(!self.1, "in a destructor");
    }
}

#[test]
fn a_destructor_that_panics_in_retain_or_an_iterator_loses_no_other_value() {
    for panicking in 0..5 {
        let count = Count::default();
        let arena = Arena::new();
        let make = |number| Fragile(count.make(number), number == panicking);
        let mut vec = (0..5).map(make).collect_in(&arena);
        let dropped = panicking % 2 == 0;
        assert_eq!(panics(|| vec.retain(|it| it.0.number % 2 == 1)), dropped);
        let expected = (0..5).filter(|&it| it % 2 == 1 || dropped && it > panicking);
        assert!(vec.iter().map(|it| it.0.number).eq(expected));
        count.expect(vec.len());
        vec.into_iter().for_each(|mut it| it.1 = false);
        count.expect(0);

        let mut iter = (0..5).map(make).collect_in(&arena).into_iter();
        iter.by_ref().take(1).for_each(|mut it| it.1 = false);
        assert_eq!(panics(|| drop(iter)), panicking > 0);
        count.expect(0);
    }
}

#[test]
fn values_of_no_size_are_inserted_removed_retained_and_iterated() {
    struct Unit<'c>(&'c std::cell::Cell<usize>);
    impl Drop for Unit<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let arena = Arena::bounded(0);
    let mut vec = [(); 5].into_iter().collect_in(&arena);
    vec.insert(2, ());
    vec.remove(0);
    vec.swap_remove(1);
    let mut number = 0;
    vec.retain(|()| {
        number += 1;
        number % 2 == 0
    });
    assert_eq!((vec.len(), vec.into_iter().count(), number), (2, 2, 4));
    let dropped = std::cell::Cell::new(0);
    let arena = Arena::new();
    let vec = [(); 4]
        .map(|()| Unit(&dropped))
        .into_iter()
        .collect_in(&arena);
    let mut iter = vec.into_iter();
    drop((iter.next(), iter.next_back()));
    assert_eq!((dropped.get(), iter.len()), (2, 2));
    drop(iter);
    assert_eq!(dropped.get(), 4);
}

#[test]
fn an_iterator_by_value_frees_its_memory_if_nothing_came_after_it() {
    let arena = Arena::bounded(64);
    let vec = (0..8_u64).collect_in(&arena);
    assert_eq!(arena.remaining(), 0);
    let mut iter = vec.into_iter();
    assert_eq!(
        (iter.next(), iter.next_back(), iter.len()),
        (Some(0), Some(7), 6)
    );
    assert_eq!(format!("{iter:?}"), "[1, 2, 3, 4, 5, 6]");
    drop(iter);
    assert_eq!(arena.remaining(), 64);
}

#[test]
fn an_iterator_that_allocates_lies_or_panics_is_collected_all_the_same() {
    struct Lies(usize);
    impl Iterator for Lies {
        type Item = usize;
        fn next(&mut self) -> Option<usize> {
            self.0 = self.0.checked_sub(1)?;
            Some(self.0)
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (usize::MAX, None)
        }
    }
    let arena = Arena::builder().chunk_bytes(64).build();
    assert_eq!(Lies(3).collect_in(&arena), [2, 1, 0]);
    let texts = (0..20_usize).map(|it| &*arena.alloc_fmt(format_args!("{it}")));
    let texts = texts.collect_in(&arena);
    assert!(
        texts
            .iter()
            .enumerate()
            .all(|(at, it)| **it == at.to_string())
    );
    let count = Count::default();
    assert!(panics(|| {
        let values = (0..9).map(|number| {
            assert!(number < 7, "in an iterator");
            count.make(number)
        });
        drop(values.collect_in(&arena));
    }));
    count.expect(0);
    // The vector of a scope stays while inner scopes come and go.
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let kept = (0..9).collect_in(&root).into_slice();
    root.scope(|inner| assert_eq!(kept, (0..9).collect_in(&inner)));
    assert_eq!(kept[8], 8);
}

#[cfg(feature = "std")]
#[test]
fn bytes_are_written_and_extended_by_reference() {
    use std::io::{ErrorKind, Write};

    let arena = Arena::bounded(4096);
    let mut vec = ArenaVec::new_in(&arena);
    vec.extend(b"one ");
    vec.extend(b"owt".iter().rev());
    vec.write_all(b" three").unwrap();
    assert_eq!(vec, *b"one two three");
    let error = vec.write(&[0; 8192]).unwrap_err();
    assert_eq!((error.kind(), vec.len()), (ErrorKind::OutOfMemory, 13));
}
