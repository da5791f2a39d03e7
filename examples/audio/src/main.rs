//! An audio callback that allocates nothing, frees nothing and runs no destructor, although the
//! sounds that it plays own memory and end in the callback.
//!
//! The window's thread creates voices in a slab and sends them. After playing a voice the callback
//! *retires* it, and the window's thread drops it later. Samples are shared by key: the window may
//! unload a sample that is being played, and the callback does not free it. A thread stands in for
//! the sound card, and the allocator asserts that this thread does not call it.
//!
//! ```text
//! cargo run --release -p audio
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use flatslab::BoundedSlab;
use flatslab::sync::{SendSlot, SharedKey, SharedRef, SharedSlab};
use rtrb::{Consumer, Producer, RingBuffer};

/// Frames that the card asks for at a time: 1.3 ms at 48 kHz.
const BLOCK: usize = 64;
/// Sounds that are heard at once.
const VOICES: usize = 16;
const SAMPLES: usize = 8;

/// A sound of its own: made for one occasion, and over when it has been played.
struct Voice {
    frames: Vec<f32>,
    next: usize,
    _ends: Ends,
}

/// A sound that several may play, loaded and unloaded by the window.
struct Sample {
    frames: Vec<f32>,
    _ends: Ends,
}

/// What the window tells the callback.
enum Command {
    Play(SendSlot<Voice>),
    /// Plays this in the background from now on, instead of what it plays there.
    Background(SharedKey),
}

/// What the callback owns.
struct Mixer {
    commands: Consumer<Command>,
    voices: [Option<SendSlot<Voice>>; VOICES],
    samples: Arc<SharedSlab<Sample>>,
    background: Option<SharedRef<Sample>>,
    position: usize,
    played: usize,
}

impl Mixer {
    /// Fills a block. The card does not wait: a block that is late is heard.
    fn fill(&mut self, block: &mut [f32; BLOCK]) {
        while let Ok(command) = self.commands.pop() {
            match command {
                Command::Play(voice) => self.start(voice),
                Command::Background(key) => {
                    // The window may have unloaded it since; then there is silence.
                    let next = self.samples.get_owned(key);
                    let before = std::mem::replace(&mut self.background, next);
                    before.into_iter().for_each(SharedRef::retire);
                    self.position = 0;
                }
            }
        }
        block.fill(0.0);
        if let Some(sample) = &self.background {
            let looped = sample.frames.iter().cycle().skip(self.position);
            for (out, frame) in block.iter_mut().zip(looped) {
                *out += frame;
            }
            self.position = (self.position + BLOCK) % sample.frames.len();
        }
        for place in &mut self.voices {
            let Some(voice) = place else { continue };
            let frames = &voice.frames[voice.next..];
            for (out, frame) in block.iter_mut().zip(frames) {
                *out += frame;
            }
            voice.next += frames.len().min(BLOCK);
            if voice.next == voice.frames.len() {
                self.played += 1;
                place.take().into_iter().for_each(retire);
            }
        }
    }

    fn start(&mut self, voice: SendSlot<Voice>) {
        match self.voices.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(voice),
            // There are as many places as slots.
            None => retire(voice),
        }
    }

    /// The card stops.
    fn stop(&mut self) {
        self.voices
            .iter_mut()
            .filter_map(Option::take)
            .for_each(retire);
        self.background
            .take()
            .into_iter()
            .for_each(SharedRef::retire);
    }
}

/// Gives a voice back. The slab of the voices outlives the card, so it takes them all.
fn retire(voice: SendSlot<Voice>) {
    let taken_back = SendSlot::retire(voice);
    assert!(taken_back.is_ok(), "the slab of the voices is gone");
}

/// The sound card: asks for blocks until the window is closed.
fn card(mut mixer: Mixer) -> Mixer {
    let mut block = [0.0; BLOCK];
    while !mixer.commands.is_abandoned() || mixer.commands.slots() > 0 {
        in_callback(|| mixer.fill(&mut block));
        assert!(block.iter().all(|frame| frame.is_finite()));
        thread::yield_now();
    }
    in_callback(|| mixer.stop());
    mixer
}

/// What came of it.
#[derive(Debug, PartialEq)]
struct Played {
    sent: usize,
    /// All voices were sounding.
    refused: usize,
    played: usize,
    loaded: usize,
    /// Values dropped on the window's thread.
    dropped: usize,
}

/// The window: plays a sound in each of so many frames of its own, and changes the background.
fn window(frames: usize) -> Played {
    let ended = Arc::new(AtomicUsize::new(0));
    let ends = || Ends(ended.clone());
    let voices = BoundedSlab::with_capacity(VOICES);
    let samples = Arc::new(SharedSlab::with_capacity(SAMPLES));
    let (commands, consumer) = RingBuffer::new(2 * VOICES);
    let mut commands: Producer<Command> = commands;
    let mixer = Mixer {
        commands: consumer,
        voices: [const { None }; VOICES],
        samples: samples.clone(),
        background: None,
        position: 0,
        played: 0,
    };
    let card = thread::spawn(move || card(mixer));

    let (mut sent, mut refused, mut loaded, mut current) = (0, 0, 0, None);
    for frame in 0..frames {
        // What the callback has retired is dropped here, where there is time.
        voices.reclaim();
        samples.reclaim();
        let voice = Voice {
            frames: vec![0.1; BLOCK + frame % (4 * BLOCK)],
            next: 0,
            _ends: ends(),
        };
        match voices.insert(voice) {
            Ok(slot) => {
                sent += 1;
                send(&mut commands, Command::Play(slot.into_send()));
            }
            Err(_full) => refused += 1,
        }
        if frame % 8 == 0 {
            let sample = Sample {
                frames: vec![0.01; 3 * BLOCK],
                _ends: ends(),
            };
            // Full, if the callback has not come to the changes before.
            if let Ok(key) = samples.insert(sample) {
                loaded += 1;
                send(&mut commands, Command::Background(key));
                if let Some(before) = current.replace(key) {
                    samples.remove(before);
                }
            }
        }
        thread::yield_now();
    }
    drop(commands);
    let mixer = card.join().expect("the card has not panicked");
    let played = mixer.played;
    drop(mixer);
    voices.reclaim();
    samples.reclaim();
    assert!(voices.is_empty(), "every voice came back");
    drop((voices, samples));
    Played {
        sent,
        refused,
        played,
        loaded,
        dropped: ended.load(Ordering::Relaxed),
    }
}

/// Waits for room: the window may.
fn send(commands: &mut Producer<Command>, mut command: Command) {
    while let Err(rtrb::PushError::Full(back)) = commands.push(command) {
        command = back;
        thread::yield_now();
    }
}

fn main() {
    let played = window(20_000);
    println!("{played:?}; allocator calls in the callback: {}", calls());
    check(&played, 20_000);
}

fn check(played: &Played, frames: usize) {
    assert_eq!(calls(), 0, "allocator calls in the callback");
    assert_eq!(played.sent + played.refused, frames);
    // Those that were sounding when the card stopped were retired as they were.
    assert!(played.played <= played.sent && played.played + VOICES >= played.sent);
    let refused_samples = frames.div_ceil(8) - played.loaded;
    let values = played.sent + played.refused + played.loaded + refused_samples;
    assert_eq!(played.dropped, values, "each value is dropped once");
}

/// Counts values that are dropped, none of them in the callback.
struct Ends(Arc<AtomicUsize>);

impl Drop for Ends {
    fn drop(&mut self) {
        assert!(!IN_CALLBACK.get(), "a destructor in the callback");
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

fn in_callback(f: impl FnOnce()) {
    IN_CALLBACK.set(true);
    f();
    IN_CALLBACK.set(false);
}

/// The system's allocator, which counts the calls that come from the callback.
struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);

fn calls() -> usize {
    CALLS.load(Ordering::Relaxed)
}

fn count() {
    // Gone, at the end of a thread.
    if IN_CALLBACK.try_with(Cell::get).unwrap_or(false) {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callback_frees_nothing_and_every_sound_is_dropped_once() {
        let played = window(2_000);
        check(&played, 2_000);
        assert!(played.sent > 0 && played.loaded > 0);
    }
}
