//! Iteration over what is there.

use core::fmt;
use core::iter::FusedIterator;

use super::access::refused;
use super::guard::SharedRef;
use super::{SharedKey, SharedSlab};

/// The values of a [`SharedSlab`], from [`SharedSlab::iter`].
///
/// `Send` and `Sync` if `T` is both.
///
/// # Examples
///
/// ```
/// use flatslab::sync::SharedSlab;
///
/// let slab = SharedSlab::with_capacity(2);
/// let key = slab.insert(7).unwrap();
/// let (first, value) = slab.iter().next().unwrap();
/// assert_eq!((first, *value), (key, 7));
/// ```
#[must_use = "an iterator does nothing before it is asked"]
pub struct Iter<'a, T> {
    slab: &'a SharedSlab<T>,
    next: usize,
}

impl<T> SharedSlab<T> {
    /// Iterates over the values, each with its key and a guard, in the order of slots; O(capacity)
    /// for all. Each slot is read once: values that other threads insert or remove at the same
    /// time may or may not be among them.
    ///
    /// # Panics
    ///
    /// Its `next` panics as [`get`](Self::get) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(8);
    /// let keys = [1, 2, 3].map(|number| slab.insert(number).unwrap());
    /// for (key, value) in &slab {
    ///     if *value == 2 {
    ///         assert!(slab.remove(key));
    ///     }
    /// }
    /// assert_eq!(slab.iter().map(|(_, value)| *value).sum::<i32>(), 4);
    /// # let _ = keys;
    /// ```
    pub fn iter(&self) -> Iter<'_, T> {
        Iter::new(self)
    }
}

impl<'a, T> IntoIterator for &'a SharedSlab<T> {
    type Item = (SharedKey, SharedRef<T, &'a SharedSlab<T>>);
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(slab: &'a SharedSlab<T>) -> Self {
        Iter { slab, next: 0 }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = (SharedKey, SharedRef<T, &'a SharedSlab<T>>);

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.slab.capacity() {
            let index = self.next;
            self.next += 1;
            // SAFETY: `index` is below the capacity (the condition of the loop).
            let cell = unsafe { self.slab.cell(index) };
            // SAFETY: allocated as long as the slab is (H1).
            match unsafe { cell.word().begin_any_read(self.slab.mask) } {
                None => {}
                Some((generation, Ok(()))) => {
                    let key = SharedKey::new(generation, index);
                    // SAFETY: the reader that was counted.
                    return Some((key, unsafe { SharedRef::new(self.slab, cell) }));
                }
                Some((generation, Err(error))) => refused(SharedKey::new(generation, index), error),
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.slab.capacity() - self.next))
    }
}

impl<T> FusedIterator for Iter<'_, T> {}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Iter { ..*self }
    }
}

/// Prints how many slots are still to be looked at.
impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("slots_left", &(self.slab.capacity() - self.next))
            .finish_non_exhaustive()
    }
}
