//! What must not compile of guards of parts.
//!
//! # A mapped guard may not outlive what it came from, nor what its value borrows
//!
//! It does not name the value's type, and may drop the value.
//!
//! ```
//! use flatslab::{MappedRef, MappedRefMut, Ref, RefMut};
//!
//! let text = String::from("text");
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert((7, text.as_str()));
//! let part: MappedRef<'_, u64> = Ref::map(slot.get(), |pair| &pair.0);
//! drop(part);
//! let part: MappedRefMut<'_, u64> = RefMut::map(slot.get_mut(), |pair| &mut pair.0);
//! drop(part);
//! drop(slot);
//! drop(slab);
//! drop(text);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let key = slab.insert_key(7);
//! let part = flatslab::Ref::map(slab.get(key).unwrap(), |value| value);
//! drop(slab);
//! drop(part);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let key = slab.insert_key(7);
//! let part = flatslab::RefMut::map(slab.get_mut(key).unwrap(), |value| value);
//! drop(slab);
//! drop(part);
//! ```
//!
//! Not even to be dropped later, without a use:
//!
//! ```compile_fail,E0597
//! let part;
//! let slab = flatslab::Slab::new();
//! let key = slab.insert_key(7);
//! part = flatslab::Ref::map(slab.get(key).unwrap(), |value| value);
//! ```
//!
//! ```compile_fail,E0597
//! let part;
//! let slab = flatslab::Slab::new();
//! let key = slab.insert_key(7);
//! part = flatslab::RefMut::map(slab.get_mut(key).unwrap(), |value| value);
//! ```
//!
//! ```compile_fail,E0597
//! let (slab, slot, part);
//! let text = String::from("text");
//! slab = flatslab::Slab::new();
//! slot = slab.insert((7, text.as_str()));
//! part = flatslab::Ref::map(slot.get(), |pair| &pair.0);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let part = flatslab::Ref::filter_map(slot.get(), |value| Some(value)).unwrap();
//! drop(slot);
//! drop(part);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let other = flatslab::Ref::clone(&slot.get());
//! drop(slot);
//! drop(other);
//! ```
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let part = flatslab::Ref::map(slot.get(), |value| value);
//! let other = flatslab::MappedRef::clone(&part);
//! drop(part);
//! drop(other);
//! drop(slot);
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let part = flatslab::Ref::map(slot.get(), |value| value);
//! let other = flatslab::MappedRef::clone(&part);
//! drop(part);
//! drop(slot);
//! drop(other);
//! ```
//!
//! # There is one mutable guard of a part
//!
//! ```compile_fail,E0599
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert(7);
//! let part = flatslab::RefMut::map(slot.get_mut(), |value| value);
//! let other = flatslab::MappedRefMut::clone(&part);
//! ```
//!
//! # What a mapped guard shows may not outlive it
//!
//! ```
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert((7, String::new()));
//! let mut kept = 0;
//! let part = flatslab::Ref::map(slot.get(), |pair| { kept = pair.0; &pair.1 });
//! assert_eq!(&**part, "");
//! drop(part);
//! assert_eq!(kept, 7);
//! ```
//!
//! ```compile_fail
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert((7, String::new()));
//! let mut kept = None;
//! let part = flatslab::Ref::map(slot.get(), |pair| { kept = Some(&pair.1); &pair.1 });
//! drop(part);
//! kept;
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert((7, String::new()));
//! let part = flatslab::Ref::map(slot.get(), |pair| &pair.1);
//! let text: &String = &part;
//! drop(part);
//! assert_eq!(text, "");
//! ```
//!
//! ```compile_fail,E0505
//! let slab = flatslab::Slab::new();
//! let slot = slab.insert((7, String::new()));
//! let mut part = flatslab::RefMut::map(slot.get_mut(), |pair| &mut pair.1);
//! let text: &mut String = &mut part;
//! let other = flatslab::MappedRefMut::map(part, |text| text);
//! text.push('s');
//! drop(other);
//! ```
