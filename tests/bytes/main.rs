//! Byte arenas: buffers, positions, chains and rings. Each rule that keeps `src/bytes` sound
//! has a file here.

#![cfg(feature = "arenas")]

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "a part of it is for slabs")]
#[path = "../memory/source.rs"]
mod source;

#[cfg(not(each_run))]
mod buffers;
mod chains;
mod cycles;
mod forged;
mod idle;
#[cfg(not(each_run))]
mod limits;
#[cfg(not(each_run))]
mod memory;
mod model;
mod mutable;
mod outliving;
mod positions;
mod program;
#[cfg(not(each_run))]
mod readers;
#[cfg(feature = "std")]
mod reading;
#[cfg(feature = "std")]
mod refused;
#[cfg(not(each_run))]
mod regressions;
mod rings;
mod sizes;
#[cfg(not(each_run))]
mod sources;
#[cfg(feature = "std")]
mod splitting;
#[cfg(not(each_run))]
mod stats;

use flatslab::bytes::{Buf, ByteArena};

/// A small arena: classes of 16, 32, … bytes up to one slab of `slab_size`.
fn small(slab_size: usize) -> ByteArena {
    ByteArena::builder()
        .smallest(16)
        .chunk_bytes(slab_size)
        .build()
}

/// A buffer of `len` bytes that all have the number of their owner.
fn owned_by(arena: &ByteArena, number: u8, len: usize) -> Buf {
    let mut buf = arena.try_alloc(len).unwrap();
    buf.resize(len, number).unwrap();
    buf.freeze()
}

/// Panics unless all bytes have the number of their owner.
#[track_caller]
fn expect_owner(buf: &[u8], number: u8) {
    // One comparison of memory, which takes an interpreter no longer than a few bytes.
    assert!(*buf == vec![number; buf.len()], "{number}: {buf:?}");
}

/// Shrinks an arena, and says how many chunks that gave back.
fn shrunk(arena: &ByteArena) -> u64 {
    let before = arena.stats().freed_chunks;
    arena.shrink_to_fit();
    arena.stats().freed_chunks - before
}
