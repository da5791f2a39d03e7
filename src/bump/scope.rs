//! `Scope`: a part of an arena's memory that is freed when a call returns.

use core::fmt;
use core::marker::PhantomData;

use super::arena::Arena;
use super::chunks::Checkpoint;

/// A part of an arena's memory, which is freed when the call of [`scope`](Self::scope) that created
/// it returns. Allocations from it live for `'s`.
///
/// [`Arena::as_scope`] returns the outermost scope, whose allocations stay until the arena is
/// reset. A scope allocates through `&self`, and an inner scope borrows it mutably. So a value that
/// may allocate later, such as a vector, cannot live across an inner scope, whose end would free
/// that memory.
///
/// `'env` is the lifetime of the variables outside of the call. Values can be allocated if they
/// refer to such variables, or to earlier allocations of the scope. Values that refer to variables
/// of the closure cannot, because `'s` is longer than the variables live; [`boxed`](Self::boxed)
/// accepts such values. [`std::thread::scope`] works in the same way.
///
/// A function that allocates takes a `&Scope<'s, '_>`, and returns its allocations for `'s`. A
/// function that opens inner scopes takes a `Scope<'s, '_>` or a `&mut` of it. The result of an
/// inner scope must own its contents, or be allocated in the outer scope.
///
/// A scope is not `Send`, because it borrows the arena.
///
/// # Examples
///
/// ```
/// use flatslab::bump::{Arena, Scope};
///
/// struct Field<'t> { name: &'t str }
///
/// fn decode<'s>(scope: &Scope<'s, '_>, text: &'s str) -> &'s [Field<'s>] {
///     scope.alloc_slice_iter(text.split(' ').map(|name| Field { name }))
/// }
///
/// let mut arena = Arena::new();
/// let text = String::from("price quantity");
/// let longest = arena.scope(|scope| {
///     decode(&scope, &text).iter().map(|field| field.name.len()).max()
/// });
/// assert_eq!(longest, Some(8));
/// ```
pub struct Scope<'s, 'env: 's> {
    pub(super) arena: &'s Arena,
    /// Invariant: references from an inner scope are not references from an outer one.
    scope: PhantomData<&'s mut &'s ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl Arena {
    /// Returns the arena as the outermost scope, which can create inner scopes.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let mut root = arena.as_scope();
    /// let kept = root.alloc(1);
    /// root.scope(|scope| *kept += *scope.alloc(2));
    /// assert_eq!(*kept, 3);
    /// ```
    pub fn as_scope(&mut self) -> Scope<'_, '_> {
        Scope::new(self)
    }

    /// Calls `f` with a scope, whose allocations are freed when this returns or panics.
    ///
    /// Short for `as_scope().scope(f)`.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let sum = arena.scope(|scope| scope.alloc_slice_copy(&[1, 2]).iter().sum::<u64>());
    /// assert_eq!(sum, 3);
    /// ```
    #[doc(alias = "with_scope")]
    pub fn scope<'env, R>(&mut self, f: impl FnOnce(Scope<'_, 'env>) -> R) -> R {
        self.as_scope().scope(f)
    }
}

impl<'s> Scope<'s, '_> {
    fn new(arena: &'s Arena) -> Self {
        Scope {
            arena,
            scope: PhantomData,
            env: PhantomData,
        }
    }

    /// Calls `f` with an inner scope, whose allocations are freed when this returns or panics.
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::new();
    /// let mut scope = arena.as_scope();
    /// let before = scope.remaining();
    /// scope.scope(|mut inner| {
    ///     inner.alloc(1);
    ///     inner.scope(|innermost| *innermost.alloc(2))
    /// });
    /// ```
    #[doc(alias = "with_scope")]
    pub fn scope<'inner, R>(&mut self, f: impl FnOnce(Scope<'_, 'inner>) -> R) -> R {
        /// A type of its own, and not the `Drop` of `Scope`: `f` owns the scope, and could drop it
        /// while references from it are alive.
        struct Rewind<'s>(&'s Arena, Checkpoint);

        impl Drop for Rewind<'_> {
            #[inline]
            fn drop(&mut self) {
                // SAFETY: the checkpoint was taken below, of this arena. Allocations since then
                // lived for the inner scope's `'s`, which is over. That scope borrowed this one
                // mutably, so nothing else used the arena, and scopes neither reset nor shrink it.
                unsafe { self.0.chunks.rewind(self.1) };
            }
        }

        let _rewind = Rewind(self.arena, self.arena.checkpoint());
        f(Scope::new(self.arena))
    }

    /// Returns the number of bytes left in the current chunk of the arena. O(1).
    ///
    /// ```
    /// let mut arena = flatslab::bump::Arena::bounded(1024);
    /// assert_eq!(arena.as_scope().remaining(), 1024);
    /// ```
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.arena.remaining()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}
