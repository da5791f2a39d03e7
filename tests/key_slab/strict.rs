//! `key_type!` in a program that forbids lints and has other meanings for names, such as a web
//! framework that makes a unit struct of each handler.

use flatslab::{GenKey, KeySlab};

/// Handlers, and types that shadow those of the prelude.
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "names that a macro could bind or mean"
)]
mod names {
    macro_rules! handlers {
        ($($name:ident)*) => { $(pub(super) struct $name;)* };
    }
    handlers!(raw key inner f bool u32 u64 usize Option Clone Copy PartialEq Eq Hash Ord Debug);
}

mod keys {
    #![forbid(
        unsafe_code,
        dead_code,
        rust_2018_idioms,
        reason = "an `allow` inside the macro would be an error"
    )]

    #[allow(unused_imports, reason = "the macro must not see them")]
    use super::names::*;

    flatslab::key_type!(pub(super) struct OrderKey);
    flatslab::key_type!(pub(super) struct SessionKey(GenKey));
}

#[test]
fn a_key_type_needs_no_names_and_no_lints_of_its_caller() {
    let mut orders: KeySlab<u8, keys::OrderKey> = KeySlab::with_key();
    let mut sessions: KeySlab<u8, keys::SessionKey> = KeySlab::with_key();
    let (order, session) = (orders.insert(1), sessions.insert(2));
    assert_eq!(keys::OrderKey::from_raw(order.into_raw()), order);
    assert_eq!(format!("{order:?} {order}"), "OrderKey(Key(0)) 0");
    assert_eq!(GenKey::from(session), GenKey::from_raw(1 << 32).unwrap());
}
