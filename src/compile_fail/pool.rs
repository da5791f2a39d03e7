//! What must not compile of pools, each next to its twin that does.
//!
//! # No box is freed twice
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
//! drop(boxed);
//! let boxed = pool.alloc(8);
//! PoolBox::into_inner(boxed);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
//! drop(boxed);
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
//! PoolBox::into_inner(boxed);
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
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
//! let (seven, vacant) = PoolBox::take(pool.alloc(7));
//! assert_eq!(*PoolBox::write(vacant, seven + 1), 8);
//! ```
//!
//! ```compile_fail,E0382
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let vacant = pool.alloc_uninit();
//! let first = PoolBox::write(vacant, 7);
//! let second = PoolBox::write(vacant, 8);
//! ```
//!
//! ```compile_fail,E0369
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::<u64>::with_capacity(1);
//! let vacant = pool.alloc_uninit();
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
//! let (mut a, mut b) = (one.alloc(1), two.alloc(2));
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
//! two.free(one.alloc(1));
//! ```
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let pointer = PoolBox::into_raw(pool.alloc(1));
//! // SAFETY: straight from `into_raw` of a box of this pool.
//! drop(unsafe { pool.box_from_raw(pointer) });
//! ```
//!
//! ```compile_fail,E0133
//! use flatslab::pool::{Pool, PoolBox};
//! let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
//! let pointer = PoolBox::into_raw(one.alloc(1));
//! drop(two.box_from_raw(pointer));
//! ```
//!
//! No box is made by hand, and none of one kind of memory is one of another.
//!
//! ```compile_fail,E0451
//! use flatslab::pool::{Pool, PoolBox};
//! let (one, two) = (Pool::with_capacity(1), Pool::with_capacity(1));
//! let boxed = one.alloc(1);
//! let moved = PoolBox { value: std::ptr::NonNull::<i32>::dangling(), ..two.alloc(2) };
//! ```
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox, PoolStorage, StorageBox};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let boxed: StorageBox<'_, u64> = pool.alloc(7);
//! ```
//!
//! ```compile_fail,E0308
//! use flatslab::pool::{Pool, PoolBox, PoolStorage};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let boxed: PoolBox<'_, u64> = pool.alloc(7);
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
//! let mut live = vec![one.alloc(1)];
//! live.push(two.alloc(2));
//! ```
//!
//! ```compile_fail,E0597
//! use flatslab::pool::Pool;
//! let one = Pool::with_capacity(1);
//! let mut live = vec![one.alloc(1)];
//! {
//!     let two = Pool::with_capacity(1);
//!     live.push(two.alloc(2));
//! }
//! ```
//!
//! # No box is used after its pool is gone
//!
//! ```
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
//! assert_eq!(*boxed, 7);
//! drop(boxed);
//! drop(pool);
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::Pool;
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
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
//! boxed = pool.alloc(7);
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolStorage};
//! let mut storage = PoolStorage::<u64, 1>::new();
//! let pool = Pool::in_storage(&mut storage);
//! let boxed = pool.alloc(7);
//! let moved = pool;
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0515
//! use flatslab::pool::{Pool, PoolBox};
//! fn made<'p>() -> PoolBox<'p, u64> {
//!     let pool = Pool::with_capacity(1);
//!     pool.alloc(7)
//! }
//! ```
//!
//! Nor is a recycled one:
//!
//! ```
//! use flatslab::pool::Pool;
//! let pool = Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.alloc_or_reuse(|| 7, |_| {});
//! drop(boxed);
//! drop(pool);
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::Pool;
//! let pool = Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.alloc_or_reuse(|| 7, |_| {});
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
//! assert!(pool.try_alloc(7).is_ok());
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
//! let boxed = pool.alloc(7);
//! let leaked = PoolBox::leak(pool.alloc(8));
//! assert_eq!(*boxed + *leaked, 15);
//! drop(boxed);
//! pool.reset();
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
//! pool.reset();
//! assert_eq!(*boxed, 7);
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(7);
//! pool.reset();
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::{Pool, PoolBox};
//! let mut pool = Pool::with_capacity(1);
//! let leaked = PoolBox::leak(pool.alloc(7));
//! pool.reset();
//! assert_eq!(*leaked, 7);
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::<u64>::with_capacity(1);
//! let vacant = pool.alloc_uninit();
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
//! drop(pool.alloc_or_reuse(|| 7, |_| {}));
//! pool.clear();
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::pool::Pool;
//! let mut pool = Pool::builder().capacity(1).recycle().build();
//! let boxed = pool.alloc_or_reuse(|| 7, |_| {});
//! pool.clear();
//! drop(boxed);
//! ```
//!
//! # No reference outlives its box, and no leaked one its pool
//!
//! ```
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(String::from("text"));
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
//! let boxed = pool.alloc(String::from("text"));
//! let text: &str = &boxed;
//! drop(boxed);
//! assert_eq!(text, "text");
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let boxed = pool.alloc(String::from("text"));
//! let text: &str = &boxed;
//! let (string, vacant) = PoolBox::take(boxed);
//! assert_eq!(text, "text");
//! ```
//!
//! ```compile_fail,E0505
//! use flatslab::pool::{Pool, PoolBox};
//! let pool = Pool::with_capacity(1);
//! let leaked = PoolBox::leak(pool.alloc(7));
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
//! drop(pool.alloc_or_reuse(String::new, |_| {}));
//! drop(pool.alloc_or_reuse(String::new, |text| length = text.len()));
//! assert_eq!(length, 0);
//! ```
//!
//! ```compile_fail
//! use flatslab::pool::Pool;
//! let pool = Pool::builder().capacity(1).recycle().build();
//! let mut kept = None;
//! drop(pool.alloc_or_reuse(String::new, |_| {}));
//! drop(pool.alloc_or_reuse(String::new, |text| kept = Some(text)));
//! kept.unwrap().clear();
//! ```
