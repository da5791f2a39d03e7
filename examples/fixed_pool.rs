//! Firmware without a heap: a node on a bus, whose frames and timers live in two static
//! pools. The node uses `core` alone; `main` stands in for the board, and asserts that the
//! global allocator is not called between the first claim of a pool and the last frame.
//!
//! A full pool is an ordinary case here: a frame that finds no cell stays in the bus
//! controller and is lost, a timer that finds none is refused. Both are counted.
//!
//! ```text
//! cargo run --release --example fixed_pool
//! ```

use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};

use flatslab::pool::{InStorage, Pool, PoolStorage, StorageBox};

/// A frame as the bus controller delivers it: a reading, or the command to flash a light.
struct Frame {
    is_command: bool,
    data: [u8; 64],
}

/// Flashes the light so many times.
struct Timer {
    due: u32,
    period: u32,
    times: u8,
    /// The timer that is due next.
    next: Option<TimerBox>,
}

type FramePool = Pool<'static, Frame, InStorage>;
type FrameBox = StorageBox<'static, Frame>;
type TimerPool = Pool<'static, Timer, InStorage>;
type TimerBox = StorageBox<'static, Timer>;

const FRAMES: usize = 16;
const TIMERS: usize = 24;

static FRAME_STORAGE: PoolStorage<Frame, FRAMES> = PoolStorage::new();
static TIMER_STORAGE: PoolStorage<Timer, TIMERS> = PoolStorage::new();

/// Frames in the order of their arrival: room for all that the pool has.
#[derive(Default)]
struct Inbox {
    frames: [Option<FrameBox>; FRAMES],
    first: usize,
    len: usize,
}

impl Inbox {
    fn push(&mut self, frame: FrameBox) {
        self.frames[(self.first + self.len) % FRAMES] = Some(frame);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<FrameBox> {
        let frame = self.frames[self.first].take()?;
        (self.first, self.len) = ((self.first + 1) % FRAMES, self.len - 1);
        Some(frame)
    }
}

/// Timers in the order in which they are due, each owned by the one before it.
#[derive(Default)]
struct Schedule {
    first: Option<TimerBox>,
}

impl Schedule {
    fn insert(&mut self, mut timer: TimerBox) {
        let mut link = &mut self.first;
        while link.as_ref().is_some_and(|other| other.due <= timer.due) {
            link = &mut link.as_mut().expect("just seen").next;
        }
        timer.next = link.take();
        *link = Some(timer);
    }

    fn pop_due(&mut self, now: u32) -> Option<TimerBox> {
        let mut timer = self.first.take_if(|timer| timer.due <= now)?;
        self.first = timer.next.take();
        Some(timer)
    }
}

#[derive(Debug, Default)]
struct Counts {
    received: u32,
    lost: u32,
    readings: u32,
    timers: u32,
    refused: u32,
    flashes: u32,
}

/// Reads a frame from the controller straight into a cell. Called by the main loop: a
/// pool is not `Sync`, so an interrupt may not share it.
fn receive(pool: &'static FramePool, bus: &mut Bus, inbox: &mut Inbox, counts: &mut Counts) {
    match pool.try_alloc_with(|| bus.read()) {
        Ok(frame) => {
            counts.received += 1;
            inbox.push(frame);
        }
        Err(_) => counts.lost += 1,
    }
}

/// Handles a frame, whose cell is free afterwards.
fn handle(
    frame: FrameBox,
    now: u32,
    pool: &'static TimerPool,
    schedule: &mut Schedule,
    counts: &mut Counts,
) {
    if !frame.is_command {
        counts.readings += 1;
        return;
    }
    let [delay, period, times, ..] = frame.data;
    let timer = Timer {
        due: now + u32::from(delay),
        period: u32::from(period),
        times,
        next: None,
    };
    match pool.try_alloc(timer) {
        Ok(timer) => {
            counts.timers += 1;
            schedule.insert(timer);
        }
        // A node that must not refuse would keep `full.0` and try again.
        Err(_full) => counts.refused += 1,
    }
}

/// Runs the timers that are due. One that runs again keeps its cell: only its box moves.
fn run_due(now: u32, schedule: &mut Schedule, counts: &mut Counts) {
    while let Some(mut timer) = schedule.pop_due(now) {
        counts.flashes += 1;
        timer.times -= 1;
        if timer.times > 0 {
            timer.due += timer.period;
            schedule.insert(timer);
        }
    }
}

/// Stands in for the controller.
struct Bus {
    state: u64,
}

impl Bus {
    fn random(&mut self, end: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(0x5851_F42D_4C95_7F2D)
            .wrapping_add(1);
        (self.state >> 33) % end
    }

    /// Frames that arrive in one tick: none, or a burst.
    fn arrivals(&mut self) -> u64 {
        let is_burst = self.random(16) == 0;
        if is_burst { self.random(25) } else { 0 }
    }

    fn read(&mut self) -> Frame {
        let mut data = [0; 64];
        data[..3].copy_from_slice(&[self.random(100) as u8, 50, 1 + self.random(9) as u8]);
        Frame {
            is_command: self.random(4) == 0,
            data,
        }
    }
}

/// The system's allocator, which counts its calls.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Relaxed: only a count.
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let calls = CALLS.load(Ordering::Relaxed);
    let frames: &'static FramePool = FRAME_STORAGE.claim().expect("claimed nowhere else");
    let timers: &'static TimerPool = TIMER_STORAGE.claim().expect("claimed nowhere else");
    assert!(FRAME_STORAGE.claim().is_none());
    // All memory is touched now: no frame waits for a page.
    frames
        .prepare(frames.capacity())
        .expect("the memory is the program's");
    timers
        .prepare(timers.capacity())
        .expect("the memory is the program's");

    let (mut inbox, mut schedule) = (Inbox::default(), Schedule::default());
    let (mut bus, mut counts) = (Bus { state: 1 }, Counts::default());
    let (mut now, mut arrived) = (0, 0);
    // Nothing arrives any more at the end, and what is there is finished.
    while now < 100_000 || !frames.is_empty() || !timers.is_empty() {
        let arrivals = if now < 100_000 { bus.arrivals() } else { 0 };
        for _ in 0..arrivals {
            receive(frames, &mut bus, &mut inbox, &mut counts);
        }
        arrived += arrivals;
        if let Some(frame) = inbox.pop() {
            handle(frame, now, timers, &mut schedule, &mut counts);
        }
        run_due(now, &mut schedule, &mut counts);
        now += 1;
    }
    let calls = CALLS.load(Ordering::Relaxed) - calls;

    println!("{arrived} frames arrived: {counts:?}");
    let Counts { received, lost, .. } = counts;
    assert_eq!(u64::from(received + lost), arrived);
    let handled = counts.readings + counts.timers + counts.refused;
    assert_eq!(handled, received);
    assert!(lost > 0 && counts.refused > 0, "both pools were full");
    let bytes = [size_of_val(&FRAME_STORAGE), size_of_val(&TIMER_STORAGE)];
    println!("static bytes: {bytes:?}; calls to the allocator: {calls}");
    assert_eq!(calls, 0);
}
