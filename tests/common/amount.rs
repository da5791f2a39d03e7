//! How much of what takes long is done: by an interpreter, and by a build that is not optimised.

/// `native`, but under Miri, which takes some thousand times as long, `interpreted`.
pub fn amount<T>(native: T, interpreted: T) -> T {
    if cfg!(miri) { interpreted } else { native }
}

/// `unoptimised`, but in the optimised run of each week, which takes a tenth of the time, `optimised`.
#[allow(dead_code, reason = "two families have this file alone")]
pub const fn by_speed<T: Copy>(optimised: T, unoptimised: T) -> T {
    if cfg!(debug_assertions) {
        unoptimised
    } else {
        optimised
    }
}
