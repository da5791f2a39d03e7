//! What can be a part of a group: a slab, a secondary slab, or a tuple of parts.

use super::difference::Changes;
use super::key::Inside;
use super::logged::Logged;
use super::undo::Undo;
use super::undo_log::Checkpoint;
use crate::error::AllocError;
use crate::raw::to_the_end::{both, to_the_end};

#[cfg(doc)]
use super::SlabGroup;

/// The parts of a [`SlabGroup`]: slabs and secondary slabs of `Clone` values, and tuples of parts.
///
/// This trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of a `SlabGroup`",
    label = "not a slab, a secondary slab, or a tuple of up to eight of them",
    note = "the values of a part are `Clone`"
)]
pub trait Part: Sized {
    /// The type that [`parts`](SlabGroup::parts) returns: a reference to the slab, or a tuple of
    /// references.
    type Ref<'a>
    where
        Self: 'a;

    /// The type that [`parts_mut`](SlabGroup::parts_mut) returns: a mutable reference to a slab
    /// whose changes are [`Logged`], or a tuple of such references.
    type Mut<'a>
    where
        Self: 'a;

    /// The type that [`changes_since`](SlabGroup::changes_since) returns: [`Changes`] of a slab or a
    /// secondary slab, or a tuple of such.
    type Changes<'a>
    where
        Self: 'a;

    #[doc(hidden)]
    type Logged: Clone;
    #[doc(hidden)]
    fn changes_of(logged: &Self::Logged, newer: usize) -> Self::Changes<'_>;
    #[doc(hidden)]
    fn clone_of(logged: &Self::Logged) -> Self;
    #[doc(hidden)]
    fn try_into_logged(self, _: Inside) -> Result<Self::Logged, AllocError>;
    #[doc(hidden)]
    fn clone_from(logged: &mut Self::Logged, source: &Self::Logged);
    #[doc(hidden)]
    fn into_inner(logged: Self::Logged) -> Self;
    #[doc(hidden)]
    fn parts(logged: &Self::Logged) -> Self::Ref<'_>;
    #[doc(hidden)]
    fn parts_mut(logged: &mut Self::Logged) -> Self::Mut<'_>;
    #[doc(hidden)]
    fn try_reserve_marks(logged: &mut Self::Logged, marks: usize) -> Result<(), AllocError>;
    #[doc(hidden)]
    fn unchanged_since(logged: &Self::Logged) -> Option<Checkpoint>;
    #[doc(hidden)]
    fn mark(logged: &mut Self::Logged, checkpoint: Checkpoint);
    #[doc(hidden)]
    fn newer_than(logged: &Self::Logged, checkpoint: Checkpoint) -> Option<usize>;
    #[doc(hidden)]
    fn rewind(logged: &mut Self::Logged, newer: usize);
    #[doc(hidden)]
    fn keep_last(logged: &mut Self::Logged, count: usize);
    #[doc(hidden)]
    fn shrink_to_fit(logged: &mut Self::Logged);
    #[doc(hidden)]
    fn marks(logged: &Self::Logged) -> usize;
    #[doc(hidden)]
    fn changes(logged: &Self::Logged) -> usize;
    #[doc(hidden)]
    fn bytes(logged: &Self::Logged) -> usize;
}

#[diagnostic::do_not_recommend]
impl<C: Undo> Part for C {
    type Ref<'a>
        = &'a C
    where
        C: 'a;
    type Mut<'a>
        = &'a mut Logged<C>
    where
        C: 'a;
    type Changes<'a>
        = Changes<'a, C::Value, C::Key, C::Storage>
    where
        C: 'a;
    type Logged = Logged<C, [(); 0]>;

    #[track_caller]
    fn changes_of(logged: &Self::Logged, newer: usize) -> Self::Changes<'_> {
        Changes::new(
            logged.slab.slab(),
            &logged.log,
            newer,
            logged.slab.numbers(),
        )
    }

    #[track_caller]
    fn clone_of(logged: &Self::Logged) -> Self {
        logged.slab.clone_for(0)
    }

    fn try_into_logged(self, _: Inside) -> Result<Self::Logged, AllocError> {
        Logged::try_new(self)
    }

    #[track_caller]
    fn clone_from(logged: &mut Self::Logged, source: &Self::Logged) {
        logged.clone_from_logged(source);
    }

    fn into_inner(logged: Self::Logged) -> Self {
        logged.slab
    }

    fn parts(logged: &Self::Logged) -> &C {
        &logged.slab
    }

    fn parts_mut(logged: &mut Self::Logged) -> &mut Logged<C> {
        logged
    }

    fn try_reserve_marks(logged: &mut Self::Logged, marks: usize) -> Result<(), AllocError> {
        logged.log.try_reserve_marks(marks)
    }

    fn unchanged_since(logged: &Self::Logged) -> Option<Checkpoint> {
        logged.log.unchanged_since(logged.slab.numbers())
    }

    fn mark(logged: &mut Self::Logged, checkpoint: Checkpoint) {
        logged.log.mark(checkpoint, logged.slab.numbers());
    }

    fn newer_than(logged: &Self::Logged, checkpoint: Checkpoint) -> Option<usize> {
        logged.log.newer_than(checkpoint)
    }

    fn rewind(logged: &mut Self::Logged, newer: usize) {
        let (slab, log) = (&mut logged.slab, &mut logged.log);
        let mut newer = newer;
        // A step whose destructor panicked is made again: nothing is left of its changes.
        to_the_end(|| {
            if let Some(mark) = log.last_mark() {
                slab.undo(log, mark);
            }
            if newer == 0 {
                log.begin_stamp();
                return false;
            }
            log.drop_last_mark();
            newer -= 1;
            true
        });
    }

    fn keep_last(logged: &mut Self::Logged, count: usize) {
        logged.log.keep_last(count);
    }

    fn shrink_to_fit(logged: &mut Self::Logged) {
        let used = logged.slab.numbers().used as usize;
        logged.log.shrink_to_fit(used, logged.slab.stamped());
    }

    fn marks(logged: &Self::Logged) -> usize {
        logged.log.marks()
    }

    fn changes(logged: &Self::Logged) -> usize {
        logged.log.changes()
    }

    fn bytes(logged: &Self::Logged) -> usize {
        logged.log.bytes()
    }
}

/// Makes these calls, each even if one before it panics: a destructor of a value may.
macro_rules! in_turn {
    ($last:expr $(,)?) => { $last };
    ($first:expr, $($rest:expr),+) => { both(|| $first, || in_turn!($($rest),+)) };
}

macro_rules! tuples {
    ($(($first:ident $($part:ident $at:tt)*))*) => { $(
        impl<$first: Part, $($part: Part),*> Part for ($first, $($part),*) {
            type Ref<'a> = ($first::Ref<'a>, $($part::Ref<'a>),*) where Self: 'a;
            type Mut<'a> = ($first::Mut<'a>, $($part::Mut<'a>),*) where Self: 'a;
            type Changes<'a> = ($first::Changes<'a>, $($part::Changes<'a>),*) where Self: 'a;
            type Logged = ($first::Logged, $($part::Logged),*);

            #[track_caller]
            fn changes_of(logged: &Self::Logged, newer: usize) -> Self::Changes<'_> {
                ($first::changes_of(&logged.0, newer), $($part::changes_of(&logged.$at, newer)),*)
            }

            #[track_caller]
            fn clone_of(logged: &Self::Logged) -> Self {
                ($first::clone_of(&logged.0), $($part::clone_of(&logged.$at)),*)
            }

            fn try_into_logged(self, inside: Inside) -> Result<Self::Logged, AllocError> {
                Ok((self.0.try_into_logged(inside)?, $(self.$at.try_into_logged(inside)?),*))
            }

            #[track_caller]
            fn clone_from(logged: &mut Self::Logged, source: &Self::Logged) {
                $first::clone_from(&mut logged.0, &source.0);
                $($part::clone_from(&mut logged.$at, &source.$at);)*
            }

            fn into_inner(logged: Self::Logged) -> Self {
                ($first::into_inner(logged.0), $($part::into_inner(logged.$at)),*)
            }

            fn parts(logged: &Self::Logged) -> Self::Ref<'_> {
                ($first::parts(&logged.0), $($part::parts(&logged.$at)),*)
            }

            fn parts_mut(logged: &mut Self::Logged) -> Self::Mut<'_> {
                ($first::parts_mut(&mut logged.0), $($part::parts_mut(&mut logged.$at)),*)
            }

            fn try_reserve_marks(logged: &mut Self::Logged, marks: usize) -> Result<(), AllocError> {
                $first::try_reserve_marks(&mut logged.0, marks)?;
                $($part::try_reserve_marks(&mut logged.$at, marks)?;)*
                Ok(())
            }

            fn unchanged_since(logged: &Self::Logged) -> Option<Checkpoint> {
                let checkpoint = $first::unchanged_since(&logged.0)?;
                $($part::unchanged_since(&logged.$at)?;)*
                Some(checkpoint)
            }

            fn mark(logged: &mut Self::Logged, checkpoint: Checkpoint) {
                $first::mark(&mut logged.0, checkpoint);
                $($part::mark(&mut logged.$at, checkpoint);)*
            }

            fn newer_than(logged: &Self::Logged, checkpoint: Checkpoint) -> Option<usize> {
                $first::newer_than(&logged.0, checkpoint)
            }

            fn rewind(logged: &mut Self::Logged, newer: usize) {
                in_turn!(
                    $first::rewind(&mut logged.0, newer),
                    $($part::rewind(&mut logged.$at, newer)),*
                );
            }

            fn keep_last(logged: &mut Self::Logged, count: usize) {
                in_turn!(
                    $first::keep_last(&mut logged.0, count),
                    $($part::keep_last(&mut logged.$at, count)),*
                );
            }

            fn shrink_to_fit(logged: &mut Self::Logged) {
                $first::shrink_to_fit(&mut logged.0);
                $($part::shrink_to_fit(&mut logged.$at);)*
            }

            fn marks(logged: &Self::Logged) -> usize {
                $first::marks(&logged.0)
            }

            fn changes(logged: &Self::Logged) -> usize {
                $first::changes(&logged.0) $(+ $part::changes(&logged.$at))*
            }

            fn bytes(logged: &Self::Logged) -> usize {
                $first::bytes(&logged.0) $(+ $part::bytes(&logged.$at))*
            }
        }
    )* };
}

tuples! {
    (A)
    (A B 1)
    (A B 1 C 2)
    (A B 1 C 2 D 3)
    (A B 1 C 2 D 3 E 4)
    (A B 1 C 2 D 3 E 4 F 5)
    (A B 1 C 2 D 3 E 4 F 5 G 6)
    (A B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}
