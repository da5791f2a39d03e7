//! Both ends of a ring of values. The invariants are in `block.rs`.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::{Consumer, Producer};
use crate::error::FullError;
use crate::raw::touch::{LINE, prefetch_to_write};

/// Lines that are prefetched ahead of the producer.
const AHEAD: usize = 4;

/// The mark of a [`SpscRing`](super::SpscRing) whose entries are values of a `Copy` type, and of its
/// ends.
///
/// ```
/// use flatslab::sync::{Producer, SpscRing, Values};
///
/// struct Reports {
///     ring: Producer<Values<[u64; 5]>>,
/// }
///
/// let (ring, mut consumer) = SpscRing::of_values(1024).split();
/// let mut reports = Reports { ring };
/// reports.ring.push([7; 5]).unwrap();
/// assert_eq!(consumer.pop(), Some([7; 5]));
/// ```
#[derive(Debug)]
pub struct Values<T>(PhantomData<T>);

/// Entries that are values of a `Copy` type.
impl<T: Copy> Producer<Values<T>> {
    /// Pushes a value.
    ///
    /// # Complexity
    ///
    /// O(1) and the copy; wait-free; does not allocate.
    ///
    /// # Errors
    ///
    /// Returns an error with the value if all places are taken.
    ///
    /// ```
    /// # use flatslab::{Full, sync::SpscRing};
    /// let (mut producer, mut consumer) = SpscRing::of_values(1).split();
    /// producer.push((7, 'a'))?;
    /// assert!(matches!(producer.push((8, 'b')), Err(Full((8, 'b')))));
    /// assert_eq!(consumer.pop(), Some((7, 'a')));
    /// # Ok::<(), Full<(i32, char)>>(())
    /// ```
    #[inline]
    #[doc(alias("send", "write"))]
    pub fn push(&mut self, value: T) -> Result<(), FullError<T>> {
        self.push_deferred(value)?;
        self.flush();
        Ok(())
    }

    /// Pushes a value that the consumer finds [later](Self#several-entries-at-once).
    ///
    /// # Complexity
    ///
    /// O(1) and the copy; wait-free; does not allocate.
    ///
    /// # Errors
    ///
    /// Returns an error with the value if all places are taken.
    ///
    /// ```
    /// # use flatslab::{Full, sync::SpscRing};
    /// let (mut producer, mut consumer) = SpscRing::of_values(2).split();
    /// producer.push_deferred(7)?;
    /// assert_eq!(consumer.pop(), None);
    /// producer.push(8)?;
    /// assert!(consumer.batch().eq([7, 8]));
    /// # Ok::<(), Full<i32>>(())
    /// ```
    #[inline]
    pub fn push_deferred(&mut self, value: T) -> Result<(), FullError<T>> {
        if !self.has_room() {
            return Err(FullError(value));
        }
        // SAFETY: a ring of values of `T`; the place is the producer's (`places-of-ends`).
        unsafe { self.end.value(self.tail).write(value) };
        self.tail = self.end.after(self.tail);
        self.prefetch_value();
        Ok(())
    }

    /// Prefetches a place that is written soon, as entries of bytes do, once for all places of a line. With
    /// both ends at work, values take .5 to .8 of the time that they take without it
    /// (benches/ATTEMPTS.md, "Rings of values").
    #[inline(always)]
    fn prefetch_value(&self) {
        let in_line = (LINE / size_of::<T>().max(1)).max(1);
        if self.is_apart_from(AHEAD * in_line) && self.tail % in_line == 0 {
            let ahead = self.end.ahead(self.tail, AHEAD * in_line);
            // SAFETY: a ring of values of `T`.
            let place = unsafe { self.end.value::<T>(ahead) };
            prefetch_to_write(place.cast(), size_of::<T>());
        }
    }
}

/// Entries that are values of a `Copy` type.
impl<T: Copy> Consumer<Values<T>> {
    /// Takes the oldest value. O(1); wait-free.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::of_values(2).split();
    /// producer.push(7).unwrap();
    /// assert_eq!((consumer.pop(), consumer.pop()), (Some(7), None));
    /// ```
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.head == self.tail && !self.look() {
            return None;
        }
        let value = self.take();
        self.give_back();
        Some(value)
    }

    /// Copies the oldest value, which stays. O(1); wait-free.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::of_values(2).split();
    /// producer.push(7).unwrap();
    /// assert_eq!((consumer.peek(), consumer.pop(), consumer.peek()), (Some(7), Some(7), None));
    /// ```
    #[inline]
    pub fn peek(&mut self) -> Option<T> {
        if self.head == self.tail && !self.look() {
            return None;
        }
        // SAFETY: as in `take`.
        Some(unsafe { self.end.value::<T>(self.head).read() })
    }

    /// Takes the values that are there now, the oldest first.
    ///
    /// The places of all of them are free again when the iterator is dropped; values that it has not
    /// yielded stay. If it is forgotten, the places become free with a later pop.
    ///
    /// ```
    /// # use flatslab::sync::SpscRing;
    /// let (mut producer, mut consumer) = SpscRing::of_values(4).split();
    /// for value in 1..=3 {
    ///     producer.push(value).unwrap();
    /// }
    /// assert_eq!(consumer.batch().take(2).sum::<i32>(), 3);
    /// assert_eq!(consumer.pop(), Some(3));
    /// ```
    #[inline]
    pub fn batch(&mut self) -> Batch<'_, T> {
        self.look();
        Batch { consumer: self }
    }

    /// Takes the value at its own position, where there is one.
    #[inline(always)]
    fn take(&mut self) -> T {
        debug_assert_ne!(self.head, self.tail, "positions-in-ring");
        // SAFETY: a ring of values of `T`; the place has an entry, and is the consumer's
        // (`places-of-ends`).
        let value = unsafe { self.end.value::<T>(self.head).read() };
        self.head = self.end.after(self.head);
        value
    }
}

/// The values that were in a ring, from [`Consumer::batch`]; an iterator over copies of them.
///
/// Dropping it frees the places of the values that it yielded.
#[must_use = "it takes nothing before it is iterated over"]
pub struct Batch<'a, T: Copy> {
    consumer: &'a mut Consumer<Values<T>>,
}

impl<T: Copy> Iterator for Batch<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let consumer = &mut *self.consumer;
        (consumer.head != consumer.tail).then(|| consumer.take())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.consumer.end).between(self.consumer.head, self.consumer.tail);
        (left, Some(left))
    }
}

impl<T: Copy> ExactSizeIterator for Batch<'_, T> {}
impl<T: Copy> FusedIterator for Batch<'_, T> {}

impl<T: Copy> Drop for Batch<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.consumer.give_back();
    }
}

/// Prints the number of values that are left.
impl<T: Copy> fmt::Debug for Batch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("len", &self.len()).finish()
    }
}
