//! Buffers of a pool: one thread takes and fills them, another reads and drops them, and they come
//! back to the first, cleared, with their capacity. Or one thread does both.
//!
//! The others are used in the way that is fastest: filled in advance, with guards that borrow the
//! pool where there are such, and cleared by the taker where they have no function for it.

use crossbeam_queue::ArrayQueue;
use flatslab::sync::SharedPool;
use flatslab_benches::clock;
use flatslab_benches::operation::Setting;
use flatslab_benches::payload::barrier;
use flatslab_benches::run::Turn;
use flatslab_benches::threads::{DEADPOOL, OBJECT_POOL, OPOOL, POOL};

use super::hand_over::{Pace, between};
use super::wait_until;

type Buffer = Vec<u8>;

/// Buffers of a pool, of which half may be under way.
const BUFFERS: usize = 256;

/// Bytes that are written into a buffer, which has room for more.
const WRITTEN: usize = 64;

fn buffer() -> Buffer {
    Buffer::with_capacity(1500)
}

/// A pool of buffers.
pub(crate) trait Pooled {
    const NAME: &'static str;
    type Pool: Sync;
    type Guard<'p>: Send + AsBuffer;

    /// One with all its buffers.
    fn new() -> Self::Pool;

    /// An empty buffer.
    fn take(pool: &Self::Pool) -> Option<Self::Guard<'_>>;
}

/// What a guard lends.
pub(crate) trait AsBuffer {
    fn buffer(&mut self) -> &mut Buffer;
}

impl<G: std::ops::DerefMut<Target = Buffer>> AsBuffer for G {
    #[inline(always)]
    fn buffer(&mut self) -> &mut Buffer {
        self
    }
}

/// Ours.
pub(crate) struct Ours;

impl Pooled for Ours {
    const NAME: &'static str = POOL;
    type Pool = SharedPool<Buffer>;
    type Guard<'p> = flatslab::sync::Pooled<Buffer, &'p SharedPool<Buffer>>;

    fn new() -> Self::Pool {
        let mut pool = SharedPool::with_capacity(BUFFERS, buffer, Vec::clear);
        pool.fill();
        pool
    }

    #[inline(always)]
    fn take(pool: &Self::Pool) -> Option<Self::Guard<'_>> {
        pool.take()
    }
}

/// A stack behind a lock.
pub(crate) struct ObjectPool;

impl Pooled for ObjectPool {
    const NAME: &'static str = OBJECT_POOL;
    type Pool = object_pool::Pool<Buffer>;
    type Guard<'p> = object_pool::Reusable<'p, Buffer>;

    fn new() -> Self::Pool {
        object_pool::Pool::new(BUFFERS, buffer)
    }

    #[inline(always)]
    fn take(pool: &Self::Pool) -> Option<Self::Guard<'_>> {
        let mut taken = pool.try_pull()?;
        taken.clear();
        Some(taken)
    }
}

/// A queue without a lock.
pub(crate) struct Opool;

pub(crate) struct Buffers;

impl opool::PoolAllocator<Buffer> for Buffers {
    fn allocate(&self) -> Buffer {
        buffer()
    }

    #[inline(always)]
    fn reset(&self, buffer: &mut Buffer) {
        buffer.clear();
    }
}

impl Pooled for Opool {
    const NAME: &'static str = OPOOL;
    type Pool = opool::Pool<Buffers, Buffer>;
    type Guard<'p> = opool::RefGuard<'p, Buffers, Buffer>;

    fn new() -> Self::Pool {
        opool::Pool::new_prefilled(BUFFERS, Buffers)
    }

    #[inline(always)]
    fn take(pool: &Self::Pool) -> Option<Self::Guard<'_>> {
        Some(pool.get())
    }
}

/// For asynchronous programs, asked without waiting.
pub(crate) struct Deadpool;

impl Pooled for Deadpool {
    const NAME: &'static str = DEADPOOL;
    type Pool = deadpool::unmanaged::Pool<Buffer>;
    type Guard<'p> = deadpool::unmanaged::Object<Buffer>;

    fn new() -> Self::Pool {
        let buffers: Vec<_> = (0..BUFFERS).map(|_| buffer()).collect();
        deadpool::unmanaged::Pool::from(buffers)
    }

    #[inline(always)]
    fn take(pool: &Self::Pool) -> Option<Self::Guard<'_>> {
        let mut taken = pool.try_get().ok()?;
        taken.clear();
        Some(taken)
    }
}

/// Writes a number and more.
#[inline(always)]
fn write(buffer: &mut Buffer, number: usize) {
    assert!(buffer.is_empty(), "it was not cleared");
    buffer.extend_from_slice(&[number as u8; WRITTEN]);
    buffer[..8].copy_from_slice(&(number as u64).to_le_bytes());
}

/// The number.
#[inline(always)]
fn read(buffer: &Buffer) -> u64 {
    u64::from_le_bytes(buffer[..8].try_into().expect("8 bytes"))
}

/// Buffers through the channel of `hand_over`.
pub(crate) fn recycled<P: Pooled, const IN_TURNS: bool>(setting: Setting) -> Turn {
    let pace = Pace::of(IN_TURNS);
    let (batches, batch) = pace.batches(&setting, BUFFERS / 2);
    let pool = P::new();
    let queue = ArrayQueue::new(BUFFERS / 2);
    let sender = || {
        |number: usize| {
            let mut taken = None;
            wait_until(|| {
                taken = P::take(&pool);
                taken.is_some()
            });
            let mut guard = taken.expect("it was taken");
            write(guard.buffer(), number);
            let mut guard = Some(guard);
            wait_until(|| match queue.push(guard.take().expect("it is there")) {
                Ok(()) => true,
                Err(back) => {
                    guard = Some(back);
                    false
                }
            });
        }
    };
    let taker = || {
        |_| {
            let mut got = None;
            wait_until(|| {
                got = queue.pop();
                got.is_some()
            });
            let mut guard = got.expect("it was sent");
            (1, read(guard.buffer()))
        }
    };
    let (ticks, sum) = between((batches, batch, pace), sender, taker);
    let all = ((batches / 8 + batches) * batch) as u64;
    assert_eq!(sum, all * (all - 1) / 2, "{}", P::NAME);
    ticks.into()
}

/// Each buffer taken, written, read and dropped by one thread.
pub(crate) fn recycled_alone<P: Pooled>(setting: Setting) -> Turn {
    let pool = P::new();
    let batches = if setting.live < 1024 { 8 } else { 128 };
    let mut ticks = Vec::with_capacity(batches);
    for at in 0..batches {
        let begun = clock::start();
        for number in 0..BUFFERS {
            barrier(&pool);
            let mut guard = P::take(&pool).expect("there is one");
            write(guard.buffer(), number);
            barrier(guard.buffer());
            assert_eq!(read(guard.buffer()), number as u64, "{}", P::NAME);
        }
        let passed = clock::stop() - begun;
        if at >= batches / 8 {
            ticks.push(passed.saturating_sub(setting.overhead) as f64 / BUFFERS as f64);
        }
    }
    ticks.into()
}
