//! A cold linear fill, each insertion timed: steady allocation is below the step of the clock.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::Barrier;

use flatslab::epoch::{EpochKey, EpochSlab};
use flatslab_benches::clock;
use flatslab_benches::epoch::THREADS;
use flatslab_benches::operation::Setting;
use flatslab_benches::run::Turn;

use crate::allocators::Allocator;

/// Bytes of a value.
pub(crate) const BYTES: usize = 128;

type Value = [u64; BYTES / 8];

/// Values of a chunk, unless something else is said.
const CHUNK: usize = 64;

/// Has so many threads fill something each, at the same time.
fn threads<S, H: Copy>(
    setting: &Setting,
    threads: usize,
    new: impl Fn() -> S + Sync,
    insert: impl Fn(&mut S, u64) -> H + Sync,
    number: impl Fn(&S, H) -> u64 + Sync,
    end: impl Fn(S, &[H]) + Sync,
) -> Turn {
    let (live, overhead) = (setting.live, clock::overhead());
    let all_here = Barrier::new(threads);
    let one = || {
        let mut subject = new();
        // Touched: what is timed meets no page of these for the first time.
        let mut ticks = vec![1.0_f64; live];
        let mut handles: Vec<H> = Vec::with_capacity(live);
        let first = insert(&mut subject, 0);
        handles.resize(live, first);
        handles.clear();
        handles.push(first);
        all_here.wait();
        for (at, ticks) in ticks.iter_mut().enumerate().skip(1) {
            let begun = clock::start();
            let handle = insert(&mut subject, at as u64);
            let passed = clock::stop() - begun;
            handles.push(handle);
            *ticks = passed.saturating_sub(overhead) as f64;
        }
        for (at, &handle) in handles.iter().enumerate() {
            assert_eq!(number(&subject, handle), at as u64);
        }
        end(subject, &handles);
        ticks.swap_remove(0);
        ticks
    };
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        let joined = threads.into_iter().map(|it| it.join().expect("it ends"));
        joined.collect::<Vec<_>>().concat()
    });
    all.into()
}

/// Blocks of an allocator, on so many threads as the place among [`THREADS`] says.
pub(crate) fn allocator<A: Allocator, const AT: usize>(setting: Setting) -> Turn {
    const LAYOUT: Layout = Layout::new::<Value>();
    threads(
        &setting,
        THREADS[AT],
        || (),
        #[inline(always)]
        |(), number| {
            // SAFETY: of more than no bytes; it is large enough for a value, which is written.
            unsafe {
                let place = A::GLOBAL.alloc(LAYOUT).cast::<Value>();
                assert!(!place.is_null(), "{}", A::NAME);
                place.write([number; BYTES / 8]);
                place
            }
        },
        // SAFETY: written, and not freed yet.
        |(), place| unsafe { (*place)[BYTES / 8 - 1] },
        |(), places| {
            for place in places {
                // SAFETY: of this allocator, and freed once.
                unsafe { A::GLOBAL.dealloc(place.cast(), LAYOUT) };
            }
        },
    )
}

/// A slab of each thread's own, which grows by chunks or has them all beforehand.
pub(crate) fn slab<const RESERVED: bool, const AT: usize>(setting: Setting) -> Turn {
    let chunks = if RESERVED {
        setting.live / CHUNK + 1
    } else {
        0
    };
    threads(
        &setting,
        THREADS[AT],
        || {
            let builder = EpochSlab::<Value>::builder().chunk_capacity(CHUNK);
            builder.reserve(chunks).build()
        },
        #[inline(always)]
        |slab: &mut EpochSlab<Value>, number| -> EpochKey { slab.insert([number; BYTES / 8]) },
        |slab, key| slab.get(key).expect("it is there")[BYTES / 8 - 1],
        |slab, keys| assert_eq!(slab.stats().live, keys.len()),
    )
}
