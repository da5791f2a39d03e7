//! A doubly linked list whose links are in the values and whose values are in a
//! slab: O(1) removal from the middle by key, no allocation, no `unsafe`. It
//! works with bounded and growable slabs, and its interface hides the nodes.
//! `examples/intrusive_book.rs` has lists of the crate `intrusive-collections`, whose links are
//! pointers: 8 bytes instead of 4, unchecked, and `unsafe` where a value is removed by its address.
//!
//! ```text
//! cargo run --example intrusive_list
//! ```

use flatslab::{BoundedSlab, Key, MappedRef, Memory, Ref, TrackedSlab};

pub(crate) struct Entry {
    value: u64,
    previous: Key,
    next: Key,
}

/// A list over a slab of either kind, which it shares with others.
///
/// `get` and `get_mut` say `None` at [`Key::NONE`], and so at the end of the
/// list. An entry that is being read is no end: they panic there. Each method
/// borrows the neighbours before it changes anything, so that such a panic
/// leaves the list whole.
pub(crate) struct List<'s, M: Memory> {
    slab: &'s TrackedSlab<Entry, M>,
    head: Key,
    tail: Key,
}

impl<'s, M: Memory> List<'s, M> {
    pub(crate) fn new(slab: &'s TrackedSlab<Entry, M>) -> Self {
        List {
            slab,
            head: Key::NONE,
            tail: Key::NONE,
        }
    }

    /// Appends a value, or gives it back when the slab is full.
    pub(crate) fn push_back(&mut self, value: u64) -> Result<Key, u64> {
        let tail = self.slab.get_mut(self.tail);
        let entry = Entry {
            value,
            previous: self.tail,
            next: Key::NONE,
        };
        let key = self
            .slab
            .try_insert_key(entry)
            .map_err(|full| full.0.value)?;
        match tail {
            Some(mut tail) => tail.next = key,
            None => self.head = key,
        }
        self.tail = key;
        Ok(key)
    }

    /// The value of an entry; the guard knows nothing of the links.
    pub(crate) fn get(&self, key: Key) -> Option<MappedRef<'s, u64>> {
        Some(Ref::map(self.slab.get(key)?, |entry| &entry.value))
    }

    /// Removes an entry, wherever in the list it is.
    pub(crate) fn remove(&mut self, key: Key) -> Option<u64> {
        let (previous, next) = {
            let entry = self.slab.get(key)?;
            (entry.previous, entry.next)
        };
        let before = self.slab.get_mut(previous);
        let after = self.slab.get_mut(next);
        let entry = self.slab.remove_by_key(key);
        match before {
            Some(mut before) => before.next = next,
            None => self.head = next,
        }
        match after {
            Some(mut after) => after.previous = previous,
            None => self.tail = previous,
        }
        Some(entry.value)
    }

    pub(crate) fn values(&self) -> Vec<u64> {
        let mut values = Vec::new();
        let mut next = self.head;
        while let Some(entry) = self.slab.get(next) {
            values.push(entry.value);
            next = entry.next;
        }
        values
    }
}

fn main() {
    let slab = BoundedSlab::with_capacity(6);
    let (mut odd, mut even) = (List::new(&slab), List::new(&slab));
    let keys: Vec<Key> = (0..6)
        .map(|n| {
            if n % 2 == 0 {
                even.push_back(n)
            } else {
                odd.push_back(n)
            }
        })
        .collect::<Result<_, _>>()
        .expect("there is room for six");
    assert_eq!(odd.push_back(7), Err(7));

    assert_eq!(odd.remove(keys[3]), Some(3));
    assert_eq!(odd.remove(keys[3]), None);
    even.remove(keys[0]);
    even.push_back(8).unwrap();

    // Read entries can be walked over. To change one is a conflict, and a panic;
    // it was the end of the list when `get_mut` said `None` for both.
    let first = odd.get(keys[1]).expect("it is in the list");
    assert_eq!((*first, odd.values()), (1, vec![1, 5]));
    drop(first);
    println!("odd {:?}, even {:?}", odd.values(), even.values());
    assert_eq!((odd.values(), even.values()), (vec![1, 5], vec![2, 4, 8]));
}
