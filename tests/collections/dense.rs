//! Dense slabs against maps: the slice has each value once, and each key finds its own.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use flatslab::collections::DenseSlab;
use flatslab::key_slab::{SecondarySlab, SlabKey};
use flatslab::{DisjointError, GenKey, Key, key_type};

use crate::message_of;
use crate::random::{random, seed};

key_type!(struct Own(GenKey));

fn steps() -> u64 {
    if cfg!(miri) { 300 } else { crate::steps() / 4 }
}

fn check<K: SlabKey, T: PartialEq + std::fmt::Debug>(
    slab: &DenseSlab<T, K>,
    model: &HashMap<K, T>,
) {
    assert_eq!(
        (slab.len(), slab.is_empty()),
        (model.len(), model.is_empty())
    );
    assert_eq!(slab.values_as_slice().len(), model.len());
    for (position, (key, value)) in slab.iter().enumerate() {
        assert_eq!(slab.position(key), Some(position));
        assert_eq!(slab.key_at(position), Some(key));
        assert_eq!((slab.get(key), Some(value)), (Some(value), model.get(&key)));
    }
    assert!(
        slab.keys_as_slice()
            .iter()
            .copied()
            .eq(slab.iter().map(|(key, _)| key))
    );
}

fn is_like_a_map<K: SlabKey>() {
    let mut slab = DenseSlab::<String, K>::with_key();
    let mut model = HashMap::new();
    let mut gone: Vec<K> = Vec::new();
    for step in 0..steps() {
        let key = slab.key_at(random(slab.len().max(1) as u64) as usize);
        match (random(16), key) {
            (0..=5, _) => {
                let next = slab.slots().vacant_key();
                let key = match step % 3 {
                    0 => slab.insert(step.to_string()),
                    1 => slab.insert_with_key(|_| step.to_string()),
                    _ => slab.try_insert(step.to_string()).unwrap(),
                };
                assert_eq!((key, model.insert(key, step.to_string())), (next, None));
                assert_eq!(slab.keys_as_slice().last(), Some(&key));
            }
            (6..=9, Some(key)) => {
                assert_eq!(Some(slab.remove(key)), model.remove(&key));
                gone.push(key);
            }
            (10, Some(key)) => {
                slab[key].push('.');
                model.get_mut(&key).unwrap().push('.');
            }
            (11, _) if random(20) == 0 => {
                let keep = |value: &mut String| value.len() % 3 > 0;
                slab.retain(|_, value| keep(value));
                model.retain(|_, value| keep(value));
            }
            (12, _) if random(100) == 0 => {
                if step % 2 == 0 {
                    let drained: HashMap<K, String> = slab.drain().collect();
                    assert_eq!(drained, model);
                } else {
                    slab.clear();
                }
                model.clear();
            }
            (14, Some(key)) => {
                let other = *slab.keys_as_slice().last().unwrap();
                match slab.get_disjoint_mut([other, key]) {
                    Ok([one, two]) => assert_eq!((&*one, &*two), (&model[&other], &model[&key])),
                    Err(error) => {
                        assert_eq!((error, key), (DisjointError::Overlapping, other));
                    }
                }
            }
            (15, _) if random(10) == 0 => {
                if let Some((key, value)) = slab.pop() {
                    assert_eq!(model.remove(&key), Some(value));
                }
            }
            _ => {}
        }
        if step % 8 == 0 || model.len() < 3 {
            check(&slab, &model);
        }
    }
    if let Some(old) = gone.last().filter(|old| !model.contains_key(old)) {
        assert!(!slab.contains(*old) && slab.get_mut(*old).is_none());
        assert_eq!(slab.get_disjoint_mut([*old]), Err(DisjointError::Missing));
        assert!(
            message_of(|| slab.remove(*old))
                .unwrap()
                .starts_with("there is no value at")
        );
    }
    let clone = slab.clone();
    assert_eq!(
        (&clone, clone.values_as_slice()),
        (&slab, slab.values_as_slice())
    );
    assert_eq!(slab.into_iter().collect::<HashMap<_, _>>(), model);
}

#[test]
fn a_dense_slab_is_like_a_map() {
    seed(1);
    is_like_a_map::<Key>();
    is_like_a_map::<GenKey>();
    is_like_a_map::<Own>();
}

#[test]
fn values_are_kept_and_moved_out_in_the_order_of_the_slice() {
    let mut slab = DenseSlab::<u32, GenKey>::with_key();
    let keys: Vec<_> = (0..8).map(|number| slab.insert(number)).collect();

    // The last value takes the position of a removed one, and is visited there.
    let mut visited = Vec::new();
    slab.retain(|_, number| {
        visited.push(*number);
        *number % 3 > 0
    });
    assert_eq!(visited, [0, 7, 1, 2, 3, 6, 5, 4]);
    assert_eq!(slab.values_as_slice(), [7, 1, 2, 5, 4]);
    assert!((0..5).all(|at| slab.position(slab.keys_as_slice()[at]) == Some(at)));

    let pairs = [7, 1, 2, 5, 4].map(|number| (keys[number as usize], number));
    assert!(slab.iter().map(|(key, number)| (key, *number)).eq(pairs));
    assert!(slab.clone().drain().eq(pairs.into_iter().rev()));
    let mut all = slab.into_iter();
    assert_eq!((all.len(), all.next()), (5, Some(pairs[0])));
    assert_eq!(format!("{all:?}"), "DenseIntoIter { left: 4, .. }");
    assert!(all.eq(pairs[1..].iter().copied()));
}

/// A value that is counted while it lives, and panics when it is cloned or dropped, if told to.
struct Counted(Rc<Cell<i32>>, u32);

const PANICS_WHEN_CLONED: u32 = 100;
const PANICS_WHEN_DROPPED: u32 = 200;

impl Counted {
    fn new(living: &Rc<Cell<i32>>, number: u32) -> Self {
        living.set(living.get() + 1);
        Counted(living.clone(), number)
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        assert!(self.1 != PANICS_WHEN_CLONED, "as asked");
        Counted::new(&self.0, self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
        assert!(
            self.1 != PANICS_WHEN_DROPPED || std::thread::panicking(),
            "as asked"
        );
    }
}

#[test]
fn values_are_dropped_once_whatever_panics() {
    let living = Rc::new(Cell::new(0));
    let new = |number| Counted::new(&living, number);
    let mut slab = DenseSlab::<Counted, GenKey>::with_key();
    let keys: Vec<_> = (0..6).map(|number| slab.insert(new(number))).collect();

    // In the middle of `retain`.
    slab[keys[2]].1 = PANICS_WHEN_DROPPED;
    let retain = |slab: &mut DenseSlab<Counted, GenKey>| slab.retain(|_, it| it.1 % 2 == 1);
    assert!(message_of(|| retain(&mut slab)).is_some());
    assert_eq!((slab.len(), living.get()), (4, 4));
    retain(&mut slab);
    assert_eq!(slab.len(), 3);

    // A clone.
    slab[keys[1]].1 = PANICS_WHEN_CLONED;
    assert!(message_of(|| slab.clone()).is_some());
    let mut other = DenseSlab::with_key();
    other.insert(new(9));
    assert!(message_of(|| other.clone_from(&slab)).is_some());
    assert_eq!((other.len(), other.slots().len(), living.get()), (0, 0, 3));
    other.insert(new(10));

    // What is dropped as a whole.
    slab[keys[3]].1 = PANICS_WHEN_DROPPED;
    assert!(message_of(|| slab.clear()).is_some());
    assert_eq!((slab.len(), slab.slots().len(), living.get()), (0, 0, 1));
    other.insert(new(PANICS_WHEN_DROPPED));
    other.insert(new(11));
    assert!(message_of(|| drop(other)).is_some());
    assert_eq!(living.get(), 0);

    // A value that is made of its key.
    assert!(message_of(|| slab.insert_with_key(|_| panic!("as asked"))).is_some());
    assert_eq!((slab.len(), slab.slots().len()), (0, 0));
    let key = slab.insert(new(1));
    assert_eq!(slab.position(key), Some(0));
    // A part of the values.
    slab.insert(new(2));
    drop(slab.drain().next());
    assert_eq!(living.get(), 0);
    slab.insert(new(3));
    slab.insert(new(4));
    drop(slab.into_iter().next());
    assert_eq!(living.get(), 0);
}

#[test]
fn memory_for_as_many_values_as_asked_for_is_there_at_once() {
    let mut slab = DenseSlab::<u64>::with_capacity(100);
    let bytes = slab.memory().bytes();
    assert!(slab.capacity() >= 100 && bytes >= 100 * (8 + 8));
    (0..100).for_each(|number| assert_eq!(slab.insert(number).index(), number as usize));
    assert_eq!(slab.memory().bytes(), bytes);
    slab.try_reserve(50).unwrap();
    assert!(slab.capacity() >= 150);
    assert!(slab.try_reserve(usize::MAX).is_err());
    assert_eq!(slab.values_as_slice(), &*(0..100).collect::<Vec<_>>());
    let built = DenseSlab::<u64>::builder().capacity(10).build();
    assert!(built.capacity() >= 10);
    assert_eq!(DenseSlab::<u64>::new().memory().bytes(), 0);
}

#[test]
fn values_of_no_size_have_keys_too() {
    let mut slab = DenseSlab::<(), GenKey>::with_key();
    let keys: Vec<_> = (0..50).map(|_| slab.insert(())).collect();
    slab.remove(keys[7]);
    assert_eq!(
        (slab.len(), slab.get(keys[7]), slab.position(keys[49])),
        (49, None, Some(7))
    );
}

#[test]
fn secondary_slabs_take_the_slots() {
    let mut places = DenseSlab::<i32, GenKey>::with_key();
    let mut names = SecondarySlab::new();
    let keys: Vec<_> = (0..5).map(|at| places.insert(at)).collect();
    for &key in &keys {
        names.insert(places.slots(), key, format!("{key:?}"));
    }
    places.remove(keys[1]);
    names.prune(places.slots());
    for (key, position, name) in names.join(places.slots()) {
        assert_eq!(places.values_as_slice()[*position as usize], places[key]);
        assert_eq!(name, &format!("{key:?}"));
    }
    assert_eq!(names.len(), 4);
}

#[cfg(feature = "serde")]
#[test]
fn a_saved_slab_has_the_same_order_and_the_same_next_keys() {
    let mut slab = DenseSlab::<String, GenKey>::with_key();
    let keys: Vec<_> = (0..9).map(|at: i32| slab.insert(at.to_string())).collect();
    let removed = [1, 4, 8].map(|at| slab.remove(keys[at]));
    assert_eq!(removed, ["1", "4", "8"]);
    let json = serde_json::to_string(&slab).unwrap();
    let bytes = postcard::to_allocvec(&slab).unwrap();
    for mut read in [
        serde_json::from_str::<DenseSlab<String, GenKey>>(&json).unwrap(),
        postcard::from_bytes(&bytes).unwrap(),
    ] {
        assert_eq!(
            (&read, read.values_as_slice()),
            (&slab, slab.values_as_slice())
        );
        assert_eq!(read.keys_as_slice(), slab.keys_as_slice());
        let mut copy = slab.clone();
        assert!((0..8).all(|_| read.insert(String::new()) == copy.insert(String::new())));
    }

    // Positions twice, or past the end, or values without a slot.
    type Parts = (serde_json::Value, Vec<String>);
    let (slots, values): Parts = serde_json::from_str(&json).unwrap();
    let text = slots.to_string();
    let parts = [
        (slots.clone(), values[1..].to_vec()),
        (slots, [&*values, &values[..1]].concat()),
        (
            serde_json::from_str(&text.replacen("[1,0]", "[1,2]", 1)).unwrap(),
            values,
        ),
    ];
    for parts in parts {
        let json = serde_json::to_string(&parts).unwrap();
        let error = serde_json::from_str::<DenseSlab<String, GenKey>>(&json).unwrap_err();
        let texts = [
            "the slots are not those of the values",
            "there are more values than slots",
        ];
        assert!(
            texts.iter().any(|text| error.to_string().starts_with(text)),
            "{error}"
        );
    }
}

/// Values of no size take no bytes in some formats: a few bytes may say that there are 2^64 of them.
#[cfg(feature = "serde")]
#[test]
fn a_number_of_values_that_was_forged_ends_with_the_slots() {
    let mut forged = vec![0_u8, 0, 0];
    forged.extend([0xff; 9]);
    forged.push(1);
    let error = postcard::from_bytes::<DenseSlab<(), Key>>(&forged);
    assert!(error.is_err());
    let mut slab = DenseSlab::<(), Key>::new();
    (0..3).for_each(|_| assert!(slab.insert(()).index() < 3));
    let bytes = postcard::to_allocvec(&slab).unwrap();
    assert_eq!(postcard::from_bytes::<DenseSlab<(), Key>>(&bytes), Ok(slab));
}
