//! Parts of a program with epochs of their own. A guard closes its epoch when it is dropped, and
//! the values stay; a scope drops them all, and the compiler checks that no reference is left;
//! an epoch opened by name is closed by name.
//!
//! ```text
//! cargo run --release --example scopes
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

    println!("guards: the epoch is closed at the end, and values stay");
    let answer = {
        let request = slab.enter();
        let answer = request.insert(node("answer"));
        {
            let parser = slab.enter();
            assert_ne!(parser.epoch(), request.epoch());
            let token = parser.insert(node("token"));
            assert!(slab.take(token).is_some());
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
    let answer = slab.take(answer).expect("it outlived its epoch");
    assert_eq!(answer.text, "answer");
    assert_eq!(slab.stats().pinned_chunks, 0);
    drop(answer);

    println!("by name: the program says when the epoch ends");
    let batch = slab.open();
    for number in 0..100 {
        slab.try_insert_in(batch, node(&format!("row {number}")))?;
        slab.advance();
    }
    dropped.set(0);
    let cleared = slab.clear_epoch(batch);
    let report = slab.close(batch).expect("it was open");
    println!(
        "  {cleared} values dropped in bulk, {} chunks pinned",
        report.pinned
    );
    assert_eq!((cleared, dropped.get()), (100, 100));
    assert_eq!((report.pinned, slab.stats().live), (0, 0));
    assert!(slab.try_insert_in(batch, node("late")).is_err());

    println!("scopes: the values end with the block");
    dropped.set(0);
    let permanent = slab.permanent();
    let kept = slab.scope(|request| {
        let (left, right) = (request.insert(node("left")), request.insert(node("right")));
        left.text.push('!');
        std::mem::swap(left, right);
        assert_eq!(right.text, "left!");
        let outer = request.insert_key(node("of the request"));
        let best = request.scope(|search| {
            for number in 0..1_000 {
                search.insert(node(&format!("candidate {number}")));
            }
            // The values of the scope around it are reached by their keys.
            let length = search.get(outer).map(|it| it.text.len());
            assert_eq!(length, Some("of the request".len()));
            // What is to outlive the scope goes into another epoch.
            let best = search.insert_key(node("the best candidate"));
            let best = search.take(best).expect("inserted just now");
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
