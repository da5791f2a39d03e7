//! The options of a `SharedSlab`.

use super::SharedSlab;
use crate::builder::{Build, Builder};
use crate::error::BuildError;
use crate::memory::Pages;

/// What a builder of shared slabs has set.
#[derive(Clone, Debug)]
pub struct Options {
    capacity: usize,
    wraps: bool,
}

impl<T> SharedSlab<T> {
    /// A builder of a slab: its capacity, and where its memory comes from.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::builder().capacity(100).build();
    /// assert_eq!(slab.capacity(), 100);
    /// ```
    pub const fn builder() -> Builder<Self> {
        Builder::new(Options {
            capacity: 0,
            wraps: false,
        })
    }
}

impl<T> Build for SharedSlab<T> {
    type Options = Options;

    fn try_build(options: Options, pages: Pages) -> Result<Self, BuildError> {
        let source = pages.into_source()?;
        let mut slab = SharedSlab::try_new_in(options.capacity, &source)?;
        slab.wraps = options.wraps;
        Ok(slab)
    }
}

/// Options of a [`SharedSlab`].
///
/// [`build`](Self::build) is O(capacity), and panics as
/// [`with_capacity`](SharedSlab::with_capacity). The [pages](Pages) are those of the cells and of
/// the map of the free ones; the system's are all touched when the slab is made.
///
/// ```
/// use flatslab::memory::{HugePages, Pages};
/// use flatslab::sync::SharedSlab;
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let slab = SharedSlab::<u64>::builder().capacity(100).pages(pages).try_build()?;
/// assert_eq!(slab.capacity(), 100);
/// assert!(SharedSlab::<u64>::builder().capacity(1 << 30).try_build().is_err());
/// # Ok::<(), flatslab::BuildError>(())
/// ```
impl<T> Builder<SharedSlab<T>> {
    /// Number of slots; 0 by default.
    ///
    /// ```
    /// let slab = flatslab::sync::SharedSlab::<u64>::builder().capacity(8).build();
    /// assert_eq!(slab.capacity(), 8);
    /// ```
    pub const fn capacity(mut self, slots: usize) -> Self {
        self.options.capacity = slots;
        self
    }

    /// Lets generations wrap: a slot that has used its last one begins with the first one again,
    /// instead of being [retired](SharedSlab::retired_slots). See
    /// [how long a slab lasts](SharedSlab#how-long-a-slab-lasts).
    ///
    /// ```
    /// use flatslab::sync::SharedSlab;
    ///
    /// let slab = SharedSlab::<u64>::builder().capacity(8).wrapping_generations().build();
    /// assert!(slab.insert(7).is_ok());
    /// ```
    pub const fn wrapping_generations(mut self) -> Self {
        self.options.wraps = true;
        self
    }
}
