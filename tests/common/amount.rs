//! How much of what takes long an interpreter does.

/// `native`, but under Miri, which takes some thousand times as long, `interpreted`.
pub fn amount<T>(native: T, interpreted: T) -> T {
    if cfg!(miri) { interpreted } else { native }
}
