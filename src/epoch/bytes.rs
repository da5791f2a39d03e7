//! `EpochBytes`: buffers of any size.

use core::alloc::Layout;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use super::Epochs;
use super::borrow::{Ref, RefMut};
use super::contents::{self, Contents, Options, Plans};
use super::error::{InsertError, no_room};
use super::key::{Epoch, EpochKey, MAX_SLOTS, Word};
use super::record::{ChunkPtr, Plan};
use super::values::absent_or_refused;
use crate::error::{AccessError, BuildError, SizeError};
use crate::raw::chunk;

/// The maximum bytes of a buffer, and of a chunk of buffers.
const MAX_BYTES: usize = 1 << 30;
/// The bytes of the largest buffers, if no option sets them.
const LARGEST: usize = 64 << 10;
/// A slab of buffers of any size that belong to epochs; see the [module](super).
///
/// [`Epochs`] has the methods about epochs. A buffer takes a slot of the smallest size class that
/// fits: 64, 96, 128, 192, 256, 384, 512, 768 bytes and so on. Each class has chunks of its own in
/// each epoch. A buffer lives until it is [removed](EpochBytes::remove), or its epoch is
/// [cleared](Epochs::clear_epoch). If its key is lost, it pins its chunk until then.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::EpochBytes;
///
/// let bytes = EpochBytes::new();
/// let mut buf = bytes.try_alloc_in(bytes.current(), 384)?;
/// buf[..5].copy_from_slice(b"hello");
/// let key = buf.key();
/// drop(buf);                                            // ends the borrow; the buffer stays
/// assert_eq!(&bytes.get(key).unwrap()[..6], b"hello\0");
/// assert!(bytes.remove(key) && !bytes.remove(key));
/// # Ok::<(), flatslab::epoch::InsertError>(())
/// ```
pub type EpochBytes = Epochs<Bytes>;

/// The contents of [`EpochBytes`]: buffers of any size.
#[derive(Debug)]
pub enum Bytes {}

// Bytes have no invariant that a panic could leave broken.
impl core::panic::UnwindSafe for Epochs<Bytes> {}
impl core::panic::RefUnwindSafe for Epochs<Bytes> {}

impl Contents for Bytes {
    const NEEDS_DROP: bool = false;

    unsafe fn drop_in_place(_: NonNull<u8>) {}

    fn size_classes(options: &Options) -> Result<Plans, BuildError> {
        BuildError::in_range("chunk_bytes", options.chunk_bytes, 1, MAX_BYTES)?;
        let largest = options.largest.unwrap_or(LARGEST);
        BuildError::in_range("largest", largest, 1, MAX_BYTES)?;
        let mut of = [None; contents::CLASSES];
        let len = contents::class_of(largest) + 1;
        for (class, plan) in of.iter_mut().enumerate().take(len) {
            let size = contents::size_of_class(class);
            let cell = Layout::from_size_align(size, contents::ALIGN).expect("within the limit");
            let slots = (options.chunk_bytes / size).clamp(1, MAX_SLOTS);
            *plan = Some(Plan {
                cell: size,
                slots: slots as u32,
                data: chunk::layout(cell, slots)?,
                lengths: true,
            });
        }
        Ok(Plans { of, len })
    }
}

// SAFETY: it owns nothing but its memory. Its keys and epochs are numbers; guards and scopes
// borrow it, and cannot be sent along.
unsafe impl Send for EpochBytes {}

/// A new buffer, mutably borrowed; from [`EpochBytes::alloc`].
///
/// Dropping it ends the borrow. The buffer stays until [`EpochBytes::remove`] or
/// [`clear_epoch`](Epochs::clear_epoch).
///
/// # Examples
///
/// ```
/// use flatslab::AccessError;
/// use flatslab::epoch::EpochBytes;
///
/// let bytes = EpochBytes::new();
/// let buf = bytes.alloc(100);
/// assert_eq!((buf.len(), buf.epoch()), (100, bytes.current()));
/// assert_eq!(bytes.try_remove(buf.key()), Err(AccessError::Borrowed));
/// ```
#[must_use = "a buffer whose key is not kept lives until its epoch is cleared"]
pub struct EpochBuf<'a> {
    bytes: RefMut<'a, [u8]>,
    key: EpochKey,
    epoch: Epoch,
}

impl EpochBuf<'_> {
    /// Returns the key of the buffer.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(10).key();
    /// assert_eq!(bytes.get(key).unwrap().len(), 10);
    /// ```
    #[must_use]
    pub fn key(&self) -> EpochKey {
        self.key
    }

    /// Ends the borrow, and returns the key of the buffer.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(10).into_key();
    /// assert!(bytes.remove(key));
    /// ```
    #[must_use]
    pub fn into_key(self) -> EpochKey {
        self.key
    }

    /// Returns the epoch of the buffer.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// assert_eq!(bytes.alloc(10).epoch(), bytes.current());
    /// ```
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl Deref for EpochBuf<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for EpochBuf<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Prints the key, the epoch and the length.
impl fmt::Debug for EpochBuf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpochBuf")
            .field("key", &self.key)
            .field("epoch", &self.epoch)
            .field("len", &self.len())
            .finish()
    }
}

/// The bytes of a new buffer.
#[derive(Clone, Copy)]
pub(super) enum Fill<'b> {
    /// So many zeros.
    Zeros(usize),
    /// A copy of these.
    Copy(&'b [u8]),
}

impl Fill<'_> {
    #[inline]
    fn len(self) -> usize {
        match self {
            Fill::Zeros(len) => len,
            Fill::Copy(bytes) => bytes.len(),
        }
    }
}

impl EpochBytes {
    /// Creates an empty slab of buffers of up to 64 KiB, in chunks of 16 KiB, with a ring of 16
    /// epochs.
    ///
    /// Its memory is from the global allocator; [`builder`](Self::builder) has other options. It
    /// allocates the records of the epochs now.
    ///
    /// # Panics
    ///
    /// Aborts if the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// assert_eq!(bytes.stats().live, 0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// The class of a request.
    #[inline]
    fn class(&self, size: usize) -> Result<usize, InsertError> {
        let largest = self.largest();
        if size > largest {
            return Err(InsertError::TooLarge((), SizeError::new(size, largest)));
        }
        Ok(contents::class_of(size))
    }

    /// Returns the maximum number of bytes of a buffer, which is the size of the largest class.
    ///
    /// ```
    /// assert_eq!(flatslab::epoch::EpochBytes::new().largest(), 64 << 10);
    /// ```
    #[must_use]
    #[inline]
    pub fn largest(&self) -> usize {
        self.raw.store.largest
    }

    /// The buffer in a slot with a value.
    #[inline]
    fn buffer(&self, chunk: ChunkPtr, slot: u32) -> NonNull<[u8]> {
        let cell = chunk.cell(slot, chunk.cell_bytes);
        NonNull::slice_from_raw_parts(cell, chunk.length(slot).get() as usize)
    }

    /// Claims a slot for `size` bytes, which `fill` initialises. Also returns its word.
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    fn try_fill(
        &self,
        epoch: Option<Epoch>,
        fill: Fill<'_>,
    ) -> Result<(ChunkPtr, u32, Word), InsertError> {
        let class = self.class(fill.len())?;
        let claimed = match epoch {
            Some(epoch) => self.raw.claim(epoch, class),
            None => self.raw.claim_current(class),
        }?;
        Ok(self.fill(claimed, fill))
    }

    /// Calls `fill` to initialise the `size` bytes of a slot that was claimed. Also returns its
    /// word.
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    fn fill(
        &self,
        (chunk, slot, word): (ChunkPtr, u32, Word),
        fill: Fill<'_>,
    ) -> (ChunkPtr, u32, Word) {
        let word = word.filled();
        chunk.length(slot).set(fill.len() as u32);
        chunk.word(slot).set(word);
        let cell = chunk.cell(slot, chunk.cell_bytes);
        match fill {
            // SAFETY: the cell was claimed, and has room because of its class.
            Fill::Zeros(len) => unsafe { cell.write_bytes(0, len) },
            // SAFETY: as above; no other code has the cell, so it does not overlap the bytes.
            Fill::Copy(bytes) => unsafe {
                cell.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            },
        }
        #[cfg(feature = "track")]
        self.raw.note_origin(chunk, slot);
        (chunk, slot, word)
    }

    /// A zeroed buffer, which the caller has mutably borrowed.
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    fn try_zeroed(&self, epoch: Option<Epoch>, size: usize) -> Result<EpochBuf<'_>, InsertError> {
        let (chunk, slot, word) = self.try_fill(epoch, Fill::Zeros(size))?;
        chunk.word(slot).set(word.owned());
        Ok(EpochBuf {
            // SAFETY: `fill` has initialised the buffer, and the word has this writer.
            bytes: unsafe { RefMut::new(chunk.word(slot), self.buffer(chunk, slot)) },
            key: EpochKey::new(chunk.place, slot, word),
            epoch: epoch.unwrap_or_else(|| self.current()),
        })
    }

    /// Allocates a zeroed buffer of `len` bytes in an epoch. O(n) for n bytes.
    ///
    /// If the epoch has no vacant slot of the size class, it takes an unused chunk, or allocates
    /// one.
    ///
    /// # Errors
    ///
    /// If the epoch takes no more buffers, is closed, or belongs to another slab. If `len` exceeds
    /// [`largest`](Self::largest), a [limit](EpochBytes::builder) is reached, or the allocator
    /// refuses.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let buf = bytes.try_alloc_in(bytes.permanent(), 100)?;
    /// assert_eq!(*buf, [0; 100]);
    /// # Ok::<(), flatslab::epoch::InsertError>(())
    /// ```
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_alloc_in(&self, epoch: Epoch, len: usize) -> Result<EpochBuf<'_>, InsertError> {
        self.try_zeroed(Some(epoch), len)
    }

    /// Allocates a zeroed buffer of `len` bytes in the current epoch. O(n) for n bytes.
    ///
    /// Otherwise it is like [`try_alloc_in`](Self::try_alloc_in).
    ///
    /// # Panics
    ///
    /// If `len` exceeds [`largest`](Self::largest), or a [limit](EpochBytes::builder) is reached.
    /// Aborts if the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(100).key();
    /// assert!(bytes.contains_key(key));
    /// ```
    #[track_caller]
    pub fn alloc(&self, len: usize) -> EpochBuf<'_> {
        match self.try_zeroed(None, len) {
            Ok(buf) => buf,
            Err(error) => no_room("alloc", error),
        }
    }

    /// Copies bytes into a buffer in an epoch, and returns its key. O(n) for n bytes.
    ///
    /// This is faster than filling a zeroed buffer.
    ///
    /// # Errors
    ///
    /// If the epoch takes no more buffers, is closed, or belongs to another slab. If there are more
    /// bytes than [`largest`](Self::largest), a [limit](EpochBytes::builder) is reached, or the
    /// allocator refuses.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.try_copy_in(bytes.current(), b"hello")?;
    /// assert_eq!(&*bytes.get(key).unwrap(), b"hello");
    /// # Ok::<(), flatslab::epoch::InsertError>(())
    /// ```
    #[inline]
    #[cfg_attr(feature = "track", track_caller)]
    pub fn try_copy_in(&self, epoch: Epoch, bytes: &[u8]) -> Result<EpochKey, InsertError> {
        if bytes.len() <= self.raw.store.small {
            // SAFETY: small, as just asked (`largest-cell`).
            let class = unsafe { contents::class_of_small(bytes.len()) };
            if let Some(claimed) = self.raw.claim_at_once(epoch, class) {
                let (chunk, slot, word) = self.fill(claimed, Fill::Copy(bytes));
                return Ok(EpochKey::new(chunk.place, slot, word));
            }
        }
        self.try_copy_with_room(epoch, bytes)
    }

    /// Like [`try_copy_in`](Self::try_copy_in), if it takes more than a vacant slot. It does all of
    /// the work: if its path joined the other one again, the result would be tested for an error
    /// once more.
    #[cold]
    #[inline(never)]
    #[cfg_attr(feature = "track", track_caller)]
    fn try_copy_with_room(&self, epoch: Epoch, bytes: &[u8]) -> Result<EpochKey, InsertError> {
        let (chunk, slot, word) = self.try_fill(Some(epoch), Fill::Copy(bytes))?;
        Ok(EpochKey::new(chunk.place, slot, word))
    }

    /// Copies bytes into a buffer in the current epoch, and returns its key. O(n) for n bytes.
    ///
    /// Otherwise it is like [`try_copy_in`](Self::try_copy_in).
    ///
    /// # Panics
    ///
    /// If there are more bytes than [`largest`](Self::largest), or a [limit](EpochBytes::builder)
    /// is reached. Aborts if the allocator refuses, like `Vec`.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.copy(b"hello");
    /// assert_eq!(&*bytes.get(key).unwrap(), b"hello");
    /// ```
    #[track_caller]
    pub fn copy(&self, bytes: &[u8]) -> EpochKey {
        match self.try_fill(None, Fill::Copy(bytes)) {
            Ok((chunk, slot, word)) => EpochKey::new(chunk.place, slot, word),
            Err(error) => no_room("copy", error),
        }
    }

    /// Borrows the buffer at the key. O(1); does not allocate.
    ///
    /// Returns `None` if there is no buffer: it was removed, or dropped with its epoch, or the key
    /// belongs to another slab.
    ///
    /// # Panics
    ///
    /// If the buffer is mutably borrowed, or has 32,765 readers; [`try_get`](Self::try_get)
    /// returns the error.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(3).key();
    /// assert_eq!(bytes.get(key).as_deref(), Some(&[0, 0, 0][..]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self, key: EpochKey) -> Option<Ref<'_, [u8]>> {
        absent_or_refused(self.try_get(key), "get", key)
    }

    /// Borrows the buffer at the key, like [`get`](Self::get).
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no buffer,
    /// [`Borrowed`](AccessError::Borrowed) if it is mutably borrowed,
    /// [`TooManyReaders`](AccessError::TooManyReaders) if it has 32,765 readers.
    ///
    /// ```
    /// use flatslab::AccessError;
    ///
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let buf = bytes.alloc(3);
    /// assert_eq!(bytes.try_get(buf.key()).unwrap_err(), AccessError::Borrowed);
    /// ```
    #[inline]
    pub fn try_get(&self, key: EpochKey) -> Result<Ref<'_, [u8]>, AccessError> {
        let (chunk, slot) = self.raw.begin_read(key)?;
        // SAFETY: the reader was admitted, so there is a buffer (`word-says-value`), of this word.
        Ok(unsafe { Ref::new(chunk.word(slot), self.buffer(chunk, slot)) })
    }

    /// Borrows the buffer at the key mutably. O(1); does not allocate.
    ///
    /// Returns `None` if there is no buffer.
    ///
    /// # Panics
    ///
    /// If the buffer is borrowed; [`try_get_mut`](Self::try_get_mut) returns the error.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(3).key();
    /// bytes.get_mut(key).unwrap()[1] = 7;
    /// assert_eq!(*bytes.get(key).unwrap(), [0, 7, 0]);
    /// ```
    #[track_caller]
    pub fn get_mut(&self, key: EpochKey) -> Option<RefMut<'_, [u8]>> {
        absent_or_refused(self.try_get_mut(key), "get_mut", key)
    }

    /// Borrows the buffer at the key mutably, like [`get_mut`](Self::get_mut).
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no buffer,
    /// [`Borrowed`](AccessError::Borrowed) if it is borrowed.
    ///
    /// ```
    /// use flatslab::AccessError;
    ///
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(3).key();
    /// let guard = bytes.get(key);
    /// assert_eq!(bytes.try_get_mut(key).unwrap_err(), AccessError::Borrowed);
    /// ```
    pub fn try_get_mut(&self, key: EpochKey) -> Result<RefMut<'_, [u8]>, AccessError> {
        let (chunk, slot) = self.raw.idle(key)?;
        chunk.word(slot).set(key.word().owned());
        // SAFETY: idle, so there is a buffer (`word-says-value`), and the word has this writer now.
        Ok(unsafe { RefMut::new(chunk.word(slot), self.buffer(chunk, slot)) })
    }

    /// Removes the buffer at the key, and returns whether there was one. O(1).
    ///
    /// # Panics
    ///
    /// If the buffer is borrowed; [`try_remove`](Self::try_remove) returns the error.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(3).key();
    /// assert!(bytes.remove(key) && !bytes.remove(key));
    /// ```
    #[inline]
    #[track_caller]
    pub fn remove(&self, key: EpochKey) -> bool {
        absent_or_refused(self.try_remove(key), "remove", key).is_some()
    }

    /// Removes the buffer at the key, like [`remove`](Self::remove).
    ///
    /// # Errors
    ///
    /// [`Missing`](AccessError::Missing) if there is no buffer,
    /// [`Borrowed`](AccessError::Borrowed) if it is borrowed.
    ///
    /// ```
    /// let bytes = flatslab::epoch::EpochBytes::new();
    /// let key = bytes.alloc(3).key();
    /// assert_eq!(bytes.try_remove(key), Ok(()));
    /// ```
    #[inline]
    pub fn try_remove(&self, key: EpochKey) -> Result<(), AccessError> {
        let (chunk, slot) = self.raw.idle(key)?;
        self.raw.push(chunk, slot, key.word());
        Ok(())
    }

    /// A buffer in the epoch of a scope, which owns it until the scope ends.
    #[cfg_attr(feature = "track", track_caller)]
    pub(super) fn try_owned(
        &self,
        epoch: Epoch,
        fill: Fill<'_>,
    ) -> Result<NonNull<[u8]>, InsertError> {
        let (chunk, slot, word) = self.try_fill(Some(epoch), fill)?;
        chunk.word(slot).set(word.owned());
        Ok(self.buffer(chunk, slot))
    }
}

impl Default for EpochBytes {
    fn default() -> Self {
        EpochBytes::new()
    }
}
