//! What a program runs on: slabs of values of several types, and buffers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use flatslab::AccessError;
use flatslab::epoch::{
    Bytes, Contents, Epoch, EpochBytes, EpochGuard, EpochKey, EpochSlab, Epochs, InsertError, Ref,
    RefMut, Scope, Values,
};
use flatslab::memory::Pages;

use super::source::Refusing;

/// What a slab is to be like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) ring: usize,
    /// One of four sizes of chunks.
    pub(super) chunk: usize,
    pub(super) cached: usize,
    /// In chunks of the smallest class.
    pub(super) limit: Option<usize>,
}

/// The chunks of a class: bytes of a cell, how many of them, bytes of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) cell: usize,
    pub(super) slots: usize,
    pub(super) bytes: usize,
}

/// Why nothing was inserted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Refused {
    Closing,
    Closed,
    Foreign,
    TooLarge,
    Full,
}

impl<T> From<&InsertError<T>> for Refused {
    #[allow(unreachable_patterns, reason = "the library itself knows all of them")]
    fn from(error: &InsertError<T>) -> Self {
        match error {
            InsertError::Closing(_) => Refused::Closing,
            InsertError::Closed(_) => Refused::Closed,
            InsertError::Foreign(_) => Refused::Foreign,
            InsertError::TooLarge(_, error) => {
                assert!(error.size > error.limit);
                Refused::TooLarge
            }
            InsertError::Full(..) => Refused::Full,
            error => panic!("{error}"),
        }
    }
}

impl From<InsertError> for Refused {
    fn from(error: InsertError) -> Self {
        Refused::from(&error)
    }
}

/// The contents of a slab, as a program makes and reads them.
pub(super) trait Subject: Contents + Sized + 'static {
    type Item: ?Sized + 'static;

    fn plans(config: Config) -> Vec<Plan>;

    fn build(config: Config) -> Epochs<Self>;

    /// Bytes of a value, if that many were asked for.
    fn size(asked: usize) -> usize;

    /// Into the current epoch where none is named.
    fn insert(
        slab: &Epochs<Self>,
        epoch: Option<Epoch>,
        number: u64,
        size: usize,
    ) -> Result<EpochKey, Refused>;

    fn insert_by_guard(
        guard: &EpochGuard<'_, Self>,
        number: u64,
        size: usize,
    ) -> Result<EpochKey, Refused>;

    #[allow(clippy::mut_from_ref, reason = "each call gives another value")]
    fn insert_in_scope<'a>(
        scope: &'a Scope<'_, Self>,
        number: u64,
        size: usize,
    ) -> Result<&'a mut Self::Item, Refused>;

    /// Inserts by key, reads, and removes and inserts again if asked; none of it with buffers.
    fn use_keys_in_scope(
        scope: &Scope<'_, Self>,
        number: u64,
        removes: bool,
    ) -> Option<Result<(), Refused>>;

    fn try_get(slab: &Epochs<Self>, key: EpochKey) -> Result<Ref<'_, Self::Item>, AccessError>;

    fn try_get_mut(
        slab: &Epochs<Self>,
        key: EpochKey,
    ) -> Result<RefMut<'_, Self::Item>, AccessError>;

    /// Removes the value, which has to be that number's.
    fn remove(slab: &Epochs<Self>, key: EpochKey, number: u64) -> Result<(), AccessError>;

    fn is(item: &Self::Item, number: u64, size: usize) -> bool;

    fn set(item: &mut Self::Item, number: u64);

    /// How many values were made and not dropped, if they are counted.
    fn alive() -> Option<usize>;
}

/// A value made of a number.
pub(super) trait Sample: Sized + 'static {
    fn new(number: u64) -> Self;

    fn is(&self, number: u64) -> bool;

    fn set(&mut self, number: u64);

    fn alive() -> Option<usize> {
        None
    }
}

impl Sample for u64 {
    fn new(number: u64) -> Self {
        number
    }

    fn is(&self, number: u64) -> bool {
        *self == number
    }

    fn set(&mut self, number: u64) {
        *self = number;
    }
}

/// Text in memory of its own, with a name that is dropped once.
pub(super) struct Text {
    text: String,
    name: u64,
}

thread_local! {
    static NAMES: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
    static LAST: Cell<u64> = const { Cell::new(0) };
    static UNITS: Cell<usize> = const { Cell::new(0) };
}

impl Sample for Text {
    fn new(number: u64) -> Self {
        let name = LAST.get() + 1;
        LAST.set(name);
        NAMES.with_borrow_mut(|names| names.insert(name));
        let text = number.to_string();
        Text { text, name }
    }

    fn is(&self, number: u64) -> bool {
        self.text == number.to_string()
    }

    fn set(&mut self, number: u64) {
        self.text = number.to_string();
    }

    fn alive() -> Option<usize> {
        Some(NAMES.with_borrow(BTreeSet::len))
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let was_there = NAMES.with_borrow_mut(|names| names.remove(&self.name));
        assert!(was_there, "dropped twice");
    }
}

/// A value of no size, which is counted.
pub(super) struct Unit;

impl Sample for Unit {
    fn new(_: u64) -> Self {
        UNITS.set(UNITS.get() + 1);
        Unit
    }

    fn is(&self, _: u64) -> bool {
        std::ptr::from_ref(self).is_aligned()
    }

    fn set(&mut self, _: u64) {}

    fn alive() -> Option<usize> {
        Some(UNITS.get())
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        UNITS.set(UNITS.get().checked_sub(1).expect("dropped twice"));
    }
}

/// A value with an alignment of its own.
#[repr(align(128))]
pub(super) struct Aligned([u64; 3]);

impl Sample for Aligned {
    fn new(number: u64) -> Self {
        Aligned([number, !number, number])
    }

    fn is(&self, number: u64) -> bool {
        assert!(std::ptr::from_ref(self).is_aligned());
        self.0 == [number, !number, number]
    }

    fn set(&mut self, number: u64) {
        *self = Aligned::new(number);
    }
}

fn refused<T: Sample>(error: InsertError<T>, number: u64) -> Refused {
    let reason = Refused::from(&error);
    assert!(error.into_inner().is(number), "its own value comes back");
    reason
}

impl<T: Sample> Subject for Values<T> {
    type Item = T;

    fn plans(config: Config) -> Vec<Plan> {
        let (cell, slots) = (size_of::<T>(), [1, 2, 3, 64][config.chunk]);
        let bytes = cell * slots;
        vec![Plan { cell, slots, bytes }]
    }

    fn build(config: Config) -> EpochSlab<T> {
        let plan = Self::plans(config)[0];
        let builder = EpochSlab::builder()
            .epochs(config.ring)
            .chunk_capacity(plan.slots)
            .cached_chunks(config.cached)
            .max_bytes(limit(config, &[plan]));
        builder
            .pages(Pages::from_source(Arc::new(Refusing)))
            .build()
    }

    fn size(_: usize) -> usize {
        size_of::<T>()
    }

    fn insert(
        slab: &EpochSlab<T>,
        epoch: Option<Epoch>,
        number: u64,
        _: usize,
    ) -> Result<EpochKey, Refused> {
        let result = match epoch {
            Some(epoch) => slab.try_insert_in(epoch, T::new(number)),
            None => slab.try_insert(T::new(number)),
        };
        result.map_err(|error| refused(error, number))
    }

    fn insert_by_guard(
        guard: &EpochGuard<'_, Self>,
        number: u64,
        _: usize,
    ) -> Result<EpochKey, Refused> {
        (guard.try_insert(T::new(number))).map_err(|error| refused(error, number))
    }

    fn insert_in_scope<'a>(
        scope: &'a Scope<'_, Self>,
        number: u64,
        _: usize,
    ) -> Result<&'a mut T, Refused> {
        (scope.try_insert(T::new(number))).map_err(|error| refused(error, number))
    }

    fn use_keys_in_scope(
        scope: &Scope<'_, Self>,
        number: u64,
        removes: bool,
    ) -> Option<Result<(), Refused>> {
        let key = match scope.try_insert_in(scope.epoch(), T::new(number)) {
            Ok(key) => key,
            Err(error) => return Some(Err(refused(error, number))),
        };
        assert!(scope.get(key).unwrap().is(number));
        assert!(scope.get_mut(key).unwrap().is(number));
        if !removes {
            return Some(Ok(()));
        }
        assert!(scope.try_take(key).unwrap().is(number));
        assert_eq!(scope.try_get(key).err(), Some(AccessError::Missing));
        // Its slot is taken by another one, which is left.
        scope
            .try_insert_in(scope.epoch(), T::new(number))
            .expect("a slot is vacant");
        Some(Ok(()))
    }

    fn try_get(slab: &EpochSlab<T>, key: EpochKey) -> Result<Ref<'_, T>, AccessError> {
        slab.try_get(key)
    }

    fn try_get_mut(slab: &EpochSlab<T>, key: EpochKey) -> Result<RefMut<'_, T>, AccessError> {
        slab.try_get_mut(key)
    }

    fn remove(slab: &EpochSlab<T>, key: EpochKey, number: u64) -> Result<(), AccessError> {
        let value = slab.try_take(key)?;
        assert!(value.is(number));
        Ok(())
    }

    fn is(item: &T, number: u64, _: usize) -> bool {
        item.is(number)
    }

    fn set(item: &mut T, number: u64) {
        item.set(number);
    }

    fn alive() -> Option<usize> {
        T::alive()
    }
}

/// The limit of a slab: there is room for a chunk of each class.
pub(super) fn limit(config: Config, plans: &[Plan]) -> usize {
    let most = plans.iter().map(|plan| plan.bytes).max().unwrap_or(0);
    let of = |chunks| most.max(chunks * plans[0].bytes);
    config.limit.map_or(usize::MAX, of)
}

const LARGEST: usize = 1024;

fn filling(number: u64) -> u8 {
    number as u8 | 1
}

impl Subject for Bytes {
    type Item = [u8];

    fn plans(config: Config) -> Vec<Plan> {
        let sizes = [64, 96, 128, 192, 256, 384, 512, 768, LARGEST];
        let chunk_bytes = [1, 128, 300, 4096][config.chunk];
        let plan = |cell| {
            let slots = usize::max(chunk_bytes / cell, 1);
            let bytes = slots * cell;
            Plan { cell, slots, bytes }
        };
        sizes.map(plan).to_vec()
    }

    fn build(config: Config) -> EpochBytes {
        let builder = EpochBytes::builder()
            .epochs(config.ring)
            .chunk_bytes([1, 128, 300, 4096][config.chunk])
            .largest(LARGEST - 10)
            .cached_chunks(config.cached)
            .max_bytes(limit(config, &Self::plans(config)));
        let bytes = builder
            .pages(Pages::from_source(Arc::new(Refusing)))
            .build();
        assert_eq!(bytes.largest(), LARGEST);
        bytes
    }

    fn size(asked: usize) -> usize {
        let sizes = [0, 1, 63, 64, 65, 96, 97, 300, LARGEST, LARGEST + 1];
        sizes[asked % sizes.len()]
    }

    fn insert(
        slab: &EpochBytes,
        epoch: Option<Epoch>,
        number: u64,
        size: usize,
    ) -> Result<EpochKey, Refused> {
        let epoch = epoch.unwrap_or_else(|| slab.current());
        if number % 2 == 0 {
            return Ok(slab.try_copy_in(epoch, &vec![filling(number); size])?);
        }
        let mut buf = slab.try_alloc_in(epoch, size)?;
        assert!(*buf == vec![0; size], "zeroed");
        assert_eq!(buf.epoch(), epoch);
        assert_eq!(slab.try_remove(buf.key()), Err(AccessError::Borrowed));
        buf.fill(filling(number));
        Ok(buf.key())
    }

    fn insert_by_guard(
        guard: &EpochGuard<'_, Self>,
        number: u64,
        size: usize,
    ) -> Result<EpochKey, Refused> {
        let mut buf = guard.try_alloc(size)?;
        buf.fill(filling(number));
        Ok(buf.key())
    }

    fn insert_in_scope<'a>(
        scope: &'a Scope<'_, Self>,
        number: u64,
        size: usize,
    ) -> Result<&'a mut [u8], Refused> {
        let bytes = scope.try_alloc(size)?;
        bytes.fill(filling(number));
        Ok(bytes)
    }

    fn use_keys_in_scope(_: &Scope<'_, Self>, _: u64, _: bool) -> Option<Result<(), Refused>> {
        None
    }

    fn try_get(slab: &EpochBytes, key: EpochKey) -> Result<Ref<'_, [u8]>, AccessError> {
        slab.try_get(key)
    }

    fn try_get_mut(slab: &EpochBytes, key: EpochKey) -> Result<RefMut<'_, [u8]>, AccessError> {
        slab.try_get_mut(key)
    }

    fn remove(slab: &EpochBytes, key: EpochKey, number: u64) -> Result<(), AccessError> {
        if let Ok(bytes) = slab.try_get(key) {
            assert!(bytes.iter().all(|byte| *byte == filling(number)));
        }
        slab.try_remove(key)
    }

    fn is(item: &[u8], number: u64, size: usize) -> bool {
        *item == vec![filling(number); size]
    }

    fn set(item: &mut [u8], number: u64) {
        item.fill(filling(number));
    }

    fn alive() -> Option<usize> {
        None
    }
}
