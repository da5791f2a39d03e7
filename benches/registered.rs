//! Direct reads from a disk by io_uring, in batches, into a buffer of its own each: from the
//! allocator, from a byte arena, and from one whose memory is registered with the kernel. Linux.

use std::process::ExitCode;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    let _ = Arguments::of_this_process();
    println!("this bench needs io_uring of Linux; nothing to do here");
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    flatslab_benches::run::main(&linux::PLAN)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, ErrorKind};
    use std::mem::{MaybeUninit, size_of};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;
    use std::sync::Arc;

    use flatslab::bytes::{BufMut, ByteArena};
    use flatslab::memory::{Pages, Region};
    use flatslab_benches::prelude::*;
    use io_uring::{IoUring, opcode, types};
    use rand::Rng;

    pub(super) const PLAN: Plan = Plan {
        notes,
        ..plan::of(
            "registered",
            &[(256, &[4 << 10, 16 << 10, 128 << 10])],
            64,
            &[ALLOCATED],
            cases,
        )
    };

    const ALLOCATED: &str = "Vec of pages";

    /// Reads that are handed to the kernel at once.
    const BATCH: usize = 16;

    /// Timed batches of a turn, after a few that are not.
    const BATCHES: usize = 64;
    const WARM_UP: usize = 8;

    /// What the kernel asks of the address of a direct read, at most.
    const PAGE: usize = 4096;

    fn notes(_: &Arguments) -> Vec<String> {
        match is_possible() {
            Ok(()) => Vec::new(),
            Err(refusal) => vec![format!(
                "no direct reads by io_uring into registered memory here: {refusal}"
            )],
        }
    }

    /// Reads a file, and returns what refuses it: the kernel, the rules of a container, a limit of
    /// locked memory, or the file system.
    fn is_possible() -> io::Result<()> {
        Reads::<Arena<true>>::new(BATCH, PAGE)?
            .batch(&[0])
            .map(drop)
    }

    fn cases(_: &Arguments, _: usize, bytes: usize) -> Vec<Case> {
        vec![match bytes >> 10 {
            4 => case::<{ 4 << 10 }>(),
            16 => case::<{ 16 << 10 }>(),
            _ => case::<{ 128 << 10 }>(),
        }]
    }

    fn case<const BYTES: usize>() -> Case {
        macro_rules! entry {
            ($subject:expr, $buffers:ty) => {
                Entry {
                    subject: $subject,
                    check: check::<$buffers, BYTES>,
                    turn: turn::<$buffers, BYTES>,
                }
            };
        }
        let entries = vec![
            entry!(ALLOCATED, Allocated),
            entry!("ByteArena", Arena<false>),
            entry!("ByteArena, registered", Arena<true>),
        ];
        let columns = const { &[Column::Value(Metric::Ticks), Column::Ratio(ALLOCATED)] };
        Case::of(&["SUBMIT", "READ"], 21, columns, entries)
    }

    /// Where the buffers of reads are from.
    trait Buffers: Sized {
        type Buffer;

        /// Prepares buffers of `bytes` bytes for one batch.
        fn new(ring: &IoUring, bytes: usize) -> io::Result<Self>;

        fn buffer(&self) -> Self::Buffer;

        /// The room of a new buffer.
        fn room(buffer: &mut Self::Buffer) -> &mut [MaybeUninit<u8>];

        /// Whether the memory of all buffers is registered with the kernel.
        const IS_REGISTERED: bool = false;

        /// A read into that room, which is not longer than 4 GiB.
        fn entry(file: &File, room: &mut [MaybeUninit<u8>], at: u64) -> io_uring::squeue::Entry {
            let (start, bytes) = (room.as_mut_ptr().cast(), room.len() as u32);
            let file = types::Fd(file.as_raw_fd());
            match Self::IS_REGISTERED {
                true => opcode::ReadFixed::new(file, start, bytes, 0)
                    .offset(at)
                    .build(),
                false => opcode::Read::new(file, start, bytes).offset(at).build(),
            }
        }
    }

    /// A page of a buffer from the allocator, which aligns it.
    #[repr(align(4096))]
    struct Page {
        _bytes: [u8; PAGE],
    }

    struct Allocated {
        pages: usize,
    }

    impl Buffers for Allocated {
        type Buffer = Vec<Page>;

        fn new(_: &IoUring, bytes: usize) -> io::Result<Self> {
            Ok(Allocated {
                pages: bytes / PAGE,
            })
        }

        fn buffer(&self) -> Vec<Page> {
            Vec::with_capacity(self.pages)
        }

        fn room(buffer: &mut Vec<Page>) -> &mut [MaybeUninit<u8>] {
            let pages = buffer.spare_capacity_mut();
            let (start, bytes) = (pages.as_mut_ptr(), size_of_val(pages));
            // SAFETY: the bytes of these pages, none of which need be initialised.
            unsafe { std::slice::from_raw_parts_mut(start.cast(), bytes) }
        }
    }

    struct Arena<const REGISTERED: bool> {
        arena: ByteArena,
        bytes: usize,
    }

    impl<const REGISTERED: bool> Buffers for Arena<REGISTERED> {
        type Buffer = BufMut;
        const IS_REGISTERED: bool = REGISTERED;

        fn new(ring: &IoUring, bytes: usize) -> io::Result<Self> {
            // The buffers, and what the arena needs for itself.
            let region = Region::try_new(BATCH * bytes + (1 << 20), Pages::new());
            let region = Arc::new(region.map_err(io::Error::other)?);
            let arena = ByteArena::builder()
                .smallest(bytes)
                .largest(bytes)
                .chunk_bytes(BATCH * bytes)
                .pages(region.pages())
                .try_build()
                .map_err(io::Error::other)?;
            if REGISTERED {
                let block = libc::iovec {
                    iov_base: region.start().as_ptr().cast(),
                    iov_len: region.len(),
                };
                // SAFETY: the kernel keeps the pages; the arena keeps the region, and `Reads` drops
                // the ring first.
                unsafe { ring.submitter().register_buffers(&[block])? };
            }
            Ok(Arena { arena, bytes })
        }

        fn buffer(&self) -> BufMut {
            self.arena.alloc(self.bytes)
        }

        fn room(buffer: &mut BufMut) -> &mut [MaybeUninit<u8>] {
            buffer.spare_capacity_mut()
        }
    }

    /// A file of numbered blocks, and a ring.
    struct Reads<B: Buffers> {
        ring: IoUring,
        file: File,
        buffers: B,
        bytes: usize,
    }

    /// Ticks of a batch: until the kernel had its reads, and until it had completed them.
    struct Ticks {
        submit: u64,
        read: u64,
    }

    impl<B: Buffers> Reads<B> {
        fn new(blocks: usize, bytes: usize) -> io::Result<Self> {
            let ring = IoUring::new(BATCH as u32)?;
            Ok(Reads {
                file: numbered_file(blocks * bytes)?,
                buffers: B::new(&ring, bytes)?,
                ring,
                bytes,
            })
        }

        /// Reads these blocks at once, each into a new buffer, and checks their numbers.
        fn batch(&mut self, blocks: &[u64]) -> io::Result<Ticks> {
            let (bytes, begun) = (self.bytes as u64, clock::start());
            let mut buffers: Vec<_> = blocks.iter().map(|_| self.buffers.buffer()).collect();
            for (buffer, block) in buffers.iter_mut().zip(blocks) {
                let entry = B::entry(&self.file, B::room(buffer), block * bytes);
                // SAFETY: `wait` returns once the kernel has completed all reads, or ends the
                // process; until then no one uses the buffers.
                unsafe { self.ring.submission().push(&entry) }.expect("a batch fits");
            }
            let submitted = self.ring.submit();
            let submit = clock::stop() - begun;
            self.wait(blocks.len());
            let read = clock::stop() - begun;
            submitted?;
            for entry in self.ring.completion() {
                if entry.result() != bytes as i32 {
                    let error = u32::try_from(entry.result()).map_or_else(
                        |_| io::Error::from_raw_os_error(-entry.result()),
                        |_| ErrorKind::UnexpectedEof.into(),
                    );
                    return Err(error);
                }
            }
            for (buffer, block) in buffers.iter_mut().zip(blocks) {
                for (page, of_page) in (block * bytes..)
                    .step_by(PAGE)
                    .zip(B::room(buffer).chunks(PAGE))
                {
                    // SAFETY: the kernel has written the whole buffer.
                    let number: [u8; 8] =
                        std::array::from_fn(|at| unsafe { of_page[at].assume_init() });
                    assert_eq!(u64::from_le_bytes(number), page, "another page");
                }
            }
            Ok(Ticks { submit, read })
        }

        /// Waits until the kernel has completed so many reads.
        fn wait(&self, reads: usize) {
            loop {
                match self.ring.submit_and_wait(reads) {
                    Ok(_) => return,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // It may write to the buffers at any time.
                    Err(_) => std::process::abort(),
                }
            }
        }
    }

    /// A file of at least so many bytes, on the disk that has the build. At the start of each of its
    /// pages is its place.
    fn numbered_file(bytes: usize) -> io::Result<File> {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("numbered_pages");
        if fs::metadata(&path).map_or(0, |it| it.len()) < bytes as u64 {
            let mut content = vec![0; bytes];
            for (at, page) in content.chunks_mut(PAGE).enumerate() {
                let place = (at * PAGE) as u64;
                page[..size_of::<u64>()].copy_from_slice(&place.to_le_bytes());
            }
            fs::write(&path, content)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECT).open(&path)
    }

    /// Reads every block of a file.
    fn check<B: Buffers, const BYTES: usize>() -> Result<(), String> {
        if is_possible().is_err() {
            return Ok(()); // which is noted
        }
        let blocks: Vec<u64> = (0..4 * BATCH as u64).collect();
        let mut reads = Reads::<B>::new(blocks.len(), BYTES).map_err(|it| it.to_string())?;
        for batch in blocks.chunks(BATCH) {
            reads.batch(batch).map_err(|it| it.to_string())?;
        }
        Ok(())
    }

    /// Times batches of reads of random blocks.
    fn turn<B: Buffers, const BYTES: usize>(mut setting: Setting) -> Turn {
        if is_possible().is_err() {
            return [Measured::default(), Measured::default()].into();
        }
        let mut reads = Reads::<B>::new(setting.live, BYTES).expect("it was possible before");
        let (mut submit, mut read) = (Vec::new(), Vec::new());
        for batch in 0..WARM_UP + BATCHES {
            let blocks = [(); BATCH].map(|()| setting.random.random_range(0..setting.live as u64));
            let ticks = reads.batch(&blocks).expect("it was possible before");
            if batch >= WARM_UP {
                submit.push(ticks.submit as f64 / BATCH as f64);
                read.push(ticks.read as f64 / BATCH as f64);
            }
        }
        [submit, read].map(Measured::from).into()
    }
}
