//! Pages of Linux: what they cost and give back, and what is refused.

mod child;
mod faults;
mod pages;
mod pools;
#[cfg(target_pointer_width = "64")]
mod ranges;
mod refusals;
