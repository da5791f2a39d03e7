//! What can be asked of the operating system's pages, and what may be missing
//! of it. Plain data: `system.rs` asks, and [`Pages`](crate::memory::Pages)
//! offers it to users.

use core::fmt;

/// The option to use huge pages for the memory of a container. They need fewer entries of the
/// processor's address cache: one for 2 MiB instead of 512.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HugePages {
    /// Pages of the usual size.
    #[default]
    No,
    /// Transparent huge pages: the system uses huge pages where it has some, and needs no setup.
    /// [`Report::huge_bytes`](crate::memory::Report::huge_bytes) returns how many it used.
    Transparent,
    /// Explicit huge pages, which an administrator has reserved. If there are not enough, transparent
    /// huge pages are used, and the report says so.
    Try,
    /// Explicit huge pages, or an error if there are not enough.
    Require,
}

/// The option to lock the memory of a container: locked memory is never written to a swap file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lock {
    /// The memory is not locked.
    #[default]
    No,
    /// The memory is locked if the system permits it; otherwise the report says why not.
    Try,
    /// The memory is locked, or an error if the system does not permit it.
    Require,
}

/// The memory node of a container's memory, on a machine that has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Node {
    /// The node that the system chooses: usually that of the thread that touches a page first.
    #[default]
    Any,
    /// The node with this number if it has room. If there is no such node, the report says so.
    Try(u32),
    /// The node with this number, or an error if there is no such node.
    Require(u32),
}

/// What was asked for, in one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) huge: HugePages,
    pub(crate) lock: Lock,
    pub(crate) node: Node,
}

/// An option of [`Pages`](crate::memory::Pages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageOption {
    /// Memory mapped by the system, which the other options require.
    System,
    /// [`HugePages::Transparent`], or the fallback of [`HugePages::Try`].
    TransparentHugePages,
    /// [`HugePages::Require`], or the first choice of [`HugePages::Try`].
    HugePages,
    /// A [`Lock`].
    Lock,
    /// A [`Node`] with this number.
    Node(u32),
}

impl fmt::Display for PageOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            PageOption::System => "pages of the system",
            PageOption::TransparentHugePages => "transparent huge pages",
            PageOption::HugePages => "explicit huge pages",
            PageOption::Lock => "locked memory",
            PageOption::Node(node) => return write!(f, "memory node {node}"),
        })
    }
}

/// The reason why a page option is not in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The platform does not have the option, the feature `os-memory` is off, or the memory is
    /// from a [`MemorySource`](crate::memory::MemorySource).
    Unsupported,
    /// The option is disabled in the system.
    SwitchedOff,
    /// The memory is only reserved at first, as in a lazy slab or the free stack of a growing
    /// slab. The option would have to be applied at once.
    OnlyReserved,
    /// The system returned this error number.
    Refused(i32),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Reason::Unsupported => {
                f.write_str("not supported by this platform, build or memory source")
            }
            Reason::SwitchedOff => f.write_str("disabled in the system"),
            Reason::OnlyReserved => f.write_str("not available for memory that is only reserved"),
            #[cfg(feature = "std")]
            Reason::Refused(code) => std::io::Error::from_raw_os_error(code).fmt(f),
            #[cfg(not(feature = "std"))]
            Reason::Refused(code) => write!(f, "os error {code}"),
        }
    }
}

/// A page option that was requested and is not in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shortfall {
    /// The requested option.
    pub option: PageOption,
    /// The reason why it is not in effect.
    pub reason: Reason,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option, self.reason)?;
        f.write_str(match (self.option, self.reason) {
            (PageOption::HugePages, Reason::Refused(_)) => " (vm.nr_hugepages reserves them)",
            (PageOption::Lock, Reason::Refused(_)) => " (the limit is `ulimit -l`)",
            _ => "",
        })
    }
}

/// At most one shortfall of each option, the first there was that the system is the
/// reason of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortfalls([Option<Shortfall>; 5]);

impl Shortfalls {
    pub(crate) const NONE: Self = Shortfalls([None; 5]);

    pub(crate) fn note(&mut self, option: PageOption, reason: Reason) {
        let noted = &mut self.0[match option {
            PageOption::System => 0,
            PageOption::TransparentHugePages => 1,
            PageOption::HugePages => 2,
            PageOption::Lock => 3,
            PageOption::Node(_) => 4,
        }];
        if noted.is_none_or(|noted| noted.reason == Reason::OnlyReserved) {
            *noted = Some(Shortfall { option, reason });
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Shortfall> {
        self.0.into_iter().flatten()
    }
}

impl Request {
    /// What memory that has none of this lacks.
    ///
    /// # Errors
    ///
    /// The first option that is required.
    pub(crate) fn unsupported(self, system: bool) -> Result<Shortfalls, PageOption> {
        let mut shortfalls = Shortfalls::NONE;
        let mut lacks = |option| shortfalls.note(option, Reason::Unsupported);
        if system {
            return Err(PageOption::System);
        }
        match self.huge {
            HugePages::No => {}
            HugePages::Transparent => lacks(PageOption::TransparentHugePages),
            HugePages::Try => lacks(PageOption::HugePages),
            HugePages::Require => return Err(PageOption::HugePages),
        }
        match self.lock {
            Lock::No => {}
            Lock::Try => lacks(PageOption::Lock),
            Lock::Require => return Err(PageOption::Lock),
        }
        match self.node {
            Node::Any => {}
            Node::Try(node) => lacks(PageOption::Node(node)),
            Node::Require(node) => return Err(PageOption::Node(node)),
        }
        Ok(shortfalls)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn an_option_has_one_shortfall_the_first() {
        let mut shortfalls = Shortfalls::NONE;
        let options = [
            PageOption::System,
            PageOption::TransparentHugePages,
            PageOption::HugePages,
            PageOption::Lock,
            PageOption::Node(7),
        ];
        for option in options {
            shortfalls.note(option, Reason::SwitchedOff);
            shortfalls.note(option, Reason::Unsupported);
        }
        let noted: Vec<_> = shortfalls.iter().collect();
        assert_eq!(noted.len(), 5);
        for (shortfall, option) in noted.iter().zip(options) {
            assert_eq!(
                (shortfall.option, shortfall.reason),
                (option, Reason::SwitchedOff)
            );
        }
    }
}
