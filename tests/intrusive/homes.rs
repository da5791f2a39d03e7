//! The values, and the three kinds of memory that they can be in.

use std::cell::Cell;

use flatslab::pool::{Pool, PoolBox};
use flatslab::{BoundedSlab, Slab, SlotBox, slab_adapter};
use intrusive_collections::{
    KeyAdapter, LinkedList, LinkedListLink, RBTree, RBTreeLink, SinglyLinkedList,
    SinglyLinkedListLink, XorLinkedList, XorLinkedListLink,
};

use crate::common::{Counted, Drops, Hooked};

/// A value that can be in any of the collections.
pub(crate) struct Item {
    pub(crate) number: u64,
    /// Written to while the value is in a collection.
    pub(crate) seen: Cell<u64>,
    pub(crate) links: Links,
    pub(crate) tree: RBTreeLink,
    _hook: Hooked,
    _counted: Counted,
}

/// A field of a field, for each link but one.
#[derive(Default)]
pub(crate) struct Links {
    pub(crate) list: LinkedListLink,
    single: SinglyLinkedListLink,
    xor: XorLinkedListLink,
}

pub(crate) fn item(number: u64, drops: &Drops) -> Item {
    hooked(number, drops, Hooked::plain())
}

/// A value whose destructor runs a closure.
pub(crate) fn hooked(number: u64, drops: &Drops, hook: Hooked) -> Item {
    Item {
        number,
        seen: Cell::new(0),
        links: Links::default(),
        tree: RBTreeLink::new(),
        _hook: hook,
        _counted: drops.value(number),
    }
}

/// Room of a bounded home.
pub(crate) const ROOM: usize = 32;

macro_rules! home {
    ($name:ident, $home:ty, $boxed:ty, $lifetime:lifetime, [$($pointer:tt)*], [$($argument:ident)?],
     || $make:expr, |$place:ident, $item:ident| $insert:expr) => {
        pub(crate) mod $name {
            use super::*;

            slab_adapter! {
                /// A list in both directions.
                pub(crate) List<$lifetime> =
                    $($pointer)*: Item { links.list => LinkedListLink }
            }
            slab_adapter!(pub(crate) Single<$lifetime> =
                $($pointer)*: Item { links.single => SinglyLinkedListLink });
            slab_adapter!(pub(crate) Xor<$lifetime> =
                $($pointer)*: Item { links.xor => XorLinkedListLink });
            slab_adapter!(pub(crate) Tree<$lifetime> = $($pointer)*: Item { tree => RBTreeLink });

            impl KeyAdapter<'_> for Tree<'_> {
                type Key = u64;

                fn get_key(&self, item: &Item) -> u64 {
                    item.number
                }
            }

            pub(crate) type Home = $home;
            pub(crate) type Boxed<$lifetime> = $boxed;

            pub(crate) fn home() -> Home {
                $make
            }

            pub(crate) fn insert($place: &Home, $item: Item) -> Boxed<'_> {
                $insert
            }

            #[allow(unused_variables, reason = "pools need no argument")]
            pub(crate) fn list(home: &Home) -> LinkedList<List<'_>> {
                LinkedList::new(List::new($({let $argument = home; $argument})?))
            }

            #[allow(unused_variables, reason = "pools need no argument")]
            pub(crate) fn single(home: &Home) -> SinglyLinkedList<Single<'_>> {
                SinglyLinkedList::new(Single::new($({let $argument = home; $argument})?))
            }

            #[allow(unused_variables, reason = "pools need no argument")]
            pub(crate) fn xor(home: &Home) -> XorLinkedList<Xor<'_>> {
                XorLinkedList::new(Xor::new($({let $argument = home; $argument})?))
            }

            #[allow(unused_variables, reason = "pools need no argument")]
            pub(crate) fn tree(home: &Home) -> RBTree<Tree<'_>> {
                RBTree::new(Tree::new($({let $argument = home; $argument})?))
            }
        }
    };
}

home!(
    bounded, BoundedSlab<Item>, SlotBox<Item>, 's, [&'s BoundedSlab<Item>], [home],
    || BoundedSlab::with_capacity(ROOM),
    |home, item| home.try_insert(item).ok().unwrap().into_box()
);
home!(
    growable, Slab<Item>, SlotBox<Item>, 's, [&'s Slab<Item>], [home],
    || Slab::builder().chunk_capacity(4).build(),
    |home, item| home.insert(item).into_box()
);
home!(
    pool, Pool<'static, Item>, PoolBox<'s, Item>, 's, [PoolBox<'s, Item>], [],
    || Pool::with_capacity(ROOM),
    |home, item| home.alloc(item)
);

/// Makes a test for each kind of memory of a block that uses the names of the module above.
macro_rules! in_each_home {
    ($($(#[$attribute:meta])* fn $name:ident() $body:block)*) => {
        $(mod $name {
            #[test]
            $(#[$attribute])*
            fn in_a_bounded_slab() {
                #[allow(unused_imports, reason = "each test uses a part of them")]
                use crate::homes::bounded::*;
                #[allow(unused_imports, reason = "each test uses a part of them")]
                use super::*;
                $body
            }

            #[test]
            $(#[$attribute])*
            fn in_a_growable_slab() {
                #[allow(unused_imports, reason = "each test uses a part of them")]
                use crate::homes::growable::*;
                #[allow(unused_imports, reason = "each test uses a part of them")]
                use super::*;
                $body
            }

            #[test]
            $(#[$attribute])*
            fn in_a_pool() {
                #[allow(unused_imports, reason = "each test uses a part of them")]
                use crate::homes::pool::*;
                #[allow(unused_imports, reason = "each test uses a part of them")]
                use super::*;
                $body
            }
        })*
    };
}

pub(crate) use in_each_home;
