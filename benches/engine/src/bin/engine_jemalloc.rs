//! The matching engine on jemalloc. With `--record` it writes `benches/record/engine-jemalloc.json`.

use std::process::ExitCode;

#[cfg(all(unix, not(target_env = "musl")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(all(unix, not(target_env = "musl")))]
fn main() -> ExitCode {
    engine_record::run("jemalloc")
}

#[cfg(not(all(unix, not(target_env = "musl"))))]
fn main() -> ExitCode {
    eprintln!("error: jemalloc cannot be built for this system");
    ExitCode::FAILURE
}
