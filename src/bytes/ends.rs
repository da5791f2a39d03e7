//! How references, buffers and arenas end.
//!
//! On one thread the last reference pushes its header on the class's free stack. Where other
//! threads count it pushes the header's number on the class's return stack, from any thread, and
//! the arena's thread makes it free later, a bounded number at a time.
//!
//! The end of a buffer is that of the chain behind it, as far as that has no other references. So
//! that no drop pays for all of it, the rest of a long one is left: on one thread in a list of the
//! home, where other threads count on the return stack, each with its link. It is freed as what came
//! back is: a few buffers at a time, when an allocation finds none free; all of it by what walks over
//! all.

use core::ptr::NonNull;

use super::class::Class;
use super::counts::{Atomic, Counts, Local};
use super::header::Header;
use super::home::{Ends, Home};
use crate::raw::atomic::Ordering;
use crate::raw::packed::{Packing, Word};
use crate::raw::returns::Returns;

impl<R: Ends> Home<R> {
    /// Gives one reference back, and says whether it was the last one.
    ///
    /// # Safety
    ///
    /// The header is shared, and the caller has one of its references, which is none from now
    /// on. If it was the last the header is not used any more.
    #[inline(always)]
    pub(super) unsafe fn drop_ref(header: NonNull<Header<R>>) -> bool {
        // SAFETY: the caller's reference keeps it there, until the count is written.
        let it = unsafe { header.as_ref() };
        Self::tallies_of(it).dec_refs.add::<R>();
        // SAFETY: the reference is counted out (precondition).
        it.counts().subtract() && unsafe { Self::end(header) }
    }

    /// As [`drop_ref`](Self::drop_ref), where no one asks which it was: the function that follows
    /// a last reference has no result to keep, and ends in jumps.
    ///
    /// # Safety
    ///
    /// As for [`drop_ref`](Self::drop_ref).
    #[inline(always)]
    pub(super) unsafe fn drop_quietly(header: NonNull<Header<R>>) {
        // SAFETY: the caller's reference keeps it there, until the count is written.
        let it = unsafe { header.as_ref() };
        Self::tallies_of(it).dec_refs.add::<R>();
        if it.counts().subtract() {
            // SAFETY: the reference is counted out (precondition).
            unsafe { Self::end_quietly(header) };
        }
    }

    /// As [`end`](Self::end).
    ///
    /// # Safety
    ///
    /// As for [`end`](Self::end).
    #[inline(never)]
    unsafe fn end_quietly(header: NonNull<Header<R>>) {
        // SAFETY: the same (precondition).
        unsafe { Self::end(header) };
    }

    /// Makes a header free that was shared, unless its count is saturated, and says so.
    ///
    /// # Safety
    ///
    /// Its count [came to its end](Counts::subtract), or is saturated. In the first case the
    /// caller has it, and does not use it any more.
    #[inline(always)]
    unsafe fn end(header: NonNull<Header<R>>) -> bool {
        // SAFETY: a header that is not free keeps its home.
        let it = unsafe { header.as_ref() };
        let is_over = it.counts().is_over();
        if is_over {
            Self::tallies_of(it).dec_ref_zeroes.add::<R>();
            it.counts().make_stale();
            // SAFETY: the caller has it, without a reference.
            unsafe { Self::free(header, it.class_pointer()) };
        }
        is_over
    }

    /// Makes a header free that was mutable, or is stale; so too what it is linked to, if the
    /// link holds the last reference.
    ///
    /// # Safety
    ///
    /// The caller has the header: it is not free, has no reference, and is of that class. It is
    /// not used any more.
    #[inline(always)]
    pub(super) unsafe fn free(header: NonNull<Header<R>>, class: NonNull<Class>) {
        // SAFETY: a header that is not free keeps its home; no one else has it (precondition),
        // so no one borrows its link.
        unsafe {
            if header.as_ref().next().is_some() {
                Self::free_chain(header, LINKS);
                return;
            }
            R::give_back(header, class);
        }
    }

    /// As [`free`](Self::free), of a header with a link; along the chain, without recursion. After
    /// `most` buffers the rest is left for later, unless its arena is gone. Returns how many were freed.
    ///
    /// # Safety
    ///
    /// As for [`free`](Self::free), the class apart.
    #[cold]
    #[inline(never)]
    unsafe fn free_chain(header: NonNull<Header<R>>, most: usize) -> usize {
        let (mut header, mut freed) = (header, 0);
        loop {
            // SAFETY: a header that is not free keeps its home, and this one's link is borrowed
            // by no one, for it has no reference. Only one with a link is deferred, and is not used
            // any more then.
            unsafe {
                if freed >= most && header.as_ref().next().is_some() && R::defer(header) {
                    return freed;
                }
            }
            freed += 1;
            // SAFETY: as above.
            let next = unsafe { header.as_ref().next_mut() }.take();
            // SAFETY: no one else has it, and it has no link.
            unsafe { R::give_back(header, header.as_ref().class_pointer()) };
            // SAFETY: the link had a reference of it.
            match next.and_then(|next| unsafe { Self::end_of_link(next.header) }) {
                Some(next) => header = next,
                None => return freed,
            }
        }
    }

    /// Gives the reference of a link back. Returns the header if it was the last one: it is the
    /// caller's then, stale, and to be freed.
    ///
    /// # Safety
    ///
    /// A link had a reference of that header, which is none from now on.
    unsafe fn end_of_link(header: NonNull<Header<R>>) -> Option<NonNull<Header<R>>> {
        // SAFETY: the link's reference keeps it there (precondition).
        let it = unsafe { header.as_ref() };
        Self::tallies_of(it).dec_refs.add::<R>();
        if !(it.counts().subtract() && it.counts().is_over()) {
            return None;
        }
        Self::tallies_of(it).dec_ref_zeroes.add::<R>();
        it.counts().make_stale();
        Some(header)
    }
}

/// How many buffers of a chain the end of its first one frees at once: some hundred nanoseconds.
pub(super) const LINKS: usize = if cfg!(loom) { 1 } else { 64 };

impl Ends for Local {
    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    #[inline(always)]
    unsafe fn give_back(header: NonNull<Header<Self>>, class: NonNull<Class>) {
        // SAFETY: a header that is not free keeps its home, with its class.
        let (it, its_class) = unsafe { (header.as_ref(), class.as_ref()) };
        debug_assert!(core::ptr::eq(it.class(), its_class));
        it.set_free();
        // SAFETY: it is the class's, and was not free.
        if unsafe { its_class.push(header.cast()) } {
            // SAFETY: it was in use, and nothing of the home is used below.
            unsafe { pushed_last(class) };
        }
    }

    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    #[inline(always)]
    fn reclaim(home: &Home<Self>, _: &Class, most: usize) -> usize {
        let mut count = 0;
        while count < most {
            let Some(header) = home.directory().find(home.unfinished.get()) else {
                break;
            };
            // SAFETY: deferred, so it is there, not free, without a reference, and no one else's; it
            // is on the list no more.
            unsafe {
                home.unfinished.set(header.as_ref().deferred_before());
                count += Home::free_chain(header, 1);
            }
        }
        count
    }

    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    unsafe fn defer(header: NonNull<Header<Self>>) -> bool {
        // SAFETY: a header that is not free keeps its home.
        let it = unsafe { header.as_ref() };
        if it.class().is_closed() {
            return false;
        }
        // SAFETY: as above.
        let unfinished = unsafe { &Home::<Local>::of(it.class()).as_ref().unfinished };
        it.set_deferred(unfinished.replace(it.number()));
        true
    }

    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    unsafe fn close(home: NonNull<Home<Self>>) {
        // SAFETY: it is there until it is closed (A1).
        let it = unsafe { home.as_ref() };
        if it.held.get() > 0 {
            // Not by the lists of chunks, which change with what comes back.
            for header in it.directory().headers() {
                // SAFETY: it is there (D1), and no class is closed yet, so the home stays.
                unsafe { drop_held(header) };
            }
        }
        it.reclaim_all();
        let in_use = it.classes().iter().map(Class::in_use).sum();
        // Relaxed, here and below: of one thread.
        it.remaining.store(in_use, Ordering::Relaxed);
        for class in it.classes() {
            class.close();
            class.close_hand();
        }
        if in_use == 0 {
            // SAFETY: no buffer is left, and the arena is gone (A1).
            unsafe { Home::free_all(home) };
        }
    }
}

/// A free header was pushed on the last place of its class's hand, which may be closed.
///
/// # Safety
///
/// The header was in use, and is not; the caller does not use the home or the buffer any more.
#[cold]
#[inline(never)]
unsafe fn pushed_last(class: NonNull<Class>) {
    // SAFETY: the class is there until the last buffer was counted out, which is below. It is no
    // reference in the call's arguments, which would have to outlive that.
    let it = unsafe { class.as_ref() };
    let home = Home::<Local>::of(it);
    if it.is_closed() {
        it.discard();
        // SAFETY: it was one of those that remained (precondition).
        unsafe { ended(home) };
    } else {
        // SAFETY: the home is there, as it is not closed (A1).
        unsafe { home.as_ref() }.bank_some(it);
    }
}

/// Counts out a buffer of a home that is closed.
///
/// # Safety
///
/// It was in use, and is not; the caller does not use the home or the buffer any more.
unsafe fn ended(home: NonNull<Home<Local>>) {
    // SAFETY: it is there while buffers remain (A1).
    let remaining = unsafe { &home.as_ref().remaining };
    let left = remaining.load(Ordering::Relaxed) - 1;
    remaining.store(left, Ordering::Relaxed);
    if left == 0 {
        // SAFETY: it was the last one (A3).
        unsafe { Home::free_all(home) };
    }
}

/// Gives back all references that positions hold.
///
/// # Safety
///
/// The home is there until this returns. If no reference is left the header is not used any
/// more.
unsafe fn drop_held(header: NonNull<Header<Local>>) {
    loop {
        // SAFETY: the home is there (precondition).
        let counts = unsafe { header.as_ref().counts() };
        if counts.held() == 0 || counts.is_saturated() {
            return;
        }
        counts.unhold();
        // SAFETY: a position had it (N2), and has it no more.
        unsafe { Home::drop_ref(header) };
    }
}

impl Ends for Atomic {
    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    #[inline]
    unsafe fn give_back(header: NonNull<Header<Self>>, class: NonNull<Class>) {
        // SAFETY: it is there until it is pushed, its class until this has left (Q2 of
        // `raw/returns.rs`).
        unsafe {
            if !push(header, class) {
                leave(class);
            }
        }
    }

    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    unsafe fn defer(header: NonNull<Header<Self>>) -> bool {
        // With its link: the arena's thread goes on with the chain when it makes this one free.
        // SAFETY: the caller has it, without a reference (precondition); so it is there until it is
        // pushed, and its class until then.
        unsafe { push(header, header.as_ref().class_pointer()) }
    }

    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    fn reclaim(home: &Home<Self>, class: &Class, most: usize) -> usize {
        let mut count = 0;
        while count < most {
            let mut taken = class.arrived.get();
            if taken.is_empty() {
                taken = class.returns.take();
            }
            let Some(rest) = make_free(home, class, taken) else {
                break;
            };
            class.arrived.set(rest);
            count += 1;
        }
        count
    }

    #[expect(private_interfaces, reason = "only public for a sealed trait")]
    unsafe fn close(home: NonNull<Home<Self>>) {
        // SAFETY: it is there until it is closed (A1).
        let it = unsafe { home.as_ref() };
        let classes = it.classes();
        // Relaxed: no class is settled yet.
        it.remaining.store(classes.len() + 1, Ordering::Relaxed);
        for class in classes {
            class.close();
            for mut taken in [class.arrived.replace(Word::EMPTY), class.returns.close()] {
                while let Some(rest) = make_free(it, class, taken) {
                    taken = rest;
                }
            }
            // SAFETY: closed just now, and settled once.
            if unsafe { Returns::settle(NonNull::from(&class.returns), class.in_use()) } {
                // SAFETY: this call is counted, too, so the home stays.
                unsafe { settled(home) };
            }
        }
        // SAFETY: this call, which uses the home no more.
        unsafe { settled(home) };
    }
}

/// Pushes a header on the return stack of its class; `false` if that is closed.
///
/// # Safety
///
/// The caller has the header: it is not free, has no reference, and is of that class. It is not used
/// any more if it was pushed.
#[inline(always)]
unsafe fn push(header: NonNull<Header<Atomic>>, class: NonNull<Class>) -> bool {
    // SAFETY: it is there until it is pushed, its class until the caller has left (Q2 of
    // `raw/returns.rs`). No reference to either is held over the push.
    unsafe {
        let number = header.as_ref().number();
        let returns = NonNull::from(&(*class.as_ptr()).returns);
        let link = |below| header.as_ref().counts().set_link(below);
        Returns::push(returns, number, link)
    }
}

/// Makes the header free that was given back last, and returns the rest. If it is linked, the next
/// one of its chain is given back.
fn make_free(home: &Home<Atomic>, class: &Class, taken: Word) -> Option<Word> {
    let find = |number| {
        let header = home.directory().find(number);
        // SAFETY: the number of a header that was given back, so it is there (D1).
        unsafe { header.unwrap_unchecked() }
    };
    // SAFETY: the header of a number that was given back is there (D1).
    let link = |number| unsafe { find(number).as_ref().counts().link() };
    let (number, rest) = taken.next(Packing::NONE, link)?;
    let header = find(number);
    // SAFETY: it is there, the class's, and in use until now; who pushed it does not use it any
    // more. So no one borrows its link, which has a reference of the next one.
    unsafe {
        let next = header.as_ref().next_mut().take();
        header.as_ref().set_free();
        home.push(class, header);
        if let Some(next) = next.and_then(|next| Home::end_of_link(next.header)) {
            Home::free_chain(next, 0);
        }
    }
    Some(rest)
}

/// A buffer of a class that is closed is gone.
///
/// # Safety
///
/// The caller had it, does not use it any more, and calls this once.
#[cold]
#[inline(never)]
unsafe fn leave(class: NonNull<Class>) {
    // SAFETY: the class is there until the caller has left; after the last one until it is
    // settled, which is here.
    unsafe {
        let returns = NonNull::from(&(*class.as_ptr()).returns);
        let home = (*class.as_ptr()).home();
        if Returns::leave(returns) {
            settled(home.cast());
        }
    }
}

/// All buffers of a class are gone, or the arena's drop has done its work.
///
/// # Safety
///
/// Called once for each class, and by the drop; the caller does not use the home any more.
unsafe fn settled(home: NonNull<Home<Atomic>>) {
    // SAFETY: the home is there until the last one was here.
    let remaining = unsafe { &(*home.as_ptr()).remaining };
    // Release: what the caller did happens before the last one frees the memory; acquire: for
    // the last one.
    if remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: by A3 no buffer is in use and the arena is dropped, so nothing uses the home.
        unsafe { Home::free_all(home) };
    }
}
