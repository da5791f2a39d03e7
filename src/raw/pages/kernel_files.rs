//! The sizes of pages, and what the system says about pages in use: read from
//! its files, without an allocation.

use rustix::fd::OwnedFd;
use rustix::fs::{self, Mode, OFlags};

/// Sizes of pages in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSizes {
    pub(crate) usual: usize,
    /// Of a transparent huge page, where the system has them.
    pub(crate) transparent: Option<usize>,
    /// Whether the system gives no transparent huge page to anyone.
    pub(crate) transparent_off: bool,
    /// Of a huge page that an administrator sets aside, if no size is named.
    pub(crate) explicit: Option<usize>,
}

impl PageSizes {
    pub(crate) fn read() -> Self {
        let mut size = [0; 32];
        let mut enabled = [0; 64];
        PageSizes {
            usual: rustix::param::page_size(),
            transparent: small_file(TRANSPARENT_SIZE, &mut size)
                .and_then(|text| number(text.trim_ascii()))
                .filter(|size| size.is_power_of_two()),
            transparent_off: small_file(TRANSPARENT_ENABLED, &mut enabled)
                .is_some_and(|text| text.windows(7).any(|word| word == b"[never]")),
            explicit: explicit_size().filter(|size| size.is_power_of_two()),
        }
    }
}

/// Whether the system gives pages between the usual ones and those of 2 MiB to memory that is
/// advised to have large ones.
#[cfg_attr(
    any(miri, not(target_pointer_width = "64")),
    allow(dead_code, reason = "there are no ranges")
)]
pub(crate) fn gives_middle_pages() -> bool {
    let gives = |path: &str, word: &[u8]| {
        let text = &mut [0; 64];
        small_file(path, text).is_some_and(|text| text.windows(word.len()).any(|w| w == word))
    };
    MIDDLE_ENABLED.iter().any(|path| {
        gives(path, b"[madvise]")
            || gives(path, b"[inherit]") && gives(TRANSPARENT_ENABLED, b"[madvise]")
    })
}

/// Of 64 KiB to 1 MiB.
#[cfg_attr(
    any(miri, not(target_pointer_width = "64")),
    allow(dead_code, reason = "as above")
)]
const MIDDLE_ENABLED: [&str; 5] = [
    "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
    "/sys/kernel/mm/transparent_hugepage/hugepages-128kB/enabled",
    "/sys/kernel/mm/transparent_hugepage/hugepages-256kB/enabled",
    "/sys/kernel/mm/transparent_hugepage/hugepages-512kB/enabled",
    "/sys/kernel/mm/transparent_hugepage/hugepages-1024kB/enabled",
];

const TRANSPARENT_SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
const TRANSPARENT_ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// `Hugepagesize:       2048 kB` of `/proc/meminfo`.
fn explicit_size() -> Option<usize> {
    let mut size = None;
    each_line("/proc/meminfo", |line| {
        size = size.or(kibibytes(line, b"Hugepagesize:"));
    })?;
    size
}

/// The bytes of a line `name: number kB`, if it is that line.
pub(crate) fn kibibytes(line: &[u8], name: &[u8]) -> Option<usize> {
    let rest = line.strip_prefix(name)?.trim_ascii();
    number(rest.strip_suffix(b"kB")?.trim_ascii())?.checked_mul(1024)
}

fn number(digits: &[u8]) -> Option<usize> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

fn open(path: &str) -> Option<OwnedFd> {
    let mut terminated = [0_u8; 128];
    terminated
        .get_mut(..path.len())?
        .copy_from_slice(path.as_bytes());
    let path = core::ffi::CStr::from_bytes_until_nul(&terminated).ok()?;
    fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// A file that fits into the buffer.
fn small_file<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = open(path)?;
    let read = rustix::io::read(&file, &mut *buffer).ok()?;
    Some(&buffer[..read])
}

/// Calls `f` with each line of a file, of long ones with their first bytes.
pub(crate) fn each_line(path: &str, mut f: impl FnMut(&[u8])) -> Option<()> {
    let file = open(path)?;
    let mut buffer = [0_u8; 4096];
    let mut line = [0_u8; 160];
    let mut length = 0;
    loop {
        let read = match rustix::io::read(&file, &mut buffer[..]) {
            Err(rustix::io::Errno::INTR) => continue,
            read => read.ok()?,
        };
        if read == 0 {
            break;
        }
        for &byte in &buffer[..read] {
            if byte == b'\n' {
                f(&line[..length]);
                length = 0;
            } else if let Some(place) = line.get_mut(length) {
                *place = byte;
                length += 1;
            }
        }
    }
    if length > 0 {
        f(&line[..length]);
    }
    Some(())
}

/// What the system says about a range of addresses that it maps in one way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Area {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) resident: usize,
    pub(crate) locked: usize,
    /// In huge pages of either kind.
    pub(crate) huge: usize,
}

/// Calls `f` with each area of this process's memory; O(areas), and the system
/// looks at every page.
pub(crate) fn each_area(mut f: impl FnMut(Area)) -> Option<()> {
    let mut area: Option<Area> = None;
    each_line("/proc/self/smaps", |line| {
        if let Some((start, end)) = range(line) {
            if let Some(area) = area.take() {
                f(area);
            }
            area = Some(Area {
                start,
                end,
                ..Area::default()
            });
        } else if let Some(area) = &mut area {
            if let Some(bytes) = kibibytes(line, b"Rss:") {
                area.resident += bytes;
            } else if let Some(bytes) = kibibytes(line, b"AnonHugePages:") {
                area.huge += bytes;
            } else if let Some(bytes) = kibibytes(line, b"Private_Hugetlb:") {
                // Never swapped, locked or not.
                area.huge += bytes;
                area.resident += bytes;
                area.locked += bytes;
            } else if let Some(bytes) = kibibytes(line, b"Locked:") {
                area.locked += bytes;
            }
        }
    })?;
    if let Some(area) = area {
        f(area);
    }
    Some(())
}

/// `7f00-7f80 rw-p …`, the first line of an area.
fn range(line: &[u8]) -> Option<(usize, usize)> {
    let line = core::str::from_utf8(line).ok()?;
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    Some((address(start)?, address(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "reads files of the kernel")]
    fn the_sizes_are_powers_of_two_in_order() {
        let sizes = PageSizes::read();
        assert!(sizes.usual.is_power_of_two());
        for larger in [sizes.transparent, sizes.explicit].into_iter().flatten() {
            assert!(larger.is_power_of_two() && larger > sizes.usual);
        }
    }

    #[test]
    fn an_areas_first_line_is_told_from_the_others() {
        assert_eq!(
            range(b"7f12-7f34 rw-p 00000000 00:00 0 "),
            Some((0x7f12, 0x7f34))
        );
        assert_eq!(range(b"Rss:                 764 kB"), None);
        assert_eq!(range(b""), None);
        assert_eq!(kibibytes(b"Rss:       764 kB", b"Rss:"), Some(764 << 10));
        assert_eq!(kibibytes(b"Rss:       764 kB", b"Pss:"), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files of the kernel")]
    fn this_function_lies_in_an_area() {
        let here = this_function_lies_in_an_area as fn() as usize;
        let mut found = 0;
        each_area(|area| found += usize::from((area.start..area.end).contains(&here))).unwrap();
        assert_eq!(found, 1);
    }
}
