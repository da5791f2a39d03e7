//! The memory node of pages: the two system calls that `rustix` lacks.

use core::ffi::{c_int, c_long, c_ulong};

use super::options::Reason;
use super::part::Part;

/// `MPOL_PREFERRED` and `MPOL_BIND` of the kernel's `mempolicy.h`.
const PREFERRED: c_int = 1;
const BIND: c_int = 2;
/// `MPOL_F_NODE | MPOL_F_ADDR`: of the page at an address, its node.
const NODE_OF_ADDRESS: c_ulong = 1 | 2;

/// Nodes that the kernel can have, at most.
const NODES: usize = 1024;
const WORD: usize = c_ulong::BITS as usize;

/// Has pages that are populated from now on lie on this node if it has room.
pub(super) fn prefer(part: &Part, node: u32) -> Result<(), Reason> {
    mbind(part, PREFERRED, node)
}

/// Has pages that are populated from now on lie on this node.
pub(super) fn bind(part: &Part, node: u32) -> Result<(), Reason> {
    mbind(part, BIND, node)
}

fn mbind(part: &Part, mode: c_int, node: u32) -> Result<(), Reason> {
    let node = node as usize;
    if node >= NODES {
        return Err(Reason::Refused(libc::EINVAL));
    }
    let mut nodes = [0 as c_ulong; NODES / WORD];
    nodes[node / WORD] |= 1 << (node % WORD);
    // SAFETY: the mask has that many bits; the call changes no byte of the pages, which are ours.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            part.place(),
            part.bytes() as c_ulong,
            mode as c_long,
            nodes.as_ptr(),
            // The kernel reads one bit less than it is told.
            (NODES + 1) as c_ulong,
            0 as c_ulong,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

/// The node on which the page at an address lies.
pub(in crate::raw) fn node_of(address: usize) -> Option<u32> {
    let mut node: c_int = -1;
    // SAFETY: without a mask the call writes the node and nothing else; it reads no
    // byte at the address.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut node,
            core::ptr::null_mut::<c_ulong>(),
            0 as c_ulong,
            address,
            NODE_OF_ADDRESS,
        )
    };
    if result == 0 {
        u32::try_from(node).ok()
    } else {
        None
    }
}

fn last_error() -> Reason {
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::ENOSYS) => Reason::Unsupported,
        Some(code) => Reason::Refused(code),
        None => Reason::Unsupported,
    }
}
