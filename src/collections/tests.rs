//! The invariants of trees and timer wheels, after every few steps of random programs.

use super::{Nodes, TimerWheel, Tree};
use crate::Key;
use crate::common::amount;
use crate::common::random::{random, seed};

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_invariants_of_a_tree_hold_after_every_step() {
    for (round, keys) in [30, 300, 5000].into_iter().enumerate() {
        seed(round as u64 + 1);
        let mut nodes = Nodes::new();
        let (mut tree, mut other) = (Tree::new(), Tree::new());
        let mut grows = true;
        for step in 0..amount(30_000, 300) {
            if step % (keys * 2) == 0 {
                grows = !grows;
            }
            let key = random(keys);
            match random(10) {
                0..6 if grows => {
                    let _ = tree.insert(&mut nodes, key, step);
                }
                0..6 => {
                    let _ = tree.remove(&mut nodes, &key);
                }
                6 => {
                    let _ = tree.pop_first(&mut nodes);
                }
                7 => {
                    let _ = tree.pop_last(&mut nodes);
                }
                8 if random(100) == 0 => {
                    other = tree.split_off(&mut nodes, &key).unwrap();
                    tree.check(&nodes);
                    other.check(&nodes);
                    tree.append(&mut nodes, &mut other).unwrap();
                }
                _ if random(100) == 0 => tree.retain(&mut nodes, |key, _| key % 5 != 0),
                _ => {
                    let _ = tree.insert(&mut nodes, key, step);
                }
            }
            if step % 8 == 0 {
                tree.check(&nodes);
            }
        }
        tree.check(&nodes);
        assert!(other.is_empty());
    }
}

#[test]
#[cfg_attr(each_run, ignore = "weekly")]
fn the_invariants_of_a_wheel_hold_after_every_step() {
    seed(4);
    for most in [8, 14, 30] {
        let mut wheel = TimerWheel::with_capacity(200);
        for step in 0..amount(20_000, 300) {
            let key = Key::from_raw(random(200) as u32);
            match random(4) {
                0 => drop(wheel.stop(key)),
                1 if random(2_000) == 0 => drop(wheel.drain()),
                1 => drop(wheel.pop_due(wheel.time() + random(1 << random(most)))),
                _ => {
                    let deadline = wheel.time() + random(1 << random(most + 4));
                    wheel.start(key, deadline).unwrap();
                }
            }
            // It looks at all buckets.
            if step % 8 == 0 {
                wheel.check();
            }
        }
        wheel.check();
    }
}
