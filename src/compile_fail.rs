//! What must not compile. Each line that fails has a twin that compiles, so
//! that it can only fail for the reason meant.
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
//! local::<flatslab::MappedRef<'static, u64>>();
//! local::<flatslab::MappedRefMut<'static, u64>>();
//! local::<flatslab::TryIter<'static, u64, flatslab::Growable>>();
//! local::<flatslab::TryIterMut<'static, u64, flatslab::Growable>>();
//! local::<flatslab::UntrackedAccessor<'static, u64>>();
//! local::<flatslab::SlabUntrackedAccessor<'static, u64>>();
//! local::<flatslab::Iter<'static, u64, flatslab::Growable>>();
//! local::<flatslab::IterMut<'static, u64, flatslab::Growable>>();
//! local::<flatslab::Keys<'static, u64, flatslab::Growable>>();
//! local::<flatslab::Drain<'static, u64, flatslab::Growable>>();
//! fn both<T: Send + Sync>() {}
//! both::<flatslab::Key>();
//! both::<flatslab::AccessError>();
//! both::<flatslab::KeyError>();
//! both::<flatslab::Builder<flatslab::Slab<std::rc::Rc<u64>>>>();
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
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::UntrackedAccessor<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::SlabUntrackedAccessor<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::Iter<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::Iter<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::IterMut<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::IterMut<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::Keys<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::Keys<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::Drain<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::Drain<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::MappedRef<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::MappedRefMut<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::TryIter<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::TryIterMut<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::MappedRef<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::MappedRefMut<'static, u64>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::TryIter<'static, u64, flatslab::Growable>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::TryIterMut<'static, u64, flatslab::Growable>>();
//! ```
//!
//! # Handles and slabs are invariant in their value
//!
//! A handle that could be shortened would let a short-lived reference in, to be
//! read through the slab afterwards.
//!
//! ```
//! use flatslab::{BoundedSlab, MappedRef, MappedRefMut, Ref, RefMut, Slab, Slot, SlotBox, VacantSlot};
//! type Text = &'static str;
//! fn slot(slot: Slot<Text>) -> Slot<Text> { slot }
//! fn vacant(slot: VacantSlot<Text>) -> VacantSlot<Text> { slot }
//! fn boxed(slot: SlotBox<Text>) -> SlotBox<Text> { slot }
//! fn guard<'g>(guard: RefMut<'g, Text>) -> RefMut<'g, Text> { guard }
//! fn bounded(slab: BoundedSlab<Text>) -> BoundedSlab<Text> { slab }
//! fn growable(slab: Slab<Text>) -> Slab<Text> { slab }
//! // A shared guard only reads, and may be shortened.
//! fn shared<'g, 'a>(guard: Ref<'g, Text>) -> Ref<'g, &'a str> { guard }
//! fn shared_part<'g, 'a>(guard: MappedRef<'g, Text>) -> MappedRef<'g, &'a str> { guard }
//! fn part<'g>(guard: MappedRefMut<'g, Text>) -> MappedRefMut<'g, Text> { guard }
//! // For a shorter time, either.
//! fn short<'l: 's, 's>(guard: MappedRef<'l, Text>) -> MappedRef<'s, Text> { guard }
//! fn short_mut<'l: 's, 's>(guard: MappedRefMut<'l, Text>) -> MappedRefMut<'s, Text> { guard }
//! ```
//!
//! ```compile_fail
//! fn part<'g, 'a>(guard: flatslab::MappedRefMut<'g, &'static str>) -> flatslab::MappedRefMut<'g, &'a str> { guard }
//! ```
//!
//! ```compile_fail
//! fn long<'l: 's, 's>(guard: flatslab::MappedRef<'s, u64>) -> flatslab::MappedRef<'l, u64> { guard }
//! ```
//!
//! ```compile_fail
//! fn long<'l: 's, 's>(guard: flatslab::MappedRefMut<'s, u64>) -> flatslab::MappedRefMut<'l, u64> { guard }
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
//! ```compile_fail
//! fn iter<'s, 'a>(iter: flatslab::IterMut<'s, &'static str, flatslab::Growable>) -> flatslab::IterMut<'s, &'a str, flatslab::Growable> { iter }
//! ```
//!
//! ```compile_fail
//! fn drain<'s, 'a>(drain: flatslab::Drain<'s, &'static str, flatslab::Growable>) -> flatslab::Drain<'s, &'a str, flatslab::Growable> { drain }
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
//! ```compile_fail,E0597
//! let mut drained = Vec::new();
//! let slab = flatslab::Slab::new();
//! let text = String::from("text");
//! slab.insert(text.as_str()).leak();
//! drained.extend(slab.drain());
//! ```
//!
//! # An iterator may not outlive its slab, nor may what it gives
//!
//! ```
//! let slab = flatslab::Slab::new();
//! slab.insert(7).leak();
//! let (iter, iter_mut, keys, drain) = (slab.iter(), slab.iter_mut(), slab.keys(), slab.drain());
//! drop((iter, iter_mut, keys, drain));
//! drop(slab);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::<u64>::new();
//! let iter = slab.iter();
//! drop(slab);
//! drop(iter);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::<u64>::new();
//! let iter = slab.iter_mut();
//! drop(slab);
//! drop(iter);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::<u64>::new();
//! let keys = slab.keys();
//! drop(slab);
//! drop(keys);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::<u64>::new();
//! let drain = slab.drain();
//! drop(slab);
//! drop(drain);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::<u64>::new();
//! let first = slab.iter().next();
//! drop(slab);
//! drop(first);
//! ```
//!
//! ```compile_fail
//! let slab = flatslab::Slab::<u64>::new();
//! slab.insert(7).leak();
//! let mut kept = None;
//! slab.retain(|_, value| { kept = Some(value); true });
//! kept;
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
//!
//! # No two references by equal keys, nor one that outlives its handle
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let mut slot = slab.insert(7);
//! let key = slot.key();
//! // SAFETY: no guard is alive, and nothing is removed.
//! let mut values = unsafe { slab.untracked() };
//! *values.get_mut(key).unwrap() = 8;
//! // SAFETY: there is a value at `key`.
//! unsafe { *values.get_unchecked_mut(key) = 9 };
//! // SAFETY: there is a value at `key`.
//! assert_eq!(unsafe { *values.get_unchecked(key) }, 9);
//! // SAFETY: there is a value, and no other borrow.
//! unsafe { *slot.get_unchecked_mut() = 10 };
//! // SAFETY: there is a value, and no other borrow.
//! assert_eq!(unsafe { *slot.get_unchecked() }, 10);
//! drop(slot.try_get());
//! drop(slot.try_get_mut());
//! drop(slot);
//! ```
//!
//! ```compile_fail,E0499
//! let slab = flatslab::Slab::<u64>::new();
//! // SAFETY: never run.
//! let mut values = unsafe { slab.untracked() };
//! let one = values.get_mut(flatslab::Key::NONE);
//! let two = values.get_mut(flatslab::Key::NONE);
//! drop((one, two));
//! ```
//!
//! ```compile_fail,E0499
//! let slab = flatslab::Slab::<u64>::new();
//! // SAFETY: never run.
//! let mut values = unsafe { slab.untracked() };
//! // SAFETY: never run.
//! let one = unsafe { values.get_unchecked_mut(flatslab::Key::NONE) };
//! // SAFETY: never run.
//! let two = unsafe { values.get_unchecked_mut(flatslab::Key::NONE) };
//! (*one, *two) = (1, 2);
//! ```
//!
//! ```compile_fail,E0502
//! let slab = flatslab::Slab::<u64>::new();
//! // SAFETY: never run.
//! let mut values = unsafe { slab.untracked() };
//! // SAFETY: never run.
//! let value = unsafe { values.get_unchecked(flatslab::Key::NONE) };
//! values[flatslab::Key::NONE] = 8;
//! assert_eq!(*value, 7);
//! ```
//!
//! ```compile_fail,E0499
//! let slab = flatslab::Slab::new();
//! let mut slot = slab.insert(7);
//! // SAFETY: never run.
//! let one = unsafe { slot.get_unchecked_mut() };
//! // SAFETY: never run.
//! let two = unsafe { slot.get_unchecked_mut() };
//! (*one, *two) = (1, 2);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let guard = slot.try_get();
//! drop(slot);
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let guard = slot.try_get_mut();
//! drop(slot);
//! drop(guard);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! // SAFETY: never run.
//! let value = unsafe { slot.get_unchecked() };
//! drop(slot);
//! assert_eq!(*value, 7);
//! ```

mod bump;
mod bytes;
mod epoch;
mod key_slab;
mod mapped;
mod pool;
mod pool_values;
mod sync;
