//! The file of tops that the replay writes is that of the matching engine, byte by byte: of the
//! recorded hour, if `FLATSLAB_LOBSTER` names it, otherwise of generated messages.

use std::fs;
use std::path::Path;
use std::process::Command;

use engine_trial::recorded;
use engine_trial::stores::StoreKind;
use order_book::trial::OrderStores;
use order_flow::flow::Flow;
use order_flow::lobster;
use order_flow::top::TopsFile;

#[test]
fn the_engine_and_the_replay_write_the_same_tops() {
    let messages = lobster::hour().unwrap_or_else(|| Flow::new(2).take(20_000).collect());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [input, replayed, matched] =
        ["rows.csv", "replayed.csv", "matched.csv"].map(|name| directory.join(name));
    fs::write(&input, lobster::rows(&messages)).unwrap();

    let mut replay = Command::new(env!("CARGO_BIN_EXE_feed"));
    replay.args(["--rounds", "1", "--store", "keys"]);
    replay.arg("--lobster").arg(&input);
    replay.arg("--bbo").arg(&replayed);
    let output = replay.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let file = TopsFile::create(&matched, Some(&input)).unwrap();
    recorded::check::<OrderStores>(&messages, &[StoreKind::KeySlab], Some(&file)).unwrap();

    let tops = fs::read(&matched).unwrap();
    let lines = tops.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines, messages.len());
    assert!(tops == fs::read(&replayed).unwrap());
}
