//! The nodes of sorted maps: leaves and inner nodes of B+ trees, which are values of two slabs.
//!
//! # Invariants
//!
//! * `node-sorted`: the whole array of keys of a node ascends, also past `len`, where no key is below
//!   the last one. So a search compares keys of the whole array, without a branch on `len`. Of an
//!   inner node the first key means nothing, and the others do.
//! * `node-tree`: `tree` is the number of the tree that the node is of. A number is given once.

use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;

use super::Capacity;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::key::Key;
use crate::key_slab::{KeySlab, PlainSlab, Storage};
use crate::memory::Pages;
use crate::raw::memory;
use crate::store::Store;

#[cfg(doc)]
use super::Tree;
#[cfg(doc)]
use crate::key_slab::{BoundedKeySlab, CheckpointSlab};

/// Entries of a leaf: with keys and values of 8 bytes it has 256 bytes.
pub(super) const LEAF: usize = 15;

/// Children of an inner node: with keys of 8 bytes it has 256 bytes.
pub(super) const INNER: usize = 20;

/// More levels than any tree has: an inner node has at least two children, and there are fewer than
/// 2^30 leaves, so a tree of more was built by a comparison that lies.
pub(super) const MOST_LEVELS: usize = 32;

/// Keys in ascending order, each with a value.
#[derive(Clone, Copy)]
pub(super) struct Entries<K, V, const N: usize> {
    len: u32,
    pub(super) tree: NonZeroU32,
    pub(super) keys: [K; N],
    pub(super) values: [V; N],
}

impl<K: Copy, V: Copy, const N: usize> Entries<K, V, N> {
    pub(super) fn one(tree: NonZeroU32, key: K, value: V) -> Self {
        Entries {
            len: 1,
            tree,
            keys: [key; N],
            values: [value; N],
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        // Always true; said for the compiler.
        (self.len as usize).min(N)
    }

    /// Inserts an entry, for which there is room.
    #[inline(always)]
    pub(super) fn insert(&mut self, at: usize, key: K, value: V) {
        let len = self.len();
        if at == len {
            self.keys[at..].fill(key);
        } else {
            self.keys.copy_within(at..N - 1, at + 1);
            self.values.copy_within(at..len, at + 1);
            self.keys[at] = key;
        }
        self.values[at] = value;
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, at: usize) -> (K, V) {
        let entry = (self.keys[at], self.values[at]);
        self.keys.copy_within(at + 1.., at);
        self.values.copy_within(at + 1.., at);
        self.len -= 1;
        entry
    }

    /// Moves the entries from `at` on to a new node.
    pub(super) fn split(&mut self, at: usize) -> Self {
        let mut right = *self;
        let moved = self.len() - at;
        right.keys.fill(self.keys[N - 1]);
        right.keys[..moved].copy_from_slice(&self.keys[at..at + moved]);
        right.values[..moved].copy_from_slice(&self.values[at..at + moved]);
        right.len = moved as u32;
        self.len = at as u32;
        right
    }

    /// Moves the entries of the next node to the end of this one, in which there is room.
    pub(super) fn absorb(&mut self, right: &Self) {
        let (len, more) = (self.len(), right.len());
        self.keys[len..].fill(right.keys[N - 1]);
        self.keys[len..len + more].copy_from_slice(&right.keys[..more]);
        self.values[len..len + more].copy_from_slice(&right.values[..more]);
        self.len += more as u32;
    }
}

/// A leaf of a [`Tree`]: up to 15 entries.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Leaf<K, V> {
    pub(super) previous: Key,
    pub(super) next: Key,
    pub(super) entries: Entries<K, V, LEAF>,
}

/// An inner node of a [`Tree`]: up to 20 children.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Inner<K> {
    pub(super) children: Entries<K, Key, INNER>,
}

const _: () = assert!(size_of::<Option<Leaf<u64, u64>>>() == 256);
const _: () = assert!(size_of::<Option<Inner<u64>>>() == 256);

impl<K: Ord + Copy, V: Copy> Leaf<K, V> {
    /// The place of the first key that is not below this one: by three keys, then by the three
    /// between two of them. The loads of each step do not wait for each other, and nothing branches.
    #[inline(always)]
    fn search(&self, key: &K) -> usize {
        let keys = &self.entries.keys;
        let below = |at: usize| usize::from(keys[at] < *key);
        let group = 4 * (below(3) + below(7) + below(11));
        group + below(group) + below(group + 1) + below(group + 2)
    }

    /// The place of a key, or the place where it belongs.
    #[inline(always)]
    pub(super) fn find(&self, key: &K) -> Result<usize, usize> {
        let (at, len) = (self.search(key), self.entries.len());
        if at < len && self.entries.keys[at] == *key {
            Ok(at)
        } else {
            Err(at.min(len))
        }
    }
}

impl<K: Ord + Copy> Inner<K> {
    /// The place of the child whose subtree has this key, if any has.
    #[inline(always)]
    pub(super) fn search(&self, key: &K) -> usize {
        let keys = &self.children.keys;
        let reached = |at: usize| usize::from(keys[at] <= *key);
        let group = 5 * (reached(5) + reached(10) + reached(15));
        let at = group
            + reached(group + 1)
            + reached(group + 2)
            + reached(group + 3)
            + reached(group + 4);
        at.min(self.children.len() - 1)
    }
}

impl<K, V> fmt::Debug for Leaf<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaf").finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for Inner<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").finish_non_exhaustive()
    }
}

/// The nodes of any number of [`Tree`]s: their common memory, and their common bound.
///
/// The nodes are values of two stores: [`KeySlab`]s, unless others are
/// [given](Self::from_stores). With [`BoundedKeySlab`]s nothing is allocated later. Stores that log
/// their changes are rewound: rewind both of them, and what contains the trees, to checkpoints of the
/// same moment, or use a [`SlabGroup`](crate::key_slab::SlabGroup) of all of them.
///
/// # Memory
///
/// With keys and values of 8 bytes, a node has 256 bytes; a leaf has up to 15 entries, and an inner
/// node up to 20 children. Leaves that are filled in ascending order are full. If keys are inserted
/// in any order, leaves are two thirds full, and at least half full. A removal merges a leaf that has
/// fewer than 4 entries left with a neighbour, if both fit in one. In the worst case, after removals
/// that leave one entry and then four of neighbours, a tree of n entries has n / 2 leaves.
///
/// # Examples
///
/// ```
/// use flatslab::collections::{Nodes, Tree};
///
/// let mut nodes = Nodes::new();
/// let (mut bids, mut asks) = (Tree::new(), Tree::new());
/// bids.insert(&mut nodes, 99, "bid");
/// asks.insert(&mut nodes, 101, "ask");
/// assert_eq!(bids.last(&nodes), Some((&99, &"bid")));
/// assert_eq!(asks.first(&nodes), Some((&101, &"ask")));
/// assert_eq!(nodes.leaves().len(), 2);
/// ```
pub struct Nodes<K, V, L = KeySlab<Leaf<K, V>>, I = KeySlab<Inner<K>>> {
    leaves: L,
    inners: I,
    /// The number of the newest tree.
    newest: u32,
    entries: PhantomData<(K, V)>,
}

impl<K: Ord + Copy, V: Copy> Nodes<K, V> {
    /// Creates nodes for trees that grow. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Nodes {
            leaves: KeySlab::new(),
            inners: KeySlab::new(),
            newest: 0,
            entries: PhantomData,
        }
    }

    /// Creates nodes with memory, allocated now, for trees of this many entries that are inserted in
    /// any order. Removals leave leaves of fewer entries, so later insertions may need more.
    ///
    /// # Panics
    ///
    /// Panics or aborts if there are more leaves than a slab can have, or the allocator refuses.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(entries: usize) -> Self {
        match Self::builder().capacity(entries).try_build() {
            Ok(nodes) => nodes,
            Err(error) => memory::fail(error),
        }
    }

    /// Returns a builder, for memory from [`Pages`]. The default capacity is 0 entries.
    pub const fn builder() -> Builder<Self> {
        Builder::new(Capacity(0))
    }

    /// Makes room for this many more entries, as [`with_capacity`](Self::with_capacity) does.
    ///
    /// # Errors
    ///
    /// Returns an error where [`KeySlab::try_reserve`](PlainSlab::try_reserve) does.
    pub fn try_reserve(&mut self, entries: usize) -> Result<(), AllocError> {
        let (leaves, inners) = needed(entries);
        self.leaves.try_reserve(leaves)?;
        self.inners.try_reserve(inners)
    }
}

/// Leaves and inner nodes for this many entries.
fn needed(entries: usize) -> (usize, usize) {
    let leaves = entries / (LEAF / 2) + 1;
    (leaves, leaves / (INNER / 2 - 1) + MOST_LEVELS)
}

impl<K, V, L, I> Nodes<K, V, L, I>
where
    L: Store<Key = Key, Value = Leaf<K, V>>,
    I: Store<Key = Key, Value = Inner<K>>,
{
    /// Creates nodes in stores of your choice, which are used for nothing else.
    ///
    /// The stores may have nodes: of trees that were saved with them, or of other `Nodes` over the same
    /// stores. The numbers by which nodes are told apart go on after the largest one that is there. So
    /// do not use a copy of a tree from before that was cleared since: a new tree may have its number.
    ///
    /// # Complexity
    ///
    /// O(slots) of the leaves.
    ///
    /// # Examples
    ///
    /// A map with a bound, which never allocates after construction:
    ///
    /// ```
    /// use flatslab::BoundedKeySlab;
    /// use flatslab::collections::{Nodes, Tree};
    ///
    /// let leaves = BoundedKeySlab::with_capacity(1);
    /// let mut nodes = Nodes::from_stores(leaves, BoundedKeySlab::with_capacity(0));
    /// let mut tree = Tree::new();
    /// for key in 0..15 {
    ///     assert_eq!(tree.try_insert(&mut nodes, key, ()), Ok(None));
    /// }
    /// assert!(tree.try_insert(&mut nodes, 15, ()).is_err());
    /// ```
    ///
    /// Trees that are rewound with what contains them, in a group:
    ///
    /// ```
    /// use flatslab::collections::{Inner, Leaf, Nodes, Tree};
    /// use flatslab::{KeySlab, key_slab::SlabGroup};
    ///
    /// let trees: KeySlab<Tree<u64, u64>> = KeySlab::new();
    /// let (leaves, inners) = (KeySlab::<Leaf<u64, u64>>::new(), KeySlab::<Inner<u64>>::new());
    /// let mut group = SlabGroup::from((trees, leaves, inners));
    ///
    /// let (trees, leaves, inners) = group.parts_mut();
    /// let key = trees.insert(Tree::new());
    /// trees[key].insert(&mut Nodes::from_stores(leaves, inners), 7, 1);
    /// let checkpoint = group.checkpoint();
    ///
    /// let (trees, leaves, inners) = group.parts_mut();
    /// let mut nodes = Nodes::from_stores(leaves, inners);
    /// trees[key].insert(&mut nodes, 8, 2);
    /// trees[key].remove(&mut nodes, &7);
    ///
    /// group.rewind(checkpoint);
    /// let (trees, leaves, inners) = group.parts_mut();
    /// assert!(trees[key].iter(&Nodes::from_stores(leaves, inners)).eq([(&7, &1)]));
    /// ```
    #[must_use]
    pub fn from_stores(leaves: L, inners: I) -> Self {
        let trees = (0..leaves.used_slots()).filter_map(|at| leaves.get_at(at));
        let newest = trees.map(|(_, leaf)| leaf.entries.tree.get()).max();
        Nodes {
            newest: newest.unwrap_or(0),
            leaves,
            inners,
            entries: PhantomData,
        }
    }
}

impl<K, V, L, I> Nodes<K, V, L, I> {
    /// Borrows the store of the leaves.
    #[must_use]
    pub const fn leaves(&self) -> &L {
        &self.leaves
    }

    /// Borrows the store of the inner nodes.
    #[must_use]
    pub const fn inners(&self) -> &I {
        &self.inners
    }

    /// Borrows both stores mutably, to rewind them or to reserve memory.
    ///
    /// If nodes are removed or rewound without their trees, operations of these trees panic or answer
    /// wrongly.
    pub const fn stores_mut(&mut self) -> (&mut L, &mut I) {
        (&mut self.leaves, &mut self.inners)
    }
}

/// [`Nodes`] of any stores, for generic code. This trait is sealed.
pub trait NodeStore<K, V>: sealed::Access<K, V> {}

impl<K, V, N: sealed::Access<K, V>> NodeStore<K, V> for N {}

mod sealed {
    use core::num::NonZeroU32;

    use super::{Inner, Leaf};
    use crate::key::Key;

    /// What a tree does with its nodes.
    pub trait Access<K, V> {
        fn leaf(&self, at: Key) -> Option<&Leaf<K, V>>;
        fn leaf_mut(&mut self, at: Key) -> Option<&mut Leaf<K, V>>;
        fn insert_leaf(&mut self, leaf: Leaf<K, V>) -> Option<Key>;
        fn remove_leaf(&mut self, at: Key);
        fn inner(&self, at: Key) -> Option<&Inner<K>>;
        fn inner_mut(&mut self, at: Key) -> Option<&mut Inner<K>>;
        fn insert_inner(&mut self, inner: Inner<K>) -> Option<Key>;
        fn remove_inner(&mut self, at: Key);

        /// Returns a number for a new tree.
        fn next_number(&mut self) -> NonZeroU32;
    }
}

impl<K, V, L, I> sealed::Access<K, V> for Nodes<K, V, L, I>
where
    L: Store<Key = Key, Value = Leaf<K, V>>,
    I: Store<Key = Key, Value = Inner<K>>,
{
    #[inline(always)]
    fn leaf(&self, at: Key) -> Option<&Leaf<K, V>> {
        self.leaves.get(at)
    }

    #[inline(always)]
    fn leaf_mut(&mut self, at: Key) -> Option<&mut Leaf<K, V>> {
        self.leaves.get_mut(at)
    }

    fn insert_leaf(&mut self, leaf: Leaf<K, V>) -> Option<Key> {
        let (key, _) = self.leaves.try_insert_ref(leaf).ok()?;
        Some(key)
    }

    fn remove_leaf(&mut self, at: Key) {
        self.leaves.try_remove(at);
    }

    #[inline(always)]
    fn inner(&self, at: Key) -> Option<&Inner<K>> {
        self.inners.get(at)
    }

    #[inline(always)]
    fn inner_mut(&mut self, at: Key) -> Option<&mut Inner<K>> {
        self.inners.get_mut(at)
    }

    fn insert_inner(&mut self, inner: Inner<K>) -> Option<Key> {
        let (key, _) = self.inners.try_insert_ref(inner).ok()?;
        Some(key)
    }

    fn remove_inner(&mut self, at: Key) {
        self.inners.try_remove(at);
    }

    fn next_number(&mut self) -> NonZeroU32 {
        // After 2^32 trees numbers begin again: then a mistake may not be seen.
        self.newest = self.newest.checked_add(1).unwrap_or(1);
        NonZeroU32::new(self.newest).unwrap_or(NonZeroU32::MIN)
    }
}

impl<K, V, A: Storage, B: Storage>
    Nodes<K, V, PlainSlab<Leaf<K, V>, Key, A>, PlainSlab<Inner<K>, Key, B>>
{
    /// Frees the nodes of the tree with this [number](Tree::number), for a tree that was lost or
    /// copied. O(capacity). Returns the number of nodes.
    ///
    /// ```
    /// use flatslab::collections::{Nodes, Tree};
    ///
    /// let mut nodes = Nodes::new();
    /// let mut tree = Tree::new();
    /// tree.insert(&mut nodes, 1, ());
    /// let number = tree.number().unwrap();
    /// drop(tree);
    /// assert_eq!(nodes.free_tree(number), 1);
    /// assert!(nodes.leaves().is_empty());
    /// ```
    pub fn free_tree(&mut self, number: NonZeroU32) -> usize {
        let before = self.leaves.len() + self.inners.len();
        (self.leaves).retain(|_, leaf| leaf.entries.tree != number);
        (self.inners).retain(|_, inner| inner.children.tree != number);
        before - self.leaves.len() - self.inners.len()
    }
}

impl<K: Ord + Copy, V: Copy> Build for Nodes<K, V> {
    type Options = Capacity;

    fn try_build(Capacity(entries): Capacity, pages: Pages) -> Result<Self, BuildError> {
        let (leaves, inners) = match entries {
            0 => (0, 0),
            _ => needed(entries),
        };
        let (leaves, inners) = (
            KeySlab::builder().reserve(leaves).pages(pages.clone()),
            KeySlab::builder().reserve(inners).pages(pages),
        );
        Ok(Nodes::from_stores(leaves.try_build()?, inners.try_build()?))
    }
}

impl<K: Ord + Copy, V: Copy> Default for Nodes<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V, L, I> fmt::Debug for Nodes<K, V, L, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").finish_non_exhaustive()
    }
}
