//! flatslab's slabs in other memory than that of the global allocator.

use flatslab::memory::{HugePages, Pages};
use flatslab::{BoundedSlab, Key, KeySlab, Slab, Slot};

use super::ours::{BoundedByKey, BoundedBySlot, GrowableBySlot, Plain};
use super::{made, subject};

/// Pages of the usual size, of the system.
fn system() -> Pages {
    Pages::system()
}

/// Transparent huge pages.
fn transparent() -> Pages {
    Pages::new().huge(HugePages::Transparent)
}

/// Huge pages that were set aside. To make such a container where there are none
/// fails: a bench looks first.
fn explicit() -> Pages {
    Pages::new().huge(HugePages::Require)
}

/// The kinds of memory by name, in the order of the tables; the first is the
/// global allocator's.
pub fn kinds() -> [(&'static str, Pages); 4] {
    [
        ("default", Pages::new()),
        ("system", system()),
        ("transparent", transparent()),
        ("explicit", explicit()),
    ]
}

/// One container in several kinds of memory; `$ctor` makes it of a capacity and
/// pages.
macro_rules! kinds {
    (
        $of:ident by $handle:ty;
        new($capacity:ident, $pages:ident) $new:expr;
        $($subject:ident $kind:ident $name:literal)*
    ) => {
        $(made! {
            #[doc = concat!("In memory that is ", stringify!($kind), ".")]
            $subject of $of named $name by $handle;
            new($capacity) {
                let $pages = $kind();
                $new
            };
        })*
    };
}

kinds! {
    BoundedByKey by Key;
    new(capacity, pages) BoundedSlab::builder().capacity(capacity).pages(pages).build();
    BoundedByKeySystem system "BoundedSlab, Key, system"
    BoundedByKeyTransparent transparent "BoundedSlab, Key, transparent"
    BoundedByKeyExplicit explicit "BoundedSlab, Key, explicit"
}

kinds! {
    BoundedBySlot by Slot<V>;
    new(capacity, pages) BoundedSlab::builder().capacity(capacity).pages(pages).build();
    BoundedBySlotSystem system "BoundedSlab, Slot, system"
    BoundedBySlotTransparent transparent "BoundedSlab, Slot, transparent"
    BoundedBySlotExplicit explicit "BoundedSlab, Slot, explicit"
}

kinds! {
    BoundedBySlot by Slot<V>;
    new(capacity, pages) {
        BoundedSlab::builder().capacity(capacity).pages(pages).lazy().build()
    };
    LazySystem system "BoundedSlab, lazy, system"
    LazyTransparent transparent "BoundedSlab, lazy, transparent"
}

made! {
    /// Memory of the global allocator that is only reserved at first.
    Lazy of BoundedBySlot named "BoundedSlab, lazy" by Slot<V>;
    new(capacity) BoundedSlab::builder().capacity(capacity).lazy().build();
}

kinds! {
    GrowableBySlot by Slot<V>;
    new(capacity, pages) Slab::builder().reserve(capacity).pages(pages).build();
    GrowableSystem system "Slab, Slot, system"
    GrowableTransparent transparent "Slab, Slot, transparent"
    GrowableExplicit explicit "Slab, Slot, explicit"
}

made! {
    /// Transparent huge pages, and chunks that are built ahead.
    GrowableTransparentAhead of GrowableBySlot
        named "Slab, transparent, 64 spare chunks" by Slot<V>;
    new(capacity) {
        let slab = Slab::builder().reserve(capacity).pages(transparent());
        slab.spare_chunks(64).build()
    };
}

kinds! {
    Plain by Key;
    new(capacity, pages) KeySlab::builder().reserve(capacity).pages(pages).build();
    PlainSystem system "KeySlab, system"
    PlainTransparent transparent "KeySlab, transparent"
    PlainExplicit explicit "KeySlab, explicit"
}
