//! What the bench of byte buffers compares: one adapter for each subject and role.

pub(crate) mod counting;
pub(crate) mod rings;

use std::mem::MaybeUninit;
use std::ops::Deref;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use flatslab::bytes::{Buf, BufMut, ByteArena, Loc};
use flatslab_benches::bytes::{BYTES_IN_VEC, LINKS, OURS, PAIR, RC, VEC};
use flatslab_benches::payload::{barrier, opaque};
use slotmap::{DefaultKey, SlotMap};

/// The compiler must take the bytes at this address for read and written here. No
/// instruction, and nothing goes through memory: without it an allocation that is freed at
/// once may be left out.
#[inline(always)]
pub(crate) fn touch(start: *const u8) {
    // SAFETY: the start of a buffer that is there, or dangling and aligned; of no byte of it
    // is anything said.
    barrier(unsafe { &*start.cast::<[MaybeUninit<u8>; 0]>() });
}

/// What hands out buffers to be filled.
pub(crate) trait Allocate {
    const NAME: &'static str;
    type Buffer;

    fn new() -> Self;

    fn alloc(&self, size: usize) -> Self::Buffer;

    /// Where its bytes are.
    fn start(buffer: &Self::Buffer) -> *const u8;

    /// Writes so many bytes and reads them back.
    fn holds(buffer: &mut Self::Buffer, size: usize, byte: u8) -> bool;
}

impl Allocate for ByteArena {
    const NAME: &'static str = OURS;
    type Buffer = BufMut;

    fn new() -> Self {
        ByteArena::new()
    }

    #[inline(always)]
    fn alloc(&self, size: usize) -> BufMut {
        ByteArena::try_alloc(self, size).expect("memory")
    }

    #[inline(always)]
    fn start(buffer: &BufMut) -> *const u8 {
        buffer.as_ptr()
    }

    fn holds(buffer: &mut BufMut, size: usize, byte: u8) -> bool {
        buffer.resize(size, byte).is_ok() && **buffer == *vec![byte; size]
    }
}

/// Writes what hands out buffers of the program's allocator.
macro_rules! allocate {
    ($($(#[$what:meta])* $subject:ident of $buffer:ty, named $name:expr;)*) => {
        $(
            $(#[$what])*
            pub(crate) struct $subject;

            impl Allocate for $subject {
                const NAME: &'static str = $name;
                type Buffer = $buffer;

                fn new() -> Self {
                    $subject
                }

                #[inline(always)]
                fn alloc(&self, size: usize) -> $buffer {
                    <$buffer>::with_capacity(size)
                }

                #[inline(always)]
                fn start(buffer: &$buffer) -> *const u8 {
                    buffer.as_ptr()
                }

                fn holds(buffer: &mut $buffer, size: usize, byte: u8) -> bool {
                    let room = buffer.capacity();
                    buffer.resize(size, byte);
                    room >= size && **buffer == *vec![byte; size]
                }
            }
        )*
    };
}

allocate! {
    /// `Vec<u8>` on the program's allocator, the C library's.
    Vecs of Vec<u8>, named VEC;
    BytesMuts of BytesMut, named "BytesMut";
}

/// What is shared by references.
pub(crate) trait Share: Clone + Deref<Target = [u8]> {
    const NAME: &'static str;

    fn copied(arena: &ByteArena, bytes: &[u8]) -> Self;

    /// References, where they can be asked for.
    fn references(&self) -> Option<usize>;
}

impl Share for Buf {
    const NAME: &'static str = OURS;

    #[inline(always)]
    fn copied(arena: &ByteArena, bytes: &[u8]) -> Self {
        let mut buf = arena.try_alloc(bytes.len()).expect("memory");
        buf.extend_from_slice(bytes).expect("room");
        buf.freeze()
    }

    fn references(&self) -> Option<usize> {
        Buf::references(self)
    }
}

impl Share for Rc<[u8]> {
    const NAME: &'static str = RC;

    #[inline(always)]
    fn copied(_: &ByteArena, bytes: &[u8]) -> Self {
        Rc::from(bytes)
    }

    fn references(&self) -> Option<usize> {
        Some(Rc::strong_count(self))
    }
}

impl Share for Bytes {
    const NAME: &'static str = "Bytes";

    #[inline(always)]
    fn copied(_: &ByteArena, bytes: &[u8]) -> Self {
        Bytes::copy_from_slice(bytes)
    }

    fn references(&self) -> Option<usize> {
        None
    }
}

/// Shared buffers that something smaller leads to. A reference to one is taken and dropped,
/// and the buffer's first byte is returned where it is asked for.
pub(crate) trait Lookup {
    const NAME: &'static str;

    /// Of buffers whose first bytes are these, to be looked up in this order.
    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self;

    /// To the buffer that is `at` in that order.
    fn resolve(&self, at: usize, look: impl FnOnce(&[u8]));

    /// Has the table, or a position, keep one more reference to it, and gives that back; where
    /// neither can, as [`resolve`](Self::resolve).
    #[inline(always)]
    fn hold(&mut self, at: usize) {
        self.resolve(at, |bytes| touch(bytes.as_ptr()));
    }
}

pub(crate) struct Positions {
    arena: ByteArena,
    bufs: Vec<Buf>,
    locs: Vec<Loc>,
}

impl Lookup for Positions {
    const NAME: &'static str = OURS;

    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self {
        let arena = ByteArena::new();
        let bufs = bufs(&arena, contents, order);
        let locs = bufs.iter().map(|buf| buf.clone().into_loc()).collect();
        Positions { arena, bufs, locs }
    }

    #[inline(always)]
    fn resolve(&self, at: usize, look: impl FnOnce(&[u8])) {
        look(&self.arena.resolve(self.locs[at]).expect("a live buffer"));
    }

    #[inline(always)]
    fn hold(&mut self, at: usize) {
        let loc = opaque(self.bufs[at].clone().into_loc());
        let is_last = self.arena.release(loc).expect("a held position");
        assert!(!is_last);
    }
}

/// Buffers of these contents, in this order.
fn bufs(arena: &ByteArena, contents: &[[u8; 40]], order: &[usize]) -> Vec<Buf> {
    let bufs = contents.iter().map(|bytes| arena.try_copy(bytes));
    let bufs: Vec<Buf> = bufs.map(|buf| buf.expect("memory")).collect();
    order.iter().map(|&at| bufs[at].clone()).collect()
}

/// No look-up: a reference to one buffer each time, or references in the same order.
pub(crate) struct Bufs<const EACH: bool>(Vec<Buf>);

pub(crate) type OneBuf = Bufs<false>;
pub(crate) type EachBuf = Bufs<true>;

impl<const EACH: bool> Lookup for Bufs<EACH> {
    const NAME: &'static str = if EACH {
        "reference pair, at random"
    } else {
        PAIR
    };

    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self {
        Bufs(bufs(&ByteArena::new(), contents, order))
    }

    #[inline(always)]
    fn resolve(&self, at: usize, look: impl FnOnce(&[u8])) {
        look(&self.0[if EACH { at } else { 0 }].clone());
    }
}

/// Checked keys to references.
pub(crate) struct Keys {
    map: SlotMap<DefaultKey, Rc<[u8]>>,
    keys: Vec<DefaultKey>,
}

impl Lookup for Keys {
    const NAME: &'static str = "SlotMap<Rc<[u8]>>";

    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self {
        let mut map = SlotMap::new();
        let insert = |bytes: &[u8; 40]| map.insert(Rc::from(*bytes));
        let keys: Vec<DefaultKey> = contents.iter().map(insert).collect();
        let keys = order.iter().map(|&at| keys[at]).collect();
        Keys { map, keys }
    }

    #[inline(always)]
    fn resolve(&self, at: usize, look: impl FnOnce(&[u8])) {
        look(&self.map[self.keys[at]].clone());
    }

    #[inline(always)]
    fn hold(&mut self, at: usize) {
        let reference = self.map[self.keys[at]].clone();
        let key = opaque(self.map.insert(reference));
        drop(self.map.remove(key).expect("a live key"));
    }
}

/// Indices to references: unchecked, where a buffer is gone.
pub(crate) struct Indices {
    references: Vec<Rc<[u8]>>,
    indices: Vec<u32>,
}

impl Lookup for Indices {
    const NAME: &'static str = "Vec<Rc<[u8]>>";

    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self {
        Indices {
            references: contents.iter().map(|bytes| Rc::from(*bytes)).collect(),
            indices: order.iter().map(|&at| at as u32).collect(),
        }
    }

    #[inline(always)]
    fn resolve(&self, at: usize, look: impl FnOnce(&[u8])) {
        look(&self.references[self.indices[at] as usize].clone());
    }
}

/// Buffers one after the other.
pub(crate) trait Chain {
    const NAME: &'static str;

    /// Of these contents, each allocated in the order of `order`.
    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self;

    /// The sum of [`read`] over all, with a reference to each in turn.
    fn by_reference(&self) -> u64;

    /// The same by borrowing.
    fn by_slice(&self) -> u64;
}

/// What a walk reads of a buffer.
#[inline(always)]
pub(crate) fn read(bytes: &[u8]) -> u64 {
    u64::from(bytes[0]) + bytes.len() as u64
}

pub(crate) struct Linked(Buf);

impl Chain for Linked {
    const NAME: &'static str = OURS;

    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self {
        let arena = ByteArena::new();
        let mut bufs: Vec<Option<Buf>> = vec![None; LINKS];
        for &at in order {
            bufs[at] = Some(arena.try_copy(&contents[at]).expect("memory"));
        }
        let links = bufs.into_iter().flatten().rev();
        let link = |next: Buf, mut buf: Buf| {
            buf.set_next(next).expect("its one reference");
            buf
        };
        Linked(links.reduce(link).expect("links"))
    }

    #[inline(always)]
    fn by_reference(&self) -> u64 {
        let mut at = self.0.clone();
        let mut sum = read(&at);
        while let Some(next) = at.next() {
            at = next;
            sum += read(&at);
        }
        sum
    }

    #[inline(always)]
    fn by_slice(&self) -> u64 {
        self.0.parts().map(read).sum()
    }
}

impl Chain for Vec<Bytes> {
    const NAME: &'static str = BYTES_IN_VEC;

    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self {
        let mut all = vec![Bytes::new(); LINKS];
        for &at in order {
            all[at] = Bytes::copy_from_slice(&contents[at]);
            // Its count is allocated with the first clone.
            drop(all[at].clone());
        }
        all
    }

    #[inline(always)]
    fn by_reference(&self) -> u64 {
        let cloned = self.iter().map(|bytes| read(&bytes.clone()));
        cloned.sum()
    }

    #[inline(always)]
    fn by_slice(&self) -> u64 {
        self.iter().map(|bytes| read(bytes)).sum()
    }
}

pub(crate) struct Link {
    bytes: Rc<[u8]>,
    next: Option<Rc<Link>>,
}

impl Chain for Rc<Link> {
    const NAME: &'static str = "list of Rc";

    fn new(contents: &[[u8; 40]], order: &[usize]) -> Self {
        let mut all: Vec<Option<Rc<[u8]>>> = vec![None; LINKS];
        for &at in order {
            all[at] = Some(Rc::from(contents[at]));
        }
        let link = |next: Option<Rc<Link>>, bytes: Rc<[u8]>| Some(Rc::new(Link { bytes, next }));
        let links = all.into_iter().flatten().rev();
        links.fold(None, link).expect("links")
    }

    #[inline(always)]
    fn by_reference(&self) -> u64 {
        let mut at = self.clone();
        let mut sum = read(&at.bytes);
        while let Some(next) = at.next.clone() {
            at = next;
            sum += read(&at.bytes);
        }
        sum
    }

    #[inline(always)]
    fn by_slice(&self) -> u64 {
        let links = std::iter::successors(Some(&**self), |link| link.next.as_deref());
        links.map(|link| read(&link.bytes)).sum()
    }
}
