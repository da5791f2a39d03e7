//! `ArenaVec`: a vector in an arena.
//!
//! # Invariants
//!
//! * `vec-room`: `start` has room for `capacity` values, which was taken from the arena unless its
//!   size is 0; the first `len` are initialised.
//! * `vec-memory-stays`: memory that is taken from the arena while it is borrowed for `'a` stays
//!   for `'s`. With a scope, `'a` is shorter: a vector that lived for `'s` could grow while an
//!   inner scope is open, whose end would free that memory.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::boxed::ArenaBox;
use super::chunks::{Chunks, Explains, Fails, Refusal, Refuses, done};
use super::place::{self, Placed};
use super::{Arena, Scope};
use crate::error::{AllocError, FullError};
use crate::raw::memory;

/// A vector in an arena, for collecting values and for formatting.
///
/// It grows in place if nothing was allocated after it, and moves otherwise. Dropping it frees its
/// memory if nothing was allocated after it. Its other memory, such as that it has moved from, is
/// freed when the arena is reset or the scope ends.
///
/// `'a` is the borrow of the arena or scope that the vector allocates from when it grows. `'s` is
/// the lifetime of allocations there: the `'s` of a [`Scope`], and `'a` for an arena. The values
/// are dropped with the vector, or stay for `'s` [as a slice](Self::into_slice).
///
/// For `insert`, `retain` or iteration by value, use the `Vec` of `allocator_api2` with `&Arena` as
/// its allocator (feature `allocator-api2`).
///
/// # Examples
///
/// ```
/// use flatslab::bump::{Arena, ArenaVec};
///
/// let arena = Arena::new();
/// let mut vec = ArenaVec::new_in(&arena);
/// vec.extend([1, 2, 3]);
/// vec.push(4);
/// assert_eq!(vec.iter().sum::<u64>(), 10);
/// let slice: &mut [u64] = vec.into_slice();
/// assert_eq!(slice, [1, 2, 3, 4]);
/// ```
pub struct ArenaVec<'a, 's, T> {
    chunks: &'a Chunks,
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    values: PhantomData<T>,
    memory: PhantomData<&'s ()>,
}

/// A reference that an [`ArenaVec`] can allocate from: `&'a Arena`, where `'s` is `'a`, or
/// `&'a Scope<'s, '_>`. Sealed.
pub trait InArena<'a, 's> {
    /// The chunks, whose allocations stay (`vec-memory-stays`).
    #[doc(hidden)]
    fn chunks(self) -> &'a Chunks;
}

impl<'a> InArena<'a, 'a> for &'a Arena {
    fn chunks(self) -> &'a Chunks {
        &self.chunks
    }
}

impl<'a, 's> InArena<'a, 's> for &'a Scope<'s, '_> {
    fn chunks(self) -> &'a Chunks {
        &self.arena.chunks
    }
}

impl<'a, 's, T> ArenaVec<'a, 's, T> {
    /// Creates an empty vector; allocates nothing.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::new_in(&arena).is_empty());
    /// ```
    #[must_use]
    pub fn new_in(arena: impl InArena<'a, 's>) -> Self {
        Self::in_chunks(arena.chunks())
    }

    /// References from this vector live for `'s`, as the memory of the chunks does
    /// (`vec-memory-stays`).
    pub(super) fn in_chunks(chunks: &'a Chunks) -> Self {
        ArenaVec {
            chunks,
            start: NonNull::dangling(),
            len: 0,
            capacity: 0,
            values: PhantomData,
            memory: PhantomData,
        }
    }

    pub(super) fn chunks(&self) -> &'a Chunks {
        self.chunks
    }

    /// Creates an empty vector with room for at least `capacity` values.
    ///
    /// # Panics
    ///
    /// If there is no room; see [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::with_capacity_in(8, &arena).capacity() >= 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity_in(capacity: usize, arena: impl InArena<'a, 's>) -> Self {
        let mut vec = Self::new_in(arena);
        vec.reserve(capacity);
        vec
    }

    /// Returns the number of values that the vector can hold without growing.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert_eq!(ArenaVec::<()>::new_in(&arena).capacity(), usize::MAX);
    /// ```
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        if size_of::<T>() == 0 {
            usize::MAX
        } else {
            self.capacity
        }
    }

    /// Reserves room for at least `additional` more values.
    ///
    /// The capacity at least doubles when it grows, so that the cost is amortized, as with `Vec`.
    ///
    /// # Panics
    ///
    /// If the size exceeds `isize::MAX` bytes, a bounded arena is full, or the limit is reached. If
    /// the allocator refuses, the program aborts, as with `Vec`.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::<u64>::new_in(&arena);
    /// vec.reserve(8);
    /// assert!(vec.capacity() >= 8);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            memory::fail(error);
        }
    }

    /// Reserves room for at least `additional` more values; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If [`reserve`](Self::reserve) would panic, or the allocator refuses. The vector is unchanged
    /// then.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaVec::<u64>::new_in(&arena).try_reserve(usize::MAX).is_err());
    /// ```
    #[inline]
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        if additional <= self.capacity() - self.len {
            return Ok(());
        }
        self.grow(additional)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) -> Result<(), AllocError> {
        let too_many = AllocError::TooManyBytes {
            slots: additional,
            slot_bytes: size_of::<T>(),
        };
        let needed = self.len.checked_add(additional).ok_or(too_many)?;
        // Four at first, but not of large values.
        let first = (256 / size_of::<T>().max(1)).clamp(1, 4);
        let usual = needed.max(self.capacity.saturating_mul(2)).max(first);
        // In a bounded arena the rest may be just enough.
        self.grow_to(usual).or_else(|error| match usual > needed {
            true => self.grow_to(needed),
            false => Err(error),
        })
    }

    /// Makes room for `capacity` values, more than the present capacity.
    fn grow_to(&mut self, capacity: usize) -> Result<(), AllocError> {
        if self.resize(capacity).is_some() {
            return Ok(());
        }
        let start = place::rooms::<T, Explains>(self.chunks, capacity)?;
        // SAFETY: there are `len` values (`vec-room`). They move to room that was just taken, which
        // is larger, and does not overlap the old room.
        unsafe { start.copy_from_nonoverlapping(self.start, self.len) };
        self.start = start;
        self.capacity = capacity;
        Ok(())
    }

    /// Changes the room in place, if it can be, to that of `capacity` values, or of those there
    /// are.
    fn resize(&mut self, capacity: usize) -> Option<()> {
        let capacity = capacity.max(self.len);
        let (old, new) = (
            self.capacity * size_of::<T>(),
            capacity.checked_mul(size_of::<T>())?,
        );
        if old > 0 {
            // SAFETY: taken with the size `old` (`vec-room`); past `new` there are no values.
            unsafe { self.chunks.resize(self.start.cast(), old, new) }?;
            self.capacity = capacity;
            return Some(());
        }
        None
    }

    /// Appends a value. Amortized O(1).
    ///
    /// # Panics
    ///
    /// If there is no room; see [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push(7);
    /// assert_eq!(*vec, [7]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, value: T) {
        done(self.push_or::<Fails>(value));
    }

    /// Appends a value, or returns it if there is no room; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no room.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::bounded(0);
    /// assert_eq!(ArenaVec::new_in(&arena).try_push(7).unwrap_err().into_inner(), 7);
    /// ```
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<(), FullError<T>> {
        self.push_or::<Refuses>(value).map_err(FullError)
    }

    /// Appends a value.
    ///
    /// # Errors
    ///
    /// If there is no room: what `F` makes of that and of the value.
    #[inline]
    #[track_caller]
    fn push_or<F: Refusal>(&mut self, value: T) -> Result<(), F::Refused<T>> {
        if let Err(error) = self.try_reserve(1) {
            return Err(F::refused(F::refuse(error), value));
        }
        // SAFETY: there is room for one more value (`vec-room`), which was just reserved.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Removes the last value and returns it. O(1).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push(7);
    /// assert_eq!((vec.pop(), vec.pop()), (Some(7), None));
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the value is initialised (`vec-room`); it is not counted any more, so it is read
        // once.
        Some(unsafe { self.start.add(self.len).read() })
    }

    /// Drops all values after the first `len`, even if a destructor panics.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.extend([1, 2, 3]);
    /// vec.truncate(1);
    /// assert_eq!(*vec, [1]);
    /// ```
    pub fn truncate(&mut self, len: usize) {
        let Some(count) = self.len.checked_sub(len) else {
            return;
        };
        self.len = len;
        // SAFETY: the values are initialised (`vec-room`); they are not counted any more, so they
        // are dropped once.
        unsafe {
            NonNull::slice_from_raw_parts(self.start.add(len), count).drop_in_place();
        }
    }

    /// Drops all values, and keeps the capacity.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push(7);
    /// vec.clear();
    /// assert!(vec.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Appends a copy of each value. O(n) for n values.
    ///
    /// # Panics
    ///
    /// If there is no room; see [`reserve`](Self::reserve).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.extend_from_slice(b"flat");
    /// assert_eq!(*vec, *b"flat");
    /// ```
    #[track_caller]
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        if let Err(error) = self.try_extend_from_slice(values) {
            memory::fail(error);
        }
    }

    /// Appends a copy of each value, if there is room for all; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no room; no value is appended then.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec};
    ///
    /// let arena = Arena::bounded(0);
    /// assert!(ArenaVec::new_in(&arena).try_extend_from_slice(b"flat").is_err());
    /// ```
    pub fn try_extend_from_slice(&mut self, values: &[T]) -> Result<(), AllocError>
    where
        T: Copy,
    {
        self.try_reserve(values.len())?;
        // SAFETY: room for that many values was just reserved. `values` is borrowed while the
        // vector is borrowed mutably, so the two are apart.
        unsafe {
            let end = self.start.add(self.len).as_ptr();
            end.copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
        self.len += values.len();
        Ok(())
    }

    /// Returns the values as a slice that lives as long as allocations of the arena or the scope.
    /// O(1).
    ///
    /// The values are never dropped. Unused capacity is freed if nothing was allocated after it.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaVec, Scope};
    ///
    /// // The slice outlives the borrow of the scope that the vector had.
    /// fn digits<'s>(scope: &Scope<'s, '_>, text: &str) -> &'s mut [u32] {
    ///     let mut vec = ArenaVec::new_in(scope);
    ///     vec.extend(text.chars().filter_map(|it| it.to_digit(10)));
    ///     vec.into_slice()
    /// }
    ///
    /// let mut arena = Arena::new();
    /// let mut root = arena.as_scope();
    /// let kept = digits(&root, "1, 2");
    /// root.scope(|inner| kept[0] += digits(&inner, "7")[0]);
    /// assert_eq!(kept, [8, 2]);
    /// ```
    #[doc(alias("into_bump_slice", "into_boxed_slice"))]
    pub fn into_slice(self) -> &'s mut [T] {
        self.into_row().into_mut()
    }

    /// Returns the values as a boxed slice, which drops them. O(1).
    ///
    /// Like [`into_slice`](Self::into_slice), it frees unused capacity if nothing was allocated
    /// after it.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaBox, ArenaVec};
    ///
    /// let arena = Arena::new();
    /// let mut vec = ArenaVec::new_in(&arena);
    /// vec.push("flat".to_string());
    /// let boxed: ArenaBox<'_, [String]> = vec.into_boxed_slice();
    /// assert_eq!(*boxed, ["flat"]);
    /// ```
    pub fn into_boxed_slice(self) -> ArenaBox<'s, [T]> {
        ArenaBox::of(self.into_row())
    }

    pub(super) fn into_row(self) -> Placed<'s, [T]> {
        let mut vec = ManuallyDrop::new(self);
        let _ = vec.resize(0);
        let row = NonNull::slice_from_raw_parts(vec.start, vec.len);
        // SAFETY: the values are initialised (`vec-room`), in memory that the vector alone owned,
        // and that stays for `'s` (`vec-memory-stays`); the vector ends without a drop.
        unsafe { Placed::new(row) }
    }
}

impl<T> Deref for ArenaVec<'_, '_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values are initialised (`vec-room`), and the vector is borrowed.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_ref() }
    }
}

impl<T> DerefMut for ArenaVec<'_, '_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the vector is borrowed mutably.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_mut() }
    }
}

/// Drops the values, and frees the memory if nothing was allocated after it and no destructor
/// panics.
impl<T> Drop for ArenaVec<'_, '_, T> {
    fn drop(&mut self) {
        // First the values: their destructors may allocate.
        self.clear();
        let _ = self.resize(0);
    }
}

// SAFETY: a shared vector gives shared access to its values alone. It is not `Send`, so only
// its own thread makes it grow.
unsafe impl<T: Sync> Sync for ArenaVec<'_, '_, T> {}

impl<T> Extend<T> for ArenaVec<'_, '_, T> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        // A hint may be too high, and the values may fit all the same.
        let _ = self.try_reserve(values.size_hint().0);
        for value in values {
            self.push(value);
        }
    }
}

impl<'v, T> IntoIterator for &'v ArenaVec<'_, '_, T> {
    type Item = &'v T;
    type IntoIter = core::slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'v, T> IntoIterator for &'v mut ArenaVec<'_, '_, T> {
    type Item = &'v mut T;
    type IntoIter = core::slice::IterMut<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

/// Appends the bytes of the text, so that `write!` formats into the vector. Returns an error if
/// there is no room.
impl fmt::Write for ArenaVec<'_, '_, u8> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.try_extend_from_slice(text.as_bytes())
            .map_err(|_| fmt::Error)
    }
}

/// Prints the values.
impl<T: fmt::Debug> fmt::Debug for ArenaVec<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Collects the values of an iterator.
///
/// # Errors
///
/// If there is no room; the values collected so far are dropped then.
#[track_caller]
pub(super) fn collect<T, F: Refusal>(
    chunks: &Chunks,
    values: impl IntoIterator<Item = T>,
) -> Result<Placed<'_, [T]>, F::Error> {
    let mut values = chunks.run(|| values.into_iter());
    let mut vec = ArenaVec::in_chunks(chunks);
    let least = chunks.run(|| values.size_hint().0);
    // A hint may be too high, and the values may fit all the same.
    let _ = vec.try_reserve(least);
    while let Some(value) = chunks.run(|| values.next()) {
        vec.push_or::<F>(value).map_err(F::error)?;
    }
    chunks.run(|| drop(values));
    Ok(vec.into_row())
}

/// A function and not `map_err`, which would lose the caller's location.
/// Formats a text in the arena. The inner result is that of the formatter.
///
/// # Errors
///
/// If there is no room.
pub(super) fn format<'a, 's>(
    arena: impl InArena<'a, 's>,
    text: fmt::Arguments<'_>,
) -> Result<Result<&'s mut str, fmt::Error>, AllocError> {
    /// With the error of the arena, which `fmt::Error` has no room for.
    struct Sink<'a, 's>(ArenaVec<'a, 's, u8>, Option<AllocError>);

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

    let mut sink = Sink(ArenaVec::new_in(arena), None);
    let chunks = sink.0.chunks();
    let written = chunks.run(|| fmt::Write::write_fmt(&mut sink, text));
    if let Some(error) = sink.1 {
        return Err(error);
    }
    // SAFETY: whole `str`s were pushed, and nothing else.
    Ok(written.map(|()| unsafe { core::str::from_utf8_unchecked_mut(sink.0.into_slice()) }))
}
