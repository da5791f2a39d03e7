//! The place of an entry in a `SecondarySlab`, which may have one.

use core::fmt;

use super::key::GenerationKey;
use super::{InsertAtError, PlainSlab, SecondarySlab, Storage};

impl<V, K: GenerationKey> SecondarySlab<V, K> {
    /// Returns the place of the entry of a value of `slab`, to look at it and set it at once; never
    /// panics or aborts.
    ///
    /// # Complexity
    ///
    /// That of [`insert`](Self::insert). Memory for the entry is allocated here.
    ///
    /// # Errors
    ///
    /// Returns an error where [`try_insert`](Self::try_insert) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use flatslab::key_slab::SecondarySlab;
    /// use flatslab::{GenKey, KeySlab};
    ///
    /// let mut ships: KeySlab<&str, GenKey> = KeySlab::with_key();
    /// let mut hits = SecondarySlab::new();
    /// let ship = ships.insert("Argo");
    /// for _ in 0..3 {
    ///     *hits.entry(&ships, ship).unwrap().or_insert(0) += 1;
    /// }
    /// assert_eq!(hits[ship], 3);
    /// ships.remove(ship);
    /// assert!(hits.entry(&ships, ship).is_err());
    /// ```
    pub fn entry<T, S: Storage>(
        &mut self,
        slab: &PlainSlab<T, K, S>,
        key: K,
    ) -> Result<SecondaryEntry<'_, V, K>, InsertAtError<()>> {
        let place = (key.index(), key.version());
        if slab.find(place.0, place.1).is_none() {
            return Err(InsertAtError::Missing(()));
        }
        let wraps = slab.wraps();
        self.admits(place.0, place.1, wraps)?;
        let entries = self;
        Ok(match entries.slab.find(place.0, place.1) {
            Some(_) => SecondaryEntry::Occupied(OccupiedSecondary {
                entries,
                place,
                key,
            }),
            None => SecondaryEntry::Vacant(VacantSecondary {
                entries,
                place,
                key,
                wraps,
            }),
        })
    }
}

/// The place of an entry in a [`SecondarySlab`]. Created by [`entry`](SecondarySlab::entry).
#[derive(Debug)]
pub enum SecondaryEntry<'a, V, K: GenerationKey> {
    /// The value has an entry.
    Occupied(OccupiedSecondary<'a, V, K>),
    /// The value has no entry.
    Vacant(VacantSecondary<'a, V, K>),
}

/// The place of an entry that there is.
pub struct OccupiedSecondary<'a, V, K: GenerationKey> {
    /// There is an entry at `place`.
    entries: &'a mut SecondarySlab<V, K>,
    place: (usize, u32),
    key: K,
}

/// The place of an entry that there is not.
pub struct VacantSecondary<'a, V, K: GenerationKey> {
    /// There is memory for the slot of `place`, which may have the entry of an earlier value.
    entries: &'a mut SecondarySlab<V, K>,
    place: (usize, u32),
    key: K,
    wraps: bool,
}

impl<'a, V, K: GenerationKey> SecondaryEntry<'a, V, K> {
    /// Returns the key of the value.
    #[must_use]
    pub fn key(&self) -> K {
        match self {
            SecondaryEntry::Occupied(entry) => entry.key,
            SecondaryEntry::Vacant(entry) => entry.key,
        }
    }

    /// Changes the entry, if there is one.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let SecondaryEntry::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }

    /// Borrows the entry mutably, after setting it if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Borrows the entry mutably, after setting it to what `value` returns if there is none.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        match self {
            SecondaryEntry::Occupied(entry) => entry.into_mut(),
            SecondaryEntry::Vacant(entry) => entry.insert(value()),
        }
    }

    /// Borrows the entry mutably, after setting it to the default value if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<'a, V, K: GenerationKey> OccupiedSecondary<'a, V, K> {
    /// Returns the key of the value.
    #[must_use]
    pub fn key(&self) -> K {
        self.key
    }

    /// Borrows the entry.
    #[must_use]
    pub fn get(&self) -> &V {
        match self.entries.slab.find(self.place.0, self.place.1) {
            Some(entry) => entry,
            None => unreachable!("{THERE}"),
        }
    }

    /// Borrows the entry mutably.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut V {
        match self.entries.slab.find_mut(self.place.0, self.place.1) {
            Some(entry) => entry,
            None => unreachable!("{THERE}"),
        }
    }

    /// Returns a mutable reference to the entry that lives as long as the slab is borrowed.
    #[must_use]
    pub fn into_mut(self) -> &'a mut V {
        match self.entries.slab.find_mut(self.place.0, self.place.1) {
            Some(entry) => entry,
            None => unreachable!("{THERE}"),
        }
    }

    /// Sets the entry, and returns the previous one.
    pub fn insert(&mut self, value: V) -> V {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry, and returns it.
    #[must_use]
    pub fn remove(self) -> V {
        match self.entries.take(self.place.0, self.place.1) {
            Some(entry) => entry,
            None => unreachable!("{THERE}"),
        }
    }
}

const THERE: &str = "nothing has changed the slab since the entry was found";

impl<'a, V, K: GenerationKey> VacantSecondary<'a, V, K> {
    /// Returns the key of the value.
    #[must_use]
    pub fn key(&self) -> K {
        self.key
    }

    /// Sets the entry, and returns a mutable reference to it. Does not allocate. An entry of an
    /// earlier value in the slot is dropped.
    pub fn insert(self, value: V) -> &'a mut V {
        let (index, version) = self.place;
        if self.entries.set(index, version, self.wraps, value).is_err() {
            unreachable!("`entry` has found that the slot admits it");
        }
        match self.entries.slab.find_mut(index, version) {
            Some(entry) => entry,
            None => unreachable!("just set"),
        }
    }
}

/// Prints key and entry.
impl<V: fmt::Debug, K: GenerationKey> fmt::Debug for OccupiedSecondary<'_, V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OccupiedSecondary")
            .field("key", &self.key)
            .field("entry", self.get())
            .finish_non_exhaustive()
    }
}

/// Prints the key.
impl<V, K: GenerationKey> fmt::Debug for VacantSecondary<'_, V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VacantSecondary")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
