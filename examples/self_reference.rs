//! Values that contain their own key or address, which they get before they are
//! inserted, and a tree of such values with links in both directions.
//!
//! ```text
//! cargo run --example self_reference
//! ```

use flatslab::{BoundedSlab, Key};

struct Node {
    me: Key,
    parent: Key,
    children: Vec<Key>,
    name: &'static str,
}

fn add(slab: &BoundedSlab<Node>, parent: Key, name: &'static str) -> Key {
    // The closure sees the slot that is to be: its key is the value's.
    let node = slab
        .insert_with(|vacant| Node {
            me: vacant.key(),
            parent,
            children: Vec::new(),
            name,
        })
        .expect("the tree is larger than its slab")
        .leak();
    if let Some(mut parent) = slab.get_mut(parent) {
        parent.children.push(node);
    }
    node
}

fn path(slab: &BoundedSlab<Node>, key: Key) -> String {
    let mut names = Vec::new();
    let mut next = key;
    while let Some(node) = slab.get(next) {
        assert_eq!(node.me, next);
        names.push(node.name);
        next = node.parent;
    }
    names.reverse();
    names.join("/")
}

fn main() {
    // It lives as long as the program, so no type has to carry a lifetime.
    let tree: &'static BoundedSlab<Node> = BoundedSlab::leak(64);

    let root = add(tree, Key::NONE, "root");
    let branch = add(tree, root, "branch");
    let leaf = add(tree, branch, "leaf");
    println!("{}", path(tree, leaf));
    assert_eq!(path(tree, leaf), "root/branch/leaf");

    // The address is fixed too, from the reservation on.
    let vacant = tree.vacant_slot().unwrap();
    let address = vacant.as_ptr();
    let slot = vacant.insert(Node {
        me: Key::NONE,
        parent: Key::NONE,
        children: Vec::new(),
        name: "placed",
    });
    assert_eq!(slot.as_mut_ptr(), address);
    println!(
        "{} children of the root",
        tree.get(root).unwrap().children.len()
    );
}
