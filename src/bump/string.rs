//! `ArenaString`: a text that grows in an arena.
//!
//! # Invariants
//!
//! * `string-utf8`: the bytes are valid UTF-8 whenever other code can see them.

use core::borrow::{Borrow, BorrowMut};
use core::fmt;
use core::ops::{Deref, DerefMut};

use super::chunks::{Fails, Refusal, Refuses, done};
use super::vec::{ArenaVec, InArena};
use crate::error::{AllocError, Amount, FullError};
use crate::raw::memory;

/// A text that grows in an arena: an [`ArenaVec`] of bytes that are valid UTF-8.
///
/// Like the vector it grows in place if nothing was allocated after it, and `write!` formats into
/// it. [`into_str`](Self::into_str) returns the text as a slice of the arena. To format once, use
/// [`alloc_fmt`](super::Arena::alloc_fmt).
///
/// # Examples
///
/// ```
/// use std::fmt::Write;
///
/// use flatslab::bump::{Arena, ArenaString};
///
/// let arena = Arena::new();
/// let mut text = ArenaString::new_in(&arena);
/// text.push_str("flat");
/// text.push('-');
/// write!(text, "{:03}", 7)?;
/// assert_eq!(text, "flat-007");
/// let text: &mut str = text.into_str();
/// assert_eq!(text, "flat-007");
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct ArenaString<'a, 's> {
    /// Valid UTF-8 (`string-utf8`).
    bytes: ArenaVec<'a, 's, u8>,
}

impl<'a, 's> ArenaString<'a, 's> {
    /// Creates an empty text; allocates nothing.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// assert_eq!(ArenaString::new_in(&arena), "");
    /// ```
    #[must_use]
    pub fn new_in(arena: impl InArena<'a, 's>) -> Self {
        ArenaString {
            bytes: ArenaVec::new_in(arena),
        }
    }

    /// Creates an empty text with room for at least `capacity` bytes.
    ///
    /// # Panics
    ///
    /// If there is no room; see [`ArenaVec::reserve`].
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// assert!(ArenaString::with_capacity_in(8, &arena).capacity() >= 8);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn with_capacity_in(capacity: usize, arena: impl InArena<'a, 's>) -> Self {
        ArenaString {
            bytes: ArenaVec::with_capacity_in(capacity, arena),
        }
    }

    /// Returns the number of bytes that the text can have without growing.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// assert_eq!(ArenaString::new_in(&arena).capacity(), 0);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Reserves room for at least `additional` more bytes; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no room. The text is unchanged then.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::bounded(8);
    /// assert!(ArenaString::new_in(&arena).try_reserve(9).is_err());
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.bytes.try_reserve(additional)
    }

    /// Appends a character. Amortized O(1).
    ///
    /// # Panics
    ///
    /// If there is no room; see [`ArenaVec::reserve`].
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// let mut text = ArenaString::new_in(&arena);
    /// text.push('é');
    /// assert_eq!((text.len(), &*text), (2, "é"));
    /// ```
    #[track_caller]
    pub fn push(&mut self, character: char) {
        done(self.push_or::<Fails>(character));
    }

    /// Appends a character, or returns it if there is no room; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns the character if there is no room.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::bounded(0);
    /// assert_eq!(ArenaString::new_in(&arena).try_push('é').unwrap_err().into_inner(), 'é');
    /// ```
    pub fn try_push(&mut self, character: char) -> Result<(), FullError<char>> {
        self.push_or::<Refuses>(character).map_err(FullError)
    }

    #[track_caller]
    fn push_or<F: Refusal>(&mut self, character: char) -> Result<(), F::Refused<char>> {
        self.try_push_str(character.encode_utf8(&mut [0; 4]))
            .map_err(|error| F::refused(F::refuse(error), character))
    }

    /// Appends a text. O(n) for n bytes.
    ///
    /// # Panics
    ///
    /// If there is no room; see [`ArenaVec::reserve`].
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// let mut text = ArenaString::new_in(&arena);
    /// text.push_str("flat");
    /// assert_eq!(text, "flat");
    /// ```
    #[track_caller]
    pub fn push_str(&mut self, text: &str) {
        if let Err(error) = self.try_push_str(text) {
            memory::fail(error);
        }
    }

    /// Appends a text, if there is room for all of it; never panics or aborts.
    ///
    /// # Errors
    ///
    /// If there is no room; nothing is appended then.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::bounded(8);
    /// let mut text = ArenaString::new_in(&arena);
    /// assert!(text.try_push_str("a longer one").is_err());
    /// assert_eq!(text, "");
    /// ```
    pub fn try_push_str(&mut self, text: &str) -> Result<(), AllocError> {
        self.bytes.try_extend_from_slice(text.as_bytes())
    }

    /// Removes the last character and returns it. O(1).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// let mut text = ArenaString::new_in(&arena);
    /// text.push_str("né");
    /// assert_eq!((text.pop(), text.pop(), text.pop()), (Some('é'), Some('n'), None));
    /// ```
    pub fn pop(&mut self) -> Option<char> {
        let last = self.chars().next_back()?;
        self.bytes.truncate(self.bytes.len() - last.len_utf8());
        Some(last)
    }

    /// Shortens the text to its first `len` bytes; does nothing if it is not longer.
    ///
    /// # Panics
    ///
    /// If the end would be within a character.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// let mut text = ArenaString::new_in(&arena);
    /// text.push_str("flat");
    /// text.truncate(2);
    /// assert_eq!(text, "fl");
    /// ```
    #[track_caller]
    pub fn truncate(&mut self, len: usize) {
        assert!(
            len > self.len() || self.is_char_boundary(len),
            "cannot shorten a text to {}: this is within a character",
            Amount::bytes(len)
        );
        self.bytes.truncate(len);
    }

    /// Removes all characters, and keeps the capacity.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// let mut text = ArenaString::new_in(&arena);
    /// text.push_str("flat");
    /// text.clear();
    /// assert!(text.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns the text as a slice that lives as long as allocations of the arena or the scope.
    /// O(1).
    ///
    /// Unused capacity is freed if nothing was allocated after it.
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// let mut text = ArenaString::new_in(&arena);
    /// text.push_str("flat");
    /// assert_eq!(text.into_str(), "flat");
    /// ```
    #[doc(alias = "into_bump_str")]
    pub fn into_str(self) -> &'s mut str {
        // SAFETY: they are valid (`string-utf8`).
        unsafe { core::str::from_utf8_unchecked_mut(self.bytes.into_slice()) }
    }

    /// Returns the bytes of the text. O(1).
    ///
    /// ```
    /// use flatslab::bump::{Arena, ArenaString};
    ///
    /// let arena = Arena::new();
    /// let mut text = ArenaString::new_in(&arena);
    /// text.push_str("flat");
    /// assert_eq!(text.into_bytes(), *b"flat");
    /// ```
    #[must_use]
    pub fn into_bytes(self) -> ArenaVec<'a, 's, u8> {
        self.bytes
    }
}

impl Deref for ArenaString<'_, '_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: they are valid (`string-utf8`).
        unsafe { core::str::from_utf8_unchecked(&self.bytes) }
    }
}

impl DerefMut for ArenaString<'_, '_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut str {
        // SAFETY: they are valid (`string-utf8`), and a `str` keeps them so.
        unsafe { core::str::from_utf8_unchecked_mut(&mut self.bytes) }
    }
}

impl AsRef<str> for ArenaString<'_, '_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for ArenaString<'_, '_> {
    fn borrow(&self) -> &str {
        self
    }
}

impl BorrowMut<str> for ArenaString<'_, '_> {
    fn borrow_mut(&mut self) -> &mut str {
        self
    }
}

/// Hashes the text as a `str` does.
impl core::hash::Hash for ArenaString<'_, '_> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl PartialEq<str> for ArenaString<'_, '_> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for ArenaString<'_, '_> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<ArenaString<'_, '_>> for str {
    fn eq(&self, other: &ArenaString<'_, '_>) -> bool {
        *self == **other
    }
}

impl PartialEq<ArenaString<'_, '_>> for &str {
    fn eq(&self, other: &ArenaString<'_, '_>) -> bool {
        **self == **other
    }
}

impl Extend<char> for ArenaString<'_, '_> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = char>>(&mut self, characters: I) {
        for character in characters {
            self.push(character);
        }
    }
}

impl<'t> Extend<&'t str> for ArenaString<'_, '_> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = &'t str>>(&mut self, texts: I) {
        for text in texts {
            self.push_str(text);
        }
    }
}

/// Appends the text. Returns an error if there is no room.
impl fmt::Write for ArenaString<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.try_push_str(text).map_err(|_| fmt::Error)
    }
}

impl fmt::Display for ArenaString<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Prints the text in quotes.
impl fmt::Debug for ArenaString<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
