//! What must not compile: each line that fails stands beside its twin that
//! compiles, so that it can only fail for the reason meant.
//!
//! Doctests rather than a crate of their own: the error code is checked on a
//! nightly compiler, and no message is pinned to one version.
//!
//! # Nothing goes to another thread
//!
//! ```
//! fn local<T>() {}
//! local::<flatslab::BoundedSlab<u64>>();
//! local::<flatslab::Slab<u64>>();
//! local::<flatslab::Slot<u64>>();
//! local::<flatslab::VacantSlot<u64>>();
//! local::<flatslab::SlotBox<u64>>();
//! local::<flatslab::Ref<'static, u64>>();
//! local::<flatslab::RefMut<'static, u64>>();
//! local::<flatslab::UntrackedAccessor<'static, u64>>();
//! local::<flatslab::SlabUntrackedAccessor<'static, u64>>();
//! fn both<T: Send + Sync>() {}
//! both::<flatslab::Key>();
//! both::<flatslab::SlabBuilder<std::rc::Rc<u64>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::BoundedSlab<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::BoundedSlab<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::Slab<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::Slab<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::Slot<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::Slot<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::VacantSlot<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::VacantSlot<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::SlotBox<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::SlotBox<u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::Ref<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::Ref<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::RefMut<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::RefMut<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::UntrackedAccessor<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::SlabUntrackedAccessor<'static, u64>>();
//! ```
//!
//! # Handles and slabs are invariant in their value
//!
//! A handle that could be shortened would let a short-lived reference in, to be
//! read through the slab afterwards.
//!
//! ```
//! use flatslab::{BoundedSlab, Ref, RefMut, Slab, Slot, SlotBox, VacantSlot};
//! type Text = &'static str;
//! fn slot(slot: Slot<Text>) -> Slot<Text> { slot }
//! fn vacant(slot: VacantSlot<Text>) -> VacantSlot<Text> { slot }
//! fn boxed(slot: SlotBox<Text>) -> SlotBox<Text> { slot }
//! fn guard<'g>(guard: RefMut<'g, Text>) -> RefMut<'g, Text> { guard }
//! fn bounded(slab: BoundedSlab<Text>) -> BoundedSlab<Text> { slab }
//! fn growable(slab: Slab<Text>) -> Slab<Text> { slab }
//! // A shared guard only reads, and may be shortened.
//! fn shared<'g, 'a>(guard: Ref<'g, Text>) -> Ref<'g, &'a str> { guard }
//! ```
//!
//! ```compile_fail
//! fn slot<'a>(slot: flatslab::Slot<&'static str>) -> flatslab::Slot<&'a str> { slot }
//! ```
//!
//! ```compile_fail
//! fn vacant<'a>(slot: flatslab::VacantSlot<&'static str>) -> flatslab::VacantSlot<&'a str> { slot }
//! ```
//!
//! ```compile_fail
//! fn boxed<'a>(slot: flatslab::SlotBox<&'static str>) -> flatslab::SlotBox<&'a str> { slot }
//! ```
//!
//! ```compile_fail
//! fn guard<'g, 'a>(guard: flatslab::RefMut<'g, &'static str>) -> flatslab::RefMut<'g, &'a str> { guard }
//! ```
//!
//! ```compile_fail
//! fn bounded<'a>(slab: flatslab::BoundedSlab<&'static str>) -> flatslab::BoundedSlab<&'a str> { slab }
//! ```
//!
//! ```compile_fail
//! fn growable<'a>(slab: flatslab::Slab<&'static str>) -> flatslab::Slab<&'a str> { slab }
//! ```
//!
//! # A value may not outlive what it borrows
//!
//! ```
//! let text = String::from("text");
//! let slab = flatslab::Slab::new();
//! slab.insert(text.as_str()).leak();
//! ```
//!
//! ```compile_fail,E0597
//! let slab = flatslab::Slab::new();
//! let text = String::from("text");
//! slab.insert(text.as_str()).leak();
//! ```
//!
//! ```compile_fail,E0597
//! let slab = flatslab::BoundedSlab::with_capacity(1);
//! let text = String::from("text");
//! slab.insert(text.as_str()).unwrap().leak();
//! ```
//!
//! ```compile_fail,E0597
//! let slot;
//! let text = String::from("text");
//! let slab = flatslab::Slab::new();
//! slot = slab.insert(text.as_str());
//! ```
//!
//! # A guard may not outlive what it came from
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let guard = slot.get();
//! drop(guard);
//! drop(slot);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let guard = slot.get();
//! drop(slot);
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let guard = slot.get_mut();
//! drop(slot);
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let key = slab.insert(7).leak();
//! let guard = slab.get(key);
//! drop(slab);
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let key = slab.insert(7).leak();
//! let guard = slab.get_mut(key);
//! drop(slab);
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let key = slab.insert(7).leak();
//! // SAFETY: never run.
//! let values = unsafe { slab.untracked() };
//! let value = &values[key];
//! drop(slab);
//! assert_eq!(*value, 7);
//! ```
//!
//! # No two references from one accessor
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let key = slab.insert(7).leak();
//! // SAFETY: no guard is alive, and nothing is removed.
//! let mut values = unsafe { slab.untracked() };
//! values[key] = 8;
//! let value = &values[key];
//! assert_eq!(*value, 8);
//! ```
//!
//! ```compile_fail,E0502
//! let slab = flatslab::Slab::new();
//! let key = slab.insert(7).leak();
//! // SAFETY: never run.
//! let mut values = unsafe { slab.untracked() };
//! let value = &values[key];
//! values[key] = 8;
//! assert_eq!(*value, 8);
//! ```
//!
//! ```compile_fail,E0502
//! let slab = flatslab::Slab::new();
//! let key = slab.insert(7).leak();
//! // SAFETY: never run.
//! let mut values = unsafe { slab.untracked() };
//! let value = values.get(key);
//! values[key] = 8;
//! assert_eq!(value, Some(&7));
//! ```
//!
//! # A reservation that a closure sees stays with the slab
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let mut key = flatslab::Key::NONE;
//! slab.insert_with(|vacant| { key = vacant.key(); 7 }).leak();
//! ```
//!
//! ```compile_fail
//! let slab = flatslab::Slab::new();
//! let mut kept = None;
//! slab.insert_with(|vacant| { kept = Some(vacant); 7 }).leak();
//! kept;
//! ```
