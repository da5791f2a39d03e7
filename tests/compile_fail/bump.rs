//! What must not compile of arenas.

use std::cell::Cell;
use std::fmt::Display;
use std::rc::Rc;

use flatslab::bump::{Arena, ArenaBox, ArenaVec, Checkpoint, Scope};

fn local<T>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}

// # A reference may not outlive its arena, a reset, or its scope

#[test]
fn reference_ends_before_its_arena() {
    let arena = Arena::new();
    let value = arena.alloc(7);
    assert_eq!(*value, 7);
    drop(arena);
}

#[cfg(compile_fail)]
fn reference_after_its_arena() {
    let arena = Arena::new();
    let value = arena.alloc(7);
    drop(arena); //~ E0505
    assert_eq!(*value, 7);
}

#[cfg(compile_fail)]
fn arena_of_an_inner_block() {
    let value;
    {
        let arena = Arena::new();
        value = arena.alloc(7); //~ E0597
    }
    assert_eq!(*value, 7);
}

#[test]
fn reference_ends_before_a_reset() {
    let mut arena = Arena::new();
    let value = arena.alloc(7);
    assert_eq!(*value, 7);
    arena.reset();
}

#[cfg(compile_fail)]
fn reset_under_a_reference() {
    let mut arena = Arena::new();
    let value = arena.alloc(7);
    arena.reset(); //~ E0502
    assert_eq!(*value, 7);
}

#[cfg(compile_fail)]
fn bounded_reset_under_a_reference() {
    let mut arena = Arena::bounded(64);
    let value = arena.alloc(7);
    arena.reset(); //~ E0502
    assert_eq!(*value, 7);
}

#[cfg(compile_fail)]
fn shrink_under_a_reference() {
    let mut arena = Arena::new();
    let value = arena.alloc(7);
    arena.shrink_to_fit(); //~ E0502
    assert_eq!(*value, 7);
}

// Boxes and vectors have destructors, which need no further use:
#[cfg(compile_fail)]
fn reset_under_a_box() {
    let mut arena = Arena::new();
    let boxed = arena.boxed(String::new());
    arena.reset(); //~ E0502
    drop(boxed);
}

#[cfg(compile_fail)]
fn reset_under_a_vector() {
    let mut arena = Arena::new();
    let vec = ArenaVec::<String>::new_in(&arena);
    arena.reset(); //~ E0502
    drop(vec);
}

#[cfg(compile_fail)]
fn box_declared_before_its_arena() {
    let boxed;
    let arena = Arena::new();
    boxed = arena.boxed(7); //~ E0597
}

// What a box drops must be there:
#[test]
fn what_a_box_drops_is_there() {
    let arena = Arena::new();
    let text = String::from("text");
    let boxed = arena.boxed(text.as_str());
    assert_eq!(*boxed, "text");
}

#[cfg(compile_fail)]
fn what_a_box_drops_is_gone() {
    let arena = Arena::new();
    let boxed;
    let text = String::from("text");
    boxed = arena.boxed(text.as_str()); //~ E0597
}

// # Nothing escapes a scope

#[test]
fn value_copied_out_of_a_scope() {
    let mut arena = Arena::new();
    let value = arena.scope(|scope| *scope.alloc(7));
    assert_eq!(value, 7);
}

#[cfg(compile_fail)]
fn reference_returned_from_a_scope() {
    let mut arena = Arena::new();
    let value = arena.scope(|scope| scope.alloc(7)); //~ lifetime may not live long enough
    assert_eq!(*value, 7);
}

#[cfg(compile_fail)]
fn box_returned_from_a_scope() {
    let mut arena = Arena::new();
    let boxed = arena.scope(|scope| scope.boxed(7)); //~ lifetime may not live long enough
    assert_eq!(*boxed, 7);
}

// By return or by assignment, itself included:
#[test]
fn value_assigned_from_a_scope() {
    let mut arena = Arena::new();
    let mut kept = None;
    arena.scope(|scope| kept = Some(*scope.alloc(7)));
    assert_eq!(kept, Some(7));
}

#[cfg(compile_fail)]
fn reference_assigned_from_a_scope() {
    let mut arena = Arena::new();
    let mut kept = None;
    arena.scope(|scope| kept = Some(scope.alloc(7))); //~ E0521
    assert_eq!(kept, Some(&mut 7));
}

#[cfg(compile_fail)]
fn scope_assigned() {
    let mut arena = Arena::new();
    let mut kept = None;
    arena.scope(|scope| kept = Some(scope)); //~ E0521
    drop(kept);
}

#[cfg(compile_fail)]
fn scope_returned() {
    let mut arena = Arena::new();
    let scope = arena.scope(|scope| scope); //~ lifetime may not live long enough
    scope.alloc(7);
}

#[cfg(compile_fail)]
fn reference_pushed_to_a_row_of_the_parent() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let mut row = vec![root.alloc(1)];
    root.scope(|scope| row.push(scope.alloc(2))); //~ E0521
    assert_eq!(row.len(), 2);
}

// Two scopes cannot change places:
#[test]
fn two_scopes() {
    let (mut one, mut other) = (Arena::new(), Arena::new());
    one.scope(|mut a| other.scope(|mut b| drop((&mut a, &mut b))));
}

#[cfg(compile_fail)]
fn scopes_of_two_arenas_swapped() {
    let (mut one, mut other) = (Arena::new(), Arena::new());
    one.scope(|mut a| other.scope(|mut b| std::mem::swap(&mut a, &mut b))); //~ E0521
}

#[cfg(compile_fail)]
fn scope_swapped_with_its_parent() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    root.scope(|mut a| a.scope(|mut b| std::mem::swap(&mut a, &mut b))); //~ E0521 //~ E0499
}

// A scope is invariant:
#[cfg(compile_fail)]
fn scope_shortened<'short, 'long: 'short>(scope: Scope<'long, 'static>) -> Scope<'short, 'static> {
    scope //~ lifetime may not live long enough
}

// # The parent is locked while an inner scope is there

#[test]
fn parent_before_and_after_an_inner_scope() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let kept = root.alloc(1);
    root.scope(|scope| *kept += *scope.alloc(2));
    root.alloc(*kept);
}

#[cfg(compile_fail)]
fn parent_used_in_an_inner_scope() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    root.scope(|_| drop(root.alloc(1) as *mut i32)); //~ E0502
}

#[cfg(compile_fail)]
fn arena_used_in_its_scope() {
    let mut arena = Arena::new();
    arena.scope(|_| drop(arena.alloc(1) as *mut i32)); //~ E0502
}

// A vector of the parent would grow in the inner one's memory:
#[test]
fn vector_of_the_parent_ends_first() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let vec = ArenaVec::<u64>::new_in(&root);
    drop(vec);
    root.scope(|_| ());
}

#[cfg(compile_fail)]
fn vector_of_the_parent_held_over_a_scope() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let vec = ArenaVec::<u64>::new_in(&root);
    root.scope(|_| ()); //~ E0502
    drop(vec);
}

#[cfg(compile_fail)]
fn vector_of_the_arena_grown_in_a_scope() {
    let mut arena = Arena::new();
    let mut vec = ArenaVec::new_in(&arena);
    arena.scope(|_| vec.push(7)); //~ E0502
}

// The slice of a vector lives as long as the scope, and the vector no longer than its borrow:
#[test]
fn slice_of_the_parent_held_over_a_scope() {
    let mut arena = Arena::new();
    let mut root = arena.as_scope();
    let mut vec = ArenaVec::<u64>::new_in(&root);
    vec.push(7);
    let slice = vec.into_slice();
    root.scope(|inner| slice[0] += *inner.alloc(1));
    assert_eq!(slice, [8]);
}

#[test]
fn slice_returned_from_a_function() {
    fn slice<'s>(scope: &Scope<'s, '_>) -> &'s mut [u64] {
        let mut vec = ArenaVec::new_in(scope);
        vec.push(7);
        vec.into_slice()
    }
    assert_eq!(slice(&Arena::new().as_scope()), [7]);
}

#[cfg(compile_fail)]
fn slice_returned_from_the_scope() {
    let mut arena = Arena::new();
    arena.scope(|scope| {
        let mut vec = ArenaVec::<u64>::new_in(&scope);
        vec.push(7);
        vec.into_slice() //~ lifetime may not live long enough
    });
}

#[cfg(compile_fail)]
fn boxed_slice_returned_from_the_scope() {
    let mut arena = Arena::new();
    arena.scope(|scope| ArenaVec::<u64>::new_in(&scope).into_boxed_slice()); //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn slice_of_an_arena_held_over_a_reset() {
    let mut arena = Arena::new();
    let slice = ArenaVec::<u64>::new_in(&arena).into_slice();
    arena.reset(); //~ E0502
    drop(slice);
}

#[cfg(compile_fail)]
fn lifetime_of_the_memory_lengthened<'a, 's>(
    vec: ArenaVec<'a, 's, u64>,
) -> ArenaVec<'a, 'static, u64> {
    vec //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn slice_of_values_that_end_before_it<'s>(scope: &Scope<'s, '_>) {
    let number = 7;
    let mut vec = ArenaVec::new_in(scope);
    vec.push(&number); //~ E0597
    let slice: &'s mut [&u64] = vec.into_slice();
}

#[test]
fn vector_of_values_that_end_before_the_scope() {
    fn sum(scope: &Scope<'_, '_>) -> u64 {
        let number = 7;
        let mut vec = ArenaVec::new_in(scope);
        vec.push(&number);
        vec.iter().map(|it| **it).sum()
    }
    assert_eq!(sum(&Arena::new().as_scope()), 7);
}

// A scope has no reset:
#[cfg(compile_fail)]
fn scope_reset() {
    Arena::new().as_scope().reset(); //~ E0599
}

// # Threads

#[test]
fn what_goes_to_other_threads() {
    send::<(Arena, ArenaBox<'static, u64>)>();
    sync::<(ArenaBox<'static, u64>, ArenaVec<'static, 'static, u64>)>();
    local::<(
        Scope<'static, 'static>,
        Checkpoint,
        ArenaBox<'static, Rc<u64>>,
    )>();
}

#[cfg(compile_fail)]
fn arena_or_scope_sent_or_shared() {
    sync::<Arena>(); //~ E0277
    send::<Scope<'static, 'static>>(); //~ E0277
    sync::<Scope<'static, 'static>>(); //~ E0277
}

#[cfg(compile_fail)]
fn scope_moved_to_a_thread() {
    let mut arena = Arena::new();
    arena.scope(|scope| {
        std::thread::scope(|threads| {
            threads.spawn(move || scope.alloc(7)); //~ E0277
        });
    });
}

#[cfg(compile_fail)]
fn vector_or_box_sent_or_shared() {
    send::<ArenaVec<'static, 'static, u64>>(); //~ E0277
    sync::<ArenaVec<'static, 'static, Cell<u64>>>(); //~ E0277
    send::<ArenaBox<'static, Rc<u64>>>(); //~ E0277
    send::<ArenaBox<'static, dyn Fn()>>(); //~ E0277
    sync::<ArenaBox<'static, Cell<u64>>>(); //~ E0277
}

// # The macro for boxes of trait objects

#[test]
fn box_as_a_trait_object() {
    fn show<'a>(arena: &'a Arena, text: &'a str) -> ArenaBox<'a, dyn Display + 'a> {
        flatslab::unsize!(arena.boxed(text) => dyn Display + 'a)
    }
    assert_eq!(show(&Arena::new(), "text").to_string(), "text");
}

// It lengthens no lifetime:
#[cfg(compile_fail)]
fn text_shorter_than_its_box<'a>(arena: &'a Arena, text: &str) -> ArenaBox<'a, dyn Display + 'a> {
    flatslab::unsize!(arena.boxed(text) => dyn Display + 'a) //~ E0621
}

#[cfg(compile_fail)]
fn trait_object_lengthened<'a>(
    boxed: ArenaBox<'a, dyn Display + 'a>,
) -> ArenaBox<'a, dyn Display + 'static> {
    flatslab::unsize!(boxed => dyn Display + 'static) //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn boxed_reference_lengthened<'a>(boxed: ArenaBox<'a, &'a str>) -> ArenaBox<'a, &'static str> {
    flatslab::unsize!(boxed => &'static str) //~ lifetime may not live long enough
}

// It casts to no unrelated type, and makes no unsafe call safe:
#[cfg(compile_fail)]
fn cast_to_an_unrelated_type() {
    let arena = Arena::new();
    flatslab::unsize!(arena.boxed(7_u64) => i64); //~ E0308
}

#[cfg(compile_fail)]
fn rc_cast_to_send() {
    let arena = Arena::new();
    flatslab::unsize!(arena.boxed(Rc::new(7)) => dyn Send); //~ E0277
}

#[cfg(compile_fail)]
fn unsafe_call_in_the_type() {
    const unsafe fn three() -> usize {
        3
    }
    let arena = Arena::new();
    flatslab::unsize!(arena.boxed([1_u8; 3]) => [u8; three()]); //~ E0133
}

#[cfg(compile_fail)]
fn unsafe_call_in_the_expression() {
    let arena = Arena::new();
    flatslab::unsize!(arena.boxed(String::from_utf8_unchecked(vec![])) => dyn Send); //~ E0133
}

#[cfg(compile_fail)]
fn vector_in_what_is_no_arena() {
    struct Mine;
    impl<'a> flatslab::bump::InArena<'a, 'a> for &'a Mine {} //~ E0046
}
