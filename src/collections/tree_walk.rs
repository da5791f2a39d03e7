//! Walks over a [`Tree`] or a [`SortedMap`](super::SortedMap): an iterator from both ends, and a cursor
//! that changes the map.

use core::fmt;
use core::iter::FusedIterator;
use core::num::NonZeroU32;
use core::ops::{Bound, RangeBounds};

use super::nodes::{Leaf, NodeStore, Nodes};
use super::tree::{Tree, wrong};
use crate::key::Key;

impl<K: Ord + Copy, V: Copy> Tree<K, V> {
    /// Returns an iterator over all entries, in order. O(1), and O(1) for each entry.
    #[track_caller]
    pub fn iter<'a, N: NodeStore<K, V>>(&self, nodes: &'a N) -> Range<'a, K, V, N> {
        self.range(nodes, ..)
    }

    /// Returns an iterator over the entries whose keys are in a range, in order, from both ends.
    /// O(log n), and O(1) for each entry.
    ///
    /// A range whose start is above its end has no entries.
    #[track_caller]
    pub fn range<'a, N: NodeStore<K, V>>(
        &self,
        nodes: &'a N,
        range: impl RangeBounds<K>,
    ) -> Range<'a, K, V, N> {
        let (start, end) = (range.start_bound(), range.end_bound());
        let is_empty = match (start, end) {
            (Bound::Excluded(start), Bound::Excluded(end)) => start >= end,
            (
                Bound::Included(start) | Bound::Excluded(start),
                Bound::Included(end) | Bound::Excluded(end),
            ) => start > end,
            _ => false,
        };
        let (mut front, mut back) = ((None, 0), (None, 0));
        if !is_empty {
            let (leaf, at) = self.first_in(nodes, start);
            front = (self.leaf(nodes, leaf), at);
            let (leaf, at) = self.end_of(nodes, end);
            back = (self.leaf(nodes, leaf), at);
        }
        Range {
            nodes,
            front: front.0,
            front_at: front.1,
            back: back.0,
            back_at: back.1,
            number: self.number(),
            left: self.len,
        }
    }

    /// Returns a cursor at the first entry whose key is in the range that begins with this bound.
    ///
    /// ```
    /// use core::ops::Bound;
    /// use flatslab::collections::{Nodes, Tree};
    ///
    /// let mut nodes = Nodes::new();
    /// let mut tree = Tree::new();
    /// for key in [10, 20, 30] {
    ///     tree.insert(&mut nodes, key, 0);
    /// }
    /// let mut cursor = tree.lower_bound(&mut nodes, Bound::Excluded(&10));
    /// assert_eq!(cursor.remove(), Some((20, 0)));
    /// assert_eq!(cursor.current(), Some((&30, &mut 0)));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[track_caller]
    pub fn lower_bound<'a, N: NodeStore<K, V>>(
        &'a mut self,
        nodes: &'a mut N,
        bound: Bound<&K>,
    ) -> TreeCursor<'a, K, V, N> {
        let (leaf, at) = self.first_in(nodes, bound);
        let mut cursor = TreeCursor {
            tree: self,
            nodes,
            leaf,
            at,
        };
        cursor.skip_end_of_leaf();
        cursor
    }

    /// Returns a cursor at the last entry whose key is in the range that ends with this bound; at the
    /// end if there is none.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[track_caller]
    pub fn upper_bound<'a, N: NodeStore<K, V>>(
        &'a mut self,
        nodes: &'a mut N,
        bound: Bound<&K>,
    ) -> TreeCursor<'a, K, V, N> {
        let (leaf, at) = self.end_of(nodes, bound);
        let is_none = at == 0 && leaf == self.first;
        let mut cursor = TreeCursor {
            tree: self,
            nodes,
            leaf,
            at,
        };
        if is_none {
            cursor.leaf = Key::NONE;
        } else {
            cursor.move_previous();
        }
        cursor
    }
}

/// An iterator over entries in order, from [`Tree::range`] or
/// [`SortedMap::range`](super::SortedMap::range).
pub struct Range<'a, K, V, N = Nodes<K, V>> {
    nodes: &'a N,
    front: Option<&'a Leaf<K, V>>,
    /// The place of the next entry in `front`, or its length.
    front_at: usize,
    back: Option<&'a Leaf<K, V>>,
    /// The place after the last entry in `back`, or 0.
    back_at: usize,
    number: Option<NonZeroU32>,
    /// No more leaves than entries.
    left: u32,
}

impl<'a, K, V, N> Range<'a, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
    #[inline(always)]
    #[track_caller]
    fn leaf(&self, at: Key) -> Option<&'a Leaf<K, V>> {
        match self.nodes.leaf(at) {
            Some(leaf) if Some(leaf.entries.tree) == self.number => Some(leaf),
            None if at == Key::NONE => None,
            _ => wrong(),
        }
    }
}

impl<K, V, N> Range<'_, K, V, N> {
    /// Counts a leaf: an old copy of a tree may have made a cycle of them.
    #[track_caller]
    fn count(&mut self) {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => wrong(),
        }
    }
}

impl<'a, K, V, N> Iterator for Range<'a, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (mut leaf, back) = (self.front?, self.back?);
        loop {
            let is_last = core::ptr::eq(leaf, back);
            let len = leaf.entries.len();
            let end = if is_last { self.back_at.min(len) } else { len };
            if self.front_at < end {
                let at = self.front_at;
                self.front_at += 1;
                return Some((&leaf.entries.keys[at], &leaf.entries.values[at]));
            }
            self.front = if is_last { None } else { self.leaf(leaf.next) };
            self.front_at = 0;
            leaf = self.front?;
            self.count();
        }
    }
}

impl<K, V, N> DoubleEndedIterator for Range<'_, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let (front, mut leaf) = (self.front?, self.back?);
        loop {
            let is_first = core::ptr::eq(leaf, front);
            let start = if is_first { self.front_at } else { 0 };
            if self.back_at > start {
                self.back_at -= 1;
                let at = self.back_at;
                return Some((&leaf.entries.keys[at], &leaf.entries.values[at]));
            }
            self.back = if is_first {
                None
            } else {
                self.leaf(leaf.previous)
            };
            leaf = self.back?;
            self.count();
            self.back_at = leaf.entries.len();
        }
    }
}

impl<K, V, N> FusedIterator for Range<'_, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
}

impl<K, V, N> Clone for Range<'_, K, V, N> {
    fn clone(&self) -> Self {
        Range { ..*self }
    }
}

impl<K, V, N> fmt::Debug for Range<'_, K, V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").finish_non_exhaustive()
    }
}

/// A place in a [`Tree`] or a [`SortedMap`](super::SortedMap): at an entry, or at the end, which lies
/// between the last and the first entry.
pub struct TreeCursor<'a, K, V, N = Nodes<K, V>> {
    tree: &'a mut Tree<K, V>,
    nodes: &'a mut N,
    /// `NONE` at the end.
    leaf: Key,
    at: usize,
}

impl<K, V, N> TreeCursor<'_, K, V, N>
where
    K: Ord + Copy,
    V: Copy,
    N: NodeStore<K, V>,
{
    /// Borrows the key, and the value mutably, of the entry at the cursor. Returns `None` at the end.
    /// O(1).
    #[track_caller]
    pub fn current(&mut self) -> Option<(&K, &mut V)> {
        let entries = &mut self.tree.leaf_mut(self.nodes, self.leaf)?.entries;
        Some((&entries.keys[self.at], &mut entries.values[self.at]))
    }

    /// Returns the key of the entry at the cursor. Returns `None` at the end. O(1).
    #[must_use]
    #[track_caller]
    pub fn key(&self) -> Option<K> {
        let leaf = self.tree.leaf(self.nodes, self.leaf)?;
        Some(leaf.entries.keys[self.at])
    }

    /// Moves to the next entry; from the last one to the end, and from there to the first one. O(1).
    #[track_caller]
    pub fn move_next(&mut self) {
        if self.leaf == Key::NONE {
            (self.leaf, self.at) = (self.tree.first, 0);
        } else {
            self.at += 1;
            self.skip_end_of_leaf();
        }
    }

    /// Moves to the previous entry; from the first one to the end, and from there to the last one.
    /// O(1).
    #[track_caller]
    pub fn move_previous(&mut self) {
        if self.leaf != Key::NONE && self.at > 0 {
            self.at -= 1;
            return;
        }
        let leaf = match self.tree.leaf(self.nodes, self.leaf) {
            Some(leaf) => leaf.previous,
            None => self.tree.last,
        };
        let len = self
            .tree
            .leaf(self.nodes, leaf)
            .map_or(0, |leaf| leaf.entries.len());
        (self.leaf, self.at) = (leaf, len.saturating_sub(1));
    }

    /// Removes the entry at the cursor, returns it, and moves to the next one. Returns `None` at the
    /// end. O(log n).
    #[track_caller]
    pub fn remove(&mut self) -> Option<(K, V)> {
        self.tree.leaf(self.nodes, self.leaf)?;
        let (entry, next) = self.tree.remove_here(self.nodes, self.leaf, self.at);
        (self.leaf, self.at) = next;
        self.skip_end_of_leaf();
        Some(entry)
    }

    /// Moves from the end of a leaf to the beginning of the next one.
    #[track_caller]
    fn skip_end_of_leaf(&mut self) {
        match self.tree.leaf(self.nodes, self.leaf) {
            Some(leaf) if self.at >= leaf.entries.len() => {
                (self.leaf, self.at) = (leaf.next, 0);
            }
            _ => {}
        }
    }
}

impl<K, V, N> fmt::Debug for TreeCursor<'_, K, V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeCursor").finish_non_exhaustive()
    }
}
