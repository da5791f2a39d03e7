//! [`unsize!`](crate::unsize): boxes of slabs, pools and arenas whose value is a trait object or a slice.
//!
//! The compiler coerces a `Box<T>` to a `Box<dyn Trait>`, but not the boxes of other crates. It does
//! coerce raw pointers. So the macro passes a closure that only coerces a pointer. The box applies
//! it to its own pointer, and a new box is made of the result.
//!
//! A safe function that took any closure would be unsound, because a closure can return a pointer
//! to anything. Checks at run time would not find all such closures:
//! `p.cast::<Other>() as *mut dyn Trait` has the address of `p`, and the type `Other` can have the
//! size and the alignment of the value. So boxes get the closure in a [`Coercion`], whose
//! constructor is an `unsafe` function, and the macro guarantees that its closure obeys the
//! contract. The caller's expression and type are outside of the macro's `unsafe` block.
//!
//! # Invariants
//!
//! * `unsized-alike`: the coercion of a pointer has its address and its provenance, and its
//!   metadata describe the same value: size, alignment and destructor are those of the value. This
//!   is true of each coercion that the language has from `*mut T` to `*mut U`: to a trait object, to
//!   a slice, to a struct that ends in one of these, from a trait object to one of a supertrait, of
//!   fewer auto traits or of a shorter lifetime, and of a pointer to its own type.

use core::ptr::NonNull;

/// A coercion from `*mut T` to `*mut U` (`unsized-alike`).
#[expect(missing_debug_implementations, reason = "only public for a macro")]
pub struct Coercion<T: ?Sized, U: ?Sized>(fn(*mut T) -> *mut U);

impl<T: ?Sized, U: ?Sized> Coercion<T, U> {
    /// Creates a coercion.
    ///
    /// # Safety
    ///
    /// `coerce` only returns its argument, which the compiler coerces (`unsized-alike`).
    #[inline(always)]
    pub const unsafe fn new(coerce: fn(*mut T) -> *mut U) -> Self {
        Coercion(coerce)
    }

    /// Returns the pointer, coerced.
    ///
    /// # Safety
    ///
    /// `value` points to a value of `T`.
    #[inline(always)]
    pub(crate) unsafe fn apply(self, value: NonNull<T>) -> NonNull<U> {
        // SAFETY: a coercion keeps the address (`unsized-alike`), which is not null.
        unsafe { NonNull::new_unchecked((self.0)(value.as_ptr())) }
    }
}

/// A box whose value can be unsized.
pub trait Unsize<U: ?Sized>: Sized {
    /// The type of the value.
    type Value: ?Sized;

    /// The box of an unsized value.
    type Output;

    /// Turns the box into one of the unsized value.
    fn unsize(self, coercion: Coercion<Self::Value, U>) -> Self::Output;
}

/// Turns a box into one of an unsized value.
#[inline(always)]
pub fn unsize<B: Unsize<U>, U: ?Sized>(boxed: B, coercion: Coercion<B::Value, U>) -> B::Output {
    boxed.unsize(coercion)
}

/// Turns a box of a value into a box of a trait object or a slice: `unsize!(boxed => dyn Trait)`.
///
/// The compiler turns a `Box<T>` into a `Box<dyn Trait>` where one is expected. It does this only
/// for the boxes of the standard library. This macro does it for the boxes of slabs, pools and
/// arenas:
///
/// | from | to | bytes of the result, on 64-bit targets |
/// |---|---|---|
/// | [`PoolBox<'p, T>`](crate::pool::PoolBox) | `PoolBox<'p, dyn Trait>` | 16 |
/// | [`StorageBox<'p, T>`](crate::pool::StorageBox) | `StorageBox<'p, dyn Trait>` | 24 |
/// | [`SendBox<T>`](crate::pool::SendBox) | `SendBox<dyn Trait + Send>`, which can be sent to another thread; `SendBox<dyn Trait>`, which cannot | 24 |
/// | [`ArenaBox<'a, T>`](crate::bump::ArenaBox) | `ArenaBox<'a, dyn Trait>` | 16 |
/// | [`SlotBox<T>`](crate::SlotBox) | [`DynSlotBox<dyn Trait>`](crate::DynSlotBox) | 32 |
///
/// The result can be coerced again, for example to a supertrait (from Rust 1.86 on). A box of
/// `[T; N]` becomes a box of `[T]`. The macro moves and allocates nothing, and needs no `unsafe` in
/// the caller. It accepts the coercions that the compiler accepts for `Box`.
///
/// Values of different types need a slab or a pool for each type; their boxes then have one type. An
/// arena has room for all of them.
///
/// # Examples
///
/// Events of different types in one queue, each in the pool of its type:
///
/// ```
/// use std::collections::VecDeque;
///
/// use flatslab::pool::{Pool, PoolBox};
/// use flatslab::unsize;
///
/// trait Event {
///     fn apply(&mut self, book: &mut Vec<u64>);
/// }
///
/// struct Insert { price: u64 }
/// struct Clear;
///
/// impl Event for Insert {
///     fn apply(&mut self, book: &mut Vec<u64>) { book.push(self.price) }
/// }
///
/// impl Event for Clear {
///     fn apply(&mut self, book: &mut Vec<u64>) { book.clear() }
/// }
///
/// let (inserts, clears) = (Pool::with_capacity(1_000), Pool::with_capacity(10));
/// let mut queue: VecDeque<PoolBox<'_, dyn Event>> = VecDeque::new();
/// queue.push_back(unsize!(inserts.alloc(Insert { price: 100 }) => dyn Event));
/// queue.push_back(unsize!(clears.alloc(Clear) => dyn Event));
/// queue.push_back(unsize!(inserts.alloc(Insert { price: 101 }) => dyn Event));
///
/// let mut book = Vec::new();
/// while let Some(mut event) = queue.pop_front() {
///     event.apply(&mut book);
/// }                                              // each event is dropped, and its cell freed
/// assert_eq!(book, [101]);
/// assert!(inserts.is_empty() && clears.is_empty());
/// ```
///
/// Futures that are polled in place, without an allocation for each:
///
/// ```
/// #![forbid(unsafe_code)]
/// use std::future::Future;
/// use std::pin::Pin;
/// use std::task::{Context, Waker};
///
/// use flatslab::pool::{Pool, PoolBox};
/// use flatslab::unsize;
///
/// type Task = Pin<PoolBox<'static, dyn Future<Output = u64>>>;
///
/// let pool: &'static Pool<_> = Pool::leak(8);
/// let spawn = |n: u64| -> Task {
///     let boxed = pool.alloc(async move { n * 2 });
///     PoolBox::into_pin(unsize!(boxed => dyn Future<Output = u64>))
/// };
/// let mut task = spawn(7);
/// let mut context = Context::from_waker(Waker::noop());
/// assert!(task.as_mut().poll(&mut context).is_ready());
/// ```
#[macro_export]
macro_rules! unsize {
    ($boxed:expr => $unsized:ty $(,)?) => {
        $crate::unsizing::unsize::<_, $unsized>(
            $boxed,
            // SAFETY: the closure only returns its argument, coerced by the compiler.
            unsafe { $crate::unsizing::Coercion::new(|__value| __value) },
        )
    };
}
