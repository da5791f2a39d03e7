//! Access by key: guards, or a plain reference where nothing else has the slab.

use alloc::sync::Arc;

use super::SharedSlab;
use super::guard::SharedRef;
use super::key::SharedKey;
use crate::error::AccessError;

impl<T> SharedSlab<T> {
    /// Borrows the value at a key; O(1), no allocation. The value stays as long as the guard, even
    /// if another thread removes it.
    ///
    /// `None` if there is none: it was removed, or never existed.
    ///
    /// # Panics
    ///
    /// With 4,194,303 guards of the value. [`try_get`](Self::try_get) returns the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get(key).unwrap();
    /// assert!(slab.remove(key) && slab.get(key).is_none());
    /// assert_eq!(*guard, 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, key: SharedKey) -> Option<SharedRef<T, &SharedSlab<T>>> {
        match self.try_get(key) {
            Ok(guard) => Some(guard),
            Err(AccessError::Missing) => None,
            Err(error) => refused(key, error),
        }
    }

    /// Borrows the value at a key, like [`get`](Self::get); never panics.
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing), and
    /// [`TooManyReaders`](AccessError::TooManyReaders) with 4,194,303 of them.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert_eq!(*slab.try_get(key).unwrap(), 7);
    /// slab.remove(key);
    /// assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Missing);
    /// ```
    #[inline]
    pub fn try_get(&self, key: SharedKey) -> Result<SharedRef<T, &SharedSlab<T>>, AccessError> {
        let (cell, generation) = self.locate(key).ok_or(AccessError::Missing)?;
        // SAFETY: allocated as long as the slab is (H1).
        unsafe { cell.word().begin_read(generation)? };
        // SAFETY: the reader that was counted.
        Ok(unsafe { SharedRef::new(self, cell) })
    }

    /// Borrows the value at a key by a guard that owns an `Arc` of the slab, for threads and
    /// tasks without a scope. O(1), no allocation; counts in the `Arc` too.
    ///
    /// A value that holds a guard of its own slab keeps itself and the slab alive for ever, as
    /// with any cycle of `Arc`s.
    ///
    /// # Panics
    ///
    /// As [`get`](Self::get).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::thread;
    ///
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = Arc::new(SharedSlab::with_capacity(1));
    /// let key = slab.insert(7).unwrap();
    /// let guard = slab.get_owned(key).unwrap();
    /// drop(slab);
    /// assert_eq!(thread::spawn(move || *guard).join().unwrap(), 7);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_owned(self: &Arc<Self>, key: SharedKey) -> Option<SharedRef<T>> {
        let guard = self.get(key)?;
        let cell = guard.into_cell();
        // SAFETY: the reader that was counted, whose guard is given up.
        Some(unsafe { SharedRef::new(self.clone(), cell) })
    }

    /// Whether there is a value at the key; O(1). Another thread may remove it at any
    /// time.
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// assert!(slab.contains_key(key));
    /// ```
    #[inline]
    #[must_use]
    pub fn contains_key(&self, key: SharedKey) -> bool {
        // SAFETY: allocated as long as the slab is (H1).
        self.locate(key)
            .is_some_and(|(cell, generation)| unsafe { cell.word().has(generation) })
    }

    /// Borrows the value at a key mutably; O(1). The exclusive borrow excludes all guards but
    /// forgotten ones.
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let mut slab = SharedSlab::with_capacity(1);
    /// let key = slab.insert(7).unwrap();
    /// *slab.get_mut(key).unwrap() += 1;
    /// assert_eq!(*slab.get(key).unwrap(), 8);
    /// ```
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, key: SharedKey) -> Option<&mut T> {
        let (cell, generation) = self.locate(key)?;
        // SAFETY: the value is there, and with the slab it is borrowed exclusively: guards that
        // are still counted were forgotten, and cannot be used.
        unsafe { (cell.word().has(generation)).then(|| cell.value().as_mut()) }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn refused(key: SharedKey, error: AccessError) -> ! {
    panic!("access was refused for {key:?}: {error}")
}
