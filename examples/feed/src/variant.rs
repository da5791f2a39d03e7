//! What is compared: a store, the pages its memory comes from, and how far the
//! replay looks ahead.

use std::fmt;

use clap::ValueEnum;
use flatslab::memory::{HugePages, Pages};
use serde::Serialize;

/// One store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StoreKind {
    /// flatslab's `KeySlab`: plain references
    Keys,
    /// flatslab's `BoundedSlab`, with room for the most orders live at once
    Bounded,
    /// flatslab's `Slab`, which grows by chunks
    Growable,
    /// flatslab's `Pool`, with room for the most orders live at once: unchecked
    /// pointers, an order to a cache line
    Pool,
    /// The `slab` crate, which copies when it grows
    Slab,
    /// A `Box` for each order, from the global allocator
    Box,
    /// An array that checks nothing and does not grow: what any store costs at least
    Floor,
}

impl StoreKind {
    /// The stores if none is named, in the order of the report: all but the floor.
    pub(crate) const DEFAULT: [StoreKind; 5] = [
        StoreKind::Keys,
        StoreKind::Bounded,
        StoreKind::Growable,
        StoreKind::Slab,
        StoreKind::Box,
    ];

    /// Its name on the command line and in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            StoreKind::Keys => "keys",
            StoreKind::Bounded => "bounded",
            StoreKind::Growable => "growable",
            StoreKind::Pool => "pool",
            StoreKind::Slab => "slab",
            StoreKind::Box => "box",
            StoreKind::Floor => "floor",
        }
    }

    /// Whether it is a container of flatslab.
    pub(crate) fn is_ours(self) -> bool {
        matches!(
            self,
            StoreKind::Keys | StoreKind::Bounded | StoreKind::Growable | StoreKind::Pool
        )
    }
}

/// Where the memory of the orders, the index and the levels comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PageKind {
    /// The global allocator
    #[default]
    Default,
    /// Huge pages, as far as the machine grants them, for the most orders live at once;
    /// `slab` and `box` have only their index and price levels there
    Huge,
}

impl PageKind {
    /// Orders that a growing store reserves memory for. A huge page is cleared when it
    /// is first used, for half a millisecond: not while messages wait.
    pub(crate) fn reserved(self, peak_live_orders: usize) -> usize {
        match self {
            PageKind::Default => 0,
            PageKind::Huge => peak_live_orders,
        }
    }

    /// As flatslab takes it.
    pub(crate) fn pages(self) -> Pages {
        match self {
            PageKind::Default => Pages::new(),
            PageKind::Huge => Pages::new().huge(HugePages::Try),
        }
    }
}

/// What the replay does for the next message before it applies the present one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Prefetch {
    /// Nothing
    #[default]
    Off,
    /// Looks its order up in the index
    Index,
    /// Looks its order up and prefetches it in the store
    Order,
}

/// A store, its pages and its look-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Variant {
    pub(crate) store: StoreKind,
    pub(crate) pages: PageKind,
    pub(crate) prefetch: Prefetch,
}

impl Variant {
    /// The variant that the others are divided by, if it is there.
    pub(crate) const SLAB: Variant = Variant::plain(StoreKind::Slab);

    /// A store on default pages without look-ahead.
    pub(crate) const fn plain(store: StoreKind) -> Self {
        Variant {
            store,
            pages: PageKind::Default,
            prefetch: Prefetch::Off,
        }
    }

    /// Whether it is a store on default pages without look-ahead.
    pub(crate) fn is_plain(self) -> bool {
        self == Variant::plain(self.store)
    }

    /// Every store on all pages with every look-ahead, in this order. A value named
    /// twice counts once.
    pub(crate) fn all(
        stores: &[StoreKind],
        pages: &[PageKind],
        prefetches: &[Prefetch],
    ) -> Vec<Self> {
        let mut variants = Vec::new();
        for store in sorted(stores) {
            for pages in sorted(pages) {
                for prefetch in sorted(prefetches) {
                    variants.push(Variant {
                        store,
                        pages,
                        prefetch,
                    });
                }
            }
        }
        variants
    }
}

/// The name of the store, then what differs from the default: `keys huge order`.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pages = match self.pages {
            PageKind::Default => "",
            PageKind::Huge => " huge",
        };
        let prefetch = match self.prefetch {
            Prefetch::Off => "",
            Prefetch::Index => " index",
            Prefetch::Order => " order",
        };
        write!(f, "{}{pages}{prefetch}", self.store.name())
    }
}

/// The values in the order of their declaration, each once.
fn sorted<T: Copy + Ord>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_every_combination_once_in_the_order_of_declaration() {
        let variants = Variant::all(
            &[StoreKind::Slab, StoreKind::Keys, StoreKind::Slab],
            &[PageKind::Huge, PageKind::Default],
            &[Prefetch::Order, Prefetch::Off],
        );
        let names: Vec<_> = variants.iter().map(Variant::to_string).collect();
        assert_eq!(
            names,
            [
                "keys",
                "keys order",
                "keys huge",
                "keys huge order",
                "slab",
                "slab order",
                "slab huge",
                "slab huge order",
            ]
        );
    }

    #[test]
    fn only_the_store_alone_is_plain() {
        let variants = Variant::all(
            &[StoreKind::Slab],
            &[PageKind::Default, PageKind::Huge],
            &[Prefetch::Off, Prefetch::Index, Prefetch::Order],
        );
        assert!(variants[0].is_plain());
        assert_eq!(variants[0], Variant::SLAB);
        assert!(variants[1..].iter().all(|variant| !variant.is_plain()));
    }
}
