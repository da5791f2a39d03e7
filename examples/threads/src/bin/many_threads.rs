//! The newest quotes of several feeds, each of which goes to all of several readers. The rings of the
//! crate do not do that: they hand each entry to one reader.
//!
//! Each reader has a queue of its own, an `ArrayQueue` of `crossbeam-queue`, to which every feed
//! pushes. The bytes of a quote are in a `Buf` with atomic counts, made once; each queue gets a
//! reference. A reader that is too slow misses the oldest quotes: `force_push` overwrites them,
//! and gives them back to the feed, which drops them. Their buffers go back to the feed that
//! made them, when the last reader is done.
//!
//! ```text
//! cargo run --release -p threads --bin many_threads
//! ```
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossbeam_queue::ArrayQueue;
use flatslab::bytes::{Atomic, Buf, ByteArena};

type Quotes = ArrayQueue<Buf<Atomic>>;

/// Quotes that may wait for a reader.
const WAITING: usize = 128;

/// A quote: which feed, and which of its quotes.
fn quote(feed: u8, number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_le_bytes();
    [feed, a, b, c, d]
}

/// Sends that many quotes to all readers; returns how many were overwritten unread.
fn feed(feed: u8, quotes: u32, readers: &[Quotes]) -> u64 {
    // Of this thread; what the readers drop comes back here.
    let arena = ByteArena::atomic();
    let mut overwritten = 0;
    for number in 0..quotes {
        let quote = arena.copy(&quote(feed, number));
        for reader in readers {
            overwritten += u64::from(reader.force_push(quote.clone()).is_some());
        }
    }
    // One chunk has room for 16,384 quotes: those in the queues come back to it.
    assert!(arena.stats().mallocs <= 1);
    overwritten
}

/// Reads until the feeds have ended; returns how many quotes, and checks that those of each feed
/// come in their order.
fn read(quotes: &Quotes, feeds: usize, ended: &AtomicBool) -> u64 {
    let mut next = vec![0; feeds];
    let mut count = 0;
    loop {
        // Asked first: what was pushed before that is found.
        let is_last = ended.load(Ordering::Acquire);
        while let Some(quote) = quotes.pop() {
            let number = u32::from_le_bytes(*quote[1..].first_chunk().expect("five bytes"));
            let next = &mut next[usize::from(quote[0])];
            assert!(number >= *next, "an older quote after a newer one");
            *next = number + 1;
            count += 1;
        }
        if is_last {
            return count;
        }
        thread::yield_now();
    }
}

/// Returns the quotes that were read, and that were overwritten, of all readers.
fn run(feeds: u8, readers: usize, quotes: u32) -> (u64, u64) {
    let queues: Vec<_> = (0..readers).map(|_| Quotes::new(WAITING)).collect();
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let reading: Vec<_> = (queues.iter())
            .map(|queue| scope.spawn(|| read(queue, usize::from(feeds), &ended)))
            .collect();
        let feeding: Vec<_> = (0..feeds)
            .map(|number| {
                let queues = &queues;
                scope.spawn(move || feed(number, quotes, queues))
            })
            .collect();
        let overwritten = feeding
            .into_iter()
            .map(|it| it.join().expect("it ends"))
            .sum();
        ended.store(true, Ordering::Release);
        let read = reading
            .into_iter()
            .map(|it| it.join().expect("it ends"))
            .sum();
        (read, overwritten)
    })
}

fn main() {
    let (feeds, readers, quotes) = (3, 4, 100_000);
    let (read, overwritten) = run(feeds, readers, quotes);
    println!("{read} quotes were read, {overwritten} overwritten");
    let sent = u64::from(feeds) * u64::from(quotes) * readers as u64;
    assert_eq!(read + overwritten, sent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quote_reaches_each_reader_or_is_counted() {
        for (feeds, readers, quotes) in [(1, 1, 1000), (2, 3, 5000)] {
            let (read, overwritten) = run(feeds, readers, quotes);
            let sent = u64::from(feeds) * u64::from(quotes) * readers as u64;
            assert_eq!(read + overwritten, sent);
        }
    }

    #[test]
    fn every_reader_gets_the_newest_in_one_buffer() {
        let arena = ByteArena::atomic();
        let queues = [Quotes::new(2), Quotes::new(2)];
        for number in 0..5 {
            let quote = arena.copy(&quote(0, number));
            queues
                .iter()
                .for_each(|queue| drop(queue.force_push(quote.clone())));
        }
        let [first, second] = queues.map(|queue| [queue.pop(), queue.pop()].map(Option::unwrap));
        assert_eq!(
            (&*first[0], &*first[1]),
            (&quote(0, 3)[..], &quote(0, 4)[..])
        );
        assert_eq!(first[0].as_ptr(), second[0].as_ptr());
        assert_eq!(arena.stats().in_use(), 2);
    }
}
