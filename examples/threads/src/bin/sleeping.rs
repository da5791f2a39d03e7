//! Workers that sleep until there is work, each with an arena of its own.
//!
//! A worker takes all jobs from its queue, and then parks. The sender of a job pushes it, and then
//! unparks the worker. `park` returns at once if the thread was unparked since it last returned, so a job that
//! comes between the last look and the sleep is not missed. The worker may wake for nothing.
//!
//! A worker's answers are in buffers of its own arena. They are dropped on another thread and come
//! back: a worker answers all its jobs from as many buffers as are out at once.
//!
//! ```text
//! cargo run --release -p threads --bin sleeping
//! ```
#![forbid(unsafe_code)]

use std::io::Write;
use std::thread::{self, JoinHandle, Thread};

use flatslab::bytes::{Atomic, Buf, ByteArena};
use rtrb::{Consumer, Producer, RingBuffer};

/// Jobs on their way to a worker, and answers on their way back.
const WAITING: usize = 16;

/// Answers each job with its square, until the queue's sending end is dropped; returns how often
/// its arena called the allocator for buffers.
fn work(mut jobs: Consumer<u64>, mut answers: Producer<Buf<Atomic>>, asker: &Thread) -> u64 {
    // Made on the thread that uses it.
    let arena = ByteArena::builder().atomic().build();
    loop {
        // Asked first: what was pushed before the end is found.
        let ends = jobs.is_abandoned();
        while let Ok(job) = jobs.pop() {
            let mut answer = arena.alloc(40);
            write!(answer, "{job}: {}", job * job).expect("it has room for two numbers");
            let answer = answer.freeze();
            answers
                .push(answer)
                .expect("no more jobs are out than that");
        }
        // Once for all of them; who is awake is not waked.
        asker.unpark();
        if ends {
            return arena.stats().mallocs;
        }
        thread::park();
    }
}

/// The asker's side of a worker.
struct Worker {
    /// `None` when there are no more jobs.
    jobs: Option<Producer<u64>>,
    answers: Consumer<Buf<Atomic>>,
    out: usize,
    thread: JoinHandle<u64>,
}

impl Worker {
    fn start() -> Self {
        let (jobs, receiver) = RingBuffer::new(WAITING);
        let (sender, answers) = RingBuffer::new(WAITING);
        let asker = thread::current();
        Worker {
            jobs: Some(jobs),
            answers,
            out: 0,
            thread: thread::spawn(move || work(receiver, sender, &asker)),
        }
    }

    /// Sends as many jobs as may be out.
    fn ask(&mut self, jobs: &mut impl Iterator<Item = u64>) {
        let Some(queue) = &mut self.jobs else { return };
        while self.out < WAITING {
            let Some(job) = jobs.next() else {
                // The end is an event, too: dropped, and then waked.
                self.jobs = None;
                break;
            };
            queue.push(job).expect("fewer are out than it has room for");
            self.out += 1;
        }
        self.thread.thread().unpark();
    }

    /// Takes the answers that have come.
    fn take(&mut self, mut each: impl FnMut(&[u8])) {
        while let Ok(answer) = self.answers.pop() {
            each(&answer);
            self.out -= 1;
        }
    }
}

/// Has each of the workers do jobs until all are done; returns how many answers came, and how
/// often each worker called the allocator for buffers.
fn run(workers: usize, jobs: u64) -> (u64, Vec<u64>) {
    let mut workers: Vec<_> = (0..workers).map(|_| Worker::start()).collect();
    let mut jobs = 0..jobs;
    let mut count = 0;
    while workers.iter().any(|it| it.jobs.is_some() || it.out > 0) {
        for worker in &mut workers {
            worker.take(|answer| {
                let text = std::str::from_utf8(answer).expect("it is a text");
                let (job, square) = text.split_once(": ").expect("two numbers");
                let job: u64 = job.parse().expect("a number");
                assert_eq!(square.parse(), Ok(job * job));
                count += 1;
            });
            worker.ask(&mut jobs);
        }
        // Else the next pass takes what has come since this one. Who has nothing out ends.
        let is_out = workers.iter().any(|it| it.out > 0);
        if is_out && workers.iter().all(|it| it.answers.is_empty()) {
            thread::park();
        }
    }
    let threads = workers.into_iter().map(|it| it.thread);
    let calls = threads.map(|it| it.join().expect("it ends")).collect();
    (count, calls)
}

fn main() {
    let (answers, calls) = run(3, 100_000);
    println!("{answers} answers, for {calls:?} calls of the allocator by each worker");
    assert_eq!(answers, 100_000);
    // A chunk has 16,384 buffers, which come back to it.
    assert!(calls.iter().all(|&calls| calls <= 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_job_is_answered_once() {
        for (workers, jobs) in [(1, 0), (1, 1), (2, 1), (3, 5000)] {
            let (answers, calls) = run(workers, jobs);
            assert_eq!((answers, calls.len()), (jobs, workers));
            assert!(calls.iter().all(|&calls| calls <= 1));
        }
    }
}
