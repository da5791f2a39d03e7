//! Pages of Linux: what they cost and give back, and what is refused.

mod child;
mod faults;
mod pages;
mod pools;
mod ranges;
mod refusals;
