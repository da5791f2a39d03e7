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
pub mod audit;
pub mod random;
pub mod readers;
pub mod slabs;
pub mod values;

pub use amount::amount;
pub use audit::Audit;
pub(crate) use slabs::over_both_slabs;
pub use slabs::{Detached, Guard, Room};
pub use values::{Counted, Drops, Hooked, Wide, panics, wide};
