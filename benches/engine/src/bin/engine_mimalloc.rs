//! The matching engine on mimalloc. With `--record` it writes `benches/record/engine-mimalloc.json`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    engine_record::run("mimalloc")
}
