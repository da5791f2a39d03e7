//! The thread that builds chunks ahead, in a source that several threads use.

use std::thread;

use flatslab::Slab;

use crate::common::{Audit, Wide, wide};
use crate::source::{Counted, Fault};

fn builder(source: &std::sync::Arc<Counted>) -> flatslab::Builder<Slab<Wide>> {
    let builder = Slab::builder().chunk_capacity(2).spare_chunks(2);
    builder.pages(source.pages())
}

#[test]
fn a_helper_that_is_refused_or_panics_costs_no_more_than_its_chunks() {
    for fault in [None, Some(Fault::Refuse), Some(Fault::Panic)] {
        let source = Counted::new();
        let slab = builder(&source).build();
        source.fail_helpers(fault);
        let slots: Vec<_> = (0..40).map(|number| slab.insert(wide(number))).collect();
        while fault.is_some() && source.helpers_failed() == 0 {
            thread::yield_now();
        }
        slab.audit();
        for (number, slot) in slots.iter().enumerate() {
            assert_eq!(*slot.get(), number as u64);
        }
        // Two were built with the slab, and some perhaps before the fault.
        assert!(fault.is_none() || slab.growth_stalls() > 0);
        drop(slab);
        // The handles last longer than the thread.
        drop(slots);
        source.expect_all_back();
    }
}

#[test]
fn spares_come_back_in_whatever_order_slab_and_handles_go() {
    for slab_first in [false, true] {
        let source = Counted::new();
        let slab = builder(&source).build();
        let mut slots: Vec<_> = (0..30).map(|number| slab.insert(wide(number))).collect();
        slots.truncate(9);
        slab.shrink_to_fit();
        slots.extend((0..30).map(|number| slab.insert(wide(number))));
        if slab_first {
            drop(slab);
            let mut last = slots.split_off(slots.len() - 1);
            drop(slots);
            assert!(source.bytes() > 0 && !last[0].is_valid());
            last.clear();
        } else {
            drop(slots);
            slab.shrink_to_fit();
            assert_eq!(slab.capacity(), 0);
            drop(slab);
        }
        source.expect_all_back();
    }
}

/// The source itself lives until its last block is back, and no longer.
#[test]
fn a_slot_without_a_slab_keeps_its_source() {
    let source = Counted::new();
    let weak = std::sync::Arc::downgrade(&source);
    let slab = builder(&source).build();
    let slot = slab.insert(wide(7));
    drop((source, slab));
    assert!(weak.upgrade().is_some());
    drop(slot);
    assert!(weak.upgrade().is_none());
}
