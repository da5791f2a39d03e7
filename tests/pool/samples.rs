//! Values of several sizes and alignments, each counted from when it is made until
//! it is dropped.

use std::cell::Cell;

thread_local! {
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

/// How many samples there are on this thread, forgotten ones included.
pub(crate) fn alive() -> usize {
    ALIVE.get()
}

/// A value made from a number.
pub(crate) trait Sample: Sized + 'static {
    /// Whether a value that is forgotten leaks memory: then a leak checker reports it.
    const OWNS_MEMORY: bool;

    fn new(number: u64) -> Self;

    /// Whether it is the one made from that number, as far as it can tell, and aligned.
    fn is(&self, number: u64) -> bool;

    /// Makes it the one of that number, in place.
    fn renumber(&mut self, number: u64);
}

macro_rules! samples {
    ($($(#[$attribute:meta])* $name:ident $inner:ty, $owns:literal, $make:expr, $is:expr;)*) => {$(
        $(#[$attribute])*
        pub(crate) struct $name($inner);

        impl Sample for $name {
            const OWNS_MEMORY: bool = $owns;

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

            fn renumber(&mut self, number: u64) {
                let make: fn(u64) -> $inner = $make;
                std::mem::swap(&mut self.0, &mut make(number));
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                ALIVE.set(ALIVE.get() - 1);
            }
        }
    )*};
}

/// A segment has eight cells of it, and two of an interpreted test's.
const MANY: usize = if cfg!(miri) { 50 } else { 1000 };

samples! {
    Nothing (), false, |_| (), |(), _| true;
    Byte u8, false, |number| number as u8, |value, number| *value == number as u8;
    Number u64, false, |number| number, |value, number| *value == number;
    #[repr(align(64))]
    Line [u64; 8], false, |number| [number; 8], |value, number| *value == [number; 8];
    Boxed Box<u64>, true, Box::new, |value, number| **value == number;
    Large [u64; MANY], false, |number| [number; MANY],
        |value, number| value.iter().step_by(111).all(|&word| word == number);
}
