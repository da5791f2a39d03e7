//! A loop of messages, each decoded into temporaries of many types in a scope of an
//! arena. The program counts its calls of the allocator: after the first messages it
//! makes none.
//!
//! ```text
//! cargo run --release --example frame_scratch
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use flatslab::bump::{Arena, ArenaVec, Scope};

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

/// A message as it comes from the network: `key=value` in fields.
struct Message<'t> {
    topic: &'t str,
    fields: &'t [Field<'t>],
}

#[derive(Debug)]
struct Field<'t> {
    name: &'t str,
    value: Value<'t>,
}

#[derive(Debug)]
enum Value<'t> {
    Number(f64),
    Text(&'t str),
    Levels(&'t [u32]),
}

/// Decodes into memory of the scope: nothing of it outlives the message.
fn decode<'s>(scope: &Scope<'s, '_>, text: &'s str) -> &'s Message<'s> {
    let (topic, rest) = text.split_once('|').unwrap_or((text, ""));
    let fields = rest.split(';').filter_map(|field| {
        let (name, value) = field.split_once('=')?;
        let value = if let Some(levels) = value.strip_prefix('@') {
            let levels = levels.split(',').filter_map(|level| level.parse().ok());
            Value::Levels(scope.alloc_slice_iter(levels))
        } else if let Ok(number) = value.parse() {
            Value::Number(number)
        } else {
            Value::Text(scope.alloc_str(&value[..value.len().min(64)]))
        };
        Some(Field { name, value })
    });
    scope.alloc(Message {
        topic,
        fields: scope.alloc_slice_iter(fields),
    })
}

/// What is kept of a message: a number.
fn handle(scope: &Scope<'_, '_>, message: &Message<'_>) -> f64 {
    let mut sums = ArenaVec::new_in(scope);
    for field in message.fields {
        sums.push(match field.value {
            Value::Number(number) => number,
            Value::Text(text) => text.len() as f64,
            Value::Levels(levels) => levels.iter().sum::<u32>().into(),
        });
    }
    let line = scope.alloc_fmt(format_args!("{}: {:?}", message.topic, message.fields));
    assert!(line.starts_with(message.topic));
    assert!(message.fields.iter().all(|field| line.contains(field.name)));
    sums.iter().sum()
}

const MESSAGES: [&str; 3] = [
    "quote|symbol=FLAT;bid=100.25;ask=100.5;depth=@10,20,30,40,50",
    "trade|symbol=FLAT;price=100.5;size=70;buyer=a market maker;flags=@1,2",
    "news|headline=slab allocators are flat this quarter;weight=0.5",
];

fn main() {
    let mut arena = Arena::new();
    let mut total = 0.0;
    let mut warm = 0;
    for number in 0..1_000_000 {
        if number == 10 {
            warm = CALLS.load(Ordering::Relaxed);
        }
        let text = MESSAGES[number % MESSAGES.len()];
        total += arena.scope(|scope| {
            let message = decode(&scope, text);
            handle(&scope, message)
        });
    }
    let calls = CALLS.load(Ordering::Relaxed) - warm;
    println!("1,000,000 messages, sum {total}");
    println!("calls of the allocator: {calls} after the first ten messages");
    println!(
        "the arena: {} bytes in {} chunks",
        arena.allocated_bytes(),
        arena.chunks_allocated()
    );
    assert_eq!(calls, 0);
}
