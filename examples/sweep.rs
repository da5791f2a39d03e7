//! Sessions in a growable slab, swept in a maintenance window: the program drops
//! expired sessions, frees the memory that a busy day took, and reserves memory
//! for the next day. The keys of the other sessions do not change.
//!
//! ```text
//! cargo run --example sweep
//! ```

use std::collections::HashMap;

use flatslab::{Key, Slab};

struct Session {
    user: u64,
    expires: u64,
}

fn main() {
    let sessions = Slab::builder().chunk_capacity(256).build();
    let mut by_user: HashMap<u64, Key> = HashMap::new();
    let mut next_user = 0;

    for (day, logins) in [2_000u64, 50_000, 3_000, 3_000].into_iter().enumerate() {
        let day = day as u64;
        for login in 0..logins {
            let session = Session {
                user: next_user,
                // The first of a day stay for a week.
                expires: if login < 200 { day + 7 } else { day },
            };
            by_user.insert(next_user, sessions.insert_key(session));
            next_user += 1;
        }

        // The window. `retain` drops what has expired, in key order, and its
        // closure may use the slab; `shrink_to_fit` gives back the empty chunks.
        let (before, chunks) = (sessions.len(), sessions.chunks());
        sessions.retain(|_, session| {
            let stays = session.expires > day;
            if !stays {
                by_user.remove(&session.user);
            }
            stays
        });
        assert_eq!(
            sessions.chunks(),
            chunks,
            "dropping values gives no memory back"
        );
        sessions.shrink_to_fit();

        // And before trade opens: nothing will be allocated for 3000 more.
        let shrunk = sessions.chunks();
        sessions.reserve(3_000);
        println!(
            "day {day}: {before} sessions in {chunks} chunks; {} stay, in {shrunk}; \
             {} chunks for tomorrow",
            sessions.len(),
            sessions.chunks(),
        );

        assert_eq!(sessions.len(), by_user.len());
        for (user, &key) in &by_user {
            assert!(
                sessions
                    .get(key)
                    .is_some_and(|session| session.user == *user)
            );
        }
    }

    // Without a live session, nothing is kept.
    for (_, session) in sessions.drain() {
        by_user.remove(&session.user);
    }
    sessions.shrink_to_fit();
    assert!(by_user.is_empty() && sessions.capacity() == 0);
}
