//! Keys: 4 bytes where a `Slot` has 16, for tables and links, checked on every
//! access. And `untracked`, which is `unsafe`: access by key without borrow tracking.
//!
//! ```text
//! cargo run --example keys
//! ```

use flatslab::{Key, Slab};

struct Session {
    user: u32,
    requests: u64,
}

fn main() {
    let sessions = Slab::builder().chunk_capacity(256).reserve(1000).build();

    // A value inserted by key belongs to its key: it stays until it is removed.
    let keys: Vec<Key> = (0..1000)
        .map(|user| sessions.insert_key(Session { user, requests: 0 }))
        .collect();

    for (turn, key) in keys.iter().cycle().take(10_000).enumerate() {
        if let Some(mut session) = sessions.get_mut(*key) {
            session.requests += turn as u64 % 3;
        }
    }

    // Any key may be asked for; one that leads nowhere is answered with `None`. A
    // value that is borrowed is not nowhere: `get_mut` panics, `try_get_mut` says so.
    sessions.remove_by_key(keys[7]);
    assert!(sessions.get(keys[7]).is_none());
    assert!(sessions.get(Key::from_raw(4_000_000_000)).is_none());
    let reader = sessions.get(keys[8]).unwrap();
    assert!(sessions.try_get_mut(keys[8]).is_err());
    drop(reader);

    // A key does not say which value: its slot is reused, last in, first out.
    // Compare what you know of the value (here the user), as you would have to
    // with any identifier that came from outside.
    let reused = sessions.insert_key(Session {
        user: 5000,
        requests: 0,
    });
    assert_eq!(reused, keys[7]);
    assert_ne!(sessions.get(keys[7]).unwrap().user, 7);

    // Without borrow tracking, for a loop in which nothing else happens.
    // SAFETY: no guard is alive, and nothing is removed while it lasts.
    let values = unsafe { sessions.untracked() };
    let requests: u64 = keys.iter().map(|&key| values[key].requests).sum();
    println!("{} sessions, {requests} requests", sessions.len());
    assert_eq!(sessions.len(), 1000);
}
