//! `EpochKey` and `Epoch`: 16 bytes each, `Copy`, of one slab.

use core::fmt;
use core::num::NonZero;

use super::word::Word;

/// How many bits of a place are the number of a chunk, or of the record of an epoch; the others
/// are the slab.
pub(super) const INDEX_BITS: u32 = 30;

/// The key of a value in an [`EpochSlab`](super::EpochSlab), or of a buffer in
/// [`EpochBytes`](super::EpochBytes).
///
/// 16 bytes, `Copy`; an `Option` of it has 16 bytes too. It has the numbers of the slab (34
/// bits), the chunk (30) and the slot (16), and the slot's generation (48), which is never set
/// back. A key whose value is gone, a key of another slab and a forged key never lead to a value
/// that is not theirs.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::new();
/// let key = slab.insert(7);
/// assert_eq!(slab.take(key), Some(7));
/// let next = slab.insert(8);                        // takes the same slot
/// assert!(slab.get(key).is_none() && slab.get(next).is_some());
/// assert_eq!(size_of_val(&Some(key)), 16);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EpochKey {
    /// The chunk.
    place: u64,
    /// Generation and slot.
    bits: NonZero<u64>,
}

const _: () = assert!(size_of::<Option<EpochKey>>() == 16);

impl EpochKey {
    /// The key of the value in a slot of the chunk in that place, whose word this is.
    #[inline(always)]
    pub(super) fn new(place: u64, slot: u32, word: Word) -> Self {
        let bits = word.key_bits(slot);
        debug_assert!(Word::are_of_key(bits));
        // SAFETY: a slot that has a value is not retired, so its generation is not 0.
        let bits = unsafe { NonZero::new_unchecked(bits) };
        EpochKey { place, bits }
    }

    #[inline(always)]
    pub(super) fn place(self) -> u64 {
        self.place
    }

    #[inline(always)]
    pub(super) fn slot(self) -> u32 {
        Word::slot_of_key(self.bits.get())
    }

    /// The word of the value while it is not borrowed.
    #[inline(always)]
    pub(super) fn word(self) -> Word {
        Word::of_key(self.bits.get())
    }

    /// Returns the bits of the key, which are never 0 and never `u128::MAX`, to store or send
    /// within the process. In another process they may be the key of another value: its slabs have
    /// the same numbers. They do not fit in the token of a poller, which has 64 bits, or 32.
    ///
    /// ```
    /// use flatslab::epoch::{EpochKey, EpochSlab};
    ///
    /// let slab = EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(EpochKey::from_raw(key.into_raw()), Some(key));
    /// ```
    #[inline]
    #[must_use]
    pub const fn into_raw(self) -> u128 {
        (self.bits.get() as u128) << 64 | self.place as u128
    }

    /// Returns the key with these bits; `None` if no key has them.
    ///
    /// A key that no slab returned leads to nothing, like one whose value is gone.
    ///
    /// ```
    /// assert_eq!(flatslab::epoch::EpochKey::from_raw(0), None);
    /// assert_eq!(flatslab::epoch::EpochKey::from_raw(u128::MAX), None);
    /// ```
    #[inline]
    #[must_use]
    pub const fn from_raw(raw: u128) -> Option<Self> {
        let (place, bits) = (raw as u64, (raw >> 64) as u64);
        match NonZero::new(bits) {
            Some(bits) if Word::are_of_key(bits.get()) => Some(EpochKey { place, bits }),
            _ => None,
        }
    }
}

/// Prints slab, chunk, slot and generation.
impl fmt::Debug for EpochKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochKey")
            .field("slab", &(self.place >> INDEX_BITS))
            .field("chunk", &(self.place % (1 << INDEX_BITS)))
            .field("slot", &self.slot())
            .field("generation", &(self.bits.get() >> 16))
            .finish()
    }
}

/// The name of an epoch of a slab.
///
/// 16 bytes, `Copy`. It has the index of the epoch's record, which is reused when the epoch is
/// over, and a generation, which is not.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::<u64>::new();
/// let first = slab.current();
/// let next = slab.advance();
/// assert!(next != first && next.generation() > first.generation());
/// assert_eq!(slab.current(), next);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Epoch {
    generation: NonZero<u64>,
    place: u64,
}

const _: () = assert!(size_of::<Option<Epoch>>() == 16);

impl Epoch {
    #[inline(always)]
    pub(super) fn new(place: u64, generation: NonZero<u64>) -> Self {
        Epoch { generation, place }
    }

    #[inline(always)]
    pub(super) fn place(self) -> u64 {
        self.place
    }

    /// Returns the generation: the slab's epochs are numbered in the order in which they were
    /// opened, from 1 on. No two epochs of a slab have the same.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// let first = slab.current().generation();
    /// assert_eq!(slab.advance().generation(), first + 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn generation(self) -> u64 {
        self.generation.get()
    }

    /// Returns the index of the epoch's record, a small number. No two epochs that exist at the
    /// same time have the same.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// assert_ne!(slab.current().index(), slab.permanent().index());
    /// ```
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        (self.place % (1 << INDEX_BITS)) as usize
    }
}

/// Prints index and generation.
impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoch")
            .field("index", &self.index())
            .field("generation", &self.generation)
            .finish()
    }
}
