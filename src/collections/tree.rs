//! `Tree`: a sorted map in [`Nodes`] that it shares with other trees.
//!
//! A B+ tree: all entries are in leaves, which are chained in order, and inner nodes have the keys
//! that separate their children. A comparison happens in a search only, before anything has changed,
//! so it may panic.
//!
//! # Invariants
//!
//! They hold if the order of keys is consistent, and the tree is used with its nodes, and not by an
//! older copy. Otherwise a method panics or answers wrongly.
//!
//! * `tree-separated`: the keys below child `i` of an inner node are at least `keys[i]` and below
//!   `keys[i + 1]`; `keys[0]` means nothing.
//! * `tree-chained`: leaves are linked in order, from `first` to `last`. None is empty.
//! * `tree-counted`: `len` is the number of entries, and the depth of every leaf is `depth`.

use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::ops::{Bound, RangeBounds};

use super::nodes::{Entries, INNER, Inner, LEAF, Leaf, MOST_LEVELS, NodeStore};
use crate::error::FullError;
use crate::key::Key;

#[cfg(doc)]
use super::nodes::Nodes;

/// A leaf of fewer entries, or one more, is merged with a neighbour, if both fit in one.
pub(super) const FEW_ENTRIES: usize = LEAF / 4;

/// An inner node of fewer children, or one more, is merged with a neighbour, if both fit in one.
const FEW_CHILDREN: usize = INNER / 4;

/// A sorted map in [`Nodes`], to be used with the same nodes always: 24 bytes, `Copy`.
///
/// It is for programs with many maps, such as an order book for each of thousands of instruments: all
/// of them have one memory, and one bound. [`SortedMap`](super::SortedMap) is one tree that owns its
/// nodes.
///
/// The tree is plain data, which is copied and rewound with the value that contains it. Keys are
/// distinct: for several values under one key, use pairs of the key and a number. Each node has the number of its tree. So a tree that is used with other nodes, or an old copy of a
/// tree, does not change another tree: the operation panics when it meets such a node, or answers
/// wrongly. Each [`Nodes`] counts from 1, so trees of two `Nodes` may have the same number, and are
/// then not told apart.
///
/// Dropping a tree leaves its nodes. [`clear`](Self::clear) frees them, and so does
/// [`Nodes::free_tree`].
///
/// # Complexity
///
/// O(log n) for n entries, unless a method says otherwise; an insertion, or a removal, writes to at
/// most three nodes of each level. Memory is allocated only by an insertion, if the store of the
/// nodes grows.
///
/// # Examples
///
/// ```
/// use flatslab::collections::{Nodes, Tree};
///
/// let mut nodes = Nodes::new();
/// let mut books = [Tree::new(); 3];
/// books[0].insert(&mut nodes, 101, 5);
/// books[0].insert(&mut nodes, 100, 7);
/// books[2].insert(&mut nodes, 50, 1);
/// assert_eq!(books[0].pop_first(&mut nodes), Some((100, 7)));
/// assert!(books[0].iter(&nodes).eq([(&101, &5)]));
/// ```
#[derive(Clone, Copy)]
#[doc(alias("BTreeMap", "map"))]
pub struct Tree<K, V> {
    root: Key,
    pub(super) first: Key,
    pub(super) last: Key,
    depth: u32,
    pub(super) len: u32,
    number: Option<NonZeroU32>,
    entries: PhantomData<fn() -> (K, V)>,
}

const _: () = assert!(size_of::<Tree<u64, u64>>() == 24);

/// The way to a leaf: inner nodes, and the place of the child that was taken.
pub(super) struct Path {
    steps: [(Key, usize); MOST_LEVELS],
    depth: usize,
}

impl Path {
    fn steps(&self) -> &[(Key, usize)] {
        &self.steps[..self.depth]
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn wrong() -> ! {
    panic!(
        "a node of the tree is not there: it was used with other nodes, or it is an old copy, or \
         the order of its keys is inconsistent"
    )
}

/// One entry less. An old copy of a tree may count more of them than there are.
#[inline(always)]
#[track_caller]
fn one_less(len: u32) -> u32 {
    match len.checked_sub(1) {
        Some(len) => len,
        None => wrong(),
    }
}

impl<K, V> Tree<K, V> {
    /// Creates an empty tree, which has no nodes.
    #[must_use]
    pub const fn new() -> Self {
        Tree {
            root: Key::NONE,
            first: Key::NONE,
            last: Key::NONE,
            depth: 0,
            len: 0,
            number: None,
            entries: PhantomData,
        }
    }

    /// Returns the number of entries. O(1).
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns `true` if there is no entry. O(1).
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number that the nodes of this tree have. Returns `None` if it is empty. O(1).
    #[must_use]
    pub const fn number(&self) -> Option<NonZeroU32> {
        self.number
    }
}

impl<K: Ord + Copy, V: Copy> Tree<K, V> {
    /// Borrows the value of a key. Returns `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// Panics if these are not the tree's nodes, as far as that is seen.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get<'a, N: NodeStore<K, V>>(&self, nodes: &'a N, key: &K) -> Option<&'a V>
    where
        K: 'a,
    {
        let leaf = self.leaf(nodes, self.leaf_of(nodes, key))?;
        let at = leaf.find(key).ok()?;
        Some(&leaf.entries.values[at])
    }

    /// Borrows the value of a key mutably. Returns `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get_mut<'a, N: NodeStore<K, V>>(&self, nodes: &'a mut N, key: &K) -> Option<&'a mut V>
    where
        K: 'a,
    {
        let leaf = self.leaf_of(nodes, key);
        let leaf = self.leaf_mut(nodes, leaf)?;
        let at = leaf.find(key).ok()?;
        Some(&mut leaf.entries.values[at])
    }

    /// Returns `true` if the key is there.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[inline]
    #[must_use]
    #[track_caller]
    #[doc(alias = "contains_key")]
    pub fn contains<N: NodeStore<K, V>>(&self, nodes: &N, key: &K) -> bool {
        self.get(nodes, key).is_some()
    }

    /// Borrows the smallest key and its value. Returns `None` if there is none. O(1).
    #[inline]
    #[must_use]
    #[track_caller]
    #[doc(alias = "first_key_value")]
    pub fn first<'a, N: NodeStore<K, V>>(&self, nodes: &'a N) -> Option<(&'a K, &'a V)> {
        let entries = &self.leaf(nodes, self.first)?.entries;
        Some((&entries.keys[0], &entries.values[0]))
    }

    /// Borrows the largest key and its value. Returns `None` if there is none. O(1).
    #[inline]
    #[must_use]
    #[track_caller]
    #[doc(alias = "last_key_value")]
    pub fn last<'a, N: NodeStore<K, V>>(&self, nodes: &'a N) -> Option<(&'a K, &'a V)> {
        let entries = &self.leaf(nodes, self.last)?.entries;
        let end = entries.len().checked_sub(1)?;
        Some((&entries.keys[end], &entries.values[end]))
    }

    /// Inserts an entry. Returns the value that the key had, which is replaced; the key is not.
    ///
    /// # Panics
    ///
    /// Panics if there is no memory for another node, where [`try_insert`](Self::try_insert) returns
    /// an error, and where [`get`](Self::get) does.
    #[inline]
    #[track_caller]
    pub fn insert<N: NodeStore<K, V>>(&mut self, nodes: &mut N, key: K, value: V) -> Option<V> {
        match self.try_insert(nodes, key, value) {
            Ok(old) => old,
            Err(error) => panic!("{error}"),
        }
    }

    /// Inserts an entry. Returns the value that the key had, which is replaced; the key is not.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no memory for another node. Nothing has changed then.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[inline]
    #[track_caller]
    pub fn try_insert<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        key: K,
        value: V,
    ) -> Result<Option<V>, FullError<V>> {
        let at = self.leaf_of(nodes, &key);
        let Some(leaf) = self.leaf_mut(nodes, at) else {
            self.plant(nodes, key, value)?;
            return Ok(None);
        };
        match leaf.find(&key) {
            Ok(at) => Ok(Some(core::mem::replace(
                &mut leaf.entries.values[at],
                value,
            ))),
            Err(place) if leaf.entries.len() < LEAF => {
                leaf.entries.insert(place, key, value);
                self.len += 1;
                Ok(None)
            }
            Err(place) => {
                let path = self.path_again(nodes, &key, at);
                self.split(nodes, &path, at, place, key, value)?;
                Ok(None)
            }
        }
    }

    /// Removes a key, and returns its value. Returns `None` if the key is not there.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[inline]
    #[track_caller]
    pub fn remove<N: NodeStore<K, V>>(&mut self, nodes: &mut N, key: &K) -> Option<V> {
        let at = self.leaf_of(nodes, key);
        let leaf = self.leaf_mut(nodes, at)?;
        let place = leaf.find(key).ok()?;
        if leaf.entries.len() > FEW_ENTRIES + 1 {
            self.len = one_less(self.len);
            return Some(leaf.entries.remove(place).1);
        }
        // Its comparisons come before the change.
        let path = self.path_again(nodes, key, at);
        let ((_, value), _) = self.remove_at(nodes, &path, at, place);
        Some(value)
    }

    /// Removes the smallest key, and returns it with its value. Returns `None` if there is none. O(1)
    /// amortized.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[inline]
    #[track_caller]
    pub fn pop_first<N: NodeStore<K, V>>(&mut self, nodes: &mut N) -> Option<(K, V)> {
        let at = self.first;
        let leaf = self.leaf_mut(nodes, at)?;
        if leaf.entries.len() > 1 {
            self.len = one_less(self.len);
            return Some(leaf.entries.remove(0));
        }
        let path = self.edge(nodes, at, |_| 0);
        Some(self.remove_at(nodes, &path, at, 0).0)
    }

    /// Removes the largest key, and returns it with its value. Returns `None` if there is none. O(1)
    /// amortized.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[inline]
    #[track_caller]
    pub fn pop_last<N: NodeStore<K, V>>(&mut self, nodes: &mut N) -> Option<(K, V)> {
        let at = self.last;
        let leaf = self.leaf_mut(nodes, at)?;
        let len = leaf.entries.len();
        if len > 1 {
            self.len = one_less(self.len);
            return Some(leaf.entries.remove(len - 1));
        }
        let path = self.edge(nodes, at, |len| len - 1);
        Some(self.remove_at(nodes, &path, at, 0).0)
    }

    /// Calls `change` with each entry whose key is in a range, in order. O(log n), and O(1) for each
    /// entry.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does, or if `change` panics.
    #[track_caller]
    #[doc(alias("range_mut", "iter_mut"))]
    pub fn for_each_mut<N: NodeStore<K, V>>(
        &self,
        nodes: &mut N,
        range: impl RangeBounds<K>,
        mut change: impl FnMut(&K, &mut V),
    ) {
        let (mut at, mut place) = self.first_in(nodes, range.start_bound());
        let mut left = self.len + 1;
        while let Some(leaf) = self.leaf_mut(nodes, at) {
            left = one_less(left);
            let len = leaf.entries.len();
            for place in place..len {
                let key = &leaf.entries.keys[place];
                if !(Bound::Unbounded, range.end_bound()).contains(key) {
                    return;
                }
                change(key, &mut leaf.entries.values[place]);
            }
            (at, place) = (leaf.next, 0);
        }
    }

    /// Moves the entries from a key on to a new tree in the same nodes. O(log n), and O(1) for each
    /// entry that is moved.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory for the nodes of the new tree, which are allocated
    /// before those of this tree are freed. Nothing has changed then.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[track_caller]
    pub fn split_off<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        key: &K,
    ) -> Result<Self, FullError<()>> {
        let mut split = Self::new();
        let (mut at, mut place) = self.first_in(nodes, Bound::Included(key));
        let mut left = self.len + 1;
        while let Some(&leaf) = self.leaf(nodes, at) {
            left = one_less(left);
            for place in place..leaf.entries.len() {
                let (key, value) = (leaf.entries.keys[place], leaf.entries.values[place]);
                if split.push_last(nodes, key, value).is_err() {
                    split.clear(nodes);
                    return Err(FullError(()));
                }
            }
            (at, place) = (leaf.next, 0);
        }
        for _ in 0..split.len() {
            self.pop_last(nodes);
        }
        Ok(split)
    }

    /// Inserts an entry whose key is above all others, without a comparison.
    fn push_last<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        key: K,
        value: V,
    ) -> Result<(), FullError<V>> {
        let at = self.last;
        let Some(leaf) = self.leaf_mut(nodes, at) else {
            self.plant(nodes, key, value)?;
            return Ok(());
        };
        let len = leaf.entries.len();
        if len < LEAF {
            leaf.entries.insert(len, key, value);
            self.len += 1;
        } else {
            let path = self.edge(nodes, at, |len| len - 1);
            self.split(nodes, &path, at, LEAF, key, value)?;
        }
        Ok(())
    }

    /// Moves all entries of another tree in the same nodes to this one. The values of keys that are
    /// in both are replaced. O(m log n) for the m entries of the other tree.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no memory for another node. Each entry is in one of the trees
    /// then.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does.
    #[track_caller]
    pub fn append<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        other: &mut Self,
    ) -> Result<(), FullError<()>> {
        while let Some((&key, &value)) = other.first(nodes) {
            if self.try_insert(nodes, key, value).is_err() {
                return Err(FullError(()));
            }
            other.pop_first(nodes);
        }
        Ok(())
    }

    /// Removes the entries for which `keep` returns `false`. O(n), and O(log n) for each entry that is
    /// removed.
    ///
    /// # Panics
    ///
    /// Panics where [`get`](Self::get) does, or if `keep` panics; the rest of the entries is kept
    /// then.
    #[track_caller]
    pub fn retain<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        mut keep: impl FnMut(&K, &mut V) -> bool,
    ) {
        let mut cursor = self.lower_bound(nodes, Bound::Unbounded);
        while let Some((key, value)) = cursor.current() {
            if keep(key, value) {
                cursor.move_next();
            } else {
                cursor.remove();
            }
        }
    }

    /// Removes all entries, and frees the nodes. O(nodes).
    #[track_caller]
    pub fn clear<N: NodeStore<K, V>>(&mut self, nodes: &mut N) {
        let mut leaf = self.first;
        while let Some(next) = self.leaf(nodes, leaf).map(|leaf| leaf.next) {
            nodes.remove_leaf(leaf);
            leaf = next;
        }
        if self.depth > 0 {
            self.clear_inner(nodes, self.root, self.depth);
        }
        *self = Tree::new();
    }

    /// Frees an inner node, and those below it.
    fn clear_inner<N: NodeStore<K, V>>(&self, nodes: &mut N, at: Key, depth: u32) {
        let inner = *self.inner(nodes, at);
        nodes.remove_inner(at);
        if depth > 1 {
            for child in &inner.children.values[..inner.children.len()] {
                self.clear_inner(nodes, *child, depth - 1);
            }
        }
    }

    /// A leaf of this tree (`node-tree`). `None` only for a key of no leaf.
    #[inline(always)]
    #[track_caller]
    pub(super) fn leaf<'a, N: NodeStore<K, V>>(
        &self,
        nodes: &'a N,
        at: Key,
    ) -> Option<&'a Leaf<K, V>> {
        match nodes.leaf(at) {
            Some(leaf) if Some(leaf.entries.tree) == self.number => Some(leaf),
            None if at == Key::NONE => None,
            _ => wrong(),
        }
    }

    /// A leaf of this tree, which changes. `None` only for a key of no leaf.
    #[inline(always)]
    #[track_caller]
    pub(super) fn leaf_mut<'a, N: NodeStore<K, V>>(
        &self,
        nodes: &'a mut N,
        at: Key,
    ) -> Option<&'a mut Leaf<K, V>> {
        match nodes.leaf_mut(at) {
            Some(leaf) if Some(leaf.entries.tree) == self.number => Some(leaf),
            None if at == Key::NONE => None,
            _ => wrong(),
        }
    }

    /// An inner node of this tree.
    #[inline(always)]
    #[track_caller]
    fn inner<'a, N: NodeStore<K, V>>(&self, nodes: &'a N, at: Key) -> &'a Inner<K> {
        match nodes.inner(at) {
            Some(inner) if Some(inner.children.tree) == self.number => inner,
            _ => wrong(),
        }
    }

    /// An inner node of this tree, which changes.
    #[track_caller]
    fn inner_mut<'a, N: NodeStore<K, V>>(&self, nodes: &'a mut N, at: Key) -> &'a mut Inner<K> {
        match nodes.inner_mut(at) {
            Some(inner) if Some(inner.children.tree) == self.number => inner,
            _ => wrong(),
        }
    }

    /// The leaf that has a key, if any has; `NONE` if there is no leaf.
    ///
    /// The numbers of inner nodes are not compared here: what is reached is a leaf, whose number is.
    #[inline(always)]
    #[track_caller]
    pub(super) fn leaf_of<N: NodeStore<K, V>>(&self, nodes: &N, key: &K) -> Key {
        let mut at = self.root;
        for _ in 0..self.depth {
            let Some(inner) = nodes.inner(at) else {
                wrong()
            };
            at = inner.children.values[inner.search(key)];
        }
        at
    }

    /// The path to the leaf that a search has found.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn path_again<N: NodeStore<K, V>>(&self, nodes: &N, key: &K, leaf: Key) -> Path {
        let (path, found) = self.path(nodes, |inner| inner.search(key));
        if found != leaf {
            wrong()
        }
        path
    }

    /// The path to the first or the last leaf.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn edge<N: NodeStore<K, V>>(
        &self,
        nodes: &N,
        leaf: Key,
        which: impl Fn(usize) -> usize,
    ) -> Path {
        let (path, found) = self.path(nodes, |inner| which(inner.children.len()));
        if found != leaf {
            wrong()
        }
        path
    }

    #[track_caller]
    fn path<N: NodeStore<K, V>>(
        &self,
        nodes: &N,
        choose: impl Fn(&Inner<K>) -> usize,
    ) -> (Path, Key) {
        let depth = self.depth as usize;
        let mut path = Path {
            steps: [(Key::NONE, 0); MOST_LEVELS],
            depth,
        };
        let mut at = self.root;
        for step in &mut path.steps[..depth] {
            let inner = self.inner(nodes, at);
            let child = choose(inner);
            *step = (at, child);
            at = inner.children.values[child];
        }
        (path, at)
    }

    /// The place of the first entry in a range that begins with this bound, or the end of the leaf
    /// before it.
    #[track_caller]
    pub(super) fn first_in<N: NodeStore<K, V>>(&self, nodes: &N, bound: Bound<&K>) -> (Key, usize) {
        let (key, skips) = match bound {
            Bound::Unbounded => return (self.first, 0),
            Bound::Included(key) => (key, 0),
            Bound::Excluded(key) => (key, 1),
        };
        let leaf = self.leaf_of(nodes, key);
        let found = self.leaf(nodes, leaf).map_or(Err(0), |leaf| leaf.find(key));
        match found {
            Ok(at) => (leaf, at + skips),
            Err(at) => (leaf, at),
        }
    }

    /// The place after the last entry in a range that ends with this bound, in the same leaf or at
    /// the beginning of the next one.
    #[track_caller]
    pub(super) fn end_of<N: NodeStore<K, V>>(&self, nodes: &N, bound: Bound<&K>) -> (Key, usize) {
        match bound {
            Bound::Unbounded => {
                let len = self
                    .leaf(nodes, self.last)
                    .map_or(0, |leaf| leaf.entries.len());
                (self.last, len)
            }
            Bound::Included(key) => self.first_in(nodes, Bound::Excluded(key)),
            Bound::Excluded(key) => self.first_in(nodes, Bound::Included(key)),
        }
    }

    /// Creates the first leaf.
    #[cold]
    #[inline(never)]
    pub(super) fn plant<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        key: K,
        value: V,
    ) -> Result<(Key, usize), FullError<V>> {
        let number = nodes.next_number();
        let leaf = Leaf {
            previous: Key::NONE,
            next: Key::NONE,
            entries: Entries::one(number, key, value),
        };
        match nodes.insert_leaf(leaf) {
            Some(leaf) => {
                *self = Tree {
                    root: leaf,
                    first: leaf,
                    last: leaf,
                    depth: 0,
                    len: 1,
                    number: Some(number),
                    entries: PhantomData,
                };
                Ok((leaf, 0))
            }
            None => Err(FullError(value)),
        }
    }

    /// Splits a full leaf, and inserts an entry at a place of it. Returns where the entry is.
    ///
    /// All nodes are allocated before any is changed.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(super) fn split<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        path: &Path,
        at: Key,
        place: usize,
        key: K,
        value: V,
    ) -> Result<(Key, usize), FullError<V>> {
        let Some(&(mut left)) = self.leaf(nodes, at) else {
            wrong()
        };
        let (after, number) = (left.next, left.entries.tree);
        // Insertions in ascending order leave full leaves.
        let appends = place == LEAF && after == Key::NONE;
        let cut = match place {
            _ if appends => LEAF,
            _ if place > LEAF / 2 => LEAF / 2 + 1,
            _ => LEAF / 2,
        };
        let mut right = Leaf {
            previous: at,
            next: after,
            entries: left.entries.split(cut),
        };
        let in_left = place < cut || (place == cut && place <= LEAF / 2);
        if appends {
            right.entries = Entries::one(number, key, value);
        } else if in_left {
            left.entries.insert(place, key, value);
        } else {
            right.entries.insert(place - cut, key, value);
        }
        let Some((new_leaf, mut spare)) = self.allocate(nodes, path, right) else {
            return Err(FullError(value));
        };

        left.next = new_leaf;
        if let Some(leaf) = self.leaf_mut(nodes, at) {
            *leaf = left;
        }
        match self.leaf_mut(nodes, after) {
            Some(after) => after.previous = new_leaf,
            None => self.last = new_leaf,
        }
        self.len += 1;
        let there = if in_left {
            (at, place)
        } else {
            (new_leaf, place - cut)
        };

        let (mut separator, mut new) = (right.entries.keys[0], new_leaf);
        for &(at, child) in path.steps().iter().rev() {
            let inner = self.inner_mut(nodes, at);
            let place = child + 1;
            if inner.children.len() < INNER {
                inner.children.insert(place, separator, new);
                return Ok(there);
            }
            let cut = if place == INNER { INNER - 1 } else { INNER / 2 };
            let mut right = inner.children.split(cut);
            if place <= cut {
                inner.children.insert(place, separator, new);
            } else {
                right.insert(place - cut, separator, new);
            }
            separator = right.keys[0];
            new = spare.next();
            self.inner_mut(nodes, new).children = right;
        }
        let mut root = Entries::one(number, separator, self.root);
        root.insert(1, separator, new);
        self.root = spare.next();
        self.inner_mut(nodes, self.root).children = root;
        self.depth += 1;
        Ok(there)
    }

    /// Allocates a leaf, and as many inner nodes as will be split on a path, with a new root if all
    /// are. `None` if one is refused; nothing has changed then.
    fn allocate<N: NodeStore<K, V>>(
        &self,
        nodes: &mut N,
        path: &Path,
        leaf: Leaf<K, V>,
    ) -> Option<(Key, Spare)> {
        let is_full = |(at, _): &&(Key, usize)| self.inner(nodes, *at).children.len() == INNER;
        let full = path.steps().iter().rev().take_while(is_full).count();
        let needed = full + usize::from(full == path.depth);
        assert!(path.depth + 1 < MOST_LEVELS, "too many levels");
        let empty = Inner {
            children: Entries::one(leaf.entries.tree, leaf.entries.keys[0], Key::NONE),
        };
        let new = nodes.insert_leaf(leaf)?;
        let mut spare = Spare {
            inners: [Key::NONE; MOST_LEVELS],
            count: 0,
        };
        for _ in 0..needed {
            let Some(inner) = nodes.insert_inner(empty) else {
                nodes.remove_leaf(new);
                while spare.count > 0 {
                    nodes.remove_inner(spare.next());
                }
                return None;
            };
            spare.inners[spare.count] = inner;
            spare.count += 1;
        }
        Some((new, spare))
    }

    /// Removes an entry of a leaf. Merges the leaf with a neighbour if few are left, or frees it if
    /// none is; then the same above. Returns the entry, and the place of the next one, which may be the
    /// end of a leaf.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn remove_at<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        path: &Path,
        at: Key,
        place: usize,
    ) -> ((K, V), (Key, usize)) {
        let Some(leaf) = self.leaf_mut(nodes, at) else {
            wrong()
        };
        if place >= leaf.entries.len() {
            wrong()
        }
        self.len = one_less(self.len);
        let entry = leaf.entries.remove(place);
        let len = leaf.entries.len();
        let Some((&(parent, child), above)) = path.steps().split_last() else {
            if len == 0 {
                nodes.remove_leaf(at);
                *self = Tree::new();
                return (entry, (Key::NONE, 0));
            }
            return (entry, (at, place));
        };
        let siblings = self.inner(nodes, parent).children;
        let is_leaf_with = |nodes: &N, other: usize| {
            let other = self.leaf(nodes, siblings.values[other]);
            other.is_some_and(|other| other.entries.len() + len <= LEAF)
        };
        // The place of the child that goes.
        let gone = if len == 0 {
            child
        } else if child + 1 < siblings.len() && is_leaf_with(nodes, child + 1) {
            child + 1
        } else if child > 0 && is_leaf_with(nodes, child - 1) {
            child
        } else {
            return (entry, (at, place));
        };
        let (left, is_left) = match gone {
            _ if len == 0 => (Key::NONE, false),
            _ => (siblings.values[gone - 1], gone > child),
        };
        let next = match self.leaf(nodes, left) {
            _ if is_left => (at, place),
            Some(left_leaf) => (left, left_leaf.entries.len() + place),
            None => (self.leaf(nodes, at).map_or(Key::NONE, |leaf| leaf.next), 0),
        };
        self.free_leaf(nodes, siblings.values[gone], left, len > 0);
        self.inner_mut(nodes, parent).children.remove(gone);
        self.merge_inners(nodes, above, parent);
        (entry, next)
    }

    /// Takes a leaf out of the chain, and frees it. Its entries are moved to the leaf before it, or it
    /// has none.
    #[track_caller]
    fn free_leaf<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        at: Key,
        before: Key,
        has_entries: bool,
    ) {
        let Some(&leaf) = self.leaf(nodes, at) else {
            wrong()
        };
        if has_entries && leaf.previous != before {
            wrong()
        }
        match self.leaf_mut(nodes, leaf.previous) {
            Some(previous) => {
                previous.next = leaf.next;
                if has_entries {
                    previous.entries.absorb(&leaf.entries);
                }
            }
            None => self.first = leaf.next,
        }
        match self.leaf_mut(nodes, leaf.next) {
            Some(next) => next.previous = leaf.previous,
            None => self.last = leaf.previous,
        }
        nodes.remove_leaf(at);
    }

    /// Merges inner nodes of few children with a neighbour, from the one at the end of a path upwards;
    /// then removes roots of one child.
    #[track_caller]
    fn merge_inners<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        mut above: &[(Key, usize)],
        mut at: Key,
    ) {
        while let Some((&(parent, child), rest)) = above.split_last() {
            let len = self.inner(nodes, at).children.len();
            if len > FEW_CHILDREN {
                return;
            }
            let siblings = self.inner(nodes, parent).children;
            let fits = |nodes: &N, other: usize| {
                self.inner(nodes, siblings.values[other]).children.len() + len <= INNER
            };
            let gone = if len == 0 {
                child
            } else if child + 1 < siblings.len() && fits(nodes, child + 1) {
                child + 1
            } else if child > 0 && fits(nodes, child - 1) {
                child
            } else {
                return;
            };
            if len > 0 {
                let mut right = self.inner(nodes, siblings.values[gone]).children;
                // The first key of an inner node means nothing; now it separates.
                right.keys[0] = siblings.keys[gone];
                let left = self.inner_mut(nodes, siblings.values[gone - 1]);
                left.children.absorb(&right);
            }
            nodes.remove_inner(siblings.values[gone]);
            self.inner_mut(nodes, parent).children.remove(gone);
            (above, at) = (rest, parent);
        }
        while self.depth > 0 && self.inner(nodes, self.root).children.len() == 1 {
            let root = self.inner(nodes, self.root).children.values[0];
            nodes.remove_inner(self.root);
            self.root = root;
            self.depth -= 1;
        }
    }
}

/// Inner nodes that were allocated for a split.
struct Spare {
    inners: [Key; MOST_LEVELS],
    count: usize,
}

impl Spare {
    fn next(&mut self) -> Key {
        self.count -= 1;
        self.inners[self.count]
    }
}

impl<K, V> Default for Tree<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> fmt::Debug for Tree<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("len", &self.len)
            .field("depth", &self.depth)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl<K: Ord + Copy, V: Copy> Tree<K, V> {
    /// Removes the entry at a place. Returns it, and the place of the next one.
    #[track_caller]
    pub(super) fn remove_here<N: NodeStore<K, V>>(
        &mut self,
        nodes: &mut N,
        at: Key,
        place: usize,
    ) -> ((K, V), (Key, usize)) {
        let Some(leaf) = self.leaf_mut(nodes, at) else {
            wrong()
        };
        if leaf.entries.len() > FEW_ENTRIES + 1 {
            self.len = one_less(self.len);
            return (leaf.entries.remove(place), (at, place));
        }
        let key = leaf.entries.keys[place];
        let path = self.path_again(nodes, &key, at);
        self.remove_at(nodes, &path, at, place)
    }
}

/// The check of the invariants.
#[cfg(any(test, fuzzing))]
impl<K: Ord + Copy + fmt::Debug, V: Copy> Tree<K, V> {
    /// Panics if an invariant does not hold.
    pub fn check<N: NodeStore<K, V>>(&self, nodes: &N) {
        let mut chain = Chain {
            previous: Key::NONE,
            next: self.first,
            len: 0,
        };
        if self.root != Key::NONE {
            self.check_node(nodes, self.root, self.depth, [None, None], &mut chain);
        }
        let ends = (chain.next, chain.previous);
        assert_eq!(ends, (Key::NONE, self.last), "tree-chained");
        assert_eq!(chain.len, self.len(), "tree-counted");
        assert_eq!(self.number.is_none(), self.is_empty());
    }

    fn check_node<N: NodeStore<K, V>>(
        &self,
        nodes: &N,
        at: Key,
        depth: u32,
        [low, high]: [Option<K>; 2],
        chain: &mut Chain,
    ) {
        if depth == 0 {
            assert_eq!(at, chain.next, "tree-chained");
            let leaf = self.leaf(nodes, at).unwrap();
            assert_eq!(leaf.previous, chain.previous, "tree-chained");
            (chain.previous, chain.next) = (at, leaf.next);
            let entries = &leaf.entries;
            chain.len += entries.len();
            let keys = &entries.keys[..entries.len()];
            assert!(!keys.is_empty() && entries.keys.is_sorted(), "node-sorted");
            assert!(keys.windows(2).all(|two| two[0] < two[1]), "node-sorted");
            assert!(low.is_none_or(|low| low <= keys[0]), "tree-separated");
            let last = keys[keys.len() - 1];
            assert!(high.is_none_or(|high| last < high), "tree-separated");
            return;
        }
        let children = &self.inner(nodes, at).children;
        let len = children.len();
        assert!(len > 0 && children.keys[1..].is_sorted(), "node-sorted");
        for i in 0..len {
            let low = if i == 0 { low } else { Some(children.keys[i]) };
            let high = if i + 1 == len {
                high
            } else {
                Some(children.keys[i + 1])
            };
            self.check_node(nodes, children.values[i], depth - 1, [low, high], chain);
        }
    }
}

/// The chain of leaves, as far as it was checked.
#[cfg(any(test, fuzzing))]
struct Chain {
    previous: Key,
    next: Key,
    len: usize,
}
