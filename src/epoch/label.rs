//! Labels of epochs: short text, in place.

use core::fmt;
use core::ops::Deref;

/// A name for an epoch, of at most 31 bytes.
///
/// # Examples
///
/// ```
/// use flatslab::epoch::{EpochSlab, Label};
///
/// let label: Label = "login".parse()?;
/// let slab = EpochSlab::<u64>::new();
/// assert!(slab.set_label(slab.current(), label));
/// assert_eq!(&*slab.epoch_stats(slab.current()).unwrap().label, "login");
/// assert!("a name of more than thirty-one bytes".parse::<Label>().is_err());
/// # Ok::<(), flatslab::epoch::LabelError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label {
    len: u8,
    bytes: [u8; Label::MAX],
}

const _: () = assert!(size_of::<Label>() == 32);

impl Label {
    /// The most bytes of a label.
    pub const MAX: usize = 31;

    pub(super) const EMPTY: Label = Label {
        len: 0,
        bytes: [0; Label::MAX],
    };

    /// The label with that text.
    ///
    /// # Errors
    ///
    /// With more than 31 bytes.
    ///
    /// ```
    /// use flatslab::epoch::Label;
    ///
    /// assert_eq!(Label::new("batch")?.as_str(), "batch");
    /// # Ok::<(), flatslab::epoch::LabelError>(())
    /// ```
    pub fn new(text: &str) -> Result<Label, LabelError> {
        let mut label = Label::EMPTY;
        let bytes = (label.bytes.get_mut(..text.len())).ok_or(LabelError { bytes: text.len() })?;
        bytes.copy_from_slice(text.as_bytes());
        label.len = text.len() as u8;
        Ok(label)
    }

    /// The text; empty where none was set.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = &self.bytes[..usize::from(self.len)];
        core::str::from_utf8(bytes).expect("made of text")
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl core::str::FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Label, LabelError> {
        Label::new(text)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// A text is too long for a [`Label`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelError {
    bytes: usize,
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a label of {} bytes was asked for, the limit is {}",
            self.bytes,
            Label::MAX
        )
    }
}

impl core::error::Error for LabelError {}
