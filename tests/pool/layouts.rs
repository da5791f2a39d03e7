//! Sizes and alignments of values, sizes of boxes, and limits of capacity.

use std::mem::MaybeUninit;

use flatslab::pool::{
    CacheAligned, Pool, PoolBox, PoolMemory, PoolStorage, RecycledBox, StorageBox,
};
use flatslab::{AllocError, BuildError};

use crate::common::amount;
use crate::kinds::{assert_all_usable_but, with_each_pool};

/// How many cells are no fewer than a segment of the crate has, for values of that size
/// and more.
fn more_than_a_segment(bytes: usize) -> usize {
    (if cfg!(miri) { 1 << 10 } else { 1 << 21 }) / bytes + 8
}

/// How many cells the first segment has, which are more than one, and how far the first
/// cell of the next one lies from its last.
fn first_segment<T, M: PoolMemory>(pool: &Pool<'_, T, M>) -> (usize, usize) {
    let boxes: Vec<_> = std::iter::from_fn(|| pool.try_alloc_uninit().ok()).collect();
    let at = |index: usize| boxes[index].as_ptr().addr();
    let apart = at(1) - at(0);
    let cells = (1..boxes.len()).take_while(|&index| at(index) - at(index - 1) == apart);
    let cells = cells.count() + 1;
    assert!(cells < boxes.len(), "it reaches into a second segment");
    (cells, at(cells) - at(cells - 1))
}

/// A value of which only the first and the last byte are written.
trait Value: Sized {
    const ALIGN: usize;
    const BYTES: usize;
}

macro_rules! aligned {
    ($($name:ident $align:literal;)*) => {$(
        #[repr(align($align))]
        struct $name<const BYTES: usize>([u8; BYTES]);

        impl<const BYTES: usize> Value for $name<BYTES> {
            const ALIGN: usize = $align;
            const BYTES: usize = BYTES;
        }
    )*};
}

aligned! {
    Packed 1;
    Word 8;
    Half 16;
    Line 64;
    Page 4096;
}

/// Writes the first and the last byte of the value that is to be in that cell.
fn mark<T: Value, M: PoolMemory>(cell: &mut PoolBox<'_, MaybeUninit<T>, M>, number: usize) {
    let start = cell.as_mut_ptr().cast::<u8>();
    if T::BYTES > 0 {
        // SAFETY: bytes of the cell.
        unsafe {
            start.add(T::BYTES - 1).write(number as u8);
            start.write(number as u8);
        }
    }
}

fn is_marked<T: Value, M: PoolMemory>(
    cell: &PoolBox<'_, MaybeUninit<T>, M>,
    number: usize,
) -> bool {
    let start = cell.as_ptr().cast::<u8>();
    // SAFETY: written by `mark`.
    T::BYTES == 0 || unsafe { [start.read(), start.add(T::BYTES - 1).read()] } == [number as u8; 2]
}

/// Takes every cell twice, the second time in the order of their frees.
fn every_cell_is_aligned<T: Value, M: PoolMemory>(pool: &Pool<'_, T, M>) {
    assert_eq!(
        (align_of::<T>(), T::BYTES <= size_of::<T>()),
        (T::ALIGN, true)
    );
    for _ in 0..2 {
        let mut cells: Vec<_> = (0..pool.capacity()).map(|_| pool.alloc_uninit()).collect();
        assert!(pool.try_alloc_uninit().is_err());
        for (number, cell) in cells.iter_mut().enumerate() {
            assert_eq!(cell.as_ptr().addr() % T::ALIGN, 0, "cell {number}");
            mark(cell, number);
        }
        for (number, cell) in cells.iter().enumerate() {
            assert!(is_marked(cell, number), "cell {number} is overwritten");
        }
        let mut addresses: Vec<_> = cells.iter().map(|cell| cell.as_ptr().addr()).collect();
        addresses.sort_unstable();
        let apart = size_of::<T>().max(1);
        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= apart));
        // Each box finds its pool.
        drop(cells);
        assert!(pool.is_empty());
    }
}

fn in_each_pool<T: Value>() {
    // Into a third segment; of small cells an interpreter alone has so few in one.
    let bytes = size_of::<T>().max(if cfg!(miri) { 1 } else { 64 });
    let capacity = 2 * more_than_a_segment(bytes);
    every_cell_is_aligned(&Pool::<T>::with_capacity(capacity));
    every_cell_is_aligned(&Pool::<T>::builder().capacity(capacity).lazy().build());
    let mut storage = PoolStorage::<T, 5>::new();
    every_cell_is_aligned(&Pool::in_storage(&mut storage));
}

macro_rules! sizes {
    ($($test:ident $name:ident;)*) => {$(
        #[test]
        fn $test() {
            in_each_pool::<$name<24>>();
            if amount(true, false) {
                in_each_pool::<$name<65536>>();
                in_each_pool::<$name<63>>();
                in_each_pool::<$name<4096>>();
            }
            // An interpreter has no time for all.
            if !cfg!(miri) {
                in_each_pool::<$name<0>>();
                in_each_pool::<$name<3>>();
                in_each_pool::<$name<8>>();
                in_each_pool::<$name<65>>();
                in_each_pool::<$name<1>>();
                in_each_pool::<$name<2>>();
                in_each_pool::<$name<7>>();
                in_each_pool::<$name<12>>();
                in_each_pool::<$name<64>>();
            }
        }
    )*};
}

sizes! {
    every_cell_of_bytes_is_had_and_whole Packed;
    every_cell_is_aligned_to_a_word Word;
    every_cell_is_aligned_to_16 Half;
    every_cell_is_aligned_to_a_line Line;
    every_cell_is_aligned_to_a_page Page;
}

#[test]
fn a_value_of_a_line_takes_one_line_and_nothing_more() {
    with_each_pool!(30, |pool: CacheAligned<[u64; 8]>| {
        let boxes: Vec<_> = (0..30)
            .map(|number| pool.alloc(CacheAligned([number; 8])))
            .collect();
        let lines: Vec<_> = boxes
            .iter()
            .map(|boxed| (&raw const **boxed).addr())
            .collect();
        assert!(lines.iter().all(|line| line % 64 == 0));
        let adjacent = lines.windows(2).filter(|pair| pair[1] - pair[0] == 64);
        // All but where a segment ends.
        assert!(adjacent.count() >= if cfg!(miri) { 27 } else { 29 });
    });
}

#[test]
fn boxes_are_as_large_as_documented() {
    const WORD: usize = size_of::<usize>();
    fn sizes<T>() {
        assert_eq!(size_of::<PoolBox<'_, T>>(), WORD);
        assert_eq!(size_of::<Option<PoolBox<'_, T>>>(), WORD);
        assert_eq!(size_of::<StorageBox<'_, T>>(), 2 * WORD);
        assert_eq!(size_of::<Option<StorageBox<'_, T>>>(), 2 * WORD);
        assert_eq!(size_of::<RecycledBox<'_, T>>(), 2 * WORD);
    }
    sizes::<()>();
    sizes::<u8>();
    sizes::<[u64; 100]>();
    // The room for the values, one for the flag, and the place of the pool.
    let storage = size_of::<PoolStorage<[u64; 8], 100>>();
    assert!(
        (100 * 64..100 * 64 + 32 * WORD).contains(&storage),
        "{storage}"
    );
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn values_without_a_size_are_counted_and_have_distinct_addresses() {
    with_each_pool!(40, |pool: ()| {
        let boxes: Vec<_> = (0..40).map(|_| pool.alloc(())).collect();
        assert!(pool.is_full() && pool.try_alloc(()).is_err());
        let mut addresses: Vec<_> = boxes.iter().map(|b| (&raw const **b).addr()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 40);
        drop(boxes);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}

fn capacity_is_exact<T, M: PoolMemory>(pool: &Pool<'_, T, M>, capacity: usize) {
    assert_eq!(pool.capacity(), capacity);
    assert_eq!(pool.is_full(), capacity == 0);
    pool.prepare(pool.capacity()).unwrap();
    for _ in 0..if cfg!(miri) { 1 } else { 2 } {
        assert_all_usable_but(pool, 0);
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn a_pool_has_just_the_cells_that_were_asked_for() {
    fn run<T>() {
        let enough = more_than_a_segment(size_of::<T>().max(8));
        let (per_segment, _) = first_segment(&Pool::<T>::with_capacity(enough));
        let edges = [per_segment, 2 * per_segment];
        let around = edges.iter().flat_map(|&edge| [edge - 1, edge, edge + 1]);
        for capacity in [0, 1].into_iter().chain(around) {
            let builder = Pool::<T>::builder().capacity(capacity);
            let mut pools = [builder.clone().build(), builder.clone().lazy().build()];
            for pool in &mut pools {
                capacity_is_exact(pool, capacity);
                pool.reset();
                capacity_is_exact(pool, capacity);
            }
        }
    }
    run::<[u64; 8]>();
    if !cfg!(miri) {
        run::<[u16; 9]>();
    }
    capacity_is_exact(&Pool::in_storage(&mut PoolStorage::<[u64; 8], 0>::new()), 0);
    capacity_is_exact(&Pool::in_storage(&mut PoolStorage::<u8, 1>::new()), 1);
    capacity_is_exact(&Pool::in_storage(&mut PoolStorage::<u8, 17>::new()), 17);
}

/// A segment more takes its header and no other memory than that of its cells.
#[test]
fn the_last_segment_is_as_long_as_needed() {
    type Order = [u64; 8];
    let enough = more_than_a_segment(64);
    let (per_segment, apart) = first_segment(&Pool::<Order>::with_capacity(enough));
    let bytes = |capacity| Pool::<Order>::with_capacity(capacity).memory().bytes();
    let entry = size_of::<usize>();
    assert_eq!(
        bytes(per_segment) - bytes(1),
        (per_segment - 1) * (64 + entry)
    );
    assert_eq!(bytes(per_segment + 1) - bytes(per_segment), apart + entry);
}

/// Also of a type that has no alignment of its own.
#[test]
fn a_cell_of_a_line_lies_on_one_line() {
    let pool = Pool::<[u64; 8]>::with_capacity(more_than_a_segment(64));
    let boxes: Vec<_> = std::iter::from_fn(|| pool.try_alloc_uninit().ok()).collect();
    assert!(boxes.iter().all(|boxed| boxed.as_ptr().addr() % 64 == 0));
}

#[test]
fn a_capacity_past_the_limits_is_an_error() {
    fn refused<T>(capacity: usize, slot_bytes: usize) {
        let error = AllocError::TooManyBytes {
            slots: capacity,
            slot_bytes,
        };
        assert_eq!(Pool::<T>::try_with_capacity(capacity).err(), Some(error));
        for builder in [Pool::<T>::builder(), Pool::<T>::builder().lazy()] {
            let builder = builder.capacity(capacity);
            let refused = Some(BuildError::Memory(error));
            assert_eq!(builder.clone().try_build().err(), refused);
            assert_eq!(builder.recycle().try_build().err(), refused);
        }
    }
    for capacity in [usize::MAX, usize::MAX - 1, isize::MAX as usize] {
        refused::<[u64; 8]>(capacity, 64);
        refused::<u64>(capacity, 8);
        refused::<[u8; 3]>(capacity, 3);
        refused::<()>(capacity, 1);
        refused::<u8>(capacity, 1);
    }
    refused::<u64>(isize::MAX as usize / 8 + 1, 8);
    // Free lists for so many there may be memory for.
    refused::<[u8; 65536]>(isize::MAX as usize / 65536, 65536);
}

/// Cells of which not eight can be laid out, nor one.
#[test]
#[cfg(target_pointer_width = "32")]
fn a_cell_as_large_as_the_address_space_is_an_error() {
    type Huge = [u8; isize::MAX as usize];
    for capacity in [1, 2, usize::MAX] {
        assert!(Pool::<Huge>::try_with_capacity(capacity).is_err());
    }
    assert_eq!(Pool::<Huge>::with_capacity(0).capacity(), 0);
}

/// As in RUSTSEC-2026-0007: 32 bits are not enough for the number.
#[test]
#[cfg(target_pointer_width = "64")]
#[cfg_attr(miri, ignore = "takes gigabytes of an interpreter")]
fn a_capacity_past_32_bits_is_not_cut_off() {
    const CAPACITY: usize = (1 << 32) + 4;
    let out_of_memory = |error: BuildError| {
        let least = CAPACITY;
        matches!(error, BuildError::Memory(AllocError::OutOfMemory { bytes }) if bytes >= least)
    };
    // Whether it is had depends on the system, which provides pages as they are used.
    let builder = Pool::<u8>::builder().capacity(CAPACITY).lazy();
    match builder.try_build() {
        Ok(pool) => {
            assert_eq!(pool.capacity(), CAPACITY);
            assert_eq!(*pool.alloc(7), 7);
        }
        Err(error) => assert!(out_of_memory(error)),
    }
    // 256 tebibytes, more than there are addresses.
    let error = Pool::<[u8; 65536]>::try_with_capacity(CAPACITY).unwrap_err();
    assert!(out_of_memory(error.into()));
}
