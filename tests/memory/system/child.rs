//! Tests in a process of their own, whose limits they may lower, and what the system
//! says about this process.

use std::env;
use std::fs;
use std::process::Command;

/// Bytes of addresses that a process can reserve, and far more than it may use here.
#[cfg(target_pointer_width = "64")]
pub(crate) const ADDRESSES: usize = 1 << 34;
#[cfg(not(target_pointer_width = "64"))]
pub(crate) const ADDRESSES: usize = 1 << 30;

/// Runs `f` in a process of its own: this test binary with that one test, which comes
/// here again.
#[track_caller]
pub(crate) fn in_child(test: &str, f: impl FnOnce()) {
    const NAME: &str = "FLATSLAB_TEST_IN_CHILD";
    if env::var(NAME).is_ok_and(|name| name == test) {
        return f();
    }
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([test, "--exact", "--test-threads=1", "--nocapture"]);
    let output = child.env(NAME, test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(
        said.contains("1 passed"),
        "no test of that name: {test}\n{said}"
    );
}

fn set_limit(resource: libc::__rlimit_resource_t, most: libc::rlim_t) {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: a limit to read.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const limit) }, 0);
}

/// From now on this thread may lock no memory, even if it is root's.
pub(crate) fn forbid_locking() {
    set_limit(libc::RLIMIT_MEMLOCK, 0);
    const VERSION_3: u32 = 0x2008_0522;
    const IPC_LOCK: u32 = 14;
    let mut header = [VERSION_3, 0];
    // Effective, permitted, inheritable; then the same of the higher ones.
    let mut sets = [0_u32; 6];
    // SAFETY: header and sets as the kernel's `capget` has them.
    unsafe {
        let (header, sets) = (header.as_mut_ptr(), sets.as_mut_ptr());
        assert_eq!(libc::syscall(libc::SYS_capget, header, sets), 0);
        for set in 0..2 {
            *sets.add(set) &= !(1 << IPC_LOCK);
        }
        assert_eq!(libc::syscall(libc::SYS_capset, header, sets), 0);
    }
}

/// From now on this process may have so many bytes of addresses more.
pub(crate) fn forbid_more_than(bytes: usize) {
    set_limit(libc::RLIMIT_AS, (address_space() + bytes) as libc::rlim_t);
}

/// Bytes of addresses of this process.
pub(crate) fn address_space() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').next().unwrap().parse().unwrap();
    pages * 4096
}

/// How many mappings this process has. Their sizes would tell of the allocator too.
pub(crate) fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .count()
}

/// Page faults of this thread that needed no disk, so far.
#[allow(clippy::useless_conversion, reason = "32 bits where pointers have 32")]
pub(crate) fn minor_faults() -> i64 {
    // SAFETY: plain numbers, which the call fills in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_minflt.into()
    }
}

/// The minor faults of `f` on this thread, at the fewest of three times: a page of the
/// stack or of the program may be new.
pub(crate) fn fewest_faults(mut f: impl FnMut()) -> i64 {
    minor_faults();
    let mut once = || {
        let before = minor_faults();
        f();
        minor_faults() - before
    };
    [once(), once(), once()].into_iter().min().unwrap()
}

/// The minor faults of `f` on this thread.
pub(crate) fn faults(f: impl FnOnce()) -> i64 {
    let before = minor_faults();
    f();
    minor_faults() - before
}
