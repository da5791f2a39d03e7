//! Reports on memory: what a container asked for, and what the system says.

use core::fmt;

use super::pages::options::{Shortfall, Shortfalls};
use super::pages::range::{self, MOST_RANGES};
use super::source::{Kind, Source};
use crate::error::Amount;

/// A report on the memory of a container or an allocator, and on which of the
/// requested page options were obtained.
///
/// The figures of pages come from the system, at the time of the call, and are
/// `None` for memory of the global allocator or of a
/// [`MemorySource`](crate::memory::MemorySource). They count whole pages, including
/// those of clones that share them.
///
/// # Examples
///
/// ```
/// use flatslab::BoundedSlab;
///
/// let slab = BoundedSlab::<u64>::with_capacity(1000);
/// let memory = slab.memory();
/// assert!(memory.bytes() >= 1000 * (8 + 8 + 8)); // value, key and state, free stack
/// assert_eq!(memory.resident_bytes(), None);
/// assert_eq!(memory.shortfalls().count(), 0);
/// println!("{memory}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    bytes: usize,
    origin: Origin,
    shortfalls: Shortfalls,
    pages: Option<Mapped>,
    range: Option<ReservedRange>,
}

/// The range of addresses that a container grows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReservedRange {
    bytes: usize,
    /// Of the process, at the time of the report.
    ranges: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Allocator,
    Foreign,
    #[cfg(all(feature = "os-memory", target_os = "linux"))]
    System,
}

/// What the system says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mapped {
    bytes: usize,
    resident: usize,
    locked: usize,
    huge: usize,
    explicit: usize,
    usual_page: usize,
    huge_page: Option<usize>,
    node: Option<u32>,
}

impl Report {
    /// The report on an owner of so many bytes from that source.
    pub(crate) fn new(bytes: usize, source: &Source) -> Self {
        let mut report = Report {
            bytes,
            origin: Origin::Allocator,
            shortfalls: Shortfalls::NONE,
            pages: None,
            range: None,
        };
        match source.kind() {
            None => {}
            Some(Kind::Without(shortfalls)) => report.shortfalls = *shortfalls,
            Some(Kind::Foreign(_, shortfalls)) => {
                report.origin = Origin::Foreign;
                report.shortfalls = *shortfalls;
            }
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            Some(Kind::System(system)) => {
                report.origin = Origin::System;
                report.shortfalls = system.shortfalls();
                report.pages = Mapped::read(system);
            }
        }
        report
    }

    /// The same of a container with this many bytes more from the same source.
    #[cfg(feature = "alloc")]
    pub(crate) fn and_bytes(self, bytes: usize) -> Self {
        Report {
            bytes: self.bytes + bytes,
            ..self
        }
    }

    /// The same of a container in a range of so many bytes, if it is in one.
    pub(crate) fn in_range(self, bytes: Option<usize>) -> Self {
        let range = bytes.map(|bytes| ReservedRange {
            bytes,
            ranges: range::count(),
        });
        Report { range, ..self }
    }

    /// Returns the bytes of the range of addresses in which the container
    /// [grows](crate::KeySlab::builder), committed or not; `None` if it does not grow in one.
    #[must_use]
    pub fn range_bytes(&self) -> Option<usize> {
        Some(self.range?.bytes)
    }

    /// Returns the bytes that the container has allocated: for values, for the state of its slots,
    /// for its free stack and its tables. Of reserved memory, only committed bytes count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes of the accessible pages of the system, including unused ones that a
    /// growing container holds. Address space that is only reserved does not count.
    #[must_use]
    pub fn mapped_bytes(&self) -> Option<usize> {
        Some(self.pages?.bytes)
    }

    /// Returns the bytes that are in memory now, and are accessed without a page fault.
    #[must_use]
    pub fn resident_bytes(&self) -> Option<usize> {
        Some(self.pages?.resident)
    }

    /// Returns the bytes that are never written to a swap file: in locked pages, and in explicit
    /// huge pages.
    #[must_use]
    pub fn locked_bytes(&self) -> Option<usize> {
        Some(self.pages?.locked)
    }

    /// Returns the bytes in huge pages, explicit or transparent.
    #[must_use]
    pub fn huge_bytes(&self) -> Option<usize> {
        Some(self.pages?.huge)
    }

    /// Returns the size of the pages in bytes: of huge pages if at least half of the resident bytes
    /// are in them.
    #[must_use]
    pub fn page_size(&self) -> Option<usize> {
        let pages = self.pages?;
        match pages.huge_page {
            Some(size) if pages.huge > 0 && 2 * pages.huge >= pages.resident => Some(size),
            _ => Some(pages.usual_page),
        }
    }

    /// Returns the memory node of the first page, if the machine has nodes.
    #[must_use]
    pub fn node(&self) -> Option<u32> {
        self.pages?.node
    }

    /// Iterates over the figures that are known: pairs of a name and a value. All are current
    /// values (gauges).
    ///
    /// The names are those of the methods. `shortfalls` is the number of page options that were not
    /// obtained.
    ///
    /// ```
    /// let slab = flatslab::BoundedSlab::<u64>::with_capacity(1000);
    /// for (name, value) in slab.memory().iter() {
    ///     println!("slab_memory_{name} {value}");
    /// }
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        [
            ("bytes", Some(self.bytes())),
            ("range_bytes", self.range_bytes()),
            ("mapped_bytes", self.mapped_bytes()),
            ("resident_bytes", self.resident_bytes()),
            ("locked_bytes", self.locked_bytes()),
            ("huge_bytes", self.huge_bytes()),
            ("page_size", self.page_size()),
            ("shortfalls", Some(self.shortfalls().count())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value? as u64)))
    }

    /// Iterates over the page options that were requested and not obtained, each at most once.
    pub fn shortfalls(&self) -> impl Iterator<Item = Shortfall> + use<> {
        self.shortfalls.iter()
    }
}

#[cfg(all(feature = "os-memory", target_os = "linux"))]
impl Mapped {
    fn read(system: &super::pages::system::System) -> Option<Self> {
        let sizes = system.sizes();
        let mut pages = Mapped {
            usual_page: sizes.usual,
            huge_page: sizes.transparent,
            ..Mapped::default()
        };
        let mut first = None;
        system.each_mapping(|mapping| {
            first = first.or(Some(mapping.start.addr().get()));
            pages.bytes += mapping.ready;
            if mapping.explicit {
                pages.explicit += mapping.ready;
            }
        });
        if pages.explicit > 0 {
            pages.huge_page = sizes.explicit;
        }
        super::pages::kernel_files::each_area(|area| {
            let mut ours = false;
            system.each_mapping(|mapping| {
                let start = mapping.start.addr().get();
                ours |= start <= area.start && area.end <= start + mapping.bytes;
            });
            if ours {
                pages.resident += area.resident;
                pages.locked += area.locked;
                pages.huge += area.huge;
            }
        })?;
        pages.node = first.and_then(super::pages::node::node_of);
        Some(pages)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Bytes(self.bytes))?;
        match self.origin {
            Origin::Allocator => match self.range {
                None => f.write_str(" of the global allocator")?,
                Some(range) => {
                    let ReservedRange { bytes, ranges } = range;
                    write!(
                        f,
                        " in a range of {}, one of {ranges} (at most {MOST_RANGES})",
                        Bytes(bytes)
                    )?;
                }
            },
            Origin::Foreign => f.write_str(" of a memory source")?,
            #[cfg(all(feature = "os-memory", target_os = "linux"))]
            Origin::System => f.write_str(" of the system's pages")?,
        }
        if let Some(pages) = self.pages {
            write!(f, ": {} mapped", Bytes(pages.bytes))?;
            write!(f, ", {} resident", Bytes(pages.resident))?;
            write!(f, ", {} in huge pages", Bytes(pages.huge))?;
            if let (Some(size), true) = (pages.huge_page, pages.huge > 0) {
                let kind = match pages.explicit {
                    0 => "transparent",
                    all if all >= pages.huge => "explicit",
                    _ => "explicit and transparent",
                };
                write!(f, " of {} ({kind})", Bytes(size))?;
            }
            write!(f, ", {} locked", Bytes(pages.locked))?;
            if let Some(node) = pages.node {
                write!(f, ", node {node}")?;
            }
        }
        for (index, shortfall) in self.shortfalls.iter().enumerate() {
            f.write_str(if index == 0 { "; not obtained: " } else { "; " })?;
            write!(f, "{shortfall}")?;
        }
        Ok(())
    }
}

/// Prints bytes in the largest unit that leaves a number of three digits or
/// four.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let step = (self.0.checked_ilog2().unwrap_or(0) / 10) as usize;
        if step == 0 {
            return Amount::bytes(self.0).fmt(f);
        }
        let whole = self.0 >> (10 * step);
        let tenths = ((self.0 >> (10 * (step - 1))) & 1023) * 10 / 1024;
        match tenths {
            0 => write!(f, "{whole} {}", units[step]),
            _ => write!(f, "{whole}.{tenths} {}", units[step]),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn bytes_are_printed_in_a_fitting_unit() {
        let printed = [0, 1023, 1024, 1536, 2 << 20, (3 << 30) + (1 << 29)];
        let printed = printed.map(|bytes| Bytes(bytes).to_string());
        let expected = [
            "0 bytes",
            "1023 bytes",
            "1 KiB",
            "1.5 KiB",
            "2 MiB",
            "3.5 GiB",
        ];
        assert_eq!(printed, expected);
    }
}
