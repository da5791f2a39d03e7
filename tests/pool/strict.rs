//! `unsize!` in a program that has other meanings for the names in it.

#![forbid(unsafe_code, unused)]
#![expect(
    non_camel_case_types,
    non_upper_case_globals,
    reason = "names that a macro could bind"
)]

use std::fmt::Display;

use flatslab::pool::Pool;
use flatslab::unsize;

static boxed: u8 = 1;
static target: u8 = 2;
#[derive(Debug)]
struct value;
#[derive(Debug)]
struct coercion;

#[test]
fn unsizing_needs_no_names_of_its_caller() {
    let pool = Pool::with_capacity(1);
    let text = unsize!(pool.alloc(format!("{boxed}{target}{value:?}{coercion:?}")) => dyn Display);
    assert_eq!(text.to_string(), "12valuecoercion");
}
