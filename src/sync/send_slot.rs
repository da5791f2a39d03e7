//! `SendSlot`: an owning handle of a value that can be sent to another thread.

#[cfg(all(test, loom))]
mod models;

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;

use crate::as_value::print_as_value;
use crate::key::Key;
use crate::raw::poison::{move_out, poison};
use crate::slab::cell::Place;
use crate::slab::slot::Slot;
use crate::slab::{Memory, TrackedSlab};
#[cfg(doc)]
use crate::{AccessError, SlotBox};

/// An owning handle of a value that can be sent to another thread. Its size is 16 bytes.
///
/// [`Slot::into_send`] creates it from a [`Slot`]. It owns its value exclusively, like a [`SlotBox`],
/// and derefs to it. Dropping it drops the value on the current thread, and
/// [`into_inner`](Self::into_inner) moves it out. Both push the slot on the slab's return stack.
/// While the slab lives, that takes no lock, no waiting and no call of the allocator.
///
/// The slab's thread frees returned slots when it finds no other free one, or in
/// [`reclaim`](TrackedSlab::reclaim). With the feature `std`, the slot of a handle that is dropped
/// on the slab's thread is free at once. [`retire`](Self::retire) also leaves dropping the value to
/// the slab's thread. So a thread that must not call the allocator can create values that other
/// threads drop. (On platforms without native thread-locals, such as Android, `std` allocates one
/// the first time that a thread sends or drops a value.)
///
/// While a value is out, the slab counts its slot as taken, and access by key finds it mutably
/// borrowed ([`try_slot`](TrackedSlab::try_slot) finds it owned). Slab and handles may be dropped
/// in any order. If the slab was dropped, dropping its last handle frees all its memory on the
/// handle's thread, which takes O(n) for n chunks, with a call of the allocator for each.
///
/// # Cost
///
/// [`into_send`](Slot::into_send) and the other operations of the slab have no atomic exchange.
/// Dropping the handle on another thread takes one compare-exchange, which competes only with other
/// drops at the same time. Reclaiming takes one swap for all returned slots, and a few loads and
/// stores for each.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
/// use std::thread;
///
/// use flatslab::BoundedSlab;
/// use flatslab::sync::SendSlot;
///
/// struct Report { order: u64, quantity: u32 }
///
/// let (sender, receiver) = mpsc::channel::<SendSlot<Report>>();
/// let logger = thread::spawn(move || {
///     receiver.iter().map(|report| report.order * u64::from(report.quantity)).sum::<u64>()
///     // Each report was dropped here, and its slot was returned.
/// });
/// let slab = BoundedSlab::with_capacity(1000);
/// for order in 0..100 {
///     let slot = slab.insert(Report { order, quantity: 2 }).unwrap();
///     sender.send(slot.into_send()).unwrap();
/// }
/// drop(sender);
/// assert_eq!(logger.join().unwrap(), 9900);
/// assert!(slab.is_empty());
/// ```
#[must_use = "dropping it drops its value"]
pub struct SendSlot<T> {
    place: Place<T>,
    /// Invariant in `T`, like the slot that it was made of.
    value: PhantomData<*mut T>,
}

const _: () = assert!(size_of::<SendSlot<u64>>() == 2 * size_of::<usize>());

// SAFETY: the value is owned, and can be sent to another thread. Of the data that the handle shares
// with its slab, it uses only the part that other threads may use at the same time (`sent-parts`).
unsafe impl<T: Send> Send for SendSlot<T> {}
// SAFETY: by reference the value is read, and the key, which is not written.
unsafe impl<T: Sync> Sync for SendSlot<T> {}

impl<T> SendSlot<T> {
    fn into_place(sent: Self) -> Place<T> {
        let place = sent.place;
        core::mem::forget(sent);
        place
    }

    /// Moves the value out, and returns its slot to the slab.
    ///
    /// This is an associated function, like the others, so that it hides no method of the value.
    ///
    /// # Complexity
    ///
    /// O(1), one copy of the value; does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SendSlot;
    ///
    /// let slab = flatslab::Slab::new();
    /// let sent = slab.insert(7).into_send();
    /// assert_eq!(SendSlot::into_inner(sent), 7);
    /// ```
    #[inline]
    pub fn into_inner(sent: Self) -> T {
        let place = Self::into_place(sent);
        // SAFETY: the handle has ended without a drop; the value is moved out once, and
        // before its place is used for the link.
        unsafe {
            let value = move_out(place.sent_value());
            place.end_sent();
            value
        }
    }

    /// Returns the value to its slab without dropping it, for a thread on which no destructor may
    /// run, such as an audio callback.
    ///
    /// The slab's thread drops the value in [`reclaim`](TrackedSlab::reclaim), or with the slab.
    /// Until then its slot is in use. No insertion drops it:
    /// [`retired_values`](TrackedSlab::retired_values) returns how many values of a slab are
    /// retired.
    ///
    /// # Complexity
    ///
    /// O(1): one compare-exchange; no lock, no waiting, no call of the allocator, and no user code.
    ///
    /// # Errors
    ///
    /// Returns the handle if the slab was dropped or is being dropped, because nothing would drop
    /// the value then. Dropping the handle drops the value here; forgetting it leaks the slab's
    /// memory. A slab that outlives the threads that retire its values never refuses.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SendSlot;
    ///
    /// let slab = flatslab::BoundedSlab::with_capacity(8);
    /// let voice = slab.insert(vec![0.0_f32; 512]).unwrap().into_send();
    /// let callback = std::thread::spawn(move || {
    ///     let played = voice[0];
    ///     SendSlot::retire(voice).unwrap();   // frees nothing here
    ///     played
    /// });
    /// assert_eq!(callback.join().unwrap(), 0.0);
    /// // Now and then, on the thread that may wait for the allocator:
    /// assert_eq!(slab.reclaim(), 1);
    /// ```
    #[inline]
    pub fn retire(sent: Self) -> Result<(), Self> {
        let place = Self::into_place(sent);
        // SAFETY: the handle has ended without a drop; if the slab refuses it, it is a handle
        // again.
        if unsafe { place.retire_sent() } {
            Ok(())
        } else {
            Err(SendSlot {
                place,
                value: PhantomData,
            })
        }
    }

    /// Returns the key of the value, with which the slab refuses access while the value is out.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::AccessError;
    /// use flatslab::sync::SendSlot;
    ///
    /// let slab = flatslab::Slab::new();
    /// let sent = slab.insert(7).into_send();
    /// assert_eq!(slab.try_get(SendSlot::key(&sent)).unwrap_err(), AccessError::Borrowed);
    /// ```
    #[inline]
    #[must_use]
    pub fn key(sent: &Self) -> Key {
        // SAFETY: the handle exists, and no one else uses the key before it ends (`sent-parts`).
        unsafe { sent.place.sent_key() }
    }

    /// Pins the value in its slot. O(1); moves nothing.
    ///
    /// The value is dropped there, and its memory is not used again before its destructor has
    /// returned.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::sync::SendSlot;
    ///
    /// let slab = flatslab::Slab::new();
    /// let mut task = SendSlot::into_pin(slab.insert(async { 7 }).into_send());
    /// std::thread::spawn(move || {
    ///     let _future = task.as_mut();
    /// });
    /// ```
    #[inline]
    pub fn into_pin(sent: Self) -> Pin<Self> {
        // SAFETY: nothing moves the value of a pinned handle, and its slot is not free before
        // its destructor has returned. A handle that is forgotten keeps its slot for ever,
        // and the memory of its slab.
        unsafe { Pin::new_unchecked(sent) }
    }
}

impl<T: Send> Slot<T> {
    /// Turns the slot into a handle that can be sent to another thread. O(1); moves and allocates
    /// nothing.
    ///
    /// # Panics
    ///
    /// If the value is borrowed or the slot is not [valid](Self::is_valid). The slot is dropped
    /// then, and a borrowed value is dropped when its last borrow ends.
    /// [`try_into_send`](Self::try_into_send) returns the slot.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let mut sent = slab.insert(vec![1]).unwrap().into_send();
    /// let sum = std::thread::spawn(move || {
    ///     sent.push(2);
    ///     sent.iter().sum::<i32>()
    /// });
    /// assert_eq!(sum.join().unwrap(), 3);
    /// assert!(slab.insert(vec![]).is_ok());   // the slot was returned
    /// ```
    #[inline]
    #[track_caller]
    pub fn into_send(self) -> SendSlot<T> {
        match self.try_into_send() {
            Ok(sent) => sent,
            Err(slot) => slot.refuse("into_send"),
        }
    }

    /// Turns the slot into a handle that can be sent to another thread, or returns the slot. O(1);
    /// moves and allocates nothing.
    ///
    /// # Errors
    ///
    /// Returns the slot if the value is borrowed or the slot is not [valid](Self::is_valid).
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::with_capacity(1);
    /// let slot = slab.insert(7).unwrap();
    /// let reader = slab.get(slot.key()).unwrap();
    /// let slot = slot.try_into_send().unwrap_err();
    /// drop(reader);
    /// assert!(slot.try_into_send().is_ok());
    /// ```
    #[inline]
    pub fn try_into_send(self) -> Result<SendSlot<T>, Self> {
        self.begin_send()
    }
}

impl<T> Slot<T> {
    /// A handle that is [`Send`] if its value is.
    #[inline(always)]
    pub(crate) fn begin_send(self) -> Result<SendSlot<T>, Self> {
        if self.live().begin_send() {
            // The slot becomes the handle of its place.
            Ok(SendSlot {
                place: self.into_place(),
                value: PhantomData,
            })
        } else {
            Err(self)
        }
    }
}

impl<T, M: Memory> TrackedSlab<T, M> {
    /// Takes a value back from another thread, as a slot of this slab. O(1); moves and allocates
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns the handle if it is from another slab.
    ///
    /// # Examples
    ///
    /// ```
    /// let slab = flatslab::Slab::new();
    /// let mut sent = slab.insert(7).into_send();
    /// let worker = std::thread::spawn(move || {
    ///     *sent += 1;
    ///     sent
    /// });
    /// let slot = slab.receive(worker.join().unwrap()).unwrap();
    /// assert_eq!(*slot.get(), 8);
    /// ```
    #[inline]
    pub fn receive(&self, sent: SendSlot<T>) -> Result<Slot<T>, SendSlot<T>> {
        if !sent.place.is_of(self.header_address()) {
            return Err(sent);
        }
        let place = SendSlot::into_place(sent);
        // SAFETY: the handle ends and becomes the slot. Its slab is this one, which is valid, and
        // does not leave its thread.
        unsafe {
            place.receive();
            Ok(Slot::new(place))
        }
    }
}

impl<T> Deref for SendSlot<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the handle exists, and with it the value, which is its own.
        unsafe { self.place.sent_value().as_ref() }
    }
}

impl<T> DerefMut for SendSlot<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the handle exists, and with it the value, which is its own; it is borrowed
        // exclusively.
        unsafe { self.place.sent_value().as_mut() }
    }
}

/// Drops the value on this thread, and returns its slot to the slab.
impl<T> Drop for SendSlot<T> {
    #[inline]
    fn drop(&mut self) {
        struct End<T>(Place<T>);

        impl<T> Drop for End<T> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: the handle ends, and its value is gone, even if its destructor
                // unwinds.
                unsafe {
                    poison(self.0.sent_value());
                    self.0.end_sent();
                }
            }
        }

        let end = End(self.place);
        // SAFETY: a sent handle owns its value (`sent-parts`), which is dropped once: `end` frees
        // the cell.
        unsafe { end.0.sent_value().drop_in_place() };
    }
}

print_as_value!(impl [T] for SendSlot<T>, as T);
