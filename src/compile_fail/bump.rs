//! What must not compile of arenas, each next to its twin that does.
//!
//! # A reference may not outlive its arena, a reset, or its scope
//!
//! ```
//! let arena = flatslab::bump::Arena::new();
//! let value = arena.alloc(7);
//! assert_eq!(*value, 7);
//! drop(arena);
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bump::Arena::new();
//! let value = arena.alloc(7);
//! drop(arena);
//! assert_eq!(*value, 7);
//! ```
//!
//! ```compile_fail,E0597
//! let value;
//! {
//!     let arena = flatslab::bump::Arena::new();
//!     value = arena.alloc(7);
//! }
//! assert_eq!(*value, 7);
//! ```
//!
//! ```
//! let mut arena = flatslab::bump::Arena::new();
//! let value = arena.alloc(7);
//! assert_eq!(*value, 7);
//! arena.reset();
//! ```
//!
//! ```compile_fail,E0502
//! let mut arena = flatslab::bump::Arena::new();
//! let value = arena.alloc(7);
//! arena.reset();
//! assert_eq!(*value, 7);
//! ```
//!
//! ```compile_fail,E0502
//! let mut arena = flatslab::bump::Arena::bounded(64);
//! let value = arena.alloc(7);
//! arena.reset();
//! assert_eq!(*value, 7);
//! ```
//!
//! ```compile_fail,E0502
//! let mut arena = flatslab::bump::Arena::new();
//! let value = arena.alloc(7);
//! arena.shrink_to_fit();
//! assert_eq!(*value, 7);
//! ```
//!
//! Boxes and vectors have destructors, which need no further use:
//!
//! ```compile_fail,E0502
//! let mut arena = flatslab::bump::Arena::new();
//! let boxed = arena.boxed(String::new());
//! arena.reset();
//! drop(boxed);
//! ```
//!
//! ```compile_fail,E0502
//! let mut arena = flatslab::bump::Arena::new();
//! let vec = flatslab::bump::ArenaVec::<String>::new_in(&arena);
//! arena.reset();
//! drop(vec);
//! ```
//!
//! ```compile_fail,E0597
//! let boxed;
//! let arena = flatslab::bump::Arena::new();
//! boxed = arena.boxed(7);
//! ```
//!
//! What a box drops must be there:
//!
//! ```
//! let arena = flatslab::bump::Arena::new();
//! let text = String::from("text");
//! let boxed = arena.boxed(text.as_str());
//! assert_eq!(*boxed, "text");
//! ```
//!
//! ```compile_fail,E0597
//! let arena = flatslab::bump::Arena::new();
//! let boxed;
//! let text = String::from("text");
//! boxed = arena.boxed(text.as_str());
//! ```
//!
//! # Nothing escapes a scope
//!
//! ```
//! let mut arena = flatslab::bump::Arena::new();
//! let value = arena.scope(|scope| *scope.alloc(7));
//! assert_eq!(value, 7);
//! ```
//!
//! ```compile_fail
//! let mut arena = flatslab::bump::Arena::new();
//! let value = arena.scope(|scope| scope.alloc(7));
//! assert_eq!(*value, 7);
//! ```
//!
//! ```compile_fail
//! let mut arena = flatslab::bump::Arena::new();
//! let boxed = arena.scope(|scope| scope.boxed(7));
//! assert_eq!(*boxed, 7);
//! ```
//!
//! By return or by assignment, itself included:
//!
//! ```
//! let mut arena = flatslab::bump::Arena::new();
//! let mut kept = None;
//! arena.scope(|scope| kept = Some(*scope.alloc(7)));
//! assert_eq!(kept, Some(7));
//! ```
//!
//! ```compile_fail,E0521
//! let mut arena = flatslab::bump::Arena::new();
//! let mut kept = None;
//! arena.scope(|scope| kept = Some(scope.alloc(7)));
//! assert_eq!(kept, Some(&mut 7));
//! ```
//!
//! ```compile_fail,E0521
//! let mut arena = flatslab::bump::Arena::new();
//! let mut kept = None;
//! arena.scope(|scope| kept = Some(scope));
//! drop(kept);
//! ```
//!
//! ```compile_fail
//! let mut arena = flatslab::bump::Arena::new();
//! let scope = arena.scope(|scope| scope);
//! scope.alloc(7);
//! ```
//!
//! ```compile_fail,E0521
//! let mut arena = flatslab::bump::Arena::new();
//! let mut root = arena.as_scope();
//! let mut row = vec![root.alloc(1)];
//! root.scope(|scope| row.push(scope.alloc(2)));
//! assert_eq!(row.len(), 2);
//! ```
//!
//! Two scopes cannot change places:
//!
//! ```
//! let (mut one, mut other) = (flatslab::bump::Arena::new(), flatslab::bump::Arena::new());
//! one.scope(|mut a| other.scope(|mut b| drop((&mut a, &mut b))));
//! ```
//!
//! ```compile_fail,E0521
//! let (mut one, mut other) = (flatslab::bump::Arena::new(), flatslab::bump::Arena::new());
//! one.scope(|mut a| other.scope(|mut b| std::mem::swap(&mut a, &mut b)));
//! ```
//!
//! ```compile_fail,E0499
//! let mut arena = flatslab::bump::Arena::new();
//! let mut root = arena.as_scope();
//! root.scope(|mut a| a.scope(|mut b| std::mem::swap(&mut a, &mut b)));
//! ```
//!
//! A scope is invariant:
//!
//! ```compile_fail
//! use flatslab::bump::Scope;
//!
//! fn shorten<'short, 'long: 'short>(scope: Scope<'long, 'static>) -> Scope<'short, 'static> {
//!     scope
//! }
//! ```
//!
//! # The parent is locked while an inner scope is there
//!
//! ```
//! let mut arena = flatslab::bump::Arena::new();
//! let mut root = arena.as_scope();
//! let kept = root.alloc(1);
//! root.scope(|scope| *kept += *scope.alloc(2));
//! root.alloc(*kept);
//! ```
//!
//! ```compile_fail,E0502
//! let mut arena = flatslab::bump::Arena::new();
//! let mut root = arena.as_scope();
//! root.scope(|_| drop(root.alloc(1) as *mut i32));
//! ```
//!
//! ```compile_fail,E0502
//! let mut arena = flatslab::bump::Arena::new();
//! arena.scope(|_| drop(arena.alloc(1) as *mut i32));
//! ```
//!
//! A vector of the parent would grow in the inner one's memory:
//!
//! ```
//! use flatslab::bump::{Arena, ArenaVec};
//!
//! let mut arena = Arena::new();
//! let mut root = arena.as_scope();
//! let vec = ArenaVec::<u64>::new_in(&root);
//! drop(vec);
//! root.scope(|_| ());
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::bump::{Arena, ArenaVec};
//!
//! let mut arena = Arena::new();
//! let mut root = arena.as_scope();
//! let vec = ArenaVec::<u64>::new_in(&root);
//! root.scope(|_| ());
//! drop(vec);
//! ```
//!
//! ```compile_fail,E0502
//! use flatslab::bump::{Arena, ArenaVec};
//!
//! let mut arena = Arena::new();
//! let mut vec = ArenaVec::new_in(&arena);
//! arena.scope(|_| vec.push(7));
//! ```
//!
//! A scope has no reset:
//!
//! ```compile_fail,E0599
//! flatslab::bump::Arena::new().as_scope().reset();
//! ```
//!
//! # Threads
//!
//! ```
//! use flatslab::bump::{Arena, ArenaBox, ArenaVec, Checkpoint, Scope};
//!
//! fn send<T: Send>() {}
//! fn sync<T: Sync>() {}
//! fn local<T>() {}
//! send::<(Arena, ArenaBox<'static, u64>)>();
//! sync::<(ArenaBox<'static, u64>, ArenaVec<'static, u64>)>();
//! local::<(Scope<'static, 'static>, Checkpoint, ArenaBox<'static, std::rc::Rc<u64>>)>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bump::Arena>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bump::Scope<'static, 'static>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bump::Scope<'static, 'static>>();
//! ```
//!
//! ```compile_fail,E0277
//! let mut arena = flatslab::bump::Arena::new();
//! arena.scope(|scope| {
//!     std::thread::scope(|threads| {
//!         threads.spawn(move || scope.alloc(7));
//!     });
//! });
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bump::ArenaVec<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bump::ArenaVec<'static, std::cell::Cell<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bump::ArenaBox<'static, std::rc::Rc<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bump::ArenaBox<'static, dyn Fn()>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bump::ArenaBox<'static, std::cell::Cell<u64>>>();
//! ```
//!
//! # The macro for boxes of trait objects
//!
//! ```
//! use std::fmt::Display;
//!
//! use flatslab::bump::{Arena, ArenaBox};
//!
//! fn show<'a>(arena: &'a Arena, text: &'a str) -> ArenaBox<'a, dyn Display + 'a> {
//!     flatslab::arena_box_as!(arena.boxed(text) => dyn Display + 'a)
//! }
//! assert_eq!(show(&Arena::new(), "text").to_string(), "text");
//! ```
//!
//! It lengthens no lifetime:
//!
//! ```compile_fail,E0621
//! use std::fmt::Display;
//!
//! use flatslab::bump::{Arena, ArenaBox};
//!
//! fn show<'a>(arena: &'a Arena, text: &str) -> ArenaBox<'a, dyn Display + 'a> {
//!     flatslab::arena_box_as!(arena.boxed(text) => dyn Display + 'a)
//! }
//! ```
//!
//! ```compile_fail
//! use std::fmt::Display;
//!
//! use flatslab::bump::{Arena, ArenaBox};
//!
//! fn longer<'a>(boxed: ArenaBox<'a, dyn Display + 'a>) -> ArenaBox<'a, dyn Display + 'static> {
//!     flatslab::arena_box_as!(boxed => dyn Display + 'static)
//! }
//! ```
//!
//! ```compile_fail
//! use flatslab::bump::ArenaBox;
//!
//! fn longer<'a>(boxed: ArenaBox<'a, &'a str>) -> ArenaBox<'a, &'static str> {
//!     flatslab::arena_box_as!(boxed => &'static str)
//! }
//! ```
//!
//! It casts to no unrelated type, and makes no unsafe call safe:
//!
//! ```compile_fail,E0308
//! let arena = flatslab::bump::Arena::new();
//! flatslab::arena_box_as!(arena.boxed(7_u64) => i64);
//! ```
//!
//! ```compile_fail,E0277
//! let arena = flatslab::bump::Arena::new();
//! flatslab::arena_box_as!(arena.boxed(std::rc::Rc::new(7)) => dyn Send);
//! ```
//!
//! ```compile_fail,E0133
//! const unsafe fn three() -> usize {
//!     3
//! }
//! let arena = flatslab::bump::Arena::new();
//! flatslab::arena_box_as!(arena.boxed([1_u8; 3]) => [u8; three()]);
//! ```
//!
//! ```compile_fail,E0133
//! let arena = flatslab::bump::Arena::new();
//! flatslab::arena_box_as!(arena.boxed(String::from_utf8_unchecked(vec![])) => dyn Send);
//! ```
