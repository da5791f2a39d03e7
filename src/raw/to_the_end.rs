//! What is done to the end, whatever the user's code does in between.

/// Calls `step` until it returns `false`, also after a call of it that panicked: then the panic goes
/// on afterwards. A second panic aborts the program.
#[inline(always)]
pub(crate) fn to_the_end(step: impl FnMut() -> bool) {
    struct Rest<F: FnMut() -> bool>(F);

    impl<F: FnMut() -> bool> Drop for Rest<F> {
        fn drop(&mut self) {
            while (self.0)() {}
        }
    }

    let mut rest = Rest(step);
    while (rest.0)() {}
    core::mem::forget(rest);
}

/// Calls one function, and then another one, even if the first panics.
#[inline(always)]
pub(crate) fn both(first: impl FnOnce(), second: impl FnOnce()) {
    let (mut first, mut second) = (Some(first), Some(second));
    to_the_end(|| match first.take() {
        Some(first) => {
            first();
            true
        }
        None => second.take().map(|second| second()).is_some(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_rest_is_done_after_a_panic() {
        let mut left = 5;
        let call = AssertUnwindSafe(|| {
            to_the_end(|| {
                left -= 1;
                assert!(left != 3);
                left > 0
            })
        });
        assert!(catch_unwind(call).is_err());
        assert_eq!(left, 0);
    }

    #[test]
    fn the_second_call_is_made_after_a_panic_of_the_first() {
        let mut calls = Vec::new();
        let call = AssertUnwindSafe(|| both(|| panic!("as asked"), || calls.push(2)));
        assert!(catch_unwind(call).is_err());
        let call = AssertUnwindSafe(|| both(|| (), || panic!("as asked")));
        assert!(catch_unwind(call).is_err());
        assert_eq!(calls, [2]);
    }
}
