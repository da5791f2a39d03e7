//! Placing values in the memory of an arena.
//!
//! # Invariants
//!
//! * `look-then-take`: no user code runs between the look at an end of a chunk and its change. A
//!   closure runs before memory is taken, or after. A small value is built first, so that it stays
//!   in registers; a large one after, in its place. A closure may allocate, and may rewind to a
//!   checkpoint of its own, which is why it is [run](Chunks::run) in a call that is noted.
//! * `built-then-dropped`: the values that a closure has built before it panics or returns an error
//!   are dropped. Their memory is freed only if nothing was taken after it.
//! * `room-owned`: a [`Room`] is memory for a `T` that is taken and handed out to no one else; or it
//!   was found, and is taken before anything else runs (`look-then-take`).
//! * `handed-out-once`: a [`Placed`] is a pointer to an initialised value, in memory that is handed
//!   out once. The memory stays until the arena is reset, shrunk or dropped, which no borrow of it
//!   outlives, or rewound, which is unsafe. So it is valid as a reference for as long as the arena
//!   is borrowed, or an [`Arena::scope`](super::Arena::scope) is open: for the `'a` of its chunks.

#[expect(clippy::disallowed_types, reason = "the vector is the user's")]
use alloc::vec::Vec;
use core::alloc::Layout;
use core::convert::Infallible;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::chunks::{Chunks, End, Refusal};
use crate::error::AllocError;
use crate::raw::copy::{self, copy_long, copy_short};
use crate::raw::held::Held;
use crate::raw::memory;

/// Values of up to this size are built before their memory is taken: two registers.
const IN_REGISTERS: usize = 16;

/// Slices of up to this size are written before the end of the chunk moves, longer ones afterwards.
/// The next request loads that end. It waits for the one or two stores of a short value that come
/// between the store of the end and that load, and for the many stores of a long one that come
/// before the store of the end. In warm frames on Sapphire Rapids, written before and after: `u64`
/// 0.84 ns and 1.6, 13 bytes 1.6 and 2.9, `[u64; 8]` 4.8 and 3.5. Values do not have the choice,
/// see [`put`].
pub(super) const WRITTEN_FIRST: usize = copy::SHORT;

/// Longer values are taken from the low end of a chunk, and copied by a call. In fresh arenas
/// values of 1 KiB took 1.27 times as long from the high end; those of 128 bytes took as long from
/// either.
const SHORT: usize = 128;

/// Longer slices are taken from the low end. Copied by a call, slices of 72 to 128 bytes took 1.3
/// times as long from the high end.
const SHORT_SLICE: usize = 64;

/// A value in the memory of an arena, which is its owner's (`handed-out-once`).
pub(super) struct Placed<'a, T: ?Sized>(NonNull<T>, PhantomData<&'a Chunks>);

impl<'a, T: ?Sized> Placed<'a, T> {
    /// # Safety
    ///
    /// `handed-out-once` holds.
    #[inline]
    pub(super) unsafe fn new(value: NonNull<T>) -> Self {
        Placed(value, PhantomData)
    }

    /// The pointer, whose value is the caller's.
    #[inline]
    pub(super) fn into_pointer(self) -> NonNull<T> {
        self.0
    }

    #[inline]
    pub(super) fn into_mut(self) -> &'a mut T
    where
        T: 'a,
    {
        // SAFETY: initialised memory that is handed out once (`handed-out-once`).
        unsafe { { self.0 }.as_mut() }
    }
}

/// Room for a value (`room-owned`).
struct Room<'a, T>(NonNull<T>, PhantomData<&'a Chunks>);

impl<'a, T> Room<'a, T> {
    /// # Safety
    ///
    /// `room-owned` holds.
    #[inline]
    unsafe fn new(place: NonNull<u8>) -> Self {
        Room(place.cast(), PhantomData)
    }

    /// Moves a value there.
    #[inline]
    fn fill(self, value: T) -> Placed<'a, T> {
        // SAFETY: for a `T`, and no one else's (`room-owned`).
        unsafe {
            self.0.write(value);
            Placed::new(self.0)
        }
    }
}

/// Moves a value into the arena.
///
/// The value is written before the end of the chunk moves. If the end were stored first, the
/// compiler would copy a value that is behind a reference to the stack before that: for all it
/// knows, the end is part of that value.
///
/// # Errors
///
/// If there is no room: what `F` makes of that and of the value.
#[inline(always)]
#[track_caller]
pub(super) fn put<T, F: Refusal>(
    chunks: &Chunks,
    value: T,
) -> Result<Placed<'_, T>, F::Refused<T>> {
    if size_of::<T>() == 0 {
        return Ok(Room(NonNull::dangling(), PhantomData).fill(value));
    }
    let layout = const { Layout::new::<T>() };
    if size_of::<T>() > SHORT {
        let Some(place) = chunks.find_low(layout) else {
            return put_elsewhere::<T, F>(chunks, Held::new(value));
        };
        // SAFETY: room for a `T`; to move a value there runs no user code (`look-then-take`).
        unsafe {
            let placed = Room::new(place).fill(value);
            chunks.commit_low(place, layout.size());
            return Ok(placed);
        }
    }
    let Some(place) = chunks.find(layout) else {
        if size_of::<T>() > size_of::<usize>() {
            return put_elsewhere::<T, F>(chunks, Held::new(value));
        }
        // A value in one register stays there during the call, which returns only a place: if it
        // also returned the refused value, the other path would have one more instruction.
        return match room_elsewhere::<T, F>(chunks, End::High) {
            Ok(room) => Ok(room.fill(value)),
            Err(error) => Err(F::refused(error, value)),
        };
    };
    // SAFETY: room for a `T`; to move a value there runs no user code (`look-then-take`).
    unsafe {
        let placed = Room::new(place).fill(value);
        chunks.commit(place);
        Ok(placed)
    }
}

/// Takes room for a value.
#[inline(always)]
#[track_caller]
fn room<T, F: Refusal>(chunks: &Chunks) -> Result<Room<'_, T>, F::Error> {
    let place = room_for::<F>(chunks, const { Layout::new::<T>() })?;
    // SAFETY: taken with the layout of a `T`, and not handed out yet (`room-owned`).
    Ok(unsafe { Room::new(place) })
}

/// Takes room for a value from another chunk than the current one.
#[inline(always)]
#[track_caller]
fn room_elsewhere<T, F: Refusal>(chunks: &Chunks, end: End) -> Result<Room<'_, T>, F::Error> {
    let place = chunks.take_elsewhere::<F>(end, const { Layout::new::<T>() })?;
    // SAFETY: taken with the layout of a `T`, and not handed out yet (`room-owned`).
    Ok(unsafe { Room::new(place) })
}

/// Moves a value into another chunk than the current one. It is passed the value: with one write
/// after both paths, or one on each, a value that is behind a reference would be copied to the
/// stack before, because of the call.
///
/// # Errors
///
/// If there is no room, like [`put`].
#[cold]
#[inline(never)]
#[track_caller]
fn put_elsewhere<T, F: Refusal>(
    chunks: &Chunks,
    held: Held<T>,
) -> Result<Placed<'_, T>, F::Refused<T>> {
    let end = if size_of::<T>() > SHORT {
        End::Low
    } else {
        End::High
    };
    match room_elsewhere::<T, F>(chunks, end) {
        Ok(room) => Ok(room.fill(held.value)),
        Err(error) => Err(F::refused(error, held.value)),
    }
}

/// Takes room for `len` values in a row.
///
/// # Errors
///
/// If there is no room.
#[inline]
#[track_caller]
pub(super) fn rooms<T, F: Refusal>(chunks: &Chunks, len: usize) -> Result<NonNull<T>, F::Error> {
    let Ok(layout) = Layout::array::<T>(len) else {
        return Err(F::refuse(too_many::<T>(len)));
    };
    room_for::<F>(chunks, layout).map(NonNull::cast)
}

#[cold]
fn too_many<T>(len: usize) -> AllocError {
    AllocError::TooManyBytes {
        slots: len,
        slot_bytes: size_of::<T>(),
    }
}

/// Places the value that `f` builds.
///
/// # Errors
///
/// If there is no room; for a large value `f` is not called then.
#[inline(always)]
#[track_caller]
pub(super) fn with<T, F: Refusal>(
    chunks: &Chunks,
    f: impl FnOnce() -> T,
) -> Result<Placed<'_, T>, F::Error> {
    if size_of::<T>() <= IN_REGISTERS {
        return put::<T, F>(chunks, chunks.run(f)).map_err(F::error);
    }
    let room = room::<T, F>(chunks)?;
    // It stays taken: `f` rewinds no further than to a checkpoint of its own (`look-then-take`).
    Ok(room.fill(chunks.run(f)))
}

/// Places the value that `f` builds, if it builds one.
///
/// # Errors
///
/// If there is no room; for a large value `f` is not called then. Inside, the error of `f`.
#[inline(always)]
#[track_caller]
pub(super) fn try_with<T, E, F: Refusal>(
    chunks: &Chunks,
    f: impl FnOnce() -> Result<T, E>,
) -> Result<Result<Placed<'_, T>, E>, F::Error> {
    if size_of::<T>() <= IN_REGISTERS {
        return match chunks.run(f) {
            Ok(value) => put::<T, F>(chunks, value).map(Ok).map_err(F::error),
            Err(error) => Ok(Err(error)),
        };
    }
    let room = room::<T, F>(chunks)?;
    Ok(match chunks.run(f) {
        Ok(value) => Ok(room.fill(value)),
        Err(error) => {
            // SAFETY: taken with that size, and without a value (`built-then-dropped`).
            unsafe { chunks.take_back(room.0.cast(), size_of::<T>()) };
            Err(error)
        }
    })
}

/// Values that are being built in a row; dropped unless all of them are built.
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
        // SAFETY: the first `built` values were written, and are dropped once. The room was taken
        // with that size. It is given back afterwards, because a destructor may use the arena, and
        // would overwrite values that are not dropped yet.
        unsafe {
            self.chunks.run(|| row.drop_in_place());
            if size_of::<T>() != 0 && self.room != 0 {
                self.chunks
                    .take_back(self.start.cast(), size_of::<T>() * self.room);
            }
        }
    }
}

/// Places the `len` values that `f` builds.
///
/// # Errors
///
/// If there is no room; inside, the error of `f`.
#[inline(always)]
#[track_caller]
pub(super) fn try_fill<T, E, F: Refusal>(
    chunks: &Chunks,
    len: usize,
    mut f: impl FnMut(usize) -> Result<T, E>,
) -> Result<Result<Placed<'_, [T]>, E>, F::Error> {
    let start = rooms::<T, F>(chunks, len)?;
    let mut row = Row {
        chunks,
        start,
        built: 0,
        room: len,
    };
    for index in 0..len {
        match chunks.run(|| f(index)) {
            // SAFETY: there is room for `len` values, and `index` is less than that.
            Ok(value) => unsafe { start.add(index).write(value) },
            Err(error) => return Ok(Err(error)),
        }
        row.built = index + 1;
    }
    core::mem::forget(row);
    let row = NonNull::slice_from_raw_parts(start, len);
    // SAFETY: all values are written, in room that was taken for them.
    Ok(Ok(unsafe { Placed::new(row) }))
}

/// Places the `len` values that `f` builds.
///
/// # Errors
///
/// If there is no room.
#[inline]
#[track_caller]
pub(super) fn fill<T, F: Refusal>(
    chunks: &Chunks,
    len: usize,
    mut f: impl FnMut(usize) -> T,
) -> Result<Placed<'_, [T]>, F::Error> {
    let filled = try_fill::<T, Infallible, F>(chunks, len, |index| Ok(f(index)))?;
    match filled {
        Ok(values) => Ok(values),
        Err(never) => match never {},
    }
}

/// Places a copy of these values.
///
/// # Errors
///
/// If there is no room.
#[inline(always)]
#[track_caller]
pub(super) fn copy<'a, T: Copy, F: Refusal>(
    chunks: &'a Chunks,
    values: &[T],
) -> Result<Placed<'a, [T]>, F::Error> {
    let bytes = size_of_val(values);
    if bytes == 0 {
        let row = NonNull::slice_from_raw_parts(NonNull::dangling(), values.len());
        // SAFETY: values of no size need no room.
        return Ok(unsafe { Placed::new(row) });
    }
    let layout = Layout::for_value(values);
    let (from, len) = (NonNull::from(values).cast::<u8>(), values.len());
    // SAFETY: room for this many values, which is not handed out yet, and so apart from them; to
    // copy them runs no user code (`look-then-take`).
    unsafe {
        let start = if bytes > SHORT_SLICE {
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
        };
        Ok(Placed::new(NonNull::slice_from_raw_parts(
            start.cast(),
            len,
        )))
    }
}

/// Places a copy of a text.
///
/// # Errors
///
/// If there is no room.
#[inline]
#[track_caller]
pub(super) fn copy_str<'a, F: Refusal>(
    chunks: &'a Chunks,
    text: &str,
) -> Result<Placed<'a, str>, F::Error> {
    let bytes = copy::<u8, F>(chunks, text.as_bytes())?.into_pointer();
    // SAFETY: the bytes are placed, and a copy of those of a `str`; their address is not null.
    Ok(unsafe { Placed::new(NonNull::new_unchecked(bytes.as_ptr() as *mut str)) })
}

/// Moves the values of a vector into the arena.
///
/// # Errors
///
/// If there is no room; the values are not moved then.
#[track_caller]
#[expect(clippy::disallowed_types, reason = "the vector is the user's")]
pub(super) fn take<'a, T, F: Refusal>(
    chunks: &'a Chunks,
    values: &mut Vec<T>,
) -> Result<Placed<'a, [T]>, F::Error> {
    let len = values.len();
    let start = rooms::<T, F>(chunks, len)?;
    // SAFETY: room for this many values, just taken, and so apart from them. The vector forgets the
    // values that are moved out.
    unsafe {
        values.set_len(0);
        (start.as_ptr()).copy_from_nonoverlapping(values.as_ptr(), len);
        Ok(Placed::new(NonNull::slice_from_raw_parts(start, len)))
    }
}

/// Takes memory of this layout, or returns a dangling pointer if its size is 0.
///
/// # Errors
///
/// If there is no room.
#[inline]
#[track_caller]
pub(super) fn room_for<F: Refusal>(
    chunks: &Chunks,
    layout: Layout,
) -> Result<NonNull<u8>, F::Error> {
    match layout.size() {
        0 => Ok(memory::dangling(layout)),
        _ => chunks.take_low::<F>(layout),
    }
}
