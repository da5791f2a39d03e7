//! Queues of values that are linked with each other: insertion at the end, removal from the middle,
//! and a walk. With the lists of the crate `intrusive-collections` on three kinds of memory, and
//! with lists whose links are keys.

use flatslab::pool::{Pool, PoolBox};
use flatslab::{BoundedSlab, Key, KeySlab, slab_adapter};
use flatslab_benches::prelude::*;
use intrusive_collections::{
    Adapter, LinkedList, LinkedListLink, PointerOps, intrusive_adapter, linked_list,
};
use rand::seq::SliceRandom;

const PLAN: Plan = plan::of(
    "intrusive",
    &[(1 << 13, &[8, 64]), (1 << 20, &[8, 64])],
    1_024,
    &[BOXES],
    cases,
);

const BOXES: &str = "Box, linked";

/// Each in ticks of one value. Values are cancelled in random order, so the insertions after them
/// take slots in that order.
const ROWS: [&str; 3] = ["INSERT at the end", "CANCEL in the middle", "WALK"];

fn main() -> ExitCode {
    run::main(&PLAN)
}

fn cases(_: &Arguments, _: usize, bytes: usize) -> Vec<Case> {
    match bytes {
        8 => vec![case::<u64>()],
        _ => vec![case::<[u64; 8]>()],
    }
}

fn case<V: Payload>() -> Case {
    macro_rules! entry {
        ($subject:expr, $queue:ident) => {
            Entry {
                subject: $subject,
                check: || $queue::<V, _>(CHECKED, Check),
                turn: |setting| $queue::<V, _>(setting.live, Time(setting)),
            }
        };
    }
    let entries = vec![
        entry!(BOXES, boxes),
        entry!("SlotBox, linked", slot_boxes),
        entry!("PoolBox, linked", pool_boxes),
        entry!("BoundedSlab, by key", tracked),
        entry!("KeySlab, by key", plain),
    ];
    let columns = const { &[Column::Value(Metric::Ticks), Column::Ratio(BOXES)] };
    Case::of(&ROWS, 5, columns, entries)
}

/// A queue of values.
trait Queue<V> {
    /// What finds a value.
    type Place: Copy;

    fn push(&mut self, value: V) -> Self::Place;

    /// Removes a value that is there, and returns its number.
    fn cancel(&mut self, place: Self::Place) -> u64;

    /// Calls `each` with the number of every value, from the first to the last.
    fn walk(&self, each: impl FnMut(u64));
}

/// What is done with a queue of any type.
trait Visit<V> {
    type Output;

    fn visit(self, queue: impl Queue<V>) -> Self::Output;
}

/// A value, and the links of the crate.
struct Linked<V> {
    link: LinkedListLink,
    value: V,
}

intrusive_adapter!(Boxes<V> = Box<Linked<V>>: Linked<V> { link => LinkedListLink });
slab_adapter!(SlotBoxes<'s, V> = &'s BoundedSlab<Linked<V>>: Linked<V> { link => LinkedListLink });
slab_adapter!(PoolBoxes<'p, V> = PoolBox<'p, Linked<V>>: Linked<V> { link => LinkedListLink });

/// A list, and how a value gets a box.
struct List<A: Adapter<LinkOps = linked_list::LinkOps>, F> {
    list: LinkedList<A>,
    make: F,
}

impl<V, A, F> Queue<V> for List<A, F>
where
    V: Payload,
    A: Adapter<LinkOps = linked_list::LinkOps>,
    A::PointerOps: PointerOps<Value = Linked<V>>,
    F: Fn(Linked<V>) -> <A::PointerOps as PointerOps>::Pointer,
{
    type Place = *const Linked<V>;

    #[inline(always)]
    fn push(&mut self, value: V) -> Self::Place {
        let link = LinkedListLink::new();
        self.list.push_back((self.make)(Linked { link, value }));
        let place = self.list.back().get_ptr();
        place.expect("just inserted").as_ptr()
    }

    #[inline(always)]
    fn cancel(&mut self, place: Self::Place) -> u64 {
        // SAFETY: the value is in the list, which returned this pointer.
        let mut cursor = unsafe { self.list.cursor_mut_from_ptr(place) };
        let number = cursor.get().expect("a value").value.number();
        drop(cursor.remove());
        number
    }

    #[inline(always)]
    fn walk(&self, mut each: impl FnMut(u64)) {
        self.list.iter().for_each(|it| each(it.value.number()));
    }
}

fn boxes<V: Payload, W: Visit<V>>(_: usize, visit: W) -> W::Output {
    visit.visit(List {
        list: LinkedList::new(Boxes::new()),
        make: Box::new,
    })
}

fn slot_boxes<V: Payload, W: Visit<V>>(capacity: usize, visit: W) -> W::Output {
    let slab = BoundedSlab::with_capacity(capacity);
    visit.visit(List {
        list: LinkedList::new(SlotBoxes::new(&slab)),
        make: |value| match slab.insert(value) {
            Ok(slot) => slot.into_box(),
            Err(_) => unreachable!("there are no more values"),
        },
    })
}

fn pool_boxes<V: Payload, W: Visit<V>>(capacity: usize, visit: W) -> W::Output {
    let pool = Pool::with_capacity(capacity);
    visit.visit(List {
        list: LinkedList::new(PoolBoxes::new()),
        make: |value| pool.alloc(value),
    })
}

/// A value, and links that are keys.
struct Keyed<V> {
    value: V,
    previous: Key,
    next: Key,
}

/// A slab that finds values by key.
trait Keys<V> {
    fn with_capacity(capacity: usize) -> Self;
    fn insert(&mut self, node: Keyed<V>) -> Key;
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Keyed<V>));
    fn remove(&mut self, key: Key) -> Keyed<V>;
    fn read(&self, key: Key) -> (u64, Key);
}

impl<V: Payload> Keys<V> for BoundedSlab<Keyed<V>> {
    fn with_capacity(capacity: usize) -> Self {
        BoundedSlab::with_capacity(capacity)
    }

    #[inline(always)]
    fn insert(&mut self, node: Keyed<V>) -> Key {
        match self.insert_key(node) {
            Ok(key) => key,
            Err(_) => unreachable!("there are no more values"),
        }
    }

    #[inline(always)]
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Keyed<V>)) {
        change(&mut self.get_mut(key).expect("linked"));
    }

    #[inline(always)]
    fn remove(&mut self, key: Key) -> Keyed<V> {
        self.remove_by_key(key)
    }

    #[inline(always)]
    fn read(&self, key: Key) -> (u64, Key) {
        let node = self.get(key).expect("linked");
        (node.value.number(), node.next)
    }
}

impl<V: Payload> Keys<V> for KeySlab<Keyed<V>> {
    fn with_capacity(capacity: usize) -> Self {
        KeySlab::with_capacity(capacity)
    }

    #[inline(always)]
    fn insert(&mut self, node: Keyed<V>) -> Key {
        KeySlab::insert(self, node)
    }

    #[inline(always)]
    fn change(&mut self, key: Key, change: impl FnOnce(&mut Keyed<V>)) {
        change(&mut self[key]);
    }

    #[inline(always)]
    fn remove(&mut self, key: Key) -> Keyed<V> {
        KeySlab::remove(self, key)
    }

    #[inline(always)]
    fn read(&self, key: Key) -> (u64, Key) {
        let node = &self[key];
        (node.value.number(), node.next)
    }
}

/// A list whose links are keys, in either slab.
struct ByKey<S> {
    slab: S,
    head: Key,
    tail: Key,
}

impl<V: Payload, S: Keys<V>> Queue<V> for ByKey<S> {
    type Place = Key;

    #[inline(always)]
    fn push(&mut self, value: V) -> Key {
        let (previous, next) = (self.tail, Key::NONE);
        let key = self.slab.insert(Keyed {
            value,
            previous,
            next,
        });
        match previous.is_none() {
            true => self.head = key,
            false => self.slab.change(previous, |it| it.next = key),
        }
        self.tail = key;
        key
    }

    #[inline(always)]
    fn cancel(&mut self, place: Key) -> u64 {
        let node = self.slab.remove(place);
        match node.previous.is_none() {
            true => self.head = node.next,
            false => self.slab.change(node.previous, |it| it.next = node.next),
        }
        match node.next.is_none() {
            true => self.tail = node.previous,
            false => self
                .slab
                .change(node.next, |it| it.previous = node.previous),
        }
        node.value.number()
    }

    #[inline(always)]
    fn walk(&self, mut each: impl FnMut(u64)) {
        let mut key = self.head;
        while key.is_some() {
            let (number, next) = self.slab.read(key);
            each(number);
            key = next;
        }
    }
}

fn by_key<V: Payload, S: Keys<V>, W: Visit<V>>(capacity: usize, visit: W) -> W::Output {
    visit.visit(ByKey {
        slab: S::with_capacity(capacity),
        head: Key::NONE,
        tail: Key::NONE,
    })
}

fn tracked<V: Payload, W: Visit<V>>(capacity: usize, visit: W) -> W::Output {
    by_key::<V, BoundedSlab<Keyed<V>>, W>(capacity, visit)
}

fn plain<V: Payload, W: Visit<V>>(capacity: usize, visit: W) -> W::Output {
    by_key::<V, KeySlab<Keyed<V>>, W>(capacity, visit)
}

/// How many values a check has.
const CHECKED: usize = 100;

/// Compares a queue with a `Vec`.
struct Check;

impl<V: Payload> Visit<V> for Check {
    type Output = Result<(), String>;

    fn visit(self, mut queue: impl Queue<V>) -> Result<(), String> {
        let mut model = Vec::new();
        for number in 0..1_000 {
            if model.len() == CHECKED || number % 3 == 2 {
                let (place, expected) = model.remove(number as usize * 7 % model.len());
                let found = queue.cancel(place);
                if found != expected {
                    return Err(format!("cancelled {found} instead of {expected}"));
                }
            } else {
                model.push((queue.push(V::of(number)), number));
            }
            let mut left = model.iter().map(|(_, number)| *number);
            let mut is_equal = true;
            queue.walk(|number| is_equal &= left.next() == Some(number));
            if !is_equal || left.next().is_some() {
                return Err("a walk found other values".to_owned());
            }
        }
        Ok(())
    }
}

/// Fills a queue, cancels half of its values in random order, inserts as many, and walks over all.
struct Time(Setting);

impl<V: Payload> Visit<V> for Time {
    type Output = Turn;

    fn visit(self, mut queue: impl Queue<V>) -> Turn {
        let Time(mut setting) = self;
        let live = setting.live as u64;
        let mut places: Vec<_> = (0..live)
            .map(|number| (queue.push(V::of(number)), number))
            .collect();
        places.shuffle(&mut setting.random);
        places.truncate(setting.live / 2 / BATCH * BATCH);
        let batch = |work: &mut dyn FnMut(), operations: usize| {
            let begun = clock::start();
            work();
            let ticks = clock::stop() - begun;
            ticks.saturating_sub(setting.overhead) as f64 / operations as f64
        };
        let (mut cancelled, mut inserted, mut walked) = (Vec::new(), Vec::new(), Vec::new());
        for places in places.chunks(BATCH) {
            let mut sum = 0;
            let mut work = || {
                for (place, _) in places {
                    sum += queue.cancel(*place);
                }
            };
            cancelled.push(batch(&mut work, BATCH));
            assert_eq!(sum, places.iter().map(|(_, number)| number).sum::<u64>());
        }
        for _ in 0..places.len() / BATCH {
            let mut work = || {
                for _ in 0..BATCH {
                    opaque(queue.push(V::of_words(live)));
                }
            };
            inserted.push(batch(&mut work, BATCH));
        }
        for _ in 0..3 {
            let (mut count, mut sum) = (0, 0);
            let mut work = || {
                queue.walk(|number| {
                    count += 1;
                    sum += number;
                });
            };
            walked.push(batch(&mut work, setting.live));
            let left = live * (live - 1) / 2 + places.len() as u64 * live;
            let gone: u64 = places.iter().map(|(_, number)| number).sum();
            assert_eq!((count, sum), (live, left - gone), "a wrong value");
        }
        [inserted, cancelled, walked].map(Measured::from).into()
    }
}
