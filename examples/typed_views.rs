//! Market data in buffers: messages are written as structs, read where they are, and noted in a
//! table by their positions. Nothing is parsed, and nothing copied after the first time.
//!
//! `cargo run --release --example typed_views --features zerocopy`

use std::collections::BTreeMap;
use std::error::Error;

use flatslab::bytes::{Buf, ByteArena, Loc};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What each packet begins with. Numbers of a fixed byte order have an alignment of 1, so the
/// struct has no padding and may stand anywhere.
#[derive(Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Header {
    sequence: U64,
    updates: U32,
}

/// One of the updates that follow.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Update {
    instrument: U32,
    price: U32,
    quantity: U32,
}

/// Statistics in the byte order of the machine: aligned to 8, as every chunk is.
#[derive(Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Totals {
    updates: u64,
    quantity: u64,
    average_price: f64,
}

/// A packet as the exchange would send it.
fn packet(arena: &ByteArena, sequence: u64) -> Result<Buf, Box<dyn Error>> {
    let count = sequence as u32 % 4 + 1;
    let size = size_of::<Header>() + count as usize * size_of::<Update>();
    let mut buf = arena.try_alloc(size)?;
    buf.extend_from_value(&Header {
        sequence: sequence.into(),
        updates: count.into(),
    })?;
    for index in 0..count {
        buf.extend_from_value(&Update {
            instrument: (index % 3).into(),
            price: (10_000 + sequence as u32 % 50).into(),
            quantity: (10 * (index + 1)).into(),
        })?;
    }
    Ok(buf.freeze())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arena = ByteArena::new();
    let mut totals = arena.try_alloc_zeroed(size_of::<Totals>())?;
    // The last update of each instrument: where it is, not what it says.
    let mut last: BTreeMap<u32, Loc> = BTreeMap::new();

    for sequence in 0..1000 {
        let packet = packet(&arena, sequence)?;
        let (header, _) = packet.view_prefix::<Header>()?;
        assert_eq!(header.sequence.get(), sequence);

        let body = packet.slice(size_of::<Header>()..);
        let updates = body.view_slice::<Update>()?;
        assert_eq!(updates.len(), header.updates.get() as usize);

        let sums = totals.view_mut::<Totals>()?;
        for (index, update) in updates.iter().enumerate() {
            sums.updates += 1;
            sums.quantity += u64::from(update.quantity.get());
            let price = f64::from(update.price.get());
            sums.average_price += (price - sums.average_price) / sums.updates as f64;

            let size = size_of::<Update>();
            let bytes = body.slice(index * size..(index + 1) * size);
            // The position keeps the packet; the one that was noted before gives its up.
            if let Some(before) = last.insert(update.instrument.get(), bytes.into_loc()) {
                arena.release(before)?;
            }
        }
    }

    println!("{:?}", totals.view_mut::<Totals>()?);
    for (instrument, &loc) in &last {
        let bytes = arena.resolve(loc)?;
        let update = bytes.view::<Update>()?;
        println!(
            "instrument {instrument}: {} at {}",
            update.quantity.get(),
            update.price.get()
        );
        assert_eq!(update.instrument.get(), *instrument);
    }
    let sums = totals.view_mut::<Totals>()?;
    assert_eq!((sums.updates, sums.quantity), (2500, 50_000));
    // The last packet had updates of all instruments, so it alone is kept, with the totals.
    assert_eq!(arena.stats().in_use(), 2);
    println!("buffers in use: {}", arena.stats().in_use());
    Ok(())
}
