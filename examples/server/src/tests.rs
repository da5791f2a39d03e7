//! What no client can bring about at will: events and answers for connections that are gone.

use std::os::unix::net::UnixStream;
use std::time::Duration;
use std::{env, fs, process};

use super::*;

/// A server that a test turns by itself.
fn server(name: &str) -> (Server, std::path::PathBuf) {
    let path = env::temp_dir().join(format!("flatslab-{name}-{}", process::id()));
    let _ = fs::remove_file(&path);
    (Server::bind(&path, 1, Duration::ZERO).unwrap(), path)
}

/// Turns until the condition holds.
fn turn_until(server: &mut Server, holds: impl Fn(&Server) -> bool) {
    let mut events = Events::with_capacity(8);
    while !holds(server) {
        server.turn(&mut events, None).unwrap();
    }
}

#[test]
fn a_stale_token_and_a_stale_answer_find_nothing() {
    let (mut server, path) = server("stale");
    let first = UnixStream::connect(&path).unwrap();
    turn_until(&mut server, |it| it.connections.len() == 1);
    let stale = server.connections.keys().next().unwrap();
    drop(first);
    turn_until(&mut server, |it| it.connections.is_empty());

    // Another one, in the same slot, that has sent nothing.
    let _second = UnixStream::connect(&path).unwrap();
    turn_until(&mut server, |it| it.connections.len() == 1);
    let key = server.connections.keys().next().unwrap();
    assert!(key.index() == stale.index() && key != stale);

    server.go_on(stale);
    let name = server.arena.copy(b"for the first");
    server.workers[0].send(stale, name);
    turn_until(&mut server, |it| it.lost == 1);
    assert!(server.connections.contains(key) && server.later.is_empty());
    let worker = server.workers.pop().unwrap();
    worker.join();
    // What was read and made has come back.
    server.arena.reclaim();
    assert_eq!(server.arena.stats().in_use(), 1, "the bytes of the second");
    fs::remove_file(path).unwrap();
}
