//! A server's tables of connections and jobs, in `KeySlab`s, each with a key type of its own.

use std::collections::VecDeque;

use flatslab::{KeySlab, key_type};

use crate::random::{random, seed};

key_type!(struct Token);
key_type!(struct JobKey);

struct Connection {
    /// Its own key, to register with a poller.
    token: Token,
    peer: u64,
    credit: u64,
    idle: u32,
    jobs: Vec<JobKey>,
}

struct Job {
    connection: Token,
    cost: u64,
}

struct Server {
    connections: KeySlab<Connection, Token>,
    jobs: KeySlab<Job, JobKey>,
    ready: VecDeque<JobKey>,
    log: Vec<String>,
}

impl Server {
    fn new() -> Self {
        Server {
            connections: KeySlab::with_capacity_and_key(4),
            jobs: KeySlab::with_key(),
            ready: VecDeque::new(),
            log: Vec::new(),
        }
    }

    fn accept(&mut self, peer: u64) -> Token {
        let entry = self.connections.vacant_entry();
        let token = entry.key();
        entry.insert(Connection {
            token,
            peer,
            credit: 100,
            idle: 0,
            jobs: Vec::new(),
        });
        self.log.push(format!("accepted {token}"));
        token
    }

    fn request(&mut self, token: Token, cost: u64) {
        let Some(connection) = self.connections.get_mut(token) else {
            self.log.push(format!("gone: {token}"));
            return;
        };
        connection.idle = 0;
        let job = self.jobs.insert(Job {
            connection: token,
            cost,
        });
        connection.jobs.push(job);
        self.ready.push_back(job);
    }

    fn work(&mut self) {
        let Some(key) = self.ready.pop_front() else {
            return;
        };
        let job = self.jobs.remove(key);
        let connection = &mut self.connections[job.connection];
        connection.credit = connection.credit.saturating_sub(job.cost);
        connection.jobs.retain(|other| *other != key);
    }

    /// Moves credit from one connection to another.
    fn lend(&mut self, from: Token, to: Token) {
        // The same key twice, and a key without a connection, are errors: no need to ask before.
        if let Ok([from, to]) = self.connections.get_disjoint_mut([from, to]) {
            let amount = from.credit / 2;
            from.credit -= amount;
            to.credit += amount;
            let (from, to) = (from.token, to.token);
            self.log.push(format!("moved {amount}: {from} to {to}"));
        }
    }

    fn close(&mut self, token: Token) {
        let Some(connection) = self.connections.try_remove(token) else {
            self.log.push(format!("gone: {token}"));
            return;
        };
        // A job that stayed in the queue would be taken for a later one with its key.
        self.ready.retain(|job| !connection.jobs.contains(job));
        for job in &connection.jobs {
            self.jobs.remove(*job);
        }
        let (peer, jobs) = (connection.peer, connection.jobs.len());
        self.log.push(format!("closed {token}: peer {peer}, {jobs} jobs"));
    }

    /// Closes connections that were idle for three rounds and have no job.
    fn sweep(&mut self) {
        for (_, connection) in &mut self.connections {
            connection.idle += 1;
        }
        let log = &mut self.log;
        self.connections.retain(|token, connection| {
            let keep = connection.idle < 3 || !connection.jobs.is_empty();
            if !keep {
                log.push(format!("idle: {token}"));
            }
            keep
        });
    }

    fn report(&mut self) {
        let tokens: Vec<usize> = self.connections.keys().map(Token::index).collect();
        let credit: u64 = self.connections.values().map(|it| it.credit).sum();
        let (next, jobs) = (self.connections.vacant_key(), self.jobs.len());
        self.log.push(format!("{tokens:?}: {credit}, {jobs} jobs, then {next}"));
    }

    fn shut_down(mut self) -> Vec<String> {
        self.jobs.clear();
        for (_, connection) in self.connections.drain() {
            self.log.push(format!("shut down: peer {}", connection.peer));
        }
        assert!(self.connections.is_empty() && self.jobs.is_empty());
        self.log
    }
}

pub(super) fn run(number: u64) -> Vec<String> {
    seed(number);
    let mut server = Server::new();
    // What the poller has: tokens, some of closed connections.
    let mut tokens: Vec<Token> = Vec::new();
    for step in 0..300 {
        let any = || tokens.get(random(16) as usize).copied();
        match random(10) {
            0 | 1 => {
                let token = server.accept(step);
                tokens.retain(|other| *other != token);
                tokens.insert(0, token);
            }
            2..=4 => _ = any().map(|token| server.request(token, step)),
            5 | 6 => server.work(),
            7 => _ = any().zip(any()).map(|(from, to)| server.lend(from, to)),
            8 => _ = any().map(|token| server.close(token)),
            _ => server.sweep(),
        }
        if step % 50 == 0 {
            server.report();
        }
    }
    server.shut_down()
}
