//! What must not compile of guards of parts.

use flatslab::{MappedRef, MappedRefMut, Ref, RefMut, Slab};

// # A mapped guard may not outlive what it came from, nor what its value borrows

// It does not name the value's type, and may drop the value.
#[test]
fn parts_end_before_what_they_borrow() {
    let text = String::from("text");
    let slab = Slab::new();
    let slot = slab.insert((7, text.as_str()));
    let part: MappedRef<'_, u64> = Ref::map(slot.get(), |pair| &pair.0);
    drop(part);
    let part: MappedRefMut<'_, u64> = RefMut::map(slot.get_mut(), |pair| &mut pair.0);
    drop(part);
    drop(slot);
    drop(slab);
    drop(text);
}

#[cfg(compile_fail)]
fn part_after_its_slab() {
    let slab = Slab::new();
    let key = slab.insert_key(7);
    let part = Ref::map(slab.get(key).unwrap(), |value| value);
    drop(slab); //~ E0505
    drop(part);
}

#[cfg(compile_fail)]
fn mutable_part_after_its_slab() {
    let slab = Slab::new();
    let key = slab.insert_key(7);
    let part = RefMut::map(slab.get_mut(key).unwrap(), |value| value);
    drop(slab); //~ E0505
    drop(part);
}

// Not even to be dropped later, without a use:
#[cfg(compile_fail)]
fn part_declared_before_its_slab() {
    let part;
    let slab = Slab::new();
    let key = slab.insert_key(7);
    part = Ref::map(slab.get(key).unwrap(), |value| value); //~ E0597
}

#[cfg(compile_fail)]
fn mutable_part_declared_before_its_slab() {
    let part;
    let slab = Slab::new();
    let key = slab.insert_key(7);
    part = RefMut::map(slab.get_mut(key).unwrap(), |value| value); //~ E0597
}

#[cfg(compile_fail)]
fn what_the_value_of_a_part_borrows_ends_first() {
    let (slab, slot, part);
    let text = String::from("text");
    slab = Slab::new();
    slot = slab.insert((7, text.as_str())); //~ E0597
    part = Ref::map(slot.get(), |pair| &pair.0);
}

#[cfg(compile_fail)]
fn filtered_part_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let part = Ref::filter_map(slot.get(), |value| Some(value)).unwrap();
    drop(slot); //~ E0505
    drop(part);
}

#[cfg(compile_fail)]
fn cloned_guard_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let other = Ref::clone(&slot.get());
    drop(slot); //~ E0505
    drop(other);
}

#[test]
fn cloned_part_after_the_first_part() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let part = Ref::map(slot.get(), |value| value);
    let other = MappedRef::clone(&part);
    drop(part);
    drop(other);
    drop(slot);
}

#[cfg(compile_fail)]
fn cloned_part_after_its_slot() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let part = Ref::map(slot.get(), |value| value);
    let other = MappedRef::clone(&part);
    drop(part);
    drop(slot); //~ E0505
    drop(other);
}

// # There is one mutable guard of a part

#[cfg(compile_fail)]
fn mutable_part_cloned() {
    let slab = Slab::new();
    let slot = slab.insert(7);
    let part = RefMut::map(slot.get_mut(), |value| value);
    let other = MappedRefMut::clone(&part); //~ E0277
}

// # What a mapped guard shows may not outlive it

#[test]
fn value_copied_out_of_map() {
    let slab = Slab::new();
    let slot = slab.insert((7, String::new()));
    let mut kept = 0;
    let part = Ref::map(slot.get(), |pair| {
        kept = pair.0;
        &pair.1
    });
    assert_eq!(&**part, "");
    drop(part);
    assert_eq!(kept, 7);
}

#[cfg(compile_fail)]
fn reference_kept_from_map() {
    let slab = Slab::new();
    let slot = slab.insert((7, String::new()));
    let mut kept = None;
    let part = Ref::map(slot.get(), |pair| {
        kept = Some(&pair.1); //~ E0521
        &pair.1
    });
    drop(part);
    kept;
}

#[cfg(compile_fail)]
fn reference_after_its_part() {
    let slab = Slab::new();
    let slot = slab.insert((7, String::new()));
    let part = Ref::map(slot.get(), |pair| &pair.1);
    let text: &String = &part;
    drop(part); //~ E0505
    assert_eq!(text, "");
}

#[cfg(compile_fail)]
fn reference_after_its_part_was_mapped() {
    let slab = Slab::new();
    let slot = slab.insert((7, String::new()));
    let mut part = RefMut::map(slot.get_mut(), |pair| &mut pair.1);
    let text: &mut String = &mut part;
    let other = MappedRefMut::map(part, |text| text); //~ E0505
    text.push('s');
    drop(other);
}
