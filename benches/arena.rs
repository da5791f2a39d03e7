//! Arenas against each other: a fresh arena, many allocations, and its end, each
//! operation of each library in a process of its own; then frames in an arena that is
//! warm.
//!
//! The rows are those of stumpalo's own comparison, and so is the method: 10 samples that
//! do not count, 60 that do, of which the 6 slowest are dropped. All chunks come from
//! mimalloc, as there, if the feature `allocators` is there; `ARENA_BENCH_ALLOCATOR=system` takes
//! them from the system.
//!
//! To compare another library, write its `Library`, and its name into `entries`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::marker::PhantomData;
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

/// Writes the `Library` of an arena: its name, its calls for a value, a slice and a text, what its
/// boxes are leaked by, if it returns boxes, and its reset.
macro_rules! library {
    (
        $arena:ty, $name:expr, $alloc:ident $slice:ident $text:ident $(leaked by $leak:path)?,
        $reset:ident; $($more:tt)*
    ) => {
        impl Library for $arena {
            const NAME: &'static str = $name;

            #[inline(always)]
            fn fresh(_: usize) -> Self {
                Self::new()
            }

            #[inline(always)]
            fn value<T: Copy + 'static>(&self, value: T) -> &mut T {
                $($leak)?(self.$alloc(value))
            }

            #[inline(always)]
            fn behind<T: Copy + 'static>(&self, value: &T) -> &mut T {
                $($leak)?(self.$alloc(*value))
            }

            #[inline(always)]
            fn slice<T: Copy>(&self, values: &[T]) -> &mut [T] {
                $($leak)?(self.$slice(values))
            }

            #[inline(always)]
            fn text(&self, text: &str) -> &mut str {
                $($leak)?(self.$text(text))
            }

            #[inline(always)]
            fn reset(&mut self) {
                self.$reset();
            }

            $($more)*
        }
    };
}

library!(Arena, OURS, alloc alloc_slice_copy alloc_str, reset;);
library!(bumpalo::Bump, "bumpalo", alloc alloc_slice_copy alloc_str, reset;);
library!(blink_alloc::Blink, "blink-alloc", put copy_slice copy_str, reset;);
library!(ScopedBump, "bump-scope", alloc alloc_slice_copy alloc_str leaked by BumpBox::leak,
    reset_to_start;);
library!(stumpalo::Arena, "stumpalo", alloc alloc_slice_copy alloc_str, clear;
    #[inline(always)]
    fn sized<T: Copy, const N: usize>(&self, values: &[T; N]) -> &mut [T] {
        self.alloc_sized_slice_copy(values)
    }

    #[inline(always)]
    fn literal<T: Copy>(&self, values: &'static [T]) -> &mut [T] {
        self.alloc_slice_lit_copy(values)
    }
);

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
struct Clear;

impl Kind for Clear {
    const BYTES: usize = 4024;

    #[inline(always)]
    fn turn<L: Library>(setting: Setting) -> Turn {
        machine::pin();
        let overhead = clock::overhead();
        let value = black_box([42_u8; Self::BYTES]);
        let count = (setting.live / 2).min(500);
        sampled(is_quick(&setting), &mut || {
            let mut arena = L::fresh(room(count, Self::BYTES));
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
}

/// Allocations after a reset, in an arena that has its chunks.
struct ClearAndReuse;

impl Kind for ClearAndReuse {
    const BYTES: usize = 8;

    #[inline(always)]
    fn turn<L: Library>(setting: Setting) -> Turn {
        machine::pin();
        let value = black_box(42_u64);
        let mut arena = L::fresh(room(setting.live, Self::BYTES));
        sampled(is_quick(&setting), &mut || {
            arena.reset();
            let begun = clock::start();
            for _ in 0..setting.live {
                keep(arena.value(value));
            }
            clock::stop() - begun
        })
    }
}

/// Frames of [`FRAME`] allocations, each ended by a reset.
#[inline(always)]
fn warm<L: Library, F: Frame>(setting: Setting, source: &F::Source) -> Turn {
    machine::pin();
    let mut arena = L::fresh(room(FRAME, F::BYTES));
    sampled(is_quick(&setting), &mut || {
        let begun = clock::start();
        for _ in 0..setting.live.div_ceil(FRAME) {
            for at in 0..FRAME {
                F::allocate(&arena, source, at);
            }
            arena.reset();
        }
        clock::stop() - begun
    })
}

/// The same frames, timed in batches of [`BATCH`]; the reset is part of one.
#[inline(always)]
fn alone<L: Library, F: Frame>(setting: Setting, source: &F::Source) -> Turn {
    machine::pin();
    let overhead = clock::overhead();
    let mut arena = L::fresh(room(FRAME + BATCH, F::BYTES));
    let batches = match is_quick(&setting) {
        true => 100,
        false => 20_000,
    };
    let mut figures = Vec::with_capacity(batches);
    for batch in 0..batches + batches / 10 {
        let begun = clock::start();
        for at in 0..BATCH {
            F::allocate(&arena, source, at);
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

/// What is done with an arena, of the same type in every library.
trait Kind {
    /// Bytes of what is allocated.
    const BYTES: usize;

    fn turn<L: Library>(setting: Setting) -> Turn;
}

/// An entry for each library, and ours again.
fn entries<K: Kind>() -> Vec<Entry> {
    #[inline(never)]
    fn turn<L: Library, K: Kind>(setting: Setting) -> Turn {
        K::turn::<L>(setting)
    }
    fn of<L: Library, K: Kind>() -> Entry {
        Entry::of(L::NAME, turn::<L, K>)
    }
    vec![
        of::<Arena, K>(),
        of::<stumpalo::Arena, K>(),
        of::<bumpalo::Bump, K>(),
        of::<ScopedBump, K>(),
        of::<blink_alloc::Blink, K>(),
        of::<Floor, K>(),
        Entry {
            subject: OURS_AGAIN,
            ..of::<Arena, K>()
        },
    ]
}

/// What values are filled with.
trait Element: Copy + 'static {
    const VALUE: Self;
}

macro_rules! elements {
    ($($integer:ty)*) => {
        $(impl Element for $integer {
            const VALUE: Self = 42;
        })*
    };
}

elements!(u8 u16 u32 u64 u128);

impl<T: Element, const N: usize> Element for [T; N] {
    const VALUE: Self = [T::VALUE; N];
}

/// At the start of a cache line, so that no source lies in two by chance.
#[repr(align(64))]
struct Line<T>(T);

/// A copy, of which no one else has the address, as a value on its way has. The compiler knows its
/// length, and not its bytes.
#[inline(always)]
fn on_its_way<T: Element>() -> Line<T> {
    let held = black_box(Line(T::VALUE));
    Line(held.0)
}

/// The bytes of a value that has no padding.
fn bytes_of<T: ?Sized>(value: &T) -> &[u8] {
    // SAFETY: integers, and arrays of those.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of_val(value)) }
}

/// Writes a kind of allocation in a fresh arena: its parameters, the type of its source, how many
/// are allocated at once, how a source is made, how the allocation sees it, and the allocation.
macro_rules! cold {
    (
        $(#[$what:meta])*
        $kind:ident[$($parameters:tt)*][$($arguments:tt)*] of $source:ty, $at_once:literal;
        $make:expr, |$made:ident| $see:expr, |$arena:ident, $seen:pat_param| $allocate:expr
    ) => {
        $(#[$what])*
        struct $kind<$($parameters)*>(PhantomData<$source>);

        impl<$($parameters)*> Kind for $kind<$($arguments)*> {
            const BYTES: usize = size_of::<$source>();

            #[inline(always)]
            fn turn<L: Library>(setting: Setting) -> Turn {
                let $made: Line<$source> = $make;
                let seen = $see;
                cold::<L, $at_once>(
                    setting,
                    bytes_of(&$made.0),
                    #[inline(always)]
                    |$arena: &L| {
                        let $seen = seen;
                        keep($allocate).into()
                    },
                )
            }
        }
    };
}

cold! {
    /// A value.
    Value[T: Element][T] of T, 1;
    on_its_way(), |made| &made.0, |arena, value| arena.value(*value)
}
cold! {
    /// Eight values at once.
    Values[T: Element][T] of T, 8;
    on_its_way(), |made| &made.0, |arena, value| arena.value(*value)
}
cold! {
    /// A value that lies in memory.
    Behind[T: Element][T] of T, 1;
    Line(T::VALUE), |made| black_box(&made.0), |arena, value| arena.behind(value)
}
cold! {
    /// An array that is made of one word, which is in a register.
    Built[const WORDS: usize][WORDS] of [u64; WORDS], 1;
    Line([42; WORDS]), |made| (), |arena, ()| {
        let word = black_box(42_u64);
        arena.value([word; WORDS])
    }
}
cold! {
    /// A slice of which the compiler knows the length.
    OfLength[T: Element, const N: usize][T, N] of [T; N], 1;
    on_its_way(), |made| &made.0, |arena, values| arena.sized(values)
}
cold! {
    /// A slice of which it does not.
    Slice[T: Element, const N: usize][T, N] of [T; N], 1;
    Line(Element::VALUE), |made| black_box(made.0.as_slice()), |arena, values| arena.slice(values)
}
cold! {
    /// A text, likewise.
    Text[const N: usize][N] of [u8; N], 1;
    Line([b'a'; N]), |made| black_box(made.0.as_slice()), |arena, bytes| {
        // SAFETY: letters.
        arena.text(unsafe { std::str::from_utf8_unchecked(bytes) })
    }
}
cold! {
    /// A slice, or a text, of the program.
    Literal[const N: usize][N] of [u8; N], 1;
    Line([b'a'; N]), |made| black_box(const { &Line([b'a'; N]) }), |arena, literal| {
        arena.literal(&literal.0)
    }
}

type Array<T, const N: usize> = Value<[T; N]>;
type Held<const N: usize> = Behind<[u8; N]>;

/// Frames in an arena that is warm: of `F`, timed each as a whole, or in batches.
struct Frames<F, const IN_BATCHES: bool>(PhantomData<F>);

/// What is allocated in frames.
trait Frame {
    type Source;
    const BYTES: usize;

    fn source(setting: &mut Setting) -> Self::Source;

    fn allocate<L: Library>(arena: &L, source: &Self::Source, at: usize);
}

impl<F: Frame, const IN_BATCHES: bool> Kind for Frames<F, IN_BATCHES> {
    const BYTES: usize = F::BYTES;

    #[inline(always)]
    fn turn<L: Library>(mut setting: Setting) -> Turn {
        let source = black_box(F::source(&mut setting));
        match IN_BATCHES {
            true => alone::<L, F>(setting, &source),
            false => warm::<L, F>(setting, &source),
        }
    }
}

macro_rules! frame {
    (
        $frame:ident of $source:ty, $bytes:literal; |$setting:ident| $make:expr;
        |$arena:ident, $from:pat_param, $at:ident| $allocate:expr
    ) => {
        struct $frame;

        impl Frame for $frame {
            type Source = $source;
            const BYTES: usize = $bytes;

            fn source($setting: &mut Setting) -> $source {
                $make
            }

            #[inline(always)]
            fn allocate<L: Library>($arena: &L, $from: &$source, $at: usize) {
                keep($allocate);
            }
        }
    };
}

frame!(OfU8 of u8, 1; |_it| 42; |arena, source, _at| arena.value(*source));
frame!(OfU64 of u64, 8; |_it| 42; |arena, source, _at| arena.value(*source));
frame!(OfArrays of [u64; 8], 64; |_it| [42; 8]; |arena, source, _at| arena.value(*source));
frame!(OfTexts of &'static str, 16; |_it| "sixteen letters.";
    |arena, source, _at| arena.text(source));
frame!(OfSlices of &'static [u8], 32; |_it| &[42; 32]; |arena, source, _at| arena.slice(source));
frame!(OfAnySlices of (Vec<usize>, [u8; 64]), 64; |setting| (lengths(setting), [42; 64]);
    |arena, (lengths, source), at| arena.slice(&source[..lengths[at]]));

const COLUMNS: &[Column] = &[Column::Value(Metric::Ticks)];

const PERCENTILES: &[Column] = &[
    Column::Value(Metric::P50),
    Column::Value(Metric::P99),
    Column::Value(Metric::P999),
];

/// The rows of a size.
struct Rows {
    bytes: usize,
    cases: Vec<Case>,
    turns: usize,
}

impl Rows {
    /// Adds a row if it is of that size.
    fn add<K: Kind>(&mut self, row: &'static str, columns: &'static [Column]) {
        if K::BYTES == self.bytes {
            let case = Case::of(&[row], self.turns, columns, entries::<K>());
            self.cases.push(case);
        }
    }
}

fn cases(arguments: &Arguments, _live: usize, bytes: usize) -> Vec<Case> {
    let mut rows = Rows {
        bytes,
        cases: Vec::new(),
        turns: if arguments.quick { 1 } else { 3 },
    };
    // A row for each type, or for each length.
    macro_rules! cold {
        ($prefix:literal $kind:ident: $($element:ident)*) => {
            $(rows.add::<$kind<$element>>(concat!($prefix, stringify!($element)), COLUMNS);)*
        };
        ($prefix:literal $kind:ident<$element:ty>: $($length:literal)*) => {
            $(rows.add::<$kind<$element, $length>>(concat!($prefix, $length), COLUMNS);)*
        };
        ($prefix:literal $kind:ident: $($length:literal $name:literal)*) => {
            $(rows.add::<$kind<$length>>(concat!($prefix, $name), COLUMNS);)*
        };
    }
    cold!("alloc_" Value: u8 u16 u32 u64 u128);
    cold!("alloc_multiple_" Values: u8 u16 u32 u64 u128);
    cold!("alloc_array_u8_" Array<u8>: 8 32 64 128);
    cold!("alloc_slice_u8_" Slice<u8>: 8 32 64 128);
    cold!("alloc_slice_u16_" Slice<u16>: 8 32 64 128);
    cold!("alloc_slice_u32_" Slice<u32>: 8 32 64 128);
    cold!("alloc_slice_u64_" Slice<u64>: 8 32 64 128);
    cold!("alloc_slice_u128_" Slice<u128>: 8 32 64 128);
    cold!("alloc_sized_slice_u8_" OfLength<u8>: 8 32 64 128);
    cold!("alloc_sized_slice_u16_" OfLength<u16>: 8 32 64 128);
    cold!("alloc_sized_slice_u32_" OfLength<u32>: 8 32 64 128);
    cold!("alloc_sized_slice_u64_" OfLength<u64>: 8 32 64 128);
    cold!("alloc_sized_slice_u128_" OfLength<u128>: 8 32 64 128);
    cold!("alloc_behind_" Held: 13 13 24 24 32 32 64 64 128 128 256 256 512 512 1024 "1k");
    // Of so many words.
    cold!("alloc_built_" Built: 2 16 3 24 5 40 8 64 16 128 32 256 64 512 128 "1k");
    cold!("alloc_struct_" Array<u8>: 13 24 26 30 32 64 96 128 192 256 512);
    type Struct<const N: usize> = Array<u8, N>;
    cold!("alloc_struct_" Struct: 1024 "1k" 119 "half_chunk_minus_1" 120 "half_chunk"
        121 "half_chunk_plus_1" 239 "one_chunk_minus_1" 240 "one_chunk" 241 "one_chunk_plus_1"
        480 "two_chunks");
    cold!("alloc_str_" Text: 8 8 16 16 32 32 40 40 48 48 64 64 72 72 80 80 128 128);
    cold!("alloc_slice_lit_u8_" Literal: 8 8 32 32 64 64 128 128);
    cold!("alloc_str_lit_" Literal: 8 8 16 16 32 32 40 40 48 48 64 64 72 72 80 80 128 128);
    rows.add::<Clear>(COLD[0], COLUMNS);
    rows.add::<ClearAndReuse>(COLD[1], COLUMNS);
    macro_rules! frames {
        ($($at:literal $frame:ident)*) => {$(
            rows.add::<Frames<$frame, false>>(WARM[$at], COLUMNS);
            rows.add::<Frames<$frame, true>>(ALONE[$at], PERCENTILES);
        )*};
    }
    frames!(0 OfU8 1 OfU64 2 OfArrays 3 OfTexts 4 OfSlices 5 OfAnySlices);
    rows.cases
}
