//! What must not compile of a `KeySlab`.

use std::cell::Cell;
use std::rc::Rc;

use flatslab::key_slab::{
    Growable, InStorage, IterMut, KeySlabStorage, NamedKey, SecondarySlab, SlabKey,
};
use flatslab::{GenKey, Key, KeySlab, PlainSlab};

// A slab of plain references goes to another thread if its values may.
#[test]
fn slab_sent() {
    let slab: KeySlab<std::sync::Arc<u64>> = KeySlab::new();
    std::thread::spawn(move || drop(slab)).join().unwrap();
}

#[cfg(compile_fail)]
fn slab_of_rc_sent() {
    let slab: KeySlab<Rc<u64>> = KeySlab::new();
    std::thread::spawn(move || drop(slab)).join().unwrap(); //~ E0277
}

// Several threads read it, and none writes to it.
#[test]
fn read_by_two_threads() {
    let mut slab = KeySlab::new();
    let key = slab.insert(7);
    std::thread::scope(|scope| {
        scope.spawn(|| slab[key]);
        assert_eq!(slab[key], 7);
    });
}

#[cfg(compile_fail)]
fn written_while_another_thread_reads() {
    let mut slab = KeySlab::new();
    let key = slab.insert(7);
    std::thread::scope(|scope| {
        scope.spawn(|| slab[key]);
        slab[key] = 8; //~ E0502
    });
}

#[cfg(compile_fail)]
fn cells_read_by_two_threads() {
    let mut slab = KeySlab::new();
    slab.insert(Cell::new(7));
    std::thread::scope(|scope| {
        scope.spawn(|| slab.len()); //~ E0277
    });
}

// A reference into it keeps it from being changed.
#[test]
fn removal_after_a_reference() {
    let mut slab = KeySlab::new();
    let key = slab.insert(7);
    let value = &slab[key];
    assert_eq!(*value, 7);
    slab.remove(key);
}

#[cfg(compile_fail)]
fn removal_under_a_reference() {
    let mut slab = KeySlab::new();
    let key = slab.insert(7);
    let value = &slab[key];
    slab.remove(key); //~ E0502
    assert_eq!(*value, 7);
}

#[cfg(compile_fail)]
fn insert_under_a_vacant_entry() {
    let mut slab = KeySlab::new();
    let entry = slab.vacant_entry();
    slab.insert(7); //~ E0499
    entry.insert(8);
}

// What a value borrows outlives the slab.
#[test]
fn what_a_value_borrows_ends_last() {
    let text = String::from("text");
    let mut slab = KeySlab::new();
    slab.insert(&text);
}

#[cfg(compile_fail)]
fn what_a_value_borrows_ends_first() {
    let mut slab = KeySlab::new();
    let text = String::from("text");
    slab.insert(&text); //~ E0597
}

// A mutable iterator is invariant.
#[cfg(compile_fail)]
fn iterator_shortened<'a>(iter: IterMut<'a, &'static str>) -> IterMut<'a, &'a str> {
    iter //~ lifetime may not live long enough
}

// A slab is invariant in its keys: a subtype may have cells of another kind.
#[cfg(compile_fail)]
fn keys_of_a_subtype() {
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    struct Of<F>(Key, std::marker::PhantomData<F>);
    type Sub = Of<for<'a> fn(&'a u8)>;
    type Super = Of<fn(&'static u8)>;
    impl NamedKey for Sub {
        type Inner = Key;
        fn from_inner(inner: Key) -> Self {
            Of(inner, std::marker::PhantomData)
        }
        fn into_inner(self) -> Key {
            self.0
        }
    }
    impl NamedKey for Super {
        type Inner = Key;
        fn from_inner(inner: Key) -> Self {
            Of(inner, std::marker::PhantomData)
        }
        fn into_inner(self) -> Key {
            self.0
        }
    }
    fn coerce(slab: KeySlab<u8, Sub>) -> KeySlab<u8, Super> {
        slab //~ E0308
    }
}

// Keys come from slabs and from their numbers; generic code reads them.
#[test]
fn generic_over_keys() {
    fn index<K: SlabKey>(slab: &mut PlainSlab<u64, K, Growable>) -> usize {
        let key = slab.insert(7);
        slab.remove(key) as usize
    }
    assert_eq!(index(&mut KeySlab::<u64, GenKey>::with_key()), 7);
}

#[cfg(compile_fail)]
fn forged<K: SlabKey>(index: usize, version: u32) -> K {
    K::new(index, version) //~ E0061
}

// What is detached has a generation.
#[test]
fn detached_with_a_generation() {
    let mut slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    let key = slab.insert(7);
    assert_eq!(slab.detach(key), Some(7));
}

#[cfg(compile_fail)]
fn detached_without() {
    let mut slab: KeySlab<u64> = KeySlab::new();
    let key = slab.insert(7);
    slab.detach(key); //~ E0599
}

// # A storage serves one slab at a time

#[test]
fn storage_used_twice() {
    let mut storage: KeySlabStorage<u64, 1> = KeySlabStorage::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    slab.insert(7).unwrap();
    drop(slab);
    let mut slab = PlainSlab::in_storage(&mut storage);
    slab.insert(8).unwrap();
}

#[cfg(compile_fail)]
fn storage_used_by_two() {
    let mut storage: KeySlabStorage<u64, 1> = KeySlabStorage::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    let mut other = PlainSlab::in_storage(&mut storage); //~ E0499
    slab.insert(7).unwrap();
}

#[cfg(compile_fail)]
fn slab_after_its_storage() {
    let mut slab = {
        let mut storage: KeySlabStorage<u64, 1> = KeySlabStorage::new();
        PlainSlab::in_storage(&mut storage) //~ E0597
    };
    slab.insert(7).unwrap();
}

#[cfg(compile_fail)]
fn storage_moved_under_its_slab() {
    let mut storage: KeySlabStorage<u64, 1> = KeySlabStorage::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    let moved = Box::new(storage); //~ E0505
    slab.insert(7).unwrap();
}

#[cfg(compile_fail)]
fn storage_on_the_stack_claimed() {
    let storage: KeySlabStorage<u64, 1> = KeySlabStorage::new();
    let slab = storage.claim(); //~ E0597
}

#[cfg(compile_fail)]
fn borrow_of_the_storage_prolonged<'s>(
    slab: PlainSlab<u64, GenKey, InStorage<'s>>,
) -> PlainSlab<u64, GenKey, InStorage<'static>> {
    slab
    //~^ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn claimed_slab_of_rc_sent() {
    static STORAGE: KeySlabStorage<Rc<u64>, 1> = KeySlabStorage::new();
    let slab = STORAGE.claim();
    std::thread::spawn(move || drop(slab)).join().unwrap(); //~ E0277
}

#[cfg(compile_fail)]
fn storage_of_another_key_type() {
    static STORAGE: KeySlabStorage<u64, 1, Key> = KeySlabStorage::new(); //~ E0308
}

// A value's borrow ends after the slab, whose drop drops it.
#[cfg(compile_fail)]
fn value_in_a_storage_after_what_it_borrows() {
    let mut storage: KeySlabStorage<Option<Box<&String>>, 1> = KeySlabStorage::new();
    let mut slab = PlainSlab::in_storage(&mut storage);
    let text = String::new();
    slab.insert(Some(Box::new(&text))).ok(); //~ E0597
}

// Keys without generations have none that wrap.
#[test]
fn generations_that_wrap() {
    let slab: KeySlab<u64, GenKey> = KeySlab::builder_with_key().wrapping_generations().build();
    assert!(slab.is_empty());
}

#[cfg(compile_fail)]
fn plain_keys_that_wrap() {
    let slab: KeySlab<u64> = KeySlab::builder().wrapping_generations().build(); //~ E0599
    assert!(slab.is_empty());
}

// # Keys of another type than the constructor's

#[test]
fn a_slab_with_keys_of_a_type() {
    let slab: KeySlab<u64, GenKey> = KeySlab::with_key();
    assert!(slab.is_empty());
}

#[cfg(compile_fail)]
fn constructor_of_plain_keys() {
    //~? GenKey
    let slab: KeySlab<u64, GenKey> = KeySlab::new(); //~ E0308
}

#[cfg(compile_fail)]
fn constructor_of_plain_keys_called_by_type() {
    //~? with_key
    let slab = KeySlab::<u64, GenKey>::new(); //~ E0599
}

#[cfg(compile_fail)]
fn keys_of_any_type() {
    //~? `usize` is not a key type of a slab
    //~? use `Key`, `GenKey` or a type that `key_type!` declares
    let slab: KeySlab<u64, usize>; //~ E0277
}

#[test]
fn detached_by_a_generation() {
    let mut slab = KeySlab::with_key();
    let key: GenKey = slab.insert(7);
    assert_eq!(slab.detach(key), Some(7));
}

#[cfg(compile_fail)]
fn entries_beside_plain_keys() {
    //~? has no generation
    //~? use `GenKey`
    let entries: SecondarySlab<u64, Key>; //~ E0277
}

// Kinds of keys and of memory are the crate's: what they would have to have has types that cannot be
// named.
#[cfg(compile_fail)]
fn own_kinds() {
    enum Memory {}
    impl flatslab::key_slab::Storage for Memory {} //~ E0046
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Mine(Key);
    impl SlabKey for Mine {} //~ E0046
    impl flatslab::key_slab::GenerationKey for Mine {} //~ E0046
}

#[cfg(compile_fail)]
fn own_capacity() {
    enum Memory {}
    impl flatslab::key_slab::Storage for Memory {
        const CAPACITY: bool = true; //~ E0326
    }
}
