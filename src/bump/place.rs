//! Placing values in the memory of an arena.
//!
//! # Invariants
//!
//! * A1: no user code runs between the look at the position and its change: a closure
//!   runs before memory is taken, or after. A small value is built first, so that it
//!   stays in registers; a large one after, in its place.
//! * A2: what a closure has built before it panics, or says no, is dropped, and its
//!   memory is given back only if nothing was taken since.

use core::alloc::Layout;
use core::convert::Infallible;
use core::fmt;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

use super::chunks::{Chunks, Refusal, SMALL, STEP};
use super::vec::ArenaVec;
use crate::error::AllocError;

/// Values up to this size are built before their memory is taken: two registers.
const IN_REGISTERS: usize = 16;

/// Values and slices up to this size are written before the position moves, larger ones
/// afterwards. The next request loads the position: with a store or two of a value between
/// the position's store and that load it waits for them; with many stores before the
/// position's it waits for those. In warm frames on Sapphire Rapids: `u64` 0.84 ns and 1.6,
/// 13 bytes 1.6 and 2.9, `[u64; 8]` 4.8 and 3.5.
pub(super) const WRITTEN_FIRST: usize = 32;

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
    chunks.take_value::<T, F>()
}

/// Whether a value is taken from the end of a chunk: one that would leave a part of its
/// last multiple of 8 empty, where nothing is padded there; and one whose alignment is
/// above 8, where rounding down takes one instruction less than rounding up.
const fn is_at_end<T>() -> bool {
    (size_of::<T>() % STEP != 0 || align_of::<T>() > STEP)
        && size_of::<T>() + align_of::<T>() <= SMALL
}

/// Moves a value into the arena.
///
/// # Errors
///
/// When there is no room; the value comes back.
#[inline(always)]
#[track_caller]
pub(super) fn put<T, F: Refusal>(chunks: &Chunks, value: T) -> Result<NonNull<T>, (F::Error, T)> {
    let value = ManuallyDrop::new(value);
    // SAFETY: the value is forgotten, or given back.
    match unsafe { put_copy::<T, F>(chunks, &value) } {
        Ok(place) => Ok(place),
        Err(error) => Err((error, ManuallyDrop::into_inner(value))),
    }
}

/// Copies the bytes of a value into the arena. What is known of its size when this is
/// compiled decides where its memory is taken, and in which order.
///
/// # Errors
///
/// When there is no room.
///
/// # Safety
///
/// The value is `Copy`, or not used any more where there was room.
#[inline(always)]
#[track_caller]
pub(super) unsafe fn put_copy<T, F: Refusal>(
    chunks: &Chunks,
    value: &T,
) -> Result<NonNull<T>, F::Error> {
    if size_of::<T>() == 0 {
        return Ok(NonNull::dangling());
    }
    // The value is copied on either path: were there one copy after both, a value that was
    // behind a reference would first be copied to the stack, for the call's sake.
    // SAFETY: room for a `T`, in use by no one else; to copy it runs no user code (A1).
    unsafe {
        if const { is_at_end::<T>() } {
            if let Some(place) = chunks.find_at_end::<T>() {
                copy_and(value, place, || chunks.commit_at_end(place.cast()));
                return Ok(place);
            }
        } else if let Some(room) = chunks.find_value::<T>() {
            let place = room.place.cast();
            copy_and(value, place, || chunks.commit(room));
            return Ok(place);
        }
        let place = chunks.take_elsewhere_value::<T, F>()?;
        place.copy_from_nonoverlapping(NonNull::from(value), 1);
        Ok(place)
    }
}

/// Copies a value, and has its memory taken: in the order that is faster.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy_and<T>(value: &T, place: NonNull<T>, commit: impl FnOnce()) {
    // SAFETY: says the caller.
    unsafe {
        if size_of::<T>() <= WRITTEN_FIRST {
            place.copy_from_nonoverlapping(NonNull::from(value), 1);
            commit();
        } else {
            commit();
            place.copy_from_nonoverlapping(NonNull::from(value), 1);
        }
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
    // SAFETY: arrays of `Copy` are `Copy`.
    unsafe { put_copy::<[T; N], F>(chunks, values) }
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
    chunks.take::<F>(layout).map(NonNull::cast)
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
            // Dropped where there is no room.
            put::<T, F>(chunks, f()).map_err(|(error, _)| error)
        } else {
            let place = room::<T, F>(chunks)?;
            place.write(f());
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
            let value = match f() {
                Ok(value) => value,
                Err(error) => return Ok(Err(error)),
            };
            put::<T, F>(chunks, value)
                .map(Ok)
                .map_err(|(error, _)| error)
        } else {
            let place = room::<T, F>(chunks)?;
            match f() {
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
            row.drop_in_place();
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
        match f(index) {
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
    // Of no bytes in a place of no alignment there is always room.
    if align_of::<T>() > STEP && bytes == 0 || size_of::<T>() == 0 {
        return Ok(NonNull::slice_from_raw_parts(
            NonNull::dangling(),
            values.len(),
        ));
    }
    let room = chunks.find::<F>(Layout::for_value(values))?;
    // SAFETY: room for as many values, in use by no one else, so apart from those; to copy
    // them runs no user code (A1).
    let start = unsafe {
        let start = room.place;
        if bytes <= WRITTEN_FIRST {
            copy_short(values.as_ptr().cast(), start.as_ptr(), bytes);
            chunks.commit(room);
        } else {
            chunks.commit(room);
            copy_long(values.as_ptr().cast(), start.as_ptr(), bytes);
        }
        start.cast()
    };
    Ok(NonNull::slice_from_raw_parts(start, values.len()))
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
    let values = values.into_iter();
    let mut vec = ArenaVec::in_chunks(chunks);
    vec.try_reserve(values.size_hint().0).map_err(F::refuse)?;
    for value in values {
        vec.try_reserve(1).map_err(F::refuse)?;
        vec.push(value);
    }
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
            let added = self.0.try_extend_from_slice(text.as_bytes());
            added.map_err(|error| {
                self.1 = Some(error);
                fmt::Error
            })
        }
    }

    let mut sink = Sink(vec, None);
    let written = fmt::Write::write_fmt(&mut sink, text);
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
        _ => chunks.take::<F>(layout),
    }
}

fn dangling(layout: Layout) -> NonNull<u8> {
    let place = core::ptr::without_provenance_mut(layout.align());
    // SAFETY: an alignment is not 0.
    unsafe { NonNull::new_unchecked(place) }
}

/// Bytes that may be uninitialised.
type Bytes<const N: usize> = MaybeUninit<[u8; N]>;

/// Copies the first `N` bytes and the last, of `N..=2 * N`.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn both_ends<const N: usize>(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: says the caller: both are within those bytes.
    unsafe {
        let first = from.cast::<Bytes<N>>().read();
        let last = from.add(bytes - N).cast::<Bytes<N>>().read();
        to.cast::<Bytes<N>>().write(first);
        to.add(bytes - N).cast::<Bytes<N>>().write(last);
    }
}

/// Copies at most [`WRITTEN_FIRST`] bytes, initialised or not, in line, by loads and stores
/// that overlap: a call of `memcpy` takes longer than those.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: says the caller.
    unsafe {
        if bytes > 16 {
            both_ends::<16>(from, to, bytes);
        } else if bytes >= 8 {
            both_ends::<8>(from, to, bytes);
        } else if bytes >= 4 {
            both_ends::<4>(from, to, bytes);
        } else if bytes >= 2 {
            both_ends::<2>(from, to, bytes);
        } else if bytes == 1 {
            to.cast::<Bytes<1>>().write(from.cast::<Bytes<1>>().read());
        }
    }
}

/// Copies more than [`WRITTEN_FIRST`] bytes, initialised or not: up to 64 in line.
///
/// # Safety
///
/// As for [`core::ptr::copy_nonoverlapping`].
#[inline(always)]
unsafe fn copy_long(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: says the caller.
    unsafe {
        if bytes <= 48 {
            // Three stores, where the two halves of 32 bytes would take four that overlap.
            let first = from.cast::<Bytes<32>>().read();
            let last = from.add(bytes - 16).cast::<Bytes<16>>().read();
            to.cast::<Bytes<32>>().write(first);
            to.add(bytes - 16).cast::<Bytes<16>>().write(last);
        } else if bytes <= 64 {
            both_ends::<32>(from, to, bytes);
        } else {
            to.copy_from_nonoverlapping(from, bytes);
        }
    }
}
