//! The steps of a program on positions.

use flatslab::bytes::{Loc, LocError};

use super::{Input, Position, World};

impl World<'_> {
    pub(super) fn note_position(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let is_held = self.input.below(2) == 0;
        let (part, buf) = &self.bufs[place];
        let chunk = self.chunks.get_mut(&part.name).unwrap();
        let (arena, epoch) = (chunk.arena, chunk.epoch);
        if self.arenas[arena].is_none() {
            assert_eq!(buf.try_loc(), Err(LocError::Closed));
            return;
        }
        let part = part.clone();
        let loc = if is_held {
            chunk.held += 1;
            self.bufs.swap_remove(place).1.into_loc()
        } else {
            buf.loc()
        };
        assert_eq!(loc.len(), part.range.len());
        let position = Position {
            loc,
            part,
            epoch,
            arena,
        };
        self.positions.push(position);
    }

    /// Whether a position is of that arena, and the buffer is as it was.
    fn expected(&self, position: &Position, arena: usize) -> Result<(), LocError> {
        if position.arena != arena {
            return Err(LocError::Foreign);
        }
        let chunk = self.chunks.get(&position.part.name);
        let is_there = chunk.is_some_and(|it| it.epoch == position.epoch && it.references > 0);
        is_there.then_some(()).ok_or(LocError::Stale)
    }

    pub(super) fn resolve(&mut self) {
        let (place, arena) = (self.input.pick(&self.positions), self.arena());
        let (Some(place), Some(index)) = (place, arena) else {
            return;
        };
        let position = &self.positions[place];
        let expected = self.expected(position, index);
        match self.arenas[index].as_ref().unwrap().resolve(position.loc) {
            Ok(buf) => {
                assert_eq!(expected, Ok(()));
                let part = position.part.clone();
                assert_eq!(*buf, *self.bytes(&part));
                self.chunk(part.name).references += 1;
                self.bufs.push((part, buf));
            }
            Err(error) => assert_eq!(Err(error), expected),
        }
    }

    pub(super) fn release(&mut self) {
        let (place, arena) = (self.input.pick(&self.positions), self.arena());
        let (Some(place), Some(index)) = (place, arena) else {
            return;
        };
        let position = &self.positions[place];
        let name = position.part.name;
        let expected = self.expected(position, index).and_then(|()| {
            let holds = self.chunks[&name].held > 0;
            holds.then_some(()).ok_or(LocError::Stale)
        });
        match self.arenas[index].as_ref().unwrap().release(position.loc) {
            Ok(is_last) => {
                assert_eq!(expected, Ok(()));
                self.chunk(name).held -= 1;
                assert_eq!(is_last, self.drop_reference(name));
            }
            Err(error) => assert_eq!(Err(error), expected),
        }
    }

    /// A position with other words leads to bytes of the buffer whose serial it has, or
    /// nowhere.
    pub(super) fn forge(&mut self) {
        let (place, arena) = (self.input.pick(&self.positions), self.arena());
        let (Some(place), Some(index)) = (place, arena) else {
            return;
        };
        let position = &self.positions[place];
        let [serial, place] = position.loc.into_raw();
        let number = |input: &mut Input<'_>| input.number() as u64;
        let (low, bits) = (number(&mut self.input), number(&mut self.input) << 40);
        let (start, len) = (number(&mut self.input), number(&mut self.input));
        let forged = match low % 4 {
            0 => [serial.wrapping_add(low), place],
            1 => [serial, bits | start << 20 | len],
            _ => [serial, place >> 40 << 40 | start << 20 | len],
        };
        let loc = Loc::from_raw(forged);
        let Ok(buf) = self.arenas[index].as_ref().unwrap().resolve(loc) else {
            return;
        };
        // Which buffer has that serial now is said by a position that has it.
        let is_of = |it: &&Position| it.loc.into_raw()[0] == forged[0] && it.arena == index;
        let original = self.positions.iter().find(is_of).expect("it was given out");
        assert_eq!(self.expected(original, index), Ok(()));
        let start = (forged[1] >> 20) as usize % (1 << 20);
        let bytes = &self.chunks[&original.part.name].bytes;
        assert_eq!(*buf, bytes[start..start + loc.len()]);
    }
}
