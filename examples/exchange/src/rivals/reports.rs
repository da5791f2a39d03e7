//! Reports that need no slab: `C` carries each, by value or in a box.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::rivals::queues::Full;

/// What carries a value to another thread.
pub(crate) trait Carry {
    type Value;
    fn new(value: Self::Value) -> Self;
    fn value(&self) -> &Self::Value;
}

/// With flatslab's names.
pub(crate) struct BoundedSlab<C>(PhantomData<C>);
pub(crate) struct SendSlot<C>(C);

impl<C: Carry> BoundedSlab<C> {
    pub(crate) fn with_capacity(_: usize) -> Self {
        BoundedSlab(PhantomData)
    }

    pub(crate) fn insert(&self, value: C::Value) -> Result<SendSlot<C>, Full> {
        Ok(SendSlot(C::new(value)))
    }

    pub(crate) fn reclaim_some(&self, _: usize) {}

    pub(crate) fn reclaim(&self) {}

    pub(crate) fn is_empty(&self) -> bool {
        true
    }
}

impl<C> SendSlot<C> {
    pub(crate) fn into_send(self) -> Self {
        self
    }

    pub(crate) fn retire(self) -> Result<(), Self> {
        Ok(())
    }
}

impl<C: Carry> Deref for SendSlot<C> {
    type Target = C::Value;

    fn deref(&self) -> &C::Value {
        self.0.value()
    }
}
