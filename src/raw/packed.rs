//! Several numbers in one word: what is on a [stack](super::returns) of numbers.
//!
//! A push that finds room in the word shifts its number in, and touches nothing else. One that
//! finds none writes the word down in the place its number leads to, the *link*, and begins a
//! new word. That place is a cell which the owner wrote last: the store waits until the owner's
//! core has given up its line, and the exchange that follows waits for the store. The owner, in
//! turn, waits for each link it reads, because that says where the next one is. With a number of
//! 11 bits one push in five pays for a link, and the owner reads one cell in five
//! (benches/ATTEMPTS.md, "The return stack").
//!
//! # Invariants
//!
//! * `packed-digits`: the digits of a word, of `bits` bits each, are its numbers and 1, the one
//!   pushed last in the lowest bits. A *wide* word has one digit, which takes all bits.
//! * `linked-word`: below a word that is *linked* lies the word in the link of the number pushed
//!   first, the highest digit; below any other lies nothing. A wide word is linked.

/// The word below stands in a link.
const LINKED: usize = 1 << (usize::BITS - 1);
/// There is one number, which takes all bits.
const WIDE: usize = LINKED >> 1;
/// Bits for digits; so few in the models that these come to full words and to wide ones.
const DIGITS: u32 = if cfg!(all(test, loom)) {
    4
} else {
    usize::BITS - 2
};

/// How numbers share words; the same for all that are pushed on one stack.
#[derive(Clone, Copy)]
pub(crate) struct Packing {
    /// Of a digit.
    bits: u32,
    /// Digits from here on leave no room for another one.
    full: usize,
}

impl Packing {
    /// Each number takes a word, which a [`narrow`](Word::narrow) link has room for.
    pub(crate) const NONE: Packing = Packing { bits: 0, full: 0 };

    /// For numbers of which there is no highest: those below a million share words, the others
    /// take one each (on a machine of 32 bits, those below a thousand).
    pub(crate) const UNBOUNDED: Packing = Packing::in_bits(DIGITS / 3);

    /// For numbers below `limit`.
    pub(crate) const fn below(limit: usize) -> Packing {
        // The highest digit is `limit`. At least one bit, and at most half of them.
        let needed = usize::BITS - limit.leading_zeros();
        match needed {
            0 => Packing::in_bits(1),
            needed if needed <= DIGITS / 2 => Packing::in_bits(needed),
            _ => Packing::UNBOUNDED,
        }
    }

    const fn in_bits(bits: u32) -> Packing {
        let last = (DIGITS / bits - 1) * bits;
        Packing {
            bits,
            full: 1 << last,
        }
    }

    /// Whether a digit has no more bits than all others.
    #[inline]
    const fn admits(self, digit: usize) -> bool {
        digit >> self.bits == 0
    }
}

/// The numbers pushed last, and whether others lie below.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Word(pub(super) usize);

impl Word {
    pub(crate) const EMPTY: Word = Word(0);

    /// In place of the top of a stack whose owner is gone; a wide word has a digit.
    pub(super) const CLOSED: Word = Word(WIDE);

    /// Numbers are below this: with 1 added they fit in a narrow link, and in a wide word.
    pub(crate) const LIMIT: u32 = if usize::BITS > 32 {
        u32::MAX
    } else {
        (1 << 30) - 1
    };

    #[inline]
    const fn digits(self) -> usize {
        self.0 & !(LINKED | WIDE)
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self == Word::EMPTY
    }

    /// This with one more number; `None` if it has no room, or the number none in it.
    #[inline]
    pub(super) const fn with(self, number: u32, packing: Packing) -> Option<Word> {
        let digit = number as usize + 1;
        // A wide word, and that of a closed stack, are above any that has room (`packed-digits`).
        if self.0 & !LINKED < packing.full && packing.admits(digit) {
            let linked = self.0 & LINKED;
            Some(Word(linked | self.digits() << packing.bits | digit))
        } else {
            None
        }
    }

    /// A word of that number alone, in whose link the word below it was written (`linked-word`).
    #[inline]
    pub(crate) const fn linked(number: u32, packing: Packing) -> Word {
        let digit = number as usize + 1;
        if packing.admits(digit) {
            Word(LINKED | digit)
        } else {
            Word(LINKED | WIDE | digit)
        }
    }

    /// The number pushed last, and what is left without it; `link` reads the link of a number.
    #[inline]
    pub(crate) fn next(
        self,
        packing: Packing,
        link: impl FnOnce(u32) -> Word,
    ) -> Option<(u32, Word)> {
        if self.is_empty() {
            return None;
        }
        let digits = self.digits();
        // The other digits, if this one has not all bits.
        let (digit, others) = match self.0 & WIDE {
            0 => (digits & ((1 << packing.bits) - 1), digits >> packing.bits),
            _ => (digits, 0),
        };
        let number = (digit - 1) as u32;
        let left = match (others, self.0 & LINKED) {
            (0, 0) => Word::EMPTY,
            (0, _) => link(number),
            (_, linked) => Word(linked | others),
        };
        Some((number, left))
    }

    /// A word of [`Packing::NONE`] for a link of 32 bits.
    #[inline]
    pub(crate) const fn narrow(self) -> u32 {
        self.digits() as u32
    }

    /// The word that such a link is of.
    #[inline]
    pub(crate) const fn of_narrow(link: u32) -> Word {
        match link {
            0 => Word::EMPTY,
            digit => Word(LINKED | WIDE | digit as usize),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashMap;
    use std::vec::Vec;

    use super::*;

    /// Pushes these, and takes them from the last to the first. How many links were written.
    fn links(packing: Packing, numbers: &[u32]) -> usize {
        let mut links = HashMap::new();
        let mut word = Word::EMPTY;
        for &number in numbers {
            word = word.with(number, packing).unwrap_or_else(|| {
                links.insert(number, word);
                Word::linked(number, packing)
            });
            assert!(word != Word::CLOSED && !word.is_empty());
        }
        let mut taken = Vec::new();
        while let Some((number, left)) = word.next(packing, |number| links[&number]) {
            taken.push(number);
            word = left;
        }
        taken.reverse();
        assert_eq!(taken, numbers);
        links.len()
    }

    #[test]
    #[cfg_attr(each_run, ignore = "weekly")]
    fn numbers_are_taken_from_the_last_to_the_first_whatever_their_limit() {
        let (few, most) = if cfg!(miri) { (5, 7) } else { (70, 70) };
        for limit in (1..=few).chain([1000, 4095, 4096, 1 << 20, (1 << 30) - 1]) {
            let packing = Packing::below(limit);
            let last = limit as u32 - 1;
            for count in 0..=limit.min(most) as u32 {
                let up: Vec<u32> = (0..count).collect();
                let down: Vec<u32> = (0..count).map(|number| last - number).collect();
                links(packing, &up);
                links(packing, &down);
            }
        }
    }

    #[test]
    fn a_number_that_is_wider_than_the_others_takes_a_word() {
        let wide = Word::LIMIT - 1;
        let narrow = Packing::UNBOUNDED;
        for numbers in [[wide, 0, 1, 2], [0, wide, 1, 2], [0, 1, 2, wide]] {
            links(narrow, &numbers);
        }
        links(narrow, &[wide, wide - 1, 5, wide - 2, wide - 3]);
        assert_eq!(links(narrow, &[0, 1, 2]), 0);
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    #[cfg_attr(miri, ignore = "counts links")]
    fn of_a_thousand_numbers_one_in_five_has_a_link() {
        let numbers: Vec<u32> = (0..1000).collect();
        assert_eq!(links(Packing::below(1024), &numbers), 199);
        assert_eq!(links(Packing::UNBOUNDED, &numbers), 333);
        assert_eq!(links(Packing::NONE, &numbers), 1000);
    }

    #[test]
    fn words_of_one_number_each_fit_in_narrow_links() {
        assert!(Word::of_narrow(Word::EMPTY.narrow()).is_empty());
        for number in [0, 1, Word::LIMIT - 1] {
            let word = Word::linked(number, Packing::NONE);
            assert_eq!(Word::of_narrow(word.narrow()), word);
        }
    }

    #[test]
    fn nothing_is_added_to_the_word_of_a_closed_stack() {
        for packing in [Packing::NONE, Packing::UNBOUNDED, Packing::below(1)] {
            assert!(Word::CLOSED.with(0, packing).is_none());
        }
    }
}
