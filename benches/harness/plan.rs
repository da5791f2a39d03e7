//! Which operation is measured on which subjects.

use crate::model;
#[cfg(target_os = "linux")]
use crate::operation::cold::{get_cold, insert_cold};
use crate::operation::{
    Setting, Turn, churn_fifo, churn_lifo, churn_random, contains, free_random, get_hot,
    get_mut_random, get_random, insert_fresh, insert_steady, remove_lifo, remove_random,
    replace_random, take_refill,
};
use crate::payload::Payload;
use crate::subject::Subject;
use crate::subject::floors::*;
use crate::subject::ours::*;
use crate::subject::peers::*;

/// One subject in one operation.
pub struct Run {
    /// The subject's name.
    pub subject: &'static str,
    /// Takes it through one turn.
    pub turn: fn(Setting) -> Turn,
    /// Runs it against the model.
    pub check: fn() -> Result<(), String>,
}

/// One operation, and all who take part.
pub struct Operation {
    /// As it stands in the tables.
    pub name: &'static str,
    /// Who takes part; `slab` first.
    pub runs: Vec<Run>,
}

impl Operation {
    /// Whether caches are flushed before each single operation, which is slow.
    #[must_use]
    pub fn is_cold(&self) -> bool {
        self.name.ends_with("cold")
    }
}

/// All operations on values of type `V`.
#[must_use]
pub fn operations<V: Payload>() -> Vec<Operation> {
    macro_rules! runs {
        ($operation:ident; $($subject:ident)*) => {
            vec![$(Run {
                subject: <$subject<V> as Subject<V>>::NAME,
                turn: $operation::<V, $subject<V>>,
                check: model::check::<V, $subject<V>>,
            }),*]
        };
    }
    // `slab` first: it is what all ratios refer to.
    macro_rules! all {
        ($operation:ident) => {
            runs!($operation; SlabCrate
                BoundedBySlot BoundedByKey GrowableBySlot GrowableByKey
                BareFloor Floor StampedFloor
                NexusBounded NexusUnbounded SlotMap Plurality BoxOnMalloc BoxOnMimalloc)
        };
    }
    macro_rules! access {
        ($operation:ident) => {
            runs!($operation; SlabCrate
                BoundedBySlot BoundedUnchecked BoundedBox BoundedByKey BoundedUntracked
                GrowableBySlot GrowableUnchecked GrowableBox GrowableByKey GrowableUntracked
                BareFloor Floor
                NexusBounded NexusUnbounded SlotMap Plurality BoxOnMalloc BoxOnMimalloc)
        };
    }
    macro_rules! contains {
        ($operation:ident) => {
            runs!($operation; SlabCrate
                BoundedBySlot BoundedByKey GrowableBySlot GrowableByKey StampedFloor SlotMap)
        };
    }
    macro_rules! table {
        ($($name:literal: $subjects:ident $operation:ident;)*) => {
            vec![$(Operation { name: $name, runs: $subjects!($operation) }),*]
        };
    }
    let mut operations = table! {
        "INSERT fresh": all insert_fresh;
        "INSERT steady": all insert_steady;
        "GET random": access get_random;
        "GET hot": access get_hot;
        "GET_MUT random": access get_mut_random;
        "CONTAINS": contains contains;
        "REPLACE": all replace_random;
        "REMOVE random": all remove_random;
        "REMOVE LIFO": all remove_lifo;
        "FREE random": all free_random;
        "TAKE": all take_refill;
        "CHURN LIFO": all churn_lifo;
        "CHURN FIFO": all churn_fifo;
        "CHURN random": all churn_random;
    };
    #[cfg(target_os = "linux")]
    operations.extend(table! {
        "INSERT cold": all insert_cold;
        "GET cold": all get_cold;
    });
    operations
}
