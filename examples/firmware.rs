//! Firmware without a heap: a node on a bus. An interrupt receives frames and hands them to the
//! main loop, which answers in the same memory; timers have keys that may be used too late. Nothing
//! is `unsafe`, no interrupt is masked, and no lock is taken.
//!
//! The node uses `core` and queues of `heapless`. `main` stands in for the board: a thread is the
//! interrupt, and the global allocator counts its calls, of which the node makes none.
//!
//! A full pool is an ordinary case here: a frame that finds no cell is lost, a timer that finds no
//! slot is refused. Both are counted.
//!
//! ```text
//! cargo run --release --example firmware
//! ```

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::thread;

use flatslab::key_slab::KeySlabStorage;
use flatslab::pool::{InStorage, Pool, PoolBox, PoolStorage, SendBox};
use flatslab::{BoundedKeySlab, key_type};
use heapless::spsc::{Consumer, Producer, Queue};

/// A frame of the bus.
#[derive(Debug)]
struct Frame {
    peer: usize,
    request: Request,
    /// Room for a frame of the longest kind.
    data: [u8; 64],
}

#[derive(Clone, Copy, Debug)]
enum Request {
    /// Flash the light so many times, with so many ticks between.
    Start { period: u32, times: u32 },
    /// Stop the flashes that the peer started last.
    Stop,
}

/// Flashes that are not over.
struct Timer {
    due: u32,
    period: u32,
    times: u32,
}

key_type! {
    /// A timer that may be over: its slot has other timers later, which this does not open.
    struct TimerKey(GenKey);
}

const FRAMES: usize = 16;
const TIMERS: usize = 12;
const PEERS: usize = 32;

/// The interrupt's: it allocates, and the main loop only gives back.
static FRAME_STORAGE: PoolStorage<Frame, FRAMES> = PoolStorage::new();
static TIMER_STORAGE: KeySlabStorage<Timer, TIMERS, TimerKey> = KeySlabStorage::with_key();

type FramePool = Pool<'static, Frame, InStorage>;
/// `Send`: each end of a queue may be in another context. One place of a queue stays empty.
type FrameQueue = Queue<SendBox<Frame>, { FRAMES + 1 }>;
type FrameProducer<'q> = Producer<'q, SendBox<Frame>, { FRAMES + 1 }>;
type FrameConsumer<'q> = Consumer<'q, SendBox<Frame>, { FRAMES + 1 }>;

/// What the interrupt has.
struct Receiver<'q> {
    pool: &'static FramePool,
    received: FrameProducer<'q>,
    answers: FrameConsumer<'q>,
    arrived: u32,
    lost: u32,
    sent: u32,
}

impl Receiver<'_> {
    /// A frame is there: reads it straight into a cell. Then sends the answers that are ready.
    fn interrupt(&mut self, bus: &mut Bus) {
        self.arrived += 1;
        match self.pool.try_alloc_with(|| bus.read()) {
            Ok(frame) => {
                let queued = self.received.enqueue(PoolBox::into_send(frame));
                assert!(queued.is_ok(), "as many places as cells");
            }
            Err(_full) => {
                bus.skip();
                self.lost += 1;
            }
        }
        self.send_answers();
    }

    fn send_answers(&mut self) {
        while let Some(answer) = self.answers.dequeue() {
            // Back in its own context it is an ordinary box, whose drop frees the cell at once.
            let answer = self.pool.receive(answer).expect("of this pool");
            assert_eq!(answer.data[0], answer.peer as u8);
            self.sent += 1;
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    started: u32,
    refused: u32,
    stopped: u32,
    /// Stopped when they were over, and so not stopped.
    too_late: u32,
    /// Of these, where another timer had the slot: by an index it would have been stopped.
    taken_over: u32,
    ended: u32,
    flashes: u32,
}

/// What the main loop has.
struct Node<'q> {
    received: FrameConsumer<'q>,
    answers: FrameProducer<'q>,
    timers: BoundedKeySlab<Timer, TimerKey>,
    newest: [Option<TimerKey>; PEERS],
    now: u32,
    counts: Counts,
}

impl Node<'_> {
    /// One round of the main loop; whether there was a frame.
    fn step(&mut self) -> bool {
        self.now += 1;
        self.run_due();
        let Some(mut frame) = self.received.dequeue() else {
            return false;
        };
        match frame.request {
            Request::Start { period, times } => {
                self.start(frame.peer, period, times);
                // The answer takes the memory of the request.
                frame.data[0] = frame.peer as u8;
                let queued = self.answers.enqueue(frame);
                assert!(queued.is_ok(), "as many places as cells");
            }
            Request::Stop => {
                self.stop(frame.peer);
                // No answer: dropped here, and its cell is on the way back to the interrupt.
                drop(frame);
            }
        }
        true
    }

    fn start(&mut self, peer: usize, period: u32, times: u32) {
        let timer = Timer {
            due: self.now + period,
            period,
            times,
        };
        match self.timers.insert(timer) {
            Ok(key) => {
                self.newest[peer] = Some(key);
                self.counts.started += 1;
            }
            Err(_full) => self.counts.refused += 1,
        }
    }

    fn stop(&mut self, peer: usize) {
        let Some(key) = self.newest[peer].take() else {
            return;
        };
        match self.timers.try_remove(key) {
            Some(_timer) => self.counts.stopped += 1,
            None => {
                self.counts.too_late += 1;
                if self.timers.key_at(key.index()).is_some() {
                    self.counts.taken_over += 1;
                }
            }
        }
    }

    fn run_due(&mut self) {
        let (now, counts) = (self.now, &mut self.counts);
        self.timers.retain(|_key, timer| {
            if timer.due <= now {
                counts.flashes += 1;
                timer.due += timer.period;
                timer.times -= 1;
            }
            counts.ended += u32::from(timer.times == 0);
            timer.times > 0
        });
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

    fn read(&mut self) -> Frame {
        let (period, times) = (1 + self.random(20) as u32, 1 + self.random(3) as u32);
        Frame {
            peer: self.random(PEERS as u64) as usize,
            request: match self.random(3) {
                0 => Request::Stop,
                _ => Request::Start { period, times },
            },
            data: [0; 64],
        }
    }

    fn skip(&mut self) {
        self.read();
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
    let calls = run(if cfg!(debug_assertions) {
        2_000
    } else {
        50_000
    });
    let bytes = [size_of_val(&FRAME_STORAGE), size_of_val(&TIMER_STORAGE)];
    println!("static bytes: {bytes:?}; calls to the allocator: {calls}");
    assert_eq!(calls, 0);
}

/// Runs the node for so many bursts of frames; returns how often the allocator was called.
fn run(bursts: u32) -> usize {
    let (mut received, mut answers) = (FrameQueue::new(), FrameQueue::new());
    let (producer, consumer) = received.split();
    let (answer_producer, answer_consumer) = answers.split();
    let timers = TIMER_STORAGE.claim().expect("claimed nowhere else");
    let mut node = Node {
        received: consumer,
        answers: answer_producer,
        timers,
        newest: [None; PEERS],
        now: 0,
        counts: Counts::default(),
    };
    let (ready, over, is_over) = (Barrier::new(2), Barrier::new(2), AtomicBool::new(false));

    thread::scope(|scope| {
        let interrupts = scope.spawn(|| {
            // Claimed in the context that uses it: a pool with boxes goes nowhere else.
            let mut receiver = Receiver {
                pool: FRAME_STORAGE.claim().expect("claimed nowhere else"),
                received: producer,
                answers: answer_consumer,
                arrived: 0,
                lost: 0,
                sent: 0,
            };
            let mut bus = Bus { state: 1 };
            // While the board starts, nothing is taken out of the queue.
            for _ in 0..FRAMES + 8 {
                receiver.interrupt(&mut bus);
            }
            assert_eq!((receiver.pool.len(), receiver.lost), (FRAMES, 8));
            ready.wait();
            for _ in 0..bursts {
                for _ in 0..bus.random(2 * FRAMES as u64) {
                    receiver.interrupt(&mut bus);
                }
                // Until the next burst the main loop gets on.
                while receiver.received.len() > FRAMES / 2 {
                    thread::yield_now();
                }
            }
            // Release: pairs with the acquire below: the last frame is in the queue.
            is_over.store(true, Ordering::Release);
            over.wait();
            receiver.send_answers();
            receiver.pool.reclaim();
            assert!(receiver.pool.is_empty(), "every cell has come back");
            (receiver.arrived, receiver.lost, receiver.sent)
        });

        ready.wait();
        let calls = CALLS.load(Ordering::Relaxed);
        let mut handled = 0;
        loop {
            // Acquire: pairs with the release above.
            let is_last = is_over.load(Ordering::Acquire);
            match node.step() {
                true => handled += 1,
                false if is_last => break,
                false => thread::yield_now(),
            }
        }
        while !node.timers.is_empty() {
            node.step();
        }
        let calls = CALLS.load(Ordering::Relaxed) - calls;
        over.wait();
        let (arrived, lost, sent) = interrupts.join().expect("no assertion has failed");

        let counts = &node.counts;
        println!("{arrived} frames arrived, {lost} were lost, {sent} answered: {counts:?}");
        assert_eq!(handled + lost, arrived);
        assert_eq!(counts.started + counts.refused, sent);
        assert_eq!(counts.stopped + counts.ended, counts.started);
        assert!(counts.refused > 0 && counts.stopped > 0);
        assert!(counts.taken_over > 0, "generations made a difference");
        calls
    })
}

#[test]
fn every_frame_is_handled_or_counted_as_lost() {
    // What runs the tests may allocate at the same time.
    let _calls = run(200);
}
