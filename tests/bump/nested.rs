//! Programs that use everything from within everything: closures, iterators, formatters
//! and destructors allocate in the arena that calls them, fail and panic; what lives is
//! read and written all along.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::slice;

use flatslab::bump::{Arena, ArenaBox, ArenaVec, Scope};
use flatslab::unsize;

use crate::common::amount;
use crate::common::random::{one_in, random, seed};
use crate::source::Counted;

thread_local! {
    /// How many more may run within others.
    static BUDGET: Cell<u32> = const { Cell::new(0) };
}

fn within_budget() -> bool {
    BUDGET.set(BUDGET.get().saturating_sub(1));
    BUDGET.get() > 0
}

/// What a program panics with.
struct Planned;

fn panics_sometimes(n: u64) {
    if one_in(n) {
        resume_unwind(Box::new(Planned));
    }
}

/// Whether `f` did not panic as planned.
fn survives(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => true,
        Err(payload) if payload.is::<Planned>() => false,
        Err(payload) => resume_unwind(payload),
    }
}

#[derive(Default)]
struct Live<'a> {
    rows: RefCell<Vec<(&'a mut [u8], u8)>>,
    boxes: RefCell<Vec<ArenaBox<'a, dyn Check + 'a>>>,
}

trait Check {
    fn check(&self);
}

impl Check for Boxed<'_> {
    fn check(&self) {
        assert_eq!(self.0[0], self.1);
    }
}

struct Boxed<'a>(
    &'a mut [u8],
    u8,
    #[expect(dead_code, reason = "takes room")] [u64; 3],
);

impl Drop for Boxed<'_> {
    fn drop(&mut self) {
        self.0.fill(0);
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u8; 64]);
#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page([u8; 4096]);
#[derive(Clone, Copy)]
#[repr(align(4096))]
struct NoPage([u8; 0]);
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Packed<'a>(u8, &'a [u8], u8, &'a u8);

/// One comparison of memory, which takes an interpreter no longer than a few bytes.
fn is_full_of(row: &[u8], number: u8) -> bool {
    *row == *vec![number; row.len()]
}

impl<'a> Live<'a> {
    fn add(&self, row: &'a mut [u8], number: u8) {
        assert!(is_full_of(row, number), "{number}");
        self.rows.borrow_mut().push((row, number));
    }

    /// Reads and writes all.
    fn check(&self) {
        for (row, number) in &mut *self.rows.borrow_mut() {
            assert!(is_full_of(row, *number), "{number}");
            *number = number.wrapping_add(1);
            row.fill(*number);
        }
        self.boxes.borrow().iter().for_each(|it| it.check());
    }
}

struct Says<I>(I, (usize, Option<usize>));
impl<I: Iterator> Iterator for Says<I> {
    type Item = I::Item;
    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1
    }
}

struct Shows<F>(F);
impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Shows<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

struct OnDrop<F: Fn()>(u8, [u8; 20], F);
impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        assert_eq!([self.0; 20], self.1);
        if !std::thread::panicking() {
            (self.2)();
        }
    }
}

struct OnClone<F: Fn()>(u8, [u8; 20], F);
impl<F: Fn() + Clone> Clone for OnClone<F> {
    fn clone(&self) -> Self {
        (self.2)();
        OnClone(self.0, self.1, self.2.clone())
    }
}

fn len() -> usize {
    match random(12) {
        0 => 0,
        1 if one_in(if cfg!(miri) { 30 } else { 3 }) => 70_000,
        2..4 => random(if cfg!(miri) { 500 } else { 3000 }) as usize,
        _ => 1 + random(60) as usize,
    }
}

macro_rules! act {
    ($act:ident, $arena:ident: $type:ty, $own:lifetime, $may_rewind:tt) => {
        fn $act<$own>($arena: $type, live: &Live<$own>, depth: u32) {
            let number = random(256) as u8;
            let inner = || {
                if depth > 0 && one_in(3) && within_budget() {
                    $act($arena, live, depth - 1);
                }
            };
            match random(26) {
                0 => live.add(slice::from_mut($arena.alloc(number)), number),
                1 => live.add($arena.alloc([number; 3]), number),
                2 => live.add($arena.alloc([number; 33]), number),
                3 => live.add(&mut $arena.alloc(Line([number; 64])).0, number),
                // Aligned by its address, which the symbolic check of Miri does not see.
                4 if !cfg!(miri) && one_in(4) => live.add(&mut $arena.alloc(Page([number; 4096])).0, number),
                4 => live.add(&mut $arena.alloc(NoPage([])).0, number),
                5 => live.add($arena.alloc_slice_copy(&vec![number; len()]), number),
                6 => {
                    let text = $arena.alloc_slice_copy(&[number; 5]);
                    let one = $arena.alloc(number);
                    let packed = Packed(number, text, number, one);
                    let n = 1 + random(3) as usize;
                    let row = $arena.alloc_slice_copy(&[packed; 3][..n]);
                    let array = $arena.alloc([packed; 2]);
                    for it in row.iter().chain(&*array) {
                        let (row, one) = (it.1, it.3);
                        assert_eq!((row, *one), (&[number; 5][..], number));
                    }
                }
                7 => live.add($arena.alloc_with(|| { inner(); panics_sometimes(9); [number; 40] }), number),
                8 => live.add($arena.alloc_with(|| { inner(); panics_sometimes(9); [number; 7] }), number),
                9 => {
                    let result = $arena.alloc_try_with(|| {
                        inner();
                        panics_sometimes(9);
                        if one_in(2) { Ok([number; 90]) } else { Err($arena.alloc([number; 90])) }
                    });
                    match result { Ok(row) | Err(row) => live.add(row, number) }
                }
                10 => {
                    let len = len() % 200;
                    let row = $arena.alloc_slice_fill_with(len, |_| { inner(); panics_sometimes(100); number });
                    live.add(row, number);
                }
                11 => act!(@fill $may_rewind, $arena, inner, number),
                12 | 13 => {
                    let says = [(0, Some(0)), (3, Some(2)), (90, None)][random(3) as usize];
                    let count = random(20) as usize;
                    let items = (0..count).map(|_| { inner(); panics_sometimes(60); number });
                    live.add($arena.alloc_slice_iter(Says(items, says)), number);
                }
                14 => {
                    let shows = Shows(|f: &mut fmt::Formatter<'_>| {
                        f.write_str("aaa")?;
                        inner();
                        panics_sometimes(9);
                        if one_in(4) { return Err(fmt::Error) }
                        f.write_str("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
                    });
                    if let Ok(text) = $arena.try_alloc_fmt(format_args!("{shows}{shows}")) {
                        // SAFETY: stays a text.
                        let row = unsafe { text.as_bytes_mut() };
                        row.fill(number % 128);
                        live.add(row, number % 128);
                    }
                }
                15 => {
                    let row = $arena.alloc([number; 5]);
                    let boxed = $arena.boxed(Boxed(row, number, [7; 3]));
                    live.boxes.borrow_mut().push(unsize!(boxed => dyn Check + $own));
                }
                16 => {
                    let dropped = live.boxes.borrow_mut().pop();
                    drop(dropped);
                }
                17..20 => {
                    let mut vec = ArenaVec::with_capacity_in(len() % 100, $arena);
                    for _ in 0..random(4) {
                        match random(6) {
                            0 => vec.extend(Says((0..random(20)).map(|_| { inner(); panics_sometimes(60); number }), (random(9) as usize, None))),
                            1 => vec.extend_from_slice(&vec![number; len()]),
                            2 => vec.truncate(random(30) as usize),
                            3 => vec.reserve(len()),
                            4 => (0..random(20)).for_each(|_| vec.push(number)),
                            _ => inner(),
                        }
                        vec.fill(number);
                    }
                    match random(4) {
                        0 => act!(@keep $may_rewind, live, vec, number),
                        1 => std::mem::forget(vec),
                        2 => {
                            let boxed = vec.into_boxed_slice();
                            inner();
                            assert!(boxed.iter().all(|it| *it == number));
                        }
                        _ => assert!(vec.iter().all(|it| *it == number)),
                    }
                }
                20 => {
                    // Destructors that allocate, one of which panics.
                    let mut vec = ArenaVec::new_in($arena);
                    for index in 0..random(6) {
                        vec.push(OnDrop(number, [number; 20], move || {
                            inner();
                            if index == 3 { panics_sometimes(3) }
                        }));
                    }
                    vec.truncate(random(8) as usize);
                    if one_in(3) {
                        drop(vec.into_boxed_slice());
                    }
                }
                21 => act!(@clone $may_rewind, $arena, inner, number),
                22 => {
                    let values = vec![number; len()];
                    live.add($arena.alloc_slice_from_vec(values), number);
                }
                23 => {
                    let layout = Layout::from_size_align(len(), 1 << random(13)).unwrap();
                    let place = $arena.alloc_layout(layout);
                    assert_eq!(place.addr().get() % layout.align(), 0);
                    // SAFETY: so many bytes, for as long.
                    let row = unsafe {
                        place.write_bytes(number, layout.size());
                        slice::from_raw_parts_mut(place.as_ptr(), layout.size())
                    };
                    live.add(row, number);
                }
                #[cfg(feature = "allocator-api2")]
                24 => {
                    use allocator_api2::alloc::Allocator;

                    let mut layout = Layout::from_size_align(len(), 1 << random(8)).unwrap();
                    let mut place = $arena.allocate(layout).unwrap().cast::<u8>();
                    for _ in 0..1 + random(4) {
                        inner();
                        // SAFETY: as a collection does.
                        unsafe {
                            place.write_bytes(number, layout.size());
                            // A pointer that is valid for the value alone.
                            place = std::ptr::NonNull::from(slice::from_raw_parts_mut(place.as_ptr(), layout.size())).cast();
                            let align = 1 << random(8);
                            let more = Layout::from_size_align(layout.size() + len() % 900, align).unwrap();
                            let less = Layout::from_size_align(random(1 + layout.size() as u64) as usize, align).unwrap();
                            let next = if one_in(2) { more } else { less };
                            let old = layout.size();
                            let moved = if next.size() < old {
                                $arena.shrink(place, layout, next)
                            } else if one_in(2) {
                                $arena.grow_zeroed(place, layout, next)
                            } else {
                                $arena.grow(place, layout, next)
                            }.unwrap();
                            assert_eq!(moved.len(), next.size());
                            place = moved.cast();
                            assert_eq!(place.addr().get() % next.align(), 0);
                            let kept = slice::from_raw_parts(place.as_ptr(), old.min(next.size()));
                            assert!(kept.iter().all(|it| *it == number));
                            layout = next;
                        }
                    }
                    inner();
                    // SAFETY: with its layout.
                    unsafe {
                        place.write_bytes(number, layout.size());
                        if one_in(2) {
                            $arena.deallocate(place, layout);
                        } else {
                            live.add(slice::from_raw_parts_mut(place.as_ptr(), layout.size()), number);
                        }
                    }
                }
                _ => act!(@rewind $may_rewind, $act, $arena, depth),
            }
            live.check();
        }
    };
    (@keep true, $live:ident, $vec:ident, $number:ident) => { $live.add($vec.into_slice(), $number) };
    (@keep false, $live:ident, $vec:ident, $number:ident) => {{
        let row = $vec.into_slice();
        assert!(row.iter().all(|it| *it == $number));
    }};
    (@fill true, $arena:ident, $inner:ident, $number:ident) => {{
        let result = $arena.alloc_slice_try_fill_with(len() % 200, |_| {
            $inner();
            panics_sometimes(100);
            if one_in(60) { Err(()) } else { Ok(OnDrop($number, [$number; 20], || $inner())) }
        });
        if let Ok(row) = result {
            for it in row {
                assert_eq!(it.1, [$number; 20]);
            }
        }
    }};
    (@fill false, $arena:ident, $inner:ident, $number:ident) => {{
        let boxed = $arena.alloc_boxed_slice(len() % 200, |_| {
            $inner();
            panics_sometimes(100);
            OnDrop($number, [$number; 20], || $inner())
        });
        $inner();
        assert!(boxed.iter().all(|it| it.1 == [$number; 20]));
    }};
    (@clone true, $arena:ident, $inner:ident, $number:ident) => {{
        let clones = OnClone($number, [$number; 20], || { $inner(); panics_sometimes(30) });
        for it in $arena.alloc_slice_fill(random(5) as usize, clones.clone()) {
            assert_eq!(it.1, [$number; 20]);
        }
        for it in $arena.alloc_slice_clone(&[clones.clone(), clones.clone()]) {
            assert_eq!(it.1, [$number; 20]);
        }
        for it in $arena.alloc([clones.clone(), clones]) {
            assert_eq!(it.1, [$number; 20]);
        }
    }};
    (@clone false, $arena:ident, $inner:ident, $number:ident) => {{}};
    (@rewind true, $act:ident, $arena:ident, $depth:ident) => {{
        if one_in(4) {
            $arena.reserve(len());
        }
        if $depth > 0 {
            let mark = $arena.checkpoint();
            let other = Live::default();
            let result = catch_unwind(AssertUnwindSafe(|| {
                for _ in 0..random(5) {
                    $act($arena, &other, $depth - 1);
                }
            }));
            drop(other);
            // SAFETY: nothing of it is there; nothing older grew, for this has it not.
            unsafe { $arena.rewind(mark) };
            if let Err(payload) = result {
                resume_unwind(payload);
            }
        }
    }};
    (@rewind false, $act:ident, $arena:ident, $depth:ident) => {{}};
}

act!(act_in_arena, arena: &'a Arena, 'a, true);
act!(act_in_scope, arena: &Scope<'a, '_>, 'a, false);

/// How many programs there are.
fn seeds() -> std::ops::Range<u64> {
    0..amount(40, 1)
}

fn builder(source: &std::sync::Arc<Counted>) -> flatslab::Builder<Arena> {
    let builder = Arena::builder().pages(source.pages());
    if one_in(2) {
        builder.chunk_bytes(random(9000) as usize)
    } else {
        builder
    }
}

#[test]
fn everything_within_everything() {
    for number in seeds() {
        seed(number);
        BUDGET.set(if cfg!(miri) { 60 } else { 300 });
        let source = Counted::new();
        let mut arena = builder(&source).build();
        for _ in 0..3 {
            let live = Live::default();
            for _ in 0..if cfg!(miri) { 12 } else { 40 } {
                survives(|| act_in_arena(&arena, &live, 3));
                live.check();
            }
            drop(live);
            arena.reset();
            if one_in(4) {
                arena.shrink_to_fit();
            }
        }
        drop(arena);
        source.expect_all_back();
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn everything_within_everything_in_scopes() {
    fn level<'s>(mut scope: Scope<'s, '_>, depth: u32) {
        let live: Live<'s> = Live::default();
        for _ in 0..random(if cfg!(miri) { 6 } else { 15 }) {
            if depth > 0 && one_in(4) {
                survives(|| scope.scope(|inner| level(inner, depth - 1)));
            } else {
                survives(|| act_in_scope(&scope, &live, 3));
            }
            live.check();
        }
        panics_sometimes(5);
    }
    for number in seeds() {
        seed(number);
        BUDGET.set(if cfg!(miri) { 60 } else { 300 });
        let source = Counted::new();
        let mut arena = builder(&source).build();
        for _ in 0..3 {
            survives(|| level(arena.as_scope(), 3));
            survives(|| arena.scope(|scope| level(scope, 3)));
            arena.reset();
        }
        drop(arena);
        source.expect_all_back();
    }
}
