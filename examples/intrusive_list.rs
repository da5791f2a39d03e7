//! A doubly linked list whose links are in the values and whose values are in a
//! slab: O(1) removal from the middle by key, no allocation, no `unsafe`. It
//! works over bounded and growable slabs alike.
//!
//! ```text
//! cargo run --example intrusive_list
//! ```

use flatslab::{BoundedSlab, Key, Memory, TrackedSlab};

struct Entry {
    value: u64,
    previous: Key,
    next: Key,
}

/// A list over a slab of either kind, which it shares with others.
struct List<'s, M: Memory> {
    slab: &'s TrackedSlab<Entry, M>,
    head: Key,
    tail: Key,
}

impl<'s, M: Memory> List<'s, M> {
    fn new(slab: &'s TrackedSlab<Entry, M>) -> Self {
        List {
            slab,
            head: Key::NONE,
            tail: Key::NONE,
        }
    }

    /// Appends a value, or gives it back when the slab is full.
    fn push_back(&mut self, value: u64) -> Result<Key, u64> {
        let entry = Entry {
            value,
            previous: self.tail,
            next: Key::NONE,
        };
        let slot = self.slab.try_insert(entry).map_err(|full| full.0.value)?;
        let key = slot.leak();
        match self.slab.get_mut(self.tail) {
            Some(mut tail) => tail.next = key,
            None => self.head = key,
        }
        self.tail = key;
        Ok(key)
    }

    /// Removes an entry, wherever in the list it is.
    fn remove(&mut self, key: Key) -> Option<u64> {
        let entry = self.slab.try_remove_by_key(key)?;
        match self.slab.get_mut(entry.previous) {
            Some(mut previous) => previous.next = entry.next,
            None => self.head = entry.next,
        }
        match self.slab.get_mut(entry.next) {
            Some(mut next) => next.previous = entry.previous,
            None => self.tail = entry.previous,
        }
        Some(entry.value)
    }

    fn values(&self) -> Vec<u64> {
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
    println!("odd {:?}, even {:?}", odd.values(), even.values());
    assert_eq!((odd.values(), even.values()), (vec![1, 5], vec![2, 4, 8]));
}
