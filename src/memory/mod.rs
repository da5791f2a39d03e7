//! The source of the memory of a container: huge pages, locked pages, a memory node, or memory
//! of your own.
//!
//! A program with a large working set waits for the processor's address cache and for page faults,
//! not for the instructions of an insertion. [`Pages`] sets where the memory comes from. It is an
//! option of every builder, and [`memory`](crate::TrackedSlab::memory) reports what was obtained.
//! Memory of your own is a [`MemorySource`], which [`Pages::from_source`] takes. A `Region` is one
//! block of memory for several containers, to be registered with the kernel or a device (feature
//! `std`).
//!
//! ```
//! use flatslab::BoundedSlab;
//! use flatslab::memory::{HugePages, Lock, Pages};
//!
//! let pages = Pages::new().huge(HugePages::Try).lock(Lock::Try);
//! let slab = BoundedSlab::<[u64; 8]>::builder().capacity(10_000).pages(pages).try_build()?;
//! println!("{}", slab.memory());
//! # Ok::<(), flatslab::BuildError>(())
//! ```
//!
//! If an option is unavailable, `Try` lists it in the report, and `Require` is an error. The
//! options need Linux and the feature `os-memory`. Elsewhere `Try` uses the global allocator, and
//! `Require` is [`BuildError::Unsupported`].
//!
//! # What it costs
//!
//! If one of the options is set, the memory is mapped from the system, and populated when it is
//! allocated. So all page faults happen at construction, or when a growing container adds a chunk.
//! Clearing a huge page of 2 MiB takes about half a millisecond, once for all the chunks in it.
//! [`reserve`](crate::Slab::reserve) does this in advance, and
//! [`spare_chunks`](crate::Builder::spare_chunks) on another thread. A container has mappings of its
//! own, of at least 2 MiB with huge pages. For many small containers use one `PageAllocator` for all
//! of them, through `FromAllocator` (feature `allocator-api2`).
//!
//! # Setting up a machine
//!
//! The gain of each step was measured on the machine that `BENCHMARKS.md`, "Pages", names.
//!
//! 1. `cat /sys/kernel/mm/transparent_hugepage/enabled`: with `[madvise]` or `[always]`,
//!    [`HugePages::Transparent`] and [`HugePages::Try`] work without further steps. A random access
//!    whose result the program waits for takes a fifth to a third less time in a slab of 80 MiB,
//!    and two fifths to a half less in one of 640 MiB. The p99.9 of insertions that grow a
//!    [`KeySlab`](crate::KeySlab) falls to a hundredth; the longest of them is longer, because it
//!    clears huge pages.
//! 2. `sysctl vm.nr_hugepages=512` sets 1 GiB of explicit huge pages aside, best at boot, before
//!    memory is fragmented; [`HugePages::Require`] takes them. They are no faster than transparent
//!    ones, but reliable.
//! 3. `ulimit -l`, or `LimitMEMLOCK=` of systemd, is the most that [`Lock`] may lock, unless the
//!    program has `CAP_IPC_LOCK`. Locking has no effect until the machine swaps.
//! 4. `numactl --hardware` lists the [`Node`]s; choose the one of the core that you pin the program
//!    to. The gain was not measured: that machine has one node.
//! 5. Create large containers before you pin and start: populating memory takes a third to half a
//!    second per gigabyte. A page that is not populated costs two microseconds at its first use, or
//!    half a millisecond if it is huge.
//! 6. Prefetch: with [`prefetch`](crate::TrackedSlab::prefetch) four accesses ahead, an access
//!    whose result the program waits for takes three fifths of the time in a slab of 640 MiB, and
//!    a quarter in huge pages.
//! 7. Print [`Report`]s at start-up: they say which options were obtained.
//!
//! # After `fork`
//!
//! Parent and child share the pages until one of them writes. Then the first write to each page
//! faults, even in steady operation. A child of a process with several threads should only `exec`:
//! a lock that another thread held during the fork is never released.

// `allocator.rs`: `PageAllocator` and `FromAllocator`; `region.rs`: `Region`. This file is the interface of `raw/`.

#![allow(
    clippy::disallowed_types,
    reason = "the `Arc` is the user's, who has allocated it"
)]

#[cfg(feature = "allocator-api2")]
mod allocator;
pub(crate) mod array;
#[cfg(feature = "std")]
mod region;

use alloc::sync::Arc;
use core::fmt;

#[cfg(feature = "allocator-api2")]
#[cfg_attr(docsrs, doc(cfg(feature = "allocator-api2")))]
pub use allocator::{FromAllocator, PageAllocator};
/// The version of the `Allocator` trait that a [`PageAllocator`] implements, for collections that
/// do not have their own.
#[cfg(feature = "allocator-api2")]
#[cfg_attr(docsrs, doc(cfg(feature = "allocator-api2")))]
#[doc(no_inline)]
pub use allocator_api2;

#[cfg(feature = "std")]
pub use region::Region;

use crate::error::BuildError;
use crate::raw::pages::options::Request;
#[cfg(all(feature = "os-memory", target_os = "linux"))]
use crate::raw::pages::system::System;
use crate::raw::source::{Kind, Source};

pub use crate::raw::pages::options::{HugePages, Lock, Node, PageOption, Reason, Shortfall};
pub use crate::raw::report::Report;
pub use crate::raw::source::MemorySource;

/// The source of the memory of a container: an option of every builder.
///
/// [`Pages::new`] is the global allocator, and [`from_source`](Self::from_source) memory of your
/// own. If an option is set, the memory is mapped from the system and populated.
///
/// # Examples
///
/// ```
/// use flatslab::KeySlab;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Transparent);
/// let mut slab = KeySlab::<u64>::builder().reserve(10_000).pages(pages).try_build()?;
/// let key = slab.insert(7);
/// assert_eq!(slab[key], 7);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "pages do nothing before a builder gets them"]
pub struct Pages {
    request: Request,
    system: bool,
    source: Option<Arc<dyn MemorySource>>,
}

impl Pages {
    /// Creates options with their defaults: memory of the global allocator.
    ///
    /// If one of the other methods sets an option, the memory is from the system.
    ///
    /// ```
    /// use flatslab::memory::Pages;
    ///
    /// let slab = flatslab::Slab::<u64>::builder().pages(Pages::new()).build();
    /// # drop(slab);
    /// ```
    pub const fn new() -> Self {
        Pages {
            request: Request {
                huge: HugePages::No,
                lock: Lock::No,
                node: Node::Any,
            },
            system: false,
            source: None,
        }
    }

    /// Creates options for memory that the system maps and populates for this container alone.
    ///
    /// Its pages have the usual size unless an option says otherwise. If the crate has no access to
    /// the system's pages, a builder returns [`BuildError::Unsupported`].
    ///
    /// ```
    /// use flatslab::memory::Pages;
    ///
    /// let built = flatslab::Slab::<u64>::builder().pages(Pages::system()).try_build();
    /// assert_eq!(built.is_ok(), cfg!(all(feature = "os-memory", target_os = "linux")));
    /// ```
    pub const fn system() -> Self {
        let mut pages = Self::new();
        pages.system = true;
        pages
    }

    /// Creates options for memory of your own.
    ///
    /// The options concern the system's pages: with them a builder returns
    /// [`BuildError::Unsupported`] for `Require`, and reports a shortfall for `Try`.
    ///
    /// See [`MemorySource`] for an example.
    pub fn from_source(source: Arc<dyn MemorySource>) -> Self {
        let mut pages = Self::new();
        pages.source = Some(source);
        pages
    }

    /// Sets whether the memory is in huge pages.
    ///
    /// ```
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Try);
    /// # drop(pages);
    /// ```
    pub fn huge(mut self, huge: HugePages) -> Self {
        self.request.huge = huge;
        self
    }

    /// Sets whether the memory is locked.
    ///
    /// ```
    /// use flatslab::memory::{Lock, Pages};
    ///
    /// let pages = Pages::new().lock(Lock::Try);
    /// # drop(pages);
    /// ```
    pub fn lock(mut self, lock: Lock) -> Self {
        self.request.lock = lock;
        self
    }

    /// Sets the memory node of the memory.
    ///
    /// ```
    /// use flatslab::memory::{Node, Pages};
    ///
    /// let pages = Pages::new().numa_node(Node::Try(0));
    /// # drop(pages);
    /// ```
    pub fn numa_node(mut self, node: Node) -> Self {
        self.request.node = node;
        self
    }

    /// The source of a new container.
    ///
    /// # Errors
    ///
    /// If a required option is not supported, or the global allocator refuses the memory for the
    /// source's own record.
    pub(crate) fn into_source(self) -> Result<Source, BuildError> {
        match self.into_kind()? {
            None => Ok(Source::GLOBAL),
            Some(kind) => Ok(Source::try_new(kind)?),
        }
    }

    /// The kind of source, or `None` if it is just the global allocator.
    fn into_kind(self) -> Result<Option<Kind>, BuildError> {
        let Pages {
            request,
            system,
            source,
        } = self;
        if let Some(foreign) = source {
            let shortfalls = (request.unsupported(false)).map_err(BuildError::Unsupported)?;
            return Ok(Some(Kind::Foreign(foreign, shortfalls)));
        }
        if !system && request == Request::default() {
            return Ok(None);
        }
        #[cfg(all(feature = "os-memory", target_os = "linux"))]
        let kind = Kind::System(System::new(request));
        #[cfg(not(all(feature = "os-memory", target_os = "linux")))]
        let kind = Kind::Without((request.unsupported(system)).map_err(BuildError::Unsupported)?);
        Ok(Some(kind))
    }

    /// Whether huge pages that were set aside are required, which are never committed gradually.
    pub(crate) fn requires_explicit(&self) -> bool {
        self.request.huge == HugePages::Require
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("huge", &self.request.huge)
            .field("lock", &self.request.lock)
            .field("numa_node", &self.request.node)
            .field("system", &self.system)
            .field("source", &self.source.is_some())
            .finish()
    }
}
