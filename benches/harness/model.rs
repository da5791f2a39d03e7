//! Every subject is run against a model before it is timed: a container that
//! answers wrongly is not worth a figure.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::payload::Payload;
use crate::subject::Subject;
use crate::subject::peers::SlabCrate;

const CAPACITY: usize = 97;
const STEPS: usize = 5_000;

/// Takes the subject through random operations beside a list of what has to be
/// in it.
///
/// # Errors
///
/// What the subject answered, and what is right.
pub fn check<V: Payload, S: Subject<V>>() -> Result<(), String> {
    let mut random = ChaCha8Rng::seed_from_u64(V::BYTES as u64);
    let mut subject = S::with_capacity(CAPACITY);
    let mut held: Vec<(S::Handle, u64)> = Vec::new();
    let mut next = 0;
    let compare = |operation: &str, answer: u64, right: u64| {
        if answer == right {
            Ok(())
        } else {
            let (name, bytes) = (S::NAME, V::BYTES);
            Err(format!(
                "{name}, {bytes} bytes: {operation} gave {answer}, right is {right}"
            ))
        }
    };
    for _ in 0..STEPS {
        next += 1;
        let action = random.random_range(0..8);
        if held.is_empty() || (action < 2 && held.len() < CAPACITY) {
            held.push((subject.insert(V::of(next)), next));
            continue;
        }
        let at = random.random_range(0..held.len());
        match action {
            2 => {
                let (handle, number) = held.swap_remove(at);
                compare("remove", subject.remove(handle).number(), number)?;
            }
            3 => subject.free(held.swap_remove(at).0),
            4 => {
                let (handle, number) = held.swap_remove(at);
                let (old, handle) = subject.refill(handle, V::of(next));
                held.push((handle, next));
                compare("refill", old.number(), number)?;
            }
            5 => {
                let (handle, number) = &mut held[at];
                let old = subject.replace(handle, V::of(next)).number();
                compare("replace", old, core::mem::replace(number, next))?;
            }
            6 => {
                let (handle, number) = &mut held[at];
                subject.add(handle, next);
                *number += next;
            }
            _ => {}
        }
        // Whatever was done must have left all others alone.
        for (handle, number) in &held {
            compare("get", subject.get(handle), *number)?;
        }
    }
    for (handle, number) in held {
        compare("remove", subject.remove(handle).number(), number)?;
    }
    Ok(())
}

/// Makes sure that [`check`] finds what it is there to find.
///
/// # Panics
///
/// If it lets a subject pass that is wrong in one operation.
pub fn check_the_check() {
    fn finds<const FAULT: usize>() -> bool {
        check::<u64, Faulty<FAULT>>().is_err()
    }
    assert!(check::<u64, Faulty<{ usize::MAX }>>().is_ok());
    let found = [
        finds::<0>(),
        finds::<1>(),
        finds::<2>(),
        finds::<3>(),
        finds::<4>(),
        finds::<5>(),
    ];
    assert_eq!(
        found, [true; 6],
        "the model does not find every faulty subject"
    );
}

/// The `slab` crate with a mistake in one operation.
struct Faulty<const FAULT: usize>(SlabCrate<u64>);

impl<const FAULT: usize> Subject<u64> for Faulty<FAULT> {
    const NAME: &'static str = "faulty on purpose";
    type Handle = usize;

    fn with_capacity(capacity: usize) -> Self {
        Faulty(SlabCrate::with_capacity(capacity))
    }

    fn insert(&mut self, value: u64) -> usize {
        self.0
            .insert(if FAULT == 0 { value.min(4_000) } else { value })
    }

    fn get(&self, handle: &usize) -> u64 {
        self.0.get(handle)
    }

    fn add(&mut self, handle: &mut usize, number: u64) {
        self.0.add(
            handle,
            if FAULT == 1 {
                number.min(4_000)
            } else {
                number
            },
        );
    }

    fn replace(&mut self, handle: &mut usize, value: u64) -> u64 {
        let old = self.0.replace(handle, value);
        if FAULT == 2 { old.min(4_000) } else { old }
    }

    fn remove(&mut self, handle: usize) -> u64 {
        let value = self.0.remove(handle);
        if FAULT == 3 { value.min(4_000) } else { value }
    }

    fn free(&mut self, handle: usize) {
        self.0.free(handle);
        if FAULT == 4 {
            // Frees a neighbour's too.
            self.0.0.try_remove(handle + 1);
            self.0.0.insert(0);
        }
    }

    fn refill(&mut self, handle: usize, value: u64) -> (u64, usize) {
        let (old, handle) = self.0.refill(handle, value);
        (if FAULT == 5 { old.min(4_000) } else { old }, handle)
    }
}
