//! The slowest single insertion, allocation, push and removal of each family, beside its
//! median: while other threads give back, frames repeat and limits are near.
//!
//! What others have done is over when an operation is timed: what it has to do for them counts,
//! and not that the two threads meet.

use std::thread;

use flatslab::bump::Arena;
use flatslab::bytes;
use flatslab::epoch::EpochSlab;
use flatslab::pool::Pool;
use flatslab::sync::SharedSlab;
use flatslab::{BoundedSlab, KeySlab, Memory, Slab, TrackedSlab};
use flatslab_benches::prelude::*;
use flatslab_benches::slowest::{BENCH, FLOOR, STEP, passes, tables};
use rand::seq::SliceRandom;

/// What others leave behind.
const PLAN: Plan = Plan {
    tables: Some(tables),
    ..plan::of(BENCH, &[(102_400, &[8])], 1_024, &[FLOOR], cases)
};

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _: usize, _: usize) -> Vec<Case> {
    // A turn is many passes of its own.
    let case = |rows: &[&'static str], entries: Vec<Entry>| {
        let columns = const { &[Column::Value(Metric::P50), Column::Value(Metric::Worst)] };
        Case::of(rows, 1, columns, entries)
    };
    let of = |row, subject, turn| case(&[row], vec![Entry::of(subject, turn)]);
    let returned = vec![
        Entry::of("BoundedSlab", |it| {
            returned(&it, BoundedSlab::with_capacity(it.live))
        }),
        Entry::of("Slab", |it| returned(&it, Slab::new())),
    ];
    // The allocator's work is in there.
    let growing = vec![
        Entry::of("Slab", |it| slab(&it, Slab::new)),
        Entry::of("KeySlab", |it| key_slab(&it, KeySlab::new)),
    ];
    let reserved = vec![
        Entry::of("BoundedSlab", |it| {
            slab(&it, || BoundedSlab::with_capacity(it.live))
        }),
        Entry::of("Slab", |it| slab(&it, || Slab::with_capacity(it.live))),
        Entry::of("KeySlab", |it| {
            key_slab(&it, || KeySlab::with_capacity(it.live))
        }),
    ];
    let of_pool = ["allocation", "removal at random", "refusal, full"];
    let of_shared = [
        "insertion, others removed",
        "removal at random",
        "refusal, full",
    ];
    let limited = vec![
        Entry::of("Arena", limited_arena),
        Entry::of("bytes::ByteArena", limited_bytes),
    ];
    vec![
        of(STEP, FLOOR, step),
        case(&["insertion, values ended on another thread"], returned),
        case(&["insertion, growing", "removal at random"], growing),
        case(
            &["insertion, reserved", "removal at random, reserved"],
            reserved,
        ),
        case(&of_pool, vec![Entry::of("Pool", pool)]),
        case(&of_shared, vec![Entry::of("SharedSlab", shared_slab)]),
        of("allocation of 5,000 bytes, frames repeat", "Arena", frames),
        case(
            &["allocation, a limit is near", "refusal, at the limit"],
            limited,
        ),
        of(
            "allocation, another class has the memory",
            "bytes::ByteArena",
            other_class,
        ),
        of("insertion, epochs repeat", "EpochSlab", epochs),
        of(
            "allocation, buffers ended on another thread",
            "ByteArena<Atomic>",
            returned_buffers,
        ),
        of("push, overwriting", "bytes::Ring", ring),
    ]
}

fn step(setting: Setting) -> Turn {
    /// A line, and the number of the next.
    #[repr(align(64))]
    #[derive(Clone)]
    struct Line(usize);

    let mut order: Vec<usize> = (0..setting.live).collect();
    order.shuffle(&mut setting.random.clone());
    let mut lines = vec![Line(0); setting.live];
    for (at, line) in order.iter().enumerate() {
        lines[*line].0 = order[(at + 1) % order.len()];
    }
    passes(&setting, |[step]| {
        let mut at = order[0];
        for _ in 0..setting.live {
            at = step.time(|| lines[at].0);
        }
        assert_eq!(at, order[0]);
    })
    .into()
}

/// As many values as there are left are handed to another thread, which ends them all.
fn returned<M: Memory>(setting: &Setting, slab: TrackedSlab<u64, M>) -> Turn {
    let insert = |number| slab.try_insert(number).expect("there is room");
    let [insertions] = passes(setting, |[insertion]| {
        let sent: Vec<_> = (0..setting.live as u64)
            .map(|number| insert(number).into_send())
            .collect();
        thread::scope(|scope| {
            scope.spawn(|| drop(sent));
        });
        for number in 0..setting.live as u64 {
            insertion.time(|| insert(number).leak());
        }
        assert_eq!(slab.len(), setting.live);
        slab.clear();
    });
    Turn(vec![insertions])
}

fn slab<M: Memory>(setting: &Setting, make: impl Fn() -> TrackedSlab<u64, M>) -> Turn {
    let mut random = setting.random.clone();
    passes(setting, |[insertion, removal]| {
        let slab = make();
        let insert = |number| slab.try_insert_key(number).expect("there is room");
        let mut keys: Vec<_> = (0..setting.live as u64)
            .map(|number| insertion.time(|| insert(number)))
            .collect();
        keys.shuffle(&mut random);
        for key in keys {
            removal.time(|| slab.remove_by_key(key));
        }
        assert!(slab.is_empty());
    })
    .into()
}

fn key_slab(setting: &Setting, make: impl Fn() -> KeySlab<u64>) -> Turn {
    let mut random = setting.random.clone();
    passes(setting, |[insertion, removal]| {
        let mut slab = make();
        let mut keys: Vec<_> = (0..setting.live as u64)
            .map(|number| insertion.time(|| slab.insert(number)))
            .collect();
        keys.shuffle(&mut random);
        for key in keys {
            removal.time(|| slab.remove(key));
        }
        assert!(slab.is_empty());
    })
    .into()
}

fn pool(setting: Setting) -> Turn {
    let mut random = setting.random.clone();
    let pool = Pool::with_capacity(setting.live);
    passes(&setting, |[allocation, removal, refusal]| {
        let mut boxes: Vec<_> = (0..setting.live as u64)
            .map(|number| allocation.time(|| pool.try_alloc(number).expect("there is room")))
            .collect();
        for _ in 0..64 {
            refusal.time(|| pool.try_alloc(7).is_err());
        }
        boxes.shuffle(&mut random);
        for boxed in boxes {
            removal.time(|| drop(boxed));
        }
        assert!(pool.is_empty());
    })
    .into()
}

/// Another thread removes half of all, at random; this one fills the slab again, and more.
fn shared_slab(setting: Setting) -> Turn {
    let mut random = setting.random.clone();
    let slab = SharedSlab::with_capacity(setting.live);
    passes(&setting, |[insertion, removal, refusal]| {
        let mut keys: Vec<_> = (0..setting.live as u64)
            .map(|number| slab.insert(number).expect("there is room"))
            .collect();
        keys.shuffle(&mut random);
        let half = keys.split_off(setting.live / 2);
        thread::scope(|scope| {
            scope.spawn(|| assert!(half.iter().all(|key| slab.remove(*key))));
        });
        for number in 0..half.len() as u64 {
            keys.push(insertion.time(|| slab.insert(number).expect("there is room")));
        }
        for _ in 0..64 {
            refusal.time(|| slab.insert(7).is_err());
        }
        for key in keys {
            removal.time(|| slab.remove(key));
        }
        assert!(slab.is_empty());
    })
    .into()
}

/// Of a frame that was there before.
fn frames(setting: Setting) -> Turn {
    let mut arena = Arena::new();
    passes(&setting, |[allocation]| {
        for _ in 0..setting.live / 8 {
            allocation.time(|| arena.alloc_slice_copy(&[7_u8; 5_000]).as_ptr());
        }
        arena.reset();
    })
    .into()
}

fn limited_arena(setting: Setting) -> Turn {
    let mut arena = Arena::builder().max_bytes(setting.live * 64).build();
    passes(&setting, |[allocation, refusal]| {
        while allocation.time(|| arena.try_alloc([7_u64; 7]).is_ok()) {}
        for _ in 0..64 {
            refusal.time(|| arena.try_alloc([7_u64; 7]).is_err());
        }
        arena.reset();
    })
    .into()
}

fn limited_bytes(setting: Setting) -> Turn {
    let arena = bytes::ByteArena::builder()
        .max_bytes(setting.live * 64)
        .build();
    passes(&setting, |[allocation, refusal]| {
        let mut buffers = Vec::with_capacity(setting.live);
        while let Ok(buf) = allocation.time(|| arena.try_alloc(48)) {
            buffers.push(buf);
        }
        for _ in 0..64 {
            refusal.time(|| arena.try_alloc(48).is_err());
        }
    })
    .into()
}

/// A class gave all of its buffers back at the limit, and another one takes its chunks over.
fn other_class(setting: Setting) -> Turn {
    let arena = bytes::ByteArena::builder()
        // Chunks of both classes fit, however few values there are.
        .max_bytes((setting.live * 64).max(4 << 20))
        .build();
    passes(&setting, |[allocation]| {
        let small: Vec<_> = std::iter::from_fn(|| arena.try_alloc(48).ok()).collect();
        drop(small);
        let large: Vec<_> = (0..64)
            .map(|_| allocation.time(|| arena.try_alloc(1_000)))
            .collect();
        assert!(large.iter().all(Result::is_ok), "the other class has it");
        drop(large);
        arena.shrink_to_fit();
    })
    .into()
}

fn epochs(setting: Setting) -> Turn {
    let slab = EpochSlab::new();
    passes(&setting, |[insertion]| {
        for _ in 0..8 {
            for number in 0..setting.live as u64 / 8 {
                insertion.time(|| slab.insert(number));
            }
            let epoch = slab.current();
            slab.advance();
            slab.clear_epoch(epoch);
        }
    })
    .into()
}

fn returned_buffers(setting: Setting) -> Turn {
    let arena = bytes::ByteArena::atomic();
    passes(&setting, |[allocation]| {
        let buffers: Vec<_> = (0..setting.live)
            .map(|_| arena.try_alloc(48).expect("there is memory"))
            .collect();
        thread::scope(|scope| {
            scope.spawn(|| drop(buffers));
        });
        let mut buffers = Vec::with_capacity(setting.live);
        for _ in 0..setting.live {
            buffers.push(allocation.time(|| arena.try_alloc(48).expect("there is memory")));
        }
    })
    .into()
}

fn ring(setting: Setting) -> Turn {
    let mut ring = bytes::Ring::with_capacity(1_024, 64);
    passes(&setting, |[push]| {
        for _ in 0..setting.live {
            push.time(|| ring.push(&[7; 48]).expect("there is room"));
        }
    })
    .into()
}
