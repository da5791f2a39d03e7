//! Pages of the operating system.
//!
//! | file | what |
//! |---|---|
//! | `options.rs` | what can be asked of pages, and what may be missing: plain data, on every system |
//! | `system.rs` | pages of Linux for one container or allocator, cut into blocks; the one that `source.rs` uses |
//! | `mapping.rs` | mapped memory: mapped, made accessible, populated, unmapped |
//! | `part.rs` | whole pages of mapped memory that are not in use: the calls of the system for them |
//! | `region.rs` | blocks cut from a larger piece of memory |
//! | `node.rs` | on which memory node pages lie |
//! | `range.rs` | ranges of addresses, in which a container grows in place |
//! | `kernel_files.rs` | the sizes of pages, and the state of mapped areas, as files of the kernel have them |

#[cfg(all(feature = "os-memory", target_os = "linux"))]
pub(crate) mod kernel_files;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
mod mapping;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
pub(crate) mod node;
#[cfg_attr(
    not(feature = "alloc"),
    allow(
        dead_code,
        unreachable_pub,
        reason = "errors name what only builders ask for"
    )
)]
pub(crate) mod options;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
mod part;
#[cfg(feature = "alloc")]
pub(crate) mod range;
#[cfg(any(
    all(test, feature = "alloc"),
    all(feature = "os-memory", target_os = "linux")
))]
mod region;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
pub(crate) mod system;
