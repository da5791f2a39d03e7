//! The names of values and epochs, and the word of a slot, which says whether a key refers to its
//! value.
//!
//! [`EpochKey`] and [`Epoch`] are 16 bytes each, `Copy`, and from one slab. A key contains the
//! place of a chunk, and the bits of a word, in which the slot replaces the lower bits.
//!
//! A slot's [`Word`] contains its generation, whether it has a value, and who borrows it. Words are
//! outside of the cells, whose memory may be returned to the system: a page that is populated again
//! reads zero, and tells nothing about values.
//!
//! | bits | are |
//! |---|---|
//! | 16 … 63 | the generation: one more with each value that leaves; 0 in a slot that is retired |
//! | 0 … 15 | [`NO_VALUE`]; 1 and the number of readers; [`EXCLUSIVE`]; [`DOOMED`]; or [`VACANT`] with the next free slot |
//!
//! The [word that a key expects](Word::of_key) is that of a value that is not borrowed, so one
//! subtraction compares the generations and counts the readers.
//!
//! # Invariants
//!
//! * `slot-generation-rises`: a slot's generation never decreases, even when its chunk moves to
//!   another epoch, until the slot is retired. Then it is 0 for good, which no key has. The slots
//!   of a chunk whose index a freed one had begin with a generation that none of its slots has
//!   used. So no two values of a slot have the same key.
//! * `word-says-value`: a cell is initialised exactly while its word [has a value](Word::has_value)
//!   or is doomed.
//! * `guards-exclude`: readers and the one writer exclude each other. The word of a value is
//!   changed only by their guards, by references that live as long as a scope, and by the removal
//!   of the value.

use core::fmt;
use core::num::NonZero;

use crate::error::AccessError;

/// How many bits of a place are the number of a chunk, or of the record of an epoch. The others are
/// the number of the slab.
pub(super) const INDEX_BITS: u32 = 30;

/// The key of a value in an [`EpochSlab`](super::EpochSlab), or of a buffer in
/// [`EpochBytes`](super::EpochBytes).
///
/// It has 16 bytes and is `Copy`; an `Option` of it has 16 bytes too. It contains the numbers of
/// the slab (34 bits), the chunk (30) and the slot (16), and the slot's generation (48), which is
/// never set back. A key whose value is gone, a key from another slab or a forged key never refers
/// to another value.
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
    /// The key of the value in a slot of the chunk at this place. `word` is the word of the slot.
    #[inline]
    pub(super) fn new(place: u64, slot: u32, word: Word) -> Self {
        let bits = word.key_bits(slot);
        debug_assert!(Word::are_of_key(bits));
        // SAFETY: a slot that has a value is not retired, so its generation is not 0.
        let bits = unsafe { NonZero::new_unchecked(bits) };
        EpochKey { place, bits }
    }

    #[inline]
    pub(super) fn place(self) -> u64 {
        self.place
    }

    #[inline]
    pub(super) fn slot(self) -> u32 {
        Word::slot_of_key(self.bits.get())
    }

    /// The word of the value while it is not borrowed.
    #[inline]
    pub(super) fn word(self) -> Word {
        Word::of_key(self.bits.get())
    }

    /// Returns the bits of the key, to store or send within the process. They are never 0 and never
    /// `u128::MAX`.
    ///
    /// In another process they may be the key of another value, because its slabs have the same
    /// numbers. They do not fit into the token of a poller, which has 64 or 32 bits.
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

    /// Returns the key with these bits, or `None` if no key has them.
    ///
    /// A key that no slab returned refers to no value, like one whose value is gone.
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
/// It has 16 bytes and is `Copy`. It contains the index of the epoch's record, which is reused when
/// the epoch is over, and a generation, which is not reused.
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
    #[inline]
    pub(super) fn new(place: u64, generation: NonZero<u64>) -> Self {
        Epoch { generation, place }
    }

    #[inline]
    pub(super) fn place(self) -> u64 {
        self.place
    }

    /// Returns the generation of the epoch, which is its number in the order in which the slab
    /// opened its epochs, from 1.
    ///
    /// No two epochs of a slab have the same generation.
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

    /// Returns the index of the epoch's record, a small number.
    ///
    /// No two epochs that exist at the same time have the same index.
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

/// Prints the index and the generation.
impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoch")
            .field("index", &self.index())
            .field("generation", &self.generation)
            .finish()
    }
}

/// One generation more.
const GENERATION: u64 = 1 << 16;
/// Neither a value nor free: retired.
const NO_VALUE: u64 = 0;
/// A value, not borrowed. Each reader adds one.
const IDLE: u64 = 1;
const EXCLUSIVE: u64 = 0x7fff;
/// No value; with the next free slot.
const VACANT: u64 = 0x8000;
/// A value that no key refers to, and that is about to be dropped.
const DOOMED: u64 = VACANT | 0x7ffe;
/// The end of the free slots of a chunk.
pub(super) const END: u32 = 0x7fff;
/// The most slots of a chunk: all their indices are below the codes above.
pub(super) const MAX_SLOTS: usize = 0x7ffe;
/// The most readers of a value at a time.
pub(super) const MAX_READERS: u64 = EXCLUSIVE - IDLE - 1;

/// The word of a slot, or of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct Word(u64);

impl Word {
    /// The word of a slot that never had a value.
    pub(super) const FIRST: Word = Word(GENERATION | NO_VALUE);

    /// The word of a value that is not borrowed, whose key has these bits.
    #[inline]
    pub(super) const fn of_key(bits: u64) -> Word {
        Word(bits - bits % GENERATION + IDLE)
    }

    /// The bits of the key of a value in that slot.
    #[inline]
    pub(super) const fn key_bits(self, slot: u32) -> u64 {
        self.0 - self.low() + slot as u64
    }

    /// The slot of a key with these bits.
    #[inline]
    pub(super) const fn slot_of_key(bits: u64) -> u32 {
        (bits % GENERATION) as u32
    }

    /// Whether a key may have these bits: it has a generation, and a slot index that is possible.
    pub(super) const fn are_of_key(bits: u64) -> bool {
        bits >= GENERATION && bits % GENERATION < MAX_SLOTS as u64
    }

    #[inline]
    const fn low(self) -> u64 {
        self.0 % GENERATION
    }

    /// The next free slot, of a vacant slot.
    #[inline]
    pub(super) const fn next_free(self) -> u32 {
        (self.low() - VACANT) as u32
    }

    /// With the same generation: a value.
    #[inline]
    pub(super) const fn filled(self) -> Word {
        Word(self.0 - self.low() + IDLE)
    }

    /// With the same generation: a value that its scope owns.
    #[inline]
    pub(super) const fn owned(self) -> Word {
        Word(self.0 - self.low() + EXCLUSIVE)
    }

    /// The word after the value has left: a vacant one. Also returns whether there is no next
    /// generation; then the slot is [retired](Self::is_retired), although the word is a vacant one.
    #[inline]
    pub(super) const fn vacated(self, next: u32) -> (Word, bool) {
        let (base, is_last) = (self.0 - self.low()).overflowing_add(GENERATION);
        (Word(base + VACANT + next as u64), is_last)
    }

    /// This word, with the generation of another one if that is higher.
    pub(super) const fn no_earlier_than(self, other: Word) -> Word {
        if other.0 / GENERATION > self.0 / GENERATION {
            Word(other.0 / GENERATION * GENERATION + self.low())
        } else {
            self
        }
    }

    /// With the same generation: free, unless it is retired.
    pub(super) const fn freed(self, next: u32) -> Word {
        if self.is_retired() {
            Word(NO_VALUE)
        } else {
            Word(self.0 - self.low() + VACANT + next as u64)
        }
    }

    /// The word of a value that no key refers to any more.
    pub(super) const fn doomed(self) -> Word {
        Word((self.0 - self.low()).wrapping_add(GENERATION) + DOOMED)
    }

    /// Whether there is no next generation.
    #[inline]
    pub(super) const fn is_retired(self) -> bool {
        self.0 < GENERATION
    }

    pub(super) const fn is_doomed(self) -> bool {
        self.low() == DOOMED
    }

    /// Whether it is on the list of vacant slots.
    #[cfg(any(test, fuzzing))]
    pub(super) const fn is_vacant(self) -> bool {
        self.low() >= VACANT && self.low() != DOOMED
    }

    /// Whether keys refer to a value.
    pub(super) const fn has_value(self) -> bool {
        self.low() != NO_VALUE && self.low() < VACANT
    }

    /// Whether there is a value, and it is borrowed.
    pub(super) const fn is_borrowed(self) -> bool {
        self.has_value() && self.low() != IDLE
    }

    /// Counts a reader that has this key.
    #[inline]
    pub(super) const fn read(self, key: Word) -> Option<Word> {
        if self.0.wrapping_sub(key.0) < MAX_READERS {
            Some(Word(self.0 + 1))
        } else {
            None
        }
    }

    /// Counts a reader that comes from a guard which reads already.
    pub(super) const fn read_along(self) -> Option<Word> {
        if self.low() <= MAX_READERS {
            Some(Word(self.0 + 1))
        } else {
            None
        }
    }

    #[inline]
    pub(super) const fn without_reader(self) -> Word {
        Word(self.0 - 1)
    }

    /// The reason why a reader with this key was refused.
    #[cold]
    pub(super) const fn why_no_reader(self, key: Word) -> AccessError {
        if !self.is_of(key) {
            AccessError::Missing
        } else if self.low() == EXCLUSIVE {
            AccessError::Borrowed
        } else {
            AccessError::TooManyReaders
        }
    }

    /// The reason why a writer or a removal with this key was refused.
    #[cold]
    pub(super) const fn why_no_writer(self, key: Word) -> AccessError {
        if self.is_of(key) {
            AccessError::Borrowed
        } else {
            AccessError::Missing
        }
    }

    /// Whether there is a value, and the key is that value's.
    #[inline]
    pub(super) const fn is_of(self, key: Word) -> bool {
        self.0.wrapping_sub(key.0) < EXCLUSIVE
    }

    /// The last generation, with the rest as it is.
    #[cfg(test)]
    pub(super) const fn aged(self) -> Word {
        Word(self.low() + (u64::MAX - u64::MAX % GENERATION))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One word of each kind, of generation 7, and of the next.
    fn every_kind() -> impl Iterator<Item = Word> {
        let base = Word(7 * GENERATION);
        let kinds = [
            base,
            base.filled(),
            Word(base.filled().0 + 1),
            Word(base.filled().0 + MAX_READERS),
            base.owned(),
            base.freed(3),
            base.freed(END),
            Word(base.0 - GENERATION).doomed(),
        ];
        let next = kinds.map(|word| Word(word.0 + GENERATION));
        kinds.into_iter().chain(next)
    }

    #[test]
    fn a_key_leads_to_a_value_of_its_own_generation_alone() {
        let key = Word(7 * GENERATION).filled();
        for word in every_kind() {
            let same = word.0 / GENERATION == 7;
            assert_eq!(word.is_of(key), same && word.has_value(), "{word:x?}");
            if !word.is_of(key) {
                assert_eq!(word.read(key), None);
                assert_eq!(word.why_no_reader(key), AccessError::Missing);
                assert_eq!(word.why_no_writer(key), AccessError::Missing);
            }
        }
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn readers_are_counted_and_have_a_limit() {
        let key = Word(7 * GENERATION).filled();
        let mut word = key;
        for readers in 0..MAX_READERS {
            assert_eq!(word.is_borrowed(), readers > 0);
            let along = word.read_along();
            word = word.read(key).unwrap();
            assert_eq!(along, Some(word));
        }
        assert_eq!(word.read(key), None);
        assert_eq!(word.read_along(), None);
        assert_eq!(word.why_no_reader(key), AccessError::TooManyReaders);
        assert_eq!(word.why_no_writer(key), AccessError::Borrowed);
        assert!(word.has_value() && word != key.owned());
        assert_eq!(word.without_reader().read(key), Some(word));
        assert_eq!(key.owned().why_no_reader(key), AccessError::Borrowed);
    }

    #[test]
    fn a_slot_without_a_next_generation_is_retired() {
        let last = Word::FIRST.aged().filled();
        let (vacated, is_last) = last.vacated(3);
        assert!(is_last && vacated.is_retired() && last.doomed().is_retired());
        assert_eq!(last.doomed().freed(3), Word(NO_VALUE));
        assert!(last.doomed().is_doomed());
        let before = Word(last.0 - GENERATION);
        let (vacated, is_last) = before.vacated(3);
        assert!(!is_last && !vacated.is_retired());
        assert_eq!((vacated.next_free(), vacated.filled()), (3, last));
        assert_eq!(before.doomed().freed(9).filled(), last);
    }

    #[test]
    fn a_key_has_generation_and_slot() {
        for word in every_kind() {
            let bits = word.key_bits(0x1234);
            assert!(Word::are_of_key(bits));
            assert_eq!(Word::of_key(bits), word.filled());
            assert_eq!(Word::slot_of_key(bits), 0x1234);
        }
        let last = MAX_SLOTS as u64 - 1;
        assert!(Word::are_of_key(GENERATION + last) && !Word::are_of_key(GENERATION + last + 1));
        assert!(!Word::are_of_key(GENERATION - 1) && !Word::are_of_key(0));
    }
}
