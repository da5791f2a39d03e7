//! On `rtrb` with `Vec`s that come back to be filled again, and `slab` with a number.

pub(super) mod parts;
#[path = "../../program/mod.rs"]
#[expect(
    clippy::duplicate_mod,
    reason = "the same program, with the parts beside it"
)]
pub(super) mod program;
