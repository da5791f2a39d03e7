//! `EpochSlab`: values of one type.

use core::alloc::Layout;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::Epochs;
use super::borrow::{Ref, RefMut};
use super::contents::{CLASSES, Contents, Options, Plans};
use super::error::{InsertError, no_room};
use super::key::{Epoch, EpochKey, MAX_SLOTS, Word};
use super::record::{ChunkPtr, Plan};
use crate::error::{AccessError, BuildError};
use crate::raw::chunk;

/// A slab of values of one type that belong to epochs; see the [module](super).
///
/// [`Epochs`] has the methods about epochs. Dropping the slab drops all its values.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochSlab;
///
/// let slab = EpochSlab::new();
/// let key = slab.insert("a session".to_string());
/// slab.get_mut(key).unwrap().push('!');
/// assert_eq!(slab.take(key).as_deref(), Some("a session!"));
/// assert_eq!(slab.take(key), None);
/// ```
pub type EpochSlab<T> = Epochs<Values<T>>;

/// The contents of an [`EpochSlab`]: values of one type.
pub struct Values<T>(PhantomData<*mut T>);

// User code runs only while the invariants hold (`epochs-whole`, `store-whole`), so a panic leaves
// the slab consistent. As with `RefCell`, a value may be half changed, and is seen by reference.
impl<T: core::panic::UnwindSafe> core::panic::UnwindSafe for Epochs<Values<T>> {}

impl<T> Contents for Values<T> {
    const NEEDS_DROP: bool = core::mem::needs_drop::<T>();

    unsafe fn drop_in_place(cell: NonNull<u8>) {
        // SAFETY: the cell has a `T` that is dropped once (precondition).
        unsafe { cell.cast::<T>().drop_in_place() };
    }

    fn size_classes(options: &Options) -> Result<Plans, BuildError> {
        let slots = options.chunk_capacity;
        BuildError::in_range("chunk_capacity", slots, 1, MAX_SLOTS)?;
        let cell = Layout::new::<T>();
        let mut of = [None; CLASSES];
        of[0] = Some(Plan {
            cell: cell.size(),
            slots: slots as u32,
            data: chunk::layout(cell, slots)?,
            lengths: false,
        });
        Ok(Plans { of, len: 1 })
    }
}

impl<T> fmt::Debug for Values<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}

// SAFETY: it owns its values, which are `Send`, and its memory. Its keys and
// epochs are numbers; guards and scopes borrow it, and cannot be sent along.
unsafe impl<T: Send> Send for EpochSlab<T> {}

impl<T> EpochSlab<T> {
    /// Creates an empty slab with chunks of 64 values and a ring of 16 epochs.
    ///
    /// Its memory is from the global allocator; [`builder`](Self::builder) has other options. It
    /// allocates the records of the epochs now.
    ///
    /// # Panics
    ///
    /// If 64 values exceed `isize::MAX` bytes. Aborts if the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::<u64>::new();
    /// assert_eq!(slab.stats().live, 0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self::builder().build()
    }

    #[inline]
    fn value(chunk: ChunkPtr, slot: u32) -> NonNull<T> {
        chunk.cell(slot, size_of::<T>()).cast()
    }

    /// Puts a value into a slot that was just claimed.
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    fn fill(&self, (chunk, slot, word): (ChunkPtr, u32, Word), value: T) -> EpochKey {
        // SAFETY: within the chunk's memory (`values-have-memory`, `chunk-memory`), and vacant, so
        // without a value (`word-says-value`).
        unsafe { Self::value(chunk, slot).write(value) };
        let word = word.filled();
        chunk.word(slot).set(word);
        #[cfg(feature = "track")]
        self.raw.note_origin(chunk, slot);
        EpochKey::new(chunk.place, slot, word)
    }

    /// Inserts a value into the current epoch, and returns its key. O(1).
    ///
    /// If the epoch has no vacant slot, it takes an unused chunk, or allocates one.
    ///
    /// # Panics
    ///
    /// If a [limit](Self::builder) is reached. Aborts if the allocator refuses, like `Vec`, or if
    /// there are 2³⁰ chunks.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.epoch_of(key), Some(slab.current()));
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("alloc", "push", "emplace"))]
    pub fn insert(&self, value: T) -> EpochKey {
        match self.try_insert(value) {
            Ok(key) => key,
            Err(error) => no_room("insert", error),
        }
    }

    /// Inserts a value into the current epoch, and returns its key, or returns the value in an
    /// error.
    ///
    /// # Errors
    ///
    /// If [`insert`](Self::insert) would panic or abort. The error contains the value.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.try_insert(7)?;
    /// assert!(slab.contains_key(key));
    /// # Ok::<(), flatslab::epoch::InsertError<i32>>(())
    /// ```
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_insert(&self, value: T) -> Result<EpochKey, InsertError<T>> {
        match self.raw.claim_current(0) {
            Ok(claimed) => Ok(self.fill(claimed, value)),
            Err(refusal) => Err(refusal.with(value)),
        }
    }

    /// Inserts a value into an epoch, and returns its key. O(1).
    ///
    /// If the epoch has no vacant slot, it takes an unused chunk, or allocates one.
    ///
    /// # Errors
    ///
    /// If the epoch takes no more insertions, is closed, or belongs to another slab. If a
    /// [limit](Self::builder) is reached, or the allocator refuses. The error contains the value.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let config = slab.try_insert_in(slab.permanent(), "config")?;
    /// slab.advance();
    /// assert_eq!(*slab.get(config).unwrap(), "config");
    /// # Ok::<(), flatslab::epoch::InsertError<&str>>(())
    /// ```
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_insert_in(&self, epoch: Epoch, value: T) -> Result<EpochKey, InsertError<T>> {
        match self.raw.claim(epoch, 0) {
            Ok(claimed) => Ok(self.fill(claimed, value)),
            Err(refusal) => Err(refusal.with(value)),
        }
    }

    /// Borrows the value at the key. O(1); does not allocate.
    ///
    /// Returns `None` if there is no value: it was taken out, or dropped with its epoch, or the key
    /// belongs to another slab.
    ///
    /// # Panics
    ///
    /// If the value is mutably borrowed, or has 32,765 readers; [`try_get`](Self::try_get)
    /// returns the error.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!(slab.get(key).as_deref(), Some(&7));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, key: EpochKey) -> Option<Ref<'_, T>> {
        absent_or_refused(self.try_get(key), "get", key)
    }

    /// Borrows the value at the key, like [`get`](Self::get).
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no value,
    /// [`Borrowed`](AccessError::Borrowed) if it is mutably borrowed,
    /// [`TooManyReaders`](AccessError::TooManyReaders) if it has 32,765 readers.
    ///
    /// ```
    /// use flatslab::AccessError;
    ///
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// let guard = slab.get_mut(key);
    /// assert_eq!(slab.try_get(key).unwrap_err(), AccessError::Borrowed);
    /// ```
    #[inline]
    pub fn try_get(&self, key: EpochKey) -> Result<Ref<'_, T>, AccessError> {
        let (chunk, slot) = self.raw.begin_read(key)?;
        // SAFETY: the reader was admitted, so there is a value (`word-says-value`), of this word.
        Ok(unsafe { Ref::new(chunk.word(slot), Self::value(chunk, slot)) })
    }

    /// Borrows the value at the key mutably. O(1); does not allocate.
    ///
    /// Returns `None` if there is no value.
    ///
    /// # Panics
    ///
    /// If the value is borrowed; [`try_get_mut`](Self::try_get_mut) returns the error.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// *slab.get_mut(key).unwrap() += 1;
    /// assert_eq!(slab.take(key), Some(8));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_mut(&self, key: EpochKey) -> Option<RefMut<'_, T>> {
        absent_or_refused(self.try_get_mut(key), "get_mut", key)
    }

    /// Borrows the value at the key mutably, like [`get_mut`](Self::get_mut).
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no value,
    /// [`Borrowed`](AccessError::Borrowed) if it is borrowed.
    ///
    /// ```
    /// use flatslab::AccessError;
    ///
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// let guard = slab.get(key);
    /// assert_eq!(slab.try_get_mut(key).unwrap_err(), AccessError::Borrowed);
    /// ```
    #[inline]
    pub fn try_get_mut(&self, key: EpochKey) -> Result<RefMut<'_, T>, AccessError> {
        let (chunk, slot) = self.raw.idle(key)?;
        chunk.word(slot).set(key.word().owned());
        // SAFETY: idle, so there is a value (`word-says-value`), and the word has this writer now.
        Ok(unsafe { RefMut::new(chunk.word(slot), Self::value(chunk, slot)) })
    }

    /// Moves the value at the key out. O(1).
    ///
    /// Returns `None` if there is no value. If it was the last value of a pinned chunk, the chunk
    /// becomes unused, and its memory may be returned to the system, see
    /// [`cached_chunks`](crate::Builder::cached_chunks).
    ///
    /// # Panics
    ///
    /// If the value is borrowed; [`try_take`](Self::try_take) returns the error.
    ///
    /// ```
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// assert_eq!((slab.take(key), slab.take(key)), (Some(7), None));
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias("remove", "free", "erase"))]
    pub fn take(&self, key: EpochKey) -> Option<T> {
        absent_or_refused(self.try_take(key), "take", key)
    }

    /// Moves the value at the key out, like [`take`](Self::take).
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no value,
    /// [`Borrowed`](AccessError::Borrowed) if it is borrowed.
    ///
    /// ```
    /// use flatslab::AccessError;
    ///
    /// let slab = flatslab::epoch::EpochSlab::new();
    /// let key = slab.insert(7);
    /// let guard = slab.get(key);
    /// assert_eq!(slab.try_take(key), Err(AccessError::Borrowed));
    /// drop(guard);
    /// assert_eq!(slab.try_take(key), Ok(7));
    /// assert_eq!(slab.try_take(key), Err(AccessError::Missing));
    /// ```
    #[inline]
    pub fn try_take(&self, key: EpochKey) -> Result<T, AccessError> {
        let (chunk, slot) = self.raw.idle(key)?;
        // SAFETY: idle, so there is a value (`word-says-value`), which leaves: its cell is vacant
        // from here on, and may be freed with its chunk.
        let value = unsafe { Self::value(chunk, slot).read() };
        self.raw.push(chunk, slot, key.word());
        Ok(value)
    }

    /// Puts a value into the epoch of a scope, which owns it until the scope ends.
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    pub(super) fn try_insert_owned(
        &self,
        epoch: Epoch,
        value: T,
    ) -> Result<NonNull<T>, InsertError<T>> {
        match self.raw.claim(epoch, 0) {
            Ok((chunk, slot, word)) => {
                self.fill((chunk, slot, word), value);
                chunk.word(slot).set(word.owned());
                Ok(Self::value(chunk, slot))
            }
            Err(refusal) => Err(refusal.with(value)),
        }
    }
}

impl<T> Default for EpochSlab<T> {
    fn default() -> Self {
        EpochSlab::new()
    }
}

/// `None` if there is no value.
#[inline]
#[track_caller]
pub(super) fn absent_or_refused<R>(
    result: Result<R, AccessError>,
    operation: &str,
    key: EpochKey,
) -> Option<R> {
    match result {
        Ok(found) => Some(found),
        Err(AccessError::Missing) => None,
        Err(error) => refuse(operation, key, error),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse(operation: &str, key: EpochKey, error: AccessError) -> ! {
    panic!("{operation} was refused for {key:?}: {error}")
}
