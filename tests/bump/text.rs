//! Formatting into an arena.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::hash::BuildHasher;

use flatslab::bump::{Arena, ArenaString, ArenaVec};

use crate::common::panics;

/// Writes so many parts, then fails.
struct Fails(usize);

impl fmt::Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.0).try_for_each(|part| write!(f, "part {part} "))?;
        Err(fmt::Error)
    }
}

/// Calls a closure, then fails.
struct Calls<F>(RefCell<F>);

impl<F: FnMut()> fmt::Display for Calls<F> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.borrow_mut()();
        Err(fmt::Error)
    }
}

/// Writes on after an error.
struct Stubborn;

impl fmt::Display for Stubborn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f.write_str("a text that is too long");
        f.write_str("short")
    }
}

#[test]
fn a_formatter_that_fails_is_an_error_or_a_panic() {
    let arena = Arena::builder().chunk_bytes(64).build();
    for parts in (0..20).step_by(if cfg!(miri) { 6 } else { 1 }) {
        assert!(
            arena
                .try_alloc_fmt(format_args!("{}", Fails(parts)))
                .is_err()
        );
        assert!(panics(|| arena.alloc_fmt(format_args!("{}", Fails(parts)))));
        assert_eq!(
            *arena.alloc_fmt(format_args!("{parts}")),
            *parts.to_string()
        );
    }
}

#[test]
fn a_refusal_that_a_formatter_hides_is_an_error() {
    let mut arena = Arena::bounded(16);
    assert!(arena.try_alloc_fmt(format_args!("{Stubborn}")).is_err());
    assert!(panics(|| arena.alloc_fmt(format_args!("{Stubborn}"))));
    arena.reset();
    assert_eq!(arena.try_alloc_fmt(format_args!("{}", 7)).unwrap(), "7");
}

#[test]
fn a_text_that_fails_gives_its_memory_back() {
    let arena = Arena::bounded(200);
    let kept = arena.alloc(1_u64);
    for parts in (0..40).step_by(if cfg!(miri) { 13 } else { 1 }) {
        let fails = Fails(parts);
        assert!(arena.try_alloc_fmt(format_args!("{fails}")).is_err());
        assert!(panics(|| arena.alloc_fmt(format_args!("{fails}"))));
        assert_eq!(arena.remaining(), 192);
    }
    // Not if the formatter allocated since.
    let mut texts = Vec::new();
    for _ in 0..3 {
        let between = Calls(RefCell::new(|| texts.push(arena.alloc_str("kept"))));
        assert!(arena.try_alloc_fmt(format_args!("a{between}b")).is_err());
        arena.alloc(u64::MAX);
    }
    assert!(*kept == 1 && texts.iter().all(|text| **text == *"kept"));
}

#[test]
fn texts_of_every_length_are_exact() {
    let mut arena = Arena::builder().chunk_bytes(100).build();
    let (most, step) = if cfg!(miri) { (12, 10) } else { (300, 1) };
    for len in (0..most).step_by(step) {
        let text = "ä€".repeat(len);
        assert_eq!(*arena.alloc_str(&text), *text);
        assert_eq!(
            *arena.alloc_fmt(format_args!("{text}|{len:>5}")),
            *format!("{text}|{len:>5}")
        );
        arena.scope(|scope| {
            let copy = scope.alloc_fmt(format_args!("{text:?}"));
            copy.make_ascii_uppercase();
            assert_eq!(*copy, *format!("{text:?}").to_ascii_uppercase());
        });
    }
}

#[test]
fn a_vector_of_bytes_can_be_written() {
    let arena = Arena::bounded(24);
    let mut vec = ArenaVec::new_in(&arena);
    let name = "flat";
    write!(vec, "{name}-{}", 7).unwrap();
    assert_eq!(*vec, *b"flat-7");
    assert!(write!(vec, "{:>30}", 8).is_err());
    assert!(vec.starts_with(b"flat-7"));
    assert_eq!(arena.remaining() + vec.capacity().next_multiple_of(8), 24);
}

#[test]
fn what_an_arena_is_prints() {
    let mut arena = Arena::new();
    assert!(format!("{arena:?}").starts_with("Arena"));
    let mark = arena.checkpoint();
    assert!(format!("{mark:?}").starts_with("Checkpoint"));
    assert!(format!("{:?}", arena.as_scope()).starts_with("Scope"));
    assert!(format!("{:?}", ArenaVec::<u8>::new_in(&arena)).starts_with("[]"));
    assert!(
        format!("{:?}", Arena::builder()).starts_with("Builder { options: Options { bounded: None")
    );
}

#[test]
fn a_string_does_as_string() {
    let arena = Arena::builder().chunk_bytes(64).build();
    let (mut text, mut model) = (ArenaString::with_capacity_in(3, &arena), String::new());
    for (step, piece) in ["flat", "ä€", "", "🦀"]
        .into_iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        text.push_str(piece);
        model.push_str(piece);
        text.extend(['é', 'x']);
        model.extend(['é', 'x']);
        text.extend([piece, "y"]);
        model.extend([piece, "y"]);
        write!(text, "{step:>3}").unwrap();
        write!(model, "{step:>3}").unwrap();
        if step % 3 == 0 {
            // So that it moves.
            arena.alloc(step);
            assert_eq!((text.pop(), text.pop()), (model.pop(), model.pop()));
        }
        if step % 7 == 6 {
            let end = model.char_indices().nth(step / 2).unwrap().0;
            text.truncate(end);
            model.truncate(end);
            text.truncate(usize::MAX);
        }
        assert_eq!(text, *model);
        assert_eq!(*model, text);
        let hasher = std::hash::RandomState::new();
        assert_eq!(hasher.hash_one(&text), hasher.hash_one(&*model));
        assert!(text.len() <= text.capacity());
    }
    assert_eq!(format!("{text}{text:?}"), format!("{model}{model:?}"));
    text.make_ascii_uppercase();
    let upper: &str = &model.to_ascii_uppercase();
    assert_eq!(text, upper);
    assert_eq!(upper, text);
    text.clear();
    assert_eq!((text.pop(), &*text), (None, ""));
}

#[test]
fn a_string_is_not_cut_within_a_character() {
    let arena = Arena::new();
    let mut text = ArenaString::new_in(&arena);
    text.push_str("aé");
    assert!(panics(|| text.truncate(2)));
    assert_eq!(text, "aé");
    text.truncate(3);
    text.truncate(1);
    assert_eq!(text.into_bytes(), *b"a");
}

#[test]
fn a_string_without_room_is_as_it_was() {
    let arena = Arena::bounded(8);
    let mut text = ArenaString::new_in(&arena);
    text.try_push_str("1234567").unwrap();
    assert_eq!(text.try_push('é').unwrap_err().into_inner(), 'é');
    assert!(text.try_push_str("89").is_err() && text.try_reserve(2).is_err());
    assert!(write!(text, "89").is_err() && panics(|| text.push('é')));
    text.push('8');
    assert!(panics(|| text.push_str("9")));
    assert_eq!(text, "12345678");
    assert!(ArenaString::new_in(&arena) < text);
}

#[test]
fn the_text_of_a_string_stays_while_inner_scopes_come_and_go() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let mut text = ArenaString::new_in(&root);
    text.push_str("kept");
    let kept: &mut str = text.into_str();
    root.scope(|inner| {
        let mut text = ArenaString::new_in(&inner);
        text.push_str("gone");
        assert_eq!(text.into_str(), "gone");
    });
    kept.make_ascii_uppercase();
    assert_eq!(kept, "KEPT");
}
