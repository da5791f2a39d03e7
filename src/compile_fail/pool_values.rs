//! What must not compile of the types of pools: what values may borrow and own, variance,
//! pinning, threads. Each next to its twin that does.
//!
//! # What a value borrows outlives its box
//!
//! It need not outlive the pool.
//!
//! ```
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let text = String::from("text");
//! let boxed = pool.alloc(&text);
//! assert_eq!(*boxed, "text");
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let boxed;
//! {
//!     let text = String::from("text");
//!     boxed = pool.alloc(&text);
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
//! boxed = pool.alloc(&text);
//! ```
//!
//! A pool that keeps values drops them, so what they borrow outlives it too.
//!
//! ```
//! let text = String::from("text");
//! let pool = flatslab::pool::Pool::builder().capacity(1).recycle().build();
//! drop(pool.alloc_or_reuse(|| &text, |_| {}));
//! ```
//!
//! ```compile_fail,E0597
//! let pool = flatslab::pool::Pool::builder().capacity(1).recycle().build();
//! let text = String::from("text");
//! drop(pool.alloc_or_reuse(|| &text, |_| {}));
//! ```
//!
//! # Values may own boxes of their own pool, unless it keeps values
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! struct Node<'p>(Option<PoolBox<'p, Node<'p>>>);
//! let pool = Pool::with_capacity(2);
//! let leaf = pool.try_alloc(Node(None)).ok();
//! let root = pool.try_alloc(Node(leaf)).ok();
//! drop(root);
//! ```
//!
//! ```
//! use flatslab::pool::{Pool, PoolStorage, StorageBox};
//! struct Node<'p>(Option<StorageBox<'p, Node<'p>>>);
//! let mut storage = PoolStorage::<Node<'_>, 2>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let leaf = pool.try_alloc(Node(None)).ok();
//! let root = pool.try_alloc(Node(leaf)).ok();
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
//! let leaf = pool.try_alloc_or_reuse(|| Node(None), |_| {}).ok();
//! let root = pool.try_alloc_or_reuse(|| Node(leaf), |_| {}).ok();
//! ```
//!
//! Nor may those that it keeps refer to it.
//!
//! ```
//! struct Value<'p>(&'p flatslab::pool::Pool<'p, Value<'p>>);
//! let pool = flatslab::pool::Pool::with_capacity(1);
//! let boxed = pool.try_alloc(Value(&pool)).ok();
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0597
//! struct Value<'p>(&'p flatslab::pool::RecyclingPool<Value<'p>>);
//! let pool = flatslab::pool::Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.try_alloc_or_reuse(|| Value(&pool), |_| {}).ok();
//! drop(boxed);
//! ```
//!
//! # Pools and boxes are covariant, unless a pool keeps values
//!
//! ```
//! use flatslab::pool::{InStorage, Pool, PoolBox, StorageBox};
//! fn pool<'a>(pool: Pool<'static, &'static str>) -> Pool<'a, &'a str> { pool }
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
//!     std::mem::forget(pool.try_alloc(text));
//! }
//! let mut pool: Pool<'_, &'static str> = Pool::with_capacity(1);
//! use_up(&pool, &String::from("text"));
//! assert!(pool.is_full());
//! pool.reset();
//! assert_eq!(*pool.alloc("text"), "text");
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
//! let pinned = PoolBox::into_pin(pool.alloc(7));
//! let pool = Pool::leak(1);
//! let pinned = PoolBox::into_pin(pool.alloc(7));
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let pinned = PoolBox::into_pin(pool.alloc(7));
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
//! let pinned = PoolBox::into_pin(pool.alloc(7));
//! ```
//!
//! A claimed pool is not reset, replaced or claimed back once a box was pinned.
//!
//! ```
//! use flatslab::pool::{PoolBox, PoolStorage};
//! static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
//! let pool = STORAGE.claim().unwrap();
//! drop(pool.alloc(7));
//! pool.reset();
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::{PoolBox, PoolStorage};
//! static STORAGE: PoolStorage<u64, 1> = PoolStorage::new();
//! let pool = STORAGE.claim().unwrap();
//! drop(PoolBox::into_pin(pool.alloc(7)));
//! pool.reset();
//! ```
//!
//! # Threads
//!
//! A pool goes to another thread if its values may, and is used on one at a time. A box
//! stays; references to its value go elsewhere.
//!
//! ```
//! use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage};
//! use flatslab::pool::{RecycledBox, RecyclingPool, StorageBox};
//! fn local<T>() {}
//! fn send<T: Send>() {}
//! fn sync<T: Sync>() {}
//! send::<Pool<'static, u64>>();
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
//!     drop(pool.try_alloc(Rc::new(7)));
//! });
//! ```
//!
//! ```compile_fail,E0277
//! use std::rc::Rc;
//! use flatslab::pool::PoolStorage;
//! static STORAGE: PoolStorage<Rc<u64>, 1> = PoolStorage::new();
//! let pool = STORAGE.claim().unwrap();
//! std::thread::spawn(move || drop(pool.try_alloc(Rc::new(7))));
//! ```
