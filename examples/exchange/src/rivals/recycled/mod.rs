//! On `rtrb` with `Vec`s that come back to be filled again, and `slab` with a number.

#![expect(
    clippy::duplicate_mod,
    reason = "the same program, with the parts beside it"
)]

#[path = "../common.rs"]
mod common;
pub(super) mod parts;
#[path = "../../program/mod.rs"]
pub(super) mod program;
