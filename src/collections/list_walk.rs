//! Walks over a [`List`]: an iterator from both ends, and a cursor that changes the list.

use core::fmt;
use core::iter::FusedIterator;

use super::list::{LinkError, List, broken};
use crate::error::FullError;
use crate::key_slab::SlabKey;
use crate::links::Linked;
use crate::store::Store;

impl<K: SlabKey, O: SlabKey> List<K, O> {
    /// Returns an iterator over the keys and values, from the first to the last. O(1), and O(1) for
    /// each value.
    ///
    /// It panics at a value that is not in this list, which is there only if links are
    /// [wrong](Self#wrong-keys).
    #[inline]
    pub fn iter<'a, S>(&self, store: &'a S) -> ListIter<'a, S, O>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        ListIter { store, list: *self }
    }

    /// Returns a cursor at the first value. O(1).
    #[inline]
    pub fn cursor_front<'a, S>(&'a mut self, store: &'a mut S) -> Cursor<'a, S, O>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let at = self.first;
        Cursor {
            list: self,
            store,
            at,
        }
    }

    /// Returns a cursor at the last value. O(1).
    #[inline]
    pub fn cursor_back<'a, S>(&'a mut self, store: &'a mut S) -> Cursor<'a, S, O>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        let at = self.last;
        Cursor {
            list: self,
            store,
            at,
        }
    }

    /// Returns a cursor at the value with this key. O(1).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no value with this key, or it is not in this list.
    #[inline]
    pub fn cursor_at<'a, S>(
        &'a mut self,
        store: &'a mut S,
        key: K,
    ) -> Result<Cursor<'a, S, O>, LinkError>
    where
        S: ?Sized + Store<Key = K, Value: Linked<K, O>>,
    {
        self.links(store, key)?;
        Ok(Cursor {
            list: self,
            store,
            at: key,
        })
    }
}

/// An iterator over the keys and values of a [`List`].
pub struct ListIter<'a, S: ?Sized + Store, O> {
    store: &'a S,
    /// What is left.
    list: List<S::Key, O>,
}

impl<'a, S, O: SlabKey> ListIter<'a, S, O>
where
    S: ?Sized + Store<Value: Linked<S::Key, O>>,
{
    /// Borrows the value at one end, and notes that there is one less.
    #[inline(always)]
    #[track_caller]
    fn step(&mut self, key: S::Key) -> Option<&'a S::Value> {
        self.list.len = self.list.len.checked_sub(1)?;
        match self.store.get(key) {
            Some(value) if value.links().owner == self.list.owner => Some(value),
            _ => broken(&self.list, key),
        }
    }
}

impl<'a, S, O: SlabKey> Iterator for ListIter<'a, S, O>
where
    S: ?Sized + Store<Value: Linked<S::Key, O>>,
{
    type Item = (S::Key, &'a S::Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let key = self.list.first;
        let value = self.step(key)?;
        self.list.first = value.links().next;
        Some((key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.list.len(), Some(self.list.len()))
    }
}

impl<S, O: SlabKey> DoubleEndedIterator for ListIter<'_, S, O>
where
    S: ?Sized + Store<Value: Linked<S::Key, O>>,
{
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let key = self.list.last;
        let value = self.step(key)?;
        self.list.last = value.links().previous;
        Some((key, value))
    }
}

impl<S, O: SlabKey> ExactSizeIterator for ListIter<'_, S, O> where
    S: ?Sized + Store<Value: Linked<S::Key, O>>
{
}

impl<S, O: SlabKey> FusedIterator for ListIter<'_, S, O> where
    S: ?Sized + Store<Value: Linked<S::Key, O>>
{
}

impl<S: ?Sized + Store, O: SlabKey> Clone for ListIter<'_, S, O> {
    fn clone(&self) -> Self {
        ListIter {
            store: self.store,
            list: self.list,
        }
    }
}

impl<S: ?Sized + Store, O: SlabKey> fmt::Debug for ListIter<'_, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ListIter").field(&self.list).finish()
    }
}

/// A place in a [`List`]: at a value, or at the end, which lies between the last and the first value.
///
/// # Examples
///
/// ```
/// use flatslab::collections::{Links, List};
/// use flatslab::{Key, KeySlab, linked};
///
/// struct Job { cost: u32, links: Links }
///
/// linked!(impl Linked<Key, Key> for Job { links });
///
/// let mut jobs = KeySlab::new();
/// let mut queue = List::new(Key::from_raw(0));
/// for cost in [1, 5, 9] {
///     queue.push_back(&mut jobs, Job { cost, links: Links::new() })?;
/// }
///
/// // In order of their cost.
/// let mut cursor = queue.cursor_front(&mut jobs);
/// while cursor.current().is_some_and(|(_, job)| job.cost < 7) {
///     cursor.move_next();
/// }
/// cursor.insert_before(Job { cost: 7, links: Links::new() })?;
/// let costs: Vec<u32> = queue.iter(&jobs).map(|(_, job)| job.cost).collect();
/// assert_eq!(costs, [1, 5, 7, 9]);
/// # Ok::<(), flatslab::FullError<Job>>(())
/// ```
pub struct Cursor<'a, S: ?Sized + Store, O> {
    list: &'a mut List<S::Key, O>,
    store: &'a mut S,
    /// `NONE` at the end.
    at: S::Key,
}

impl<S, O: SlabKey> Cursor<'_, S, O>
where
    S: ?Sized + Store<Value: Linked<S::Key, O>>,
{
    /// Returns the key of the value at the cursor. Returns `None` at the end. O(1).
    #[must_use]
    pub fn key(&self) -> Option<S::Key> {
        (self.at != S::Key::NONE).then_some(self.at)
    }

    /// Borrows the value at the cursor, with its key. Returns `None` at the end. O(1).
    ///
    /// # Panics
    ///
    /// Panics if the value is no longer in the slab.
    #[track_caller]
    pub fn current(&mut self) -> Option<(S::Key, &mut S::Value)> {
        let key = self.key()?;
        match self.store.get_mut(key) {
            Some(value) => Some((key, value)),
            None => broken(self.list, key),
        }
    }

    /// Borrows the slab: for values of other lists.
    ///
    /// If a value of this list is removed by it, the next step of the cursor that meets it panics.
    pub fn store(&mut self) -> &mut S {
        self.store
    }

    /// Moves to the next value; from the last one to the end, and from there to the first one. O(1).
    ///
    /// # Panics
    ///
    /// Panics if the value at the cursor is no longer in this list.
    #[track_caller]
    pub fn move_next(&mut self) {
        self.at = self.neighbours().1;
    }

    /// Moves to the previous value; from the first one to the end, and from there to the last one.
    /// O(1).
    ///
    /// # Panics
    ///
    /// Panics if the value at the cursor is no longer in this list.
    #[track_caller]
    pub fn move_previous(&mut self) {
        self.at = self.neighbours().0;
    }

    /// The keys of the previous and of the next value.
    #[track_caller]
    fn neighbours(&self) -> (S::Key, S::Key) {
        let Some(key) = self.key() else {
            return (self.list.last, self.list.first);
        };
        match self.list.links(self.store, key) {
            Ok(links) => (links.previous, links.next),
            Err(_) => broken(self.list, key),
        }
    }

    /// Removes the value at the cursor from the list and from the slab, returns it, and moves to the
    /// next one. Returns `None` at the end. O(1).
    ///
    /// # Panics
    ///
    /// Panics where [`List::unlink`] does.
    #[track_caller]
    pub fn remove(&mut self) -> Option<S::Value> {
        let (key, next) = (self.key()?, self.neighbours().1);
        match self.list.remove(self.store, key) {
            Ok(value) => {
                self.at = next;
                Some(value)
            }
            Err(_) => broken(self.list, key),
        }
    }

    /// Takes the value at the cursor out of the list, returns its key, and moves to the next one.
    /// The value stays in the slab. Returns `None` at the end. O(1).
    ///
    /// # Panics
    ///
    /// Panics where [`List::unlink`] does.
    #[track_caller]
    pub fn unlink(&mut self) -> Option<S::Key> {
        let (key, next) = (self.key()?, self.neighbours().1);
        match self.list.unlink(self.store, key) {
            Ok(()) => {
                self.at = next;
                Some(key)
            }
            Err(_) => broken(self.list, key),
        }
    }

    /// Inserts a value into the slab and before the cursor, at the end as the last one, and returns
    /// its key. O(1).
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Panics
    ///
    /// Panics where [`List::push_back`] does.
    #[track_caller]
    pub fn insert_before(&mut self, value: S::Value) -> Result<S::Key, FullError<S::Value>> {
        let (previous, next) = (self.neighbours().0, self.at);
        self.list.insert_between(self.store, previous, next, value)
    }

    /// Inserts a value into the slab and after the cursor, at the end as the first one, and returns
    /// its key. O(1).
    ///
    /// # Errors
    ///
    /// Returns the value if no slot is free and the slab cannot grow.
    ///
    /// # Panics
    ///
    /// Panics where [`List::push_back`] does.
    #[track_caller]
    pub fn insert_after(&mut self, value: S::Value) -> Result<S::Key, FullError<S::Value>> {
        let (previous, next) = (self.at, self.neighbours().1);
        self.list.insert_between(self.store, previous, next, value)
    }
}

impl<S: ?Sized + Store, O: SlabKey> fmt::Debug for Cursor<'_, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("list", &self.list)
            .field("at", &self.at)
            .finish()
    }
}
