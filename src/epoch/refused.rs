//! Memory for an epoch slab that its source or its limit has refused: of chunks without values.
//!
//! The order in which chunks make way is that of `raw/refused.rs`.

use super::epochs::RawEpochs;
use crate::error::AllocError;
use crate::raw::refused::{Budget, MOST_FREED, Refused, in_place_of_all, in_place_of_bytes};

/// A request for a chunk of a class, and what it may free: unused chunks of other classes.
struct Way<'s> {
    raw: &'s RawEpochs,
    class: usize,
    /// Whether it may free idle chunks too.
    with_idle: bool,
}

impl Refused for Way<'_> {
    fn bytes(&self) -> usize {
        self.raw.store.committed()
    }

    fn free_one(&mut self) -> bool {
        let RawEpochs { store, .. } = self.raw;
        let frees = |other| {
            store.give_back(other).is_some()
                || self.with_idle && self.raw.give_up(other) && store.give_back(other).is_some()
        };
        let mut others = (0..store.classes()).filter(|&other| other != self.class);
        others.any(frees)
    }

    /// Spare records of epochs, and the table of chunks if there is none.
    fn free_tables(&mut self) -> bool {
        self.raw.forget_replaced();
        self.raw.records.free_spares(MOST_FREED) | self.raw.store.free_table()
    }

    fn allocate(&mut self, cells: u32) -> bool {
        self.raw.store.grow(self.class, cells).is_ok()
    }
}

impl RawEpochs {
    /// Makes a chunk of a class unused for which there was no memory: one that an epoch does not
    /// need, or a new one in the place of such chunks of other classes. If the source has refused,
    /// the new one may have fewer slots. Frees as many chunks as the budget has.
    ///
    /// # Errors
    ///
    /// The given error, if the chunks that epochs can give up are not enough.
    pub(super) fn take_over(
        &self,
        class: usize,
        error: AllocError,
        budget: &mut Budget,
    ) -> Result<(), AllocError> {
        let plan = *self.store.plan(class);
        let is_limit = matches!(error, AllocError::Limit { .. });
        let bytes = match is_limit {
            true => self.store.excess(&plan),
            // The source may have the memory once that much was returned to it.
            false => plan.data.size(),
        };
        // At a limit, chunks that no epoch has come first.
        let with_idle = !is_limit || self.store.cached_bytes(class) < bytes;
        if with_idle {
            self.settle_all();
            if self.give_up(class) {
                return Ok(());
            }
            if is_limit && self.store.free_bytes(class) < bytes {
                return Err(error);
            }
        }
        let mut way = Way {
            raw: self,
            class,
            with_idle,
        };
        let least = self.store.least_slots(&plan);
        let is_added = in_place_of_bytes(&mut way, budget, bytes, plan.slots)
            || !is_limit && in_place_of_all(&mut way, budget, plan.slots, least);
        is_added.then_some(()).ok_or(error)
    }

    /// Makes chunks idle that are noted and have no value.
    fn settle_all(&self) {
        let noted = &self.store.noted;
        noted.places().for_each(|place| self.settle(place));
    }

    /// Frees chunks without values, of any class, and spare records, as many as the budget has.
    /// Returns `false` if there was none. A source of the user's may run.
    pub(super) fn free_some(&self, budget: &mut Budget) -> bool {
        self.settle_all();
        budget.free_all(&mut Way {
            raw: self,
            class: self.store.classes(),
            with_idle: true,
        })
    }
}
