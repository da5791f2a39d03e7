//! The steps that concern all values, or the slab itself.

use flatslab::{AccessError, Key};

use super::{CHUNK, Cell, World};
use crate::common::Room;

impl<M: Room> World<M> {
    pub(super) fn iterate(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let expected = self.expect_values(Cell::admits_reader);
        let items: Vec<_> = slab.try_iter().collect();
        let guards = items.iter().filter_map(|(key, value)| {
            let value = value.as_ref().ok()?;
            Some((*key, value.number))
        });
        assert!(guards.eq(expected.iter().copied()));
        assert!(
            slab.try_iter_mut().all(|(_, value)| value.is_err()),
            "all are read"
        );
        drop(items);
        let there = self.expect_values(Cell::is_there);
        assert!(slab.try_iter().map(|(key, _)| key).eq(slab.keys()));
        assert!(slab.keys().eq(there.iter().map(|(key, _)| *key)));
        if expected.len() == there.len() {
            assert_eq!(slab.iter().count(), there.len());
        }
        Some(())
    }

    pub(super) fn iterate_mut(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let mut expected = self.expect_values(Cell::admits_writer).into_iter();
        for (key, value) in slab.try_iter_mut() {
            let Ok(mut value) = value else {
                continue;
            };
            assert_eq!(Some((key, value.number)), expected.next());
            self.made += 1;
            value.number = self.made;
            self.cell(key).value = Some(self.made);
        }
        assert_eq!(expected.next(), None);
        Some(())
    }

    pub(super) fn retain(&mut self, pattern: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let expected = self.expect_values(Cell::admits_writer);
        let borrowed = self.expect_values(Cell::is_there).len() - expected.len();
        let keeps = |key: Key| pattern >> (key.index() % 8) & 1 == 0;
        let mut seen = Vec::new();
        let left = slab.try_retain(|key, value| {
            assert!(slab.try_get(key).is_err() && slab.contains_key(key));
            seen.push((key, value.number));
            keeps(key)
        });
        assert_eq!((seen, left), (expected.clone(), borrowed));
        for (key, _) in expected.into_iter().filter(|(key, _)| !keeps(*key)) {
            self.destroy(key);
        }
        Some(())
    }

    pub(super) fn drain(&mut self, count: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let expected = self.expect_values(Cell::admits_writer);
        let borrowed = self.expect_values(Cell::is_there).len() - expected.len();
        let count = usize::from(count) % (self.cells.len() + 2);
        let mut drain = slab.try_drain();
        for _ in 0..count {
            if let Some((key, value)) = drain.next() {
                assert!(!slab.contains_key(key));
                drop(value);
            }
        }
        assert!(expected.len().saturating_sub(count) <= drain.size_hint().1.unwrap());
        assert!(drain.left() <= borrowed);
        assert!(count <= expected.len() || drain.left() == borrowed);
        drop(drain);
        for (key, _) in expected {
            self.destroy(key);
        }
        Some(())
    }

    pub(super) fn make_room(&mut self, count: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let count = usize::from(count) % (2 * CHUNK + 2);
        M::try_reserve(slab, count).unwrap();
        while M::GROWS && self.free.len() < count {
            self.add_chunk();
        }
        Some(())
    }

    pub(super) fn shrink(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        M::shrink(slab);
        if M::GROWS {
            self.shrink_model();
        }
        Some(())
    }

    pub(super) fn clear(&mut self, _: u8) -> Option<()> {
        let slab = self.slab.get()?;
        let refused = self
            .cells
            .iter()
            .any(|cell| cell.is_there() && cell.is_borrowed());
        assert_eq!(
            slab.try_clear(),
            if refused {
                Err(AccessError::Borrowed)
            } else {
                Ok(())
            }
        );
        if !refused {
            self.destroy_all();
        }
        Some(())
    }

    pub(super) fn drop_slab(&mut self, _: u8) -> Option<()> {
        self.end_slab();
        Some(())
    }
}
