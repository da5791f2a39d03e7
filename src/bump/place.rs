//! Placing values in the memory of an arena.
//!
//! # Invariants
//!
//! * A1: no user code runs between the look at an end of a chunk and its change: a closure
//!   runs before memory is taken, or after. A small value is built first, so that it
//!   stays in registers; a large one after, in its place.
//!   It may take more, and rewind to what it has marked itself, not further: so it is
//!   [run](Chunks::run).
//! * A2: what a closure has built before it panics, or says no, is dropped, and its
//!   memory is given back only if nothing was taken since.

use core::alloc::Layout;
use core::convert::Infallible;
use core::fmt;
use core::ptr::NonNull;

use super::chunks::{Chunks, End};
use super::refusal::Refusal;
use super::vec::ArenaVec;
use crate::error::AllocError;
use crate::raw::copy::{self, copy_long, copy_short};

/// Values up to this size are built before their memory is taken: two registers.
const IN_REGISTERS: usize = 16;

/// Values and slices up to this size are written before the end of the chunk moves, larger
/// ones afterwards. The next request loads that end: with a store or two of a value between
/// the end's store and that load it waits for them; with many stores before the end's it
/// waits for those. In warm frames on Sapphire Rapids: `u64` 0.84 ns and 1.6,
/// 13 bytes 1.6 and 2.9, `[u64; 8]` 4.8 and 3.5.
pub(super) const WRITTEN_FIRST: usize = copy::SHORT;

/// What is longer is taken from the low end of a chunk, and copied by a call: in fresh arenas
/// values of 1 KiB took 1.27 times as long from the high end, those of 128 bytes as long.
const SHORT: usize = 128;

/// Room for a value.
///
/// # Errors
///
/// When there is none.
#[inline(always)]
pub(super) fn room<T, F: Refusal>(chunks: &Chunks) -> Result<NonNull<T>, F::Error> {
    if size_of::<T>() == 0 {
        return Ok(NonNull::dangling());
    }
    let layout = const { Layout::new::<T>() };
    chunks.take_low::<F>(layout).map(NonNull::cast)
}

/// Moves a value into the arena.
///
/// It is written on either path. Were it written once, after both, one that was behind a
/// reference would first be copied to the stack, for the call's sake; were it given to the
/// call, one that is built of parts would be put together on the stack, and copying it from
/// there would wait for the parts.
///
/// # Errors
///
/// When there is no room: what `F` makes of that and of the value.
#[inline(always)]
#[track_caller]
pub(super) fn put<T, F: Refusal>(chunks: &Chunks, value: T) -> Result<NonNull<T>, F::Refused<T>> {
    if size_of::<T>() == 0 {
        core::mem::forget(value);
        return Ok(NonNull::dangling());
    }
    let layout = const { Layout::new::<T>() };
    let elsewhere = if size_of::<T>() > SHORT {
        chunks.take_low::<F>(layout)
    } else if let Some(place) = chunks.find(layout) {
        let place = place.cast();
        // SAFETY: room for a `T`, in use by no one else; to move it runs no user code (A1).
        unsafe { written_and_taken(chunks, place, |place| place.write(value)) };
        return Ok(place);
    } else {
        chunks.take_elsewhere::<F>(End::High, layout)
    };
    match elsewhere {
        Ok(place) => {
            // SAFETY: room for a `T`, in use by no one else.
            unsafe { place.cast().write(value) };
            Ok(place.cast())
        }
        Err(error) => Err(F::refused(error, value)),
    }
}

/// Has a value written, and its memory taken: in the order that is faster.
///
/// # Safety
///
/// The place was found, and nothing was taken since. `write` runs no user code (A1).
#[inline(always)]
unsafe fn written_and_taken<T>(chunks: &Chunks, place: NonNull<T>, write: impl FnOnce(NonNull<T>)) {
    if size_of::<T>() <= WRITTEN_FIRST {
        write(place);
        chunks.commit(place.cast());
    } else {
        chunks.commit(place.cast());
        write(place);
    }
}

/// A copy of an array.
///
/// # Errors
///
/// When there is no room.
#[inline(always)]
#[track_caller]
pub(super) fn copy_array<T: Copy, F: Refusal, const N: usize>(
    chunks: &Chunks,
    values: &[T; N],
) -> Result<NonNull<[T; N]>, F::Error> {
    if size_of::<[T; N]>() == 0 {
        return Ok(NonNull::dangling());
    }
    // Not `put`: as a value it would be copied to the stack first.
    let (layout, values) = (const { Layout::new::<[T; N]>() }, NonNull::from(values));
    let place = if layout.size() > SHORT {
        chunks.take_low::<F>(layout)?
    } else if let Some(place) = chunks.find(layout) {
        let place = place.cast();
        // SAFETY: room for the array, in use by no one else; to copy it runs no user code.
        unsafe {
            written_and_taken(chunks, place, |place| {
                place.copy_from_nonoverlapping(values, 1);
            });
        }
        return Ok(place);
    } else {
        chunks.take_elsewhere::<F>(End::High, layout)?
    };
    let place = place.cast();
    // SAFETY: room for the array, in use by no one else.
    unsafe { place.copy_from_nonoverlapping(values, 1) };
    Ok(place)
}

/// Room for so many values in a row.
///
/// # Errors
///
/// When there is none.
#[inline(always)]
pub(super) fn rooms<T, F: Refusal>(chunks: &Chunks, len: usize) -> Result<NonNull<T>, F::Error> {
    let Ok(layout) = Layout::array::<T>(len) else {
        return Err(F::refuse(too_many::<T>(len)));
    };
    if layout.size() == 0 {
        return Ok(NonNull::dangling());
    }
    chunks.take_low::<F>(layout).map(NonNull::cast)
}

#[cold]
fn too_many<T>(len: usize) -> AllocError {
    AllocError::TooManyBytes {
        slots: len,
        slot_bytes: size_of::<T>(),
    }
}

/// The value that `f` builds.
///
/// # Errors
///
/// When there is no room; of a large value `f` is not called then.
#[inline(always)]
pub(super) fn with<T, F: Refusal>(
    chunks: &Chunks,
    f: impl FnOnce() -> T,
) -> Result<NonNull<T>, F::Error> {
    // SAFETY: room for a `T`, just taken, in use by no one else (A1).
    unsafe {
        if size_of::<T>() <= IN_REGISTERS {
            put::<T, F>(chunks, chunks.run(f)).map_err(F::error)
        } else {
            let place = room::<T, F>(chunks)?;
            place.write(chunks.run(f));
            Ok(place)
        }
    }
}

/// The value that `f` builds, if it does.
///
/// # Errors
///
/// When there is no room; of a large value `f` is not called then.
#[inline(always)]
pub(super) fn try_with<T, E, F: Refusal>(
    chunks: &Chunks,
    f: impl FnOnce() -> Result<T, E>,
) -> Result<Result<NonNull<T>, E>, F::Error> {
    // SAFETY: as in `with`; given back where no value came to be (A2).
    unsafe {
        if size_of::<T>() <= IN_REGISTERS {
            let value = match chunks.run(f) {
                Ok(value) => value,
                Err(error) => return Ok(Err(error)),
            };
            put::<T, F>(chunks, value).map(Ok).map_err(F::error)
        } else {
            let place = room::<T, F>(chunks)?;
            match chunks.run(f) {
                Ok(value) => {
                    place.write(value);
                    Ok(Ok(place))
                }
                Err(error) => {
                    chunks.take_back(place.cast(), size_of::<T>());
                    Ok(Err(error))
                }
            }
        }
    }
}

/// Values being built in a row: dropped unless all of them came to be.
struct Row<'c, T> {
    chunks: &'c Chunks,
    start: NonNull<T>,
    built: usize,
    room: usize,
}

impl<T> Drop for Row<'_, T> {
    #[cold]
    fn drop(&mut self) {
        let row = NonNull::slice_from_raw_parts(self.start, self.built);
        // SAFETY: so many were written. The memory is given back first, by A2 only if
        // nothing was taken since; a destructor that uses the arena would overwrite what
        // is not dropped yet, so it is given back afterwards.
        unsafe {
            self.chunks.run(|| row.drop_in_place());
            if size_of::<T>() != 0 && self.room != 0 {
                self.chunks
                    .take_back(self.start.cast(), size_of::<T>() * self.room);
            }
        }
    }
}

/// So many values, which `f` builds.
///
/// # Errors
///
/// When there is no room, or the error of `f`.
#[inline(always)]
pub(super) fn try_fill<T, E, F: Refusal>(
    chunks: &Chunks,
    len: usize,
    mut f: impl FnMut(usize) -> Result<T, E>,
) -> Result<Result<NonNull<[T]>, E>, F::Error> {
    let start = rooms::<T, F>(chunks, len)?;
    let mut row = Row {
        chunks,
        start,
        built: 0,
        room: len,
    };
    for index in 0..len {
        match chunks.run(|| f(index)) {
            // SAFETY: room for `len` values, and this is the one after those built.
            Ok(value) => unsafe { start.add(index).write(value) },
            Err(error) => return Ok(Err(error)),
        }
        row.built = index + 1;
    }
    core::mem::forget(row);
    Ok(Ok(NonNull::slice_from_raw_parts(start, len)))
}

/// So many values, which `f` builds.
///
/// # Errors
///
/// When there is no room.
#[inline(always)]
pub(super) fn fill<T, F: Refusal>(
    chunks: &Chunks,
    len: usize,
    mut f: impl FnMut(usize) -> T,
) -> Result<NonNull<[T]>, F::Error> {
    let filled = try_fill::<T, Infallible, F>(chunks, len, |index| Ok(f(index)))?;
    match filled {
        Ok(values) => Ok(values),
        Err(never) => match never {},
    }
}

/// A copy of these values.
///
/// # Errors
///
/// When there is no room.
#[inline(always)]
pub(super) fn copy<T: Copy, F: Refusal>(
    chunks: &Chunks,
    values: &[T],
) -> Result<NonNull<[T]>, F::Error> {
    let bytes = size_of_val(values);
    if bytes == 0 {
        return Ok(NonNull::slice_from_raw_parts(
            NonNull::dangling(),
            values.len(),
        ));
    }
    let layout = Layout::for_value(values);
    let (from, len) = (NonNull::from(values).cast::<u8>(), values.len());
    // SAFETY: room for as many values, in use by no one else, so apart from those; to copy
    // them runs no user code (A1).
    let start = unsafe {
        if bytes > SHORT {
            let start = chunks.take_low::<F>(layout)?;
            start.copy_from_nonoverlapping(from, bytes);
            start
        } else if let Some(start) = chunks.find(layout) {
            if bytes <= WRITTEN_FIRST {
                copy_short(from.as_ptr(), start.as_ptr(), bytes);
                chunks.commit(start);
            } else {
                chunks.commit(start);
                copy_long(from.as_ptr(), start.as_ptr(), bytes);
            }
            start
        } else {
            let start = chunks.take_elsewhere::<F>(End::High, layout)?;
            start.copy_from_nonoverlapping(from, bytes);
            start
        }
    };
    Ok(NonNull::slice_from_raw_parts(start.cast(), len))
}

/// Moves these values: the caller must not use them as values any more.
///
/// # Errors
///
/// When there is no room; the values stay the caller's then.
///
/// # Safety
///
/// Says the first sentence.
pub(super) unsafe fn take<T, F: Refusal>(
    chunks: &Chunks,
    values: &[T],
) -> Result<NonNull<[T]>, F::Error> {
    let start = rooms::<T, F>(chunks, values.len())?;
    // SAFETY: room for as many, just taken, so apart from those.
    unsafe {
        (start.as_ptr()).copy_from_nonoverlapping(values.as_ptr(), values.len());
    }
    Ok(NonNull::slice_from_raw_parts(start, values.len()))
}

/// The values of an iterator.
///
/// # Errors
///
/// When there is no room; what was collected is dropped then.
pub(super) fn collect<T, F: Refusal>(
    chunks: &Chunks,
    values: impl IntoIterator<Item = T>,
) -> Result<NonNull<[T]>, F::Error> {
    let mut values = chunks.run(|| values.into_iter());
    let mut vec = ArenaVec::in_chunks(chunks);
    let least = chunks.run(|| values.size_hint().0);
    vec.try_reserve(least).map_err(F::refuse)?;
    while let Some(value) = chunks.run(|| values.next()) {
        vec.try_reserve(1).map_err(F::refuse)?;
        vec.push(value);
    }
    chunks.run(|| drop(values));
    Ok(vec.into_row())
}

/// Adds a text; inside, the error of a formatter.
///
/// # Errors
///
/// When there is no room.
pub(super) fn format(
    vec: &mut ArenaVec<'_, u8>,
    text: fmt::Arguments<'_>,
) -> Result<fmt::Result, AllocError> {
    /// Keeps the error that a formatter cannot return.
    struct Sink<'v, 'a>(&'v mut ArenaVec<'a, u8>, Option<AllocError>);

    impl fmt::Write for Sink<'_, '_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.chunks().goes_on();
            let added = self.0.try_extend_from_slice(text.as_bytes());
            added.map_err(|error| {
                self.1 = Some(error);
                fmt::Error
            })
        }
    }

    let chunks = vec.chunks();
    let mut sink = Sink(vec, None);
    let written = chunks.run(|| fmt::Write::write_fmt(&mut sink, text));
    sink.1.map_or(Ok(written), Err)
}

/// Memory of that layout; dangling if it has no size.
///
/// # Errors
///
/// When there is none.
#[inline(always)]
pub(super) fn room_for<F: Refusal>(
    chunks: &Chunks,
    layout: Layout,
) -> Result<NonNull<u8>, F::Error> {
    match layout.size() {
        0 => Ok(dangling(layout)),
        _ => chunks.take_low::<F>(layout),
    }
}

fn dangling(layout: Layout) -> NonNull<u8> {
    let place = core::ptr::without_provenance_mut(layout.align());
    // SAFETY: an alignment is not 0.
    unsafe { NonNull::new_unchecked(place) }
}
