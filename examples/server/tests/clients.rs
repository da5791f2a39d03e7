//! The server, driven by clients.

#![cfg(unix)]

use std::io::{Read, Result, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{env, fs, process};

use server::{Server, quote};

/// As long as a test may hang before it fails.
const LONG: Duration = Duration::from_secs(60);

struct Running {
    path: PathBuf,
    stop: Box<dyn Fn() -> Result<()>>,
    server: JoinHandle<Result<u64>>,
}

fn start(name: &str, patience: Duration) -> Running {
    let path = env::temp_dir().join(format!("flatslab-{name}-{}", process::id()));
    let _ = fs::remove_file(&path);
    let server = Server::bind(&path, 2, patience).unwrap();
    let stop = Box::new(server.stop());
    let server = thread::spawn(move || server.run());
    Running { path, stop, server }
}

impl Running {
    /// Returns how many answers found no connection.
    fn end(self) -> u64 {
        (self.stop)().unwrap();
        self.join()
    }

    fn join(self) -> u64 {
        fs::remove_file(&self.path).unwrap();
        self.server.join().unwrap().unwrap()
    }
}

fn connect(path: &Path) -> UnixStream {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

fn frame(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

/// The answer to what has that name.
fn answer(name: &[u8]) -> Vec<u8> {
    frame(&[name, &quote(name).to_le_bytes()].concat())
}

/// Reads the answers to all of these, and nothing else.
fn expect_answers<'n>(stream: &mut UnixStream, names: impl IntoIterator<Item = &'n [u8]>) {
    for name in names {
        let expected = answer(name);
        let mut bytes = vec![0; expected.len()];
        stream.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, expected);
    }
}

fn expect_end(stream: &mut UnixStream) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(rest.is_empty(), "{rest:?}");
}

#[test]
fn frames_come_in_any_pieces() {
    let running = start("pieces", LONG);
    let longest = vec![7; 1024];
    let names = [&b""[..], b"one", &longest, b"x"];
    let all = names.map(frame).concat();
    for size in [1, 3, 5, 1000, all.len()] {
        let mut stream = connect(&running.path);
        for piece in all.chunks(size) {
            stream.write_all(piece).unwrap();
            thread::yield_now();
        }
        expect_answers(&mut stream, names);
        // A frame that is not whole has no answer.
        stream.write_all(&frame(b"half")[..6]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        expect_end(&mut stream);
    }
    assert_eq!(running.end(), 0);
}

#[test]
fn what_is_no_frame_ends_its_connection_alone() {
    let running = start("no-frame", LONG);
    let mut good = connect(&running.path);
    for length in [1025, u32::MAX] {
        let mut bad = connect(&running.path);
        bad.write_all(&length.to_le_bytes()).unwrap();
        expect_end(&mut bad);
    }
    good.write_all(&frame(b"good")).unwrap();
    expect_answers(&mut good, [&b"good"[..]]);
    running.end();
}

#[test]
fn clients_that_come_and_go_get_no_answers_of_others() {
    let running = start("churn", LONG);
    thread::scope(|scope| {
        for client in 0..4_u8 {
            let path = &running.path;
            scope.spawn(move || {
                for round in 0..200_u8 {
                    let name = [client, round];
                    let mut stream = connect(path);
                    stream.write_all(&frame(&name).repeat(3)).unwrap();
                    // Every other one leaves before its answers: its slot is the next one's.
                    if round % 2 == 0 {
                        expect_answers(&mut stream, [&name[..]; 3]);
                    }
                }
            });
        }
    });
    running.end();
}

#[test]
fn a_slow_reader_holds_no_other_one_up_and_loses_nothing() {
    let running = start("slow", LONG);
    let names: Vec<_> = (0..20_000_u32)
        .map(|number| number.to_le_bytes().repeat(100))
        .collect();
    let mut slow = connect(&running.path);
    let mut writer = slow.try_clone().unwrap();
    thread::scope(|scope| {
        let names = &names;
        // It is stopped when the server reads no further.
        scope.spawn(move || {
            for name in names {
                writer.write_all(&frame(name)).unwrap();
            }
        });
        let mut other = connect(&running.path);
        for number in 0..1000_u32 {
            let name = number.to_le_bytes();
            other.write_all(&frame(&name)).unwrap();
            expect_answers(&mut other, [&name[..]]);
        }
        expect_answers(&mut slow, names.iter().map(|it| &it[..]));
    });
    assert_eq!(running.end(), 0);
}

#[test]
fn a_stop_loses_nothing_that_was_sent() {
    for round in 0..20_u8 {
        let running = start(&format!("stop-{round}"), LONG);
        // More than a connection has unread, and a worker has room for.
        let names: Vec<_> = (0..600_u16).map(|number| number.to_le_bytes()).collect();
        let all: Vec<u8> = names.iter().flat_map(|name| frame(name)).collect();
        let mut streams: Vec<_> = (0..5).map(|_| connect(&running.path)).collect();
        for stream in &mut streams {
            stream.write_all(&all).unwrap();
        }
        (running.stop)().unwrap();
        for stream in &mut streams {
            expect_answers(stream, names.iter().map(|it| &it[..]));
            expect_end(stream);
        }
        assert_eq!(running.join(), 0);
    }
}

#[test]
fn a_stop_does_not_wait_for_ever_for_who_does_not_read() {
    let running = start("deaf", Duration::ZERO);
    let mut deaf = connect(&running.path);
    deaf.write_all(&frame(b"a name").repeat(10)).unwrap();
    running.end();
    drop(deaf);
}
