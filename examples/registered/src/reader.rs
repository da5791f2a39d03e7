//! Reading a file through registered buffers.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

use flatslab::bytes::{Buf, BufMut, ByteArena};
use flatslab::memory::{Pages, Region};
use flatslab::{Key, KeySlab};
use io_uring::{IoUring, cqueue, opcode, types};

/// Reads at the same time.
const DEPTH: u32 = 8;

/// Bytes of a read.
const BLOCK: usize = 16 << 10;

/// Bytes of the region: room for the reads, and for the arena's own tables.
const REGION: usize = 4 << 20;

/// Reads a file, or one that it writes, and returns what to print: how many bytes it read, or that
/// the kernel refuses.
///
/// # Errors
///
/// If the file cannot be written or read, or if a usual read finds other bytes.
pub(crate) fn run(path: Option<PathBuf>) -> io::Result<String> {
    let written = path.is_none();
    let path = match path {
        Some(path) => path,
        None => write_a_file()?,
    };
    let result = File::open(&path).and_then(|file| {
        // The locals are dropped in reverse: the ring, which waits for its reads, then the memory
        // and the file, which the kernel must not use any more.
        let (region, arena) = arena()?;
        let ring = match ring(&region) {
            Ok(ring) => ring,
            Err(error) => return Ok(Err(error)),
        };
        let pending = KeySlab::with_capacity(DEPTH as usize);
        let mut reads = Reads { pending, ring };
        reads.read_all(&file, &arena).map(Ok)
    });
    let expected = fs::read(&path);
    if written {
        fs::remove_file(&path)?;
    }
    let read = match result? {
        Ok(read) => read,
        Err(refusal) => return Ok(format!("io_uring is not available here: {refusal}")),
    };
    if read.sum != expected?.into_iter().fold(0, add) {
        return Err(io::Error::other("the file differs from what was read"));
    }
    Ok(format!(
        "{} bytes in {} reads, into a region of {REGION} bytes that was registered once",
        read.bytes, read.reads
    ))
}

/// Writes four million bytes to a temporary file.
fn write_a_file() -> io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("registered-{}", std::process::id()));
    let bytes: Vec<u8> = (0..4_000_001_u32).map(|n| (n ^ (n >> 9)) as u8).collect();
    fs::write(&path, bytes)?;
    Ok(path)
}

/// Adds a byte to a sum that depends on the order of the bytes.
fn add(sum: u64, byte: u8) -> u64 {
    (sum.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What was read.
#[derive(Default)]
struct Read {
    bytes: u64,
    reads: u64,
    sum: u64,
}

/// A read that the kernel has not completed: its buffer, and where in the file it begins.
struct Pending {
    buf: BufMut,
    at: u64,
}

/// The reads that the kernel has, and the ring through which it gets them.
struct Reads {
    ring: IoUring,
    pending: KeySlab<Pending>,
}

impl Reads {
    /// Reads the whole file, several blocks at once. Blocks are added up in order.
    fn read_all(&mut self, file: &File, arena: &ByteArena) -> io::Result<Read> {
        let length = file.metadata()?.len();
        let mut read = Read::default();
        let mut next = 0;
        // Blocks that were completed before the one in front of them.
        let mut early: Vec<(u64, Buf)> = Vec::new();
        while read.bytes < length {
            while next < length && self.pending.len() < DEPTH as usize {
                let Ok(buf) = arena.try_alloc(BLOCK) else {
                    break; // the blocks that came early have them
                };
                self.start(file, buf, next)?;
                next += BLOCK as u64;
            }
            if self.pending.is_empty() {
                return Err(ErrorKind::OutOfMemory.into());
            }
            self.wait()?;
            for done in self.completed() {
                let Pending { buf, at } = done?;
                read.reads += 1;
                if buf.len() as u64 != (length - at).min(BLOCK as u64) {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                early.push((at, buf.freeze()));
            }
            while let Some(found) = early.iter().position(|&(at, _)| at == read.bytes) {
                let (_, block) = early.swap_remove(found);
                read.sum = block.iter().copied().fold(read.sum, add);
                read.bytes += block.len() as u64;
            }
        }
        Ok(read)
    }

    /// Starts a read of a block into a buffer.
    fn start(&mut self, file: &File, mut buf: BufMut, at: u64) -> io::Result<()> {
        let room = buf.spare_capacity_mut();
        let (start, length) = (room.as_mut_ptr().cast(), BLOCK.min(room.len()) as u32);
        let key = self.pending.insert(Pending { buf, at });
        // The only registered block is number 0; the address says where in it.
        let entry = opcode::ReadFixed::new(types::Fd(file.as_raw_fd()), start, length, 0)
            .offset(at)
            .build()
            .user_data(key.into_raw().into());
        // SAFETY: the buffer stays in `pending`, and is not used, until the kernel has completed the
        // read: `drop` waits for that. Until then `run` keeps the file open and the region.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.pending.remove(key);
            return Err(io::Error::other("more reads than the ring has entries"));
        }
        Ok(())
    }

    /// Hands the reads to the kernel, and waits until one of them is completed.
    fn wait(&self) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                submitted => return submitted.map(drop),
            }
        }
    }

    /// Takes the reads that are completed, with as many bytes as the kernel has written.
    fn completed(&mut self) -> Vec<io::Result<Pending>> {
        let Reads { ring, pending } = self;
        let take = |entry: cqueue::Entry| {
            let mut read = pending.remove(Key::from_raw(entry.user_data() as u32));
            let bytes = usize::try_from(entry.result())
                .map_err(|_| io::Error::from_raw_os_error(-entry.result()))?;
            // SAFETY: the kernel has written so many bytes, from the start of the buffer on.
            unsafe { read.buf.set_len(bytes) };
            Ok(read)
        };
        ring.completion().map(take).collect()
    }
}

/// Waits for the reads that the kernel still has: it must not write to buffers that are free.
impl Drop for Reads {
    fn drop(&mut self) {
        while !self.pending.is_empty() {
            if self.wait().is_err() {
                // The kernel may write to them at any time.
                std::process::abort();
            }
            self.completed();
        }
    }
}

/// Builds an arena in a region of its own.
fn arena() -> io::Result<(Arc<Region>, ByteArena)> {
    let region = Region::try_new(REGION, Pages::new()).map_err(io::Error::other)?;
    let region = Arc::new(region);
    let arena = ByteArena::builder().smallest(BLOCK).largest(BLOCK);
    let arena = arena.chunk_bytes(32 * BLOCK).pages(region.pages());
    let arena = arena.try_build().map_err(io::Error::other)?;
    Ok((region, arena))
}

/// Creates a ring, and tells the kernel where the region is.
///
/// # Errors
///
/// If the kernel has no io_uring, forbids it, or does not let this process pin so many pages.
fn ring(region: &Region) -> io::Result<IoUring> {
    let ring = IoUring::new(DEPTH)?;
    let block = libc::iovec {
        iov_base: region.start().as_ptr().cast(),
        iov_len: region.len(),
    };
    // SAFETY: `run` keeps the region until the ring is gone.
    unsafe { ring.submitter().register_buffers(&[block])? };
    Ok(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_any_length_is_read_as_a_usual_read_finds_it() {
        for bytes in [0, 1, BLOCK, BLOCK + 1, 3_000_000] {
            let name = format!("registered-test-{}-{bytes}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let content: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
            fs::write(&path, content).unwrap();
            let line = run(Some(path.clone())).unwrap();
            fs::remove_file(&path).unwrap();
            let blocks = bytes.div_ceil(BLOCK);
            assert!(
                line.starts_with(&format!("{bytes} bytes in {blocks} reads"))
                    || line.starts_with("io_uring is not available"),
                "{line}"
            );
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        let error = run(Some("no such file".into())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
