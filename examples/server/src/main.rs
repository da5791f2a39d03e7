//! Serves at the path that is given, or at one that it makes up, until the input ends.
//!
//! ```text
//! cargo run --release -p server
//! ```

use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, io, process, thread};

fn main() -> io::Result<()> {
    let made_up = || env::temp_dir().join(format!("quotes-{}", process::id()));
    let path = env::args_os().nth(1).map_or_else(made_up, PathBuf::from);
    let server = server::Server::bind(&path, 2, Duration::from_secs(5))?;
    println!("at {}, until the input ends", path.display());
    let stop = server.stop();
    thread::spawn(move || io::copy(&mut io::stdin(), &mut io::sink()).and_then(|_| stop()));
    println!("{} answers found no connection", server.run()?);
    fs::remove_file(path)
}
