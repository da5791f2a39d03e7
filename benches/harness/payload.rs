//! The values that are stored, and what keeps the compiler from looking through
//! an operation.

/// A value of a known size that carries a number. `Copy` for the containers
/// that cannot move a value out.
pub trait Payload: Copy + Unpin + 'static {
    /// The bytes of a value.
    const BYTES: usize = size_of::<Self>();

    /// The value that carries `number`.
    fn of(number: u64) -> Self;

    /// The same; if it has several words, they are all made in registers, and stored one by one.
    #[inline(always)]
    fn of_words(number: u64) -> Self {
        Self::of(opaque(number))
    }

    /// The number it carries.
    fn number(&self) -> u64;

    /// The number it carries, to be changed.
    fn number_mut(&mut self) -> &mut u64;
}

impl Payload for u64 {
    #[inline(always)]
    fn of(number: u64) -> Self {
        number
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        *self
    }

    #[inline(always)]
    fn number_mut(&mut self) -> &mut u64 {
        self
    }
}

impl<const WORDS: usize> Payload for [u64; WORDS] {
    #[inline(always)]
    fn of(number: u64) -> Self {
        [number; WORDS]
    }

    #[inline(always)]
    fn of_words(number: u64) -> Self {
        std::array::from_fn(|_| opaque(number))
    }

    #[inline(always)]
    fn number(&self) -> u64 {
        self[WORDS / 2]
    }

    #[inline(always)]
    fn number_mut(&mut self) -> &mut u64 {
        &mut self[WORDS / 2]
    }
}

/// Keeps the compiler from carrying a container's fields in registers from one
/// operation to the next, as no program that does anything else in between
/// could. Costs no instruction: `black_box` would store the address, and the
/// core retires only one or two stores a cycle.
#[inline(always)]
pub fn barrier<S>(subject: &S) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no instruction at all; the compiler must take it for one that
    // reads and writes what the address leads to.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) subject, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(subject);
}

/// Has the compiler move the whole of a value to where it is, as in a program that
/// keeps it: of one of which a word is used, it moves that word. A value that fits
/// registers stays there.
#[inline(always)]
pub fn whole<V: Payload>(value: &V) {
    if V::BYTES > 16 {
        barrier(value);
    }
}

/// The same handle, of which the compiler knows nothing any more. It stays in
/// registers where it fits, as it would in a program that returns it.
#[inline(always)]
pub fn opaque<H>(handle: H) -> H {
    #[cfg(target_arch = "x86_64")]
    {
        let mut handle = core::mem::ManuallyDrop::new(handle);
        let address = (&raw mut handle).cast::<*mut u8>();
        // SAFETY: a handle of one or two words is moved through that many
        // registers; nothing else uses the bytes.
        unsafe {
            if size_of::<H>() == 16 && align_of::<H>() == 8 {
                let (mut first, mut second) = (address.read(), address.add(1).read());
                core::arch::asm!("/* {0} {1} */", inout(reg) first, inout(reg) second,
                    options(nostack, preserves_flags));
                address.write(first);
                address.add(1).write(second);
                return core::mem::ManuallyDrop::into_inner(handle);
            }
            if size_of::<H>() == 8 && align_of::<H>() == 8 {
                let mut only = address.read();
                core::arch::asm!("/* {0} */", inout(reg) only,
                    options(nostack, preserves_flags));
                address.write(only);
                return core::mem::ManuallyDrop::into_inner(handle);
            }
            if size_of::<H>() == 4 && align_of::<H>() == 4 {
                let mut only = address.cast::<u32>().read();
                core::arch::asm!("/* {0:e} */", inout(reg) only,
                    options(nostack, preserves_flags));
                address.cast::<u32>().write(only);
                return core::mem::ManuallyDrop::into_inner(handle);
            }
        }
        std::hint::black_box(core::mem::ManuallyDrop::into_inner(handle))
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(handle)
}
