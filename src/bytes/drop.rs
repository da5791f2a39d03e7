//! How references, buffers and arenas are dropped.
//!
//! On one thread, dropping the last reference pushes its header on the class's hand. If other
//! threads count too, it pushes the header's number on the class's return stack, from any thread,
//! and the arena's thread frees it later, a bounded number at a time.
//!
//! Who has a header, a reference or a place in a core's count has it as a value ([`Unreferenced`],
//! [`Reference`], [`Counted`]). They are made by functions that are unsafe, and given up by functions
//! that take them and are safe.
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

use core::cell::Cell;
use core::ops::Deref;
use core::ptr::NonNull;

use super::arena_core::{ArenaCore, Class, Header};
use super::buf::Buf;
use super::references::References;
use crate::raw::atomic::Ordering;
use crate::raw::packed::{Packing, Word};
use crate::raw::returns::Returns;

/// How many buffers of a chain the drop of its first one frees at once: some hundred nanoseconds.
pub(super) const LINKS: usize = if cfg!(loom) { 1 } else { 64 };

/// A header that is in use: what the other types are made of.
///
/// # Invariants
///
/// * `kept-in-use`: the header is not free, so it keeps its core (`core-stays`), until this is
///   given up.
struct InUse<R: References>(NonNull<Header<R>>);

impl<R: References> Deref for InUse<R> {
    type Target = Header<R>;

    #[inline]
    fn deref(&self) -> &Header<R> {
        // SAFETY: it keeps its core (`kept-in-use`).
        unsafe { self.0.as_ref() }
    }
}

/// A header without a reference, which this thread alone has.
///
/// # Invariants
///
/// * `sole-owner`: the header is mutable or stale, and has no reference: no one else has it, and no
///   one borrows its link.
pub(super) struct Unreferenced<R: References>(InUse<R>);

/// The same, and its class, for callers that need not load it.
pub(super) struct OfClass<R: References> {
    header: Unreferenced<R>,
    class: NonNull<Class<R>>,
}

impl<R: References> Unreferenced<R> {
    #[inline]
    fn with_class(self) -> OfClass<R> {
        let class = self.0.class_pointer();
        OfClass {
            header: self,
            class,
        }
    }

    #[inline]
    fn link(&mut self) -> &mut Option<Buf<R>> {
        // SAFETY: no one else has the header, and no one borrows its link (`sole-owner`).
        unsafe { self.0.next_mut() }
    }

    /// Takes the link of the header, with the reference that it holds.
    fn take_link(&mut self) -> Option<Reference<R>> {
        let next = self.link().take()?;
        ArenaCore::count_links(&self.0, -1);
        Some(next.into_reference())
    }
}

impl<R: References> OfClass<R> {
    /// # Safety
    ///
    /// `kept-in-use` and `sole-owner` hold, and the caller does not use the header otherwise. It is
    /// from this class.
    #[inline]
    pub(super) unsafe fn new(header: NonNull<Header<R>>, class: NonNull<Class<R>>) -> Self {
        let header = Unreferenced(InUse(header));
        OfClass { header, class }
    }

    #[inline]
    pub(super) fn header(&self) -> &Header<R> {
        &self.header.0
    }

    #[inline]
    pub(super) fn class(&self) -> NonNull<Class<R>> {
        self.class
    }

    /// The header, which is the caller's.
    #[inline]
    pub(super) fn pointer(&self) -> NonNull<Header<R>> {
        self.header.0.0
    }

    /// Makes the header free, and pushes it on the hand of its class. Returns whether some must be
    /// taken off the hand, as [`Class::push`] does.
    #[inline]
    fn push_free(self) -> bool {
        debug_assert!(core::ptr::eq(self.header().class(), self.class.as_ptr()));
        self.header().set_free();
        // SAFETY: the header is from this class, which is valid, as it was in use until now, and so
        // it is not in the hand (`sole-owner`, `free-once`).
        unsafe { self.class.as_ref().push(self.pointer()) }
    }
}

/// A reference to a shared header, which is given up.
///
/// # Invariants
///
/// * `held-reference`: this has one of the references of the header, which keeps it.
pub(super) struct Reference<R: References>(InUse<R>);

/// A header whose last reference was subtracted, or whose count is saturated.
///
/// # Invariants
///
/// * `last-subtracted`: the count [said so](References::subtract). If it is not saturated, no one
///   else has the header.
struct Ended<R: References>(InUse<R>);

impl<R: References> Reference<R> {
    /// # Safety
    ///
    /// `held-reference` holds. The caller gives up the reference, and does not use the header any
    /// more.
    #[inline]
    pub(super) unsafe fn new(header: NonNull<Header<R>>) -> Self {
        Reference(InUse(header))
    }

    /// Subtracts the reference. Returns the header if it may have been the last one.
    #[inline]
    fn subtract(self) -> Option<Ended<R>> {
        ArenaCore::tallies_of(&self.0).dec_refs.add::<R>();
        // If it was not the last one, the header may be freed as soon as the count is written.
        self.0.counts().subtract().then_some(Ended(self.0))
    }

    /// Subtracts the reference. Returns the header if it was the last one; the caller must free it.
    fn end(self) -> Option<Unreferenced<R>> {
        self.subtract()?.unreferenced()
    }
}

impl<R: References> Ended<R> {
    /// Makes the header stale, unless its count is saturated.
    #[inline]
    fn unreferenced(self) -> Option<Unreferenced<R>> {
        if !self.0.counts().is_over() {
            return None;
        }
        ArenaCore::tallies_of(&self.0).dec_ref_zeroes.add::<R>();
        self.0.counts().make_stale();
        // Without a reference, and no one else has it (`last-subtracted`).
        Some(Unreferenced(self.0))
    }
}

/// What `remaining` of a closed core counts. Of one thread: a buffer that is in use, or was until
/// now, or a call that uses such a core. Where other threads count: a class. In both, the drop of
/// the arena.
///
/// # Invariants
///
/// * `counted-once`: `remaining` of the core counts this, or will once the arena's drop sets it, so
///   the core is valid (`closed-remaining`).
struct Counted<R: References>(NonNull<ArenaCore<R>>);

impl<R: References> Counted<R> {
    /// # Safety
    ///
    /// `counted-once` holds, and the caller does not use the core otherwise.
    #[inline]
    unsafe fn new(core: NonNull<ArenaCore<R>>) -> Self {
        Counted(core)
    }

    /// Counts a call that uses a core, if that is closed and of one thread.
    fn call(class: &Class<R>) -> Option<Self> {
        let core = class.core_here().filter(|_| class.is_closed())?;
        // Relaxed, here and below: of one thread.
        let remaining = core.remaining.load(Ordering::Relaxed);
        core.remaining.store(remaining + 1, Ordering::Relaxed);
        Some(Counted(class.core()))
    }

    fn core(&self) -> &ArenaCore<R> {
        // SAFETY: it is valid, as this is counted (`counted-once`).
        unsafe { self.0.as_ref() }
    }

    /// Subtracts this, and frees everything if it was the last one.
    fn subtract(self) {
        let remaining = &self.core().remaining;
        let left = if R::ATOMIC {
            // Release: what the caller did happens before the last one frees the memory; acquire:
            // for the last one.
            remaining.fetch_sub(1, Ordering::AcqRel) - 1
        } else {
            let left = remaining.load(Ordering::Relaxed) - 1;
            remaining.store(left, Ordering::Relaxed);
            left
        };
        if left == 0 {
            // SAFETY: it was the last one, so no buffer is in use, the arena is dropped, and nothing
            // uses the core (`closed-remaining`).
            unsafe { ArenaCore::free_all(self.0) };
        }
    }
}

impl<R: References> ArenaCore<R> {
    /// Drops one reference, and returns whether it was the last one.
    #[inline(always)]
    pub(super) fn drop_ref(reference: Reference<R>) -> bool {
        reference.subtract().is_some_and(Self::end)
    }

    /// Like [`drop_ref`](Self::drop_ref), for callers that do not need the result: the function
    /// that follows a last reference has no result to keep, and ends in jumps.
    #[inline(always)]
    pub(super) fn drop_quietly(reference: Reference<R>) {
        if let Some(ended) = reference.subtract() {
            Self::end_quietly(ended);
        }
    }

    /// Like [`end`](Self::end), without the result.
    #[inline(never)]
    fn end_quietly(header: Ended<R>) {
        Self::end(header);
    }

    /// Frees a header that was shared, unless its count is saturated, and returns whether it did.
    #[inline]
    fn end(header: Ended<R>) -> bool {
        match header.unreferenced() {
            Some(header) => {
                Self::free(header.with_class());
                true
            }
            None => false,
        }
    }

    /// Frees a header that has no link.
    #[inline(always)]
    pub(super) fn free_unlinked(mut it: OfClass<R>) {
        debug_assert!(it.header.link().is_none());
        Self::give_back(it);
    }

    /// Drops the reference of a `BufMut` to a shared header.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_shared(reference: Reference<R>) {
        Self::drop_quietly(reference);
    }

    /// Frees a header and its link: if that holds the last reference to the next buffer, that one is
    /// freed too.
    #[inline(always)]
    pub(super) fn free(mut it: OfClass<R>) {
        if it.header.link().is_some() {
            Self::free_chain(it.header);
        } else {
            Self::give_back(it);
        }
    }

    /// Like [`free`](Self::free), for a header with a link; along the chain, without recursion.
    /// After [`LINKS`] buffers the rest is left for later, if there is a later call that frees it.
    #[cold]
    #[inline(never)]
    fn free_chain(mut header: Unreferenced<R>) {
        let mut freed = 0;
        loop {
            if freed >= LINKS && header.link().is_some() {
                match Self::defer(header) {
                    Ok(()) => return,
                    Err(again) => header = again,
                }
            }
            freed += 1;
            let next = header.take_link();
            Self::give_back(header.with_class());
            match next.and_then(Reference::end) {
                Some(next) => header = next,
                None => return,
            }
        }
    }

    /// Counts a link that a header gets or loses, on one thread.
    #[inline]
    pub(super) fn count_links(header: &Header<R>, change: isize) {
        if let Some(core) = header.class().core_here() {
            core.links.set(core.links.get().wrapping_add_signed(change));
        }
    }

    /// Notes that a header has got a link.
    #[inline]
    pub(super) fn linked(header: &Header<R>) {
        Self::count_links(header, 1);
        if !R::ATOMIC && header.class().is_closed() {
            Self::linked_in_closed(header.class());
        }
    }

    /// Frees what is left of a closed core of one thread if no other call may follow, after a link
    /// was added. A buffer of it is in use, and stays.
    #[cold]
    #[inline(never)]
    fn linked_in_closed(class: &Class<R>) {
        let is_left = |core: &&Self| {
            !core.unfinished.get().is_empty() && core.waiting.get().is_none() && !core.has_others(0)
        };
        if class.core_here().filter(is_left).is_some() {
            // The call is counted, as a buffer that is free.
            if let Some(call) = Counted::call(class) {
                Self::free_left(call);
            }
        }
    }

    /// Frees a header without a link, or returns it to the thread that frees it.
    #[inline]
    fn give_back(header: OfClass<R>) {
        if R::ATOMIC {
            Self::give_back_to_owner(header);
        } else {
            Self::give_back_here(header);
        }
    }

    /// Like [`give_back`](Self::give_back), on the arena's thread, which is the only one.
    #[inline(always)]
    fn give_back_here(header: OfClass<R>) {
        let class = header.class;
        if header.push_free() {
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
    /// more. The class is of one thread.
    #[cold]
    #[inline(never)]
    unsafe fn pushed_last(class: NonNull<Class<R>>) {
        // SAFETY: the class is valid until the last buffer was counted out, which is below. It is
        // passed as a pointer: a reference in the arguments would have to outlive that.
        let it = unsafe { class.as_ref() };
        if it.is_closed() {
            it.discard();
            // SAFETY: it was one of the remaining buffers (precondition, `closed-remaining`).
            Self::ended(unsafe { Counted::new(it.core()) });
        } else if let Some(core) = it.core_here() {
            core.bank_some(it);
        }
    }

    /// Like [`give_back`](Self::give_back), on any thread.
    #[inline]
    fn give_back_to_owner(header: OfClass<R>) {
        if let Err(header) = Self::push_returned(header) {
            Self::leave(header);
        }
    }

    /// Pushes a header, which may have a link, on the return stack of its class.
    ///
    /// # Errors
    ///
    /// Returns the header if that is closed.
    #[inline(always)]
    fn push_returned(header: OfClass<R>) -> Result<(), OfClass<R>> {
        let (it, class) = (header.pointer(), header.class);
        // SAFETY: it is valid until it is pushed, its class until the caller has left
        // (`last-to-leave`), and it is pushed once (`sole-owner`). No reference to either is held
        // over the push.
        let is_pushed = unsafe {
            let number = it.as_ref().number();
            let returns = NonNull::from(&(*class.as_ptr()).returns);
            Returns::push(returns, number, |below| {
                it.as_ref().counts().set_link(below)
            })
        };
        if is_pushed { Ok(()) } else { Err(header) }
    }

    /// Leaves a header, and the chain that follows it, to be freed later.
    ///
    /// # Errors
    ///
    /// Returns the header if its arena was dropped, and no later call may come.
    fn defer(header: Unreferenced<R>) -> Result<(), Unreferenced<R>> {
        let it = &header.0;
        let Some(core) = it.class().core_here() else {
            // With its link: the arena's thread continues with the chain when it frees this header.
            return Self::push_returned(header.with_class()).map_err(|it| it.header);
        };
        if it.class().is_closed() {
            // A core that waits is looked at again.
            if core.waiting.get().is_none() && !core.has_others(1) {
                return Err(header);
            }
            core.left.set(core.left.get() + 1);
        }
        let word = Word::linked(it.number(), Packing::NONE);
        it.counts().set_link(core.unfinished.replace(word));
        Ok(())
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
            if R::ATOMIC && list.get().is_empty() {
                list.set(class.returns.take());
            }
            // Before the rest of its chain is left on the list.
            let Some(header) = self.pop_returned(list) else {
                break;
            };
            self.make_free(header);
            count += 1;
        }
        count
    }

    /// Takes the header that was returned or left last off a list of them (`back-in-use`).
    fn pop_returned(&self, list: &Cell<Word>) -> Option<Unreferenced<R>> {
        let find = |number| {
            let header = self.directory().find(number);
            // SAFETY: the number of a header that was given back or left, so it is in use
            // (`back-in-use`), and valid (`page-headers`).
            InUse(unsafe { header.unwrap_unchecked() })
        };
        let link = |number| find(number).counts().link();
        let (number, rest) = list.get().next(Packing::NONE, link)?;
        list.set(rest);
        // Who gave it back does not use it any more, and it is on no list now, so nothing else has
        // it (`back-in-use`).
        Some(Unreferenced(find(number)))
    }

    /// Frees a header that was returned or left. If it is linked, the next one of its chain is
    /// returned or left.
    fn make_free(&self, mut header: Unreferenced<R>) {
        let (next, header) = (header.take_link(), header.with_class());
        let class = header.class;
        if header.push_free() {
            // SAFETY: the classes are valid as long as their core (`core-stays`).
            self.bank_some(unsafe { class.as_ref() });
        }
        if let Some(next) = next.and_then(Reference::end) {
            if let Err(next) = Self::defer(next) {
                Self::free_chain(next);
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
        // SAFETY: called once, and the core is not used by the caller any more (precondition). Both
        // count this before they subtract anything.
        let call = unsafe { Counted::new(core) };
        if R::ATOMIC {
            Self::close_to_others(call);
        } else {
            Self::close_here(call);
        }
    }

    /// Like [`close`](Self::close), for one thread: `remaining` counts buffers.
    fn close_here(call: Counted<R>) {
        let it = call.core();
        if it.held.get() > 0 {
            // Not by the lists of chunks, which change with returned buffers.
            for header in it.directory().headers() {
                // SAFETY: it is valid (`page-headers`), and no class is closed yet, so the core
                // stays. The references of positions are dropped, and no longer counted as theirs
                // (`held-counted`).
                unsafe {
                    while header.as_ref().counts().take_held() {
                        Self::drop_ref(Reference::new(header));
                    }
                }
            }
        }
        it.reclaim_all();
        let in_use: usize = it.classes().iter().map(Class::in_use).sum();
        // Relaxed: of one thread.
        it.remaining.store(in_use + 1, Ordering::Relaxed);
        for class in it.classes() {
            class.close();
            class.close_hand();
        }
        call.subtract();
    }

    /// Subtracts a buffer of a closed core of one thread, and frees one that is left of a chain, or
    /// all of them if no other call may follow.
    fn ended(buffer: Counted<R>) {
        // A core that waits is looked at by who made it wait, and what is left is in use, so it is
        // valid after this buffer too.
        let it = buffer.core();
        if it.unfinished.get().is_empty() || it.waiting.get().is_some() {
            buffer.subtract();
        } else {
            Self::free_left(buffer);
        }
    }

    /// Frees one buffer that is left of chains of a closed core of one thread, and all of them as
    /// long as nothing else [may be in use](Self::has_others); then subtracts the buffer or the call
    /// with which it began. The core does not wait.
    ///
    /// A chain may lead to other closed cores, and back. What follows there is left there, and they
    /// *wait*: they are looked at in the same way before this returns. So nothing recurs.
    #[cold]
    #[inline(never)]
    fn free_left(begun: Counted<R>) {
        let (mut last, mut is_first) = (begun, true);
        // The end of the list is a core that is its own next one.
        last.core().waiting.set(Some(last.0));
        loop {
            let it = last.core();
            let goes_on = is_first || !it.has_others(1);
            let Some(mut header) = goes_on.then(|| it.take_left()).flatten() else {
                let next = it.waiting.take().filter(|&next| next != last.0);
                let Some(next) = next else {
                    last.subtract();
                    return;
                };
                // SAFETY: it waits, and is counted by one more buffer or call for that, on the list
                // of this call alone, which it leaves now (`waits-once`).
                let next = unsafe { Counted::new(next) };
                core::mem::replace(&mut last, next).subtract();
                continue;
            };
            is_first = false;
            let next = header.take_link();
            header.0.set_free();
            // SAFETY: the buffer was in use until now. What `last` is counts too, so this is not
            // the last.
            unsafe { Counted::new(last.0) }.subtract();
            let Some(next) = next.and_then(Reference::end) else {
                continue;
            };
            let class = next.0.class();
            let waits = |core: &Self| core.waiting.get().is_some();
            if class.core_here().is_some_and(|core| !waits(core)) {
                if let Some(call) = Counted::call(class) {
                    call.core().waiting.set(Some(last.0));
                    last = call;
                }
            }
            // It is not closed, or waits.
            let is_left = Self::defer(next).is_ok();
            debug_assert!(is_left);
        }
    }

    /// Takes a header off the list of what is left of chains, of a closed core of one thread.
    fn take_left(&self) -> Option<Unreferenced<R>> {
        let header = self.pop_returned(&self.unfinished)?;
        self.left.set(self.left.get() - 1);
        Some(header)
    }

    /// Like [`close`](Self::close), if other threads have buffers: `remaining` counts classes, each
    /// of which [settles](Returns::settle) its own.
    fn close_to_others(call: Counted<R>) {
        let it = call.core();
        let classes = it.classes();
        // Relaxed: no class is settled yet.
        it.remaining.store(classes.len() + 1, Ordering::Relaxed);
        for class in classes {
            class.close();
            for taken in [class.arrived.replace(Word::EMPTY), class.returns.close()] {
                let list = Cell::new(taken);
                while let Some(header) = it.pop_returned(&list) {
                    it.make_free(header);
                }
            }
            // SAFETY: `close` has closed these returns; each class settles its own once.
            if unsafe { Returns::settle(NonNull::from(&class.returns), class.in_use()) } {
                // SAFETY: `remaining` counts the class until it is settled (`closed-remaining`).
                unsafe { Counted::new(call.0) }.subtract();
            }
        }
        call.subtract();
    }

    /// Subtracts a buffer of a closed class, on any thread.
    #[cold]
    #[inline(never)]
    fn leave(header: OfClass<R>) {
        let class = header.class;
        // SAFETY: the class is valid until its last buffer has left, and then until it is settled,
        // which is here. The header is a buffer in use, which leaves once (`sole-owner`).
        unsafe {
            let returns = NonNull::from(&(*class.as_ptr()).returns);
            let core = (*class.as_ptr()).core();
            if Returns::leave(returns) {
                Counted::new(core).subtract();
            }
        }
    }
}
