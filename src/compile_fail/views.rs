//! # What is viewed in a buffer is any bytes
//!
//! Numbers in a row are.
//!
//! ```
//! use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
//!
//! #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
//! #[repr(C)]
//! struct Level { price: u32, quantity: u32 }
//!
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut buf = arena.alloc(size_of::<Level>());
//! buf.extend_from_value(&Level { price: 7, quantity: 8 }).unwrap();
//! buf.view_mut::<Level>().unwrap().quantity += 1;
//! let buf = buf.freeze();
//! let level = buf.view::<Level>().unwrap();
//! assert_eq!((level.price, level.quantity), (7, 9));
//! ```
//!
//! A struct with padding has bytes that are not initialised, which must not be written to a
//! buffer.
//!
//! ```compile_fail,E0277
//! use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
//!
//! #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
//! #[repr(C)]
//! struct Level { price: u32, quantity: u64 }
//! ```
//!
//! It may be read, but neither written nor changed in place.
//!
//! ```
//! use zerocopy::{FromBytes, Immutable, KnownLayout};
//!
//! #[derive(FromBytes, KnownLayout, Immutable)]
//! #[repr(C)]
//! struct Level { price: u32, quantity: u64 }
//!
//! let arena = flatslab::bytes::ByteArena::new();
//! let buf = arena.alloc_zeroed(size_of::<Level>());
//! assert_eq!(buf.freeze().view::<Level>().unwrap().price, 0);
//! ```
//!
//! ```compile_fail,E0277
//! # use zerocopy::{FromBytes, Immutable, KnownLayout};
//! # #[derive(FromBytes, KnownLayout, Immutable)]
//! # #[repr(C)]
//! # struct Level { price: u32, quantity: u64 }
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut buf = arena.alloc_zeroed(size_of::<Level>());
//! buf.view_mut::<Level>().unwrap().price = 1;
//! ```
//!
//! ```compile_fail,E0277
//! # use zerocopy::{FromBytes, Immutable, KnownLayout};
//! # #[derive(FromBytes, KnownLayout, Immutable)]
//! # #[repr(C)]
//! # struct Level { price: u32, quantity: u64 }
//! let arena = flatslab::bytes::ByteArena::new();
//! let mut buf = arena.alloc(size_of::<Level>());
//! buf.extend_from_value(&Level { price: 7, quantity: 8 }).unwrap();
//! ```
//!
//! A pointer or a reference is not any bytes, nor is a `bool`.
//!
//! ```compile_fail,E0277
//! use zerocopy::{FromBytes, Immutable, KnownLayout};
//!
//! #[derive(FromBytes, KnownLayout, Immutable)]
//! #[repr(C)]
//! struct Node { next: *const u8 }
//! ```
//!
//! ```compile_fail,E0277
//! use zerocopy::{FromBytes, Immutable, KnownLayout};
//!
//! #[derive(FromBytes, KnownLayout, Immutable)]
//! #[repr(C)]
//! struct Node { name: &'static str }
//! ```
//!
//! ```compile_fail,E0277
//! use zerocopy::{FromBytes, Immutable, KnownLayout};
//!
//! #[derive(FromBytes, KnownLayout, Immutable)]
//! #[repr(C)]
//! struct Flag { set: bool }
//! ```
