//! flatslab's own slabs.

use flatslab::epoch::{EpochKey, EpochSlab};
use flatslab::{BoundedKeySlab, BoundedSlab, GenKey, Key, KeySlab, Slab, Slot, SlotBox};

use super::{access, keyed, made, subject};

/// Each role once for each slab; `$some` turns what `insert` returns into
/// a slot.
macro_rules! roles {
    (
        $slab:ident $(.$some:ident())?;
        $by_slot:ident $slot:literal, $by_slot_unchecked:ident $slot_unchecked:literal,
        $boxed:ident $box:literal,
        $by_key:ident $key:literal, $untracked:ident $untracked_name:literal
    ) => {
        subject! {
            /// By owning slots.
            $by_slot($slab<V>) named $slot by Slot<V>;
            new(capacity) $slab::with_capacity(capacity);
            insert(slab, value) slab.insert(value)$(.$some())?;
            get(_slab, slot) slot.get().number();
            add(_slab, slot, number) *slot.get_mut().number_mut() += number;
            replace(_slab, slot, value) slot.replace(value);
            remove(_slab, slot) slot.into_inner();
            free(_slab, slot) slot;
            refill(_slab, slot, value) {
                let (old, vacant) = slot.take();
                (old, vacant.insert(value))
            };
            contains(_slab, slot) slot.is_valid();
            prefetch(_slab, slot) slot.prefetch();
        }

        access! {
            /// By owning slots, without a look at their state.
            $by_slot_unchecked of $by_slot named $slot_unchecked by Slot<V>;
            get(_slab, slot) slot.get_unchecked().number();
            add(_slab, slot, number) *slot.get_unchecked_mut().number_mut() += number;
        }

        subject! {
            /// By boxes.
            $boxed($slab<V>) named $box by SlotBox<V>;
            new(capacity) $slab::with_capacity(capacity);
            insert(slab, value) slab.insert(value)$(.$some())?.into_box();
            get(_slab, boxed) boxed.number();
            add(_slab, boxed, number) *boxed.number_mut() += number;
            replace(_slab, boxed, value) core::mem::replace(&mut **boxed, value);
            remove(_slab, boxed) SlotBox::into_inner(boxed);
            free(_slab, boxed) boxed;
            refill(_slab, boxed, value) {
                let (old, vacant) = SlotBox::into_slot(boxed).take();
                (old, vacant.insert(value).into_box())
            };
        }

        subject! {
            /// By keys, checked.
            $by_key($slab<V>) named $key by Key;
            new(capacity) $slab::with_capacity(capacity);
            insert(slab, value) slab.insert(value)$(.$some())?.leak();
            get(slab, key) slab.get(*key).unwrap().number();
            add(slab, key, number) *slab.get_mut(*key).unwrap().number_mut() += number;
            replace(slab, key, value) {
                core::mem::replace(&mut *slab.get_mut(*key).unwrap(), value)
            };
            remove(slab, key) slab.remove_by_key(key);
            contains(slab, key) slab.contains_key(*key);
            prefetch(slab, key) slab.prefetch(*key);
            each(slab, visit) for (_key, value) in slab.iter() {
                visit(value.number());
            };
            each_mut(slab, visit) for (_key, mut value) in slab.iter_mut() {
                visit(value.number_mut());
            };
        }

        access! {
            /// By keys, without borrow tracking.
            $untracked of $by_key named $untracked_name by Key;
            get(slab, key) slab.untracked()[*key].number();
            add(slab, key, number) *slab.untracked()[*key].number_mut() += number;
        }
    };
}

roles!(
    BoundedSlab.unwrap();
    BoundedBySlot "BoundedSlab, Slot",
    BoundedUnchecked "BoundedSlab, Slot unchecked",
    BoundedBox "BoundedSlab, SlotBox",
    BoundedByKey "BoundedSlab, Key",
    BoundedUntracked "BoundedSlab, Key untracked"
);
roles!(
    Slab;
    GrowableBySlot "Slab, Slot",
    GrowableUnchecked "Slab, Slot unchecked",
    GrowableBox "Slab, SlotBox",
    GrowableByKey "Slab, Key",
    GrowableUntracked "Slab, Key untracked"
);

made! {
    /// That has chunks built ahead.
    GrowableAhead of GrowableBySlot named "Slab, 8 spare chunks" by Slot<V>;
    new(capacity) Slab::builder().reserve(capacity).spare_chunks(8).build();
}
made! {
    /// Whose memory is touched a page at a time, by the insertions that come to it.
    GrowableByPages of GrowableBySlot named "Slab, touch_ahead(0)" by Slot<V>;
    new(capacity) Slab::builder().reserve(capacity).touch_ahead(0).build();
}

/// A container of plain references.
macro_rules! plain {
    ($subject:ident($slab:ident<V, $key:ident>) named $name:literal $(; inserted $some:ident)?) => {
        keyed! {
            /// By keys, with plain references.
            $subject($slab<V, $key>) named $name by $key;
            new(capacity) $slab::with_capacity_and_key(capacity);
            $(inserted $some;)?
            contains by contains;
            prefetch by prefetch;
            walks by iter iter_mut;
        }
    };
}

plain!(Plain(KeySlab<V, Key>) named "KeySlab");
plain!(PlainBounded(BoundedKeySlab<V, Key>) named "BoundedKeySlab"; inserted unwrap);
plain!(Generations(KeySlab<V, GenKey>) named "KeySlab, GenKey");
plain!(GenerationsBounded(BoundedKeySlab<V, GenKey>) named "BoundedKeySlab, GenKey";
    inserted unwrap);

keyed! {
    /// In a range of addresses, where the system has them.
    InRange(KeySlab<V, Key>) named "KeySlab, grow_in_place" by Key;
    new(capacity) KeySlab::builder().grow_in_place().reserve(capacity).build();
    contains by contains;
}

subject! {
    /// One epoch, which stays open.
    InEpoch(EpochSlab<V>) named "EpochSlab" by EpochKey;
    new(capacity) EpochSlab::builder().reserve(capacity.div_ceil(64)).build();
    insert(slab, value) slab.insert(value);
    get(slab, key) slab.get(*key).unwrap().number();
    add(slab, key, number) *slab.get_mut(*key).unwrap().number_mut() += number;
    replace(slab, key, value) core::mem::replace(&mut *slab.get_mut(*key).unwrap(), value);
    remove(slab, key) slab.take(key).unwrap();
    free(slab, key) slab.take(key);
    contains(slab, key) slab.contains_key(*key);
}
