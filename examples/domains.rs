//! Parts of a program with epochs of their own. A domain closes its epoch when it is dropped,
//! and its values stay; a scope drops them all, and the compiler sees to it that no reference
//! is left.
//!
//! ```text
//! cargo run --release --example domains
//! ```

use std::cell::Cell;
use std::rc::Rc;

use flatslab::epoch::{EpochSlab, InsertError};

/// Counts those that were dropped.
#[derive(Debug)]
struct Node {
    text: String,
    dropped: Rc<Cell<usize>>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.dropped.set(self.dropped.get() + 1);
    }
}

fn main() -> Result<(), InsertError<Node>> {
    let dropped = Rc::new(Cell::new(0));
    let node = |text: &str| Node {
        text: text.to_owned(),
        dropped: dropped.clone(),
    };
    let mut slab: EpochSlab<Node> = EpochSlab::new();

    println!("domains: the epoch is closed at the end, and values stay");
    let answer = {
        let request = slab.enter();
        let answer = request.insert(node("answer"));
        {
            let parser = request.enter();
            assert_ne!(parser.epoch(), request.epoch());
            let token = parser.insert(node("token"));
            assert!(slab.remove(token).is_some());
        }
        // The parser left nothing, so its chunk serves the next epoch.
        assert_eq!(slab.stats().pinned_chunks, 0);
        answer
    };
    let stats = slab.stats();
    println!(
        "  at the request's end: {} value, {} chunk pinned, {} unused",
        stats.live, stats.pinned_chunks, stats.cached_chunks
    );
    assert_eq!((stats.live, stats.pinned_chunks), (1, 1));
    let answer = slab.remove(answer).expect("it left its domain by its key");
    assert_eq!(answer.text, "answer");
    assert_eq!(slab.stats().pinned_chunks, 0);
    drop(answer);

    println!("domains that do not close: the program says when");
    let epoch = {
        let batch = slab.enter().auto_close(false);
        for number in 0..100 {
            batch.insert(node(&format!("row {number}")));
        }
        batch.epoch()
    };
    assert!(slab.try_insert_in(epoch, node("late")).is_err());
    dropped.set(0);
    let cleared = slab.clear_epoch(epoch);
    let report = slab.close(epoch).expect("it was not closed");
    println!(
        "  {cleared} values dropped in bulk, {} chunks pinned",
        report.pinned
    );
    assert_eq!((cleared, dropped.get()), (100, 100));
    assert_eq!((report.pinned, slab.stats().live), (0, 0));

    println!("scopes: the values end with the block");
    dropped.set(0);
    let permanent = slab.permanent();
    let kept = slab.domain(|request| {
        let (left, right) = (request.insert(node("left")), request.insert(node("right")));
        left.text.push('!');
        std::mem::swap(left, right);
        assert_eq!(right.text, "left!");
        let outer = request.insert_key(node("of the request"));
        let best = request.domain(|search| {
            for number in 0..1_000 {
                search.insert(node(&format!("candidate {number}")));
            }
            // The values of the scope around it are reached by their keys.
            let length = search.get(outer).map(|it| it.text.len());
            assert_eq!(length, Some("of the request".len()));
            // What is to outlive the scope goes into another epoch.
            let best = search.insert_key(node("the best candidate"));
            let best = search.remove(best).expect("inserted just now");
            search.try_insert_in(permanent, best)
        })?;
        // The inner scope has ended with its values, and the outer one still has its own.
        assert_eq!(dropped.get(), 1_000);
        assert!(request.get(outer).is_some());
        Ok(best)
    })?;
    println!("  {} values dropped, 1 promoted", dropped.get());
    assert_eq!(dropped.get(), 1_003);
    let stats = slab.stats();
    assert_eq!((stats.live, stats.pinned_chunks), (1, 0));
    assert_eq!(slab.epoch_of(kept), Some(permanent));
    assert_eq!(
        slab.get(kept).map(|it| it.text.clone()).as_deref(),
        Some("the best candidate")
    );
    Ok(())
}
