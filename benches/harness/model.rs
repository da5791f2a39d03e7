//! Every subject is run against a model before it is timed: a container that
//! answers wrongly is not worth a figure.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::payload::Payload;
use crate::subject::Subject;

const CAPACITY: usize = 97;
const STEPS: usize = 5_000;

/// Takes the subject through random operations, and compares it with a list of
/// what has to be in it.
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
        // The other values must be as they were.
        for (handle, number) in &held {
            compare("get", subject.get(handle), *number)?;
        }
    }
    for (handle, number) in held {
        compare("remove", subject.remove(handle).number(), number)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Which operation is wrong.
        static FAULT: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// In the faulty operation loses what is above 4,000.
    fn lossy<V: Payload>(operation: usize, value: V) -> V {
        match FAULT.get() == operation {
            true => V::of(value.number().min(4_000)),
            false => value,
        }
    }

    crate::subject! {
        /// A list with a mistake in one operation.
        Faulty(Vec<V>) named "faulty on purpose" by usize;
        new(_capacity) Vec::new();
        insert(list, value) {
            list.push(lossy(0, value));
            list.len() - 1
        };
        get(list, at) list[*at].number();
        add(list, at, number) {
            list[*at] = lossy(1, list[*at]);
            *list[*at].number_mut() += number;
        };
        replace(list, at, value) lossy(2, core::mem::replace(&mut list[*at], value));
        remove(list, at) lossy(3, list[at]);
        // Frees its neighbour's.
        free(list, at) if FAULT.get() == 4 { list[at.saturating_sub(1)] = V::of(0) };
        refill(list, at, value) (lossy(5, core::mem::replace(&mut list[at], value)), at);
    }

    #[test]
    fn every_faulty_subject_is_found() {
        let finds = |fault| {
            FAULT.set(fault);
            check::<u64, Faulty<u64>>().is_err()
        };
        assert!(!finds(usize::MAX), "the subject without a fault");
        assert_eq!([0, 1, 2, 3, 4, 5].map(finds), [true; 6]);
    }
}
