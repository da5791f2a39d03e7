//! Values of slabs and pools in the lists and trees of the crate `intrusive-collections`.
//!
//! A value of an intrusive collection contains the links of the collection. The collection owns the
//! value through a pointer such as `Box`, and returns that pointer when the value is removed. An
//! *adapter* is a type that tells the collection which field is the link and what type the pointer
//! has. [`slab_adapter!`](crate::slab_adapter) has the syntax of `intrusive_adapter!`, and declares
//! adapters for two more types of pointer:
//!
//! | written in the adapter | the collection owns | created by | how it gets a box back from a value's address |
//! |---|---|---|---|
//! | `&'s BoundedSlab<T>`, `&'s Slab<T>` | [`SlotBox`]`<T>` of that slab | `new(&slab)` | by the key that is stored next to the value, in the slab that the adapter refers to |
//! | `PoolBox<'p, T>` | [`PoolBox`]`<'p, T>` of any pool on the heap | `new()` | by the address alone |
//!
//! Neither adds a field to the value, and neither allocates. In a program that is written for `Box`
//! only the adapter changes, and the line that creates a value:
//!
//! ```
//! use flatslab::{BoundedSlab, slab_adapter};
//! use intrusive_collections::{LinkedList, LinkedListLink};
//!
//! struct Order { link: LinkedListLink, quantity: u64 }
//!
//! // intrusive_adapter!(Orders = Box<Order>: Order { link => LinkedListLink });
//! slab_adapter!(Orders<'s> = &'s BoundedSlab<Order>: Order { link => LinkedListLink });
//!
//! let slab = BoundedSlab::with_capacity(1_000);
//! let mut level = LinkedList::new(Orders::new(&slab));
//! for quantity in [10, 20, 30] {
//!     let order = Order { link: LinkedListLink::new(), quantity };
//!     level.push_back(slab.insert(order).unwrap().into_box());
//! }
//! let mut cursor = level.front_mut();
//! cursor.move_next();
//! let removed = cursor.remove().unwrap();         // a `SlotBox<Order>`
//! assert_eq!((removed.quantity, slab.len()), (20, 3));
//! drop(removed);                                  // frees the slot
//! drop(level);                                    // frees the other two
//! assert!(slab.is_empty());
//! ```
//!
//! # Which collection when
//!
//! | you have | use |
//! |---|---|
//! | a program that is written for `intrusive-collections`, or a tree | this module: links are pointers of 8 bytes, and following a link checks nothing. Removing a value from the middle by a pointer is `unsafe` (`cursor_mut_from_ptr`) |
//! | a new list, table or heap without `unsafe` | the [`collections`](crate::collections), whose links are [`Key`](crate::Key)s: 4 bytes (8 with generations), checked on every access, and a removal by key is safe |
//!
//! # What happens when
//!
//! | event | `SlotBox` | `PoolBox` |
//! |---|---|---|
//! | a value is removed or popped | the box is returned. Dropping it drops the value and frees the slot | the same |
//! | the collection is cleared or dropped | all values are dropped, and their slots are freed | the same |
//! | a destructor panics while the collection is cleared or dropped | the slot of that value is freed. The values that the collection has not reached yet are forgotten | the same |
//! | a value is forgotten: with the collection, or by `fast_clear` | it is never dropped and keeps its slot; access by key is refused. The slab's memory is not freed when the slab is dropped | it is never dropped and keeps its cell, until the pool is reset or dropped |
//! | access by key while the collection owns the value | refused: [`Borrowed`](crate::AccessError::Borrowed) | there are no keys |
//! | a box of another slab or pool is inserted | panics. The box is dropped, and the collection is unchanged | allowed: each box returns to its own pool |
//! | a collection of another slab is spliced in (`splice_after`, `splice_before`) | aborts the program when one of these values is removed or dropped, because the adapter does not know their slab | allowed |
//! | a box is inserted and comparing its key panics ([`RBTree`](intrusive_collections::RBTree)) | the value is forgotten | the same |
//! | comparing keys panics in a lookup | the collection is unchanged | the same |
//! | the slab or pool is dropped, reset or cleared before the collection | does not compile | does not compile |
//!
//! # A struct that owns the slab and its collections
//!
//! A collection borrows its slab or pool, and no struct can borrow a field of itself. If the slab is
//! used for the whole program, it may be borrowed for `'static`: one from
//! [`BoundedSlab::leak`](crate::BoundedSlab::leak) or `Box::leak`, or a pool from
//! [`Pool::leak`](crate::pool::Pool::leak). The adapter then has no lifetime:
//! `slab_adapter!(Orders = &'static BoundedSlab<Order>: Order { link => LinkedListLink })`.
//!
//! Such a slab is never freed. When the struct is dropped, the collection drops its values and frees
//! their slots, but the memory of the slab, as much as it has for its capacity or has grown to, is
//! leaked: once for each struct that is created. If the struct is created more than once, as a cache
//! of each session is, either borrow a slab of the caller (`struct Cache<'s>`), or use the
//! [`collections`](crate::collections), which store keys, borrow nothing, and are freed with the
//! struct.
//!
//! ```
//! use flatslab::collections::{Links, List};
//! use flatslab::{FullError, Key, KeySlab, linked};
//!
//! struct Order { links: Links, quantity: u64 }
//!
//! linked!(impl Linked<Key, Key> for Order { links });
//!
//! /// Owns its orders; dropping it frees them and the slab.
//! struct Level { slab: KeySlab<Order>, orders: List }
//!
//! impl Level {
//!     fn new() -> Self {
//!         // An owner of your choice, because no other list is in this slab.
//!         Level { slab: KeySlab::new(), orders: List::new(Key::from_raw(0)) }
//!     }
//!
//!     fn push(&mut self, quantity: u64) -> Result<Key, FullError<Order>> {
//!         self.orders.push_back(&mut self.slab, Order { links: Links::new(), quantity })
//!     }
//! }
//!
//! let mut level = Level::new();
//! let keys = [10, 20, 30].map(|quantity| level.push(quantity).ok().unwrap());
//! let removed = level.orders.remove(&mut level.slab, keys[1]).unwrap();   // without `unsafe`
//! assert_eq!((removed.quantity, level.orders.len()), (20, 2));
//! let left: u64 = level.orders.iter(&level.slab).map(|(_, order)| order.quantity).sum();
//! assert_eq!(left, 40);
//! ```
//!
//! If values are found by an id and displaced by use, [`Lru`](crate::collections::Lru) is slab,
//! index and list in one:
//!
//! ```
//! use flatslab::collections::Lru;
//!
//! struct Session { pages: Lru<u64, String> }
//!
//! let mut session = Session { pages: Lru::with_capacity(2) };
//! for id in 1..=3 {
//!     session.pages.insert(id, format!("page {id}"));
//! }
//! assert!(session.pages.get(&1).is_none() && session.pages.get(&3).is_some());
//! drop(session);                                  // frees everything
//! ```
//!
//! # Threads
//!
//! A collection of boxes stays on its thread, like the boxes. Other threads can read a collection of
//! `PoolBox`es through a reference if its values are `Sync`, which requires links like
//! [`LinkedListAtomicLink`](intrusive_collections::LinkedListAtomicLink).
//!
//! # Pointers to values
//!
//! `cursor_mut_from_ptr` and similar functions take a pointer to a value. It must be a pointer that
//! the collection itself returned (`get_ptr` of a cursor). A pointer that was made from a reference
//! may only access the value, and not the key next to it. For `Box` the rule is the same.
//!
//! # What cannot be in a collection
//!
//! A [`Slot`](crate::Slot) owns its value but does not borrow it, so other code may remove the value
//! by key. If a list held slots, this safe program would read a value that was dropped:
//!
//! ```text
//! let key = slot.key();
//! list.push_back(slot);
//! let order = list.front().get().unwrap();   // `&Order`, not tracked by the slab
//! slab.remove_by_key(key);                   // the value is not borrowed: it is removed
//! println!("{}", order.quantity);
//! ```
//!
//! Turn the slot into a box ([`Slot::into_box`](crate::Slot::into_box)), and a removed box into a
//! slot ([`SlotBox::into_slot`]).
//!
//! A [`StorageBox`](crate::pool::StorageBox) is not supported: it finds its pool by a second word,
//! and a collection stores only the address of a value.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

#[doc(no_inline)]
pub use intrusive_collections;
use intrusive_collections::PointerOps;

use crate::pool::PoolBox;
use crate::{Memory, SlotBox, TrackedSlab};

/// The operations by which a collection owns [`SlotBox`]es of one slab, of type `S`. A
/// [`slab_adapter!`](crate::slab_adapter) creates them.
///
/// They contain a reference to the slab, because the address of a value does not identify its slab.
pub struct SlotBoxOps<'s, S> {
    slab: &'s S,
}

impl<'s, S> SlotBoxOps<'s, S> {
    /// Creates the operations for boxes of this slab.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::BoundedSlab;
    /// use flatslab::intrusive::SlotBoxOps;
    /// use flatslab::intrusive::intrusive_collections::PointerOps;
    ///
    /// let slab = BoundedSlab::with_capacity(1);
    /// let ops = SlotBoxOps::new(&slab);
    /// let pointer = ops.into_raw(slab.insert(7).unwrap().into_box());
    /// // SAFETY: straight from `into_raw`, and used once.
    /// assert_eq!(*unsafe { ops.from_raw(pointer) }, 7);
    /// ```
    #[inline]
    #[must_use]
    pub const fn new(slab: &'s S) -> Self {
        SlotBoxOps { slab }
    }
}

impl<S> Clone for SlotBoxOps<'_, S> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for SlotBoxOps<'_, S> {}

impl<S> fmt::Debug for SlotBoxOps<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotBoxOps").finish_non_exhaustive()
    }
}

// SAFETY: a pointer from `into_raw` stays valid until `from_raw`, because the box left the exclusive
// borrow, which keeps cell and value (`cell-stays`, `borrow-keeps-value`), and no one but the
// collection accesses the value (`readers-or-writer`). It has the provenance of the cell, for it is
// made of the box's place and not of a reference. `from_raw` returns that box, and does not unwind.
unsafe impl<T, M: Memory> PointerOps for SlotBoxOps<'_, TrackedSlab<T, M>> {
    type Value = T;
    type Pointer = SlotBox<T>;

    #[inline]
    unsafe fn from_raw(&self, value: *const T) -> SlotBox<T> {
        // SAFETY: the collection has the pointer from `into_raw` of such operations (precondition),
        // perhaps for another slab: a list that was spliced in has them, too. It gives the pointer
        // up.
        let boxed = unsafe {
            let value = NonNull::new_unchecked(value.cast_mut());
            self.slab.try_box_from_raw(value)
        };
        boxed.unwrap_or_else(|| of_another_slab())
    }

    /// # Panics
    ///
    /// Panics if the box is of another slab. The box is dropped.
    #[inline]
    fn into_raw(&self, boxed: SlotBox<T>) -> *const T {
        if !self.slab.is_home_of(&boxed) {
            refuse();
        }
        SlotBox::into_raw(boxed)
    }
}

#[cold]
#[inline(never)]
fn refuse() -> ! {
    panic!("a collection for boxes of one slab was given a box of another slab")
}

/// Aborts: a panic cannot leave a function of this ABI. `from_raw` must not unwind, and there is no
/// box that it could return.
#[cold]
#[inline(never)]
extern "C" fn of_another_slab() -> ! {
    panic!("a value of another slab was spliced into this collection, and cannot be removed")
}

/// The operations by which a collection owns boxes `P`, which are [`PoolBox`]es of pools on the
/// heap. A [`slab_adapter!`](crate::slab_adapter) creates them.
///
/// They contain no data, because the address of a value identifies its pool.
pub struct PoolBoxOps<P> {
    /// Of no size, and `Send` and `Sync`: the collection's own bounds say which threads may have
    /// its values.
    pointers: PhantomData<fn() -> P>,
}

impl<P> PoolBoxOps<P> {
    /// Creates the operations.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::intrusive::PoolBoxOps;
    /// use flatslab::intrusive::intrusive_collections::PointerOps;
    /// use flatslab::pool::Pool;
    ///
    /// let pool = Pool::with_capacity(1);
    /// let ops = PoolBoxOps::new();
    /// let pointer = ops.into_raw(pool.alloc(7));
    /// // SAFETY: straight from `into_raw`, and used once.
    /// assert_eq!(*unsafe { ops.from_raw(pointer) }, 7);
    /// ```
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        PoolBoxOps {
            pointers: PhantomData,
        }
    }
}

impl<P> Default for PoolBoxOps<P> {
    #[inline]
    fn default() -> Self {
        Self::new()
    }
}

impl<P> Clone for PoolBoxOps<P> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for PoolBoxOps<P> {}

impl<P> fmt::Debug for PoolBoxOps<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBoxOps").finish()
    }
}

// SAFETY: a pointer from `into_raw` stays valid until `from_raw`, because the box gave up its cell
// without freeing it (`cell-owner`), and the pool is borrowed for `'p`, a lifetime that the
// collection has too: it is neither dropped nor reset until then. The pointer has the provenance of
// the pool's memory. `from_raw` returns that box, whichever operations of this type gave it up.
unsafe impl<'p, T> PointerOps for PoolBoxOps<PoolBox<'p, T>> {
    type Value = T;
    type Pointer = PoolBox<'p, T>;

    #[inline]
    unsafe fn from_raw(&self, value: *const T) -> PoolBox<'p, T> {
        // SAFETY: from `into_raw` of operations of this type (precondition), and given up.
        unsafe { PoolBox::of_raw(NonNull::new_unchecked(value.cast_mut())) }
    }

    #[inline]
    fn into_raw(&self, boxed: PoolBox<'p, T>) -> *const T {
        PoolBox::into_raw(boxed)
    }
}

/// Declares an adapter by which the collections of the crate `intrusive-collections` own values of
/// a slab or a pool. The page of [`intrusive`](crate::intrusive) says what happens in each case.
///
/// The syntax is that of `intrusive_adapter!`: attributes, visibility, generics and a `where` clause
/// at the end are allowed, and the link may be a field of a field. The pointer is one of:
///
/// * `&'s BoundedSlab<T>` or `&'s Slab<T>`, for [`SlotBox`]es of that slab. The
///   adapter is created by `new(&slab)`. With `&'static` the slab is leaked; see [a struct that owns
///   the slab](crate::intrusive#a-struct-that-owns-the-slab-and-its-collections).
/// * `PoolBox<'p, T>`, for boxes of pools on the heap. The adapter is created by `new()`, `NEW` or
///   `default()`.
///
/// Unlike `intrusive_adapter!`, it also checks that the field has the type of the link, that it is
/// aligned, and that the operations of the link's type take pointers to this type.
///
/// # Examples
///
/// A tree of the values of a pool, and a list of the values of a growable slab:
///
/// ```
/// use flatslab::pool::{Pool, PoolBox};
/// use flatslab::{Slab, slab_adapter};
/// use intrusive_collections::{KeyAdapter, LinkedList, LinkedListLink, RBTree, RBTreeLink};
///
/// #[derive(Default)]
/// pub(crate) struct Level { link: RBTreeLink, price: u64 }
///
/// slab_adapter!(pub(crate) Levels<'p> = PoolBox<'p, Level>: Level { link => RBTreeLink });
/// impl<'a> KeyAdapter<'a> for Levels<'_> {
///     type Key = u64;
///     fn get_key(&self, level: &'a Level) -> u64 { level.price }
/// }
///
/// let pool = Pool::with_capacity(8);
/// let mut levels = RBTree::new(Levels::new());
/// for price in [101, 99, 100] {
///     levels.insert(pool.alloc(Level { price, ..Level::default() }));
/// }
/// let best: PoolBox<'_, Level> = levels.front_mut().remove().unwrap();
/// assert_eq!(best.price, 99);
///
/// struct Entry<T> { link: LinkedListLink, value: T }
///
/// slab_adapter!(Entries<'s, T> = &'s Slab<Entry<T>>: Entry<T> { link => LinkedListLink });
///
/// let slab = Slab::new();
/// let mut list = LinkedList::new(Entries::new(&slab));
/// list.push_back(slab.insert(Entry { link: LinkedListLink::new(), value: "first" }).into_box());
/// assert_eq!(list.front().get().unwrap().value, "first");
/// ```
///
/// A collection does not outlive its slab:
///
/// ```compile_fail,E0505
/// use flatslab::{Slab, slab_adapter};
/// use intrusive_collections::{LinkedList, LinkedListLink};
///
/// slab_adapter!(Links<'s> = &'s Slab<Link>: Link { link => LinkedListLink });
/// struct Link { link: LinkedListLink }
///
/// let slab = Slab::new();
/// let mut list = LinkedList::new(Links::new(&slab));
/// list.push_back(slab.insert(Link { link: LinkedListLink::new() }).into_box());
/// drop(slab);
/// list.clear();
/// ```
///
/// While a collection exists, its pool cannot be reset:
///
/// ```compile_fail,E0502
/// use flatslab::pool::{Pool, PoolBox};
/// use flatslab::slab_adapter;
/// use intrusive_collections::{LinkedList, LinkedListLink};
///
/// slab_adapter!(Links<'p> = PoolBox<'p, Link>: Link { link => LinkedListLink });
/// struct Link { link: LinkedListLink }
///
/// let mut pool = Pool::with_capacity(1);
/// let mut list = LinkedList::new(Links::new());
/// list.push_back(pool.alloc(Link { link: LinkedListLink::new() }));
/// pool.reset();
/// list.clear();
/// ```
///
/// A field of another type is not a link:
///
/// ```compile_fail,E0308
/// use flatslab::{Slab, slab_adapter};
/// use intrusive_collections::LinkedListLink;
///
/// slab_adapter!(Links<'s> = &'s Slab<Link>: Link { number => LinkedListLink });
/// struct Link { link: LinkedListLink, number: u64 }
/// ```
///
/// Operations of another type are refused.
/// [`DefaultLinkOps`](intrusive_collections::DefaultLinkOps) is a safe trait, and the collection
/// would follow the two words as pointers:
///
/// ```compile_fail,E0308
/// use flatslab::{Slab, slab_adapter};
/// use intrusive_collections::{DefaultLinkOps, linked_list};
///
/// #[derive(Default)]
/// struct Forged { next: usize, prev: usize }
///
/// impl DefaultLinkOps for Forged {
///     type Ops = linked_list::LinkOps;
///     const NEW: Self::Ops = linked_list::LinkOps;
/// }
///
/// slab_adapter!(Links<'s> = &'s Slab<Link>: Link { link => Forged });
/// struct Link { link: Forged }
/// ```
///
/// A link that may be unaligned is refused, too:
///
/// ```compile_fail,E0793
/// use flatslab::{Slab, slab_adapter};
/// use intrusive_collections::LinkedListLink;
///
/// slab_adapter!(Links<'s> = &'s Slab<Link>: Link { link => LinkedListLink });
/// #[repr(packed)]
/// struct Link { number: u8, link: LinkedListLink }
/// ```
#[macro_export]
#[cfg_attr(docsrs, doc(cfg(feature = "intrusive-collections")))]
macro_rules! slab_adapter {
    // The adapter itself, for any operations.
    (@adapter
        [$(#[$attribute:meta])*] [$visibility:vis] $name:ident [$($generic:tt),*] [$($where:tt)*]
        $ops:ty, $value:path, [$($field:tt).+], $link:ty
    ) => {
        $(#[$attribute])*
        $visibility struct $name<$($generic),*> $($where)* {
            link_ops: <$link as $crate::intrusive::intrusive_collections::DefaultLinkOps>::Ops,
            pointer_ops: $ops,
        }

        impl<$($generic),*> $crate::__core::marker::Copy for $name<$($generic),*> $($where)* {}

        impl<$($generic),*> $crate::__core::clone::Clone for $name<$($generic),*> $($where)* {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }

        // SAFETY: `get_link` returns the address of the field, with the provenance of the value's
        // pointer; `get_value` subtracts the offset of that field. The field has the type of the
        // link, and operations that take pointers to it: both signatures return one without a cast.
        // It is aligned, because a reference to it compiles.
        unsafe impl<$($generic),*> $crate::intrusive::intrusive_collections::Adapter
            for $name<$($generic),*> $($where)*
        {
            type LinkOps =
                <$link as $crate::intrusive::intrusive_collections::DefaultLinkOps>::Ops;
            type PointerOps = $ops;

            #[inline]
            unsafe fn get_value(
                &self,
                __link: <Self::LinkOps as $crate::intrusive::intrusive_collections::LinkOps>::LinkPtr,
            ) -> *const <Self::PointerOps as $crate::intrusive::intrusive_collections::PointerOps>::Value
            {
                let __link: $crate::__core::ptr::NonNull<$link> = __link;
                let __link: *const $crate::__core::primitive::u8 = __link.as_ptr().cast_const().cast();
                let __offset = $crate::__core::mem::offset_of!($value, $($field).+);
                // SAFETY: the link is that field of a value (precondition).
                let __value: *const $value = unsafe { __link.sub(__offset) }.cast();
                __value
            }

            #[inline]
            unsafe fn get_link(
                &self,
                __value: *const <Self::PointerOps as $crate::intrusive::intrusive_collections::PointerOps>::Value,
            ) -> <Self::LinkOps as $crate::intrusive::intrusive_collections::LinkOps>::LinkPtr {
                // Never called. It does not compile for a field of a packed struct.
                let _ = |__value: &$value| {
                    let _: &$link = &__value.$($field).+;
                };
                let __value: *const $value = __value;
                // SAFETY: the value exists (precondition), and so does its field.
                unsafe {
                    let __link: *const $link = &raw const (*__value).$($field).+;
                    $crate::__core::ptr::NonNull::new_unchecked(__link.cast_mut())
                }
            }

            #[inline]
            fn link_ops(&self) -> &Self::LinkOps {
                &self.link_ops
            }

            #[inline]
            fn link_ops_mut(&mut self) -> &mut Self::LinkOps {
                &mut self.link_ops
            }

            #[inline]
            fn pointer_ops(&self) -> &Self::PointerOps {
                &self.pointer_ops
            }
        }
    };

    // The values of a slab.
    (@pointer
        [$(#[$attribute:meta])*] [$visibility:vis] $name:ident [$($generic:tt),*]
        = & $lifetime:lifetime $slab:ty : $value:path { $($field:tt).+ => $link:ty } $($where:tt)*
    ) => {
        $crate::slab_adapter! { @adapter
            [$(#[$attribute])*] [$visibility] $name [$($generic),*] [$($where)*]
            $crate::intrusive::SlotBoxOps<$lifetime, $slab>, $value, [$($field).+], $link
        }

        impl<$($generic),*> $name<$($generic),*> $($where)* {
            /// Creates an adapter for boxes of this slab.
            #[inline]
            #[must_use]
            pub const fn new(__slab: & $lifetime $slab) -> Self {
                $name {
                    link_ops:
                        <$link as $crate::intrusive::intrusive_collections::DefaultLinkOps>::NEW,
                    pointer_ops: $crate::intrusive::SlotBoxOps::new(__slab),
                }
            }
        }
    };

    // The values of pools.
    (@pointer
        [$(#[$attribute:meta])*] [$visibility:vis] $name:ident [$($generic:tt),*]
        = $pointer:ty : $value:path { $($field:tt).+ => $link:ty } $($where:tt)*
    ) => {
        $crate::slab_adapter! { @adapter
            [$(#[$attribute])*] [$visibility] $name [$($generic),*] [$($where)*]
            $crate::intrusive::PoolBoxOps<$pointer>, $value, [$($field).+], $link
        }

        impl<$($generic),*> $name<$($generic),*> $($where)* {
            /// The adapter.
            pub const NEW: Self = $name {
                link_ops: <$link as $crate::intrusive::intrusive_collections::DefaultLinkOps>::NEW,
                pointer_ops: $crate::intrusive::PoolBoxOps::new(),
            };

            /// Creates an adapter.
            #[inline]
            #[must_use]
            pub const fn new() -> Self {
                Self::NEW
            }
        }

        impl<$($generic),*> $crate::__core::default::Default for $name<$($generic),*> $($where)* {
            #[inline]
            fn default() -> Self {
                Self::NEW
            }
        }
    };

    // The generics, up to the first `>`.
    (@generics
        [$(#[$attribute:meta])*] [$visibility:vis] $name:ident [$($generic:tt)*] > $($rest:tt)*
    ) => {
        $crate::slab_adapter! { @pointer
            [$(#[$attribute])*] [$visibility] $name [$($generic)*] $($rest)*
        }
    };
    (@generics
        [$(#[$attribute:meta])*] [$visibility:vis] $name:ident [$($generic:tt)*]
        $next:tt $($rest:tt)*
    ) => {
        $crate::slab_adapter! { @generics
            [$(#[$attribute])*] [$visibility] $name [$($generic)* $next] $($rest)*
        }
    };

    ($(#[$attribute:meta])* $visibility:vis $name:ident < $($rest:tt)*) => {
        $crate::slab_adapter! { @generics [$(#[$attribute])*] [$visibility] $name [] $($rest)* }
    };
    ($(#[$attribute:meta])* $visibility:vis $name:ident = $($rest:tt)*) => {
        $crate::slab_adapter! { @pointer [$(#[$attribute])*] [$visibility] $name [] = $($rest)* }
    };
}

/// The adapter's `unsafe` code names nothing that the caller's crate can replace:
///
/// ```standalone_crate
/// #![forbid(unsafe_code)]
/// extern crate self as core;
/// pub use std::{clone, default, marker, primitive, ptr};
/// #[macro_export]
/// macro_rules! zero { ($($any:tt)*) => { 0 } }
/// pub mod mem { pub use crate::zero as offset_of; }
///
/// use flatslab::{BoundedSlab, slab_adapter};
/// use intrusive_collections::{LinkedList, LinkedListLink};
///
/// #[repr(C)]
/// struct Order { name: String, link: LinkedListLink }
/// slab_adapter!(Orders<'s> = &'s BoundedSlab<Order>: Order { link => LinkedListLink });
///
/// fn main() {
///     let slab = BoundedSlab::with_capacity(1);
///     let mut list = LinkedList::new(Orders::new(&slab));
///     let order = Order { name: "first".to_string(), link: LinkedListLink::new() };
///     list.push_back(slab.insert(order).ok().unwrap().into_box());
///     assert_eq!(list.front().get().unwrap().name, "first");
/// }
/// ```
#[cfg(doctest)]
#[derive(Debug)]
pub struct NamesOfTheCaller;
