//! What must not compile of epoch slabs, each next to its twin that does.
//!
//! # A slab goes to another thread as a whole, and what borrows it does not
//!
//! ```
//! fn local<T>() {}
//! local::<flatslab::epoch::EpochSlab<std::rc::Rc<u64>>>();
//! local::<flatslab::epoch::Ref<'static, u64>>();
//! local::<flatslab::epoch::RefMut<'static, u64>>();
//! local::<flatslab::epoch::EpochBuf<'static>>();
//! local::<flatslab::epoch::EpochGuard<'static, flatslab::epoch::Values<u64>>>();
//! local::<flatslab::epoch::Scope<'static, flatslab::epoch::Values<u64>>>();
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::EpochSlab<u64>>();
//! send::<flatslab::epoch::EpochSlab<std::cell::Cell<u64>>>();
//! send::<flatslab::epoch::EpochBytes>();
//! fn both<T: Send + Sync>() {}
//! both::<flatslab::epoch::EpochKey>();
//! both::<flatslab::epoch::Epoch>();
//! both::<flatslab::epoch::CloseReport>();
//! both::<flatslab::epoch::EpochStats>();
//! both::<flatslab::epoch::Stats>();
//! both::<flatslab::epoch::CloseError>();
//! both::<flatslab::epoch::ClearError>();
//! both::<flatslab::epoch::BufError>();
//! both::<flatslab::epoch::InsertError<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::EpochSlab<std::rc::Rc<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::Ref<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::RefMut<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::EpochBuf<'static>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::EpochGuard<'static, flatslab::epoch::Values<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::EpochGuard<'static, flatslab::epoch::Bytes>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::Scope<'static, flatslab::epoch::Values<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::epoch::Scope<'static, flatslab::epoch::Bytes>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::epoch::EpochSlab<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::epoch::EpochBytes>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::epoch::Ref<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::epoch::RefMut<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::epoch::EpochBuf<'static>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::epoch::EpochGuard<'static, flatslab::epoch::Values<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::epoch::Scope<'static, flatslab::epoch::Values<u64>>>();
//! ```
//!
//! # Slabs and what writes are invariant in their value
//!
//! ```
//! use flatslab::epoch::{EpochGuard, EpochSlab, Ref, RefMut, Scope, Values};
//! type Text = &'static str;
//! fn slab(slab: EpochSlab<Text>) -> EpochSlab<Text> { slab }
//! fn epoch<'s>(guard: EpochGuard<'s, Values<Text>>) -> EpochGuard<'s, Values<Text>> { guard }
//! fn scope<'a, 's>(scope: &'a Scope<'s, Values<Text>>) -> &'a Scope<'s, Values<Text>> { scope }
//! fn guard<'g>(guard: RefMut<'g, Text>) -> RefMut<'g, Text> { guard }
//! // A shared guard only reads, and may be shortened.
//! fn shared<'g, 'a>(guard: Ref<'g, Text>) -> Ref<'g, &'a str> { guard }
//! ```
//!
//! ```compile_fail
//! fn slab<'a>(slab: flatslab::epoch::EpochSlab<&'static str>) -> flatslab::epoch::EpochSlab<&'a str> { slab }
//! ```
//!
//! ```compile_fail
//! fn slab<'s, 'a>(slab: &'s flatslab::epoch::EpochSlab<&'static str>) -> &'s flatslab::epoch::EpochSlab<&'a str> { slab }
//! ```
//!
//! ```compile_fail
//! fn guard<'g, 'a>(guard: flatslab::epoch::RefMut<'g, &'static str>) -> flatslab::epoch::RefMut<'g, &'a str> { guard }
//! ```
//!
//! ```compile_fail
//! use flatslab::epoch::{EpochGuard, Values};
//! fn epoch<'s, 'a>(guard: EpochGuard<'s, Values<&'static str>>) -> EpochGuard<'s, Values<&'a str>> { guard }
//! ```
//!
//! ```compile_fail
//! use flatslab::epoch::{Scope, Values};
//! fn scope<'b, 's, 'a>(scope: &'b Scope<'s, Values<&'static str>>) -> &'b Scope<'s, Values<&'a str>> { scope }
//! ```
//!
//! ```compile_fail
//! use flatslab::epoch::Ref;
//! fn long<'l: 's, 's>(guard: Ref<'s, u64>) -> Ref<'l, u64> { guard }
//! ```
//!
//! # A value may not outlive what it borrows
//!
//! The end of the slab drops values, which may look at it.
//!
//! ```
//! let text = String::from("text");
//! let slab = flatslab::epoch::EpochSlab::new();
//! slab.insert(text.as_str());
//! ```
//!
//! ```compile_fail,E0597
//! let slab = flatslab::epoch::EpochSlab::new();
//! let text = String::from("text");
//! slab.insert(text.as_str());
//! ```
//!
//! ```compile_fail,E0597
//! let mut slab = flatslab::epoch::EpochSlab::new();
//! let text = String::from("text");
//! slab.scope(|scope| *scope.insert(text.as_str()) = "other");
//! ```
//!
//! # What borrows a slab does not outlive it
//!
//! ```
//! let slab = flatslab::epoch::EpochSlab::new();
//! let bytes = flatslab::epoch::EpochBytes::new();
//! let key = slab.insert(7);
//! drop(slab.get(key));
//! drop((slab.get_mut(key), bytes.alloc(7)));
//! drop((slab.enter(), slab.keys_in(slab.current()), slab.epochs()));
//! drop((slab, bytes));
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let borrow = slab.get(key);
//! drop(slab);
//! drop(borrow);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let borrow = slab.get_mut(key);
//! drop(slab);
//! drop(borrow);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let borrow = slab.try_get(key);
//! drop(slab);
//! drop(borrow);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let borrow = slab.enter();
//! drop(slab);
//! drop(borrow);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let borrow = slab.keys_in(slab.current());
//! drop(slab);
//! drop(borrow);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let borrow = slab.epochs();
//! drop(slab);
//! drop(borrow);
//! ```
//!
//! ```compile_fail,E0505
//! let bytes = flatslab::epoch::EpochBytes::new();
//! let buf = bytes.alloc(7);
//! drop(bytes);
//! drop(buf);
//! ```
//!
//! # References to a value end with the guard
//!
//! ```
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let guard = slab.get(key).unwrap();
//! let value: &i32 = &guard;
//! assert_eq!(*value, 7);
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let guard = slab.get(key).unwrap();
//! let value: &i32 = &guard;
//! drop(guard);
//! assert_eq!(*value, 7);
//! ```
//!
//! ```compile_fail
//! use flatslab::epoch::{EpochSlab, Ref};
//! let slab = EpochSlab::new();
//! let key = slab.insert(7);
//! let mut kept = None;
//! Ref::map(slab.get(key).unwrap(), |value| { kept = Some(value); value });
//! kept;
//! ```
//!
//! ```compile_fail,E0505
//! let bytes = flatslab::epoch::EpochBytes::new();
//! let buf = bytes.alloc(7);
//! let first = &buf[0];
//! drop(buf);
//! assert_eq!(*first, 0);
//! ```
//!
//! # What is in a scope stays there
//!
//! ```
//! let mut slab = flatslab::epoch::EpochSlab::new();
//! let mut kept = None;
//! let value = slab.scope(|scope| { let value = scope.insert(7); kept = Some(*value); *value });
//! assert_eq!(Some(value), kept);
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let escaped = slab.scope(|scope| scope.insert(7));
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let escaped = slab.scope(|scope| { let key = scope.insert_key(7); scope.get(key) });
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let escaped = slab.scope(|scope| { let key = scope.insert_key(7); scope.get_mut(key) });
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let escaped = slab.scope(|scope| scope);
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let mut kept = None;
//! slab.scope(|scope| kept = Some(scope.insert(7)));
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let mut kept = None;
//! slab.scope(|scope| { let key = scope.insert_key(7); kept = scope.get(key); });
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let mut kept = None;
//! slab.scope(|scope| kept = Some(scope));
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let escaped = slab.scope(|scope| scope.scope(|inner| inner.insert(7)));
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| {
//!     let mut kept = None;
//!     scope.scope(|inner| kept = Some(inner.insert(7)));
//! });
//! ```
//!
//! ```
//! let mut bytes = flatslab::epoch::EpochBytes::new();
//! let len = bytes.scope(|scope| scope.try_alloc(7).unwrap().len());
//! assert_eq!(len, 7);
//! ```
//!
//! ```compile_fail
//! let mut bytes = flatslab::epoch::EpochBytes::new();
//! let buf = bytes.scope(|scope| scope.try_alloc(7).unwrap());
//! ```
//!
//! # No epoch ends within a scope
//!
//! A scope is no slab.
//!
//! ```
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| drop(scope.epoch()));
//! slab.advance();
//! slab.clear_epoch(slab.current());
//! ```
//!
//! ```compile_fail,E0599
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| drop(scope.advance()));
//! ```
//!
//! ```compile_fail,E0599
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| drop(scope.advance_and_close()));
//! ```
//!
//! ```compile_fail,E0599
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| drop(scope.close(scope.epoch())));
//! ```
//!
//! ```compile_fail,E0599
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| drop(scope.clear_epoch(scope.epoch())));
//! ```
//!
//! ```compile_fail,E0599
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| drop(scope.shrink_to_fit()));
//! ```
//!
//! ```compile_fail,E0599
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! slab.scope(|scope| drop(scope.enter()));
//! ```
//!
//! # A slab is not used within its scope, nor a scope within one inside it
//!
//! ```
//! let mut slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! slab.scope(|scope| {
//!     let value = scope.insert(8);
//!     *value += 1;
//!     scope.scope(|inner| drop((inner.insert(9), inner.take(key))));
//!     scope.insert(10);
//! });
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! slab.scope(|scope| drop(slab.take(key)));
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::epoch::EpochSlab::new();
//! let key = slab.insert(7);
//! let guard = slab.get(key);
//! slab.scope(|scope| drop(scope.take(key)));
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::epoch::EpochSlab::<u64>::new();
//! let guard = slab.enter();
//! slab.scope(|scope| drop(scope.epoch()));
//! drop(guard);
//! ```
//!
//! ```compile_fail
//! let mut slab = flatslab::epoch::EpochSlab::new();
//! slab.scope(|scope| {
//!     scope.scope(|inner| drop((inner.insert(9), scope.insert(10))));
//! });
//! ```
//!
//! ```compile_fail,E0502
//! let mut slab = flatslab::epoch::EpochSlab::new();
//! slab.scope(|scope| {
//!     let value = scope.insert(8);
//!     scope.scope(|inner| drop(inner.insert(9)));
//!     *value += 1;
//! });
//! ```
//!
//! # Scopes do not change places
//!
//! One that was swapped would insert into a slab whose scope ends first.
//!
//! ```
//! use flatslab::epoch::EpochSlab;
//! let (mut one, mut two) = (EpochSlab::<u64>::new(), EpochSlab::<u64>::new());
//! one.scope(|a| two.scope(|b| std::mem::swap(a.insert(1), b.insert(2))));
//! ```
//!
//! ```compile_fail
//! use flatslab::epoch::EpochSlab;
//! let (mut one, mut two) = (EpochSlab::<u64>::new(), EpochSlab::<u64>::new());
//! one.scope(|a| two.scope(|b| std::mem::swap(a, b)));
//! ```
//!
//! # There are no other contents
//!
//! ```
//! fn any<C: flatslab::epoch::Contents>(slab: &flatslab::epoch::Epochs<C>) -> usize { slab.ring() }
//! assert_eq!(any(&flatslab::epoch::EpochBytes::new()), 16);
//! ```
//!
//! ```compile_fail,E0277
//! struct Own;
//! impl flatslab::epoch::Contents for Own {
//!     const NEEDS_DROP: bool = false;
//!     unsafe fn drop_in_place(_: core::ptr::NonNull<u8>) {}
//! }
//! ```
//!
//! # A slab that a panic may leave with a value half changed is not shared across it
//!
//! ```
//! fn shared<T: std::panic::RefUnwindSafe>() {}
//! shared::<flatslab::epoch::EpochBytes>();
//! ```
//!
//! ```compile_fail,E0277
//! fn shared<T: std::panic::RefUnwindSafe>() {}
//! shared::<flatslab::epoch::EpochSlab<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn moved<T: std::panic::UnwindSafe>() {}
//! moved::<flatslab::epoch::EpochSlab<&std::cell::Cell<u64>>>();
//! ```
