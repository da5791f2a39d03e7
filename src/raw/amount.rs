//! A number of things, in words: `1 byte`, `2 bytes`.

use core::fmt;

/// Prints the number, and the word for one thing or for several.
pub(crate) struct Amount(usize, &'static str);

impl Amount {
    pub(crate) fn bytes(number: usize) -> Self {
        Amount(number, "byte")
    }

    pub(crate) fn slots(number: usize) -> Self {
        Amount(number, "slot")
    }

    pub(crate) fn values(number: usize) -> Self {
        Amount(number, "value")
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Amount(number, word) = self;
        let ending = if *number == 1 { "" } else { "s" };
        write!(f, "{number} {word}{ending}")
    }
}
