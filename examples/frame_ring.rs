//! Frames of 40 to 1,500 bytes that arrive in bursts, and a reader that is too slow for them:
//! a ring keeps the newest. The program counts the frames that the ring drops, and checks that the
//! allocator is not called after the ring was created.
//!
//! ```text
//! cargo run --release --example frame_ring
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use flatslab::bytes::{Buf, RequestError, Ring};

/// Counts the calls that get memory.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator, and a count.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: says the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: says the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SHORTEST: usize = 40;
const LONGEST: usize = 1_500;

/// The network: frames of random lengths, which begin with their number and their length.
struct Network {
    random: u64,
    sent: u64,
    frame: [u8; LONGEST],
}

impl Network {
    /// A random number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    fn receive(&mut self) -> &[u8] {
        let len = SHORTEST + self.below((LONGEST - SHORTEST + 1) as u64) as usize;
        self.frame[..8].copy_from_slice(&self.sent.to_le_bytes());
        self.frame[8..16].copy_from_slice(&(len as u64).to_le_bytes());
        self.frame[16..len].fill(self.sent as u8);
        self.sent += 1;
        &self.frame[..len]
    }
}

/// The word at the start of a frame, or the next one.
fn word(frame: &[u8], at: usize) -> u64 {
    let bytes = frame[8 * at..].first_chunk().expect("a frame of 40 bytes");
    u64::from_le_bytes(*bytes)
}

/// Keeps the last frames it read, as one does that puts packets together again.
#[derive(Default)]
struct Reader {
    kept: [Option<Buf>; KEPT],
    read: u64,
    missed: u64,
}

const KEPT: usize = 4;

impl Reader {
    /// Finds out from the numbers of frames what was dropped between them.
    fn read(&mut self, frame: Buf) {
        let number = word(&frame, 0);
        assert_eq!(word(&frame, 1), frame.len() as u64);
        assert!(frame[16..].iter().all(|&byte| byte == number as u8));
        self.missed = number - self.read;
        // The ring has room for these besides its entries.
        self.kept[self.read as usize % KEPT] = Some(frame);
        self.read += 1;
    }
}

fn main() -> Result<(), RequestError> {
    const ENTRIES: usize = 64;
    const BURSTS: u64 = 10_000;

    let mut ring = Ring::builder()
        .entries(ENTRIES)
        .max_len(LONGEST)
        .in_flight(KEPT)
        .build();
    let mut network = Network {
        random: 0x2545_F491_4F6C_DD1D,
        sent: 0,
        frame: [0; LONGEST],
    };
    let mut reader = Reader::default();
    let mut bytes_dropped = 0;
    println!("burst   received      read   dropped  in the ring");
    // Printed once, so that the memory of standard output is there.
    let calls = CALLS.load(Ordering::Relaxed);

    for burst in 1..=BURSTS {
        // 64 frames on average, of which 40 are read before the next burst.
        for _ in 0..network.below(129) {
            if let Some(evicted) = ring.push(network.receive())? {
                // The oldest: its number is the next that the reader will miss.
                assert!(evicted.sequence < network.sent);
                bytes_dropped += evicted.len;
            }
        }
        for _ in 0..40 {
            let Some(frame) = ring.pop() else { break };
            reader.read(frame);
        }
        if burst % (BURSTS / 10) == 0 {
            println!(
                "{burst:>5} {:>10} {:>9} {:>9} {:>12}",
                ring.pushed(),
                reader.read,
                ring.evicted(),
                ring.len()
            );
        }
    }
    while let Some(frame) = ring.pop() {
        reader.read(frame);
    }

    assert_eq!(CALLS.load(Ordering::Relaxed), calls);
    assert_eq!(ring.pushed(), network.sent);
    assert_eq!(ring.pushed(), reader.read + ring.evicted());
    // The last frame was read, so the reader knows of all that were dropped.
    assert_eq!(reader.missed, ring.evicted());
    println!("{bytes_dropped} bytes were dropped; no call of the allocator after the first line");

    assert_eq!(ring.stats().in_use(), KEPT);
    drop(reader);
    assert_eq!(ring.stats().in_use(), 0);
    println!("{}", ring.stats());
    Ok(())
}
