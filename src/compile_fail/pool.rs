//! What must not compile of pools, each next to its twin that does.
//!
//! # No box is freed twice
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! drop(boxed);
//! let boxed = pool.alloc(8).unwrap();
//! PoolBox::into_inner(boxed);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! drop(boxed);
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! PoolBox::into_inner(boxed);
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! let value = PoolBox::leak(boxed);
//! drop(boxed);
//! ```
//!
//! A copy would be a second owner.
//!
//! ```compile_fail,E0277
//! fn copied<T: Clone>() {}
//! copied::<flatslab::pool::PoolBox<'_, u64>>();
//! ```
//!
//! A cell without a value is written once.
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let (seven, vacant) = PoolBox::take(pool.alloc(7).unwrap());
//! assert_eq!(*PoolBox::write(vacant, seven + 1), 8);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let vacant = pool.alloc_uninit().unwrap();
//! let first = PoolBox::write(vacant, 7);
//! let second = PoolBox::write(vacant, 8);
//! ```
//!
//! ```compile_fail,E0369
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::<u64>::with_capacity(1);
//! let vacant = pool.alloc_uninit().unwrap();
//! let value = *vacant + 1;
//! ```
//!
//! # No box is freed in another pool
//!
//! A free names no pool, so none can be the wrong one: wherever a box goes, its cell
//! goes back to where it came from.
//!
//! ```
//! use flatslab::pool::Pool;
//! let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
//! let (mut a, mut b) = (one.alloc(1).unwrap(), two.alloc(2).unwrap());
//! std::mem::swap(&mut a, &mut b);
//! drop(a);
//! assert!(two.is_empty() && one.is_full());
//! drop(b);
//! assert!(one.is_empty());
//! ```
//!
//! No safe function of a pool takes a box or a pointer.
//!
//! ```compile_fail,E0599
//! use flatslab::pool::Pool;
//! let (one, two) = (Pool::with_capacity(1), Pool::<u64>::with_capacity(1));
//! two.free(one.alloc(1).unwrap());
//! ```
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let pointer = PoolBox::into_raw(pool.alloc(1).unwrap());
//! // SAFETY: straight from `into_raw` of a box of this pool.
//! drop(unsafe { pool.box_from_raw(pointer) });
//! ```
//!
//! ```compile_fail,E0133
//! use flatslab::pool::{Pool, PoolBox};
//! let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
//! let pointer = PoolBox::into_raw(one.alloc(1).unwrap());
//! drop(two.box_from_raw(pointer));
//! ```
//!
//! No box is made by hand, and none of one kind of memory is one of another.
//!
//! ```compile_fail,E0451
//! use flatslab::pool::{Pool, PoolBox};
//! let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
//! let boxed = one.alloc(1).unwrap();
//! let moved = PoolBox { value: std::ptr::NonNull::<i32>::dangling(), ..two.alloc(2).unwrap() };
//! ```
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox, PoolStorage, StorageBox};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let boxed: StorageBox<'_, u64> = pool.alloc(7).unwrap();
//! ```
//!
//! ```compile_fail,E0308
//! use flatslab::pool::{Pool, PoolBox, PoolStorage};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let boxed: PoolBox<'_, u64> = pool.alloc(7).unwrap();
//! ```
//!
//! Nor is there a kind of memory that is not the crate's.
//!
//! ```compile_fail,E0277
//! enum Mine {}
//! impl flatslab::pool::PoolMemory for Mine {}
//! ```
//!
//! A box does not go into a collection that outlives its pool, of another pool's boxes
//! or not.
//!
//! ```
//! use flatslab::pool::Pool;
//! let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
//! let mut live = vec![one.alloc(1).unwrap()];
//! live.push(two.alloc(2).unwrap());
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::Pool;
//! let one = Pool::with_capacity(1);
//! let mut live = vec![one.alloc(1).unwrap()];
//! {
//!     let two = Pool::with_capacity(1);
//!     live.push(two.alloc(2).unwrap());
//! }
//! ```
//!
//! # No box is used after its pool is gone
//!
//! ```
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! assert_eq!(*boxed, 7);
//! drop(boxed);
//! drop(pool);
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! drop(pool);
//! assert_eq!(*boxed, 7);
//! ```
//!
//! Not even to be dropped, nor if the pool is only moved:
//!
//! ```compile_fail,E0597
//! use flatslab::pool::Pool;
//! let boxed;
//! let pool = Pool::with_capacity(1);
//! boxed = pool.alloc(7).unwrap();
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolStorage};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let boxed = pool.alloc(7).unwrap();
//! let moved = pool;
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0515
//! use flatslab::pool::{Pool, PoolBox};
//! fn made<'p>() -> PoolBox<'p, u64> {
//!     let pool = Pool::with_capacity(1);
//!     pool.alloc(7).unwrap()
//! }
//! ```
//!
//! Nor is a recycled one:
//!
//! ```
//! use flatslab::pool::Pool;
//! let pool = Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.alloc_or_reuse(|| 7, |_| {}).unwrap();
//! drop(boxed);
//! drop(pool);
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::Pool;
//! let pool = Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.alloc_or_reuse(|| 7, |_| {}).unwrap();
//! drop(pool);
//! drop(boxed);
//! ```
//!
//! A pool is not used after its storage is gone, or while another one has it.
//!
//! ```
//! use flatslab::pool::{Pool, PoolStorage};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! assert_eq!(pool.len(), 0);
//! let pool = Pool::in_storage(&mut storage);
//! assert_eq!(pool.len(), 0);
//! drop(storage);
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolStorage};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! drop(storage);
//! assert_eq!(pool.len(), 0);
//! ```
//!
//! ```compile_fail,E0499
//! use flatslab::pool::{Pool, PoolStorage};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let one = Pool::in_storage(&mut storage);
//! let two = Pool::in_storage(&mut storage);
//! assert_eq!(one.len(), 0);
//! ```
//!
//! Only a storage that is there for ever is claimed, and then it has no other pool.
//!
//! ```
//! use flatslab::pool::PoolStorage;
//! static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
//! assert!(STORAGE.claim().is_some());
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::PoolStorage;
//! let storage = PoolStorage::<u64, 1>::new();
//! assert!(storage.claim().is_some());
//! ```
//!
//! ```compile_fail,E0716
//! use flatslab::pool::PoolStorage;
//! const STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
//! assert!(STORAGE.claim().is_some());
//! ```
//!
//! ```
//! use flatslab::pool::{Pool, PoolStorage};
//! let storage: &'static mut PoolStorage<u64, 1> = Box::leak(Box::new(PoolStorage::new()));
//! let pool = Pool::in_storage(storage);
//! assert!(pool.alloc(7).is_ok());
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::{Pool, PoolStorage};
//! let storage: &'static mut PoolStorage<u64, 1> = Box::leak(Box::new(PoolStorage::new()));
//! let claimed = storage.claim();
//! let pool = Pool::in_storage(storage);
//! ```
//!
//! # No pool is reset under a box
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let mut pool = Pool::with_capacity(2);
//! let boxed = pool.alloc(7).unwrap();
//! let leaked = PoolBox::leak(pool.alloc(8).unwrap());
//! assert_eq!(*boxed + *leaked, 15);
//! drop(boxed);
//! pool.reset();
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! pool.reset();
//! assert_eq!(*boxed, 7);
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7).unwrap();
//! pool.reset();
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::{Pool, PoolBox};
//! let mut pool = Pool::with_capacity(1);
//! let leaked = PoolBox::leak(pool.alloc(7).unwrap());
//! pool.reset();
//! assert_eq!(*leaked, 7);
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::<u64>::with_capacity(1);
//! let vacant = pool.alloc_uninit().unwrap();
//! pool.reset();
//! drop(vacant);
//! ```
//!
//! A leaked pool is never reset.
//!
//! ```compile_fail,E0596
//! let pool = flatslab::pool::Pool::<u64>::leak(1);
//! pool.reset();
//! ```
//!
//! Nor is one cleared under a recycled box.
//!
//! ```
//! use flatslab::pool::Pool;
//! let mut pool = Pool::builder().capacity(1).recycle().build();
//! drop(pool.alloc_or_reuse(|| 7, |_| {}).unwrap());
//! pool.clear();
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.alloc_or_reuse(|| 7, |_| {}).unwrap();
//! pool.clear();
//! drop(boxed);
//! ```
//!
//! # No reference outlives its box, and no leaked one its pool
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(String::from("text")).unwrap();
//! let text: &str = &boxed;
//! assert_eq!(text, "text");
//! let leaked: &mut String = PoolBox::leak(boxed);
//! leaked.clear();
//! drop(pool);
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(String::from("text")).unwrap();
//! let text: &str = &boxed;
//! drop(boxed);
//! assert_eq!(text, "text");
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(String::from("text")).unwrap();
//! let text: &str = &boxed;
//! let (string, vacant) = PoolBox::take(boxed);
//! assert_eq!(text, "text");
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let leaked = PoolBox::leak(pool.alloc(7).unwrap());
//! drop(pool);
//! *leaked = 8;
//! ```
//!
//! A value that is made fit for use does not get out of that call.
//!
//! ```
//! use flatslab::pool::Pool;
//! let pool = Pool::builder().capacity(1).recycle().build();
//! let mut length = 0;
//! drop(pool.alloc_or_reuse(String::new, |_| {}).unwrap());
//! drop(pool.alloc_or_reuse(String::new, |text| length = text.len()).unwrap());
//! assert_eq!(length, 0);
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::Pool;
//! let pool = Pool::builder().capacity(1).recycle().build();
//! let mut kept = None;
//! drop(pool.alloc_or_reuse(String::new, |_| {}).unwrap());
//! drop(pool.alloc_or_reuse(String::new, |text| kept = Some(text)).unwrap());
//! kept.unwrap().clear();
//! ```
//!
//! # What a value borrows outlives its box
//!
//! It need not outlive the pool.
//!
//! ```
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let text = String::from("text");
//! let boxed = pool.alloc(&text).unwrap();
//! assert_eq!(*boxed, "text");
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let boxed;
//! {
//!     let text = String::from("text");
//!     boxed = pool.alloc(&text).unwrap();
//! }
//! assert_eq!(*boxed, "text");
//! ```
//!
//! The box may drop a value that looks at what it borrows.
//!
//! ```compile_fail,E0597
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let boxed;
//! let text = String::from("text");
//! boxed = pool.alloc(&text).unwrap();
//! ```
//!
//! A pool that keeps values drops them, so what they borrow outlives it too.
//!
//! ```
//! let text = String::from("text");
//! let pool = flatslab::pool::Pool::builder().capacity(1).recycle().build();
//! drop(pool.alloc_or_reuse(|| &text, |_| {}).unwrap());
//! ```
//!
//! ```compile_fail,E0597
//! let pool = flatslab::pool::Pool::builder().capacity(1).recycle().build();
//! let text = String::from("text");
//! drop(pool.alloc_or_reuse(|| &text, |_| {}).unwrap());
//! ```
//!
//! # Values may own boxes of their own pool, unless it keeps values
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! struct Node<'p>(Option<PoolBox<'p, Node<'p>>>);
//! let pool = Pool::with_capacity(2);
//! let leaf = pool.alloc(Node(None)).ok();
//! let root = pool.alloc(Node(leaf)).ok();
//! drop(root);
//! ```
//!
//! ```
//! use flatslab::pool::{Pool, PoolStorage, StorageBox};
//! struct Node<'p>(Option<StorageBox<'p, Node<'p>>>);
//! let mut storage = PoolStorage::<Node<'_>, 2>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let leaf = pool.alloc(Node(None)).ok();
//! let root = pool.alloc(Node(leaf)).ok();
//! drop(root);
//! ```
//!
//! ```
//! use flatslab::pool::{RecycledBox, RecyclingPool};
//! struct Node<'p>(Option<RecycledBox<'p, Node<'p>>>);
//! let pool: RecyclingPool<Node<'_>> = flatslab::pool::Pool::builder().recycle().build();
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::{Pool, RecycledBox};
//! struct Node<'p>(Option<RecycledBox<'p, Node<'p>>>);
//! let pool = Pool::builder().capacity(2).recycle().build();
//! let leaf = pool.alloc_or_reuse(|| Node(None), |_| {}).ok();
//! let root = pool.alloc_or_reuse(|| Node(leaf), |_| {}).ok();
//! ```
//!
//! Nor may those that it keeps refer to it.
//!
//! ```
//! struct Value<'p>(&'p flatslab::pool::Pool<'p, Value<'p>>);
//! let pool = flatslab::pool::Pool::with_capacity(1);
//! let boxed = pool.alloc(Value(&pool)).ok();
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0597
//! struct Value<'p>(&'p flatslab::pool::RecyclingPool<Value<'p>>);
//! let pool = flatslab::pool::Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.alloc_or_reuse(|| Value(&pool), |_| {}).ok();
//! drop(boxed);
//! ```
//!
//! # Pools and boxes are covariant, unless a pool keeps values
//!
//! ```
//! use flatslab::pool::{Heap, InStorage, Intrusive, Pool, PoolBox, StorageBox};
//! fn pool<'a>(pool: Pool<'static, &'static str>) -> Pool<'a, &'a str> { pool }
//! fn intrusive<'a>(
//!     pool: &'a Pool<'static, &'static str, Intrusive>,
//! ) -> &'a Pool<'a, &'a str, Intrusive> {
//!     pool
//! }
//! fn stored<'a, 's>(
//!     pool: &'a Pool<'s, &'static str, InStorage>,
//! ) -> &'a Pool<'a, &'a str, InStorage> {
//!     pool
//! }
//! fn boxed<'a>(boxed: PoolBox<'static, &'static str>) -> PoolBox<'a, &'a str> { boxed }
//! fn stored_box<'a>(boxed: StorageBox<'static, &'static str>) -> StorageBox<'a, &'a str> { boxed }
//! ```
//!
//! So a pool takes a value that lives shorter than the others, and is then reset.
//!
//! ```
//! use flatslab::pool::Pool;
//! fn use_up<'a>(pool: &Pool<'_, &'a str>, text: &'a str) {
//!     std::mem::forget(pool.alloc(text));
//! }
//! let mut pool: Pool<'_, &'static str> = Pool::with_capacity(1);
//! use_up(&pool, &String::from("text"));
//! assert!(pool.is_full());
//! pool.reset();
//! assert_eq!(*pool.alloc("text").unwrap(), "text");
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::Pool;
//! fn lengthen<'a>(pool: Pool<'static, &'a str>) -> Pool<'static, &'static str> { pool }
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::PoolBox;
//! fn lengthen<'a>(boxed: PoolBox<'a, u64>) -> PoolBox<'static, u64> { boxed }
//! ```
//!
//! A mutable reference to a box is invariant, as of any type.
//!
//! ```compile_fail
//! use flatslab::pool::PoolBox;
//! fn shorten<'a>(
//!     boxed: &'a mut PoolBox<'static, &'static str>,
//! ) -> &'a mut PoolBox<'static, &'a str> {
//!     boxed
//! }
//! ```
//!
//! A pool that keeps values gives out what was put in, and so does its box.
//!
//! ```
//! use flatslab::pool::{RecycledBox, RecyclingPool};
//! fn pool<'a>(pool: &'static RecyclingPool<&'static str>) -> &'a RecyclingPool<&'static str> {
//!     pool
//! }
//! fn boxed<'a>(boxed: RecycledBox<'static, &'static str>) -> RecycledBox<'a, &'static str> {
//!     boxed
//! }
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::RecyclingPool;
//! fn shorten<'a>(pool: &'a RecyclingPool<&'static str>) -> &'a RecyclingPool<&'a str> { pool }
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::RecycledBox;
//! fn shorten<'a>(boxed: RecycledBox<'a, &'static str>) -> RecycledBox<'a, &'a str> { boxed }
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::RecycledBox;
//! fn lengthen<'a>(boxed: RecycledBox<'a, &'a str>) -> RecycledBox<'a, &'static str> { boxed }
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::PoolStorage;
//! fn shorten<'a>(storage: &'a PoolStorage<&'static str, 1>) -> &'a PoolStorage<&'a str, 1> {
//!     storage
//! }
//! ```
//!
//! # Only what is never used again is pinned
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox, PoolStorage};
//! static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
//! let pool: &'static Pool<'_, _, _> = STORAGE.claim().unwrap();
//! let pinned = PoolBox::into_pin(pool.alloc(7).unwrap());
//! let pool = Pool::leak(1);
//! let pinned = PoolBox::into_pin(pool.alloc(7).unwrap());
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let pinned = PoolBox::into_pin(pool.alloc(7).unwrap());
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::PoolBox;
//! fn pin<'p>(boxed: PoolBox<'p, u64>) {
//!     let _pinned = PoolBox::into_pin(boxed);
//! }
//! ```
//!
//! A storage that is there for ever does not make its pool so.
//!
//! ```compile_fail,E0597
//! use flatslab::pool::{Pool, PoolBox, PoolStorage};
//! let storage: &'static mut PoolStorage<u64, 1> = Box::leak(Box::new(PoolStorage::new()));
//! let pool = Pool::in_storage(storage);
//! let pinned = PoolBox::into_pin(pool.alloc(7).unwrap());
//! ```
//!
//! A claimed pool is not reset, replaced or claimed back once a box was pinned.
//!
//! ```
//! use flatslab::pool::{PoolBox, PoolStorage};
//! static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
//! let pool = STORAGE.claim().unwrap();
//! drop(pool.alloc(7).unwrap());
//! pool.reset();
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::{PoolBox, PoolStorage};
//! static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
//! let pool = STORAGE.claim().unwrap();
//! drop(PoolBox::into_pin(pool.alloc(7).unwrap()));
//! pool.reset();
//! ```
//!
//! # Threads
//!
//! A pool goes to another thread if its values may, and is used on one at a time. A box
//! stays; references to its value go elsewhere.
//!
//! ```
//! use flatslab::pool::{InStorage, Intrusive, Pool, PoolBox, PoolStorage};
//! use flatslab::pool::{RecycledBox, RecyclingPool, StorageBox};
//! fn local<T>() {}
//! fn send<T: Send>() {}
//! fn sync<T: Sync>() {}
//! send::<Pool<'static, u64>>();
//! send::<Pool<'static, u64, Intrusive>>();
//! send::<Pool<'static, u64, InStorage>>();
//! send::<RecyclingPool<u64>>();
//! send::<Pool<'static, std::cell::Cell<u64>>>();
//! sync::<PoolBox<'static, u64>>();
//! sync::<StorageBox<'static, u64>>();
//! sync::<RecycledBox<'static, u64>>();
//! sync::<PoolStorage<u64, 1>>();
//! local::<Pool<'static, std::rc::Rc<u64>>>();
//! local::<RecyclingPool<std::rc::Rc<u64>>>();
//! local::<PoolBox<'static, std::cell::Cell<u64>>>();
//! local::<RecycledBox<'static, std::cell::Cell<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::pool::Pool<'static, std::rc::Rc<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::pool::Pool<'static, std::rc::Rc<u64>, flatslab::pool::InStorage>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::pool::RecyclingPool<std::rc::Rc<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::pool::Pool<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::pool::Pool<'static, u64, flatslab::pool::Intrusive>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::pool::Pool<'static, u64, flatslab::pool::InStorage>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::pool::RecyclingPool<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::pool::PoolBox<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::pool::StorageBox<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::pool::RecycledBox<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::pool::PoolBox<'static, std::cell::Cell<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::pool::RecycledBox<'static, std::cell::Cell<u64>>>();
//! ```
//!
//! A storage has no values, and gives out its pool alone, once, on whichever thread
//! asks: that is where the values are then. So any storage is shared and sent.
//!
//! ```
//! use std::rc::Rc;
//! use flatslab::pool::PoolStorage;
//! fn both<T: Send + Sync>() {}
//! both::<PoolStorage<Rc<u64>, 1>>();
//! static STORAGE: PoolStorage<Rc<u64>, 1> = PoolStorage::new();
//! std::thread::spawn(|| {
//!     let pool = STORAGE.claim().unwrap();
//!     drop(pool.alloc(Rc::new(7)));
//! });
//! ```
//!
//! ```compile_fail,E0277
//! use std::rc::Rc;
//! use flatslab::pool::PoolStorage;
//! static STORAGE: PoolStorage<Rc<u64>, 1> = PoolStorage::new();
//! let pool = STORAGE.claim().unwrap();
//! std::thread::spawn(move || drop(pool.alloc(Rc::new(7))));
//! ```
