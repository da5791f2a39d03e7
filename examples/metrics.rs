//! The figures of slabs, pools and arenas, in the text format that Prometheus scrapes.
//!
//! The thread that owns the containers calls `stats()`, which is O(1) or little more, and copies the
//! figures to a place behind a lock. The thread that answers the scraper copies them from there. The
//! lock is held for these copies alone: neither thread waits while the other one works, formats or
//! sends.
//!
//! ```text
//! cargo run --release --example metrics              # scrapes itself once
//! cargo run --release --example metrics -- 9184      # serves http://127.0.0.1:9184/metrics
//! ```
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, thread};

use flatslab::bytes::ByteArena;
use flatslab::pool::Pool;
use flatslab::{BoundedKeySlab, BoundedSlab, Figure, FigureKind, KeySlab, Slot};

/// The name of a container, and its figures.
#[derive(Clone)]
struct Figures {
    container: &'static str,
    values: Vec<Figure>,
}

impl Figures {
    fn new(container: &'static str, values: impl IntoIterator<Item = Figure>) -> Self {
        let values = values.into_iter().collect();
        Figures { container, values }
    }
}

/// Writes each figure as one line, `flatslab_live{container="orders"} 7`. A metric is written for
/// all containers at once, after a line with its type, as the format wants it.
fn exposition(all: &[Figures]) -> String {
    let mut metrics: Vec<(&str, FigureKind)> = Vec::new();
    for Figure { name, kind, .. } in all.iter().flat_map(|figures| &figures.values) {
        if !metrics.contains(&(name, *kind)) {
            metrics.push((name, *kind));
        }
    }
    let mut text = String::new();
    for (name, kind) in metrics {
        let suffix = match kind {
            FigureKind::Counter => "_total",
            FigureKind::Gauge => "",
        };
        let metric = format!("flatslab_{name}{suffix}");
        writeln!(text, "# TYPE {metric} {kind}").unwrap();
        for Figures { container, values } in all {
            for Figure { value, .. } in values.iter().filter(|figure| figure.name == name) {
                writeln!(text, "{metric}{{container=\"{container}\"}} {value}").unwrap();
            }
        }
    }
    text
}

/// Answers one request, whatever it asks for.
fn answer(stream: TcpStream, figures: &Mutex<Vec<Figures>>) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut request = BufReader::new(&stream);
    let mut line = String::new();
    // The request ends with an empty line.
    while request.read_line(&mut line)? > 2 {
        line.clear();
    }
    let figures = figures.lock().unwrap().clone();
    let body = exposition(&figures);
    write!(
        &stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The engine's containers. They stay on its thread.
struct Engine {
    orders: BoundedSlab<[u64; 8]>,
    sessions: KeySlab<String>,
    requests: BoundedKeySlab<u64>,
    timers: Pool<'static, u64>,
    frames: ByteArena,
    resting: Vec<Slot<[u64; 8]>>,
}

impl Engine {
    fn new() -> Self {
        Engine {
            orders: BoundedSlab::with_capacity(1000),
            sessions: KeySlab::new(),
            requests: BoundedKeySlab::with_capacity(100),
            timers: Pool::with_capacity(100),
            frames: ByteArena::new(),
            resting: Vec::new(),
        }
    }

    /// A little work, with more orders than there are slots.
    fn run(&mut self, round: u64) {
        self.sessions.insert(format!("client {round}"));
        for number in 0..110 {
            let _ = self.requests.insert(number);
        }
        self.requests.clear();
        let _timer = self.timers.alloc(round);
        let _frame = self.frames.copy(&round.to_le_bytes());
        for number in 0..1200 {
            if let Ok(slot) = self.orders.insert([number; 8]) {
                self.resting.push(slot);
            }
        }
        self.resting.truncate(400);
    }

    fn figures(&self) -> Vec<Figures> {
        vec![
            Figures::new("orders", self.orders.stats().figures()),
            Figures::new("sessions", self.sessions.stats().figures()),
            Figures::new("requests", self.requests.stats().figures()),
            Figures::new("timers", self.timers.stats().figures()),
            Figures::new("frames", self.frames.stats().figures()),
        ]
    }
}

fn main() -> io::Result<()> {
    let port: Option<u16> = env::args().nth(1).map(|port| port.parse().expect("a port"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))?;
    let address = listener.local_addr()?;

    let mut engine = Engine::new();
    engine.run(0);
    let published = Arc::new(Mutex::new(engine.figures()));
    let figures = Arc::clone(&published);
    thread::spawn(move || {
        for stream in listener.incoming() {
            if let Err(error) = stream.and_then(|stream| answer(stream, &figures)) {
                eprintln!("a scrape failed: {error}");
            }
        }
    });

    if port.is_some() {
        println!("http://{address}/metrics");
        for round in 1.. {
            engine.run(round);
            *published.lock().unwrap() = engine.figures();
            thread::sleep(Duration::from_secs(1));
        }
    }

    engine.run(1);
    *published.lock().unwrap() = engine.figures();
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    print!("{body}");

    // 1,200 orders in a slab of 1,000 slots, of which 400 stay; then 1,200 more.
    for expected in [
        "flatslab_live{container=\"orders\"} 400\n",
        "flatslab_capacity{container=\"orders\"} 1000\n",
        "flatslab_refusals_total{container=\"orders\"} 800\n",
        "flatslab_refusals_total{container=\"requests\"} 20\n",
        "flatslab_growths_total{container=\"sessions\"} 1\n",
        "# TYPE flatslab_live gauge\n",
        "# TYPE flatslab_allocs_total counter\nflatslab_allocs_total{container=\"frames\"} 2\n",
    ] {
        assert!(body.contains(expected), "{expected} is missing");
    }
    Ok(())
}
