//! The steps of a program on buffers, and on the links between them.

#[cfg(feature = "std")]
use std::io::ErrorKind;
#[cfg(feature = "std")]
use std::mem::MaybeUninit;
use std::mem::{replace, swap};
use std::ops::Range;

use flatslab::bytes::{Buf, SharedError};

use super::{Filled, Part, World};

/// The byte at a place of a chunk with that name.
fn byte(name: u32, index: usize) -> u8 {
    (name as u8).wrapping_mul(29).wrapping_add(index as u8)
}

fn owned_bytes(name: u32, range: Range<usize>) -> Vec<u8> {
    range.map(|index| byte(name, index)).collect()
}
impl World<'_> {
    /// Writes to a buffer: more bytes, or other ones, or fewer.
    pub(super) fn fill(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let (kind, number) = (self.input.below(4), self.input.number());
        let Filled {
            name, start, buf, ..
        } = &mut self.filled[place];
        let chunk = self.chunks.get_mut(name).unwrap();
        let end = *start + buf.len();
        match kind {
            0 => buf.truncate(number),
            1 => {
                for (index, old) in buf.iter_mut().enumerate() {
                    *old = byte(*name, *start + index);
                }
                chunk.bytes[*start..].copy_from_slice(buf);
            }
            // By a reader: what fits. Half of them find bytes that are not initialised any more.
            #[cfg(feature = "std")]
            2 => {
                if number % 2 == 0 {
                    buf.spare_capacity_mut().fill(MaybeUninit::uninit());
                }
                let bytes = owned_bytes(*name, end..end + number);
                let count = number.min(buf.remaining());
                match buf.read_from(&mut &bytes[..]) {
                    Ok(read) => assert_eq!(read, count),
                    Err(error) => {
                        assert_eq!((error.kind(), buf.remaining()), (ErrorKind::StorageFull, 0));
                    }
                }
                chunk.bytes.extend(&bytes[..count]);
            }
            _ => {
                let bytes = owned_bytes(*name, end..end + number);
                let has_room = number <= buf.remaining();
                assert_eq!(buf.extend_from_slice(&bytes).is_ok(), has_room);
                if has_room {
                    chunk.bytes.extend(bytes);
                }
            }
        }
        chunk.bytes.truncate(*start + buf.len());
        assert_eq!(**buf, chunk.bytes[*start..]);
    }

    pub(super) fn freeze(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let it = self.filled.swap_remove(place);
        let part = it.part(it.buf.len());
        if !it.is_counted {
            self.chunk(it.name).references = 1;
        }
        self.bufs.push((part, it.buf.freeze()));
    }

    /// Splits off the first bytes of a buffer that is being filled.
    pub(super) fn split(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let number = self.input.number();
        let it = &mut self.filled[place];
        let count = number % (it.buf.len() + 1);
        let (part, front) = (it.part(count), it.buf.split_to(count));
        it.start += count;
        let references = if replace(&mut it.is_counted, true) {
            1
        } else {
            2
        };
        self.chunk(part.name).references += references;
        self.bufs.push((part, front));
    }

    /// Makes room in a buffer that is being filled.
    pub(super) fn reclaim(&mut self) {
        let Some(place) = self.input.pick(&self.filled) else {
            return;
        };
        let number = self.input.number();
        let it = &mut self.filled[place];
        let chunk = self.chunks.get_mut(&it.name).unwrap();
        assert!(it.buf.try_reclaim(0));
        let (size, remaining) = (it.start + it.buf.capacity(), it.buf.remaining());
        let is_only = chunk.references == usize::from(it.is_counted);
        let moves = remaining < number && is_only && it.buf.len() + number <= size;
        assert_eq!(it.buf.try_reclaim(number), moves || number <= remaining);
        if moves {
            chunk.bytes.drain(..it.start);
            chunk.epoch += 1;
            it.start = 0;
        }
        assert_eq!(it.buf.capacity(), size - it.start);
    }

    /// Joins a reference to one that begins where it ends, or to another.
    pub(super) fn unsplit(&mut self) {
        let Some((place, (other, other_buf))) = self.two() else {
            return;
        };
        let (part, buf) = &mut self.bufs[place];
        let is_next = part.name == other.name && part.range.end == other.range.start;
        match buf.try_unsplit(other_buf) {
            Ok(()) => {
                assert!(is_next);
                part.range.end = other.range.end;
                self.drop_reference(other.name);
            }
            Err(other_buf) => {
                assert!(!is_next);
                self.bufs.push((other, other_buf));
            }
        }
    }

    pub(super) fn share(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (start, end) = (self.input.number(), self.input.number());
        let is_slice = start % 2 == 0;
        let (part, buf) = &self.bufs[place];
        let mut part = part.clone();
        let shared = if is_slice {
            let shared = buf.try_slice(start / 2..end);
            let is_within = start / 2 <= end && end <= part.range.len();
            assert_eq!(shared.is_some(), is_within);
            let Some(shared) = shared else { return };
            part.range = part.range.start + start / 2..part.range.start + end;
            shared
        } else {
            buf.clone()
        };
        self.chunk(part.name).references += 1;
        self.bufs.push((part, shared));
    }

    pub(super) fn shorten(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (kind, number) = (self.input.below(2), self.input.number());
        let (part, buf) = &mut self.bufs[place];
        let range = &mut part.range;
        if kind == 0 {
            buf.truncate(number);
            range.end = range.end.min(range.start + number);
        } else if number <= buf.len() {
            buf.advance(number);
            range.start += number;
        }
    }

    pub(super) fn drop_buf(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = self.bufs.swap_remove(place);
        assert_eq!(buf.release(), self.drop_reference(part.name));
    }

    pub(super) fn make_mutable(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = self.bufs.swap_remove(place);
        let is_unique = self.chunks[&part.name].references == 1;
        match buf.try_into_mut() {
            Ok(buf) => {
                assert!(is_unique);
                let chunk = self.chunk(part.name);
                chunk.references = 0;
                chunk.epoch += 1;
                chunk.bytes.truncate(part.range.end);
                self.filled.push(Filled {
                    name: part.name,
                    start: part.range.start,
                    is_counted: false,
                    buf,
                });
            }
            Err(buf) => {
                assert!(!is_unique);
                self.bufs.push((part, buf));
            }
        }
    }

    /// Two different buffers, of which the second is taken out.
    fn two(&mut self) -> Option<(usize, (Part, Buf))> {
        if self.bufs.len() < 2 {
            return None;
        }
        let place = self.input.below(self.bufs.len());
        let other = self.bufs.swap_remove(place);
        Some((self.input.below(self.bufs.len()), other))
    }

    pub(super) fn link(&mut self) {
        let Some((place, (next, next_buf))) = self.two() else {
            return;
        };
        let (part, buf) = &mut self.bufs[place];
        let chunk = self.chunks.get_mut(&part.name).unwrap();
        let before = match buf.set_next(next_buf) {
            Ok(before) => {
                assert_eq!(chunk.references, 1);
                let expected = chunk.next.replace(next);
                assert_eq!(before.is_some(), expected.is_some());
                before.zip(expected)
            }
            Err(error) => {
                assert!(chunk.references > 1);
                Some((error.into_inner(), next))
            }
        };
        self.bufs.extend(before.map(|(buf, part)| (part, buf)));
    }

    pub(super) fn unlink(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = &mut self.bufs[place];
        let chunk = self.chunks.get_mut(&part.name).unwrap();
        match buf.take_next() {
            Ok(taken) => {
                assert_eq!(chunk.references, 1);
                assert_eq!(taken.is_some(), chunk.next.is_some());
                let taken = chunk.next.take().zip(taken);
                self.bufs.extend(taken);
            }
            Err(SharedError { .. }) => assert!(chunk.references > 1),
        }
    }

    pub(super) fn follow(&mut self) {
        let Some(place) = self.input.pick(&self.bufs) else {
            return;
        };
        let (part, buf) = &self.bufs[place];
        let (expected, next) = (self.chunks[&part.name].next.clone(), buf.next());
        assert_eq!(next.is_some(), expected.is_some());
        if let Some((part, buf)) = expected.zip(next) {
            self.chunk(part.name).references += 1;
            self.bufs.push((part, buf));
        }
    }

    /// Replaces a link some way down a chain, as far as it may be changed.
    pub(super) fn replace_link(&mut self) {
        let Some((place, (mut other, mut other_buf))) = self.two() else {
            return;
        };
        let steps = self.input.below(3);
        let (head, mut buf) = {
            let (part, buf) = &mut self.bufs[place];
            (part.name, buf)
        };
        let mut name = head;
        for step in 0..=steps {
            let chunk = self.chunks.get_mut(&name).unwrap();
            let link = match buf.next_mut() {
                Ok(link) => link,
                Err(SharedError { .. }) => {
                    assert!(chunk.references > 1);
                    break;
                }
            };
            assert_eq!(chunk.references, 1);
            chunk.epoch += 1;
            assert_eq!(link.is_some(), chunk.next.is_some());
            let Some((link, part)) = link.zip(chunk.next.as_mut()) else {
                break;
            };
            if step == steps {
                swap(link, &mut other_buf);
                swap(part, &mut other);
                break;
            }
            (name, buf) = (part.name, link);
        }
        self.bufs.push((other, other_buf));
    }
}
