//! The containers that are compared, each with one adapter. Those of other crates
//! are in `benches/peers.rs`.

use crate::payload::Payload;

pub mod floors;
pub mod ours;
pub mod paged;
pub mod pools;

/// A container in one role.
pub trait Subject<V: Payload> {
    /// As it stands in the tables.
    const NAME: &'static str;
    /// What the user keeps to find a value again.
    type Handle;

    /// A container with room for `capacity` values.
    fn with_capacity(capacity: usize) -> Self;

    /// Puts a value in.
    fn insert(&mut self, value: V) -> Self::Handle;

    /// The number of a value.
    fn get(&self, handle: &Self::Handle) -> u64;

    /// Adds to the number of a value, in its place.
    fn add(&mut self, handle: &mut Self::Handle, number: u64);

    /// Puts a value in the place of another, which is moved out.
    fn replace(&mut self, handle: &mut Self::Handle, value: V) -> V;

    /// Moves a value out.
    fn remove(&mut self, handle: Self::Handle) -> V;

    /// Drops a value where it stands.
    #[inline(always)]
    fn free(&mut self, handle: Self::Handle) {
        let _ = self.remove(handle);
    }

    /// Moves a value out and then puts another in, into the same cell where the
    /// container can keep it reserved.
    #[inline(always)]
    fn refill(&mut self, handle: Self::Handle, value: V) -> (V, Self::Handle) {
        let old = self.remove(handle);
        (old, self.insert(value))
    }
}

/// A subject that can say whether a handle still leads to a value.
pub trait Contains<V: Payload>: Subject<V> {
    /// Whether it does.
    fn contains(&self, handle: &Self::Handle) -> bool;
}

/// A subject that can walk over its values.
pub trait Iterate<V: Payload>: Subject<V> {
    /// Passes the number of each value.
    fn each(&self, visit: impl FnMut(u64));

    /// Passes the number of each value, to be changed.
    fn each_mut(&mut self, visit: impl FnMut(&mut u64));
}

/// A subject that can have a value loaded that will be used soon.
pub trait Prefetch<V: Payload>: Subject<V> {
    /// Has the processor load it, if it likes to.
    fn prefetch(&self, handle: &Self::Handle);
}

/// Writes the adapter of one container: its name in the tables, the type of its
/// handle, and an expression for each operation; none for what is done by removing, and inserting.
#[macro_export]
macro_rules! subject {
    (
        $(#[$documentation:meta])*
        $subject:ident($container:ty) named $name:literal by $handle:ty;
        new($capacity:ident) $new:expr;
        insert($insert_it:ident, $insert_value:ident) $insert:expr;
        get($get_it:ident, $get_handle:ident) $get:expr;
        add($add_it:ident, $add_handle:ident, $add_number:ident) $add:expr;
        replace($replace_it:ident, $replace_handle:ident, $replace_value:ident) $replace:expr;
        remove($remove_it:ident, $remove_handle:ident) $remove:expr;
        $(free($free_it:ident, $free_handle:ident) $free:expr;)?
        $(refill($refill_it:ident, $refill_handle:ident, $refill_value:ident) $refill:expr;)?
        $(contains($contains_it:ident, $contains_handle:ident) $contains:expr;)?
        $(prefetch($prefetch_it:ident, $prefetch_handle:ident) $prefetch:expr;)?
        $(each($each_it:ident, $each_visit:ident) $each:expr;
        each_mut($each_mut_it:ident, $each_mut_visit:ident) $each_mut:expr;)?
    ) => {
        $(#[$documentation])*
        pub struct $subject<V: $crate::payload::Payload>(pub $container);

        impl<V: $crate::payload::Payload> $crate::subject::Subject<V> for $subject<V> {
            const NAME: &'static str = $name;
            type Handle = $handle;

            fn with_capacity($capacity: usize) -> Self {
                $subject($new)
            }

            #[inline(always)]
            fn insert(&mut self, $insert_value: V) -> $handle {
                let $insert_it = &mut self.0;
                $insert
            }

            #[inline(always)]
            fn get(&self, $get_handle: &$handle) -> u64 {
                let $get_it = &self.0;
                $get
            }

            #[inline(always)]
            fn add(&mut self, $add_handle: &mut $handle, $add_number: u64) {
                let $add_it = &mut self.0;
                $add;
            }

            #[inline(always)]
            fn replace(&mut self, $replace_handle: &mut $handle, $replace_value: V) -> V {
                let $replace_it = &mut self.0;
                $replace
            }

            #[inline(always)]
            fn remove(&mut self, $remove_handle: $handle) -> V {
                let $remove_it = &mut self.0;
                $remove
            }

            $(#[inline(always)]
            fn free(&mut self, $free_handle: $handle) {
                let $free_it = &mut self.0;
                // Where this is the handle alone, it is dropped as an argument.
                let _ = $free;
            })?

            $(#[inline(always)]
            fn refill(&mut self, $refill_handle: $handle, $refill_value: V) -> (V, $handle) {
                let $refill_it = &mut self.0;
                $refill
            })?
        }

        $(
            impl<V: $crate::payload::Payload> $crate::subject::Contains<V> for $subject<V> {
                #[inline(always)]
                fn contains(&self, $contains_handle: &$handle) -> bool {
                    let $contains_it = &self.0;
                    $contains
                }
            }
        )?

        $(
            impl<V: $crate::payload::Payload> $crate::subject::Prefetch<V> for $subject<V> {
                #[inline(always)]
                fn prefetch(&self, $prefetch_handle: &$handle) {
                    let $prefetch_it = &self.0;
                    $prefetch
                }
            }
        )?

        $(
            impl<V: $crate::payload::Payload> $crate::subject::Iterate<V> for $subject<V> {
                #[inline(always)]
                fn each(&self, mut $each_visit: impl FnMut(u64)) {
                    let $each_it = &self.0;
                    $each
                }

                #[inline(always)]
                fn each_mut(&mut self, mut $each_mut_visit: impl FnMut(&mut u64)) {
                    let $each_mut_it = &mut self.0;
                    $each_mut
                }
            }
        )?
    };
}

/// Writes the adapter of a container whose values are found by `[]` with a key, and removed by key.
/// `$some` turns what `insert` returns into a key, and `$there` what `remove` returns into a value.
#[macro_export]
macro_rules! keyed {
    (
        $(#[$documentation:meta])*
        $subject:ident($container:ty) named $name:literal by $key:ty;
        new($capacity:ident) $new:expr;
        $(inserted $some:ident;)?
        $(removed $there:ident;)?
        $(contains by $contains:ident;)?
        $(prefetch by $prefetch:ident;)?
        $(walks by $iter:ident $iter_mut:ident;)?
    ) => {
        $crate::subject! {
            $(#[$documentation])*
            $subject($container) named $name by $key;
            new($capacity) $new;
            insert(it, value) it.insert(value)$(.$some())?;
            get(it, key) it[*key].number();
            add(it, key, number) *it[*key].number_mut() += number;
            replace(it, key, value) core::mem::replace(&mut it[*key], value);
            remove(it, key) it.remove(key)$(.$there())?;
            free(it, key) it.remove(key);
            $(contains(it, key) it.$contains(*key);)?
            $(prefetch(it, key) it.$prefetch(*key);)?
            $(each(it, visit) for (_key, value) in it.$iter() {
                visit(value.number());
            };
            each_mut(it, visit) for (_key, value) in it.$iter_mut() {
                visit(value.number_mut());
            };)?
        }
    };
}

/// A subject that reaches its values in another way than `$of`, and else is the
/// same.
macro_rules! access {
    (
        $(#[$documentation:meta])*
        $subject:ident of $of:ident named $name:literal by $handle:ty;
        get($get_it:ident, $get_handle:ident) $get:expr;
        add($add_it:ident, $add_handle:ident, $add_number:ident) $add:expr;
    ) => {
        subject! {
            $(#[$documentation])*
            $subject($of<V>) named $name by $handle;
            new(capacity) $of::with_capacity(capacity);
            insert(it, value) it.insert(value);
            get($get_it, $get_handle) {
                let $get_it = &$get_it.0;
                // SAFETY: the benches ask for values that are there, and hold
                // no borrow.
                unsafe { $get }
            };
            add($add_it, $add_handle, $add_number) {
                let $add_it = &$add_it.0;
                // SAFETY: as in `get`.
                unsafe { $add };
            };
            replace(it, handle, value) it.replace(handle, value);
            remove(it, handle) it.remove(handle);
            free(it, handle) it.free(handle);
            refill(it, handle, value) it.refill(handle, value);
        }
    };
}

/// A subject that is made in another way than `$of`, and else is the same.
macro_rules! made {
    (
        $(#[$documentation:meta])*
        $subject:ident of $of:ident named $name:literal by $handle:ty;
        new($capacity:ident) $new:expr;
    ) => {
        subject! {
            $(#[$documentation])*
            $subject($of<V>) named $name by $handle;
            new($capacity) $of($new);
            insert(it, value) it.insert(value);
            get(it, handle) it.get(handle);
            add(it, handle, number) it.add(handle, number);
            replace(it, handle, value) it.replace(handle, value);
            remove(it, handle) it.remove(handle);
            free(it, handle) it.free(handle);
            refill(it, handle, value) it.refill(handle, value);
            prefetch(it, handle) it.prefetch(handle);
        }
    };
}

use {crate::keyed, crate::subject, access, made};
