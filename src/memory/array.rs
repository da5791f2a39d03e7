//! An array for collections that are written without unsafe code: what a `Vec` is,
//! with memory from [`Pages`](super::Pages), and with failure as a value.
//!
//! # Invariants
//!
//! * `array-entries`: `start` is that of `block`, which is laid out for `capacity` entries; the first
//!   `len <= capacity` of them are written.

use core::alloc::Layout;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::raw::memory::Block;
use crate::raw::source::Source;
use crate::raw::to_the_end::to_the_end;

/// An array that grows only when it is told to. It does not drop its entries: [`Values`] does. (So a
/// reference in an entry may be dangling then, as in a `Vec` of references.)
pub(crate) struct Array<T> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    block: Block,
}

// SAFETY: it owns its entries (`array-entries`), as a `Vec` does.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: a reference to it lends its entries, as one to a `Vec` does.
unsafe impl<T: Sync> Sync for Array<T> {}

impl<T> Array<T> {
    /// An array with memory for this many entries, which is touched now.
    pub(crate) fn try_with_capacity(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let array = Self::try_untouched(capacity, source)?;
        array.block.touch();
        Ok(array)
    }

    /// An array with memory for this many entries, whose pages are touched as entries are added.
    pub(crate) fn try_untouched(capacity: usize, source: &Source) -> Result<Self, AllocError> {
        let layout = Layout::array::<T>(capacity).map_err(|_| AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes: size_of::<T>(),
        })?;
        let block = Block::allocate(layout, source)?;
        Ok(Array {
            start: block.start().cast(),
            len: 0,
            capacity,
            block,
        })
    }

    /// The bytes of its memory.
    pub(crate) fn bytes(&self) -> usize {
        self.block.layout().size()
    }

    /// Where its memory came from.
    pub(crate) fn source(&self) -> &Source {
        self.block.source()
    }

    /// Moves the entries to memory for this many. Nothing has changed after an error.
    pub(crate) fn try_grow(&mut self, capacity: usize) -> Result<(), AllocError> {
        assert!(capacity >= self.len);
        let mut larger = Self::try_with_capacity(capacity, self.source())?;
        // SAFETY: distinct blocks, and there is room for all entries, which are those of the other
        // array from here on (`array-entries`).
        unsafe { (larger.start).copy_from_nonoverlapping(self.start, self.len) };
        larger.len = core::mem::take(&mut self.len);
        *self = larger;
        Ok(())
    }

    /// The number of entries that there is memory for.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Adds an entry, for which there is memory.
    #[inline]
    pub(crate) fn push(&mut self, entry: T) {
        assert!(self.len < self.capacity);
        // SAFETY: below the capacity, so within the block (`array-entries`).
        unsafe { self.start.add(self.len).write(entry) };
        self.len += 1;
    }

    /// Removes the last entry.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: written, and not below the length any more (`array-entries`).
        Some(unsafe { self.start.add(self.len).read() })
    }

    /// Removes an entry, in whose place the last one comes.
    #[inline]
    pub(crate) fn swap_remove(&mut self, index: usize) -> Option<T> {
        let last = self.len - 1;
        self.swap(index, last);
        self.pop()
    }

    /// Drops all entries, even if the destructor of one panics.
    pub(crate) fn clear(&mut self) {
        to_the_end(|| self.pop().is_some());
    }
}

impl<T: Copy> Array<T> {
    /// An array of this many equal entries.
    pub(crate) fn try_filled(len: usize, entry: T, source: &Source) -> Result<Self, AllocError> {
        let mut array = Self::try_with_capacity(len, source)?;
        array.fill_up(entry);
        Ok(array)
    }

    /// Adds entries, for which there is memory.
    pub(crate) fn extend_from_slice(&mut self, entries: &[T]) {
        for entry in entries {
            self.push(*entry);
        }
    }

    /// Adds equal entries as long as there is memory.
    pub(crate) fn fill_up(&mut self, entry: T) {
        while self.len < self.capacity {
            self.push(entry);
        }
    }
}

/// An [`Array`] that drops its entries.
#[derive(Debug)]
pub(crate) struct Values<T>(Array<T>);

impl<T> Values<T> {
    pub(crate) const fn of(entries: Array<T>) -> Self {
        Values(entries)
    }

    /// Returns clones of the entries, in memory from the same source.
    pub(crate) fn try_clone(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut clone = Values(Array::try_untouched(self.len, self.source())?);
        self.iter().for_each(|entry| clone.push(entry.clone()));
        Ok(clone)
    }

    /// Adds an entry. The memory doubles if there is none left.
    #[cfg(any(feature = "serde", test))]
    pub(crate) fn try_push(&mut self, entry: T) -> Result<(), AllocError> {
        if self.0.len == self.0.capacity {
            self.0.try_grow((2 * self.0.capacity).max(FIRST))?;
        }
        self.0.push(entry);
        Ok(())
    }
}

/// Entries of the first memory of an array that grows by itself.
#[cfg(any(feature = "serde", test))]
const FIRST: usize = 4;

impl<T> Deref for Values<T> {
    type Target = Array<T>;

    #[inline(always)]
    fn deref(&self) -> &Array<T> {
        &self.0
    }
}

impl<T> DerefMut for Values<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Array<T> {
        &mut self.0
    }
}

impl<T> Drop for Values<T> {
    #[inline]
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            self.clear();
        }
    }
}

/// The most bytes that are allocated for entries that were only announced.
#[cfg(feature = "serde")]
const MOST_ANNOUNCED: usize = 1 << 20;

/// Reads as many entries as there are: a number in the input claims no more than
/// [a mebibyte](MOST_ANNOUNCED).
#[cfg(feature = "serde")]
impl<'de, T: serde::Deserialize<'de>> serde::Deserialize<'de> for Values<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::DeserializeSeed::deserialize(AtMost::new(usize::MAX), deserializer)
    }
}

/// Reads so many entries, and no more: entries of no size may take no bytes of the input, so only a
/// number that is known ends their reading.
#[cfg(feature = "serde")]
pub(crate) struct AtMost<T>(usize, core::marker::PhantomData<T>);

#[cfg(feature = "serde")]
impl<T> AtMost<T> {
    pub(crate) const fn new(entries: usize) -> Self {
        AtMost(entries, core::marker::PhantomData)
    }
}

#[cfg(feature = "serde")]
impl<'de, T: serde::Deserialize<'de>> serde::de::DeserializeSeed<'de> for AtMost<T> {
    type Value = Values<T>;

    fn deserialize<D: serde::Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Values<T>, D::Error> {
        struct Entries<T>(AtMost<T>);

        impl<'de, T: serde::Deserialize<'de>> serde::de::Visitor<'de> for Entries<T> {
            type Value = Values<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut entries: A,
            ) -> Result<Values<T>, A::Error> {
                // What is announced is not trusted with more than this.
                let most = MOST_ANNOUNCED / size_of::<T>().max(1);
                let announced = entries.size_hint().unwrap_or(0).min(most);
                let array = Array::try_untouched(announced, &Source::GLOBAL);
                let mut values = Values(array.map_err(serde::de::Error::custom)?);
                while let Some(entry) = entries.next_element()? {
                    if values.len == self.0.0 {
                        return Err(serde::de::Error::custom("there are more values than slots"));
                    }
                    values.try_push(entry).map_err(serde::de::Error::custom)?;
                }
                Ok(values)
            }
        }

        deserializer.deserialize_seq(Entries(self))
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many entries are written (`array-entries`), and this is borrowed.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Array<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: so many entries are written (`array-entries`), and this is borrowed mutably.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
