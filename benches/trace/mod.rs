//! What an operation executes, instruction by instruction.
//!
//! The operation is a function of its own. It is called once with the processor's
//! trap flag set: the processor then traps after every instruction, and a signal
//! handler stores its address. So what is counted is what an operation runs through
//! when nothing is unusual, wherever the compiler put it.

mod count;

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use count::Executed;

/// Runs `call`, which calls `function` with `argument`, and tells what of it
/// was executed.
pub(crate) fn trace<A, R>(
    name: String,
    function: *const (),
    argument: A,
    call: impl FnOnce(A) -> R,
) -> Executed {
    let result = stepped(argument, call);
    drop(std::hint::black_box(result));
    let addresses = TRACE.addresses();
    let entry = function.addr() as u64;
    match addresses.iter().position(|&address| address == entry) {
        Some(first) => Executed::of(name, &addresses[first..]),
        None => {
            panic!("{name} was not run through: the system does not let a process trace itself")
        }
    }
}

/// Instructions, at most.
const TRACED: usize = 4096;

/// Where the handler writes the address of every instruction.
struct Trace {
    count: AtomicUsize,
    addresses: UnsafeCell<[u64; TRACED]>,
}

// SAFETY: one thread traces itself, and looks when it has stopped.
unsafe impl Sync for Trace {}

static TRACE: Trace = Trace {
    count: AtomicUsize::new(0),
    addresses: UnsafeCell::new([0; TRACED]),
};

impl Trace {
    fn addresses(&self) -> &[u64] {
        let count = self.count.load(Ordering::Relaxed).min(TRACED);
        // SAFETY: nothing is being traced.
        unsafe { &(&*self.addresses.get())[..count] }
    }
}

/// The signal handler: allocates nothing, calls nothing.
extern "C" fn trapped(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system hands a handler its context; the place is below
    // the end, and nothing else writes.
    unsafe {
        let context = context.cast::<libc::ucontext_t>();
        let address = (*context).uc_mcontext.gregs[libc::REG_RIP as usize];
        let count = TRACE.count.fetch_add(1, Ordering::Relaxed);
        if count < TRACED {
            TRACE
                .addresses
                .get()
                .cast::<u64>()
                .add(count)
                .write(address as u64);
        }
    }
}

/// Runs `call` with the trap flag set.
fn stepped<A, R>(argument: A, call: impl FnOnce(A) -> R) -> R {
    // SAFETY: a handler that is fit to be one, of the kind the flag asks for.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = trapped as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(
            libc::sigaction(libc::SIGTRAP, &raw const action, core::ptr::null_mut()),
            0
        );
    }
    TRACE.count.store(0, Ordering::Relaxed);
    let argument = std::hint::black_box(argument);
    // SAFETY: the flag makes the processor trap, which is handled, and
    // changes nothing else. The stack is not used below its pointer: the
    // function is not a leaf.
    unsafe {
        core::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        let result = call(argument);
        core::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq");
        result
    }
}
