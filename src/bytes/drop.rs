//! How references, buffers and arenas are dropped.
//!
//! On one thread, dropping the last reference pushes its header on the class's hand. If other
//! threads count too, it pushes the header's number on the class's return stack, from any thread,
//! and the arena's thread frees it later, a bounded number at a time.
//!
//! Dropping a buffer also drops the chain that follows it, up to a buffer that has other
//! references. So that no drop pays for a whole long chain, its rest is left: on one thread in a
//! list of the core, with atomic counts on the return stack, each with its link. It is freed like
//! returned buffers: a few at a time, when an allocation finds none free; all of it by methods that
//! walk over everything. So both kinds of counts have such a list, whose headers are [made
//! free](ArenaCore::reclaim) one by one.
//!
//! Once the arena is dropped, the drop of a chain may be the last call that the arena gets, so that
//! the rest cannot be left. On one thread the core therefore counts the links of its buffers. Each
//! buffer is held by a link, is left on the core's list, or is held by something that will be
//! dropped. If more are in use than there are links and buffers on the list, there is such a later
//! drop, and the rest is left: each later drop frees one buffer of it, and all of it when the
//! numbers say no more that another one follows. The numbers may say so too early, as two links may
//! lead to one buffer, or to another arena, but not too late: whatever makes a core's buffers in use
//! fewer than its links and its list, a link too, looks at them. Otherwise of two cores each could
//! wait for a drop that only the other's rest has.
//!
//! With atomic counts, chains of a dropped arena are freed at once: links are made and dropped by
//! any thread, and a count that all of them write costs more than the links do
//! (`benches/ATTEMPTS.md`, "Chains of a dropped arena").

use core::ptr::NonNull;

use super::arena_core::{ArenaCore, Class, Header, Part};
use super::references::References;
use crate::raw::atomic::Ordering;
use crate::raw::packed::{Packing, Word};
use crate::raw::returns::Returns;

/// How many buffers of a chain the drop of its first one frees at once: some hundred nanoseconds.
pub(super) const LINKS: usize = if cfg!(loom) { 1 } else { 64 };

impl<R: References> ArenaCore<R> {
    /// Drops one reference, and returns whether it was the last one.
    ///
    /// # Safety
    ///
    /// The header is shared, and the caller has one of its references and gives it up. If it was
    /// the last, the header is not used any more.
    #[inline(always)]
    pub(super) unsafe fn drop_ref(header: NonNull<Header<R>>) -> bool {
        // SAFETY: the caller's reference keeps it valid until the count is written.
        let it = unsafe { header.as_ref() };
        Self::tallies_of(it).dec_refs.add::<R>();
        // SAFETY: the count says that this was the last reference, which the caller gives up.
        it.counts().subtract() && unsafe { Self::end(header) }
    }

    /// Like [`drop_ref`](Self::drop_ref), for callers that do not need the result: the function
    /// that follows a last reference has no result to keep, and ends in jumps.
    ///
    /// # Safety
    ///
    /// The conditions of [`drop_ref`](Self::drop_ref).
    #[inline(always)]
    pub(super) unsafe fn drop_quietly(header: NonNull<Header<R>>) {
        // SAFETY: the caller's reference keeps it valid until the count is written.
        let it = unsafe { header.as_ref() };
        Self::tallies_of(it).dec_refs.add::<R>();
        if it.counts().subtract() {
            // SAFETY: the count says that this was the last reference, which the caller gives up.
            unsafe { Self::end_quietly(header) };
        }
    }

    /// Like [`end`](Self::end), without the result.
    ///
    /// # Safety
    ///
    /// The conditions of [`end`](Self::end).
    #[inline(never)]
    unsafe fn end_quietly(header: NonNull<Header<R>>) {
        // SAFETY: the last reference of the header was counted out, and it is not used any more
        // (precondition).
        unsafe { Self::end(header) };
    }

    /// Frees a header that was shared, unless its count is saturated, and returns whether it did.
    ///
    /// # Safety
    ///
    /// Its last reference [was subtracted](References::subtract), or it is saturated. In the first
    /// case the caller owns the header, and does not use it any more.
    #[inline(always)]
    unsafe fn end(header: NonNull<Header<R>>) -> bool {
        // SAFETY: a header that is not free keeps its core.
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

    /// Frees a header that was mutable, or is stale, and its link: if that holds the last reference
    /// to the next buffer, that one is freed too.
    ///
    /// # Safety
    ///
    /// The caller owns the header: it is not free, has no reference, and is from this class. It is
    /// not used any more.
    #[inline(always)]
    pub(super) unsafe fn free(header: NonNull<Header<R>>, class: NonNull<Class<R>>) {
        // SAFETY: a header that is not free keeps its core; no one else has it (precondition),
        // so no one borrows its link.
        unsafe {
            if header.as_ref().next().is_some() {
                Self::free_chain(header);
                return;
            }
            Self::give_back(header, class);
        }
    }

    /// Like [`free`](Self::free), for a header with a link; along the chain, without recursion.
    /// After [`LINKS`] buffers the rest is left for later, if there is a later call that frees it.
    ///
    /// # Safety
    ///
    /// The conditions of [`free`](Self::free), except for the class.
    #[cold]
    #[inline(never)]
    unsafe fn free_chain(header: NonNull<Header<R>>) {
        let (mut header, mut freed) = (header, 0);
        loop {
            // SAFETY: a header that is not free keeps its core, and this one's link is borrowed by
            // no one, because it has no reference. One that is deferred is not used any more.
            unsafe {
                if freed >= LINKS && header.as_ref().next().is_some() && Self::defer(header) {
                    return;
                }
            }
            freed += 1;
            // SAFETY: the header keeps its core (`core-stays`), and has no reference. Without a link
            // it is given back, as no one else has it. The link had a reference of the next one.
            let next = unsafe {
                let next = Self::take_link(header);
                Self::give_back(header, header.as_ref().class_pointer());
                next.and_then(|next| Self::end_of_link(next.header))
            };
            match next {
                Some(next) => header = next,
                None => return,
            }
        }
    }

    /// Takes the link of a header, with the reference that it holds.
    ///
    /// # Safety
    ///
    /// The caller owns the header: it is not free, stale, and has no reference.
    unsafe fn take_link(header: NonNull<Header<R>>) -> Option<Part<R>> {
        // SAFETY: it is not free, so it keeps its core; it has no reference, so no one borrows its
        // link (`no-cycle`).
        let (it, next) = unsafe { (header.as_ref(), header.as_ref().next_mut().take()) };
        if next.is_some() {
            Self::count_links(it, -1);
        }
        next
    }

    /// Counts a link that a header gets or loses, on one thread.
    #[inline]
    pub(super) fn count_links(header: &Header<R>, change: isize) {
        if !R::ATOMIC {
            // SAFETY: a header that is not free keeps its core, which this thread alone uses.
            let links = unsafe { &header.class().core().as_ref().links };
            links.set(links.get().wrapping_add_signed(change));
        }
    }

    /// Notes that a header has got a link.
    #[inline]
    pub(super) fn linked(header: &Header<R>) {
        Self::count_links(header, 1);
        if !R::ATOMIC && header.class().is_closed() {
            // SAFETY: a header that is not free keeps its core, which is closed.
            unsafe { Self::linked_in_closed(header.class().core()) };
        }
    }

    /// Frees what is left of a closed core if no other call may follow, after a link was added.
    ///
    /// # Safety
    ///
    /// The core is valid, closed and of one thread; a buffer of it is in use, and stays.
    #[cold]
    #[inline(never)]
    unsafe fn linked_in_closed(core: NonNull<Self>) {
        // SAFETY: valid (precondition), and closed. The call is counted, as a buffer that is free.
        unsafe {
            let it = core.as_ref();
            let is_left = !it.unfinished.get().is_empty() && it.waiting.get().is_none();
            if is_left && !it.has_others(0) {
                it.count_call();
                Self::free_left(core);
            }
        }
    }

    /// Drops the reference of a link. Returns the header if it was the last one: then it is stale,
    /// and the caller owns it and must free it.
    ///
    /// # Safety
    ///
    /// A link had a reference to this header, and gives it up.
    unsafe fn end_of_link(header: NonNull<Header<R>>) -> Option<NonNull<Header<R>>> {
        // SAFETY: the link's reference keeps it valid (precondition).
        let it = unsafe { header.as_ref() };
        Self::tallies_of(it).dec_refs.add::<R>();
        if !(it.counts().subtract() && it.counts().is_over()) {
            return None;
        }
        Self::tallies_of(it).dec_ref_zeroes.add::<R>();
        it.counts().make_stale();
        Some(header)
    }

    /// Frees a stale header without a link, or returns it to the thread that frees it.
    ///
    /// # Safety
    ///
    /// The caller owns the header: it is not free, has no reference, and is from this class. It is
    /// not used any more.
    #[inline(always)]
    unsafe fn give_back(header: NonNull<Header<R>>, class: NonNull<Class<R>>) {
        // SAFETY: the caller owns the header, which is not free, and is from this class
        // (precondition).
        unsafe {
            if R::ATOMIC {
                Self::give_back_to_owner(header, class);
            } else {
                Self::give_back_here(header, class);
            }
        }
    }

    /// Like [`give_back`](Self::give_back), on the arena's thread, which is the only one.
    ///
    /// # Safety
    ///
    /// The conditions of [`give_back`](Self::give_back).
    #[inline(always)]
    unsafe fn give_back_here(header: NonNull<Header<R>>, class: NonNull<Class<R>>) {
        // SAFETY: a header that is not free keeps its core, with its class.
        let (it, its_class) = unsafe { (header.as_ref(), class.as_ref()) };
        debug_assert!(core::ptr::eq(it.class(), its_class));
        it.set_free();
        // SAFETY: it is the class's, and was not free.
        if unsafe { its_class.push(header) } {
            // SAFETY: it was in use, and nothing of the core is used below.
            unsafe { Self::pushed_last(class) };
        }
    }

    /// Makes room after a free header was pushed on the last place of its class's hand, which may
    /// be closed.
    ///
    /// # Safety
    ///
    /// The header was in use, and no longer is; the caller does not use the core or the buffer any
    /// more.
    #[cold]
    #[inline(never)]
    unsafe fn pushed_last(class: NonNull<Class<R>>) {
        // SAFETY: the class is valid until the last buffer was counted out, which is below. It is
        // passed as a pointer: a reference in the arguments would have to outlive that.
        let it = unsafe { class.as_ref() };
        let core = it.core();
        if it.is_closed() {
            it.discard();
            // SAFETY: it was one of the remaining buffers (precondition).
            unsafe { Self::ended(core) };
        } else {
            // SAFETY: the core is valid, as it is not closed (`core-stays`).
            unsafe { core.as_ref() }.bank_some(it);
        }
    }

    /// Like [`give_back`](Self::give_back), on any thread.
    ///
    /// # Safety
    ///
    /// The conditions of [`give_back`](Self::give_back).
    #[inline]
    unsafe fn give_back_to_owner(header: NonNull<Header<R>>, class: NonNull<Class<R>>) {
        // SAFETY: it is valid until it is pushed, its class until this has left (`last-to-leave`).
        unsafe {
            if !Self::push_returned(header, class) {
                Self::leave(class);
            }
        }
    }

    /// Pushes a header on the return stack of its class; returns `false` if that is closed.
    ///
    /// # Safety
    ///
    /// The conditions of [`give_back`](Self::give_back), but the header may have a link, and may
    /// still be used if it was not pushed.
    #[inline(always)]
    unsafe fn push_returned(header: NonNull<Header<R>>, class: NonNull<Class<R>>) -> bool {
        // SAFETY: it is valid until it is pushed, its class until the caller has left
        // (`last-to-leave`). No reference to either is held over the push.
        unsafe {
            let number = header.as_ref().number();
            let returns = NonNull::from(&(*class.as_ptr()).returns);
            let link = |below| header.as_ref().counts().set_link(below);
            Returns::push(returns, number, link)
        }
    }

    /// Leaves a header, and the chain that follows it, to be freed later; returns `false` if its
    /// arena was dropped, and no later call may come.
    ///
    /// # Safety
    ///
    /// The caller owns the header: it is not free, stale, and has no reference. It is not used any
    /// more if it was left.
    unsafe fn defer(header: NonNull<Header<R>>) -> bool {
        // SAFETY: a header that is not free keeps its core.
        let it = unsafe { header.as_ref() };
        if R::ATOMIC {
            // With its link: the arena's thread continues with the chain when it frees this header.
            //
            // SAFETY: the caller has it, without a reference (precondition); so it is valid until
            // it is pushed, and its class until then.
            return unsafe { Self::push_returned(header, it.class_pointer()) };
        }
        // SAFETY: its core is valid (`core-stays`), and this thread alone uses it.
        let core = unsafe { it.class().core().as_ref() };
        if it.class().is_closed() {
            // A core that waits is looked at again.
            if core.waiting.get().is_none() && !core.has_others(1) {
                return false;
            }
            core.left.set(core.left.get() + 1);
        }
        let word = Word::linked(it.number(), Packing::NONE);
        it.counts().set_link(core.unfinished.replace(word));
        true
    }

    /// Returns whether a closed core of one thread has a buffer in use that is neither left, nor
    /// held by a link, apart from `more` that are still counted, or are about to be left.
    fn has_others(&self, more: usize) -> bool {
        // Relaxed: of one thread.
        let in_use = self.remaining.load(Ordering::Relaxed);
        in_use > self.links.get() + self.left.get() + more
    }

    /// Frees headers that other threads returned to a class, or, on one thread, that are left of
    /// chains of any class: at most `most`. Returns their number.
    #[inline(always)]
    pub(super) fn reclaim(&self, class: &Class<R>, most: usize) -> usize {
        let list = if R::ATOMIC {
            &class.arrived
        } else {
            &self.unfinished
        };
        let mut count = 0;
        while count < most {
            let mut taken = list.get();
            if R::ATOMIC && taken.is_empty() {
                taken = class.returns.take();
            }
            let Some((header, rest)) = self.next_returned(taken) else {
                break;
            };
            // Before the rest of the chain is left on the list below.
            list.set(rest);
            // SAFETY: it was taken off the list of returned headers, so nothing else has it
            // (`back-in-use`).
            unsafe { self.make_free(header) };
            count += 1;
        }
        count
    }

    /// The header that was returned or left last, of a list of them, and the rest of the list.
    fn next_returned(&self, taken: Word) -> Option<(NonNull<Header<R>>, Word)> {
        let find = |number| {
            let header = self.directory().find(number);
            // SAFETY: the number of a header that was given back or left, so it is in use
            // (`back-in-use`), and valid (`page-headers`).
            unsafe { header.unwrap_unchecked() }
        };
        // SAFETY: the header of a number that was given back or left is valid (`page-headers`).
        let link = |number| unsafe { find(number).as_ref().counts().link() };
        let (number, rest) = taken.next(Packing::NONE, link)?;
        Some((find(number), rest))
    }

    /// Frees a header that was returned or left. If it is linked, the next one of its chain is
    /// returned or left.
    ///
    /// # Safety
    ///
    /// [`next_returned`](Self::next_returned) returned it, and it is on no list any more.
    unsafe fn make_free(&self, header: NonNull<Header<R>>) {
        // SAFETY: it is valid, of this core, and in use until now; the thread that gave it back
        // does not use it any more. So no one borrows its link, which has a reference of the next
        // one.
        unsafe {
            let next = Self::take_link(header);
            header.as_ref().set_free();
            self.push(header.as_ref().class(), header);
            if let Some(next) = next.and_then(|next| Self::end_of_link(next.header)) {
                if !Self::defer(next) {
                    Self::free_chain(next);
                }
            }
        }
    }

    /// Frees all buffers that other threads returned, and all that are left of chains. Returns
    /// their number.
    pub(super) fn reclaim_all(&self) -> usize {
        let mut count = 0;
        loop {
            let classes = self.classes().iter();
            let more: usize = classes.map(|class| self.reclaim(class, usize::MAX)).sum();
            if more == 0 {
                return count;
            }
            // Again, because the rest of a chain may be in a class that was visited before.
            count += more;
        }
    }

    /// Closes the core of a dropped arena: drops the references that positions hold, and frees
    /// everything once no buffer is in use.
    ///
    /// # Safety
    ///
    /// Called once; the caller does not use the core any more.
    pub(super) unsafe fn close(core: NonNull<Self>) {
        // SAFETY: called once, and the core is not used by the caller any more (precondition).
        unsafe {
            if R::ATOMIC {
                Self::close_to_others(core);
            } else {
                Self::close_here(core);
            }
        }
    }

    /// Like [`close`](Self::close), for one thread: `remaining` counts buffers.
    ///
    /// # Safety
    ///
    /// The conditions of [`close`](Self::close).
    unsafe fn close_here(core: NonNull<Self>) {
        // SAFETY: it is valid until it is closed (`core-stays`).
        let it = unsafe { core.as_ref() };
        if it.held.get() > 0 {
            // Not by the lists of chunks, which change with returned buffers.
            for header in it.directory().headers() {
                // SAFETY: it is valid (`page-headers`), and no class is closed yet, so the core
                // stays. The references of positions are dropped, and no longer counted as theirs
                // (`held-counted`).
                unsafe {
                    while header.as_ref().counts().take_held() {
                        Self::drop_ref(header);
                    }
                }
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
            // SAFETY: no buffer is left, and the arena is dropped (`core-stays`).
            unsafe { Self::free_all(core) };
        }
    }

    /// Subtracts a buffer of a closed core of one thread, and frees one that is left of a chain, or
    /// all of them if no other call may follow.
    ///
    /// # Safety
    ///
    /// The buffer was in use, and no longer is; the caller does not use the core or the buffer any
    /// more.
    unsafe fn ended(core: NonNull<Self>) {
        // SAFETY: it is valid while this buffer counts (`core-stays`). A core that waits is looked
        // at by who made it wait, and what is left is in use, so it is valid after this buffer too.
        unsafe {
            let it = core.as_ref();
            if it.unfinished.get().is_empty() || it.waiting.get().is_some() {
                Self::subtract(core);
            } else {
                Self::free_left(core);
            }
        }
    }

    /// Counts a call that uses a closed core of one thread as a buffer, so that it stays.
    fn count_call(&self) {
        let remaining = self.remaining.load(Ordering::Relaxed);
        self.remaining.store(remaining + 1, Ordering::Relaxed);
    }

    /// Subtracts a buffer of a closed core of one thread, or a call that uses it.
    ///
    /// # Safety
    ///
    /// It was counted; the caller does not use the core any more.
    unsafe fn subtract(core: NonNull<Self>) {
        // SAFETY: it is valid while buffers remain (`core-stays`).
        let remaining = unsafe { &core.as_ref().remaining };
        let left = remaining.load(Ordering::Relaxed) - 1;
        remaining.store(left, Ordering::Relaxed);
        if left == 0 {
            // SAFETY: it was the last one (`closed-remaining`).
            unsafe { Self::free_all(core) };
        }
    }

    /// Frees one buffer that is left of chains of a closed core of one thread, and all of them as
    /// long as nothing else [may be in use](Self::has_others); then subtracts a buffer.
    ///
    /// A chain may lead to other closed cores, and back. What follows there is left there, and they
    /// *wait*: they are looked at in the same way before this returns. So nothing recurs.
    ///
    /// # Safety
    ///
    /// The conditions of [`ended`](Self::ended), and the core does not wait.
    #[cold]
    #[inline(never)]
    unsafe fn free_left(core: NonNull<Self>) {
        let (mut last, mut is_first) = (core, true);
        // SAFETY: a core that waits is counted by one more buffer, or this call, until it waits no
        // longer, so all of them are valid (`core-stays`, `waits-once`).
        unsafe {
            // The end of the list is a core that is its own next one.
            core.as_ref().waiting.set(Some(core));
            loop {
                let it = last.as_ref();
                let goes_on = is_first || !it.has_others(1);
                let Some(header) = goes_on.then(|| it.take_left()).flatten() else {
                    let next = it.waiting.take();
                    let core = last;
                    let is_end = next == Some(core);
                    last = next.unwrap_unchecked();
                    Self::subtract(core);
                    if is_end {
                        return;
                    }
                    continue;
                };
                is_first = false;
                // It is taken off the list, so nothing else has it (`back-in-use`).
                let next = Self::take_link(header);
                header.as_ref().set_free();
                // This call is counted, so it is not the last.
                Self::subtract(last);
                let Some(next) = next.and_then(|next| Self::end_of_link(next.header)) else {
                    continue;
                };
                let class = next.as_ref().class();
                let core = class.core();
                if class.is_closed() && core.as_ref().waiting.get().is_none() {
                    core.as_ref().count_call();
                    core.as_ref().waiting.set(Some(last));
                    last = core;
                }
                // It is not closed, or waits.
                let is_left = Self::defer(next);
                debug_assert!(is_left);
            }
        }
    }

    /// Takes a header off the list of what is left of chains, of a closed core of one thread.
    fn take_left(&self) -> Option<NonNull<Header<R>>> {
        let (header, rest) = self.next_returned(self.unfinished.get())?;
        self.unfinished.set(rest);
        self.left.set(self.left.get() - 1);
        Some(header)
    }

    /// Like [`close`](Self::close), if other threads have buffers: `remaining` counts classes, each
    /// of which [settles](Returns::settle) its own.
    ///
    /// # Safety
    ///
    /// The conditions of [`close`](Self::close).
    unsafe fn close_to_others(core: NonNull<Self>) {
        // SAFETY: it is valid until it is closed (`core-stays`).
        let it = unsafe { core.as_ref() };
        let classes = it.classes();
        // Relaxed: no class is settled yet.
        it.remaining.store(classes.len() + 1, Ordering::Relaxed);
        for class in classes {
            class.close();
            for mut taken in [class.arrived.replace(Word::EMPTY), class.returns.close()] {
                while let Some((header, rest)) = it.next_returned(taken) {
                    // SAFETY: it was taken off a list of returned headers, so nothing else has it
                    // (`back-in-use`).
                    unsafe { it.make_free(header) };
                    taken = rest;
                }
            }
            // SAFETY: `close` has closed these returns; each class settles its own once.
            if unsafe { Returns::settle(NonNull::from(&class.returns), class.in_use()) } {
                // SAFETY: this call is counted, too, so the core stays.
                unsafe { Self::settled(core) };
            }
        }
        // SAFETY: this call, which no longer uses the core.
        unsafe { Self::settled(core) };
    }

    /// Subtracts a buffer of a closed class, on any thread.
    ///
    /// # Safety
    ///
    /// The caller had it, does not use it any more, and calls this once.
    #[cold]
    #[inline(never)]
    unsafe fn leave(class: NonNull<Class<R>>) {
        // SAFETY: the class is valid until the caller has left; after the last one until it is
        // settled, which is here.
        unsafe {
            let returns = NonNull::from(&(*class.as_ptr()).returns);
            let core = (*class.as_ptr()).core();
            if Returns::leave(returns) {
                Self::settled(core);
            }
        }
    }

    /// Notes that all buffers of a class are gone, or that the arena's drop has done its work.
    ///
    /// # Safety
    ///
    /// Called once for each class, and by the drop; the caller does not use the core any more.
    unsafe fn settled(core: NonNull<Self>) {
        // SAFETY: the core is valid until the last caller has been here.
        let remaining = unsafe { &(*core.as_ptr()).remaining };
        // Release: what the caller did happens before the last one frees the memory; acquire: for
        // the last one.
        if remaining.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: by `closed-remaining` no buffer is in use and the arena is dropped, so
            // nothing uses the core.
            unsafe { Self::free_all(core) };
        }
    }
}
