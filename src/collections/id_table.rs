//! The table of a [`KeyIndex`](super::KeyIndex): numbers of slots, found by the hash of an id.
//!
//! A table consists of groups of half a cache line, of six entries each. An entry is the number of a
//! slot, with some bits of the id's hash in what is spare, and a *tag* of seven more bits. The tags of a
//! group are in one word, and a search compares all of them in a few instructions, without a branch
//! for each. It asks about the slot of an id that is there, and hardly ever about another one.
//!
//! An entry is in the *home* group of its hash, or in one of the groups after it if that was full.
//! A group counts the entries that were refused, its *overflow*: as long as there is none, a search
//! ends there. When such an entry is removed, the groups that had refused it count one less. So there
//! are no tombstones, no entry moves, and a removal runs no code of the user's.
//!
//! # A larger table
//!
//! The product of the hash and the number of groups is, from its first bits on, the home group, the
//! tag and the other bits. With twice as many groups the first bit of the tag becomes the last bit of
//! the group, and so on. So entries move to a larger table without a look at their values, except
//! those that are not in their home group: each group counts these, its *guests*.
//!
//! # Invariants
//!
//! * `index-room`: a table has fewer entries than places.
//! * `index-reachable`: every group from the home of an entry up to the one before the entry's has an
//!   overflow that counts this entry, unless the hasher has lied, or the id has changed.

use super::heap::check_slots;
use crate::error::AllocError;
use crate::key::MAX_SLOTS;
use crate::memory::array::Array;
use crate::raw::source::Source;

/// Entries of a group.
pub(super) const ENTRIES: usize = 6;

/// A bit in each byte that is a tag.
const ONES: u64 = 0x0101_0101_0101;

/// The first bit of each byte that is a tag: set if the place has an entry.
const FIRSTS: u64 = ONES << 7;

/// The overflow that says "many", and is never lowered.
const MANY: u64 = u64::MAX >> 51;

/// Six entries.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Group {
    /// Six bytes, each of which is 0, or a tag whose first bit is set; three bits for the guests; the
    /// overflow.
    pub(super) tags: u64,
    /// The numbers of the slots, and above them more bits of the hash.
    slots: [u32; ENTRIES],
}

impl Group {
    pub(super) const EMPTY: Group = Group {
        tags: 0,
        slots: [0; ENTRIES],
    };

    /// A bit for each entry with this tag, and perhaps for one after it whose tag differs in the last
    /// bit: the rest of the entry tells.
    #[inline(always)]
    pub(super) fn matching(&self, tag: u8) -> u64 {
        let differing = self.tags ^ (ONES * u64::from(tag));
        differing.wrapping_sub(ONES) & !differing & FIRSTS
    }

    /// The place of the first bit of those that [`matching`](Self::matching) returns.
    #[inline(always)]
    pub(super) fn at(bits: u64) -> usize {
        (bits.trailing_zeros() / 8) as usize
    }

    /// The entries that there are.
    pub(super) fn entries(&self) -> impl Iterator<Item = usize> + use<> {
        let tags = self.tags;
        (0..ENTRIES).filter(move |at| tags >> (8 * at) & 0x80 != 0)
    }

    pub(super) fn tag(&self, at: usize) -> u8 {
        (self.tags >> (8 * at)) as u8
    }

    #[inline(always)]
    pub(super) fn guests(&self) -> u64 {
        self.tags >> 48 & 7
    }

    #[inline(always)]
    pub(super) fn overflow(&self) -> u64 {
        self.tags >> 51
    }

    pub(super) fn note_refused(&mut self) {
        if self.overflow() < MANY {
            self.tags += 1 << 51;
        }
    }

    pub(super) fn forget_refused(&mut self) {
        if (1..MANY).contains(&self.overflow()) {
            self.tags -= 1 << 51;
        }
    }
}

/// A table of groups.
pub(super) struct Table {
    pub(super) groups: Array<Group>,
    /// How many groups there are, once all are written.
    pub(super) count: usize,
    /// The number of slots whose keys there is room for.
    pub(super) slots: usize,
    /// The bits of an entry that are the number of its slot.
    pub(super) slot_mask: u32,
    pub(super) len: usize,
}

/// What an entry has of its hash.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    tag: u8,
    bits: u32,
}

impl Mark {
    /// The slot of an entry if it has these bits.
    #[inline(always)]
    pub(super) fn slot(self, entry: u32, slot_mask: u32) -> Option<usize> {
        let slot = entry ^ self.bits;
        (slot <= slot_mask).then_some(slot as usize)
    }
}

/// The place of an entry: its group, and where it is in the group.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) group: usize,
    pub(super) at: usize,
    pub(super) home: usize,
}

impl Table {
    /// A table for the keys of this many slots, none of whose groups is written.
    pub(super) fn try_new(
        slots: usize,
        groups: usize,
        source: &Source,
    ) -> Result<Self, AllocError> {
        check_slots(slots)?;
        Ok(Table {
            groups: Array::try_untouched(groups, source)?,
            count: groups,
            slots,
            slot_mask: (1 << (usize::BITS - slots.leading_zeros())) - 1,
            len: 0,
        })
    }

    /// The number of groups for the keys of this many slots.
    pub(super) fn groups(slots: usize, load: usize) -> usize {
        let places = slots.min(MAX_SLOTS) as u64 * 100 / load as u64;
        (places / ENTRIES as u64 + 1) as usize
    }

    /// The slot of an entry.
    pub(super) fn slot(&self, entries: &Group, at: usize) -> usize {
        (entries.slots[at] & self.slot_mask) as usize
    }

    pub(super) fn is_written(&self) -> bool {
        self.groups.len() == self.count
    }

    /// Writes more groups.
    pub(super) fn write(&mut self, count: usize) {
        let left = self.count - self.groups.len();
        for _ in 0..count.min(left) {
            self.groups.push(Group::EMPTY);
        }
    }

    /// The home group of a hash, and what an entry has of it.
    #[inline(always)]
    pub(super) fn home(&self, hash: u64) -> (usize, Mark) {
        let product = u128::from(hash) * self.count as u128;
        let mark = Mark {
            tag: (product as u64 >> 57) as u8 | 0x80,
            bits: (product as u64 >> 25) as u32 & !self.slot_mask,
        };
        ((product >> 64) as usize, mark)
    }

    /// A hash with the home and the mark of an entry that is in its home group: bits of its product
    /// that are not known are 0, and those that a table of twice the size needs are.
    pub(super) fn hash_of_entry(&self, group: usize, at: usize) -> u64 {
        let entries = &self.groups[group];
        let rest = entries.slots[at] & !self.slot_mask;
        let tag = u128::from(entries.tag(at) & 0x7f) << 57;
        let product = (group as u128) << 64 | tag | u128::from(rest) << 25;
        // Rounded up, so that its product with the number of groups begins with the same bits.
        product.div_ceil(self.count as u128) as u64
    }

    #[inline(always)]
    pub(super) fn after(&self, group: usize) -> usize {
        let next = group + 1;
        if next < self.count { next } else { 0 }
    }

    /// The first entry with the mark of this hash for whose slot `look` returns something.
    #[inline(always)]
    pub(super) fn find<R>(
        &self,
        hash: u64,
        look: impl Fn(usize) -> Option<R>,
    ) -> Option<(Place, R)> {
        let (home, mark) = self.home(hash);
        let entries = self.groups.get(home)?;
        let mut matching = entries.matching(mark.tag);
        while matching != 0 {
            let at = Group::at(matching);
            let slot = mark.slot(entries.slots[at], self.slot_mask);
            if let Some(found) = slot.and_then(&look) {
                let group = home;
                return Some((Place { group, at, home }, found));
            }
            matching &= matching - 1;
        }
        if entries.overflow() == 0 {
            return None;
        }
        self.find_after(home, mark, home, ENTRIES, look)
    }

    /// The first such entry after a place of a group.
    #[cold]
    #[inline(never)]
    pub(super) fn find_after<R>(
        &self,
        home: usize,
        mark: Mark,
        mut group: usize,
        at: usize,
        look: impl Fn(usize) -> Option<R>,
    ) -> Option<(Place, R)> {
        let mut passed = u64::MAX >> 1 >> (63 - 8 * (at + 1));
        loop {
            let entries = self.groups.get(group)?;
            let mut matching = entries.matching(mark.tag) & !passed;
            while matching != 0 {
                let at = Group::at(matching);
                let slot = mark.slot(entries.slots[at], self.slot_mask);
                if let Some(found) = slot.and_then(&look) {
                    return Some((Place { group, at, home }, found));
                }
                matching &= matching - 1;
            }
            if entries.overflow() == 0 {
                return None;
            }
            (group, passed) = (self.after(group), 0);
            // The overflow of all groups may count entries.
            if group == home {
                return None;
            }
        }
    }

    /// Adds an entry, for which there is room.
    #[inline(always)]
    pub(super) fn insert(&mut self, hash: u64, slot: usize) {
        assert!(self.len < ENTRIES * self.count, "index-room");
        let (home, mark) = self.home(hash);
        self.len += 1;
        let mut group = home;
        loop {
            let entries = &mut self.groups[group];
            let free = !entries.tags & FIRSTS;
            if free != 0 {
                let at = Group::at(free);
                entries.slots[at] = mark.bits | slot as u32;
                entries.tags |= u64::from(mark.tag) << (8 * at);
                entries.tags += u64::from(group != home && entries.guests() < 7) << 48;
                return;
            }
            entries.note_refused();
            group = self.after(group);
        }
    }

    /// Removes the entry of a place, and counts it out where it was refused (`index-reachable`).
    #[inline(always)]
    pub(super) fn remove(&mut self, place: Place) {
        let Place { group, at, home } = place;
        self.groups[group].tags &= !(0xff << (8 * at));
        self.len -= 1;
        if group != home {
            // A hasher that lies has said another home before.
            if self.groups[group].guests() > 0 {
                self.groups[group].tags -= 1 << 48;
            }
            let mut refused = home;
            while refused != group {
                self.groups[refused].forget_refused();
                refused = self.after(refused);
            }
        }
    }
}
