//! Firmware that cannot panic. Its panic handler calls a function that does not exist: it links
//! exactly if the optimiser has proved that no panic is reachable, in the library or here.
//!
//! With the feature `reachable` it uses one method that may panic, and must not link.

#![no_std]
#![no_main]

use core::hint::black_box;
use core::panic::PanicInfo;

use flatslab::key_slab::KeySlabStorage;
use flatslab::pool::{Pool, PoolBox, PoolStorage, SendBox, StorageBox};
use flatslab::{BoundedKeySlab, GenKey, Key};

/// Of a size that is no power of two, so that a division would not be a shift.
struct Frame {
    data: [u8; 52],
}

static FRAMES: PoolStorage<Frame, 12> = PoolStorage::new();
/// Values smaller than a link, of no size, and larger than a refill.
static BYTES: PoolStorage<u8, 3> = PoolStorage::new();
static TICKS: PoolStorage<(), 3> = PoolStorage::new();
static PAGES: PoolStorage<[u8; 5000], 3> = PoolStorage::new();
static TIMERS: KeySlabStorage<Frame, 12> = KeySlabStorage::new();
static ORDERS: KeySlabStorage<Frame, 12, Key> = KeySlabStorage::with_key();

/// Where the linker has the program begin.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    if let Some(pool) = FRAMES.claim() {
        use_pool(pool, || Frame {
            data: black_box([7; 52]),
        });
        pool.reset();
        black_box(pool.prepare(black_box(8)).is_ok());
        hand_over(pool);
    }
    if let Some(pool) = BYTES.claim() {
        use_pool(pool, || black_box(7));
    }
    if let Some(pool) = TICKS.claim() {
        use_pool(pool, || black_box(()));
    }
    if let Some(pool) = PAGES.claim() {
        use_pool(pool, || black_box([7; 5000]));
    }
    if let Some(timers) = TIMERS.claim() {
        let mut timers = timers.wrapping_generations();
        use_slab(&mut timers, black_box(GenKey::from_raw(1 << 32)));
    }
    if let Some(mut orders) = ORDERS.claim() {
        use_slab(&mut orders, black_box(Some(Key::from_raw(3))));
    }
    halt()
}

/// Fills and empties it, in the ways that there are.
#[inline(never)]
fn use_pool<T>(pool: &Pool<'_, T, flatslab::pool::InStorage>, value: impl Fn() -> T) {
    let mut live: [Option<StorageBox<'_, T>>; 16] = [const { None }; 16];
    for place in &mut live {
        *place = pool.try_alloc(value()).ok();
    }
    black_box((pool.len(), pool.is_full(), pool.capacity()));
    for boxed in live.into_iter().flatten() {
        match black_box(0) {
            0 => drop(boxed),
            1 => _ = black_box(PoolBox::into_inner(boxed)),
            _ => drop(PoolBox::write(PoolBox::take(boxed).1, value())),
        }
    }
    black_box(pool.try_alloc_with(&value).is_ok());
    black_box(pool.try_alloc_uninit().is_ok());
    #[cfg(feature = "reachable")]
    drop(pool.alloc(value()));
}

/// Boxes that another context ends, and one that comes back.
#[inline(never)]
fn hand_over(pool: &'static Pool<'static, Frame, flatslab::pool::InStorage>) {
    for _ in 0..black_box(40) {
        let frame = Frame {
            data: black_box([7; 52]),
        };
        if let Ok(frame) = pool.try_alloc(frame) {
            let sent = black_box(PoolBox::into_send(frame));
            match black_box(0) {
                0 => drop(sent),
                1 => _ = black_box(SendBox::into_inner(sent)),
                _ => drop(pool.receive(sent)),
            }
        }
    }
    black_box(pool.reclaim());
}

/// Fills and empties it, in the ways that there are; `forged` is any key.
#[inline(never)]
fn use_slab<K: flatslab::key_slab::SlabKey>(
    slab: &mut BoundedKeySlab<Frame, K>,
    forged: Option<K>,
) {
    let frame = || Frame {
        data: black_box([7; 52]),
    };
    let mut last = forged;
    for _ in 0..black_box(20) {
        if let Ok(key) = slab.insert(frame()) {
            last = Some(key);
        }
        black_box(slab.try_insert(frame()).is_ok());
    }
    if let Ok(entry) = slab.vacant_entry() {
        black_box(entry.key());
        entry.insert(frame());
    }
    for key in [last, forged, slab.vacant_key()].into_iter().flatten() {
        if let Some(frame) = slab.get_mut(key) {
            frame.data[0] += 1;
        }
        black_box((slab.get(key).is_some(), slab.contains(key)));
        black_box(slab.key_at(black_box(3)).is_some());
        black_box(slab.try_remove(key).is_some());
        black_box(slab.try_remove(key).is_some());
        black_box(slab.insert_at(key, frame()).is_ok());
    }
    for (_key, frame) in slab.iter_mut() {
        frame.data[1] = black_box(8);
    }
    black_box(
        slab.iter()
            .map(|(_, frame)| u32::from(frame.data[1]))
            .sum::<u32>(),
    );
    slab.retain(|_, frame| black_box(frame.data[1] == 7));
    black_box((slab.len(), slab.free_slots(), slab.is_full()));
    for (_key, frame) in slab.drain().take(black_box(3)) {
        black_box(frame);
    }
    black_box(slab.wear());
    slab.clear();
}

fn halt() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

unsafe extern "C" {
    /// There is no such function.
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: never called, as there is nothing to call.
    unsafe { a_panic_is_reachable() }
}
