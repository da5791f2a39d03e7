//! `TimerWheel`: keys with deadlines, most of which are stopped or moved before they come.
//!
//! A level has 128 buckets in a circle, each of which covers a *block* of time: one tick in the first
//! level, and in each further level 64 times as many. A timer is in a level whose blocks are about
//! as long as the time until its deadline, divided by 64. As that becomes shorter the timer is moved
//! to a lower level, once for each of them at most.
//!
//! The timers of a bucket are moved down while the time passes through the block before it, a share of
//! them with each tick, so that none is left when their block begins. A level has twice the buckets of
//! a block of the next level, and has room for all of that block's timers as soon as the block before
//! it has begun. What is late because too much is to be moved is moved by the following calls.
//!
//! A timer that is started again with a later deadline, as most are, stays where it is: the
//! deadline is written, and the timer is moved when its bucket comes. If the calls cannot keep up
//! with that, it is moved when it is started: otherwise those that are started again all the time
//! would fill the buckets sooner than the calls empty them, and the wheel would never reach the
//! timers that are due.
//!
//! The links and the deadlines of all timers are in arrays with an entry for each slot; no operation
//! touches the values of the slab.
//!
//! # Invariants
//!
//! * `wheel-linked`: the timers in the list of a bucket, and no others, have its number, and there
//!   are as many as `counts` says. `occupied` has the bits of the buckets with timers, and `levels`
//!   those of the levels with such a bucket. They also have bits of buckets and levels that have
//!   become empty, until these are looked at.
//! * `wheel-window`: a timer is in a bucket whose block is not after its deadline, or is that of `time`
//!   if the deadline is over. In each level the blocks of timers are that of `time` or up to 127
//!   blocks later.

use core::fmt;

use super::circles::Circles;
use super::heap::{SlotError, check_slots};
use crate::builder::{Build, Builder};
use crate::error::{AllocError, BuildError};
use crate::key::Key;
use crate::key_slab::{SlabKey, is_older};
use crate::memory::Pages;
use crate::memory::array::Array;
use crate::raw::memory;
use crate::raw::source::Source;

/// Bits of a deadline by which a level's blocks are longer than those of the level below.
const BITS: u32 = 6;

/// So many that every deadline has a level.
const LEVELS: usize = u64::BITS.div_ceil(BITS) as usize;

/// The buckets of a level.
const BUCKETS: usize = u128::BITS as usize;

/// The buckets of all levels.
const ALL: usize = LEVELS * BUCKETS;

/// How many timers a call moves to another bucket at most. With most of them out of the cache it takes
/// about ten microseconds.
const MOVES: u32 = 64;

/// A timer wheel: starts, starts again and stops the timers of keys in O(1).
///
/// A time is a number of ticks, whose length the program chooses: of a millisecond, of a nanosecond, a
/// step of a simulation. The wheel has no clock. It is independent of the slab that has the values, and
/// holds each key at most once. Where most timers come to their deadline, or the order of deadlines is
/// wanted, take a [`Heap`](super::Heap).
///
/// # Capacity
///
/// A wheel has room for the keys of as many slots as its capacity: 24 bytes for each, or 32 if keys
/// have a generation, and 17 KiB besides. All of it is allocated and touched when it is created. A key
/// of another slot is refused, so that a forged key cannot make the wheel allocate.
/// [`try_grow`](Self::try_grow) makes room for the keys of a slab that has grown.
///
/// # Keys of removed values
///
/// The wheel does not notice that a value is removed from its slab: stop its timer too. Keys with
/// generations are told apart: the key of an earlier value does not find the timer of a later one, and
/// [`start`](Self::start) refuses it. The key of a later value replaces that of an earlier one. Which
/// of two keys is the earlier one is known as long as they are less than half of all
/// [generations](crate::GenKey#how-long-generations-last) apart.
///
/// Without generations, an old copy of a key is the key of the value that is in the slot now.
///
/// When the generations of the slab were [reset](crate::PlainSlab::reset_generations),
/// [`clear`](Self::clear) the wheel: to it, the keys from before are later ones.
///
/// # How long a call takes
///
/// All operations take constant time, except those that say otherwise. Nothing allocates, except
/// construction and `try_grow`.
///
/// - [`pop_expired`](Self::pop_expired) returns a timer as long as one is due. A program that calls it
///   until it returns `None` has every timer on time.
/// - [`pop_due`](Self::pop_due) returns one timer, and moves at most 64 others closer to their
///   deadline, a share of them with each tick. If more have to be moved, it may return `None` although
///   a timer is due: after a jump of the time, if thousands of deadlines are within 64 ticks, or if
///   thousands of timers are started again that were due in the same few ticks. Until all are
///   found, [`next_due`](Self::next_due) is not later than `now`.
///
/// So a program that calls `pop_due` until it returns `None`, once a tick, spends less time in a tick,
/// and has timers late by about a tick for each 64 others that were to be moved: by more than a
/// thousand ticks if a hundred thousand were started again. Take that only if a tick must be short.
///
/// # Rewinds and snapshots
///
/// The wheel is a table of its own: after a rewind of the slab, or from a snapshot,
/// [reset](Self::reset) it to the earlier time, and start the timers again, by the deadlines that the
/// values contain. Otherwise the keys of the time after are later ones, and are not replaced.
///
/// # Examples
///
/// Sessions with a timeout that each message starts again:
///
/// ```
/// use flatslab::collections::TimerWheel;
/// use flatslab::{KeySlab, GenKey};
///
/// let mut sessions: KeySlab<&str, GenKey> = KeySlab::with_key();
/// let mut timeouts = TimerWheel::with_capacity(100);
/// let (one, two) = (sessions.insert("one"), sessions.insert("two"));
/// timeouts.start(one, 30)?;
/// timeouts.start(two, 20)?;
/// timeouts.start(two, 50)?; // heard from
///
/// let now = 40;
/// while let Some((_, key)) = timeouts.pop_expired(now) {
///     sessions.try_remove(key);
/// }
/// assert!(sessions.contains(two) && sessions.len() == 1);
/// assert_eq!(timeouts.next_due(), Some(50));
/// # Ok::<(), flatslab::collections::SlotError>(())
/// ```
#[doc(alias("timeout", "timers", "DelayQueue", "hierarchical", "wheel"))]
pub struct TimerWheel<K: SlabKey = Key> {
    timers: Array<Timer<K>>,
    /// A list for each bucket.
    lists: Circles,
    counts: Array<u32>,
    occupied: [u128; LEVELS],
    levels: u32,
    len: u32,
    /// How many timers are to be moved before the time is another one.
    owed: u32,
    /// Whether the last call has left timers that had to be moved. A start moves its timer then.
    is_behind: bool,
    time: u64,
}

/// The timer of a slot.
#[derive(Clone, Copy)]
struct Timer<K> {
    deadline: u64,
    key: K,
    /// The number of its bucket, or [`ALL`] if it is not running.
    bucket: u32,
}

impl<K: SlabKey> Timer<K> {
    const STOPPED: Self = Timer {
        deadline: 0,
        key: K::NONE,
        bucket: ALL as u32,
    };

    #[inline(always)]
    const fn is_running(&self) -> bool {
        self.bucket != ALL as u32
    }
}

/// The block of a level that has this time.
#[inline(always)]
const fn block(level: usize, time: u64) -> u64 {
    time >> (BITS * level as u32)
}

/// The first time of a block.
#[inline(always)]
const fn start_of(level: usize, block: u64) -> u64 {
    block << (BITS * level as u32)
}

/// The last time of a block.
#[inline(always)]
const fn end_of(level: usize, block: u64) -> u64 {
    start_of(level, block) | ((1 << (BITS * level as u32)) - 1)
}

/// The place of a block in the circle of its level.
#[inline(always)]
const fn place(block: u64) -> u32 {
    (block % BUCKETS as u64) as u32
}

/// The number of the bucket of a block.
#[inline(always)]
const fn bucket(level: usize, block: u64) -> usize {
    level * BUCKETS + place(block) as usize
}

/// The levels of these bits, the lowest first.
#[inline(always)]
fn each_level(mut levels: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let level = levels.trailing_zeros() as usize;
        levels &= levels.checked_sub(1)?;
        Some(level)
    })
}

/// The blocks of these bits, from that of the time on.
#[inline(always)]
fn each_block(occupied: u128, present: u64) -> impl Iterator<Item = u64> {
    let mut circle = occupied.rotate_right(place(present));
    core::iter::from_fn(move || {
        let next = circle.trailing_zeros();
        circle &= circle.checked_sub(1)?;
        Some(present + u64::from(next))
    })
}

impl<K: SlabKey> TimerWheel<K> {
    /// Creates a wheel for the keys of this many slots, whose memory is allocated and touched now.
    ///
    /// Its time is 0. If times do not begin near 0, such as those of a clock, tell it what time it is
    /// before the first timer is started: by [`builder`](Self::builder)`().time(now)`, or by a call of
    /// [`pop_due`](Self::pop_due). Otherwise the first call is [a jump of the
    /// time](Self#how-long-a-call-takes), after which all timers have to be moved.
    ///
    /// # Panics
    ///
    /// Panics or aborts where [`try_with_capacity`](Self::try_with_capacity) returns an error.
    #[must_use]
    #[track_caller]
    pub fn with_capacity(slots: usize) -> Self {
        match Self::try_with_capacity(slots) {
            Ok(wheel) => wheel,
            Err(error) => memory::fail(error),
        }
    }

    /// Creates a wheel like [`with_capacity`](Self::with_capacity).
    ///
    /// # Errors
    ///
    /// Returns an error if there are more slots than a slab can have, or the allocator refuses.
    pub fn try_with_capacity(slots: usize) -> Result<Self, AllocError> {
        Self::try_new_in(TimerWheelOptions { slots, time: 0 }, &Source::GLOBAL)
    }

    /// Returns a builder: for a wheel that begins at another time, and for memory from [`Pages`]. The
    /// default capacity is 0 slots.
    ///
    /// ```
    /// use flatslab::GenKey;
    /// use flatslab::collections::TimerWheel;
    ///
    /// let now = 1_764_000_000_000;
    /// let wheel: TimerWheel<GenKey> = TimerWheel::builder().capacity(1000).time(now).build();
    /// assert_eq!((wheel.capacity(), wheel.time()), (1000, now));
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(TimerWheelOptions { slots: 0, time: 0 })
    }

    fn try_new_in(options: TimerWheelOptions, source: &Source) -> Result<Self, AllocError> {
        let TimerWheelOptions { slots, time } = options;
        check_slots(slots)?;
        Ok(TimerWheel {
            timers: Array::try_filled(slots, Timer::STOPPED, source)?,
            lists: Circles::try_new(ALL, slots, source)?,
            counts: Array::try_filled(ALL, 0, source)?,
            occupied: [0; LEVELS],
            levels: 0,
            len: 0,
            owed: 0,
            is_behind: false,
            time,
        })
    }

    /// Makes room for the keys of this many slots, if there is less.
    ///
    /// # Complexity
    ///
    /// O(slots): the timers are moved to new memory.
    ///
    /// # Errors
    ///
    /// Returns an error if there are more slots than a slab can have, or the allocator refuses. Nothing
    /// has changed then.
    #[doc(alias = "reserve")]
    pub fn try_grow(&mut self, slots: usize) -> Result<(), AllocError> {
        check_slots(slots)?;
        if slots > self.capacity() {
            let mut timers = Array::try_with_capacity(slots, self.timers.source())?;
            self.lists.try_grow(slots)?;
            timers.extend_from_slice(&self.timers);
            timers.fill_up(Timer::STOPPED);
            self.timers = timers;
        }
        Ok(())
    }

    /// Returns the number of slots whose keys there is room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.timers.len()
    }

    /// Returns the number of timers.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns `true` if there is no timer.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes of memory that are allocated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.timers.bytes() + self.lists.bytes() + self.counts.bytes()
    }

    /// Returns the time that the wheel has come to: the latest `now` of [`pop_due`](Self::pop_due). It
    /// is earlier while timers that may be due by then are left.
    #[inline]
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// The timer of this key, if it is running.
    #[inline(always)]
    fn running(&self, key: K) -> Option<&Timer<K>> {
        let timer = self.timers.get(key.index())?;
        (timer.is_running() && timer.key == key).then_some(timer)
    }

    /// Returns `true` if there is a timer of this key.
    #[inline]
    #[must_use]
    pub fn contains(&self, key: K) -> bool {
        self.running(key).is_some()
    }

    /// Returns the deadline of the timer of this key. Returns `None` if there is none.
    #[inline]
    #[must_use]
    pub fn deadline(&self, key: K) -> Option<u64> {
        Some(self.running(key)?.deadline)
    }

    /// Starts the timer of a key, or starts it again if it is running. Returns the deadline that it
    /// had.
    ///
    /// A timer whose deadline is not after the [time](Self::time) is due at once. The timer of an
    /// earlier value in the same slot is replaced, and its deadline is returned.
    ///
    /// # Errors
    ///
    /// Returns an error if the key's slot is not below the capacity, or if the timer of a
    /// [later value](Self#keys-of-removed-values) runs in the slot.
    #[inline]
    #[doc(alias("insert", "push", "reset", "schedule"))]
    pub fn start(&mut self, key: K, deadline: u64) -> Result<Option<u64>, SlotError> {
        let slot = key.index();
        let Some(&timer) = self.timers.get(slot) else {
            return Err(SlotError::OutOfRange {
                slot,
                capacity: self.capacity(),
            });
        };
        if timer.is_running() && is_older(key, timer.key) {
            return Err(SlotError::Outdated { slot });
        }
        if timer.is_running() && deadline >= timer.deadline && !self.is_behind {
            let moved = &mut self.timers[slot];
            (moved.key, moved.deadline) = (key, deadline);
            return Ok(Some(timer.deadline));
        }
        let old = timer.is_running().then(|| {
            self.unlink(slot, timer.bucket);
            timer.deadline
        });
        self.len += u32::from(old.is_none());
        self.link(slot, key, deadline);
        Ok(old)
    }

    /// Stops the timer of a key, and returns its deadline. Returns `None` if there is none.
    #[inline]
    #[doc(alias("cancel", "remove"))]
    pub fn stop(&mut self, key: K) -> Option<u64> {
        let deadline = self.deadline(key)?;
        self.end(key.index());
        Some(deadline)
    }

    /// Removes a timer whose deadline is `now` or earlier, and returns it with its deadline. Timers
    /// that are due at the same time come in no particular order, and so do all that are due at the
    /// first call after a jump of the time.
    ///
    /// A call moves at most 64 timers, so it may return `None` although a timer is due: see [how long a
    /// call takes](Self#how-long-a-call-takes). [`pop_expired`](Self::pop_expired) goes on until it has
    /// found one. If `now` is earlier than the [time](Self::time), it is taken to be that.
    #[inline]
    pub fn pop_due(&mut self, now: u64) -> Option<(u64, K)> {
        let now = now.max(self.time);
        let mut moves = MOVES;
        loop {
            if let Some(slot) = self.first_due(now) {
                let timer = self.timers[slot];
                if timer.deadline <= now {
                    self.end(slot);
                    self.pay(&mut moves);
                    return Some((timer.deadline, timer.key));
                }
                // It was started again.
                if moves == 0 {
                    self.is_behind = true;
                    return None;
                }
                moves -= 1;
                self.pop_front(timer.bucket as usize);
                self.link(slot, timer.key, timer.deadline);
                continue;
            }
            // No timer is in a block that ends by then.
            let elapsed = now - self.time;
            if elapsed > 0 {
                self.time = now;
                self.owe(elapsed);
            }
            let mut begun = each_level(self.levels & !1);
            let Some(level) = begun.find(|level| self.count_of_present(*level) > 0) else {
                self.is_behind = false;
                self.pay(&mut moves);
                return None;
            };
            if moves == 0 {
                self.is_behind = true;
                return None;
            }
            self.move_down(level, block(level, now), &mut moves);
        }
    }

    /// Removes a timer whose deadline is `now` or earlier, and returns it with its deadline, like
    /// [`pop_due`](Self::pop_due). Returns `None` only if no timer is due: call it until then.
    ///
    /// # Complexity
    ///
    /// A step of `pop_due`, as a rule; O(n) if n timers have to be moved first.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Key;
    /// use flatslab::collections::TimerWheel;
    ///
    /// let mut retries = TimerWheel::with_capacity(1);
    /// retries.start(Key::from_raw(0), 20)?;
    /// let (now, mut attempts) = (35, 0);
    /// while let Some((deadline, key)) = retries.pop_expired(now) {
    ///     attempts += 1;
    ///     retries.start(key, deadline + 10)?;
    /// }
    /// assert_eq!((attempts, retries.next_due()), (2, Some(40)));
    /// # Ok::<(), flatslab::collections::SlotError>(())
    /// ```
    #[doc(alias("advance", "expire", "poll", "tick", "drain_due"))]
    pub fn pop_expired(&mut self, now: u64) -> Option<(u64, K)> {
        let now = now.max(self.time);
        loop {
            let due = self.pop_due(now);
            if due.is_some() || self.next_due().is_none_or(|next| next > now) {
                return due;
            }
        }
    }

    /// Returns the time at which [`pop_due`](Self::pop_due) is to be called next. Returns `None` if
    /// there is no timer.
    ///
    /// It is not later than the earliest deadline, or than the [time](Self::time) if that is over,
    /// so a program may wait until then. It is earlier if timers have to be moved before, or the
    /// first of them was started again, and not later than the `now` of the last call if a timer
    /// may be due that was not found.
    #[must_use]
    #[doc(alias("next_deadline", "poll_timeout"))]
    pub fn next_due(&self) -> Option<u64> {
        let times = each_level(self.levels).filter_map(|level| {
            let present = block(level, self.time);
            let mut blocks = each_block(self.occupied[level], present);
            let block = blocks.find(|block| self.counts[bucket(level, *block)] > 0)?;
            let start = start_of(level, block);
            if level == 0 || start <= self.time {
                return Some(start.max(self.time));
            }
            let ticks = self.counts[bucket(level, block)] / MOVES;
            Some(start.saturating_sub(ticks.into()).max(self.time + 1))
        });
        times.min()
    }

    /// Stops all timers, and sets the time, which may be earlier than it was: after a rewind.
    /// O(capacity); does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::Key;
    /// use flatslab::collections::TimerWheel;
    ///
    /// let mut wheel = TimerWheel::with_capacity(1);
    /// assert_eq!(wheel.pop_due(100), None);
    /// wheel.reset(40);
    /// wheel.start(Key::from_raw(0), 60)?;
    /// assert_eq!(wheel.pop_due(50), None);
    /// # Ok::<(), flatslab::collections::SlotError>(())
    /// ```
    pub fn reset(&mut self, time: u64) {
        self.clear();
        self.time = time;
    }

    /// Stops all timers; the [time](Self::time) stays. O(capacity).
    pub fn clear(&mut self) {
        drop(self.drain());
    }

    /// Stops all timers, and returns an iterator over their deadlines and keys, in no particular order;
    /// the [time](Self::time) stays. O(capacity).
    ///
    /// ```
    /// use flatslab::Key;
    /// use flatslab::collections::TimerWheel;
    ///
    /// let mut wheel = TimerWheel::with_capacity(1);
    /// wheel.start(Key::from_raw(0), 60)?;
    /// assert!(wheel.drain().eq([(60, Key::from_raw(0))]));
    /// assert!(wheel.is_empty());
    /// # Ok::<(), flatslab::collections::SlotError>(())
    /// ```
    pub fn drain(&mut self) -> impl Iterator<Item = (u64, K)> + '_ {
        // What has a key below, and is not running, is what was drained.
        for timer in &mut *self.timers {
            let bucket = ALL as u32;
            *timer = match timer.is_running() {
                true => Timer { bucket, ..*timer },
                false => Timer::STOPPED,
            };
        }
        self.counts.fill(0);
        self.lists.clear();
        (self.occupied, self.levels) = ([0; LEVELS], 0);
        (self.len, self.owed, self.is_behind) = (0, 0, false);
        let drained = self.timers.iter().filter(|timer| timer.key != K::NONE);
        drained.map(|timer| (timer.deadline, timer.key))
    }

    /// Returns an iterator over deadlines and keys, in no particular order. O(capacity).
    pub fn iter(&self) -> impl Iterator<Item = (u64, K)> + Clone + '_ {
        let running = self.timers.iter().filter(|timer| timer.is_running());
        running.map(|timer| (timer.deadline, timer.key))
    }

    /// The first block of a level that has timers, from that of the time on.
    #[inline(always)]
    fn first_block(&mut self, level: usize) -> Option<u64> {
        for block in each_block(self.occupied[level], block(level, self.time)) {
            if self.counts[bucket(level, block)] > 0 {
                return Some(block);
            }
            self.occupied[level] &= !(1 << place(block));
        }
        self.levels &= !(1 << level);
        None
    }

    /// The slot of a timer in a block that has ended by then.
    #[inline(always)]
    fn first_due(&mut self, now: u64) -> Option<usize> {
        let present = bucket(0, self.time);
        if self.counts[present] > 0 {
            return Some(self.lists.first(present));
        }
        if now == self.time {
            return None;
        }
        // In other levels the block of the time has not ended.
        let highest = (now.saturating_add(1) ^ self.time).ilog2() / BITS;
        each_level(self.levels & ((2 << highest) - 1)).find_map(|level| {
            let block = self.first_block(level)?;
            (end_of(level, block) <= now).then(|| self.lists.first(bucket(level, block)))
        })
    }

    /// The number of timers of a level in the block of the time.
    #[inline(always)]
    fn count_of_present(&self, level: usize) -> u32 {
        self.counts[bucket(level, block(level, self.time))]
    }

    /// The number of timers of a level in the block after that of the time.
    #[inline(always)]
    fn count_of_next(&self, level: usize) -> u32 {
        let next = block(level, self.time) + 1;
        // After the last block of all is the first one of the circle.
        match end_of(level, next) > self.time {
            true => self.counts[bucket(level, next)],
            false => 0,
        }
    }

    /// Notes how many timers are to be moved until the next tick, after so many ticks: of each level
    /// the share of the timers of the next block for those ticks.
    #[inline(always)]
    fn owe(&mut self, elapsed: u64) {
        let mut owed = 0_u64;
        for level in each_level(self.levels & !1) {
            let timers = self.count_of_next(level);
            if timers == 0 {
                continue;
            }
            let left = start_of(level, block(level, self.time) + 1) - self.time;
            owed += match elapsed < left {
                // Twice the share at most, without a division.
                true => ((u128::from(timers) * u128::from(elapsed)) >> left.ilog2()) as u64 + 1,
                false => timers.into(),
            };
        }
        self.owed = owed.min(self.len.into()) as u32;
    }

    /// Moves timers of the next blocks, of the lowest level first.
    #[inline(always)]
    fn pay(&mut self, moves: &mut u32) {
        if self.owed > 0 {
            self.pay_some(moves);
        }
    }

    #[inline(never)]
    fn pay_some(&mut self, moves: &mut u32) {
        for level in each_level(self.levels & !1) {
            let mut some = self.count_of_next(level).min(self.owed).min(*moves);
            *moves -= some;
            self.owed -= some;
            self.move_down(level, block(level, self.time) + 1, &mut some);
        }
        if *moves > 0 {
            self.owed = 0;
        }
    }

    /// Moves so many timers of a block to where they belong: of the block of the time, or the next one.
    fn move_down(&mut self, level: usize, block: u64, moves: &mut u32) {
        let bucket = bucket(level, block);
        while *moves > 0 && self.counts[bucket] > 0 {
            *moves -= 1;
            let slot = self.pop_front(bucket);
            let timer = self.timers[slot];
            self.link(slot, timer.key, timer.deadline);
        }
    }

    /// Adds the timer of a slot to the bucket of its deadline, in the lowest level that has one.
    #[inline(always)]
    fn link(&mut self, slot: usize, key: K, deadline: u64) {
        let due = deadline.max(self.time);
        // In this level it is at most 64 blocks away; in the lower one perhaps 127.
        let level = (((due - self.time) | 1).ilog2() / BITS) as usize;
        let lower = level.saturating_sub(1);
        let blocks = block(lower, due) - block(lower, self.time);
        let level = lower + usize::from(blocks >= BUCKETS as u64);
        let block = block(level, due);
        let bucket = bucket(level, block);
        self.lists.push_back(bucket, slot);
        self.counts[bucket] += 1;
        self.occupied[level] |= 1 << place(block);
        self.levels |= 1 << level;
        self.timers[slot] = Timer {
            deadline,
            key,
            bucket: bucket as u32,
        };
    }

    /// Takes the timer of a slot out of its bucket.
    #[inline(always)]
    fn unlink(&mut self, slot: usize, bucket: u32) {
        self.lists.unlink(slot);
        self.counts[bucket as usize] -= 1;
    }

    /// Takes the first timer out of a bucket, and returns its slot.
    #[inline(always)]
    fn pop_front(&mut self, bucket: usize) -> usize {
        self.counts[bucket] -= 1;
        self.lists.pop_front(bucket)
    }

    /// Takes the timer of a slot out of the wheel.
    #[inline(always)]
    fn end(&mut self, slot: usize) {
        self.unlink(slot, self.timers[slot].bucket);
        self.timers[slot].bucket = ALL as u32;
        self.len -= 1;
    }

    /// Checks the invariants. O(capacity).
    #[cfg(test)]
    pub(super) fn check(&self) {
        use alloc::vec::Vec;

        let mut seen = 0;
        for number in 0..ALL {
            let (level, place) = (number / BUCKETS, number % BUCKETS);
            let count = self.counts[number];
            let is_noted = self.occupied[level] >> place & 1 != 0 && self.levels >> level & 1 != 0;
            assert!(count == 0 || is_noted, "wheel-linked");
            let present = block(level, self.time);
            let away = (place as u64).wrapping_sub(present) % BUCKETS as u64;
            let slots: Vec<usize> = self.lists.slots(number, count as usize).collect();
            let backwards = self.lists.slots(number, count as usize).rev();
            assert!(slots.iter().rev().copied().eq(backwards), "circle");
            for slot in slots {
                let timer = &self.timers[slot];
                assert_eq!(timer.bucket as usize, number, "wheel-linked");
                let is_over = away == 0 && timer.deadline <= self.time;
                let own = block(level, timer.deadline);
                assert!(own >= present + away || is_over, "wheel-window");
            }
            seen += count;
        }
        assert_eq!(self.iter().count(), self.len(), "wheel-linked");
        assert_eq!(seen, self.len, "wheel-linked");
    }
}

/// The options of a builder of timer wheels.
#[derive(Clone, Copy, Debug)]
pub struct TimerWheelOptions {
    slots: usize,
    time: u64,
}

/// The options of a [`TimerWheel`].
impl<K: SlabKey> Builder<TimerWheel<K>> {
    /// Sets the number of slots whose keys the wheel has room for. The default is 0.
    ///
    /// ```
    /// use flatslab::collections::TimerWheel;
    ///
    /// let wheel = TimerWheel::<flatslab::Key>::builder().capacity(1000).build();
    /// assert_eq!(wheel.capacity(), 1000);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.slots = slots;
        self
    }

    /// Sets the time at which the wheel begins. The default is 0.
    ///
    /// ```
    /// use flatslab::collections::TimerWheel;
    ///
    /// let wheel = TimerWheel::<flatslab::Key>::builder().time(1_000).build();
    /// assert_eq!(wheel.time(), 1_000);
    /// ```
    pub const fn time(mut self, now: u64) -> Self {
        self.options.time = now;
        self
    }
}

impl<K: SlabKey> Build for TimerWheel<K> {
    type Options = TimerWheelOptions;

    fn try_build(options: TimerWheelOptions, pages: Pages) -> Result<Self, BuildError> {
        Ok(Self::try_new_in(options, &pages.into_source()?)?)
    }
}

impl<K: SlabKey> fmt::Debug for TimerWheel<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimerWheel")
            .field("time", &self.time)
            .field("len", &self.len)
            .field("capacity", &self.capacity())
            .finish()
    }
}
