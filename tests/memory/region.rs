//! Containers in one block of memory.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;

use flatslab::bytes::ByteArena;
use flatslab::memory::{MemorySource, Pages, Region};
use flatslab::{BoundedSlab, KeySlab, Slab};

fn region(bytes: usize) -> Arc<Region> {
    Arc::new(Region::try_new(bytes, Pages::new()).unwrap())
}

#[test]
fn a_region_is_aligned_as_its_length_is() {
    for bytes in [1, 4096, 5000, 8192, 100_000, 3 << 20] {
        let region = region(bytes);
        let alignment = bytes.next_power_of_two().clamp(4096, 2 << 20);
        assert_eq!(region.start().addr().get() % alignment, 0, "{bytes}");
        let text = format!("{region:?}");
        assert!(
            text.contains(&format!("len: {bytes}, free_bytes: {bytes}")),
            "{text}"
        );
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn containers_lie_in_the_region_and_give_their_memory_back() {
    let region = region(1 << 20);
    let inside = |address: *const u8, bytes: usize| {
        let offset = region.offset_of(address).unwrap();
        assert!(offset + bytes <= region.len());
    };
    {
        let slab = BoundedSlab::builder().capacity(100);
        let slab = slab.pages(region.pages()).build();
        let growing = Slab::builder().chunk_capacity(64).pages(region.pages());
        let growing = growing.build();
        let mut keyed = KeySlab::builder().pages(region.pages()).build();
        let arena = ByteArena::builder().chunk_bytes(16 << 10).largest(4096);
        let arena = arena.pages(region.pages()).build();
        let slot = slab.insert([7_u64; 8]).unwrap();
        inside((&raw const *slot.get()).cast(), 64);
        for number in 0..300_u32 {
            growing.insert_key(number);
            let key = keyed.insert(number);
            inside((&raw const keyed[key]).cast(), 4);
        }
        let buf = arena.copy(&[1; 1500]);
        inside(buf.as_ptr(), 1500);
        assert!(region.free_bytes() < region.len());
        drop(slot);
    }
    assert_eq!(region.free_bytes(), region.len());
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn what_does_not_fit_is_refused_and_leaves_the_rest() {
    let region = region(64 << 10);
    let small = BoundedSlab::<u64>::builder().capacity(100);
    let small = small.pages(region.pages()).build();
    let before = region.free_bytes();
    let large = BoundedSlab::<u64>::builder().capacity(10_000);
    assert!(large.pages(region.pages()).try_build().is_err());
    assert_eq!(region.free_bytes(), before);
    // A slab that grows fills the rest, and refuses then.
    let growing = Slab::builder().chunk_capacity(64).pages(region.pages());
    let growing = growing.build();
    let mut keys = Vec::new();
    while let Ok(key) = growing.try_insert_key([keys.len() as u64; 4]) {
        keys.push(key);
    }
    assert!(keys.len() > 500, "{}", keys.len());
    assert!(
        keys.iter()
            .zip(0..)
            .all(|(&key, n)| *growing.get(key).unwrap() == [n; 4])
    );
    assert_eq!(small.len(), 0);
}

#[test]
fn a_handle_keeps_the_region() {
    let region = region(64 << 10);
    let slab = BoundedSlab::builder().capacity(10).pages(region.pages());
    let slab = slab.build();
    let slot = slab.insert(String::from("kept")).unwrap();
    let boxed = slot.into_box();
    let weak = Arc::downgrade(&region);
    drop((slab, region));
    assert_eq!(*boxed, "kept");
    assert!(weak.upgrade().is_some());
    drop(boxed);
    assert!(weak.upgrade().is_none());
}

#[test]
fn an_address_outside_has_no_offset() {
    let region = region(8192);
    let start = region.start().as_ptr();
    assert_eq!(region.offset_of(start), Some(0));
    assert_eq!(region.offset_of(start.wrapping_add(8191)), Some(8191));
    assert_eq!(region.offset_of(start.wrapping_add(8192)), None);
    assert_eq!(region.offset_of(start.wrapping_sub(1)), None);
    assert_eq!(region.offset_of(core::ptr::null::<u8>()), None);
}

#[test]
fn a_region_of_no_bytes_refuses_everything() {
    let region = region(0);
    assert!(region.is_empty() && region.free_bytes() == 0);
    assert!(
        BoundedSlab::<u64>::builder()
            .capacity(1)
            .pages(region.pages())
            .try_build()
            .is_err()
    );
    assert_eq!(region.offset_of(region.start().as_ptr()), None);
    assert!(Region::try_new(isize::MAX as usize, Pages::new()).is_err());
}

/// A container never asks for no bytes, but the method is public. Released as a part of no bytes,
/// they would keep their neighbours apart.
#[test]
fn no_bytes_are_refused_and_leave_no_part() {
    let region = region(4096);
    let none = Layout::from_size_align(0, 1).unwrap();
    let some = Layout::from_size_align(16, 1).unwrap();
    let all = Layout::from_size_align(4096, 1).unwrap();
    assert!(region.allocate(none).is_err());
    let start = region.allocate(some).unwrap();
    assert!(region.allocate(none).is_err());
    // SAFETY: from `allocate` with this layout, and not used any more.
    unsafe { region.release(start, some) };
    let start = region.allocate(all).unwrap();
    // SAFETY: as above.
    unsafe { region.release(start, all) };
}

/// Random allocations against a map of which bytes are taken.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn blocks_do_not_overlap_are_aligned_and_join_when_they_are_free() {
    let region = region(32 << 10);
    let base = region.start().addr().get();
    let mut taken: Vec<(NonNull<u8>, Layout)> = Vec::new();
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (random >> 33) % below
    };
    let (mut refused, mut most) = (0, 0);
    for step in 0..if cfg!(miri) { 300 } else { 20_000 } {
        if next(5) < 3 {
            let layout = Layout::from_size_align(1 + next(2500) as usize, 1 << next(10)).unwrap();
            match region.allocate(layout) {
                Ok(start) => {
                    assert_eq!(start.addr().get() % layout.align(), 0);
                    // SAFETY: allocated with that size.
                    unsafe { start.write_bytes(step as u8, layout.size()) };
                    taken.push((start, layout));
                }
                Err(_) => refused += 1,
            }
        } else if !taken.is_empty() {
            let at = next(taken.len() as u64) as usize;
            let (start, layout) = taken.swap_remove(at);
            // SAFETY: allocated with that size, and written.
            let (first, last) = unsafe { (start.read(), start.add(layout.size() - 1).read()) };
            assert_eq!(first, last, "another block was written over this one");
            // SAFETY: from `allocate` with this layout, and not used any more.
            unsafe { region.release(start, layout) };
        }
        let bytes: usize = taken.iter().map(|(_, layout)| layout.size()).sum();
        assert_eq!(region.free_bytes(), region.len() - bytes);
        most = most.max(taken.len());
        let mut parts: Vec<_> = (taken.iter())
            .map(|(start, layout)| (start.addr().get() - base, layout.size()))
            .collect();
        parts.sort_unstable();
        assert!(parts.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0));
    }
    assert!(most > 10 && (refused > 0 || cfg!(miri)));
    for (start, layout) in taken {
        // SAFETY: from `allocate` with this layout, and not used any more.
        unsafe { region.release(start, layout) };
    }
    // All parts have joined: the whole block fits again.
    let whole = Layout::from_size_align(region.len(), 1).unwrap();
    let start = region.allocate(whole).unwrap();
    assert_eq!((start, region.free_bytes()), (region.start(), 0));
    // SAFETY: as above.
    unsafe { region.release(start, whole) };
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn threads_take_and_release_at_once() {
    let region = region(256 << 10);
    thread::scope(|scope| {
        for thread in 0..3_u64 {
            let region = &region;
            scope.spawn(move || {
                for round in 0..if cfg!(miri) { 3 } else { 200 } {
                    let slab = BoundedSlab::builder().capacity(20).pages(region.pages());
                    let slab = slab.try_build().unwrap();
                    let keys: Vec<_> = (0..20)
                        .map(|n| slab.insert_key([thread, n, round]).unwrap())
                        .collect();
                    for (key, n) in keys.into_iter().zip(0..) {
                        assert_eq!(slab.remove_by_key(key), [thread, n, round]);
                    }
                }
            });
        }
    });
    assert_eq!(region.free_bytes(), region.len());
}
