//! How `slab` fails where there is no memory: `Vec` panics there with one text for every limit, and
//! ends the program when the allocator refuses.

use core::alloc::Layout;

use flatslab::AllocError;
use flatslab::key_slab::InsertAtError;

#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn overflow() -> ! {
    panic!("capacity overflow")
}

#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail(error: AllocError) -> ! {
    match error {
        AllocError::OutOfMemory { bytes } => {
            let layout = Layout::from_size_align(bytes, 1).unwrap_or(Layout::new::<u8>());
            alloc::alloc::handle_alloc_error(layout)
        }
        _ => overflow(),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn fail_to_insert<T>(error: &InsertAtError<T>) -> ! {
    match error {
        InsertAtError::NoMemory(_, error) => fail(*error),
        _ => overflow(),
    }
}
