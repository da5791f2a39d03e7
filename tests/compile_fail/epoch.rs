//! What must not compile of epoch slabs.

use std::cell::Cell;
use std::rc::Rc;

use flatslab::epoch::{
    Bytes, CloseReport, Contents, Epoch, EpochBuf, EpochBytes, EpochError, EpochGuard, EpochKey,
    EpochSlab, EpochStats, Epochs, InsertError, Ref, RefMut, Scope, Stats, Values,
};

fn local<T>() {}
fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn both<T: Send + Sync>() {}

// # A slab goes to another thread as a whole, and what borrows it does not

#[test]
fn what_goes_to_other_threads() {
    local::<EpochSlab<Rc<u64>>>();
    local::<Ref<'static, u64>>();
    local::<RefMut<'static, u64>>();
    local::<EpochBuf<'static>>();
    local::<EpochGuard<'static, Values<u64>>>();
    local::<Scope<'static, Values<u64>>>();
    send::<EpochSlab<u64>>();
    send::<EpochSlab<Cell<u64>>>();
    send::<EpochBytes>();
    both::<EpochKey>();
    both::<Epoch>();
    both::<CloseReport>();
    both::<EpochStats>();
    both::<Stats>();
    both::<EpochError>();
    both::<InsertError>();
    both::<InsertError<u64>>();
}

#[cfg(compile_fail)]
fn sent_or_shared() {
    send::<EpochSlab<Rc<u64>>>(); //~ E0277
    send::<Ref<'static, u64>>(); //~ E0277
    send::<RefMut<'static, u64>>(); //~ E0277
    send::<EpochBuf<'static>>(); //~ E0277
    send::<EpochGuard<'static, Values<u64>>>(); //~ E0277
    send::<EpochGuard<'static, Bytes>>(); //~ E0277
    send::<Scope<'static, Values<u64>>>(); //~ E0277
    send::<Scope<'static, Bytes>>(); //~ E0277
    sync::<EpochSlab<u64>>(); //~ E0277
    sync::<EpochBytes>(); //~ E0277
    sync::<Ref<'static, u64>>(); //~ E0277
    sync::<RefMut<'static, u64>>(); //~ E0277
    sync::<EpochBuf<'static>>(); //~ E0277
    sync::<EpochGuard<'static, Values<u64>>>(); //~ E0277
    sync::<Scope<'static, Values<u64>>>(); //~ E0277
}

// # Slabs and what writes are invariant in their value

#[test]
fn lifetimes_that_are_kept() {
    type Text = &'static str;
    fn slab(slab: EpochSlab<Text>) -> EpochSlab<Text> {
        slab
    }
    fn epoch<'s>(guard: EpochGuard<'s, Values<Text>>) -> EpochGuard<'s, Values<Text>> {
        guard
    }
    fn scope<'a, 's>(scope: &'a Scope<'s, Values<Text>>) -> &'a Scope<'s, Values<Text>> {
        scope
    }
    fn guard<'g>(guard: RefMut<'g, Text>) -> RefMut<'g, Text> {
        guard
    }
    // A shared guard only reads, and may be shortened.
    fn shared<'g, 'a>(guard: Ref<'g, Text>) -> Ref<'g, &'a str> {
        guard
    }
}

#[cfg(compile_fail)]
fn slab_shortened<'a>(slab: EpochSlab<&'static str>) -> EpochSlab<&'a str> {
    slab //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn slab_reference_shortened<'s, 'a>(slab: &'s EpochSlab<&'static str>) -> &'s EpochSlab<&'a str> {
    slab //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn guard_shortened<'g, 'a>(guard: RefMut<'g, &'static str>) -> RefMut<'g, &'a str> {
    guard //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn epoch_guard_shortened<'s, 'a>(
    guard: EpochGuard<'s, Values<&'static str>>,
) -> EpochGuard<'s, Values<&'a str>> {
    guard //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn scope_shortened<'b, 's, 'a>(
    scope: &'b Scope<'s, Values<&'static str>>,
) -> &'b Scope<'s, Values<&'a str>> {
    scope //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn guard_lengthened<'l: 's, 's>(guard: Ref<'s, u64>) -> Ref<'l, u64> {
    guard //~ lifetime may not live long enough
}

// # A value may not outlive what it borrows

// The end of the slab drops values, which may look at it.
#[test]
fn what_a_value_borrows_ends_last() {
    let text = String::from("text");
    let slab = EpochSlab::new();
    slab.insert(text.as_str());
}

#[cfg(compile_fail)]
fn what_a_value_borrows_ends_first() {
    let slab = EpochSlab::new();
    let text = String::from("text");
    slab.insert(text.as_str()); //~ E0597
}

#[cfg(compile_fail)]
fn what_a_value_of_a_scope_borrows_ends_first() {
    let mut slab = EpochSlab::new();
    let text = String::from("text");
    slab.scope(|scope| *scope.insert(text.as_str()) = "other"); //~ E0597
}

// # What borrows a slab does not outlive it

#[test]
fn borrows_end_before_the_slab() {
    let slab = EpochSlab::new();
    let bytes = EpochBytes::new();
    let key = slab.insert(7);
    drop(slab.get(key));
    drop((slab.get_mut(key), bytes.alloc(7)));
    drop((slab.enter(), slab.keys_in(slab.current()), slab.epochs()));
    drop((slab, bytes));
}

#[cfg(compile_fail)]
fn guard_after_its_slab() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let borrow = slab.get(key);
    drop(slab); //~ E0505
    drop(borrow);
}

#[cfg(compile_fail)]
fn mutable_guard_after_its_slab() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let borrow = slab.get_mut(key);
    drop(slab); //~ E0505
    drop(borrow);
}

#[cfg(compile_fail)]
fn tried_guard_after_its_slab() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let borrow = slab.try_get(key);
    drop(slab); //~ E0505
    drop(borrow);
}

#[cfg(compile_fail)]
fn epoch_guard_after_its_slab() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let borrow = slab.enter();
    drop(slab); //~ E0505
    drop(borrow);
}

#[cfg(compile_fail)]
fn keys_after_their_slab() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let borrow = slab.keys_in(slab.current());
    drop(slab); //~ E0505
    drop(borrow);
}

#[cfg(compile_fail)]
fn epochs_after_their_slab() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let borrow = slab.epochs();
    drop(slab); //~ E0505
    drop(borrow);
}

#[cfg(compile_fail)]
fn buffer_after_its_bytes() {
    let bytes = EpochBytes::new();
    let buf = bytes.alloc(7);
    drop(bytes); //~ E0505
    drop(buf);
}

// # References to a value end with the guard

#[test]
fn reference_ends_before_its_guard() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let guard = slab.get(key).unwrap();
    let value: &i32 = &guard;
    assert_eq!(*value, 7);
    drop(guard);
}

#[cfg(compile_fail)]
fn reference_after_its_guard() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let guard = slab.get(key).unwrap();
    let value: &i32 = &guard;
    drop(guard); //~ E0505
    assert_eq!(*value, 7);
}

#[cfg(compile_fail)]
fn reference_kept_from_map() {
    let slab = EpochSlab::new();
    let key = slab.insert(7);
    let mut kept = None;
    Ref::map(slab.get(key).unwrap(), |value| {
        kept = Some(value); //~ E0521
        value
    });
    kept;
}

#[cfg(compile_fail)]
fn reference_after_its_buffer() {
    let bytes = EpochBytes::new();
    let buf = bytes.alloc(7);
    let first = &buf[0];
    drop(buf); //~ E0505
    assert_eq!(*first, 0);
}

// # What is in a scope stays there

#[test]
fn value_copied_out_of_a_scope() {
    let mut slab = EpochSlab::new();
    let mut kept = None;
    let value = slab.scope(|scope| {
        let value = scope.insert(7);
        kept = Some(*value);
        *value
    });
    assert_eq!(Some(value), kept);
}

#[cfg(compile_fail)]
fn reference_returned_from_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    let escaped = slab.scope(|scope| scope.insert(7)); //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn reference_by_key_returned() {
    let mut slab = EpochSlab::<u64>::new();
    let escaped = slab.scope(|scope| {
        let key = scope.insert_key(7);
        scope.get(key) //~ lifetime may not live long enough
    });
}

#[cfg(compile_fail)]
fn mutable_reference_by_key_returned() {
    let mut slab = EpochSlab::<u64>::new();
    let escaped = slab.scope(|scope| {
        let key = scope.insert_key(7);
        scope.get_mut(key) //~ lifetime may not live long enough
    });
}

#[cfg(compile_fail)]
fn scope_returned() {
    let mut slab = EpochSlab::<u64>::new();
    let escaped = slab.scope(|scope| scope); //~ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn reference_assigned_from_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    let mut kept = None;
    slab.scope(|scope| kept = Some(scope.insert(7))); //~ E0521
}

#[cfg(compile_fail)]
fn reference_by_key_assigned() {
    let mut slab = EpochSlab::<u64>::new();
    let mut kept = None;
    slab.scope(|scope| {
        let key = scope.insert_key(7);
        kept = scope.get(key); //~ E0521
    });
}

#[cfg(compile_fail)]
fn scope_assigned() {
    let mut slab = EpochSlab::<u64>::new();
    let mut kept = None;
    slab.scope(|scope| kept = Some(scope)); //~ E0521
}

#[cfg(compile_fail)]
fn reference_returned_from_an_inner_scope() {
    let mut slab = EpochSlab::<u64>::new();
    let escaped = slab.scope(|scope| scope.scope(|inner| inner.insert(7)));
    //~^ lifetime may not live long enough
}

#[cfg(compile_fail)]
fn reference_assigned_from_an_inner_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| {
        let mut kept = None;
        scope.scope(|inner| kept = Some(inner.insert(7))); //~ E0521
    });
}

#[test]
fn length_of_a_buffer_of_a_scope() {
    let mut bytes = EpochBytes::new();
    let len = bytes.scope(|scope| scope.try_alloc(7).unwrap().len());
    assert_eq!(len, 7);
}

#[cfg(compile_fail)]
fn buffer_returned_from_a_scope() {
    let mut bytes = EpochBytes::new();
    let buf = bytes.scope(|scope| scope.try_alloc(7).unwrap());
    //~^ lifetime may not live long enough
}

// # No epoch ends within a scope

// A scope is no slab.
#[test]
fn epochs_end_outside_of_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| drop(scope.epoch()));
    slab.advance();
    slab.clear_epoch(slab.current());
}

#[cfg(compile_fail)]
fn advance_in_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| drop(scope.advance())); //~ E0599
}

#[cfg(compile_fail)]
fn advance_and_close_in_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| drop(scope.advance_and_close())); //~ E0599
}

#[cfg(compile_fail)]
fn close_in_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| drop(scope.close(scope.epoch()))); //~ E0599
}

#[cfg(compile_fail)]
fn clear_epoch_in_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| drop(scope.clear_epoch(scope.epoch()))); //~ E0599
}

#[cfg(compile_fail)]
fn shrink_to_fit_in_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| drop(scope.shrink_to_fit())); //~ E0599
}

#[cfg(compile_fail)]
fn enter_in_a_scope() {
    let mut slab = EpochSlab::<u64>::new();
    slab.scope(|scope| drop(scope.enter())); //~ E0599
}

// # A slab is not used within its scope, nor a scope within one inside it

#[test]
fn inner_scope_between_uses_of_the_outer() {
    let mut slab = EpochSlab::new();
    let key = slab.insert(7);
    slab.scope(|scope| {
        let value = scope.insert(8);
        *value += 1;
        scope.scope(|inner| drop((inner.insert(9), inner.take(key))));
        scope.insert(10);
    });
}

#[cfg(compile_fail)]
fn slab_used_in_its_scope() {
    let mut slab = EpochSlab::new();
    let key = slab.insert(7);
    slab.scope(|scope| drop(slab.take(key))); //~ E0502
}

#[cfg(compile_fail)]
fn scope_under_a_guard() {
    let mut slab = EpochSlab::new();
    let key = slab.insert(7);
    let guard = slab.get(key);
    slab.scope(|scope| drop(scope.take(key))); //~ E0502
    drop(guard);
}

#[cfg(compile_fail)]
fn scope_under_an_epoch_guard() {
    let mut slab = EpochSlab::<u64>::new();
    let guard = slab.enter();
    slab.scope(|scope| drop(scope.epoch())); //~ E0502
    drop(guard);
}

#[cfg(compile_fail)]
fn outer_scope_used_in_the_inner() {
    let mut slab = EpochSlab::new();
    slab.scope(|scope| {
        scope.scope(|inner| drop((inner.insert(9), scope.insert(10)))); //~ E0502
    });
}

#[cfg(compile_fail)]
fn reference_held_over_an_inner_scope() {
    let mut slab = EpochSlab::new();
    slab.scope(|scope| {
        let value = scope.insert(8);
        scope.scope(|inner| drop(inner.insert(9))); //~ E0502
        *value += 1;
    });
}

// # Scopes do not change places

// One that was swapped would insert into a slab whose scope ends first.
#[test]
fn values_of_two_scopes_swapped() {
    let (mut one, mut two) = (EpochSlab::<u64>::new(), EpochSlab::<u64>::new());
    one.scope(|a| two.scope(|b| std::mem::swap(a.insert(1), b.insert(2))));
}

#[cfg(compile_fail)]
fn two_scopes_swapped() {
    let (mut one, mut two) = (EpochSlab::<u64>::new(), EpochSlab::<u64>::new());
    one.scope(|a| two.scope(|b| std::mem::swap(a, b))); //~ E0521
}

// # There are no other contents

#[test]
fn any_contents() {
    fn any<C: Contents>(slab: &Epochs<C>) -> usize {
        slab.ring()
    }
    assert_eq!(any(&EpochBytes::new()), 16);
}

#[cfg(compile_fail)]
fn own_contents() {
    struct Own;
    impl Contents for Own {
        const NEEDS_DROP: bool = false;
        unsafe fn drop_in_place(_: core::ptr::NonNull<u8>) {}
        fn size_classes(
            _: &flatslab::epoch::Options, //~ E0425
        ) -> Result<flatslab::epoch::Plans, flatslab::BuildError> {
            //~^ E0425
            unreachable!()
        }
    }
}

// # A slab that a panic may leave with a value half changed is not shared across it

#[test]
fn bytes_shared_across_a_panic() {
    fn shared<T: std::panic::RefUnwindSafe>() {}
    shared::<EpochBytes>();
}

#[cfg(compile_fail)]
fn slab_shared_across_a_panic() {
    fn shared<T: std::panic::RefUnwindSafe>() {}
    shared::<EpochSlab<u64>>(); //~ E0277
}

#[cfg(compile_fail)]
fn cells_moved_across_a_panic() {
    fn moved<T: std::panic::UnwindSafe>() {}
    moved::<EpochSlab<&Cell<u64>>>(); //~ E0277
}
