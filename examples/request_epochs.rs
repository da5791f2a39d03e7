//! A server whose requests have epochs of their own, and sessions that outlive many requests. If
//! sessions are kept in an epoch of their own, closing the epoch of a request frees all of its
//! chunks. A session that is kept in the epoch of a request keeps one of its chunks in use.
//!
//! ```text
//! cargo run --release --example request_epochs
//! cargo run --release --example request_epochs --features track
//! ```

use std::collections::VecDeque;

use flatslab::epoch::{Epoch, EpochKey, EpochSlab, InsertError};

/// What the server keeps: parts of a request, and sessions.
struct Object {
    request: usize,
    _bytes: [u8; 88],
}

impl Object {
    fn of(request: usize) -> Self {
        Object {
            request,
            _bytes: [0; 88],
        }
    }
}

const REQUESTS: usize = 2_000;
/// One request in so many is a login, which begins a session.
const LOGINS: usize = 10;
/// So many sessions are open at once: the oldest ends when another one begins.
const SESSIONS: usize = 40;

/// Where sessions are kept.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    /// In an epoch for what outlives requests.
    Apart,
    /// In the epoch of the request that begins them: the mistake.
    WithTheRequest,
}

struct Server {
    slab: EpochSlab<Object>,
    keep: Keep,
    sessions: VecDeque<EpochKey>,
}

impl Server {
    fn new(keep: Keep) -> Self {
        Server {
            slab: EpochSlab::builder().chunk_capacity(32).build(),
            keep,
            sessions: VecDeque::new(),
        }
    }

    /// The parts of a request are made in its epoch, used, and gone.
    fn serve(&mut self, number: usize) -> Result<(), InsertError<Object>> {
        let request = self.slab.current();
        if number % LOGINS == 0 {
            assert!(self.slab.set_tag(request, number as u64));
            let session = self.begin_session(request, number)?;
            self.sessions.push_back(session);
            if self.sessions.len() > SESSIONS {
                let oldest = self.sessions.pop_front().expect("there are some");
                assert!(self.slab.take(oldest).is_some());
            }
        }
        let parts: Vec<EpochKey> = (0..50)
            .map(|_| self.slab.try_insert_in(request, Object::of(number)))
            .collect::<Result<_, _>>()?;
        for &part in &parts {
            let part = self.slab.take(part).expect("it was inserted");
            assert_eq!(part.request, number);
        }
        // The answer is sent: the request's chunks serve the next one.
        let (_, report) = self.slab.advance_and_close();
        assert_eq!(report.epoch, request);
        Ok(())
    }

    fn begin_session(
        &self,
        request: Epoch,
        number: usize,
    ) -> Result<EpochKey, InsertError<Object>> {
        let epoch = match self.keep {
            Keep::Apart => self.slab.permanent(),
            Keep::WithTheRequest => request,
        };
        self.slab.try_insert_in(epoch, Object::of(number))
    }
}

/// Serves all requests. Returns the bytes of chunks after a quarter of them, and at the end.
fn run(server: &mut Server) -> Result<(usize, usize), InsertError<Object>> {
    println!("requests    recycled  pinned epochs  committed bytes");
    let mut after_a_quarter = 0;
    for number in 0..REQUESTS {
        server.serve(number)?;
        if (number + 1) % (REQUESTS / 4) == 0 {
            let stats = server.slab.stats();
            println!(
                "{:>8}  {:>9.1} %  {:>13}  {:>15}",
                number + 1,
                100.0 * stats.recycled_fraction().expect("epochs were closed"),
                stats.pinned_epochs,
                stats.committed_bytes,
            );
            if after_a_quarter == 0 {
                after_a_quarter = stats.committed_bytes;
            }
        }
    }
    Ok((after_a_quarter, server.slab.stats().committed_bytes))
}

fn main() -> Result<(), InsertError<Object>> {
    println!("sessions in an epoch of their own:");
    let mut apart = Server::new(Keep::Apart);
    let (early, late) = run(&mut apart)?;
    let stats = apart.slab.stats();
    assert_eq!(stats.recycled_fraction(), Some(1.0));
    assert_eq!((early, stats.pinned_chunks), (late, 0));
    assert_eq!(stats.live, SESSIONS);

    println!("\nsessions in the epochs of their requests:");
    let mut mixed = Server::new(Keep::WithTheRequest);
    let (_, mixed_bytes) = run(&mut mixed)?;
    let stats = mixed.slab.stats();
    assert!(stats.recycled_fraction() < Some(1.0));
    // Each session keeps a chunk for itself.
    assert_eq!(
        (stats.pinned_epochs, stats.pinned_chunks),
        (SESSIONS, SESSIONS)
    );
    assert!(mixed_bytes > 4 * late);

    println!("\nwho pins what, the first three of {SESSIONS}:");
    let pinned = || mixed.slab.epochs().filter(|it| it.pinned_chunks > 0);
    assert!(pinned().all(|it| it.live == 1 && it.tag % LOGINS as u64 == 0));
    for epoch in pinned().take(3) {
        println!(
            "the login of request {}, {} requests ago: {} value, {} bytes of {} in use",
            epoch.tag, epoch.age, epoch.live, epoch.live_bytes, epoch.committed_bytes
        );
    }
    #[cfg(feature = "track")]
    {
        let sites: std::collections::BTreeSet<_> =
            mixed.slab.pinned_by().map(|pin| pin.site).collect();
        assert_eq!(sites.len(), 1, "sessions are begun in one place");
        for site in sites {
            println!("all of them were inserted at {site}");
        }
    }

    // The mistake is mended without a restart: when the sessions end, their chunks are unused.
    for session in mixed.sessions.drain(..) {
        assert!(mixed.slab.take(session).is_some());
    }
    assert_eq!(mixed.slab.stats().pinned_chunks, 0);
    println!("\nthe sessions have ended: no chunk is pinned");
    Ok(())
}
