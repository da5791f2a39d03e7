//! What must not compile of what goes across threads, each next to its twin that does.
//!
//! # A value is sent only if its type may be
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let sent = slab.insert(std::cell::Cell::new(7)).into_send();
//! std::thread::spawn(move || sent.set(8)).join().unwrap();
//! ```
//!
//! ```compile_fail,E0599
//! let slab = flatslab::Slab::new();
//! let sent = slab.insert(std::rc::Rc::new(7)).into_send();
//! ```
//!
//! ```
//! fn send<T: Send>() {}
//! fn both<T: Send + Sync>() {}
//! send::<flatslab::sync::SendSlot<std::cell::Cell<u64>>>();
//! both::<flatslab::sync::SendSlot<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::sync::SendSlot<std::rc::Rc<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::sync::SendSlot<*const u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::sync::SendSlot<std::cell::Cell<u64>>>();
//! ```
//!
//! # The slab stays on its thread
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let sent = slab.insert(7).into_send();
//! std::thread::spawn(move || drop(sent)).join().unwrap();
//! slab.reclaim();
//! ```
//!
//! ```compile_fail,E0277
//! let slab = flatslab::Slab::new();
//! let sent = slab.insert(7).into_send();
//! std::thread::spawn(move || slab.receive(sent)).join().unwrap();
//! ```
//!
//! # What a value borrows outlives its handle
//!
//! ```
//! let text = String::from("text");
//! let slab = flatslab::Slab::new();
//! let sent = slab.insert(text.as_str()).into_send();
//! drop(slab);
//! assert_eq!(*sent, "text");
//! ```
//!
//! ```compile_fail,E0505
//! let text = String::from("text");
//! let slab = flatslab::Slab::new();
//! let sent = slab.insert(text.as_str()).into_send();
//! drop(text);
//! assert_eq!(*sent, "text");
//! ```
//!
//! # A handle is invariant in its value's type, as the slot it came from
//!
//! ```
//! fn same<'a>(sent: flatslab::sync::SendSlot<&'a str>) -> flatslab::sync::SendSlot<&'a str> {
//!     sent
//! }
//! ```
//!
//! ```compile_fail
//! fn shorter<'a>(sent: flatslab::sync::SendSlot<&'static str>) -> flatslab::sync::SendSlot<&'a str> {
//!     sent
//! }
//! ```
//!
//! # Rings go to other threads, and so do their ends
//!
//! ```
//! fn both<T: Send + Sync>() {}
//! both::<flatslab::sync::SpscRing>();
//! both::<flatslab::sync::Producer>();
//! both::<flatslab::sync::Consumer>();
//! both::<flatslab::sync::Entry<'static>>();
//! both::<flatslab::sync::Frame<'static>>();
//! # #[cfg(feature = "std")]
//! both::<flatslab::sync::SharedRing>();
//! # #[cfg(feature = "std")]
//! both::<flatslab::sync::SharedFrame>();
//! ```
//!
//! # A frame borrows its end, and an entry too
//!
//! ```
//! let (mut producer, mut consumer) = flatslab::sync::SpscRing::with_capacity(2, 8).split();
//! producer.push(b"1").unwrap();
//! let frame = consumer.pop().unwrap();
//! assert_eq!(*frame, *b"1");
//! drop(frame);
//! consumer.pop();
//! ```
//!
//! ```compile_fail,E0499
//! let (mut producer, mut consumer) = flatslab::sync::SpscRing::with_capacity(2, 8).split();
//! producer.push(b"1").unwrap();
//! let frame = consumer.pop().unwrap();
//! consumer.pop();
//! assert_eq!(*frame, *b"1");
//! ```
//!
//! ```compile_fail,E0499
//! let (mut producer, _consumer) = flatslab::sync::SpscRing::with_capacity(2, 8).split();
//! let entry = producer.reserve().unwrap();
//! producer.push(b"1").unwrap();
//! entry.commit();
//! ```
//!
//! # A shared slab goes where its values may
//!
//! ```
//! use flatslab::sync::{OwnedRef, SharedKey, SharedRef, SharedSlab};
//!
//! fn local<T>() {}
//! local::<SharedSlab<std::rc::Rc<u64>>>();
//! fn send<T: Send>() {}
//! send::<SharedSlab<std::cell::Cell<u64>>>();
//! fn both<T: Send + Sync>() {}
//! both::<SharedSlab<u64>>();
//! both::<SharedRef<'static, u64>>();
//! both::<OwnedRef<u64>>();
//! both::<SharedKey>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::sync::SharedSlab<std::rc::Rc<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::sync::SharedSlab<std::cell::Cell<u64>>>();
//! ```
//!
//! A guard may be the one that drops the value, so its value has to be `Send`; and another
//! thread may read it at once, so it has to be `Sync`.
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::sync::SharedRef<'static, std::cell::Cell<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::sync::OwnedRef<std::cell::Cell<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::sync::SharedRef<'static, std::sync::MutexGuard<'static, u64>>>();
//! ```
//!
//! # What is exclusive waits for the guards
//!
//! ```
//! let mut slab = flatslab::sync::SharedSlab::with_capacity(1);
//! let key = slab.insert(7).unwrap();
//! let guard = slab.get(key).unwrap();
//! assert_eq!(*guard, 7);
//! drop(guard);
//! *slab.get_mut(key).unwrap() = 8;
//! slab.clear();
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::sync::SharedSlab::with_capacity(1);
//! let key = slab.insert(7).unwrap();
//! let guard = slab.get(key).unwrap();
//! *slab.get_mut(key).unwrap() = 8;
//! assert_eq!(*guard, 7);
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::sync::SharedSlab::with_capacity(1);
//! let key = slab.insert(7).unwrap();
//! let guard = slab.get(key).unwrap();
//! slab.clear();
//! assert_eq!(*guard, 7);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::sync::SharedSlab::with_capacity(1);
//! let key = slab.insert(7).unwrap();
//! let guard = slab.get(key).unwrap();
//! drop(slab);
//! assert_eq!(*guard, 7);
//! ```
//!
//! # A guard is read through, not written
//!
//! ```compile_fail,E0594
//! let slab = flatslab::sync::SharedSlab::with_capacity(1);
//! let key = slab.insert(7).unwrap();
//! *slab.get(key).unwrap() = 8;
//! ```
