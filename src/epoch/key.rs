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
/// 16 bytes, `Copy`; so is an `Option` of it. It has the slab (34 bits), the chunk (30), the
/// slot (16) and its generation (48), which is never set back: a key whose value is gone, that
/// is of another slab or of none, leads to nothing, always.
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

    /// The key's bits, to store or send within the process: never 0. The slabs of another
    /// process have the same numbers, so there they may be the key of another value.
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

    /// The key of these bits; `None` where no key has them.
    ///
    /// A key that no slab handed out is answered like one whose value is gone.
    ///
    /// ```
    /// assert_eq!(flatslab::epoch::EpochKey::from_raw(0), None);
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

/// One of the epochs of a slab, which insertions name.
///
/// 16 bytes, `Copy`. The index is that of the slab's record of it, which another epoch has
/// once this one is over; the generation tells them apart and is never used again.
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

    /// Which of its slab's epochs it is, counted from 1 on; 64 bits, never used again.
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

    /// A small number: no two epochs that there are at the same time have the same.
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
