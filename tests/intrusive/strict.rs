//! `slab_adapter!` in a program that forbids lints and has other meanings for the names in it.

#![forbid(
    unsafe_code,
    dead_code,
    unused,
    rust_2018_idioms,
    reason = "an `allow` inside the macro would be an error"
)]
#![expect(
    non_camel_case_types,
    non_upper_case_globals,
    reason = "names that a macro could bind"
)]

use flatslab::pool::{Pool, PoolBox};
use flatslab::{Slab, slab_adapter};
use intrusive_collections::{LinkedList, LinkedListLink};

static link: u64 = 1;
static value: u64 = 2;
#[derive(Debug)]
struct offset;
#[derive(Debug)]
struct slab;
#[derive(Debug)]
struct u8;

struct Node {
    number: u64,
    link: LinkedListLink,
}

slab_adapter!(OfSlab<'s> = &'s Slab<Node>: Node { link => LinkedListLink });
slab_adapter!(OfPools<'p> = PoolBox<'p, Node>: Node { link => LinkedListLink });

#[test]
fn an_adapter_needs_no_names_and_no_lints_of_its_caller() {
    let node = |number| Node {
        number,
        link: LinkedListLink::new(),
    };
    let (home, pool) = (Slab::new(), Pool::with_capacity(1));
    let mut list = LinkedList::new(OfSlab::new(&home));
    list.push_back(home.insert(node(link)).into_box());
    let mut pooled = LinkedList::new(OfPools::new());
    pooled.push_back(pool.alloc(node(value)));
    let numbers = (list.front().get(), pooled.front().get());
    assert_eq!(numbers.0.unwrap().number + numbers.1.unwrap().number, 3);
    assert_eq!(format!("{offset:?}{slab:?}{u8:?}"), "offsetslabu8");
}
