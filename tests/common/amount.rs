//! How much of what takes long an interpreter does.

/// `native`, but under Miri, which takes some thousand times as long, `each_run` in the
/// checks of each run (`ci/README.md`), and `weekly` otherwise.
pub fn amount<T>(native: T, weekly: T, each_run: T) -> T {
    if !cfg!(miri) {
        native
    } else if cfg!(each_run) {
        each_run
    } else {
        weekly
    }
}
