//! `ArenaBox`: values that are dropped, of any type.

use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::rc::Rc;

use flatslab::bump::{Arena, ArenaBox, ArenaVec};
use flatslab::unsize;

use crate::values::Count;

#[test]
fn a_box_drops_its_value_once_whatever_becomes_of_it() {
    let count = Count::default();
    let arena = Arena::new();
    drop(arena.boxed(count.make(1)));
    count.expect(0);
    let inner = ArenaBox::into_inner(arena.boxed(count.make(2)));
    assert_eq!(inner.number, 2);
    count.expect(1);
    drop(inner);
    let leaked = ArenaBox::leak(arena.boxed(count.make(3)));
    leaked.number += 1;
    assert_eq!(leaked.number, 4);
    std::mem::forget(arena.boxed(count.make(5)));
    count.expect(2);
    let row = arena.alloc_boxed_slice(4, |number| count.make(number));
    count.expect(6);
    drop(row);
    let nested = arena.boxed(arena.boxed(arena.boxed(count.make(6))));
    assert_eq!(nested.number, 6);
    drop(nested);
    count.expect(2);
    drop(arena);
    count.expect(2);
}

#[test]
fn boxes_of_trait_objects_and_slices() {
    trait Numbered: Debug {
        fn number(&mut self) -> usize;
    }
    impl Numbered for crate::values::Counted {
        fn number(&mut self) -> usize {
            self.number += 1;
            self.number
        }
    }

    let count = Count::default();
    let arena = Arena::new();
    let mut boxes: Vec<ArenaBox<'_, dyn Numbered>> = (0..3)
        .map(|number| unsize!(arena.boxed(count.make(number)) => dyn Numbered))
        .collect();
    let sum: usize = boxes.iter_mut().map(|it| it.number()).sum();
    assert_eq!(sum, 6);
    let last = boxes.pop().unwrap();
    let upcast: ArenaBox<'_, dyn Debug> = unsize!(arena.boxed(last) => dyn Debug);
    drop(boxes);
    count.expect(1);
    assert!(format!("{upcast:?}").contains("number: 3"));
    drop(upcast);
    let row: ArenaBox<'_, [_]> =
        unsize!(arena.boxed([count.make(1), count.make(2)]) => [crate::values::Counted]);
    assert_eq!(row.len(), 2);
    count.expect(2);
    drop(row);
    // A closure, a local borrow, a value of no size.
    let text = String::from("local");
    let shown = unsize!(arena.boxed(&text) => dyn Display + '_);
    let called = unsize!(arena.boxed(|| text.len()) => dyn Fn() -> usize + '_);
    let nothing = unsize!(arena.boxed(()) => dyn Debug);
    assert_eq!(
        (
            shown.to_string().as_str(),
            called(),
            format!("{nothing:?}").as_str()
        ),
        ("local", 5, "()")
    );
    count.expect(0);
}

#[test]
fn control_flow_within_the_macro_loses_nothing() {
    fn run(count: &Count, arena: &Arena, way: u32) -> Result<usize, ()> {
        let mut boxes = Vec::new();
        for number in 0..3 {
            boxes.push(unsize!({
                match (way, number) {
                    (0, 1) => return Err(()),
                    (1, 1) => break,
                    (2, 1) => continue,
                    (3, 2) => Err::<(), ()>(())?,
                    _ => {}
                }
                arena.try_boxed(count.make(number)).map_err(drop)?
            } => dyn Debug));
        }
        Ok(boxes.len())
    }

    let count = Count::default();
    let arena = Arena::bounded(1000);
    let results = [0, 1, 2, 3, 4].map(|way| run(&count, &arena, way));
    assert_eq!(results, [Err(()), Ok(1), Ok(2), Err(()), Ok(3)]);
    count.expect(0);
}

#[test]
fn a_box_is_its_value() {
    let arena = Arena::new();
    let (one, two) = (arena.boxed(1), arena.boxed(2));
    assert!(one < two && one != two && one.cmp(&two).is_lt());
    assert_eq!(
        (one.to_string(), format!("{two:?}")),
        ("1".into(), "2".into())
    );
    assert_eq!(format!("{one:p}"), format!("{:p}", &raw const *one));
    let mut text = arena.boxed(String::from("flat"));
    text.push_str("slab");
    let as_str: &String = text.as_ref();
    assert_eq!(as_str, "flatslab");
    let map: std::collections::HashSet<_> = [one, two].into_iter().collect();
    assert!(map.contains(&1) && !map.contains(&3));
}

#[test]
fn boxes_swap_and_outlive_each_other() {
    let (one, other) = (Arena::new(), Arena::new());
    let count = Count::default();
    let (mut a, mut b) = (one.boxed(count.make(1)), other.boxed(count.make(2)));
    std::mem::swap(&mut a, &mut b);
    std::mem::swap(&mut *a, &mut *b);
    assert_eq!((a.number, b.number), (1, 2));
    drop(a);
    // A value that can be changed through a shared reference.
    let cell = one.boxed(Cell::new(1));
    let shared = &cell;
    shared.set(2);
    one.alloc([0_u64; 100]);
    assert_eq!(cell.get(), 2);
    let cyclic = one.alloc(Cell::new(None::<&Cell<u32>>));
    cyclic.set(Some(one.alloc(Cell::new(7))));
    assert_eq!(cyclic.get().map(Cell::get), Some(7));
    drop(b);
    count.expect(0);
}

#[test]
fn an_arena_may_move_while_leaked_values_live() {
    let count = Count::default();
    let shared = Rc::new(());
    let arena = Box::new(Arena::new());
    std::mem::forget(arena.boxed(count.make(1)));
    arena.alloc(shared.clone());
    let _leaked = ArenaBox::leak(arena.boxed(count.make(2)));
    let mut vec = ArenaVec::new_in(&*arena);
    vec.push(count.make(3));
    std::mem::forget(vec);
    let mut moved = *arena;
    moved.alloc(7);
    moved.reset();
    let mut moved = Some(moved);
    assert_eq!(*moved.take().unwrap().alloc(8), 8);
    count.expect(3);
    assert_eq!(Rc::strong_count(&shared), 2);
    // Of what is forgotten nothing frees the buffers.
    // SAFETY: forgotten above with the arena that is gone.
    unsafe { Rc::decrement_strong_count(Rc::as_ptr(&shared)) };
}
