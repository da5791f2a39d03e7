//! What is mapped, resident and given back.

use flatslab::memory::{HugePages, Pages};
use flatslab::{BoundedSlab, Key, KeySlab, Slab};

use super::child::{ADDRESSES, in_child, mappings};

type Order = [u64; 8];

fn resident<T>(slab: &BoundedSlab<T>) -> usize {
    slab.memory().resident_bytes().unwrap()
}

#[test]
fn a_lazy_slab_is_resident_as_far_as_it_is_used() {
    let capacity = ADDRESSES / size_of::<Order>();
    let builder = BoundedSlab::<Order>::builder().capacity(capacity).lazy();
    let mut slab = builder.pages(Pages::system()).try_build().unwrap();
    assert_eq!(slab.capacity(), capacity);
    let report = slab.memory();
    // 72 bytes and an entry for each slot, of addresses alone.
    assert!(report.mapped_bytes().unwrap() < 1 << 22, "{report}");
    assert!(resident(&slab) < 1 << 20, "{report}");

    let slots: Vec<_> = (0..50_000).map(|n| slab.insert([n; 8]).unwrap()).collect();
    let used = resident(&slab);
    assert!((50_000 * 72..50_000 * 90).contains(&used), "{used}");
    assert!(slab.memory().bytes() >= 50_000 * 80);
    // The last slot in use keeps what lies before it.
    slab.shrink_to_fit();
    assert_eq!(resident(&slab) / (1 << 20), used / (1 << 20));

    let first = slots[7].key();
    let mut slots = slots;
    slots.truncate(100);
    slab.shrink_to_fit();
    let after = resident(&slab);
    assert!(after < 1 << 18, "{after}");
    assert_eq!(slab.get(first).unwrap()[3], 7);

    // It grows again.
    let keys: Vec<_> = (0..50_000)
        .map(|n| slab.insert_key([n; 8]).unwrap())
        .collect();
    assert!(
        keys.iter()
            .enumerate()
            .all(|(n, &key)| slab.get(key).unwrap()[5] == n as u64)
    );
    assert!(resident(&slab) >= used);
    drop(slots);
    slab.clear();
    slab.shrink_to_fit();
    assert!(resident(&slab) < 1 << 18);
    let bytes = slab.memory().bytes();
    assert!(bytes < 1 << 18, "{bytes} are committed");
}

#[test]
fn transparent_huge_pages_are_whole_or_a_shortfall() {
    let pages = Pages::new().huge(HugePages::Transparent);
    let slab = BoundedSlab::<Order>::builder()
        .capacity(100_000)
        .pages(pages)
        .build();
    let report = slab.memory();
    assert!(report.resident_bytes().unwrap() >= 100_000 * 80, "{report}");
    // The system may have none left: then it has said so, or given usual ones.
    if report.huge_bytes() > Some(0) {
        let page = report.page_size().unwrap();
        assert_eq!(report.huge_bytes().unwrap() % (2 << 20), 0);
        assert!(page.is_power_of_two());
    }
}

#[test]
fn chunks_of_a_growable_slab_share_mappings_and_come_back() {
    in_child(
        "system::pages::chunks_of_a_growable_slab_share_mappings_and_come_back",
        || {
            let attempt = || {
                let slab = Slab::<Order>::builder().pages(Pages::system()).build();
                let before = mappings();
                let keys: Vec<_> = (0..100_000).map(|n| slab.insert_key([n; 8])).collect();
                let added = mappings() - before;
                assert!(added < 40, "{added} mappings for {} chunks", slab.chunks());
                let full = slab.memory();
                for (number, key) in keys.into_iter().enumerate() {
                    assert_eq!(slab.remove_by_key(key)[0], number as u64);
                }
                slab.shrink_to_fit();
                let empty = slab.memory();
                assert_eq!(slab.chunks(), 0);
                // Header and table keep the mappings that they share with chunks, of
                // 2 MiB each.
                let resident = empty.resident_bytes().unwrap();
                assert!(resident <= 4 << 20, "{empty}");
                assert!(
                    full.resident_bytes().unwrap() > resident + (2 << 20),
                    "{full}"
                );
                assert!(empty.bytes() < 1 << 16, "{empty}");

                let mut plain = KeySlab::<Order>::builder().pages(Pages::system()).build();
                plain.extend((0..100_000).map(|n| (Key::from_raw(n), [u64::from(n); 8])));
                let clone = plain.clone();
                drop(plain);
                assert!(
                    clone
                        .iter()
                        .all(|(key, value)| value[7] == key.index() as u64)
                );
            };
            attempt();
            let before = mappings();
            attempt();
            assert_eq!(mappings(), before, "something is still mapped");
        },
    );
}
