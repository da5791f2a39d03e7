//! Bytes that are being filled: the start, how many are filled, and how many there are. What
//! every buffer with one owner has, on one thread or several.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

#[cfg(feature = "std")]
use crate::error::Amount;
use crate::error::SizeError;

/// Bytes of one owner, the first of them filled.
pub(crate) struct Filling {
    /// `capacity` bytes from here on are this value's alone; the first `len` are initialised.
    start: NonNull<u8>,
    len: u32,
    capacity: u32,
}

impl Filling {
    /// # Safety
    ///
    /// `capacity` bytes from `start` on are this value's alone while it is used; the first
    /// `len` are initialised. Both numbers fit in 32 bits.
    #[inline]
    pub(crate) unsafe fn new(start: NonNull<u8>, len: usize, capacity: usize) -> Self {
        debug_assert!(len <= capacity && u32::try_from(capacity).is_ok());
        Filling {
            start,
            len: len as u32,
            capacity: capacity as u32,
        }
    }

    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// How many bytes are not filled.
    #[inline]
    pub(crate) fn remaining(&self) -> usize {
        (self.capacity - self.len) as usize
    }

    /// Where the bytes begin that are not filled.
    #[inline]
    fn end(&self) -> NonNull<u8> {
        // SAFETY: within the bytes, or one past them.
        unsafe { self.start.add(self.len as usize) }
    }

    /// Checks that there is room for `given` more bytes.
    #[inline]
    fn check_room(&self, given: usize) -> Result<(), SizeError> {
        let room = self.remaining();
        if given > room {
            return Err(SizeError::new(given, room));
        }
        Ok(())
    }

    /// Fills the next bytes with these, or none of them.
    #[inline]
    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), SizeError> {
        self.check_room(bytes.len())?;
        let source = NonNull::from(bytes).cast();
        // SAFETY: there is room. No one else has these bytes, so they do not overlap.
        unsafe { self.end().copy_from_nonoverlapping(source, bytes.len()) };
        self.len += bytes.len() as u32;
        Ok(())
    }

    /// Changes the length; fills with `byte` what is added.
    pub(crate) fn resize(&mut self, len: usize, byte: u8) -> Result<(), SizeError> {
        if let Some(more) = len.checked_sub(self.len()) {
            self.check_room(more)?;
            // SAFETY: there is room, and no one else has these bytes.
            unsafe { self.end().write_bytes(byte, more) };
        }
        self.len = len as u32;
        Ok(())
    }

    /// Shortens it to `len` bytes, if it is longer.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = len.min(self.len()) as u32;
    }

    /// The bytes that are not filled.
    pub(crate) fn spare_capacity_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        let spare = NonNull::slice_from_raw_parts(self.end().cast(), self.remaining());
        // SAFETY: this value's alone; they may be uninitialised.
        unsafe { { spare }.as_mut() }
    }

    /// Has a reader fill the next bytes, by one call; returns how many.
    ///
    /// # Errors
    ///
    /// Those of the reader, and `StorageFull` if there is no room, without a call.
    ///
    /// # Safety
    ///
    /// All bytes are initialised, the unfilled ones too.
    #[cfg(feature = "std")]
    pub(crate) unsafe fn read_from(
        &mut self,
        reader: &mut (impl std::io::Read + ?Sized),
    ) -> std::io::Result<usize> {
        let room = self.remaining();
        if room == 0 {
            // Not `Ok(0)`, which is the end of the input.
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let mut unfilled = NonNull::slice_from_raw_parts(self.end(), room);
        // SAFETY: initialised (precondition), and this value's alone. A reader that panics or
        // returns an error has written bytes that are not counted, and no more.
        let count = reader.read(unsafe { unfilled.as_mut() })?;
        assert!(
            count <= room,
            "read_from was refused: the reader returned a length of {} for a buffer of {}",
            Amount::bytes(count),
            Amount::bytes(room)
        );
        self.len += count as u32;
        Ok(count)
    }

    /// Sets the number of filled bytes.
    ///
    /// # Safety
    ///
    /// They are at most the capacity, and all of them are initialised.
    #[inline]
    pub(crate) unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity());
        self.len = len as u32;
    }

    /// The bytes that are filled.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are initialised, and this value's alone.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len()) }
    }

    /// The bytes that are filled, to be changed.
    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the first `len` bytes are initialised, and this value's alone, borrowed
        // exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len()) }
    }
}
