//! The program of the guide that moves from `nexus-slab` 2.x. The others are in `tests/guide` of
//! flatslab itself; this one is here because that crate needs a newer compiler than flatslab does.

#[allow(dead_code, reason = "other users are crates of their own")]
#[path = "../../../tests/common/random.rs"]
mod random;

#[path = "../../../tests/guide/from_nexus_slab_2"]
mod from_nexus_slab_2 {
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
        // The input reaches the cases that the page speaks of.
        for line in ["refused", "delivered", "gave up", "unknown", "flushed 2"] {
            assert!(all.contains(line), "{line}");
        }
    }
}
