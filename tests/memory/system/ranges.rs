//! Ranges of addresses that slabs grow in: how many there are, what is refused, and what moves.

use flatslab::{GenKey, Key, KeySlab};

use super::child::{address_space, fewest_faults, in_child, mappings};

/// Larger than any block that is not a range.
const MANY: usize = 300_000;

/// A value of a page.
type Page = [u64; 512];

fn built<T>(reserve: usize) -> KeySlab<T> {
    KeySlab::builder().grow_in_place().reserve(reserve).build()
}

fn is_in_range<T>(slab: &KeySlab<T>) -> bool {
    slab.memory().range_bytes().is_some()
}

#[test]
fn a_process_has_so_many_ranges() {
    in_child("system::ranges::a_process_has_so_many_ranges", || {
        let before = mappings();
        let mut slabs: Vec<_> = (0..1024).map(|_| built::<u64>(MANY)).collect();
        assert!(slabs.iter().all(is_in_range));
        assert!(mappings() - before <= 4 * 1024 + 2);
        let mut blocks = built::<u64>(MANY);
        assert!(!is_in_range(&blocks));
        let keys: Vec<_> = (0..2 * MANY as u64).map(|n| blocks.insert(n)).collect();
        assert!(!is_in_range(&blocks) && blocks[keys[MANY]] == MANY as u64);
        let memory = slabs[0].memory().to_string();
        assert!(memory.contains("one of 1024 (at most 1024)"), "{memory}");
        slabs.pop();
        // It grows, and there is a range now.
        blocks.reserve(2 * MANY);
        assert!(is_in_range(&blocks) && blocks[keys[MANY]] == MANY as u64);
        drop((slabs, blocks));
        assert!(mappings() <= before + 4, "{} of {before}", mappings());
    });
}

#[test]
fn a_refused_range_is_a_block_and_a_refused_opening_an_error() {
    in_child(
        "system::ranges::a_refused_range_is_a_block_and_a_refused_opening_an_error",
        || {
            let limit = |resource, bytes| {
                let limit = libc::rlimit {
                    rlim_cur: bytes,
                    rlim_max: libc::RLIM_INFINITY,
                };
                // SAFETY: a limit to read.
                assert_eq!(unsafe { libc::setrlimit(resource, &raw const limit) }, 0);
            };
            // Enough for a range, which other memory would not have then.
            limit(libc::RLIMIT_AS, (address_space() + (8 << 30)) as u64);
            let mut block = built::<u64>(MANY);
            assert!(!is_in_range(&block));
            block.insert(7);
            limit(libc::RLIMIT_AS, libc::RLIM_INFINITY);

            let mut slab = built::<Page>(1000);
            let key = slab.insert([7; 512]);
            assert!(is_in_range(&slab));
            limit(libc::RLIMIT_DATA, 64 << 20);
            let mut values = 1;
            let refused = loop {
                match slab.try_insert([values; 512]) {
                    Ok(_) => values += 1,
                    Err(refused) => break refused,
                }
            };
            limit(libc::RLIMIT_DATA, libc::RLIM_INFINITY);
            // Neither copied elsewhere nor lost.
            assert!(is_in_range(&slab) && values > 1000);
            assert_eq!(
                (refused.into_inner()[0], slab.len() as u64),
                (values, values)
            );
            assert_eq!((slab[key][0], slab.try_insert([1; 512]).is_ok()), (7, true));
        },
    );
}

/// More than there are addresses for.
#[test]
fn a_refused_reserve_keeps_no_addresses() {
    in_child(
        "system::ranges::a_refused_reserve_keeps_no_addresses",
        || {
            let mut slab = built::<[u8; 1 << 20]>(0);
            let before = (mappings(), address_space());
            for slots in [1 << 26, 1 << 27, 1 << 29] {
                assert!(slab.try_reserve(slots).is_err());
            }
            assert_eq!((mappings(), address_space()), before);
            let memory = built::<u64>(MANY).memory().to_string();
            assert!(memory.contains("one of 1 "), "{memory}");
        },
    );
}

/// Fills a range, so that the values move to a larger one; `meddle` is told where they are.
fn moved(meddle: impl FnOnce(*const Page)) {
    let mut slab = KeySlab::<Page, GenKey>::builder_with_key()
        .grow_in_place()
        .build();
    let keys: Vec<_> = (0..4000).map(|n| slab.insert([n; 512])).collect();
    for key in &keys[..100] {
        slab.remove(*key);
    }
    let (next, range) = (slab.vacant_key(), slab.memory().range_bytes().unwrap());
    let place = &raw const slab[keys[100]];
    meddle(place);
    let before = mappings();
    slab.reserve(range / size_of::<Page>());
    assert!(slab.memory().range_bytes().unwrap() > range);
    assert!(!core::ptr::eq(place, &raw const slab[keys[100]]));
    assert!(mappings() <= before + 2, "{} of {before}", mappings());
    assert!((100..4000).all(|at| slab[keys[at]] == [at as u64; 512]));
    assert_eq!((slab.vacant_key(), slab.insert([1; 512])), (next, next));
    assert_eq!(slab.len(), 3901);
    // Once more: what was moved and what was opened beside it are two mappings.
    let range = slab.memory().range_bytes().unwrap();
    slab.reserve(range / size_of::<Page>());
    assert!(slab.memory().range_bytes().unwrap() > range);
    assert!((101..4000).all(|at| slab[keys[at]] == [at as u64; 512]));
    slab.clear();
    slab.shrink_to_fit();
    assert_eq!(slab.memory().range_bytes(), None);
}

#[test]
fn what_is_used_up_moves_to_a_larger_range() {
    in_child(
        "system::ranges::what_is_used_up_moves_to_a_larger_range",
        || {
            moved(|_| {});
            let before = (mappings(), address_space());
            moved(|_| {});
            assert_eq!((mappings(), address_space()), before);
        },
    );
}

/// The system moves one mapping, and not several; then the values are copied.
#[test]
fn what_is_in_several_mappings_moves_too() {
    in_child(
        "system::ranges::what_is_in_several_mappings_moves_too",
        || {
            moved(|_| {});
            let before = (mappings(), address_space());
            moved(|place| {
                let page = place.map_addr(|place| (place + (1 << 20)) & !4095);
                // SAFETY: a page of the slab, which stays as it is in this process.
                let split =
                    unsafe { libc::madvise(page.cast_mut().cast(), 4096, libc::MADV_DONTFORK) };
                assert_eq!(split, 0);
            });
            assert_eq!((mappings(), address_space()), before);
        },
    );
}

#[test]
fn what_is_prepared_does_not_fault() {
    let mut slab: KeySlab<u64> = built(0);
    let mut keys = vec![Key::NONE; 4 * MANY]; // its memory, too
    keys.clear();
    slab.insert_many(0..MANY as u64, &mut keys);
    assert!(is_in_range(&slab));
    slab.prepare(2 * MANY).unwrap();
    // Each round goes on where the one before ended.
    let found = fewest_faults(|| {
        for at in 0..MANY / 2 {
            keys.push(slab.insert(at as u64));
        }
    });
    assert_eq!(found, 0);
    let found = fewest_faults(|| {
        for _ in 0..MANY / 2 {
            slab.remove(keys.pop().unwrap());
        }
    });
    assert_eq!(found, 0);
}
