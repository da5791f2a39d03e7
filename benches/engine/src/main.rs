//! The matching engine for the record, on the system's allocator. With `--record` it writes
//! `benches/record/engine.json`; with `--full`, too, `engine-fresh.json`.

use std::process::ExitCode;

fn main() -> ExitCode {
    engine_record::run(engine_trial::SYSTEM)
}
