//! What the test binaries, the library's own tests and the fuzz targets share.
//! Each of them has it as `crate::common`.

#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "each user uses a part of this"
)]
#![allow(unreachable_pub, reason = "each user is a crate of its own")]

pub mod amount;
#[cfg(any(feature = "tracked", fuzzing))]
pub mod audit;
pub mod random;
pub mod readers;
#[cfg(any(feature = "tracked", fuzzing))]
pub mod slabs;
pub mod values;

pub use amount::{amount, by_speed};
#[cfg(any(feature = "tracked", fuzzing))]
pub use audit::Audit;
#[cfg(any(feature = "tracked", fuzzing))]
pub(crate) use slabs::over_both_slabs;
#[cfg(any(feature = "tracked", fuzzing))]
pub use slabs::{Detached, Guard, Room};
pub use values::{Counted, Drops, Hooked, Wide, panics, wide};
