//! What must not compile of a `KeySlab`, each next to its twin that does.
//!
//! A slab of plain references goes to another thread if its values may.
//!
//! ```
//! let slab: flatslab::KeySlab<std::sync::Arc<u64>> = flatslab::KeySlab::new();
//! std::thread::spawn(move || drop(slab)).join().unwrap();
//! ```
//!
//! ```compile_fail,E0277
//! let slab: flatslab::KeySlab<std::rc::Rc<u64>> = flatslab::KeySlab::new();
//! std::thread::spawn(move || drop(slab)).join().unwrap();
//! ```
//!
//! Several threads read it, and none writes meanwhile.
//!
//! ```
//! let mut slab = flatslab::KeySlab::new();
//! let key = slab.insert(7);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| slab[key]);
//!     assert_eq!(slab[key], 7);
//! });
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::KeySlab::new();
//! let key = slab.insert(7);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| slab[key]);
//!     slab[key] = 8;
//! });
//! ```
//!
//! ```compile_fail,E0277
//! let mut slab = flatslab::KeySlab::new();
//! slab.insert(std::cell::Cell::new(7));
//! std::thread::scope(|scope| {
//!     scope.spawn(|| slab.len());
//! });
//! ```
//!
//! A reference into it keeps it from being changed.
//!
//! ```
//! let mut slab = flatslab::KeySlab::new();
//! let key = slab.insert(7);
//! let value = &slab[key];
//! assert_eq!(*value, 7);
//! slab.remove(key);
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::KeySlab::new();
//! let key = slab.insert(7);
//! let value = &slab[key];
//! slab.remove(key);
//! assert_eq!(*value, 7);
//! ```
//!
//! ```compile_fail,E0499
//! let mut slab = flatslab::KeySlab::new();
//! let entry = slab.vacant_entry();
//! slab.insert(7);
//! entry.insert(8);
//! ```
//!
//! What a value borrows outlives the slab.
//!
//! ```
//! let text = String::from("text");
//! let mut slab = flatslab::KeySlab::new();
//! slab.insert(&text);
//! ```
//!
//! ```compile_fail,E0597
//! let mut slab = flatslab::KeySlab::new();
//! let text = String::from("text");
//! slab.insert(&text);
//! ```
//!
//! A mutable iterator is invariant.
//!
//! ```compile_fail
//! use flatslab::key_slab::IterMut;
//!
//! fn shorten<'a>(iter: IterMut<'a, &'static str>) -> IterMut<'a, &'a str> {
//!     iter
//! }
//! ```
//!
//! A slab is invariant in its keys: a subtype may have cells of another kind.
//!
//! ```compile_fail,E0308
//! use flatslab::key_slab::NamedKey;
//! use flatslab::{Key, KeySlab};
//!
//! #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
//! struct Of<F>(Key, std::marker::PhantomData<F>);
//! type Sub = Of<for<'a> fn(&'a u8)>;
//! type Super = Of<fn(&'static u8)>;
//! impl NamedKey for Sub {
//!     type Inner = Key;
//!     fn from_inner(inner: Key) -> Self { Of(inner, std::marker::PhantomData) }
//!     fn into_inner(self) -> Key { self.0 }
//! }
//! impl NamedKey for Super {
//!     type Inner = Key;
//!     fn from_inner(inner: Key) -> Self { Of(inner, std::marker::PhantomData) }
//!     fn into_inner(self) -> Key { self.0 }
//! }
//! fn coerce(slab: KeySlab<u8, Sub>) -> KeySlab<u8, Super> {
//!     slab
//! }
//! ```
