//! How much of what takes long an interpreter does.

/// `native`, but under Miri, which takes some thousand times as long, `weekly` where
/// this is the weekly run (`FLATSLAB_WEEKLY` is set), and `each_run` otherwise.
pub fn amount<T>(native: T, weekly: T, each_run: T) -> T {
    if !cfg!(miri) {
        native
    } else if std::env::var_os("FLATSLAB_WEEKLY").is_some() {
        weekly
    } else {
        each_run
    }
}
