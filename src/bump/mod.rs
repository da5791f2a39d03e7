//! Arenas: scratch memory of mixed types that is allocated by moving a pointer and freed all
//! at once, per message, per frame or per request.
//!
//! ```
//! use flatslab::bump::{Arena, Scope};
//!
//! let mut arena = Arena::new();                   // allocates nothing yet
//! let number: &mut u32 = arena.alloc(42);
//! let text: &str = arena.alloc_str("hello");
//! let row: &mut [u64] = arena.alloc_slice_fill_with(12, |index| index as u64);
//! assert_eq!((*number as usize + row.len(), text.len()), (54, 5));
//! arena.reset();                                  // O(1); keeps its chunks
//!
//! let mut root = arena.as_scope();
//! let kept = root.alloc(1_u32);                   // outlives the inner scope
//! root.scope(|scope: Scope<'_, '_>| {             // what it allocates is freed at its end
//!     let temporary = scope.alloc(2_u32);
//!     assert_eq!(*kept + *temporary, 3);
//! });
//! assert_eq!(*kept, 1);
//! ```
//!
//! # When to use it
//!
//! Use an arena for values that are created in one go and are not needed afterwards: the
//! temporaries of a message that is decoded, of a frame that is drawn, of a request. After the
//! first frame an arena does not call the allocator, because [`reset`](Arena::reset) keeps the
//! chunks.
//!
//! Values are not freed one by one. For objects with different lifetimes use a
//! [`Pool`](crate::pool::Pool) or a slab.
//!
//! # `Drop` is not run
//!
//! The references that the `alloc` methods return never drop their values: a `String` in an arena
//! leaks its buffer. If a value must be dropped, use [`boxed`](Arena::boxed), whose [`ArenaBox`]
//! drops it, or an [`ArenaVec`]. It is better to allocate texts and rows in the arena too:
//! [`alloc_str`](Arena::alloc_str), [`alloc_slice_copy`](Arena::alloc_slice_copy).
//!
//! # Which arena
//!
//! | you want | use |
//! |---|---|
//! | memory that grows by chunks | [`Arena::new`] |
//! | the same, with room for a number of bytes at construction | [`Arena::with_capacity`], or later [`reserve`](Arena::reserve) |
//! | the same, with a limit on all chunks | [`max_bytes`](Arena::builder) |
//! | one chunk, allocated and touched at construction; the allocator is never called afterwards | [`Arena::bounded`] |
//! | temporaries within temporaries | [`Arena::scope`], [`Scope`] |
//! | to return to a position by hand | [`Arena::checkpoint`] and [`Arena::rewind`], which is unsafe |
//! | collections in an arena | [`ArenaVec`], [`ArenaString`]; with the feature `allocator-api2`, `&Arena` is an allocator |
//!
//! # What it costs
//!
//! An allocation takes a handful of instructions and one branch. A value of up to 128 bytes or a
//! copy of up to 64 takes its size, aligned. Longer values and copies take a multiple of 8 bytes,
//! and so do values that are created in place or may grow in place.
//!
//! An arena is `Send`, a [`Scope`] is not, and neither is `Sync`. Dropping an arena frees its
//! chunks.
//!
//! If a bounded arena is full or a limit is reached, the methods that allocate panic. If the
//! allocator refuses, the program aborts, as with `Vec`. Their `try_` forms return an error in both
//! cases.
//!
//! Only a bounded arena touches its memory at construction. In any other, the first allocation that
//! reaches a page may fault, also after [`reserve`](Arena::reserve), unless the memory is from
//! [`Pages`](crate::memory::Pages) of the system. A reset keeps the pages.
//!
//! The first chunk takes 4 KiB. Each further chunk takes at least twice as much as the one before
//! it, or as much as a larger request needs. Requests of any size share chunks. If a request does
//! not fit the current chunk, it takes memory from the first later chunk that is large enough. The
//! rest of the current chunk, and the chunks in between, are used again after the next reset or
//! rewind.
//!
//! - *Steps.* An allocation that leaves its chunk looks at the later chunks, 42 at most and usually
//!   fewer than 16, and may request one from the allocator. Earlier frames do not slow it down.
//! - *Memory.* All chunks together have less than four times the bytes of the largest frame,
//!   including reserved bytes, headers and padding; or the bytes of a first chunk, if that is more.
//! - *Allocator calls.* A frame that repeats makes none. All frames together make one per chunk,
//!   unless [`shrink_to_fit`](Arena::shrink_to_fit) frees chunks.
//!
//! One large request among small ones shows the worst of it: it takes a chunk for itself, and the
//! next small one a chunk of twice that. Reserve the bytes of the largest frame, which then has one
//! chunk:
//!
//! ```
//! use flatslab::bump::Arena;
//!
//! const MIB: usize = 1 << 20;
//!
//! fn frame(arena: &Arena) {
//!     arena.alloc_slice_fill_with(10, |_| 0_u8);
//!     arena.alloc_layout(std::alloc::Layout::array::<u8>(16 * MIB).unwrap());
//!     arena.alloc_slice_fill_with(10, |_| 0_u8);
//! }
//!
//! let grown = Arena::new();
//! frame(&grown);                       // chunks of 4 KiB, 16 MiB and 32 MiB
//! assert_eq!((grown.chunks_allocated(), grown.allocated_bytes() / MIB), (3, 48));
//!
//! let reserved = Arena::with_capacity(16 * MIB + 4096);
//! frame(&reserved);
//! assert_eq!((reserved.chunks_allocated(), reserved.allocated_bytes() / MIB), (1, 16));
//! ```
//!
//! A limit makes chunks smaller. If the allocator refuses a chunk of the usual size, the arena asks
//! for a quarter of it, and so on, 21 times at most, down to the size that the request needs. There
//! may then be more than 42 chunks, and an allocation does not use the chunks that are further
//! away. Before a request is refused, at a limit or by the allocator, it frees the chunks that are
//! not in use, 42 at most. So after a reset only the first chunk, which is the current one, is in
//! the way of a request that a new arena could serve.
//!
//! # Coming from `bumpalo`
//!
//! | there | here |
//! |---|---|
//! | `Bump::new`, `with_capacity`, `try_with_capacity` | [`Arena::new`] and the same names |
//! | `alloc`, `alloc_with`, `alloc_try_with`, `alloc_layout`, `alloc_str` | the same, and their `try_` forms |
//! | `try_alloc_try_with`, `try_alloc_slice_try_fill_with`, `AllocOrInitError` | the same |
//! | `alloc_slice_copy`, `alloc_slice_clone`, `alloc_slice_fill_with`, `alloc_slice_try_fill_with`, `alloc_slice_fill_default` | the same |
//! | `alloc_slice_fill_copy`, `alloc_slice_fill_clone` | [`alloc_slice_fill`](Arena::alloc_slice_fill), which takes the value |
//! | `alloc_slice_fill_iter` | [`alloc_slice_iter`](Arena::alloc_slice_iter), even if the iterator does not know its length |
//! | `alloc_slice_try_fill_iter` | missing: an [`ArenaVec`], and `?` in the loop that fills it |
//! | `reset`, which keeps the last chunk | [`reset`](Arena::reset) keeps all chunks; [`shrink_to_fit`](Arena::shrink_to_fit) frees those that are not in use |
//! | `set_allocation_limit` | [`max_bytes`](Arena::builder), which counts headers too; it is set before the first chunk, so the limit is never below the memory in use |
//! | `chunk_capacity` | [`remaining`](Arena::remaining) |
//! | `allocated_bytes`, `allocated_bytes_including_metadata` | the same; [`chunks_allocated`](Arena::chunks_allocated) |
//! | `iter_allocated_chunks` | missing: a chunk is allocated from both ends, for values of any type in any order |
//! | `with_min_align` | missing: a short value takes its size, aligned, and longer ones multiples of 8 |
//! | `boxed::Box`, `leak`, `into_inner` | [`ArenaBox`] of [`boxed`](Arena::boxed), and the same names |
//! | `Box::into_raw`, `from_raw` | [`leak`](ArenaBox::leak); there is no way back to a box |
//! | `Box::pin_in` | missing: a pinned box can be forgotten, and its memory used again without its `Drop`; [`PoolBox::into_pin`](crate::pool::PoolBox::into_pin) |
//! | `Box::downcast` | missing: [`unsize!`](crate::unsize) creates boxes of trait objects |
//! | `collections::Vec`, `new_in`, `with_capacity_in`, `bumpalo::vec!` | [`ArenaVec`] and the same functions |
//! | `from_iter_in`, `collect_in` | [`collect_in`](CollectIn::collect_in) and its `try_` form; [`alloc_slice_iter`](Arena::alloc_slice_iter) |
//! | `into_bump_slice`, `into_bump_slice_mut`, `into_boxed_slice` | [`into_slice`](ArenaVec::into_slice), whose result can be used as a shared slice; [`into_boxed_slice`](ArenaVec::into_boxed_slice) |
//! | `insert`, `remove`, `swap_remove`, `retain`, `into_iter` of its `Vec` | the same, and comparisons with slices and arrays |
//! | `drain`, `dedup`, `splice`, `split_off` of its `Vec` | missing: the `Vec` of `allocator_api2` has them, in `&Arena` (feature `allocator-api2`), or the slice's own methods |
//! | `collections::String`, `into_bump_str` | [`ArenaString`], [`into_str`](ArenaString::into_str) |
//! | `bumpalo::format!` | [`alloc_fmt`](Arena::alloc_fmt), or `write!` into an [`ArenaString`] |
//! | `&Bump` as an `Allocator` | `&`[`Arena`], `&`[`Scope`], with the feature `allocator-api2` |
//! | a checkpoint, a guard that rewinds | [`Arena::scope`]; [`Arena::checkpoint`] |
//!
//! # Coming from `stumpalo`
//!
//! | there | here |
//! |---|---|
//! | `alloc`, `alloc_with`, `alloc_try_with`, `alloc_layout`, `alloc_str` | the same, and their `try_` forms |
//! | `alloc_sized_slice_copy`, `_clone`, `_fill_default`, `_fill_with` | the same: [`alloc_sized_slice_fill_default::<u64, 12>()`](Arena::alloc_sized_slice_fill_default) |
//! | `alloc_slice_copy`, `_clone`, `_fill_with`, `_fill_default`, `_try_fill_with` | the same |
//! | `alloc_slice_fill_iter`, `alloc_vec`, `alloc_boxed_slice` | [`alloc_slice_iter`](Arena::alloc_slice_iter), [`alloc_slice_from_vec`](Arena::alloc_slice_from_vec), which takes `Box::into_vec` too |
//! | `alloc_str_lit`, `alloc_slice_lit_copy` | [`alloc_str`](Arena::alloc_str), [`alloc_slice_copy`](Arena::alloc_slice_copy): a literal is `'static` already, and needs no copy |
//! | `clear`, `reset` | [`reset`](Arena::reset), which keeps all chunks; [`shrink_to_fit`](Arena::shrink_to_fit) after it frees them |
//! | `with_scope` | [`Arena::scope`], [`Scope::scope`] |
//! | `allocated_bytes`, `chunk_capacity`, `free_fresh_chunks` | [`allocated_bytes`](Arena::allocated_bytes), [`remaining`](Arena::remaining), [`shrink_to_fit`](Arena::shrink_to_fit) |

// | file | what |
// |---|---|
// | `chunks.rs` | the memory of an arena, positions in it, and the outcome of a refusal |
// | `place.rs` | placing values in that memory |
// | `arena.rs`, `scope.rs` | `Arena` and its options; `Scope` |
// | `alloc.rs` | the methods of both that allocate |
// | `boxed.rs`, `vec.rs`, `string.rs` | `ArenaBox`, `ArenaVec`, `ArenaString` |
// | `allocator.rs` | arenas as allocators of other crates' collections |

mod alloc;
#[cfg(feature = "allocator-api2")]
mod allocator;
mod arena;
mod boxed;
mod chunks;
mod place;
mod scope;
mod string;
#[cfg(test)]
mod tests;
mod vec;

pub use alloc::AllocOrInitError;
pub use arena::Arena;
pub use boxed::ArenaBox;
pub use chunks::Checkpoint;
pub use scope::Scope;
pub use string::ArenaString;
pub use vec::{ArenaVec, ArenaVecIntoIter, CollectIn, InArena};
