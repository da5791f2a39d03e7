//! Which keys a slab hands out follows from the calls alone. They are part of what a version
//! promises: replay and a standby depend on them. `golden_keys.txt` has those of a script of all
//! operations; a change of it is a change of the major version.

use std::fmt::{Debug, Write};

use flatslab::key_slab::SlabKey;
use flatslab::{Builder, GenKey, Key, KeySlab};

/// A slab that writes down the keys it gives.
struct Noted<K: SlabKey> {
    slab: KeySlab<u32, K>,
    keys: Vec<K>,
    text: String,
}

impl<K: SlabKey + Copy + Debug> Noted<K> {
    fn insert(&mut self, count: usize, why: &str) {
        write!(self.text, "{why}:").unwrap();
        for _ in 0..count {
            let next = self.slab.vacant_key();
            let key = self.slab.insert(self.keys.len() as u32);
            assert_eq!(format!("{next:?}"), format!("{key:?}"));
            write!(self.text, " {key:?}").unwrap();
            self.keys.push(key);
        }
        self.text.push('\n');
    }

    fn remove(&mut self, choose: impl Fn(usize) -> bool) {
        for index in 0..self.keys.len() {
            if choose(index) {
                self.slab.try_remove(self.keys[index]);
            }
        }
    }
}

/// All operations that change which key is next.
fn script<K: SlabKey + Copy + Debug>(
    slab: KeySlab<u32, K>,
    at: impl Fn(usize, u32) -> K,
) -> String {
    let (keys, text) = (Vec::new(), String::new());
    let mut noted = Noted { slab, keys, text };
    noted.insert(6, "insert");
    noted.remove(|index| index % 2 == 1);
    noted.insert(5, "after remove");
    noted.slab.clear();
    noted.insert(4, "after clear");
    noted.slab.retain(|_, value| *value % 3 != 0);
    noted.insert(3, "after retain");
    assert!(noted.slab.drain().next().is_some());
    noted.insert(4, "after drain");
    noted.slab.retain(|key, _| key.index() < 2);
    noted.slab.shrink_to_fit();
    noted.insert(4, "after shrink_to_fit");
    noted.slab.reserve(100);
    noted.insert(2, "after reserve");
    noted.slab.reserve_exact(1000);
    noted.slab.prepare(2000).unwrap();
    noted.insert(2, "after reserve_exact, prepare");
    noted.slab.insert_at(at(12, 90), 0).unwrap();
    noted.insert(5, "after insert_at");
    noted
        .slab
        .try_extend([(at(17, 30), 1), (at(15, 80), 2)])
        .unwrap();
    noted.insert(6, "after try_extend");
    let clone = noted.slab.clone();
    noted.insert(2, "insert");
    noted.slab = clone;
    noted.insert(2, "the same of the clone");
    let _ = noted.slab.try_vacant_entry().unwrap();
    let entry = noted.slab.vacant_entry();
    writeln!(noted.text, "vacant_entry: {:?}", entry.key()).unwrap();
    entry.insert(7);
    noted.slab = [(at(3, 1), 1), (at(1, 5), 2)].into_iter().collect();
    noted.insert(5, "after collect");
    noted.slab.clear();
    noted.slab.reset_generations();
    noted.insert(2, "after reset_generations");
    let mut random = 1_u64;
    for round in 0..8 {
        for _ in 0..40 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            let chosen = (random >> 33) as usize % noted.keys.len();
            if noted.slab.try_remove(noted.keys[chosen]).is_none() {
                noted.keys.push(noted.slab.insert(0));
            }
        }
        if round % 3 == 2 {
            noted.slab.shrink_to_fit();
        }
        noted.insert(4, "after 40 at random");
    }
    noted.slab.insert_many(0..3, &mut noted.keys);
    let many = &noted.keys[noted.keys.len() - 3..];
    writeln!(noted.text, "insert_many: {many:?}").unwrap();
    noted.slab.remove_many(many).for_each(drop);
    noted.insert(4, "after remove_many");
    noted.slab.retain(|key, _| key.index() % 2 == 0);
    noted.slab.compact(|_, from, to| {
        write!(noted.text, "{from:?} is {to:?}, ").unwrap();
        true
    });
    noted.insert(3, "after compact");
    noted.slab.clone_from(&noted.slab.clone());
    noted.slab.try_extend([(at(30, 200), 1)]).unwrap();
    noted.insert(3, "after clone_from, a gap");
    noted.text
}

fn with_keys(builder: Builder<KeySlab<u32>>) -> String {
    script(builder.build(), |slot, _| Key::from_raw(slot as u32))
}

fn with_generations(builder: Builder<KeySlab<u32, GenKey>>) -> String {
    script(builder.build(), |slot, generation| {
        let raw = (u64::from(generation) * 2 + 1) << 32 | slot as u64;
        GenKey::from_raw(raw).unwrap()
    })
}

#[test]
#[cfg_attr(
    all(each_run, target_endian = "little", target_pointer_width = "64"),
    ignore = "weekly: natively it is the same"
)]
fn keys_are_those_of_the_golden_file() {
    let keys = with_keys(KeySlab::builder());
    let generations = with_generations(KeySlab::builder_with_key());
    let text = format!("Keys\n\n{keys}\nKeys with generations\n\n{generations}");
    let golden = include_str!("golden_keys.txt").replace("\r\n", "\n");
    assert!(text == golden, "keys have changed:\n{text}");
}

/// Whatever was reserved, and on pages of the system.
#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn keys_do_not_depend_on_memory() {
    let (keys, generations) = (
        with_keys(KeySlab::builder()),
        with_generations(KeySlab::builder_with_key()),
    );
    for reserve in [1, 7, 5000] {
        assert_eq!(with_keys(KeySlab::builder().reserve(reserve)), keys);
        let builder = KeySlab::builder_with_key().reserve(reserve);
        assert_eq!(with_generations(builder), generations);
    }
    #[cfg(not(miri))]
    {
        let builder = KeySlab::builder().pages(flatslab::memory::Pages::system());
        // Where there are such pages.
        if builder.clone().try_build().is_ok() {
            assert_eq!(with_keys(builder), keys);
        }
    }
}
