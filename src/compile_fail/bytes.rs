//! What must not compile of byte arenas, each next to its twin that does.
//!
//! # Nothing that counts references goes to another thread
//!
//! ```
//! fn local<T>() {}
//! local::<flatslab::bytes::ByteArena>();
//! local::<flatslab::bytes::Buf>();
//! local::<flatslab::bytes::BufMut>();
//! local::<flatslab::bytes::Ring>();
//! local::<flatslab::bytes::Parts<'static>>();
//! local::<flatslab::bytes::NotLinked>();
//! local::<flatslab::bytes::SlabRing<std::rc::Rc<u8>>>();
//! fn both<T: Send + Sync>() {}
//! both::<flatslab::bytes::Loc>();
//! both::<flatslab::bytes::Stats>();
//! both::<flatslab::bytes::ClassStats>();
//! both::<flatslab::bytes::Trimmed>();
//! both::<flatslab::bytes::Evicted>();
//! both::<flatslab::bytes::RequestError>();
//! both::<flatslab::bytes::LocError>();
//! both::<flatslab::bytes::NoRoom>();
//! both::<flatslab::bytes::Shared>();
//! both::<flatslab::bytes::SlabRing<u8>>();
//! both::<flatslab::bytes::ByteArenaBuilder>();
//! both::<flatslab::bytes::RingBuilder>();
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::SlabRing<std::cell::Cell<u8>>>();
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
//! send::<flatslab::bytes::NotLinked>();
//! ```
//!
//! ```compile_fail,E0277
//! fn send<T: Send>() {}
//! send::<flatslab::bytes::SlabRing<std::rc::Rc<u8>>>();
//! ```
//!
//! ```compile_fail,E0277
//! fn sync<T: Sync>() {}
//! sync::<flatslab::bytes::SlabRing<std::cell::Cell<u8>>>();
//! ```
//!
//! # A link does not change while the chain is read
//!
//! ```
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! let parts = head.parts();
//! assert_eq!(parts.count(), 2);
//! head.set_next(other).unwrap();
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! let parts = head.parts();
//! head.set_next(other).unwrap();
//! assert_eq!(parts.count(), 2);
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! let part = head.parts().nth(1).unwrap();
//! drop(head.take_next());
//! assert_eq!(part, b"2");
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! let next = head.next_ref();
//! drop(head.next_mut());
//! assert!(next.is_some());
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! let next = head.next_ref();
//! drop(head);
//! assert!(next.is_some());
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it).unwrap());
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
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! *head.next_mut().unwrap().unwrap() = other;
//! let shared = head.clone();
//! assert_eq!(shared.chain_len(), 2);
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next, other] = [b"1", b"2", b"3"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! let link = head.next_mut().unwrap().unwrap();
//! let shared = head.clone();
//! *link = other;
//! assert_eq!(shared.chain_len(), 2);
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it).unwrap());
//! head.set_next(next).unwrap();
//! let link = head.next_mut().unwrap().unwrap();
//! *link = head;
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let [mut head, next] = [b"1", b"2"].map(|it| arena.copy(it).unwrap());
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
//! let buf = arena.copy(b"hello").unwrap();
//! let bytes = &buf[1..];
//! assert_eq!(bytes, b"ello");
//! drop(buf.try_into_mut());
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let buf = arena.copy(b"hello").unwrap();
//! let bytes = &buf[1..];
//! drop(buf.try_into_mut());
//! assert_eq!(bytes, b"ello");
//! ```
//!
//! ```compile_fail,E0505
//! let arena = flatslab::bytes::ByteArena::new();
//! let buf = arena.copy(b"hello").unwrap();
//! let bytes = &buf[1..];
//! buf.release();
//! assert_eq!(bytes, b"ello");
//! ```
//!
//! ```compile_fail,E0502
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut buf = arena.alloc_zeroed(5).unwrap();
//! let bytes = &buf[1..];
//! buf.extend_from_slice(b"more").unwrap();
//! assert_eq!(bytes, [0; 4]);
//! ```
//!
//! ```compile_fail,E0594
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut buf = arena.copy(b"hello").unwrap();
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
//! drop(arena.trim());
//! ```
//!
//! # Values of a ring may not outlive what they borrow
//!
//! ```
//! let text = String::from("text");
//! let mut ring = flatslab::bytes::SlabRing::with_capacity(1);
//! ring.push(text.as_str());
//! // It only owns, so it may be shortened.
//! fn shorter<'a>(ring: flatslab::bytes::SlabRing<&'static str>) -> flatslab::bytes::SlabRing<&'a str> { ring }
//! ```
//!
//! ```compile_fail,E0597
//! let mut ring = flatslab::bytes::SlabRing::with_capacity(1);
//! let text = String::from("text");
//! ring.push(text.as_str());
//! ```
