//! `Heap`: keys in order of a priority, each of which can be found, changed and removed.
//!
//! Priorities and keys are in one array, with eight children to a parent: the children of an entry
//! are next to each other, and a heap of a million has seven levels. A second array has the place of
//! each slot's entry in the first. So no operation touches the values of the slab, which may be of any
//! kind.
//!
//! # Invariants
//!
//! * `heap-placed`: `places[key.index()] == i` exactly if the key of `entries[i]` has that slot, also
//!   after a comparison has panicked. Then the order may be wrong, and every entry is still there
//!   once.

use core::fmt;
use core::ops::{Deref, DerefMut};

use super::Capacity;
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::key::{Key, MAX_SLOTS};
use crate::key_slab::{SlabKey, is_older};
use crate::memory::Pages;
use crate::memory::array::Array;
use crate::raw::memory;
use crate::raw::source::Source;

/// Children of an entry. With fewer, a large heap has more levels, each of which waits for memory.
const CHILDREN: usize = 8;

/// No entry has this place.
const NOWHERE: u32 = u32::MAX;

/// A priority queue of keys: the smallest priority comes first, and every key can be found, removed,
/// and given another priority.
///
/// The heap is independent of the slab that has the values. It holds each key at most once, with a
/// priority that is `Copy` and `Ord`, such as a deadline or a pair of a price and a sequence number; of
/// a float that is not negative, `to_bits` has its order. For the largest first use
/// [`core::cmp::Reverse`]. Keys of equal priority come in no particular order.
///
/// # Capacity
///
/// A heap has room for the keys of as many slots as its capacity, all allocated and touched when it
/// is created. A key of another slot is refused, so that a forged key cannot make the heap allocate.
/// [`try_grow`](Self::try_grow) makes room for the keys of a slab that has grown.
///
/// # Keys of removed values
///
/// The heap does not notice that a value is removed from its slab: remove its key too. Keys with
/// generations are told apart: the key of an earlier value does not find the entry of a later one, and
/// [`push`](Self::push) refuses it. The key of a later value replaces that of an earlier one. Which of
/// two keys is the earlier one is known as long as they are less than half of all
/// [generations](crate::GenKey#how-long-generations-last) apart.
///
/// Without generations, an old copy of a key is the key of the value that is in the slot now.
///
/// After a rewind of the slab, or when its generations were
/// [reset](crate::PlainSlab::reset_generations), [`clear`](Self::clear) the heap, and add the keys
/// again: to the heap, the keys from before are later ones.
///
/// # Complexity
///
/// O(log n) for `push`, `pop`, `remove` and `change`, where n is the number of keys: a level for each
/// eightfold. O(1) for all else, unless it says so. Nothing allocates, except construction and
/// `try_grow`.
///
/// # If a comparison panics
///
/// No key is lost or there twice, also not the one that was to be removed, and the order of the keys
/// may be wrong. The same holds if the order of priorities is inconsistent.
///
/// # Examples
///
/// ```
/// use flatslab::KeySlab;
/// use flatslab::collections::Heap;
///
/// let mut sessions = KeySlab::with_capacity(100);
/// let mut deadlines = Heap::with_capacity(sessions.capacity());
/// let (one, two) = (sessions.insert("one"), sessions.insert("two"));
/// deadlines.push(one, 30)?;
/// deadlines.push(two, 20)?;
/// deadlines.push(two, 50)?; // heard from: the deadline moves
///
/// let now = 40;
/// while let Some((_, key)) = deadlines.pop_if(|deadline| *deadline <= now) {
///     sessions.remove(key);
/// }
/// assert!(sessions.contains(two) && sessions.len() == 1);
/// # Ok::<(), flatslab::collections::SlotError>(())
/// ```
#[doc(alias("BinaryHeap", "PriorityQueue", "priority-queue", "timers"))]
pub struct Heap<P: Copy, K: SlabKey = Key> {
    entries: Array<(P, K)>,
    places: Array<u32>,
}

/// The reason why a collection with an entry for each slot refused a key. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotError {
    /// The slot of the key is not below the capacity.
    OutOfRange {
        /// The index of the slot.
        slot: usize,
        /// The capacity, in slots.
        capacity: usize,
    },
    /// The collection has the key of a later value in the same slot: the key is stale.
    Outdated {
        /// The index of the slot.
        slot: usize,
    },
}

impl fmt::Display for SlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlotError::OutOfRange { slot, capacity } => write!(
                f,
                "the key's slot {slot} is not below the capacity of {capacity}"
            ),
            SlotError::Outdated { slot } => {
                write!(f, "the key is older than the one of slot {slot}")
            }
        }
    }
}

impl core::error::Error for SlotError {}

impl<P: Ord + Copy, K: SlabKey> Heap<P, K> {
    /// Creates a heap for the keys of this many slots, whose memory is allocated and touched now.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_with_capacity`](Self::try_with_capacity) returns an error.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(slots: usize) -> Self {
        match Self::try_with_capacity(slots) {
            Ok(heap) => heap,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a heap like [`with_capacity`](Self::with_capacity).
    ///
    /// # Errors
    ///
    /// Returns an error if there are more slots than a slab can have, or the allocator refuses.
    pub fn try_with_capacity(slots: usize) -> Result<Self, AllocError> {
        Self::try_new_in(slots, &Source::GLOBAL)
    }

    /// Returns a builder, for memory from [`Pages`]. The default capacity is 0 slots.
    pub const fn builder() -> Builder<Self> {
        Builder::new(Capacity(0))
    }

    pub(super) fn try_new_in(slots: usize, source: &Source) -> Result<Self, AllocError> {
        check_slots(slots)?;
        Ok(Heap {
            entries: Array::try_with_capacity(slots, source)?,
            places: Array::try_filled(slots, NOWHERE, source)?,
        })
    }

    /// Makes room for the keys of this many slots, if there is less.
    ///
    /// # Complexity
    ///
    /// O(slots): all entries are moved to new memory.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more slots than a slab can have, or the allocator refuses.
    /// Nothing has changed then.
    #[doc(alias = "reserve")]
    pub fn try_grow(&mut self, slots: usize) -> Result<(), AllocError> {
        check_slots(slots)?;
        if slots > self.capacity() {
            let mut places = Array::try_with_capacity(slots, self.places.source())?;
            self.entries.try_grow(slots)?;
            places.extend_from_slice(&self.places);
            places.fill_up(NOWHERE);
            self.places = places;
        }
        Ok(())
    }

    /// Returns the number of slots whose keys there is room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of keys.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there is no key.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the bytes of memory that are allocated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries.bytes() + self.places.bytes()
    }

    /// Returns the smallest priority, and its key. Returns `None` if there is no key.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(P, K)> {
        self.entries.first().copied()
    }

    /// Returns access to the smallest priority, which may be changed. Returns `None` if there is no
    /// key. O(1), and O(log n) when the guard is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Key;
    /// use flatslab::collections::Heap;
    ///
    /// let mut heap = Heap::with_capacity(2);
    /// heap.push(Key::from_raw(0), 5)?;
    /// heap.push(Key::from_raw(1), 7)?;
    /// *heap.peek_mut().unwrap() += 4;
    /// assert_eq!(heap.peek(), Some((7, Key::from_raw(1))));
    /// # Ok::<(), flatslab::collections::SlotError>(())
    /// ```
    #[inline]
    pub fn peek_mut(&mut self) -> Option<HeapPeekMut<'_, P, K>> {
        if self.is_empty() {
            return None;
        }
        Some(HeapPeekMut { heap: self })
    }

    /// The place of the entry of this key.
    #[inline(always)]
    fn place(&self, key: K) -> Option<usize> {
        let place = *self.places.get(key.index())? as usize;
        (self.entries.get(place)?.1 == key).then_some(place)
    }

    /// Returns `true` if the key is in the heap.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: K) -> bool {
        self.place(key).is_some()
    }

    /// Returns the priority of a key. Returns `None` if it is not in the heap.
    #[inline]
    #[must_use]
    pub fn priority(&self, key: K) -> Option<P> {
        Some(self.entries[self.place(key)?].0)
    }

    /// Adds a key, or changes its priority if it is in the heap. Returns the priority that it had.
    ///
    /// The key of an earlier value in the same slot is replaced, and its priority is returned.
    ///
    /// # Errors
    ///
    /// Returns an error if the key's slot is not below the capacity, or if the heap has the key of a
    /// [later value](Self#keys-of-removed-values) in the slot.
    #[inline]
    #[doc(alias = "insert")]
    pub fn push(&mut self, key: K, priority: P) -> Result<Option<P>, SlotError> {
        let slot = key.index();
        let Some(place) = self.places.get_mut(slot) else {
            return Err(SlotError::OutOfRange {
                slot,
                capacity: self.capacity(),
            });
        };
        if let Some(entry) = self.entries.get_mut(*place as usize) {
            if is_older(key, entry.1) {
                return Err(SlotError::Outdated { slot });
            }
            entry.1 = key;
            let (place, old) = (*place as usize, entry.0);
            self.sift(place, self.len(), (priority, key), |new, _| *new > old);
            return Ok(Some(old));
        }
        let end = self.entries.len();
        *place = end as u32;
        self.entries.push((priority, key));
        self.sift(end, end, (priority, key), |_, _| false);
        Ok(None)
    }

    /// Removes the smallest priority, and returns it with its key. Returns `None` if there is no
    /// key.
    #[inline]
    #[doc(alias = "pop_min")]
    pub fn pop(&mut self) -> Option<(P, K)> {
        let first = self.peek()?;
        self.take(0);
        Some(first)
    }

    /// Removes the smallest priority if `is_due` returns `true` for it, and returns it with its key.
    #[inline]
    pub fn pop_if(&mut self, is_due: impl FnOnce(&P) -> bool) -> Option<(P, K)> {
        let first = self.peek()?;
        if !is_due(&first.0) {
            return None;
        }
        self.take(0);
        Some(first)
    }

    /// Removes a key, and returns its priority. Returns `None` if it is not in the heap.
    #[inline]
    pub fn remove(&mut self, key: K) -> Option<P> {
        let place = self.place(key)?;
        let priority = self.entries[place].0;
        self.take(place);
        Some(priority)
    }

    /// Changes the priority of a key, and returns the one that it had. Returns `None` if it is not in
    /// the heap.
    #[inline]
    #[doc(alias("change_priority", "decrease_key"))]
    pub fn change(&mut self, key: K, priority: P) -> Option<P> {
        let place = self.place(key)?;
        let old = self.entries[place].0;
        self.sift(place, self.len(), (priority, key), |new, _| *new > old);
        Some(old)
    }

    /// Moves all keys of another heap into this one. A key that is in both gets the other's priority.
    /// O(m log n) for the m keys of the other heap.
    ///
    /// # Errors
    ///
    /// Returns an error if the other heap has a larger capacity, or the key of an
    /// [earlier value](Self#keys-of-removed-values) than this one. No key has been moved then.
    pub fn append(&mut self, other: &mut Self) -> Result<(), SlotError> {
        if other.capacity() > self.capacity() {
            return Err(SlotError::OutOfRange {
                slot: other.capacity() - 1,
                capacity: self.capacity(),
            });
        }
        let is_outdated = |(_, key): &(P, K)| {
            let present = self.entries.get(self.places[key.index()] as usize);
            present.is_some_and(|present| is_older(*key, present.1))
        };
        if let Some((_, key)) = other.iter().find(is_outdated) {
            return Err(SlotError::Outdated { slot: key.index() });
        }
        while let Some(&(priority, key)) = other.entries.last() {
            self.push(key, priority)?;
            other.take(other.len() - 1);
        }
        Ok(())
    }

    /// Removes all keys. O(n).
    pub fn clear(&mut self) {
        while let Some((_, key)) = self.entries.pop() {
            self.places[key.index()] = NOWHERE;
        }
    }

    /// Returns an iterator over priorities and keys, in no particular order. O(1), and O(1) for each
    /// key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (P, K)> + Clone + '_ {
        self.entries.iter().copied()
    }

    /// Removes the entry of a place. Until the comparisons are done, it is the last one, so that it is
    /// not lost if one of them panics.
    #[inline(always)]
    fn take(&mut self, place: usize) {
        let Some(end) = self.len().checked_sub(1) else {
            return;
        };
        let (old, last) = (self.entries[place], self.entries[end]);
        if place < end {
            self.entries[end] = old;
            self.places[old.1.index()] = end as u32;
            self.sift(place, end, last, |last, place| place == 0 || *last > old.0);
        }
        self.entries.pop();
        self.places[old.1.index()] = NOWHERE;
    }

    /// Moves an entry to where it belongs among the first `end` ones, from its place on, to which it is
    /// written if a comparison panics.
    #[inline(always)]
    fn sift(
        &mut self,
        place: usize,
        end: usize,
        entry: (P, K),
        goes_down: impl FnOnce(&P, usize) -> bool,
    ) {
        let mut hole = Hole {
            heap: self,
            place,
            entry,
        };
        if goes_down(&entry.0, place) {
            hole.down(end);
        } else {
            hole.up();
        }
    }

    /// Checks that every key has its place, and that no priority is smaller than its parent's. O(n).
    /// Returns `false` after a comparison has panicked, or if the order is inconsistent.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        let is_placed =
            |(at, entry): (usize, &(P, K))| self.places.get(entry.1.index()) == Some(&(at as u32));
        let used = self.places.iter().filter(|place| **place != NOWHERE);
        assert!(
            self.entries.iter().enumerate().all(is_placed),
            "heap-placed"
        );
        assert_eq!(used.count(), self.len(), "heap-placed");
        let parent = |at: usize| &self.entries[(at - 1) / CHILDREN].0;
        (1..self.len()).all(|at| *parent(at) <= self.entries[at].0)
    }
}

/// Checks that a slab can have this many slots.
pub(super) fn check_slots(slots: usize) -> Result<(), AllocError> {
    if slots > MAX_SLOTS {
        return Err(AllocError::TooManySlots {
            requested: slots,
            limit: MAX_SLOTS,
        });
    }
    Ok(())
}

/// The place of the smallest of some entries, and its priority; without a branch.
#[inline(always)]
fn smallest<P: Ord + Copy, K>(entries: &[(P, K)]) -> (usize, P) {
    let (mut best, mut least) = (0, entries[0].0);
    for (at, entry) in entries.iter().enumerate().skip(1) {
        let is_less = entry.0 < least;
        best = if is_less { at } else { best };
        least = if is_less { entry.0 } else { least };
    }
    (best, least)
}

/// An entry that looks for its place. It is written there when this is dropped, also if a comparison
/// panics.
struct Hole<'a, P: Copy, K: SlabKey> {
    heap: &'a mut Heap<P, K>,
    place: usize,
    entry: (P, K),
}

impl<P: Ord + Copy, K: SlabKey> Hole<'_, P, K> {
    #[inline(always)]
    fn up(&mut self) {
        while self.place > 0 {
            let parent = (self.place - 1) / CHILDREN;
            let above = self.heap.entries[parent];
            if above.0 <= self.entry.0 {
                break;
            }
            self.fill(above);
            self.place = parent;
        }
    }

    #[inline(always)]
    fn down(&mut self, end: usize) {
        loop {
            let first = self.place * CHILDREN + 1;
            let entries = &self.heap.entries[..end];
            let (best, least) = if let Some(children) = entries.get(first..first + CHILDREN) {
                // Of a known number, which is unrolled.
                smallest(children)
            } else if let Some(children) = entries.get(first..).filter(|rest| !rest.is_empty()) {
                smallest(children)
            } else {
                break;
            };
            if self.entry.0 <= least {
                break;
            }
            let child = first + best;
            self.fill(entries[child]);
            self.place = child;
        }
    }

    /// Moves another entry to the place of the hole.
    #[inline(always)]
    fn fill(&mut self, entry: (P, K)) {
        self.heap.entries[self.place] = entry;
        self.heap.places[entry.1.index()] = self.place as u32;
    }
}

impl<P: Copy, K: SlabKey> Drop for Hole<'_, P, K> {
    #[inline(always)]
    fn drop(&mut self) {
        self.heap.entries[self.place] = self.entry;
        self.heap.places[self.entry.1.index()] = self.place as u32;
    }
}

/// Access to the smallest priority of a [`Heap`], from [`peek_mut`](Heap::peek_mut). When it is
/// dropped, the key moves to where its priority belongs; if it is forgotten, the key stays first.
pub struct HeapPeekMut<'a, P: Ord + Copy, K: SlabKey> {
    heap: &'a mut Heap<P, K>,
}

impl<P: Ord + Copy, K: SlabKey> HeapPeekMut<'_, P, K> {
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> K {
        self.heap.entries[0].1
    }
}

impl<P: Ord + Copy, K: SlabKey> Deref for HeapPeekMut<'_, P, K> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.heap.entries[0].0
    }
}

impl<P: Ord + Copy, K: SlabKey> DerefMut for HeapPeekMut<'_, P, K> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.heap.entries[0].0
    }
}

impl<P: Ord + Copy, K: SlabKey> Drop for HeapPeekMut<'_, P, K> {
    fn drop(&mut self) {
        let first = self.heap.entries[0];
        self.heap.sift(0, self.heap.len(), first, |_, _| true);
    }
}

impl<P: Ord + Copy + fmt::Debug, K: SlabKey> fmt::Debug for HeapPeekMut<'_, P, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeapPeekMut")
            .field(&self.heap.entries[0])
            .finish()
    }
}

impl<P: Ord + Copy, K: SlabKey> Build for Heap<P, K> {
    type Options = Capacity;

    fn try_build(Capacity(slots): Capacity, pages: Pages) -> Result<Self, BuildError> {
        Ok(Self::try_new_in(slots, &pages.into_source()?)?)
    }
}

impl<P: Copy + fmt::Debug, K: SlabKey> fmt::Debug for Heap<P, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter()).finish()
    }
}
