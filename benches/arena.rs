//! Arenas against each other: a fresh arena, many allocations, and its end, each
//! operation of each library in a process of its own; then frames in an arena that is
//! warm.
//!
//! The rows are those of stumpalo's own comparison, and so is the method: 10 samples that
//! do not count, 60 that do, of which the 6 slowest are dropped. All chunks come from
//! mimalloc, as there, if the feature `allocators` is there; `ARENA_BENCH_ALLOCATOR=system` takes
//! them from the system.
//!
//! To compare another library, write its `Library`, and its name into `libraries!`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use bump_scope::{Bump as ScopedBump, BumpBox};
use flatslab::bump::Arena;
use flatslab_benches::arena::{ALONE, COLD, FRAME, OURS, OURS_AGAIN, WARM, tables};
use flatslab_benches::prelude::*;
use rand::Rng;

/// Of live values so many that a sample is of 6.4 MB at most.
const PLAN: Plan = Plan {
    in_processes: true,
    notes,
    tables: Some(tables),
    ..plan::of(
        "arena",
        &[
            (100_000, &[1, 2, 4, 8, 13, 16, 24, 26, 30, 32, 40, 48, 64]),
            (50_000, &[72, 80, 96, 119, 120, 121, 128]),
            (25_000, &[192, 239, 240, 241, 256]),
            (12_500, &[480, 512]),
            (6_250, &[1024]),
            (3_125, &[2048, 4024]),
        ],
        1_024,
        &[OURS, OURS_AGAIN],
        cases,
    )
};

fn main() -> ExitCode {
    let is_system = std::env::var_os(SYSTEM).is_some_and(|value| value == "system");
    IS_SYSTEM.fetch_or(is_system, Ordering::Relaxed);
    run::main(&PLAN)
}

/// Names the allocator that chunks come from.
const SYSTEM: &str = "ARENA_BENCH_ALLOCATOR";

static IS_SYSTEM: AtomicBool = AtomicBool::new(cfg!(not(feature = "allocators")));

#[cfg(feature = "allocators")]
use mimalloc::MiMalloc;
#[cfg(not(feature = "allocators"))]
use std::alloc::System as MiMalloc;

/// Mimalloc, or the system's allocator.
struct Chosen;

#[global_allocator]
static CHOSEN: Chosen = Chosen;

// SAFETY: each of the two is an allocator. The choice is made before the first memory that
// is freed again: what the runtime allocates before `main` is not.
unsafe impl GlobalAlloc for Chosen {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: says the caller.
        unsafe {
            match IS_SYSTEM.load(Ordering::Relaxed) {
                true => System.alloc(layout),
                false => MiMalloc.alloc(layout),
            }
        }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: says the caller.
        unsafe {
            match IS_SYSTEM.load(Ordering::Relaxed) {
                true => System.dealloc(place, layout),
                false => MiMalloc.dealloc(place, layout),
            }
        }
    }
}

fn notes(_: &Arguments) -> Vec<String> {
    let allocator = match IS_SYSTEM.load(Ordering::Relaxed) {
        true => "the system's allocator",
        false => "mimalloc",
    };
    vec![format!(
        "chunks from {allocator}; stumpalo 1.0, bumpalo 3.20, bump-scope 2.4, blink-alloc 0.4"
    )]
}

/// An arena of one library. References that it returns are not dropped.
#[expect(clippy::mut_from_ref, reason = "arenas")]
trait Library {
    const NAME: &'static str;

    /// A fresh one; only the floor, which cannot grow, needs to know the bytes.
    fn fresh(bytes: usize) -> Self;

    fn value<T: Copy + 'static>(&self, value: T) -> &mut T;

    /// A value that lies in memory, copied by the library's own call: as an argument of
    /// [`value`](Self::value) it would be copied once more, whichever library it is.
    fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T;

    fn slice<T: Copy>(&self, values: &[T]) -> &mut [T];

    fn text(&self, text: &str) -> &mut str;

    /// A slice whose length the compiler knows.
    #[inline(always)]
    fn sized<T: Copy, const N: usize>(&self, values: &[T; N]) -> &mut [T] {
        self.slice(values)
    }

    /// A slice of the program, whose length the compiler knows.
    #[inline(always)]
    fn literal<T: Copy>(&self, values: &'static [T]) -> &mut [T] {
        self.slice(values)
    }

    /// Everything free again, and as much memory kept as the library can.
    fn reset(&mut self);
}

impl Library for Arena {
    const NAME: &'static str = OURS;

    #[inline(always)]
    fn fresh(_: usize) -> Self {
        Arena::new()
    }

    #[inline(always)]
    fn value<T: Copy + 'static>(&self, value: T) -> &mut T {
        self.alloc(value)
    }

    #[inline(always)]
    fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T {
        self.alloc(*value)
    }

    #[inline(always)]
    fn slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
        self.alloc_slice_copy(values)
    }

    #[inline(always)]
    fn text(&self, text: &str) -> &mut str {
        self.alloc_str(text)
    }

    #[inline(always)]
    fn sized<T: Copy, const N: usize>(&self, values: &[T; N]) -> &mut [T] {
        self.alloc_slice_copy(values)
    }

    #[inline(always)]
    fn reset(&mut self) {
        Arena::reset(self);
    }
}

impl Library for stumpalo::Arena {
    const NAME: &'static str = "stumpalo";

    #[inline(always)]
    fn fresh(_: usize) -> Self {
        Self::new()
    }

    #[inline(always)]
    fn value<T: Copy + 'static>(&self, value: T) -> &mut T {
        self.alloc(value)
    }

    #[inline(always)]
    fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T {
        self.alloc(*value)
    }

    #[inline(always)]
    fn slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
        self.alloc_slice_copy(values)
    }

    #[inline(always)]
    fn text(&self, text: &str) -> &mut str {
        self.alloc_str(text)
    }

    #[inline(always)]
    fn sized<T: Copy, const N: usize>(&self, values: &[T; N]) -> &mut [T] {
        self.alloc_sized_slice_copy(values)
    }

    #[inline(always)]
    fn literal<T: Copy>(&self, values: &'static [T]) -> &mut [T] {
        self.alloc_slice_lit_copy(values)
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.clear();
    }
}

impl Library for bumpalo::Bump {
    const NAME: &'static str = "bumpalo";

    #[inline(always)]
    fn fresh(_: usize) -> Self {
        Self::new()
    }

    #[inline(always)]
    fn value<T: Copy + 'static>(&self, value: T) -> &mut T {
        self.alloc(value)
    }

    #[inline(always)]
    fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T {
        self.alloc(*value)
    }

    #[inline(always)]
    fn slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
        self.alloc_slice_copy(values)
    }

    #[inline(always)]
    fn text(&self, text: &str) -> &mut str {
        self.alloc_str(text)
    }

    #[inline(always)]
    fn reset(&mut self) {
        bumpalo::Bump::reset(self);
    }
}

impl Library for ScopedBump {
    const NAME: &'static str = "bump-scope";

    #[inline(always)]
    fn fresh(_: usize) -> Self {
        Self::new()
    }

    #[inline(always)]
    fn value<T: Copy + 'static>(&self, value: T) -> &mut T {
        BumpBox::leak(self.alloc(value))
    }

    #[inline(always)]
    fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T {
        BumpBox::leak(self.alloc(*value))
    }

    #[inline(always)]
    fn slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
        BumpBox::leak(self.alloc_slice_copy(values))
    }

    #[inline(always)]
    fn text(&self, text: &str) -> &mut str {
        BumpBox::leak(self.alloc_str(text))
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.reset_to_start();
    }
}

impl Library for blink_alloc::Blink {
    const NAME: &'static str = "blink-alloc";

    #[inline(always)]
    fn fresh(_: usize) -> Self {
        Self::new()
    }

    #[inline(always)]
    fn value<T: Copy + 'static>(&self, value: T) -> &mut T {
        self.put(value)
    }

    #[inline(always)]
    fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T {
        self.put(*value)
    }

    #[inline(always)]
    fn slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
        self.copy_slice(values)
    }

    #[inline(always)]
    fn text(&self, text: &str) -> &mut str {
        self.copy_str(text)
    }

    #[inline(always)]
    fn reset(&mut self) {
        blink_alloc::Blink::reset(self);
    }
}

/// A pointer that moves up one block, and is compared with nothing: what an arena that
/// grows can be measured by.
struct Floor {
    position: std::cell::Cell<NonNull<u8>>,
    block: NonNull<u8>,
    layout: Layout,
}

impl Floor {
    #[inline(always)]
    fn take(&self, layout: Layout) -> NonNull<u8> {
        let position = self.position.get();
        let skipped = match layout.align() {
            ..=8 => 0,
            align => position.addr().get().wrapping_neg() & (align - 1),
        };
        // SAFETY: the block is as long as the bench needs it.
        unsafe {
            let place = position.add(skipped);
            self.position
                .set(place.add(layout.size().next_multiple_of(8)));
            place
        }
    }
}

impl Library for Floor {
    const NAME: &'static str = flatslab_benches::arena::FLOOR;

    #[inline(always)]
    fn fresh(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, 16).expect("a layout");
        #[expect(clippy::disallowed_methods, reason = "a block of its own")]
        // SAFETY: the layout has a size.
        let block = unsafe { std::alloc::alloc(layout) };
        let block = NonNull::new(block).expect("memory");
        Floor {
            position: block.into(),
            block,
            layout,
        }
    }

    #[inline(always)]
    fn value<T: Copy + 'static>(&self, value: T) -> &mut T {
        // SAFETY: room for a `T`, handed out once.
        unsafe {
            let mut place = self.take(Layout::new::<T>()).cast();
            place.write(value);
            place.as_mut()
        }
    }

    #[inline(always)]
    fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T {
        // SAFETY: room for a `T`, handed out once.
        unsafe {
            let mut place = self.take(Layout::new::<T>()).cast();
            place.write(*value);
            place.as_mut()
        }
    }

    #[inline(always)]
    fn slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
        let place = self.take(Layout::for_value(values)).cast();
        // SAFETY: room for so many, handed out once.
        unsafe {
            place.copy_from_nonoverlapping(NonNull::from(values).cast(), values.len());
            NonNull::slice_from_raw_parts(place, values.len()).as_mut()
        }
    }

    #[inline(always)]
    fn text(&self, text: &str) -> &mut str {
        // SAFETY: the bytes of a text.
        unsafe { std::str::from_utf8_unchecked_mut(self.slice(text.as_bytes())) }
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.position.set(self.block);
    }
}

impl Drop for Floor {
    #[expect(clippy::disallowed_methods, reason = "a block of its own")]
    fn drop(&mut self) {
        // SAFETY: allocated with that layout.
        unsafe { std::alloc::dealloc(self.block.as_ptr(), self.layout) };
    }
}

/// Has the compiler write what was allocated, and read the arena again for the next one.
/// Costs no instruction: `black_box` would store the pointer.
#[inline(always)]
fn keep<T: ?Sized>(value: &mut T) -> &mut T {
    // SAFETY: no value here is without a byte.
    barrier(unsafe { NonNull::from(&mut *value).cast::<u8>().as_ref() });
    value
}

/// What was allocated, as bytes.
struct Written {
    start: NonNull<u8>,
    bytes: usize,
}

impl<T: ?Sized> From<&mut T> for Written {
    #[inline(always)]
    fn from(value: &mut T) -> Self {
        Written {
            bytes: size_of_val(value),
            start: NonNull::from(value).cast(),
        }
    }
}

const WARM_UP: usize = 10;
const SAMPLES: usize = 60;
const SLOWEST: usize = 6;

/// Allocations that are read back before a row is measured.
const CHECKED: usize = 1_000;

/// The ticks of the samples but the slowest.
#[inline(never)]
fn sampled(quick: bool, sample: &mut dyn FnMut() -> u64) -> Turn {
    let (warm_up, samples, slowest) = match quick {
        true => (1, 4, 1),
        false => (WARM_UP, SAMPLES, SLOWEST),
    };
    for _ in 0..warm_up {
        sample();
    }
    let mut ticks: Vec<u64> = (0..samples).map(|_| sample()).collect();
    ticks.sort_unstable();
    ticks.truncate(samples - slowest);
    ticks
        .into_iter()
        .map(|it| it as f64)
        .collect::<Vec<f64>>()
        .into()
}

/// Whether figures are not wanted, only answers.
fn is_quick(setting: &Setting) -> bool {
    setting.live <= PLAN.quick_live
}

/// What the floor needs for so many requests of that size.
fn room(count: usize, bytes: usize) -> usize {
    count * bytes.next_multiple_of(8).max(8) + 64
}

/// Reads back what was written: each place has the bytes it is to have, and no two
/// overlap. The arena must live.
#[inline(never)]
fn check(name: &str, written: &mut [Written], right: &[u8]) {
    let mut sum = 0;
    for (number, it) in written.iter().enumerate() {
        // SAFETY: written by the library, in an arena that lives.
        let bytes = unsafe { NonNull::slice_from_raw_parts(it.start, it.bytes).as_ref() };
        assert_eq!(bytes, right, "{name}: number {number}");
        sum += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    }
    assert_ne!(sum, 0, "{name}: nothing was written");
    written.sort_unstable_by_key(|it| it.start);
    for pair in written.windows(2) {
        let end = pair[0].start.addr().get() + pair[0].bytes;
        assert!(end <= pair[1].start.addr().get(), "{name}: an overlap");
    }
}

/// Fresh arena, allocations, end.
#[inline(always)]
fn cold<L: Library, const AT_ONCE: usize>(
    setting: Setting,
    source: &[u8],
    allocate: impl Fn(&L) -> Written,
) -> Turn {
    machine::pin();
    let count = setting.live;
    let bytes = room(count, source.len());
    {
        let arena = L::fresh(bytes);
        let mut written = Vec::with_capacity(CHECKED);
        for _ in 0..CHECKED {
            written.push(allocate(&arena));
        }
        check(L::NAME, &mut written, source);
    }
    sampled(is_quick(&setting), &mut || {
        let begun = clock::start();
        let arena = L::fresh(bytes);
        for _ in 0..count / AT_ONCE {
            for _ in 0..AT_ONCE {
                allocate(&arena);
            }
        }
        drop(arena);
        clock::stop() - begun
    })
}

/// Only the reset of an arena that is full.
#[inline(always)]
fn clear<L: Library>(setting: Setting) -> Turn {
    machine::pin();
    let overhead = clock::overhead();
    let value = black_box([42_u8; 4024]);
    let count = (setting.live / 2).min(500);
    sampled(is_quick(&setting), &mut || {
        let mut arena = L::fresh(room(count, 4024));
        for _ in 0..count {
            keep(arena.value(value));
        }
        let begun = clock::start();
        arena.reset();
        let ticks = clock::stop() - begun;
        keep(arena.value(value));
        // A tick at least: not nothing.
        ticks.saturating_sub(overhead).max(1)
    })
}

/// Allocations after a reset, in an arena that has its chunks.
#[inline(always)]
fn clear_and_reuse<L: Library>(setting: Setting) -> Turn {
    machine::pin();
    let value = black_box(42_u64);
    let mut arena = L::fresh(room(setting.live, 8));
    sampled(is_quick(&setting), &mut || {
        arena.reset();
        let begun = clock::start();
        for _ in 0..setting.live {
            keep(arena.value(value));
        }
        clock::stop() - begun
    })
}

/// Frames of [`FRAME`] allocations, each ended by a reset.
#[inline(always)]
fn warm<L: Library>(setting: Setting, bytes: usize, allocate: impl Fn(&L, usize)) -> Turn {
    machine::pin();
    let mut arena = L::fresh(room(FRAME, bytes));
    sampled(is_quick(&setting), &mut || {
        let begun = clock::start();
        for _ in 0..setting.live.div_ceil(FRAME) {
            for at in 0..FRAME {
                allocate(&arena, at);
            }
            arena.reset();
        }
        clock::stop() - begun
    })
}

/// The same frames, timed in batches of [`BATCH`]; the reset is part of one.
#[inline(always)]
fn alone<L: Library>(setting: Setting, bytes: usize, allocate: impl Fn(&L, usize)) -> Turn {
    machine::pin();
    let overhead = clock::overhead();
    let mut arena = L::fresh(room(FRAME + BATCH, bytes));
    let batches = match is_quick(&setting) {
        true => 100,
        false => 20_000,
    };
    let mut figures = Vec::with_capacity(batches);
    for batch in 0..batches + batches / 10 {
        let begun = clock::start();
        for at in 0..BATCH {
            allocate(&arena, at);
        }
        if batch % (FRAME / BATCH) == 0 {
            arena.reset();
        }
        let ticks = (clock::stop() - begun).saturating_sub(overhead);
        if batch >= batches / 10 {
            figures.push(ticks as f64 / BATCH as f64);
        }
    }
    figures.into()
}

/// Lengths of 1 to 64 bytes in random order: the same for every library of a round.
fn lengths(setting: &mut Setting) -> Vec<usize> {
    (0..FRAME)
        .map(|_| setting.random.random_range(1..=64))
        .collect()
}

/// A function for each library and ours again: an entry each.
macro_rules! libraries {
    (|$setting:ident, $library:ident| $turn:expr) => {
        vec![
            libraries!(@ Arena, OURS, $setting, $library, $turn),
            libraries!(@ stumpalo::Arena, <stumpalo::Arena as Library>::NAME, $setting, $library, $turn),
            libraries!(@ bumpalo::Bump, <bumpalo::Bump as Library>::NAME, $setting, $library, $turn),
            libraries!(@ ScopedBump, <ScopedBump as Library>::NAME, $setting, $library, $turn),
            libraries!(@ blink_alloc::Blink, <blink_alloc::Blink as Library>::NAME, $setting, $library, $turn),
            libraries!(@ Floor, <Floor as Library>::NAME, $setting, $library, $turn),
        ]
    };
    (@ $of:ty, $name:expr, $setting:ident, $library:ident, $turn:expr) => {
        Entry {
            subject: $name,
            check: || Ok(()),
            turn: |#[allow(unused_mut, reason = "some turns draw random numbers")] mut $setting: Setting| {
                type $library = $of;
                #[inline(never)]
                fn turn(#[allow(unused_mut, reason = "some turns draw random numbers")] mut $setting: Setting) -> Turn {
                    $turn
                }
                turn($setting)
            },
        }
    };
}

/// The rows of a size, in the order of the tables.
struct Rows {
    bytes: usize,
    cases: Vec<Case>,
    turns: usize,
}

impl Rows {
    fn add(&mut self, row: &'static str, columns: &'static [Column], mut entries: Vec<Entry>) {
        let again = Entry {
            subject: OURS_AGAIN,
            ..entries[0]
        };
        entries.push(again);
        self.cases.push(Case {
            rows: vec![row],
            turns: self.turns,
            columns,
            entries,
        });
    }
}

/// Rows of values, slices and texts; each is a row of the size it has.
macro_rules! rows {
    ($rows:ident; $($name:literal $kind:ident($($argument:tt)*);)*) => {
        $(rows!(@ $kind, $rows, $name, $($argument)*);)*
    };
    (@ value, $rows:ident, $name:literal, $value:expr) => {
        rows!(@ of, $rows, $name, 1, $value, |arena, source| arena.value(*source));
    };
    (@ behind, $rows:ident, $name:literal, $value:expr) => {
        if size_of_val(&$value) == $rows.bytes {
            $rows.add($name, COLUMNS, libraries!(|setting, L| {
                let value = Line($value);
                let source = black_box(&value.0);
                cold::<L, 1>(setting, bytes_of(source), #[inline(always)] |arena: &L| {
                    keep(arena.behind(source)).into()
                })
            }));
        }
    };
    // Of one word that is in a register.
    (@ built, $rows:ident, $name:literal, $value:expr, |$word:ident| $built:expr) => {
        if size_of_val(&$value) == $rows.bytes {
            $rows.add($name, COLUMNS, libraries!(|setting, L| {
                let value = Line($value);
                cold::<L, 1>(setting, bytes_of(&value.0), #[inline(always)] |arena: &L| {
                    let $word = black_box(42_u64);
                    keep(arena.value($built)).into()
                })
            }));
        }
    };
    (@ values, $rows:ident, $name:literal, $value:expr) => {
        rows!(@ of, $rows, $name, 8, $value, |arena, source| arena.value(*source));
    };
    (@ slice, $rows:ident, $name:literal, $value:expr) => {
        rows!(@ unsized_, $rows, $name, $value, |arena, source| arena.slice(source));
    };
    (@ sized, $rows:ident, $name:literal, $value:expr) => {
        rows!(@ of, $rows, $name, 1, $value, |arena, source| arena.sized(source));
    };
    (@ literal, $rows:ident, $name:literal, $value:expr) => {
        if size_of_val(&$value) == $rows.bytes {
            $rows.add($name, COLUMNS, libraries!(|setting, L| {
                let source = black_box(const { &Line($value) });
                cold::<L, 1>(setting, bytes_of(&source.0), #[inline(always)] |arena: &L| {
                    keep(arena.literal(&source.0)).into()
                })
            }));
        }
    };
    (@ text, $rows:ident, $name:literal, $bytes:expr) => {
        rows!(@ unsized_, $rows, $name, [b'a'; $bytes], |arena, source| {
            // SAFETY: letters.
            arena.text(unsafe { std::str::from_utf8_unchecked(source) })
        });
    };
    (@ text_literal, $rows:ident, $name:literal, $bytes:expr) => {
        rows!(@ literal, $rows, $name, [b'a'; $bytes]);
    };
    // The source's length is known to the compiler, its bytes are not.
    (@ of, $rows:ident, $name:literal, $at_once:literal, $value:expr, |$arena:ident, $source:ident| $allocate:expr) => {
        if size_of_val(&$value) == $rows.bytes {
            $rows.add($name, COLUMNS, libraries!(|setting, L| {
                // A copy, of which no one else has the address, as a value on its way has.
                let held = black_box(Line($value));
                let value = Line(held.0);
                let $source = &value.0;
                cold::<L, $at_once>(setting, bytes_of($source), #[inline(always)] |$arena: &L| {
                    keep($allocate).into()
                })
            }));
        }
    };
    // Nor is its length.
    (@ unsized_, $rows:ident, $name:literal, $value:expr, |$arena:ident, $source:ident| $allocate:expr) => {
        if size_of_val(&$value) == $rows.bytes {
            $rows.add($name, COLUMNS, libraries!(|setting, L| {
                let value = Line($value);
                let $source = black_box(value.0.as_slice());
                cold::<L, 1>(setting, bytes_of($source), #[inline(always)] |$arena: &L| {
                    keep($allocate).into()
                })
            }));
        }
    };
}

/// At the start of a cache line, so that no source lies in two by chance.
#[repr(align(64))]
struct Line<T>(T);

/// The bytes of a value that has no padding.
fn bytes_of<T: ?Sized>(value: &T) -> &[u8] {
    // SAFETY: integers, and arrays of those.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of_val(value)) }
}

const COLUMNS: &[Column] = &[Column::Value(Metric::Ticks)];

const PERCENTILES: &[Column] = &[
    Column::Value(Metric::P50),
    Column::Value(Metric::P99),
    Column::Value(Metric::P999),
];

fn cases(arguments: &Arguments, _live: usize, bytes: usize) -> Vec<Case> {
    let mut rows = Rows {
        bytes,
        cases: Vec::new(),
        turns: if arguments.quick { 1 } else { 3 },
    };
    rows! { rows;
        "alloc_u8" value(42_u8);
        "alloc_u16" value(42_u16);
        "alloc_u32" value(42_u32);
        "alloc_u64" value(42_u64);
        "alloc_u128" value(42_u128);
        "alloc_multiple_u8" values(42_u8);
        "alloc_multiple_u16" values(42_u16);
        "alloc_multiple_u32" values(42_u32);
        "alloc_multiple_u64" values(42_u64);
        "alloc_multiple_u128" values(42_u128);
        "alloc_array_u8_8" value([42_u8; 8]);
        "alloc_array_u8_32" value([42_u8; 32]);
        "alloc_array_u8_64" value([42_u8; 64]);
        "alloc_array_u8_128" value([42_u8; 128]);
        "alloc_slice_u8_8" slice([42_u8; 8]);
        "alloc_slice_u8_32" slice([42_u8; 32]);
        "alloc_slice_u8_64" slice([42_u8; 64]);
        "alloc_slice_u8_128" slice([42_u8; 128]);
        "alloc_slice_u16_8" slice([42_u16; 8]);
        "alloc_slice_u16_32" slice([42_u16; 32]);
        "alloc_slice_u16_64" slice([42_u16; 64]);
        "alloc_slice_u16_128" slice([42_u16; 128]);
        "alloc_slice_u32_8" slice([42_u32; 8]);
        "alloc_slice_u32_32" slice([42_u32; 32]);
        "alloc_slice_u32_64" slice([42_u32; 64]);
        "alloc_slice_u32_128" slice([42_u32; 128]);
        "alloc_slice_u64_8" slice([42_u64; 8]);
        "alloc_slice_u64_32" slice([42_u64; 32]);
        "alloc_slice_u64_64" slice([42_u64; 64]);
        "alloc_slice_u64_128" slice([42_u64; 128]);
        "alloc_slice_u128_8" slice([42_u128; 8]);
        "alloc_slice_u128_32" slice([42_u128; 32]);
        "alloc_slice_u128_64" slice([42_u128; 64]);
        "alloc_slice_u128_128" slice([42_u128; 128]);
        "alloc_sized_slice_u8_8" sized([42_u8; 8]);
        "alloc_sized_slice_u8_32" sized([42_u8; 32]);
        "alloc_sized_slice_u8_64" sized([42_u8; 64]);
        "alloc_sized_slice_u8_128" sized([42_u8; 128]);
        "alloc_sized_slice_u16_8" sized([42_u16; 8]);
        "alloc_sized_slice_u16_32" sized([42_u16; 32]);
        "alloc_sized_slice_u16_64" sized([42_u16; 64]);
        "alloc_sized_slice_u16_128" sized([42_u16; 128]);
        "alloc_sized_slice_u32_8" sized([42_u32; 8]);
        "alloc_sized_slice_u32_32" sized([42_u32; 32]);
        "alloc_sized_slice_u32_64" sized([42_u32; 64]);
        "alloc_sized_slice_u32_128" sized([42_u32; 128]);
        "alloc_sized_slice_u64_8" sized([42_u64; 8]);
        "alloc_sized_slice_u64_32" sized([42_u64; 32]);
        "alloc_sized_slice_u64_64" sized([42_u64; 64]);
        "alloc_sized_slice_u64_128" sized([42_u64; 128]);
        "alloc_sized_slice_u128_8" sized([42_u128; 8]);
        "alloc_sized_slice_u128_32" sized([42_u128; 32]);
        "alloc_sized_slice_u128_64" sized([42_u128; 64]);
        "alloc_sized_slice_u128_128" sized([42_u128; 128]);
        "alloc_behind_13" behind([0x42_u8; 13]);
        "alloc_behind_24" behind([0x42_u8; 24]);
        "alloc_behind_32" behind([0x42_u8; 32]);
        "alloc_behind_64" behind([0x42_u8; 64]);
        "alloc_behind_128" behind([0x42_u8; 128]);
        "alloc_behind_256" behind([0x42_u8; 256]);
        "alloc_behind_512" behind([0x42_u8; 512]);
        "alloc_behind_1k" behind([0x42_u8; 1024]);
        "alloc_built_16" built([42_u64; 2], |word| [word; 2]);
        "alloc_built_24" built([42_u64; 3], |word| [word; 3]);
        "alloc_built_40" built([42_u64; 5], |word| [word; 5]);
        "alloc_built_64" built([42_u64; 8], |word| [word; 8]);
        "alloc_built_128" built([42_u64; 16], |word| [word; 16]);
        "alloc_built_256" built([42_u64; 32], |word| [word; 32]);
        "alloc_built_512" built([42_u64; 64], |word| [word; 64]);
        "alloc_built_1k" built([42_u64; 128], |word| [word; 128]);
        "alloc_struct_13" value([0x42_u8; 13]);
        "alloc_struct_24" value([0x42_u8; 24]);
        "alloc_struct_26" value([0x42_u8; 26]);
        "alloc_struct_30" value([0x42_u8; 30]);
        "alloc_struct_32" value([0x42_u8; 32]);
        "alloc_struct_64" value([0x42_u8; 64]);
        "alloc_struct_96" value([0x42_u8; 96]);
        "alloc_struct_128" value([0x42_u8; 128]);
        "alloc_struct_192" value([0x42_u8; 192]);
        "alloc_struct_256" value([0x42_u8; 256]);
        "alloc_struct_512" value([0x42_u8; 512]);
        "alloc_struct_1k" value([0x42_u8; 1024]);
        "alloc_struct_half_chunk_minus_1" value([0x42_u8; 119]);
        "alloc_struct_half_chunk" value([0x42_u8; 120]);
        "alloc_struct_half_chunk_plus_1" value([0x42_u8; 121]);
        "alloc_struct_one_chunk_minus_1" value([0x42_u8; 239]);
        "alloc_struct_one_chunk" value([0x42_u8; 240]);
        "alloc_struct_one_chunk_plus_1" value([0x42_u8; 241]);
        "alloc_struct_two_chunks" value([0x42_u8; 480]);
        "alloc_str_8" text(8);
        "alloc_str_16" text(16);
        "alloc_str_32" text(32);
        "alloc_str_40" text(40);
        "alloc_str_48" text(48);
        "alloc_str_64" text(64);
        "alloc_str_72" text(72);
        "alloc_str_80" text(80);
        "alloc_str_128" text(128);
        "alloc_slice_lit_u8_8" literal([42_u8; 8]);
        "alloc_slice_lit_u8_32" literal([42_u8; 32]);
        "alloc_slice_lit_u8_64" literal([42_u8; 64]);
        "alloc_slice_lit_u8_128" literal([42_u8; 128]);
        "alloc_str_lit_8" text_literal(8);
        "alloc_str_lit_16" text_literal(16);
        "alloc_str_lit_32" text_literal(32);
        "alloc_str_lit_40" text_literal(40);
        "alloc_str_lit_48" text_literal(48);
        "alloc_str_lit_64" text_literal(64);
        "alloc_str_lit_72" text_literal(72);
        "alloc_str_lit_80" text_literal(80);
        "alloc_str_lit_128" text_literal(128);
    }
    match bytes {
        4024 => rows.add(
            COLD[0],
            COLUMNS,
            libraries!(|setting, L| clear::<L>(setting)),
        ),
        8 => rows.add(
            COLD[1],
            COLUMNS,
            libraries!(|setting, L| clear_and_reuse::<L>(setting)),
        ),
        _ => {}
    }
    in_frames(&mut rows);
    rows.cases
}

/// The rows of frames in an arena that is warm.
fn in_frames(rows: &mut Rows) {
    macro_rules! frames {
        ($number:literal, $bytes:literal, |$arena:ident, $source:ident| $allocate:expr, $value:expr) => {
            if rows.bytes == $bytes {
                rows.add(
                    WARM[$number],
                    COLUMNS,
                    libraries!(|setting, L| {
                        let $source = black_box($value);
                        warm::<L>(
                            setting,
                            $bytes,
                            #[inline(always)]
                            |$arena: &L, _| {
                                keep($allocate);
                            },
                        )
                    }),
                );
                rows.add(
                    ALONE[$number],
                    PERCENTILES,
                    libraries!(|setting, L| {
                        let $source = black_box($value);
                        alone::<L>(
                            setting,
                            $bytes,
                            #[inline(always)]
                            |$arena: &L, _| {
                                keep($allocate);
                            },
                        )
                    }),
                );
            }
        };
    }
    frames!(0, 1, |arena, source| arena.value(source), 42_u8);
    frames!(1, 8, |arena, source| arena.value(source), 42_u64);
    frames!(2, 64, |arena, source| arena.value(*source), &[42_u64; 8]);
    frames!(
        3,
        16,
        |arena, source| arena.text(source),
        "sixteen letters."
    );
    frames!(
        4,
        32,
        |arena, source| arena.slice(source),
        [42_u8; 32].as_slice()
    );
    // Numbered after the others: slices of bytes of random lengths.
    if rows.bytes == 64 {
        rows.add(
            WARM[5],
            COLUMNS,
            libraries!(|setting, L| {
                let (lengths, source) = (lengths(&mut setting), black_box([42_u8; 64]));
                warm::<L>(
                    setting,
                    64,
                    #[inline(always)]
                    |arena: &L, at| {
                        keep(arena.slice(&source[..lengths[at]]));
                    },
                )
            }),
        );
        rows.add(
            ALONE[5],
            PERCENTILES,
            libraries!(|setting, L| {
                let (lengths, source) = (lengths(&mut setting), black_box([42_u8; 64]));
                alone::<L>(
                    setting,
                    64,
                    #[inline(always)]
                    |arena: &L, at| {
                        keep(arena.slice(&source[..lengths[at]]));
                    },
                )
            }),
        );
    }
}
