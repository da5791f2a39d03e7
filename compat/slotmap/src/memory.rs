//! How `slotmap` fails where there is no memory: as `Vec` does.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::alloc::Layout;

use flatslab::AllocError;

#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail(error: AllocError) -> ! {
    match error {
        AllocError::OutOfMemory { bytes } => {
            let layout = Layout::from_size_align(bytes, 1).unwrap_or(Layout::new::<u8>());
            alloc::alloc::handle_alloc_error(layout)
        }
        _ => panic!("capacity overflow"),
    }
}

/// The error of `Vec`, which only `Vec` makes: one that is asked for as much.
#[cold]
pub(crate) fn refused(error: AllocError) -> TryReserveError {
    let bytes = match error {
        AllocError::OutOfMemory { bytes } => bytes,
        _ => usize::MAX,
    };
    let refusal = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).err();
    let overflow = || refusal(usize::MAX).expect("past `isize::MAX`");
    refusal(bytes).unwrap_or_else(overflow)
}
