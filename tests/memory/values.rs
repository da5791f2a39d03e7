//! Values of several sizes and alignments, each counted from when it is made until
//! it is dropped.

use std::cell::Cell;

thread_local! {
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

/// How many values there are on this thread.
pub(crate) fn alive() -> usize {
    ALIVE.get()
}

/// A value made from a number.
pub(crate) trait Sample: Clone + 'static {
    fn new(number: u64) -> Self;
    /// Whether it is the one made from that number, as far as it can tell.
    fn is(&self, number: u64) -> bool;
}

macro_rules! samples {
    ($($(#[$attribute:meta])* $name:ident $inner:ty, $make:expr, $is:expr;)*) => {$(
        $(#[$attribute])*
        pub(crate) struct $name($inner);

        impl Sample for $name {
            fn new(number: u64) -> Self {
                ALIVE.set(ALIVE.get() + 1);
                let make: fn(u64) -> $inner = $make;
                $name(make(number))
            }

            fn is(&self, number: u64) -> bool {
                let is: fn(&$inner, u64) -> bool = $is;
                let place = std::ptr::from_ref(self).addr();
                is(&self.0, number) && place % align_of::<Self>() == 0
            }
        }

        impl Clone for $name {
            fn clone(&self) -> Self {
                ALIVE.set(ALIVE.get() + 1);
                $name(self.0.clone())
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                ALIVE.set(ALIVE.get() - 1);
            }
        }
    )*};
}

samples! {
    Nothing (), |_| (), |(), _| true;
    Number u64, |number| number, |value, number| *value == number;
    #[repr(align(64))]
    Line u64, |number| number, |value, number| *value == number;
    #[repr(align(4096))]
    Page u64, |number| number, |value, number| *value == number;
    Large [u8; 64 << 10],
        |number| [number as u8; 64 << 10],
        |value, number| value.iter().step_by(4095).all(|&byte| byte == number as u8);
}

/// Runs a generic function for each of them; an interpreter has no time for the large
/// ones.
macro_rules! with_each_value {
    ($f:ident $(, $argument:expr)*) => {
        $f::<$crate::values::Nothing>($($argument),*);
        $f::<$crate::values::Line>($($argument),*);
        if !cfg!(miri) {
            $f::<$crate::values::Number>($($argument),*);
            $f::<$crate::values::Page>($($argument),*);
            $f::<$crate::values::Large>($($argument),*);
        }
    };
}
pub(crate) use with_each_value;
