//! Random programs under the worst allocator there may be: when it is called, it
//! may take further random steps on the very slab that it serves, before and
//! after its work, and it refuses one request in six. In the end no slot is
//! lost, a slab of free slots shrinks to nothing, and no byte is leaked.

use std::cell::Cell;

use flatslab::{Growable, Slab};

use crate::common::random::one_in;
use crate::common::{Audit, Detached, amount, by_speed};
use crate::program::{
    Rules, Which, begin, empty_pool, end, expect_memory_is_needed, nest, note_next_free,
    outer_step, runs, set_slab,
};
use crate::{Call, with_conduct, without_leak};

thread_local! {
    static INTERRUPTIONS: Cell<u32> = const { Cell::new(0) };
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

/// What the allocator does at each call.
fn meddle(call: Call) -> bool {
    if let Call::Asked = call {
        expect_memory_is_needed::<Growable>();
    }
    if runs() && one_in(3) {
        INTERRUPTIONS.set(INTERRUPTIONS.get() + 1);
        nest::<Growable>();
    }
    note_next_free::<Growable>();
    if matches!(call, Call::Asked) && runs() && one_in(6) {
        REFUSED.set(REFUSED.get() + 1);
        return false;
    }
    true
}

/// One program, from a slab without memory to one without memory.
fn run(chunk_capacity: usize, number: u64, steps: u32) {
    // SAFETY: at the end the pool is empty, and no step can reach the slab.
    let place = unsafe { Detached::new(Slab::builder().chunk_capacity(chunk_capacity).build()) };
    let slab = place.get().unwrap();
    let rules = Rules {
        audits: number % 4 != 0,
        ..Rules::default()
    };
    begin(number, rules, Which::Static(slab));
    for _ in 0..steps {
        with_conduct(meddle, || outer_step::<Growable>(number));
        assert_eq!(slab.chunks() * chunk_capacity, slab.capacity());
    }
    empty_pool::<Growable>();
    slab.clear();
    assert!(slab.is_empty());
    slab.audit();
    slab.shrink_to_fit();
    assert_eq!((slab.capacity(), slab.chunks()), (0, 0), "program {number}");
    slab.audit();
    set_slab::<Growable>(None);
    place.end();
    end::<Growable>(number);
}

fn many_programs(chunk_capacity: usize) {
    let (programs, steps) = amount((by_speed(300, 100), 600), (2, 40));
    // Makes the thread's state, which lasts longer than a program.
    set_slab::<Growable>(None);
    for number in 1..=programs {
        without_leak(|| run(chunk_capacity, number, steps));
    }
    assert!(INTERRUPTIONS.get() > 0 && REFUSED.get() > 0);
}

#[test]
fn programs_on_chunks_of_one_slot() {
    many_programs(1);
}

#[test]
fn programs_on_chunks_of_two_slots() {
    many_programs(2);
}

#[test]
fn programs_on_chunks_of_eight_slots() {
    many_programs(8);
}
