//! `ArenaVec` against `Vec`, and where its room is.

use flatslab::bump::{Arena, ArenaVec, BoundedArena};

use crate::common::random::{random, seed};
use crate::values::{Count, expect_apart};

#[test]
fn a_vector_does_as_vec() {
    for number in 0..if cfg!(miri) { 2 } else { 300 } {
        seed(number);
        let count = Count::default();
        let arena = Arena::builder().chunk_bytes(64 << (number % 8)).build();
        let mut vecs: [_; 3] = std::array::from_fn(|_| ArenaVec::new_in(&arena));
        let mut models: [Vec<usize>; 3] = Default::default();
        for step in 0..if cfg!(miri) { 40 } else { 200 } {
            let at = random(3) as usize;
            let (vec, model) = (&mut vecs[at], &mut models[at]);
            match random(12) {
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
    let arena = BoundedArena::with_capacity(1024);
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
    let mut vecs: Vec<ArenaVec<'_, u64>> = (0..4).map(|_| ArenaVec::new_in(&arena)).collect();
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
        let right = |(vec, number): &(ArenaVec<'_, u8>, u8)| vec.iter().all(|it| it == number);
        assert!(vecs.iter().all(right));
    }
}

#[test]
fn a_refused_growth_changes_nothing() {
    let count = Count::default();
    let arena = BoundedArena::with_capacity(size_of::<crate::values::Counted>() * 5);
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
