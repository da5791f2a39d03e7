//! Serves at the path that is given, until the input ends.
//!
//! ```text
//! cargo run --release -p server -- /tmp/quotes
//! ```

use std::{env, fs, io, thread, time::Duration};

fn main() -> io::Result<()> {
    let path = env::args_os().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let server = server::Server::bind(path.as_ref(), 2, Duration::from_secs(5))?;
    let stop = server.stop();
    thread::spawn(move || io::copy(&mut io::stdin(), &mut io::sink()).and_then(|_| stop()));
    println!("{} answers found no connection", server.run()?);
    fs::remove_file(path)
}
