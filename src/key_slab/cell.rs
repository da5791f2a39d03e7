//! Cells: an optional value, and with [`GenKey`](super::GenKey) a version.
//!
//! # Invariants
//!
//! * `odd-version`: a [`Versioned`] cell has a value exactly if its version is odd.
//! * `rising-version`: a version never falls, and a value gets a version above all that its cell
//!   had before, with four exceptions: a detached value that is put back gets its version again,
//!   [`reset_generations`](super::KeySlab::reset_generations) resets versions, a
//!   `CheckpointSlab` that is rewound has the versions of its checkpoint, and in a slab whose
//!   generations wrap the last version is followed by 0. Memory safety does not depend on this:
//!   `odd-version` alone says whether there is a value.
//! * `retired-version`: a vacant cell of version [`RETIRED`] gets no value any more, unless
//!   generations wrap.
//! * `kept-version`: a vacant cell that is kept for a detached value has [`DETACHED`] set in its
//!   version, and in the other bits the version that follows that of the key. A value is put back
//!   under this key, or the cell becomes free.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::raw::poison::{self, move_out, poison, poison_bytes};

/// The bit in the version of a cell whose value is detached. A cell has no other place for it: for
/// a value of size 0 there is only the version.
pub(super) const DETACHED: u32 = 1 << 31;

/// The version of a vacant cell that has no version left for another value (`retired-version`).
pub(super) const RETIRED: u32 = DETACHED - 2;

/// Returns `true` if a vacant cell of this version is kept for a detached value (`kept-version`).
pub(super) const fn is_detached(version: u32) -> bool {
    version & DETACHED != 0
}

/// A cell is cut off only if it has had at most this many generations above the floor, so that the
/// floor rises by no more than that. Otherwise a program that uses up all generations of one slot,
/// in two minutes, and shrinks would leave none to the slots that are added later.
#[cfg(feature = "alloc")]
const MOST_CUT: u32 = 1 << 16;

/// The highest floor, with which a new slot has at least one generation left. If generations wrap,
/// it has the upper half left: these are never skipped, however often memory is freed, so a key
/// finds no other value before its slot has had that many.
#[cfg(feature = "alloc")]
pub(super) const fn highest_floor(wraps: bool) -> u32 {
    if wraps { 1 << 30 } else { RETIRED - 2 }
}

/// Returns the highest version of a cell that may be cut off.
#[cfg(feature = "alloc")]
pub(super) const fn highest_cut(floor: u32, wraps: bool) -> u32 {
    let (highest, most) = (floor + 2 * MOST_CUT, highest_floor(wraps));
    if highest < most { highest } else { most }
}

const _: () = assert!(RETIRED % 2 == 0);
#[cfg(feature = "alloc")]
const _: () = assert!(highest_floor(true) < highest_floor(false));

/// A cell of a slab of `T`: vacant, or with a value.
///
/// # Safety
///
/// A cell says that it is occupied exactly from `fill` to `vacate`, and `value`
/// is where `fill` put the value.
pub unsafe trait Cell<T>: Sized {
    /// Whether cells have versions.
    const VERSIONED: bool;

    /// Writes a vacant cell of this even version.
    ///
    /// In place, so that a cell with a version is not built elsewhere and copied: the bytes of the
    /// value need not be written.
    ///
    /// # Safety
    ///
    /// `cell` is allocated, and not used as a cell yet, or vacant.
    unsafe fn write_vacant(cell: NonNull<Self>, version: u32);

    /// Returns the version; 0 if cells have no versions.
    fn version(&self) -> u32;

    fn is_occupied(&self) -> bool;

    /// Returns `true` if the cell holds a value of this version; if cells have no versions, if it
    /// holds a value.
    fn holds(&self, version: u32) -> bool;

    /// The value.
    ///
    /// # Safety
    ///
    /// The cell is occupied.
    unsafe fn value(&self) -> &T;

    /// The value, mutably.
    ///
    /// # Safety
    ///
    /// The cell is occupied.
    unsafe fn value_mut(&mut self) -> &mut T;

    /// Borrows the value, if there is one.
    #[inline]
    fn get(&self) -> Option<&T> {
        // SAFETY: the cell is occupied where this runs, as `is_occupied` says.
        self.is_occupied().then(|| unsafe { self.value() })
    }

    /// Borrows the value, if the cell holds one of this version, which is that of a key.
    #[inline]
    fn get_of(&self, version: u32) -> Option<&T> {
        debug_assert!(version % 2 == 1 || !Self::VERSIONED);
        // SAFETY: the versions of keys are odd, so a cell of that version is occupied
        // (`odd-version`); one without versions says itself whether it is.
        self.holds(version).then(|| unsafe { self.value() })
    }

    /// Borrows the value mutably, if the cell holds one of this version, which is that of a key.
    #[inline]
    fn get_mut_of(&mut self, version: u32) -> Option<&mut T> {
        debug_assert!(version % 2 == 1 || !Self::VERSIONED);
        // SAFETY: as in `get_of`.
        self.holds(version).then(|| unsafe { self.value_mut() })
    }

    /// Puts a value of this version in.
    ///
    /// # Safety
    ///
    /// `cell` is allocated, and holds no value; `version` is odd. (See `rising-version` for its
    /// value.)
    unsafe fn fill(cell: NonNull<Self>, version: u32, value: T);

    /// Gives the value another version; does nothing if cells have no versions.
    ///
    /// # Safety
    ///
    /// The cell is occupied, and the version is odd.
    unsafe fn set_version(&mut self, version: u32);

    /// Moves the value out. The vacant cell has this even version.
    ///
    /// # Safety
    ///
    /// `cell` is an occupied cell.
    unsafe fn vacate(cell: NonNull<Self>, next: u32) -> T;

    /// Drops the value in place. A cell with a version is vacant before the
    /// destructor runs.
    ///
    /// # Safety
    ///
    /// `cell` is an occupied cell. One without a version is not used as a cell
    /// afterwards.
    unsafe fn destroy(cell: NonNull<Self>);
}

/// An optional value without a version; no larger than the value if its type has a niche.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
pub struct Bare<T>(Option<T>);

const _: () = assert!(size_of::<Bare<&u8>>() == size_of::<usize>());
const _: () = assert!(size_of::<Versioned<u8>>() == 8 && size_of::<Versioned<u32>>() == 8);
const _: () = assert!(size_of::<Versioned<[u64; 3]>>() <= 24 + 8);

// SAFETY: `Some` is occupied, and has the value.
unsafe impl<T> Cell<T> for Bare<T> {
    const VERSIONED: bool = false;

    #[inline(always)]
    unsafe fn write_vacant(cell: NonNull<Self>, _: u32) {
        // SAFETY: `cell` is allocated, and not used as a cell yet (precondition).
        unsafe { cell.write(Bare(None)) };
    }

    #[inline(always)]
    fn version(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn is_occupied(&self) -> bool {
        self.0.is_some()
    }

    #[inline(always)]
    fn holds(&self, _: u32) -> bool {
        self.0.is_some()
    }

    #[inline(always)]
    unsafe fn value(&self) -> &T {
        // SAFETY: the cell is occupied (precondition), so this is `Some`.
        unsafe { self.0.as_ref().unwrap_unchecked() }
    }

    #[inline(always)]
    unsafe fn value_mut(&mut self) -> &mut T {
        // SAFETY: the cell is occupied (precondition), so this is `Some`.
        unsafe { self.0.as_mut().unwrap_unchecked() }
    }

    #[inline(always)]
    unsafe fn fill(cell: NonNull<Self>, _: u32, value: T) {
        // SAFETY: `cell` is a vacant cell (precondition): no value is overwritten.
        unsafe { cell.write(Bare(Some(value))) };
    }

    #[inline(always)]
    unsafe fn set_version(&mut self, _: u32) {}

    #[inline(always)]
    unsafe fn vacate(cell: NonNull<Self>, _: u32) -> T {
        // SAFETY: `cell` is occupied (precondition); `None` replaces the moved value. Where the
        // option is larger than the value, it has a tag next to the value, whose bytes mean nothing
        // in `None`. Where it is not, some bit pattern of the value is `None`, and stays.
        unsafe {
            if poison::ENABLED && size_of::<Option<T>>() > size_of::<T>() {
                let value = NonNull::from(cell.as_ref().value());
                let offset = value.addr().get() - cell.addr().get();
                let value = cell.replace(Bare(None)).0.unwrap_unchecked();
                poison_bytes(cell.cast::<u8>().add(offset), size_of::<T>());
                return value;
            }
            cell.replace(Bare(None)).0.unwrap_unchecked()
        }
    }

    #[inline(always)]
    unsafe fn destroy(cell: NonNull<Self>) {
        // SAFETY: `cell` is occupied, and not used as a cell afterwards (precondition).
        // All of it may be poisoned, whatever `None` is.
        unsafe {
            cell.drop_in_place();
            poison(cell);
        }
    }
}

/// An optional value and a version, whose parity says whether there is a value.
#[expect(
    missing_debug_implementations,
    reason = "only public for a sealed trait"
)]
#[repr(C)]
pub struct Versioned<T> {
    value: MaybeUninit<T>,
    version: u32,
}

/// The place of the value.
///
/// # Safety
///
/// `cell` is allocated.
#[inline(always)]
unsafe fn value_of<T>(cell: NonNull<Versioned<T>>) -> NonNull<T> {
    // SAFETY: within the cell (precondition), so not null.
    unsafe { NonNull::new_unchecked(&raw mut (*cell.as_ptr()).value).cast() }
}

// SAFETY: an odd version is occupied, and `value` has the value.
unsafe impl<T> Cell<T> for Versioned<T> {
    const VERSIONED: bool = true;

    #[inline(always)]
    unsafe fn write_vacant(cell: NonNull<Self>, version: u32) {
        debug_assert!(version % 2 == 0);
        // SAFETY: allocated (precondition). The value may be uninitialised.
        unsafe { (&raw mut (*cell.as_ptr()).version).write(version) };
    }

    #[inline(always)]
    fn version(&self) -> u32 {
        self.version
    }

    #[inline(always)]
    fn is_occupied(&self) -> bool {
        self.version % 2 == 1
    }

    #[inline(always)]
    fn holds(&self, version: u32) -> bool {
        self.version == version
    }

    #[inline(always)]
    unsafe fn value(&self) -> &T {
        // SAFETY: the cell is occupied (precondition), so it has a value (`odd-version`).
        unsafe { self.value.assume_init_ref() }
    }

    #[inline(always)]
    unsafe fn value_mut(&mut self) -> &mut T {
        // SAFETY: the cell is occupied (precondition), so it has a value (`odd-version`).
        unsafe { self.value.assume_init_mut() }
    }

    #[inline(always)]
    unsafe fn fill(cell: NonNull<Self>, version: u32, value: T) {
        debug_assert!(version % 2 == 1);
        // SAFETY: `cell` is a vacant cell (precondition). Two stores: with one, a large
        // value is first built on the stack and then copied.
        unsafe {
            (&raw mut (*cell.as_ptr()).value).write(MaybeUninit::new(value));
            (&raw mut (*cell.as_ptr()).version).write(version);
        }
    }

    #[inline(always)]
    unsafe fn set_version(&mut self, version: u32) {
        debug_assert!(self.is_occupied() && version % 2 == 1);
        self.version = version;
    }

    #[inline(always)]
    unsafe fn vacate(cell: NonNull<Self>, next: u32) -> T {
        debug_assert!(next % 2 == 0);
        // SAFETY: `cell` is occupied (precondition), so it has a value (`odd-version`), which is
        // moved out once: the version says vacant from here on.
        unsafe {
            debug_assert!(cell.as_ref().is_occupied());
            (&raw mut (*cell.as_ptr()).version).write(next);
            move_out(value_of(cell))
        }
    }

    #[inline(always)]
    unsafe fn destroy(cell: NonNull<Self>) {
        // SAFETY: `cell` is occupied (precondition), so it has a value (`odd-version`), which is
        // dropped once: the cell is vacant by then.
        unsafe {
            let version = &raw mut (*cell.as_ptr()).version;
            version.write(version.read() + 1);
            let value = value_of(cell);
            value.drop_in_place();
            poison(value);
        }
    }
}

/// Of what debug builds do with the bytes of values that are gone.
#[cfg(all(test, debug_assertions, not(miri)))]
mod tests {
    use super::*;
    use crate::raw::poison::is_poisoned;

    fn occupied<T, C: Cell<T>>(memory: &mut MaybeUninit<C>, value: T) -> NonNull<C> {
        let cell = NonNull::from(memory).cast::<C>();
        // SAFETY: the cell is memory of the caller's, which has no value yet, and 1 is odd
        // (`odd-version`).
        unsafe { C::fill(cell, 1, value) };
        cell
    }

    #[test]
    fn a_removed_value_is_poisoned_where_none_has_no_bytes() {
        fn removed<T: Copy + PartialEq>(value: T, tag: usize) {
            let mut memory = MaybeUninit::<[Bare<T>; 1]>::zeroed();
            // SAFETY: an array of one cell is laid out as the cell, and `MaybeUninit` needs no
            // value.
            let memory = unsafe { &mut *(&raw mut memory).cast::<MaybeUninit<Bare<T>>>() };
            let cell = occupied(memory, value);
            // SAFETY: `occupied` has filled the cell; it is vacated once. Where the value was, all
            // bytes are written.
            unsafe {
                let start = (&raw const *cell.as_ref().value()).addr() - cell.addr().get();
                assert!(Bare::vacate(cell, 0) == value);
                assert!(!cell.as_ref().is_occupied() && cell.as_ref().0.is_none());
                assert_eq!(size_of::<Bare<T>>() - size_of::<T>(), tag);
                let place = cell.cast::<u8>().add(start).as_ptr();
                assert!(is_poisoned(place, size_of::<T>()));
            }
        }
        removed(7_u64, align_of::<u64>());
        removed(7_u8, 1);
        removed([7_u16; 9], 2);
        removed((), 1);
    }

    #[test]
    fn the_bytes_of_none_stay() {
        fn removed<T: Copy + PartialEq>(value: T) {
            let mut memory = MaybeUninit::uninit();
            let cell = occupied::<T, Bare<T>>(&mut memory, value);
            assert_eq!(size_of::<Bare<T>>(), size_of::<T>());
            // SAFETY: `occupied` has filled the cell, which is vacated once.
            unsafe {
                assert!(Bare::vacate(cell, 0) == value);
                assert!(!cell.as_ref().is_occupied());
            }
        }
        removed(true);
        removed('x');
        let seven: &u64 = &7;
        removed(seven);
        removed("text");
        removed(core::num::NonZero::<u64>::MIN);
        removed(Some(Some(false)));
    }

    #[test]
    fn a_value_with_a_version_is_poisoned_and_its_version_is_not() {
        let mut memory = MaybeUninit::<Versioned<[u64; 3]>>::uninit();
        let cell = occupied(&mut memory, [7; 3]);
        // SAFETY: `occupied` has filled the cell. It is filled only while it is vacant, and vacated
        // only while it is occupied; all bytes that are looked at were written.
        unsafe {
            assert_eq!(Versioned::vacate(cell, 2), [7; 3]);
            assert!(is_poisoned(value_of(cell).cast().as_ptr(), 24));
            assert_eq!(cell.as_ref().version(), 2);
            Versioned::fill(cell, 3, [8; 3]);
            Versioned::destroy(cell);
            assert!(is_poisoned(value_of(cell).cast().as_ptr(), 24));
            assert_eq!(cell.as_ref().version(), 4);
        }
    }

    #[test]
    fn a_value_is_poisoned_after_its_destructor() {
        struct Loud(u64);
        impl Drop for Loud {
            fn drop(&mut self) {
                assert_eq!(self.0, 7);
            }
        }
        let mut memory = MaybeUninit::<Versioned<Loud>>::uninit();
        let cell = occupied(&mut memory, Loud(7));
        // SAFETY: `occupied` has filled the cell, which is vacated once.
        unsafe {
            Versioned::destroy(cell);
            assert!(is_poisoned(value_of(cell).cast().as_ptr(), 8));
        }
    }
}
