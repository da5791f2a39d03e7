//! The recorded hour as commands. `FLATSLAB_LOBSTER` is the path of LOBSTER's public sample;
//! if it is not set, this test says so and passes.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::engine::kind::StoreKind;
use crate::engine::recorded::{Tops, check};
use crate::engine::script::{Script, Step};
use crate::engine::traffic::Traffic;
use crate::feed::lobster;
use crate::feed::message::Message;
use crate::feed::naive::NaiveBook;

fn hour() -> Option<Vec<Message>> {
    let Some(path) = std::env::var_os("FLATSLAB_LOBSTER") else {
        eprintln!("skipped: FLATSLAB_LOBSTER names no message file");
        return None;
    };
    Some(lobster::read(&PathBuf::from(path), None).unwrap())
}

#[test]
fn every_top_of_the_real_hour_is_the_known_one() {
    let Some(messages) = hour() else { return };
    check(&messages, StoreKind::value_variants()).unwrap();

    let script = Script::of_messages(&messages);
    let is_take = |step: &&Step| matches!(step, Step::Take { .. });
    let takes = script.steps.iter().filter(is_take).count();
    assert!(
        takes > 3_500,
        "{takes} of 4,067 trades are of the first in line"
    );
    let mut book = NaiveBook::default();
    let mut rows = messages.iter();
    let mut applied = 0;
    let mut wanted = Vec::new();
    for &row in &script.rows {
        for message in rows.by_ref().take(row - applied) {
            book.apply(message);
        }
        applied = row;
        wanted.push(book.top());
    }
    let last = wanted.last().unwrap().to_string();
    assert_eq!(last, "5859500,100,5856900,10");
    let traffic = Traffic::of_one_symbol(&script);
    assert_eq!(traffic.commands.len(), script.steps.len());
    let tops = Tops {
        traffic: &traffic,
        wanted: &wanted,
    };
    StoreKind::KeySlab.with(tops).unwrap();
}
