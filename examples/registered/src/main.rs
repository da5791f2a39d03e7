//! A file is read by io_uring into buffers of a byte arena whose memory is registered with the
//! kernel.
//!
//! The kernel pins the pages of a registered block once, instead of once for each read. A
//! [`Region`](flatslab::memory::Region) is that block: one address and one length for all chunks of
//! the arena, however many there are and whatever class they serve.
//!
//! While the kernel writes to a buffer, nothing else may use it. So the program keeps the `BufMut` in
//! a `KeySlab` until the kernel has completed the read. The key is the number that the kernel returns
//! with the completion. No callback is needed when a buffer is free again: before each round the
//! program asks the arena for as many buffers as reads are possible.
//!
//! ```text
//! cargo run --release -p registered              # reads a file that it writes itself
//! cargo run --release -p registered -- FILE      # reads that file
//! ```
//!
//! If the kernel has no io_uring, or forbids it (`kernel.io_uring_disabled`, the rules of a
//! container), the program says so and exits.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod reader;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    match reader::run(std::env::args_os().nth(1).map(Into::into)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("registered: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    println!("io_uring is an interface of Linux");
    ExitCode::SUCCESS
}
