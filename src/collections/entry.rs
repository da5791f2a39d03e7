//! The entry of a key in a [`Tree`] or a [`SortedMap`](super::SortedMap), for what depends on whether
//! it is there.

use core::fmt;

use super::nodes::{LEAF, NodeStore, Nodes};
use super::tree::{Tree, wrong};
use crate::error::FullError;
use crate::key::Key;

impl<K: Ord + Copy, V: Copy> Tree<K, V> {
    /// Returns the entry of a key, for what depends on whether it is there.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[inline]
    #[track_caller]
    pub fn entry<'a, N: NodeStore<K, V>>(
        &'a mut self,
        nodes: &'a mut N,
        key: K,
    ) -> Entry<'a, K, V, N> {
        let leaf = self.leaf_of(nodes, &key);
        let found = self
            .leaf(nodes, leaf)
            .map_or(Err(0), |leaf| leaf.find(&key));
        let (Ok(at) | Err(at)) = found;
        let place = EntryPlace {
            tree: self,
            nodes,
            leaf,
            at,
        };
        match found {
            Ok(_) => Entry::Occupied(OccupiedEntry { place }),
            Err(_) => Entry::Vacant(VacantEntry { place, key }),
        }
    }
}

/// The leaf and the place of an entry.
struct EntryPlace<'a, K, V, N> {
    tree: &'a mut Tree<K, V>,
    nodes: &'a mut N,
    leaf: Key,
    at: usize,
}

/// The entry of a key, from [`Tree::entry`] or [`SortedMap::entry`](super::SortedMap::entry).
pub enum Entry<'a, K, V, N = Nodes<K, V>> {
    /// The key is there.
    Occupied(OccupiedEntry<'a, K, V, N>),
    /// The key is not there.
    Vacant(VacantEntry<'a, K, V, N>),
}

/// An entry whose key is there.
pub struct OccupiedEntry<'a, K, V, N = Nodes<K, V>> {
    place: EntryPlace<'a, K, V, N>,
}

/// An entry whose key is not there.
pub struct VacantEntry<'a, K, V, N = Nodes<K, V>> {
    place: EntryPlace<'a, K, V, N>,
    key: K,
}

impl<'a, K, V, N> Entry<'a, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
    /// Inserts a value if the key is not there, and borrows the value.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for another node.
    #[inline]
    #[track_caller]
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Inserts the result of a call if the key is not there, and borrows the value.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for another node, or if the call panics.
    #[inline]
    #[track_caller]
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(value()),
        }
    }

    /// Changes the value if the key is there.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Entry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<'a, K, V, N> OccupiedEntry<'a, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
    /// Borrows the value.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get(&self) -> &V {
        let place = &self.place;
        match place.tree.leaf(place.nodes, place.leaf) {
            Some(leaf) => &leaf.entries.values[place.at],
            None => wrong(),
        }
    }

    /// Borrows the value mutably.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut V {
        let place = &mut self.place;
        match place.tree.leaf_mut(place.nodes, place.leaf) {
            Some(leaf) => &mut leaf.entries.values[place.at],
            None => wrong(),
        }
    }

    /// Borrows the value mutably, for as long as the tree and its nodes are borrowed.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn into_mut(self) -> &'a mut V {
        let place = self.place;
        match place.tree.leaf_mut(place.nodes, place.leaf) {
            Some(leaf) => &mut leaf.entries.values[place.at],
            None => wrong(),
        }
    }

    /// Removes the entry, and returns the value.
    #[track_caller]
    pub fn remove(self) -> V {
        let place = self.place;
        let ((_, value), _) = place.tree.remove_here(place.nodes, place.leaf, place.at);
        value
    }
}

impl<'a, K, V, N> VacantEntry<'a, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> K {
        self.key
    }

    /// Inserts a value, and borrows it.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for another node, where [`try_insert`](Self::try_insert) returns
    /// the value.
    #[inline]
    #[track_caller]
    pub fn insert(self, value: V) -> &'a mut V {
        match self.try_insert(value) {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }

    /// Inserts a value, and borrows it.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no memory for another node.
    #[inline]
    #[track_caller]
    pub fn try_insert(self, value: V) -> Result<&'a mut V, FullError<V>> {
        let EntryPlace {
            tree,
            nodes,
            leaf,
            at,
        } = self.place;
        let (leaf, at) = match tree.leaf_mut(nodes, leaf) {
            Some(there) if there.entries.len() < LEAF => {
                there.entries.insert(at, self.key, value);
                tree.len += 1;
                (leaf, at)
            }
            Some(_) => {
                let path = tree.path_again(nodes, &self.key, leaf);
                tree.split(nodes, &path, leaf, at, self.key, value)?
            }
            None => tree.plant(nodes, self.key, value)?,
        };
        match tree.leaf_mut(nodes, leaf) {
            Some(leaf) => Ok(&mut leaf.entries.values[at]),
            None => wrong(),
        }
    }
}

impl<K: fmt::Debug, V, N> fmt::Debug for Entry<'_, K, V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Occupied(entry) => entry.fmt(f),
            Entry::Vacant(entry) => entry.fmt(f),
        }
    }
}

impl<K, V, N> fmt::Debug for OccupiedEntry<'_, K, V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OccupiedEntry").finish_non_exhaustive()
    }
}

impl<K: fmt::Debug, V, N> fmt::Debug for VacantEntry<'_, K, V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VacantEntry").field(&self.key).finish()
    }
}
