//! `Builder`: the builder type of all containers.

use core::fmt;

use crate::error::BuildError;
use crate::memory::Pages;
use crate::raw::memory;

/// Builds a container with options.
///
/// The options of each container are methods of `Builder<Container>`. The order of the calls does
/// not matter.
///
/// # Examples
///
/// ```
/// use flatslab::bytes::ByteArena;
/// use flatslab::memory::{HugePages, Pages};
///
/// let pages = Pages::new().huge(HugePages::Try);
/// let arena = ByteArena::builder().smallest(256).pages(pages).try_build()?;
/// # drop(arena);
/// # Ok::<(), flatslab::BuildError>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct Builder<C: Build> {
    pub(crate) options: C::Options,
    pages: Pages,
}

mod sealed {
    use super::{BuildError, Pages};

    /// A container that a [`Builder`](super::Builder) can build.
    pub trait Build: Sized {
        /// The options that the methods of the builder set.
        type Options: Clone + core::fmt::Debug;

        fn try_build(options: Self::Options, pages: Pages) -> Result<Self, BuildError>;
    }
}

pub(crate) use sealed::Build;

impl<C: Build> Builder<C> {
    pub(crate) const fn new(options: C::Options) -> Self {
        Builder {
            options,
            pages: Pages::new(),
        }
    }

    /// Turns this into a builder of another container with the same options.
    pub(crate) fn of<D: Build<Options = C::Options>>(self) -> Builder<D> {
        self.map(|options| options)
    }

    /// Turns this into a builder of another container, with these options.
    pub(crate) fn map<D: Build>(self, change: impl FnOnce(C::Options) -> D::Options) -> Builder<D> {
        let Builder { options, pages } = self;
        Builder {
            options: change(options),
            pages,
        }
    }

    /// Sets where the memory comes from. The default is the global allocator.
    ///
    /// ```
    /// use flatslab::bytes::ByteArena;
    /// use flatslab::memory::{HugePages, Pages};
    ///
    /// let pages = Pages::new().huge(HugePages::Try);
    /// let arena = ByteArena::builder().pages(pages).build();
    /// # drop(arena);
    /// ```
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Builds the container.
    ///
    /// # Panics
    ///
    /// Panics if an option is out of its range, or if a required page option is unavailable. If the
    /// allocator refuses, the program aborts, as with `Vec`.
    ///
    /// ```
    /// let arena = flatslab::bytes::ByteArena::builder().build();
    /// # drop(arena);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn build(self) -> C {
        match self.try_build() {
            Ok(container) => container,
            Err(error) => memory::fail(error),
        }
    }

    /// Builds the container; never panics or aborts.
    ///
    /// # Errors
    ///
    /// Returns an error where [`build`](Self::build) panics, or if the allocator refuses; nothing
    /// is leaked then.
    ///
    /// ```
    /// use flatslab::bytes::ByteArena;
    ///
    /// assert!(ByteArena::builder().growth(f64::NAN).try_build().is_err());
    /// ```
    pub fn try_build(self) -> Result<C, BuildError> {
        C::try_build(self.options, self.pages)
    }
}

impl<C: Build> Clone for Builder<C> {
    fn clone(&self) -> Self {
        Builder {
            options: self.options.clone(),
            pages: self.pages.clone(),
        }
    }
}

impl<C: Build> fmt::Debug for Builder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("options", &self.options)
            .field("pages", &self.pages)
            .finish()
    }
}
