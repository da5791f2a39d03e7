//! What must not compile of byte arenas, each next to its twin that does.
//!
//! # Nothing that counts references goes to another thread, unless they are atomic
//!
//! ```
//! fn local<T>() {}
//! local::<flatslab::bytes::ByteArena>();
//! local::<flatslab::bytes::Buf>();
//! local::<flatslab::bytes::BufMut>();
//! local::<flatslab::bytes::Ring>();
//! local::<flatslab::bytes::Parts<'static>>();
//! local::<flatslab::bytes::LinkError>();
//! fn both<T: Send + Sync>() {}
//! both::<flatslab::bytes::Loc>();
//! both::<flatslab::bytes::Stats>();
//! both::<flatslab::bytes::ClassStats>();
//! both::<flatslab::bytes::Evicted>();
//! both::<flatslab::bytes::RequestError>();
//! both::<flatslab::bytes::LocError>();
//! both::<flatslab::SizeError>();
//! both::<flatslab::bytes::SharedError>();
//! both::<flatslab::Builder<flatslab::bytes::ByteArena>>();
//! both::<flatslab::Builder<flatslab::bytes::Ring>>();
//! use flatslab::bytes::Atomic;
//! both::<flatslab::bytes::Buf<Atomic>>();
//! both::<flatslab::bytes::BufMut<Atomic>>();
//! both::<flatslab::bytes::Parts<'static, Atomic>>();
//! both::<flatslab::bytes::LinkError<Atomic>>();
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::ByteArena<Atomic>>();
//! send::<flatslab::bytes::Ring<Atomic>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::ByteArena>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bytes::ByteArena>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::Buf>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bytes::Buf>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::BufMut>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bytes::BufMut>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::Ring>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bytes::Ring>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::Parts<'static>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::LinkError>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bytes::ByteArena<flatslab::bytes::Atomic>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bytes::Ring<flatslab::bytes::Atomic>>();
//! ```
//!
//! # A buffer stays with its kind of counts
//!
//! ```
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut head = arena.copy(b"head");
//! head.set_next(arena.copy(b"tail")).unwrap();
//! ```
//!
//! ```compile_fail,E0308
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut head = arena.copy(b"head");
//! head.set_next(flatslab::bytes::ByteArena::atomic().copy(b"tail")).unwrap();
//! ```
//!
//! There are no positions of buffers that other threads count.
//!
//! ```
//! let loc = flatslab::bytes::ByteArena::new().copy(b"hello").try_loc();
//! ```
//!
//! ```compile_fail,E0599
//! let loc = flatslab::bytes::ByteArena::atomic().copy(b"hello").try_loc();
//! ```
//!
//! # A link does not change while the chain is read
//!
//! ```
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let parts = head.parts();
//! assert_eq!(parts.count(), 2);
//! head.set_next(other).unwrap();
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let parts = head.parts();
//! head.set_next(other).unwrap();
//! assert_eq!(parts.count(), 2);
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let part = head.parts().nth(1).unwrap();
//! drop(head.take_next());
//! assert_eq!(part, b"2");
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let next = head.next_ref();
//! drop(head.next_mut());
//! assert!(next.is_some());
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let next = head.next_ref();
//! drop(head);
//! assert!(next.is_some());
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let parts = head.parts();
//! drop(head);
//! assert_eq!(parts.count(), 2);
//! ```
//!
//! # A borrowed link is borrowed from one head
//!
//! ```
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! *head.next_mut().unwrap().unwrap() = other;
//! let shared = head.clone();
//! assert_eq!(shared.chain_len(), 2);
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let link = head.next_mut().unwrap().unwrap();
//! let shared = head.clone();
//! *link = other;
//! assert_eq!(shared.chain_len(), 2);
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let link = head.next_mut().unwrap().unwrap();
//! *link = head;
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it));
//! head.set_next(next).unwrap();
//! let link = head.next_mut().unwrap().unwrap();
//! let loc = head.into_loc();
//! assert!(link.is_unique());
//! ```
//!
//! # Bytes are read as long as their buffer is there, and not while they are written
//!
//! ```
//! let arena = flatslab::bytes::ByteArena::new();
//! let buf = arena.copy(b"hello");
//! let bytes = &buf[1..];
//! assert_eq!(bytes, b"ello");
//! drop(buf.try_into_mut());
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let buf = arena.copy(b"hello");
//! let bytes = &buf[1..];
//! drop(buf.try_into_mut());
//! assert_eq!(bytes, b"ello");
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let buf = arena.copy(b"hello");
//! let bytes = &buf[1..];
//! buf.release();
//! assert_eq!(bytes, b"ello");
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut buf = arena.alloc_zeroed(5);
//! let bytes = &buf[1..];
//! buf.extend_from_slice(b"more").unwrap();
//! assert_eq!(bytes, [0; 4]);
//! ```
//!
//! ```compile_fail,E0594
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut buf = arena.copy(b"hello");
//! buf[0] = b'H';
//! ```
//!
//! # Entries of a ring are borrowed from it
//!
//! ```
//! let mut ring = flatslab::bytes::Ring::with_capacity(1, 8);
//! ring.push(b"hello").unwrap();
//! let entry = ring.get(0).unwrap().clone();
//! ring.push(b"again").unwrap();
//! assert_eq!(entry, *b"hello");
//! ```
//!
//! ```compile_fail,E0502
//! let mut ring = flatslab::bytes::Ring::with_capacity(1, 8);
//! ring.push(b"hello").unwrap();
//! let entry = ring.get(0).unwrap();
//! ring.push(b"again").unwrap();
//! assert_eq!(*entry, *b"hello");
//! ```
//!
//! ```compile_fail,E0502
//! let mut ring = flatslab::bytes::Ring::with_capacity(1, 8);
//! let arena = ring.arena();
//! ring.push(b"again").unwrap();
//! arena.shrink_to_fit();
//! ```
