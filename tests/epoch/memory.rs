//! What the system says of memory that was given back: Linux, pages of the system's.

use std::fs;

use flatslab::epoch::{EpochBytes, EpochSlab};
use flatslab::memory::{HugePages, Lock, Pages};

use crate::child::in_child;

fn resident_bytes(page: usize) -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * page
}

/// The system's page.
fn page() -> usize {
    // SAFETY: only reads a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(page).unwrap()
}

#[test]
fn memory_that_is_returned_is_not_resident() {
    const COUNT: usize = 100_000;

    in_child("memory::memory_that_is_returned_is_not_resident", || {
        let slab = EpochSlab::<[u8; 128]>::builder()
            .pages(Pages::system())
            .build();
        let mut keys = Vec::with_capacity(COUNT);
        keys.extend((0..COUNT).map(|number| slab.insert([number as u8; 128])));
        let before = resident_bytes(page());
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(slab.take(*key), Some([number as u8; 128]));
        }
        let (_, report) = slab.advance_and_close();
        assert_eq!((report.pinned, report.recycled), (0, COUNT.div_ceil(64)));
        let released = report.released_bytes + slab.shrink_to_fit();
        assert!(released >= COUNT * 128);
        let after = resident_bytes(page());
        let fell = before.saturating_sub(after);
        assert!(fell * 100 >= released * 95, "{fell} of {released}");
        assert_eq!(slab.stats().committed_bytes, 0);
        // It comes back, for other values.
        for (number, key) in keys.iter_mut().enumerate() {
            assert!(slab.get(*key).is_none());
            *key = slab.insert([!number as u8; 128]);
        }
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(*slab.get(*key).unwrap(), [!number as u8; 128]);
        }
        assert!(resident_bytes(page()) >= after + COUNT * 128);
    });
}

/// A record of its own, between cells that begin at pages, took all of each page that it reached
/// into: one of 4,200 bytes two pages.
#[test]
fn records_take_little_more_than_they_say() {
    const CHUNKS: usize = 200;
    for capacity in [64, 256, 500, 512, 1024] {
        let slab = EpochSlab::<u64>::builder()
            .chunk_capacity(capacity)
            .pages(Pages::system())
            .build();
        let resident = || slab.memory().resident_bytes().unwrap();
        let (before, records) = (resident(), slab.stats().record_bytes);
        let keys: Vec<_> = (0..CHUNKS * capacity)
            .map(|it| slab.insert(it as u64))
            .collect();
        let stats = slab.stats();
        let besides = resident() - before - stats.committed_bytes;
        let said = stats.record_bytes - records;
        assert!(said >= CHUNKS * capacity * 8);
        assert!(
            besides <= said + said / 4 + 2 * page(),
            "{capacity}: {besides} of {said}"
        );
        drop(keys);
    }
}

#[test]
fn chunks_are_whole_pages() {
    let slab = EpochSlab::<u64>::builder()
        .chunk_capacity(3)
        .pages(Pages::system())
        .build();
    slab.insert(7);
    assert_eq!(slab.stats().committed_bytes, page());
    let bytes = EpochBytes::builder()
        .chunk_bytes(100)
        .pages(Pages::system())
        .build();
    bytes.alloc(64).fill(1);
    bytes.alloc(page() + 1).fill(2);
    assert_eq!(bytes.stats().committed_bytes, 3 * page());
}

#[test]
fn a_chunk_whose_pages_went_back_serves_again() {
    let builder = EpochSlab::<[u64; 512]>::builder()
        .chunk_capacity(2)
        .epochs(1);
    let slab = builder.cached_chunks(0).pages(Pages::system()).build();
    let mut records = None;
    for round in 0..20 {
        let keys: Vec<_> = (0..10)
            .map(|number| slab.insert([number + round; 512]))
            .collect();
        let (_, report) = slab.advance_and_close();
        assert_eq!(
            (report.pinned, report.live, report.released_bytes),
            (5, 10, 0)
        );
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(slab.take(*key), Some([number as u64 + round; 512]));
        }
        let stats = slab.stats();
        assert_eq!((stats.committed_bytes, stats.chunks), (0, 0));
        assert_eq!(
            stats.record_bytes,
            *records.get_or_insert(stats.record_bytes)
        );
    }
}

#[test]
fn buffers_are_zeroed_in_pages_that_were_used() {
    let bytes = EpochBytes::builder().pages(Pages::system()).build();
    for cached in [32, 0, 32] {
        let keys: Vec<_> = (0..100)
            .map(|number| {
                let mut buf = bytes.alloc(number * 5);
                assert!(buf.iter().all(|byte| *byte == 0));
                buf.fill(0xff);
                buf.key()
            })
            .collect();
        assert!(keys.iter().all(|key| bytes.remove(*key)));
        bytes.advance_and_close();
        bytes.set_cached_chunks(cached);
    }
}

#[test]
fn values_without_a_size_have_no_pages() {
    let slab = EpochSlab::<()>::builder()
        .chunk_capacity(2)
        .pages(Pages::system())
        .build();
    for cached in [0, 32] {
        let keys = [(); 5].map(|()| slab.insert(()));
        assert_eq!(slab.stats().committed_bytes, 0);
        assert!(keys.iter().all(|key| slab.take(*key).is_some()));
        slab.advance_and_close();
        assert_eq!(slab.set_cached_chunks(cached), 0);
    }
}

#[test]
fn locked_pages_stay() {
    let builder = EpochSlab::<[u8; 128]>::builder().chunk_capacity(32);
    let slab = match builder.pages(Pages::new().lock(Lock::Require)).try_build() {
        Ok(slab) => slab,
        // Where the limit of this process allows no locked page.
        Err(error) => return assert!(error.to_string().contains("lock"), "{error}"),
    };
    let inserted: Option<Vec<_>> = (0..64).map(|it| slab.try_insert([it; 128]).ok()).collect();
    let Some(keys) = inserted else {
        return assert_eq!(slab.stats().live % 32, 0, "a chunk was refused");
    };
    slab.clear_epoch(slab.current());
    let before = slab.stats();
    assert_eq!(slab.shrink_to_fit(), 0);
    assert_eq!(slab.stats(), before);
    assert!(keys.iter().all(|key| !slab.contains_key(*key)));
    assert_eq!(
        slab.insert([7; 128]),
        slab.keys_in(slab.current()).next().unwrap()
    );
}

#[test]
fn transparent_huge_pages_come_and_go() {
    let pages = Pages::new().huge(HugePages::Transparent);
    let slab = EpochSlab::<[u8; 4096]>::builder()
        .chunk_capacity(512)
        .pages(pages)
        .build();
    for round in 0..3_u8 {
        let keys: Vec<_> = (0..1024).map(|_| slab.insert([round; 4096])).collect();
        assert!(
            keys.iter()
                .all(|key| slab.get(*key).unwrap()[4095] == round)
        );
        assert_eq!(slab.clear_epoch(slab.current()), 1024);
        assert_eq!(slab.shrink_to_fit(), 1024 * 4096);
        assert_eq!(slab.shrink_to_fit(), 0);
    }
}
