//! A search tree whose nodes are owned by [`SlotBox`]es of one slab. It is written
//! as with `Box`: a node is accessed through a plain pointer, and dropping a
//! subtree frees the slots of its nodes. No `unsafe`.
//!
//! ```text
//! cargo run --example boxes
//! ```

use flatslab::{BoundedSlab, SlotBox};

type Link = Option<SlotBox<Node>>;

struct Node {
    price: u64,
    quantity: u64,
    left: Link,
    right: Link,
}

/// Quantities by price, in a slab that other trees use too.
struct Tree<'s> {
    slab: &'s BoundedSlab<Node>,
    root: Link,
}

impl<'s> Tree<'s> {
    fn new(slab: &'s BoundedSlab<Node>) -> Self {
        Tree { slab, root: None }
    }

    /// The link at which `price` stands, or would.
    fn link(&mut self, price: u64) -> &mut Link {
        let mut link = &mut self.root;
        while link.as_ref().is_some_and(|node| node.price != price) {
            let node = link.as_mut().expect("just seen");
            link = if price < node.price {
                &mut node.left
            } else {
                &mut node.right
            };
        }
        link
    }

    /// Adds to the quantity at a price; gives it back when the slab is full.
    fn add(&mut self, price: u64, quantity: u64) -> Result<(), u64> {
        let slab = self.slab;
        let link = self.link(price);
        if let Some(node) = link {
            node.quantity += quantity;
            return Ok(());
        }
        let node = Node {
            price,
            quantity,
            left: None,
            right: None,
        };
        let slot = slab.insert(node).map_err(|full| full.0.quantity)?;
        *link = Some(slot.into_box());
        Ok(())
    }

    /// Takes a price out; its node's place is taken by the next higher one of
    /// its subtree, if there is any.
    fn remove(&mut self, price: u64) -> Option<u64> {
        let link = self.link(price);
        // The value leaves the slab, the slot is free at once.
        let removed = SlotBox::into_inner(link.take()?);
        *link = match (removed.left, removed.right) {
            (left, None) => left,
            (None, right) => right,
            (left, right) => {
                let mut right = right;
                let mut lowest = &mut right;
                while lowest.as_ref().is_some_and(|node| node.left.is_some()) {
                    lowest = &mut lowest.as_mut().expect("just seen").left;
                }
                let mut next = lowest.take().expect("there is a right subtree");
                *lowest = next.right.take();
                next.left = left;
                next.right = right;
                Some(next)
            }
        };
        Some(removed.quantity)
    }

    /// Prices and quantities, ascending.
    fn levels(&self) -> Vec<(u64, u64)> {
        fn visit(link: &Link, levels: &mut Vec<(u64, u64)>) {
            if let Some(node) = link {
                visit(&node.left, levels);
                levels.push((node.price, node.quantity));
                visit(&node.right, levels);
            }
        }
        let mut levels = Vec::new();
        visit(&self.root, &mut levels);
        levels
    }
}

fn main() {
    let slab = BoundedSlab::with_capacity(1000);
    let mut bids = Tree::new(&slab);
    let mut asks = Tree::new(&slab);
    let mut expected = std::collections::BTreeMap::new();

    // Prices in no order; every third is taken out again.
    for step in 0..600u64 {
        let price = step * 379 % 601;
        bids.add(price, step).expect("there is room");
        asks.add(1000 + price % 100, 1).expect("there is room");
        expected.insert(price, step);
        if step % 3 == 0 {
            let gone = step / 2 * 379 % 601;
            assert_eq!(bids.remove(gone), expected.remove(&gone));
        }
    }
    let levels = bids.levels();
    assert!(levels.iter().copied().eq(expected));
    assert_eq!(slab.len(), levels.len() + asks.levels().len());
    println!(
        "{} bids and {} asks in one slab of {} slots",
        levels.len(),
        asks.levels().len(),
        slab.capacity()
    );

    // A whole tree goes with its root.
    drop(bids);
    println!("{} nodes are left when the bids are dropped", slab.len());
    assert_eq!(slab.len(), asks.levels().len());

    // When the slab is full, the quantity comes back.
    let mut fill = Tree::new(&slab);
    let refused = (0..=1000).find_map(|price| fill.add(price, 7).err());
    assert!(refused == Some(7) && slab.is_full());
}
