//! Pages for maps and vectors, and allocators for the slabs.

use std::alloc::Layout;
use std::collections::HashMap as StdMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;

use allocator_api2::alloc::{Allocator, Global};
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec as PageVec;
use flatslab::memory::{FromAllocator, PageAllocator, Pages};
use flatslab::{BoundedSlab, KeySlab, Slab};
use hashbrown::{DefaultHashBuilder, HashMap};

use crate::common::random::{random, seed};
use crate::common::{Audit, wide};
use crate::source::Counted;

fn kinds() -> Vec<Pages> {
    vec![
        Pages::new(),
        Counted::new().pages(),
        #[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
        Pages::system(),
        #[cfg(all(feature = "os-memory", target_os = "linux", not(miri)))]
        Pages::new().huge(flatslab::memory::HugePages::Try),
    ]
}

#[test]
fn a_map_and_vectors_in_pages_do_as_those_of_std() {
    for (number, pages) in kinds().into_iter().enumerate() {
        seed(number as u64 + 1);
        let pages = PageAllocator::try_new(pages).unwrap();
        let hasher = DefaultHashBuilder::default();
        let mut map: HashMap<u64, PageVec<u64, PageAllocator>, _, _> =
            HashMap::with_hasher_in(hasher, pages.clone());
        let mut model: StdMap<u64, Vec<u64>> = StdMap::new();
        for _ in 0..if cfg!(miri) { 20 } else { 30_000 } {
            let key = random(500);
            match random(10) {
                0..2 => assert_eq!(
                    map.remove(&key).map(|found| found.to_vec()),
                    model.remove(&key)
                ),
                2 => {
                    map.shrink_to_fit();
                    if let Some(vector) = map.get_mut(&key) {
                        vector.shrink_to_fit();
                    }
                }
                3 => {
                    let empty = || PageVec::new_in(pages.clone());
                    map.entry(key).or_insert_with(empty).truncate(3);
                    model.entry(key).or_default().truncate(3);
                }
                _ => {
                    let empty = || PageVec::with_capacity_in(2, pages.clone());
                    let more = (0..random(20)).map(|_| random(1 << 40));
                    let more: Vec<_> = more.collect();
                    map.entry(key)
                        .or_insert_with(empty)
                        .extend(more.iter().copied());
                    model.entry(key).or_default().extend(more);
                }
            }
            assert_eq!(map.len(), model.len());
        }
        for (key, vector) in &map {
            assert_eq!(vector.as_slice(), model[key]);
        }
        assert!(pages.memory().bytes() > 0);
        // Clones go in any order; the last is in the map.
        let other = pages.clone();
        drop(pages);
        drop(map);
        assert_eq!(other.memory().bytes(), 0);
    }
}

#[test]
fn layouts_at_the_limits() {
    for pages in kinds() {
        let pages = PageAllocator::try_new(pages).unwrap();
        for (size, align) in [
            (0, 1),
            (0, 1 << 24),
            (1, 1),
            (1, 64),
            (100, 4096),
            (64 << 10, 64 << 10),
            // Larger than a huge page.
            (1, 8 << 20),
            ((3 << 20) + 1, 4 << 20),
        ] {
            let layout = Layout::from_size_align(size, align).unwrap();
            let blocks: [_; 3] = std::array::from_fn(|_| pages.allocate_zeroed(layout).unwrap());
            for (number, block) in blocks.iter().enumerate() {
                assert_eq!(block.len(), size);
                assert_eq!(block.cast::<u8>().addr().get() % align, 0);
                // SAFETY: allocated with that size, and zeroed.
                unsafe {
                    let bytes = block.cast::<u8>();
                    assert!(size == 0 || bytes.add(size - 1).read() == 0);
                    bytes.write_bytes(number as u8 + 1, size);
                }
            }
            let mut starts: Vec<NonNull<u8>> = blocks.iter().map(|block| block.cast()).collect();
            for (number, &start) in starts.iter().enumerate() {
                // SAFETY: as above.
                let same = |at| unsafe { start.add(at).read() } == number as u8 + 1;
                assert!(size == 0 || (same(0) && same(size - 1)));
            }
            starts.swap(0, 1);
            for start in starts {
                // SAFETY: allocated with this layout, and freed once.
                unsafe { pages.deallocate(start, layout) };
            }
            assert_eq!(pages.memory().bytes(), 0);
        }
        // More than there is; a process of 32 bits may have two gigabytes.
        #[cfg(all(target_pointer_width = "64", not(miri)))]
        for size in [isize::MAX as usize - 63, isize::MAX as usize / 2] {
            let layout = Layout::from_size_align(size, 1).unwrap();
            assert!(pages.allocate(layout).is_err());
        }
        assert_eq!(pages.memory().bytes(), 0);
    }
}

#[test]
fn threads_share_pages() {
    let (threads, steps) = if cfg!(miri) { (2, 20) } else { (4, 3_000) };
    for pages in kinds() {
        let pages = PageAllocator::try_new(pages).unwrap();
        let handles: Vec<_> = (0..threads)
            .map(|number| {
                let pages = pages.clone();
                thread::spawn(move || {
                    seed(number + 1);
                    let mut vectors: Vec<PageVec<u64, PageAllocator>> = Vec::new();
                    for step in 0..steps {
                        if random(3) == 0 && !vectors.is_empty() {
                            let at = random(vectors.len() as u64) as usize;
                            let vector = vectors.swap_remove(at);
                            let first = vector[0];
                            assert!(vector.iter().all(|&value| value == first));
                        } else {
                            let mut vector = PageVec::new_in(pages.clone());
                            vector.resize(random(300) as usize + 1, number << 32 | step);
                            vectors.push(vector);
                        }
                        if step % 500 == 0 {
                            // While the others allocate.
                            assert!(pages.memory().shortfalls().count() < 5);
                        }
                    }
                    vectors
                })
            })
            .collect();
        let vectors: Vec<_> = handles.into_iter().map(|it| it.join().unwrap()).collect();
        drop(pages.clone());
        assert!(pages.memory().bytes() > 0);
        let last = pages.clone();
        drop(pages);
        drop(vectors);
        assert_eq!(last.memory().bytes(), 0);
    }
}

#[test]
fn slabs_of_several_kinds_live_in_the_same_pages() {
    for pages in kinds() {
        let shared = PageAllocator::try_new(pages).unwrap();
        let pages = Pages::from_source(Arc::new(FromAllocator(shared.clone())));
        let slab = Slab::builder()
            .chunk_capacity(1)
            .pages(pages.clone())
            .build();
        let lazy = BoundedSlab::builder()
            .capacity(50)
            .lazy()
            .pages(pages.clone())
            .build();
        let mut plain = KeySlab::builder().pages(pages.clone()).build();
        let mut slots = Vec::new();
        for number in 0..50 {
            slots.push(slab.insert(wide(number)));
            slots.push(lazy.insert(wide(number)).unwrap());
            plain.insert(number);
        }
        let clone = plain.clone();
        let moved = thread::spawn(move || plain.into_iter().map(|(_, value)| value).sum::<u64>());
        assert_eq!(moved.join().unwrap(), 49 * 50 / 2);
        slab.audit();
        lazy.audit();
        assert_eq!(clone.len(), 50);
        drop((slab, lazy, pages, clone));
        assert!(shared.memory().bytes() > 0, "the handles have it");
        drop(slots);
        assert_eq!(shared.memory().bytes(), 0);
    }
    let global = Pages::from_source(Arc::new(FromAllocator(Global)));
    let slab = Slab::<u64>::builder().pages(global).build();
    assert_eq!(slab.remove_by_key(slab.insert_key(7)), 7);
}

/// In a build with assertions the last clone panicked: safe code may leak a block.
#[test]
#[cfg_attr(miri, ignore = "leaks")]
fn a_block_that_was_leaked_outlives_its_allocator() {
    for pages in kinds() {
        let pages = PageAllocator::try_new(pages).unwrap();
        let (value, allocator) = Box::into_raw_with_allocator(Box::new_in(7_u64, pages));
        drop(allocator);
        let _ = value;
    }
}
