//! The five workloads of the benchmark through the engine on every store: the reports must have
//! the hash that 160 engines agree on. `FLATSLAB_FLASH1` is the directory of the workloads; if it
//! is not set, these tests say so and pass.

mod common;

use std::path::{Path, PathBuf};

use common::{Job, Kept, Message, Plays, lines, on_every_store};
use order_book::matching::Engine;
use order_book::numbers::Numbers;
use order_book::store::Store;
use order_flow::message::Side;
use sha2::{Digest, Sha256};

/// Reads a workload: 16 bytes before records of 40, little endian.
fn read(path: &Path) -> Vec<(u64, Message)> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let records = bytes[16..].chunks_exact(40);
    assert_eq!(
        u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize,
        records.len()
    );
    let word =
        |record: &[u8], at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
    let message = |record: &[u8]| {
        let (number, price) = (word(record, 16), word(record, 24) as i64);
        let quantity = u32::from_le_bytes(record[4..8].try_into().unwrap());
        let side = if record[1] == 0 {
            Side::Buy
        } else {
            Side::Sell
        };
        let message = match record[0] {
            0 => common::new(number, side, quantity, price, record[2] == 0),
            1 => Message::Cancel(number),
            _ => common::modify(number, quantity, price),
        };
        (word(record, 8), message)
    };
    records.map(message).collect()
}

struct Hash<'a> {
    messages: &'a [(u64, Message)],
    hash: &'a str,
    stores: usize,
}

impl Job for Hash<'_> {
    fn run<S: Store<Owner = u32>>(&mut self, name: &str, mut engine: Engine<S, Numbers<Kept>>) {
        for (sequence, message) in self.messages {
            engine.play(*sequence, message);
        }
        engine.check().unwrap();
        let hash = Sha256::digest(lines(&engine.reports()));
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, self.hash, "{name}");
        self.stores += 1;
    }
}

/// Compares the reports of every store on a workload with the hash of the consensus.
fn compare(workload: &str, hash: &str) {
    let Some(directory) = std::env::var_os("FLATSLAB_FLASH1") else {
        eprintln!("skipped: FLATSLAB_FLASH1 names no directory of workloads");
        return;
    };
    let messages = read(&PathBuf::from(&directory).join(format!("{workload}.bin")));
    let mut job = Hash {
        messages: &messages,
        hash,
        stores: 0,
    };
    on_every_store(100_000, 4_096, 1 << 21, &mut job);
    println!("{workload}: {} stores agree with the consensus", job.stores);
}

// One test each: a workload takes seconds, and two run at once.

#[test]
fn the_reports_of_a_static_market_have_the_hash_of_the_consensus() {
    compare(
        "static",
        "9803843ee404fc29c9a0aa5614f8f0d5a58b5c44fcac9ef89067886fcaaa30d1",
    );
}

#[test]
fn the_reports_of_a_normal_market_have_the_hash_of_the_consensus() {
    compare(
        "normal",
        "e9b2e3926854410b01a035aeb25dd05f1e597c233be8263de9eb49b6713d367e",
    );
}

#[test]
fn the_reports_of_a_swing_of_25_have_the_hash_of_the_consensus() {
    compare(
        "swing-25",
        "61a84be9469661bd039e00dbc9a7c011e70b6ace37aadfe60045ea083b05f4df",
    );
}

#[test]
fn the_reports_of_a_swing_of_40_have_the_hash_of_the_consensus() {
    compare(
        "swing-40",
        "3cb0175e7982ff09ea220d1feaee3844cf9116a5ce455757879dea1d880b9b9f",
    );
}

#[test]
fn the_reports_of_a_flash_crash_have_the_hash_of_the_consensus() {
    compare(
        "flash-crash",
        "cff8d3f94b709fc64a8b2058a6ca4fb6920364904796e46906895e362d2bb16b",
    );
}
