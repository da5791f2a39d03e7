//! Tests of the whole program and of its parts against each other.

mod books;
mod cli;
mod flows;
mod parser;
mod real_hour;
mod reference;
