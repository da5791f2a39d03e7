//! Emptying the caches of the process's data.

use core::arch::x86_64::{_mm_clflush, _mm_mfence};
use core::ops::Range;

/// The memory that a flush goes over: the pages that the process may write to
/// and has touched, its stack left out. No subject has to say where it keeps its
/// data.
pub struct Flusher {
    regions: Vec<Range<usize>>,
}

const LINE: usize = 64;
const PAGE: usize = 4096;

impl Flusher {
    /// A flusher of the memory that is in use now.
    ///
    /// # Panics
    ///
    /// If the system does not say what is, or it is more than a measurement can
    /// go over between two operations.
    #[must_use]
    pub fn of_memory_in_use() -> Self {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the process's own mappings");
        let regions: Vec<_> = maps
            .lines()
            .filter_map(writable_data)
            .flat_map(|region| touched(&region))
            .collect();
        let bytes: usize = regions.iter().map(ExactSizeIterator::len).sum();
        assert!(
            bytes < 1 << 28,
            "{bytes} bytes are in use: too many to flush for every operation"
        );
        Flusher { regions }
    }

    /// Puts the process's data, and `subject` itself, out of all caches.
    #[inline(never)]
    pub fn flush<S>(&self, subject: &S) {
        let own = core::ptr::from_ref(subject).addr();
        let own = own..own + size_of::<S>();
        for region in self.regions.iter().chain([&own]) {
            let first = region.start & !(LINE - 1);
            for line in (first..region.end).step_by(LINE) {
                // SAFETY: mapped memory of this process; a flush changes no
                // byte of it.
                unsafe { _mm_clflush(core::ptr::with_exposed_provenance(line)) };
            }
        }
        // SAFETY: a fence.
        unsafe { _mm_mfence() };
    }
}

/// The addresses of a line of the mappings that is data and not a stack.
fn writable_data(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (addresses, permissions) = (fields.next()?, fields.next()?);
    let name = fields.nth(3).unwrap_or("");
    if !permissions.starts_with("rw") || name.starts_with("[stack") || name.starts_with("[v") {
        return None;
    }
    let (start, end) = addresses.split_once('-')?;
    let address = |hex| usize::from_str_radix(hex, 16).ok();
    Some(address(start)?..address(end)?)
}

/// Those pages of a region that there is memory behind.
fn touched(region: &Range<usize>) -> Vec<Range<usize>> {
    let mut resident = vec![0; region.len().div_ceil(PAGE)];
    let start = core::ptr::with_exposed_provenance_mut(region.start);
    // SAFETY: it writes a byte for each page, of which there are so many.
    let answer = unsafe { libc::mincore(start, region.len(), resident.as_mut_ptr()) };
    assert_eq!(
        answer, 0,
        "the system does not say which pages are in memory"
    );
    let pages = resident.iter().enumerate();
    pages
        .filter(|&(_, resident)| resident & 1 == 1)
        .map(|(page, _)| {
            let first = region.start + page * PAGE;
            first..first + PAGE
        })
        .collect()
}
