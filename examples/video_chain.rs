//! A clip of 10 MB as a chain of chunks: one chunk in the middle is replaced while the others
//! stay where they are, and all of them are written to a file by vectored output.
//!
//! ```text
//! cargo run --release --example video_chain
//! ```

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::path::PathBuf;

use flatslab::bytes::{Buf, ByteArena};

const CLIP: usize = 10_000_000;
const CHUNK: usize = 1 << 16;

/// Bytes that differ from chunk to chunk.
fn clip() -> Vec<u8> {
    (0..CLIP as u32).map(|at| (at ^ at >> 11) as u8).collect()
}

/// A chain of these bytes, in chunks of 64 KiB. It is linked from its end: the link of a buffer
/// can be set while that has one reference.
fn chain_of(arena: &ByteArena, bytes: &[u8]) -> Result<Buf, Box<dyn Error>> {
    let mut chain: Option<Buf> = None;
    for chunk in bytes.chunks(CHUNK).rev() {
        let mut buf = arena.try_copy(chunk)?;
        if let Some(next) = chain {
            buf.set_next(next)?;
        }
        chain = Some(buf);
    }
    chain.ok_or_else(|| "there are no bytes".into())
}

/// Replaces the buffer that is so many links after the first: what follows it is linked to the
/// new one.
fn replace(chain: &mut Buf, number: usize, mut new: Buf) -> Result<Buf, Box<dyn Error>> {
    let mut link = chain;
    for _ in 0..number {
        link = link.next_mut()?.ok_or("the chain ends before")?;
    }
    if let Some(rest) = link.take_next()? {
        new.set_next(rest)?;
    }
    Ok(std::mem::replace(link, new))
}

/// Writes all bytes of a chain, without a copy. An output may take any number of bytes at once,
/// so a chunk may be left with its end alone.
fn write_all(output: &mut impl Write, chain: &Buf) -> io::Result<usize> {
    let mut slices: Vec<IoSlice<'_>> = chain.parts().map(IoSlice::new).collect();
    let (mut rest, mut calls) = (&mut slices[..], 0);
    while !rest.is_empty() {
        match output.write_vectored(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut rest, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        calls += 1;
    }
    Ok(calls)
}

/// A file that is removed in the end, also after an error.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut bytes = clip();
    let arena = ByteArena::new();
    let mut chain = chain_of(&arena, &bytes)?;
    let chunks = chain.parts().count();
    println!("{} bytes in {chunks} chunks", chain.chain_len());

    let before: Vec<*const u8> = chain.parts().map(<[u8]>::as_ptr).collect();
    let middle = chunks / 2;
    let old = replace(&mut chain, middle, arena.try_copy(&[0; CHUNK])?)?;
    assert_eq!(*old, bytes[middle * CHUNK..][..CHUNK]);
    // It kept none of those that followed it.
    assert!(old.next_ref().is_none());
    bytes[middle * CHUNK..][..CHUNK].fill(0);
    for (number, (part, before)) in chain.parts().zip(before).enumerate() {
        assert_eq!(part.as_ptr() == before, number != middle);
    }
    println!(
        "chunk {middle} is replaced, {} are where they were",
        chunks - 1
    );

    let name = format!("flatslab-video-chain-{}", std::process::id());
    let file = Temporary(std::env::temp_dir().join(name));
    let calls = write_all(&mut File::create(&file.0)?, &chain)?;
    assert!(fs::read(&file.0)? == bytes);
    println!("written in {calls} calls, and read back");

    // A chain of any length is dropped without recursion.
    drop((chain, old));
    assert_eq!(arena.stats().in_use(), 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes 1,000 bytes of the first slice at most, and is interrupted now and then.
    struct Slow {
        taken: Vec<u8>,
        calls: usize,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            if self.calls % 7 == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
            let given = bytes.len().min(1_000);
            self.taken.extend_from_slice(&bytes[..given]);
            Ok(given)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_output_that_takes_parts_of_chunks_gets_all_bytes() {
        let bytes = clip();
        let chain = chain_of(&ByteArena::new(), &bytes).unwrap();
        let (taken, calls) = (Vec::new(), 0);
        let mut slow = Slow { taken, calls };
        write_all(&mut slow, &chain).unwrap();
        assert!(slow.taken == bytes);
    }
}
