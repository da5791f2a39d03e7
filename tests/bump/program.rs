//! A program on an arena, and a model that knows what is alive: for random programs and
//! for the fuzz target.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use flatslab::AllocError;
use flatslab::bump::{Arena, ArenaBox, ArenaVec, Scope};
use flatslab::memory::{MemorySource, Pages};

thread_local! {
    /// Bytes that the source gave and did not get back.
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// Requests that it refuses from now on.
    static REFUSED: Cell<u8> = const { Cell::new(0) };
}

struct Refusing;

// SAFETY: the memory is that of the system's allocator.
unsafe impl MemorySource for Refusing {
    fn allocate(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let bytes = layout.size();
        let refused = REFUSED.get();
        if refused > 0 {
            REFUSED.set(refused - 1);
            return Err(AllocError::OutOfMemory { bytes });
        }
        // SAFETY: the layout has a size.
        let start = NonNull::new(unsafe { System.alloc(layout) });
        let start = start.ok_or(AllocError::OutOfMemory { bytes })?;
        // SAFETY: the block has that many bytes.
        unsafe { start.write_bytes(0xa5, bytes) };
        BYTES.set(BYTES.get() + bytes);
        Ok(start)
    }

    unsafe fn release(&self, start: NonNull<u8>, layout: Layout) {
        BYTES.set(BYTES.get() - layout.size());
        // SAFETY: from `allocate` with this layout.
        unsafe { System.dealloc(start.as_ptr(), layout) };
    }
}

/// What rows that are written one by one are shorter by.
const SHRUNK: usize = if cfg!(miri) { 4 } else { 1 };

/// What panics on purpose.
struct OnPurpose;

/// Returns an error instead of a text.
struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Err(fmt::Error)
    }
}

/// The rest of a program, and what is in use at all levels.
struct Program<'p> {
    bytes: Cell<&'p [u8]>,
    /// Names each allocation.
    last: Cell<u64>,
    /// Where memory is in use, by name.
    in_use: RefCell<Vec<(u64, Range<usize>)>>,
    /// Values with a destructor that are alive.
    values: Rc<Cell<usize>>,
    /// Whether the arena may always grow.
    grows: Cell<bool>,
}

impl Program<'_> {
    /// Whether a method without a `try_` form finds room: where the arena may grow, the source
    /// refuses nothing from now on.
    fn has_room(&self, remaining: usize, bytes: usize) -> bool {
        if self.grows.get() {
            REFUSED.set(0);
        }
        self.grows.get() || remaining >= bytes
    }
}

/// A value with a destructor.
struct Value {
    number: u64,
    values: Rc<Cell<usize>>,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.values.set(self.values.get() - 1);
    }
}

/// What was allocated: it holds its own name over and over.
enum Content<'a> {
    Bytes(&'a mut [u8]),
    Words(&'a mut [u64]),
    Large(&'a mut [u128; 9]),
    Text(&'a mut str),
    Raw(NonNull<u8>, Layout),
    Boxed(ArenaBox<'a, Value>),
    Row(ArenaBox<'a, [Value]>),
    Vec(ArenaVec<'a, 'a, u64>),
}

/// Whether a row holds this number over and over: two comparisons of memory, which take an
/// interpreter no longer than a few numbers.
fn all_are<T: PartialEq>(row: &[T], number: T) -> bool {
    match row {
        [] => true,
        [first, rest @ ..] => *first == number && *rest == row[..rest.len()],
    }
}

/// Lives as long as its memory may be used.
struct Living<'a> {
    name: u64,
    content: Content<'a>,
}

impl Living<'_> {
    fn range(&self) -> Range<usize> {
        fn of<T>(row: &[T]) -> Range<usize> {
            row.as_ptr().addr()..row.as_ptr_range().end.addr()
        }
        match &self.content {
            Content::Bytes(row) => of(row),
            Content::Words(row) => of(row),
            Content::Large(row) => of(&row[..]),
            Content::Text(text) => of(text.as_bytes()),
            Content::Raw(place, layout) => place.addr().get()..place.addr().get() + layout.size(),
            Content::Boxed(value) => of(std::slice::from_ref(&**value)),
            Content::Row(row) => of(row),
            Content::Vec(vec) => {
                let start = vec.as_ptr().addr();
                start..start + vec.capacity() * size_of::<u64>()
            }
        }
    }

    fn check(&self) {
        let name = self.name;
        let is_whole = match &self.content {
            Content::Bytes(row) => all_are(row, name as u8),
            Content::Words(row) => all_are(row, name),
            Content::Large(row) => all_are(&row[..], u128::from(name)),
            Content::Text(text) => all_are(text.as_bytes(), b'a' + name as u8 % 26),
            Content::Raw(place, layout) => {
                assert_eq!(place.addr().get() % layout.align(), 0, "alignment");
                // SAFETY: so many bytes were written when it was made.
                let row = unsafe { NonNull::slice_from_raw_parts(*place, layout.size()).as_ref() };
                all_are(row, name as u8)
            }
            Content::Boxed(value) => value.number == name,
            Content::Row(row) => row.iter().all(|it| it.number == name),
            Content::Vec(vec) => all_are(vec, name),
        };
        assert!(is_whole, "allocation {name} has changed");
    }
}

/// What is alive at one level: of one scope, or of the arena.
struct Level<'a, 'l, 'p> {
    program: &'l Program<'p>,
    living: Vec<Living<'a>>,
}

impl<'a, 'l, 'p> Level<'a, 'l, 'p> {
    fn new(program: &'l Program<'p>) -> Self {
        let living = Vec::new();
        Level { program, living }
    }

    fn add(&mut self, name: u64, content: Content<'a>) {
        let living = Living { name, content };
        living.check();
        self.program.occupy(name, living.range());
        self.living.push(living);
    }

    fn check(&self) {
        self.living.iter().for_each(Living::check);
    }

    /// Ends the last allocation if it is a box, whose value is moved out, or a vector,
    /// which is dropped. Returns whether it was a vector.
    fn end_last(&mut self) -> bool {
        match self.living.pop() {
            Some(Living {
                name,
                content: Content::Boxed(value),
            }) => {
                assert_eq!(ArenaBox::into_inner(value).number, name);
                self.program.vacate(name);
                false
            }
            Some(Living {
                name,
                content: Content::Vec(vec),
            }) => {
                drop(vec);
                self.program.vacate(name);
                true
            }
            other => {
                self.living.extend(other);
                false
            }
        }
    }

    /// Adds to one of the vectors. Returns which it was if it has grown.
    fn grow_a_vector(&mut self, number: usize) -> Option<usize> {
        let at = number % self.living.len().max(1);
        let living = self.living.get_mut(at)?;
        let name = living.name;
        let Content::Vec(vec) = &mut living.content else {
            return None;
        };
        let capacity = vec.capacity();
        for _ in 0..number / 8 {
            if vec.try_push(name).is_err() {
                break;
            }
        }
        let has_grown = vec.capacity() != capacity;
        self.program.vacate(name);
        self.program.occupy(name, living.range());
        has_grown.then_some(at)
    }

    /// Ends those after the first `len`.
    fn truncate(&mut self, len: usize) {
        for living in self.living.drain(len..) {
            living.check();
            self.program.vacate(living.name);
        }
    }
}

impl Drop for Level<'_, '_, '_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
        for living in &self.living {
            self.program.vacate(living.name);
        }
    }
}

impl Program<'_> {
    fn next(&self) -> Option<usize> {
        let (first, rest) = self.bytes.get().split_first()?;
        self.bytes.set(rest);
        Some(usize::from(*first))
    }

    fn number(&self) -> usize {
        self.next().unwrap_or(0)
    }

    fn name(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    fn value(&self, number: u64) -> Value {
        self.values.set(self.values.get() + 1);
        Value {
            number,
            values: self.values.clone(),
        }
    }

    fn occupy(&self, name: u64, range: Range<usize>) {
        let mut in_use = self.in_use.borrow_mut();
        for (other, used) in &*in_use {
            let is_apart = used.end <= range.start || range.end <= used.start;
            assert!(
                is_apart || range.is_empty() || used.is_empty(),
                "{name} overlaps {other}"
            );
        }
        in_use.push((name, range));
    }

    fn vacate(&self, name: u64) {
        self.in_use.borrow_mut().retain(|(other, _)| *other != name);
    }
}

/// The step of a program that allocates in `$place`: an arena or a scope.
macro_rules! allocate {
    ($place:expr, $level:expr, $program:expr) => {{
        let (place, level, program) = ($place, &mut *$level, $program);
        let (operation, number) = (program.number(), program.number());
        let name = program.name();
        let content = match operation % 16 {
            0 | 1 => place
                .try_alloc_slice_fill(number / SHRUNK, name as u8)
                .ok()
                .map(Content::Bytes),
            2 => {
                // Some fail on their way.
                let fails_at = if number >= 128 {
                    number % 16
                } else {
                    usize::MAX
                };
                program
                    .has_room(place.remaining(), number * 2)
                    .then_some(())
                    .and_then(|()| {
                        let fill = |index| if index == fails_at { Err(()) } else { Ok(name) };
                        place.alloc_slice_try_fill_with(number / 4, fill).ok()
                    })
                    .map(Content::Words)
            }
            3 => {
                let large = place.try_alloc_with(|| [u128::from(name); 9]);
                large.ok().map(Content::Large)
            }
            4 => {
                let text = String::from_utf8(vec![b'a' + name as u8 % 26; number]).unwrap();
                let copy = place.try_alloc_str(&text);
                copy.ok().map(Content::Text)
            }
            5 => {
                let text = String::from_utf8(vec![b'a' + name as u8 % 26; number / 2]).unwrap();
                if number % 4 == 0 {
                    let failed = place.try_alloc_fmt(format_args!("{text}{Unprintable}"));
                    assert!(failed.is_err());
                }
                let formatted = place.try_alloc_fmt(format_args!("{text}{text}"));
                formatted.ok().map(Content::Text)
            }
            6 | 7 => {
                let size = if operation >= 192 {
                    number * 64
                } else {
                    number
                };
                let layout = Layout::from_size_align(size, 1 << (operation / 16 % 13)).unwrap();
                place.try_alloc_layout(layout).ok().map(|start| {
                    // SAFETY: so many bytes were just given.
                    unsafe { start.write_bytes(name as u8, size) };
                    Content::Raw(start, layout)
                })
            }
            8 => match place.try_boxed(program.value(name)) {
                Ok(boxed) => Some(Content::Boxed(boxed)),
                Err(full) => {
                    assert_eq!(full.into_inner().number, name);
                    None
                }
            },
            9 => {
                // Some panic on their way.
                let panics_at = if number >= 128 {
                    number % 8
                } else {
                    usize::MAX
                };
                let row = catch_unwind(AssertUnwindSafe(|| {
                    place.try_alloc_boxed_slice(number % 16, |index| {
                        if index == panics_at {
                            resume_unwind(Box::new(OnPurpose));
                        }
                        program.value(name)
                    })
                }));
                match row {
                    Ok(row) => row.ok().map(Content::Row),
                    Err(payload) if payload.is::<OnPurpose>() => None,
                    Err(payload) => resume_unwind(payload),
                }
            }
            10 if program.has_room(place.remaining(), 160) => {
                // A closure that fails, and allocates in between or not.
                let between = name + (1 << 32);
                let mut inner = None;
                let failed = place.alloc_try_with(|| {
                    if number % 2 == 0 {
                        inner = place.try_alloc_slice_fill(number / 8, between as u8).ok();
                    }
                    if number % 3 == 0 {
                        Ok([u128::from(name); 9])
                    } else {
                        Err(())
                    }
                });
                if let Some(inner) = inner {
                    level.add(between, Content::Bytes(inner));
                }
                failed.ok().map(Content::Large)
            }
            11 => {
                let row = place.try_alloc_slice_iter((0..number / 4).map(|_| name));
                row.ok().map(Content::Words)
            }
            12 => {
                let row = place.try_alloc_slice_from_vec(vec![name; number / 8]);
                row.ok().map(Content::Words)
            }
            13 => {
                // Two that grow in turns, and end as rows or not.
                let (mut a, mut b) = (ArenaVec::new_in(place), ArenaVec::new_in(place));
                for step in 0..number / SHRUNK {
                    let vec = if step * operation / 16 % 3 == 0 {
                        &mut a
                    } else {
                        &mut b
                    };
                    if vec.try_push(name).is_err() {
                        break;
                    }
                }
                for (vec, stays) in [(a, number % 3 > 0), (b, number % 5 > 0)] {
                    if !stays {
                        continue;
                    }
                    let row = vec.into_slice();
                    assert!(row.iter().all(|it| *it == name));
                    let name = program.name();
                    program.occupy(name, row.as_ptr().addr()..row.as_ptr_range().end.addr());
                    program.vacate(name);
                }
                None
            }
            14 => match place.try_alloc([u128::from(name); 9]) {
                Ok(row) => Some(Content::Large(row)),
                Err(full) => {
                    assert_eq!(full.into_inner(), [u128::from(name); 9]);
                    None
                }
            },
            _ => {
                REFUSED.set(number as u8 % 4);
                None
            }
        };
        if let Some(content) = content {
            level.add(name, content);
        }
        level.check();
    }};
}

/// Steps within a scope, until it ends.
fn scope(mut scope: Scope<'_, '_>, program: &Program<'_>, depth: u32) {
    let mut level = Level::new(program);
    while let Some(step) = program.next() {
        match step % 16 {
            0 => return,
            1 if depth > 0 => resume_unwind(Box::new(OnPurpose)),
            2 | 3 if depth < 6 => {
                unless_on_purpose(|| scope.scope(|inner| self::scope(inner, program, depth + 1)));
                level.check();
            }
            4 => {
                level.end_last();
            }
            _ => allocate!(&scope, &mut level, program),
        }
    }
}

fn unless_on_purpose(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        if !payload.is::<OnPurpose>() {
            resume_unwind(payload);
        }
    }
}

/// Steps between two resets.
macro_rules! frame {
    ($arena:expr, $program:expr) => {{
        let (arena, program) = ($arena, $program);
        let mut level = Level::new(program);
        // With how many allocations there were.
        let mut marks = Vec::new();
        while let Some(step) = program.next() {
            match step % 16 {
                0 => break,
                1 | 2 => marks.push((arena.checkpoint(), level.living.len())),
                3 | 4 => {
                    if let Some((mark, len)) = marks.pop() {
                        level.truncate(len);
                        // SAFETY: what was allocated since has just ended. No vector from
                        // before has grown since: then the mark would be gone.
                        unsafe { arena.rewind(mark) };
                    }
                }
                5 => {
                    let is_vector = level.end_last();
                    let left = level.living.len();
                    if is_vector {
                        marks.retain(|(_, len)| *len <= left);
                    }
                    marks.iter_mut().for_each(|(_, len)| *len = left.min(*len));
                }
                6 => level.add(program.name(), Content::Vec(ArenaVec::new_in(arena))),
                7 | 8 => {
                    let at = level.grow_a_vector(program.number());
                    marks.retain(|(_, len)| at.is_none_or(|at| *len <= at));
                }
                _ => allocate!(arena, &mut level, program),
            }
            #[cfg(fuzzing)]
            arena.check();
        }
        drop(level);
    }};
}

/// Runs a program: the first bytes say which arena, the others are steps.
pub(crate) fn run(bytes: &[u8]) {
    let program = Program {
        bytes: Cell::new(bytes),
        last: Cell::new(0),
        in_use: RefCell::default(),
        values: Rc::default(),
        grows: Cell::new(false),
    };
    REFUSED.set(0);
    let pages = Pages::from_source(Arc::new(Refusing));
    let (kind, size) = (program.number(), program.number());
    if kind % 4 == 0 {
        let builder = Arena::builder().bounded(size * 64).pages(pages);
        let mut arena = builder.build();
        while let Some(step) = program.next() {
            match step % 8 {
                0 => arena.reset(),
                1..4 => arena.scope(|inner| scope(inner, &program, 0)),
                _ => {
                    frame!(&arena, &program);
                    arena.reset();
                }
            }
            #[cfg(fuzzing)]
            arena.check();
        }
    } else {
        let mut builder = Arena::builder().pages(pages);
        if kind % 4 > 1 {
            builder = builder.chunk_bytes(size * 8);
        }
        let limit = if kind % 4 > 2 {
            72 + kind * 200
        } else {
            usize::MAX
        };
        let mut arena = builder.max_bytes(limit).build();
        program.grows.set(limit == usize::MAX);
        while let Some(step) = program.next() {
            match step % 8 {
                0 => arena.shrink_to_fit(),
                1 => drop(arena.try_reserve(program.number() * 40)),
                2 => scope(arena.as_scope(), &program, 0),
                3 | 4 => arena.scope(|inner| scope(inner, &program, 0)),
                _ => {
                    frame!(&arena, &program);
                    if step < 200 {
                        arena.reset();
                    }
                }
            }
            #[cfg(fuzzing)]
            arena.check();
            assert!(arena.memory().bytes() <= limit);
            assert_eq!(arena.memory().bytes(), BYTES.get());
        }
    }
    assert_eq!(BYTES.get(), 0, "memory is lost");
    assert_eq!(program.values.get(), 0, "values are lost");
}
