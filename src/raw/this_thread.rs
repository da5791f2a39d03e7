//! Which thread this is.
//!
//! Numbers are counted and not used again. The address of a thread-local value would be one for
//! nothing, but where thread-locals are not the platform's own (Windows with the GNU toolchain,
//! Android) such a value is in memory of the allocator, and is freed while later destructors of
//! its thread still run: another thread may have the address by then.

#[cfg(all(feature = "std", not(all(test, loom))))]
mod counted {
    use core::cell::Cell;

    use crate::raw::atomic::{Count, Ordering};

    std::thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }

    /// The numbers that were given out.
    static NUMBERS: Count = Count::new(0);

    /// A number that no other thread has or had, and not 0; 0 where this thread can have none:
    /// without `std`, when there are no more, and in destructors of thread-local values where those
    /// are not the platform's own. There it may also have another one from some destructor on.
    #[inline]
    pub(crate) fn number() -> usize {
        match number_if_any() {
            0 => take(),
            number => number,
        }
    }

    /// As [`number`]; also 0 if this thread has not asked for one.
    #[inline]
    pub(crate) fn number_if_any() -> usize {
        NUMBER.try_with(Cell::get).unwrap_or(0)
    }

    #[cold]
    #[inline(never)]
    fn take() -> usize {
        NUMBER
            .try_with(|place| place.set(next()))
            .map_or(0, |()| number_if_any())
    }

    /// The next number, or 0.
    fn next() -> usize {
        let next = |last: usize| last.checked_add(1);
        // Relaxed: each number is taken once, and nothing else is to be seen with it.
        let last = NUMBERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        last.map_or(0, |last| last + 1)
    }
}

#[cfg(all(feature = "std", not(all(test, loom))))]
pub(crate) use counted::{number, number_if_any};

#[cfg(not(any(feature = "std", all(test, loom))))]
#[inline]
pub(crate) fn number() -> usize {
    0
}

/// All threads of a model are one of the system's.
#[cfg(all(test, loom))]
pub(crate) fn number() -> usize {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let mut hasher = DefaultHasher::new();
    super::atomic::thread::current().id().hash(&mut hasher);
    hasher.finish() as usize | 1
}

#[cfg(any(not(feature = "std"), all(test, loom)))]
pub(crate) use number as number_if_any;

#[cfg(all(test, feature = "std", not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_thread_has_the_number_of_another_one_even_of_one_that_has_ended() {
        let ask = || {
            let asked = (number_if_any(), number(), number(), number_if_any());
            assert_eq!((asked.0, asked.1, asked.1), (0, asked.2, asked.3));
            asked.1
        };
        let mut numbers: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(ask).join().unwrap())
            .collect();
        numbers.push(number());
        numbers.sort_unstable();
        numbers.dedup();
        assert!(numbers.len() == 5 && numbers[0] > 0);
    }
}
