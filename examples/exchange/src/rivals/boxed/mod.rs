//! On channels of boxes, and `slab` with a map from numbers to slots.

#![expect(
    clippy::duplicate_mod,
    reason = "the same program, with the parts beside it"
)]

#[path = "../common.rs"]
mod common;
pub(super) mod parts;
#[path = "../../program/mod.rs"]
pub(super) mod program;

pub(super) const NAME: &str = "channels of boxes, `slab` + map";
pub(super) use allocator_api2::alloc::Global as Heap;
