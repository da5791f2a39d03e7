//! The arrays that a growth replaces by larger ones.

/// One of the two arrays of pointers that grow with the number of chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Array {
    /// The free stack: written from its start on, as cells are freed.
    Stack,
    /// The table of chunks: copied when it grows.
    Table,
}
