//! The programs that the pages of `flatslab::guide` move over: each one before, on the crate or the
//! pool that it comes from, and after. Both get the same seeded input, and must give the same output.
//! The program in `from_nexus_slab_2` is run by `compat/tests`, because `nexus-slab` 2.x needs a newer
//! compiler than this crate.

#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]
// The crates that the programs come from are not this test's subject.
#![cfg(not(miri))]

#[allow(unreachable_pub, reason = "other users are crates of their own")]
#[path = "../common/random.rs"]
mod random;

/// Declares a program: a folder with `before.rs` and `after.rs`, and the test that compares them.
macro_rules! program {
    ($name:ident, $($must_occur:literal),+) => {
        mod $name {
            mod after;
            mod before;

            #[test]
            fn gives_the_same_output_before_and_after() {
                let mut all = String::new();
                for seed in 1..=50 {
                    let (before, after) = (before::run(seed), after::run(seed));
                    assert_eq!(before, after, "seed {seed}");
                    all += &before.join("\n");
                }
                // The input reaches the cases that the pages speak of.
                for line in [$($must_occur),+] {
                    assert!(all.contains(line), "{line}");
                }
            }
        }
    };
}

program!(from_slab, "accepted 9", "moved", "gone", "closed", "idle");
program!(from_slotmap, "spawned", "hit", "target is gone", "died");
program!(
    from_nexus_slab,
    "refused",
    "traded",
    "cancelled",
    "no order"
);
program!(from_your_own_pool, "placed", "filled", "too late", "closed");
