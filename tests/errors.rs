//! What errors say. `tests/errors.txt` has the message of each variant of each error, and of the
//! panics that misuse ends in, for a person to read; a change of a message is a change of that
//! file. The sources say which errors and variants there are, so none can be left out.
//!
//! With `FLATSLAB_WRITE=1` and all features the file is written first. The limits that it names are
//! those of pointers of 64 bits.
#![cfg(all(feature = "tracked", feature = "arenas", feature = "threads"))]
#![cfg(all(feature = "std", target_pointer_width = "64", not(miri), not(loom)))]

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::{Debug, Display, Write};
use std::fs;
use std::num::ParseIntError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use flatslab::bump::{AllocOrInitError, Arena, ArenaString, CollectIn};
use flatslab::bytes::{ByteArena, LocError, RequestError, SharedError};
use flatslab::collections::{
    AddError, InsertBesideError, InsertIdError, LinkError, List, Nodes, SlotError, SortedMap, Tree,
};
use flatslab::epoch::{EpochBytes, EpochError, EpochSlab, InsertError};
use flatslab::key_slab::{
    ChangeError, CheckpointSlab, InsertAtError, PatchError, RewindError, SecondarySlab,
};
use flatslab::memory::{PageOption, Reason, Shortfall};
use flatslab::pool::Pool;
use flatslab::sync::{MissedError, PushError, SharedPushError, SpscRing};
use flatslab::{
    AccessError, AllocError, BoundedKeySlab, BoundedSlab, BuildError, DisjointError, FullError,
    GenKey, Key, KeyError, KeySlab, SizeError, Slab,
};

/// Messages by the names of their types and variants.
#[derive(Default)]
struct Messages(BTreeMap<&'static str, Vec<(String, String)>>);

impl Messages {
    fn add(&mut self, kind: &'static str, variant: &str, text: String) {
        // Numbers that differ between platforms, by name.
        let text = text.replace(&isize::MAX.to_string(), "isize::MAX");
        let slabs = ((u64::MAX >> 30) as usize - 1).to_string();
        let text = text.replace(&slabs, "2^34 - 2");
        let refused = std::io::Error::from_raw_os_error(1).to_string();
        let text = text.replace(&refused, "<the system's text>");
        let messages = self.0.entry(kind).or_default();
        messages.push((variant.to_owned(), text));
    }

    /// A value that is printed, under the name of its variant.
    fn shown(&mut self, kind: &'static str, value: &(impl Debug + Display)) {
        let debug = format!("{value:?}");
        let end = debug.find(|c: char| !c.is_alphanumeric());
        self.add(
            kind,
            &debug[..end.unwrap_or(debug.len())],
            value.to_string(),
        );
    }

    fn error(&mut self, kind: &'static str, error: &impl Error) {
        if let Some(source) = error.source() {
            let (text, cause) = (error.to_string(), source.to_string());
            assert!(!text.contains(&cause), "the cause twice: {text}: {cause}");
        }
        self.shown(kind, error);
    }

    fn panic<R>(&mut self, call: &str, f: impl FnOnce() -> R) {
        let payload = catch_unwind(AssertUnwindSafe(f)).map(drop);
        let payload = payload.expect_err(call);
        let payload: &dyn Any = &*payload;
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref().map(|text: &&str| text.to_string()));
        self.add("panics", call, text.expect("a message"));
    }
}

fn parse_error() -> ParseIntError {
    "x".parse::<u8>().unwrap_err()
}

fn errors(to: &mut Messages) {
    let size = SizeError { size: 9, limit: 8 };
    to.error("SizeError", &size);
    to.error("FullError", &FullError(7));
    let full = AllocError::Full { capacity: 2 };
    let (option, reason) = (PageOption::Lock, Reason::Refused(1));
    for error in [
        full,
        AllocError::FullWithRetired {
            capacity: 2,
            retired: 1,
        },
        AllocError::NotInserted,
        AllocError::TooManySlots {
            requested: 1 << 30,
            limit: (1 << 30) - 1,
        },
        AllocError::TooManyBytes {
            slots: 1 << 20,
            slot_bytes: 1 << 30,
        },
        AllocError::OutOfMemory { bytes: 4096 },
        AllocError::Limit {
            bytes: 64,
            limit: 4096,
        },
        AllocError::Refused {
            option,
            reason,
            bytes: 4096,
        },
    ] {
        to.error("AllocError", &error);
    }
    let of_epochs = EpochSlab::<u64>::builder().chunk_capacity(0).try_build();
    for error in [
        BuildError::Memory(full),
        BuildError::Unsupported(PageOption::Node(7)),
        BuildError::Growth,
        BuildError::TooManyClasses { largest: 1 << 20 },
        of_epochs.unwrap_err(),
        BuildError::TooManySlabs,
    ] {
        to.error("BuildError", &error);
    }
    for error in [
        AccessError::Missing,
        AccessError::Borrowed,
        AccessError::TooManyReaders,
        AccessError::Owned,
    ] {
        to.error("AccessError", &error);
    }
    let error: KeyError = Key::try_from(1 << 30).unwrap_err();
    to.error("KeyError", &error);
    let (value, index, limit) = ((), 3, 1);
    for error in [
        InsertAtError::Taken(()),
        InsertAtError::Outdated(()),
        InsertAtError::Detached(()),
        InsertAtError::Missing(()),
        InsertAtError::NotDetached(()),
        InsertAtError::OutOfRange {
            value,
            index,
            limit,
        },
        InsertAtError::NoMemory((), full),
    ] {
        to.error("InsertAtError", &error);
    }
    to.error("DisjointError", &DisjointError::Missing);
    to.error("DisjointError", &DisjointError::Overlapping);
    let slot = SlotError::OutOfRange {
        slot: 7,
        capacity: 4,
    };
    to.error("SlotError", &slot);
    to.error("SlotError", &SlotError::Outdated { slot: 7 });
    for error in [
        AddError::Missing,
        AddError::Taken(Key::NONE),
        AddError::OutOfRange(slot),
        AddError::Full,
        AddError::NoMemory(full),
    ] {
        to.error("AddError", &error);
    }
    to.error("InsertIdError", &InsertIdError::Taken(()));
    to.error("InsertIdError", &InsertIdError::Full(()));
    to.error("InsertBesideError", &InsertBesideError::NotInList(()));
    to.error("InsertBesideError", &InsertBesideError::Full(()));
    for error in [LinkError::Missing, LinkError::Linked, LinkError::NotInList] {
        to.error("LinkError", &error);
    }
    to.error("ChangeError", &ChangeError::Missing);
    to.error("ChangeError", &ChangeError::NoMemory(full));
    to.error("RewindError", &RewindError::OtherSlab);
    to.error("RewindError", &RewindError::Dropped);
    to.error("PatchError", &PatchError::OtherState);
    to.error("PatchError", &PatchError::Inconsistent { slot: 7 });
    let (slots, limit) = (9, 8);
    to.error("PatchError", &PatchError::OutOfRange { slots, limit });
    to.error("PatchError", &PatchError::NoMemory(full));
    for error in [
        InsertError::Closing(()),
        InsertError::Closed(()),
        InsertError::Foreign(()),
        InsertError::TooLarge((), size),
        InsertError::Full((), full),
    ] {
        to.error("InsertError", &error);
    }
    let slab = EpochSlab::new();
    for error in [
        EpochError::Current,
        EpochError::Permanent,
        EpochError::Closed,
        EpochError::InRing,
        EpochError::Entered,
        EpochError::Foreign,
        EpochError::Borrowed(slab.insert(7)),
    ] {
        // The number of the slab in the key depends on the other tests.
        match error {
            EpochError::Borrowed(key) => {
                let text = error.to_string().replace(&format!("{key:?}"), "<key>");
                to.add("EpochError", "Borrowed", text);
            }
            error => to.error("EpochError", &error),
        }
    }
    let init: AllocOrInitError<ParseIntError> = AllocOrInitError::Alloc(full);
    to.error("AllocOrInitError", &init);
    to.error("AllocOrInitError", &AllocOrInitError::Init(parse_error()));
    for error in [
        LocError::Foreign,
        LocError::Stale,
        LocError::Range,
        LocError::Closed,
        LocError::TooMany,
    ] {
        to.error("LocError", &error);
    }
    to.error("RequestError", &RequestError::TooLarge(size));
    to.error("RequestError", &RequestError::Memory(full));
    let arena = ByteArena::new();
    let mut head = arena.copy(b"head");
    let other = head.clone();
    let error: SharedError<_> = head.set_next(other).unwrap_err();
    to.error("SharedError", &error);
    for error in [PushError::Full, PushError::TooLarge(size)] {
        to.error("PushError", &error);
    }
    let missed = MissedError { first: 7, count: 3 };
    to.error("MissedError", &missed);
    for error in [
        SharedPushError::Full,
        SharedPushError::TooLarge(size),
        SharedPushError::Closed,
    ] {
        to.error("SharedPushError", &error);
    }
    #[cfg(feature = "zerocopy")]
    to.error("ViewError", &arena.copy(&[0; 9]).view::<u64>().unwrap_err());
    for option in [
        PageOption::System,
        PageOption::TransparentHugePages,
        PageOption::HugePages,
        PageOption::Lock,
        PageOption::Node(7),
    ] {
        to.shown("PageOption", &option);
    }
    for reason in [
        Reason::Unsupported,
        Reason::SwitchedOff,
        Reason::OnlyReserved,
        Reason::Refused(1),
    ] {
        to.shown("Reason", &reason);
    }
}

/// The panics of methods without `try_`.
/// A value of a list.
struct Item(flatslab::collections::Links);

flatslab::linked!(impl Linked<Key, Key> for Item { 0 });

fn panics(to: &mut Messages) {
    let mut items = KeySlab::new();
    let mut list = List::new(Key::from_raw(3));
    let item = list.push_back(&mut items, Item(Default::default()));
    items.remove(item.unwrap());
    to.panic("List::pop_front, removed", || list.pop_front(&mut items));
    let (mut nodes, mut tree) = (Nodes::new(), Tree::new());
    tree.insert(&mut nodes, 1, 2);
    to.panic("Tree::get, other nodes", || {
        tree.get(&Nodes::new(), &1).copied()
    });
    to.panic("SortedMap::with_capacity", || {
        SortedMap::<u64, u64>::with_capacity(1 << 40)
    });

    let slab = BoundedSlab::with_capacity(3);
    let key = slab.insert_key(7).unwrap();
    let reader = slab.get(key).unwrap();
    to.panic("TrackedSlab::get_mut, borrowed", || slab.get_mut(key));
    to.panic("TrackedSlab::remove_by_key, borrowed", || {
        slab.remove_by_key(key)
    });
    to.panic("TrackedSlab::clear, borrowed", || slab.clear());
    drop(reader);
    to.panic("TrackedSlab::remove_by_key, missing", || {
        slab.remove_by_key(Key::from_raw(2))
    });
    to.panic("TrackedSlab::remove_by_key, out of range", || {
        slab.remove_by_key(Key::from_raw(3))
    });
    let slot = slab.insert(8).unwrap();
    let writer = slot.get_mut();
    to.panic("Slot::get, mutably borrowed", || slot.get());
    drop(writer);
    let left = {
        let short = BoundedSlab::with_capacity(1);
        short.insert(9).unwrap()
    };
    to.panic("Slot::get, slab dropped", || left.get());
    to.panic("BoundedSlab::with_capacity", || {
        BoundedSlab::<u64>::with_capacity(1 << 30)
    });
    to.panic("Slab::builder().chunk_capacity", || {
        Slab::<u64>::builder().chunk_capacity(1 << 30).build()
    });

    let mut keys: KeySlab<u64, GenKey> = KeySlab::with_key();
    let key = keys.insert(7);
    to.panic("PlainSlab::reset_generations", || keys.reset_generations());
    to.panic("PlainSlab::key_of", || keys.key_of(&7));
    to.panic("PlainSlab::reattach", || keys.reattach(key, 8));
    keys.remove(key);
    to.panic("PlainSlab::remove", || keys.remove(key));
    to.panic("PlainSlab::index", || keys[key]);
    to.panic("SecondarySlab::insert", || {
        SecondarySlab::new().insert(&keys, key, 7)
    });
    let mut rewound = CheckpointSlab::<u64>::new();
    let checkpoint = rewound.checkpoint();
    rewound.keep_last(0);
    to.panic("CheckpointSlab::rewind", || rewound.rewind(checkpoint));
    let mut bounded = BoundedKeySlab::with_capacity(1);
    to.panic("PlainSlab::extend", || {
        bounded.extend([(Key::from_raw(3), 7)])
    });

    let pool = Pool::with_capacity(1);
    let _first = pool.alloc(7);
    to.panic("Pool::alloc", || pool.alloc(8));
    to.panic("Arena::alloc", || {
        Arena::bounded(0).alloc(7_u8);
    });
    let arena = Arena::new();
    let mut vec = [1, 2].into_iter().collect_in(&arena);
    to.panic("ArenaVec::insert", || vec.insert(3, 7));
    to.panic("ArenaVec::remove", || vec.remove(2));
    let mut text = ArenaString::new_in(&arena);
    text.push('é');
    to.panic("ArenaString::truncate", || text.truncate(1));

    let arena = ByteArena::new();
    let mut buf = arena.copy(b"hello");
    to.panic("Buf::slice", || buf.slice(3..6));
    to.panic("Buf::advance", || buf.advance(6));
    to.panic("BufMut::split_to", || arena.alloc(5).split_to(6));
    to.panic("ByteArena::alloc", || arena.alloc(2 << 20));
    let large = arena.alloc_zeroed(1 << 20).freeze();
    to.panic("Buf::loc", || large.loc());
    to.panic("SpscRing::with_capacity", || SpscRing::with_capacity(0, 5));

    let epochs = EpochSlab::new();
    to.panic("EpochBytes::copy", || EpochBytes::new().copy(&[7; 1 << 20]));
    let open = epochs.insert(7);
    let _reader = epochs.get(open).unwrap();
    let current = epochs.current();
    to.panic("EpochSlab::clear_epoch", || epochs.clear_epoch(current));
}

/// The errors of the library and their variants, read in its sources: no variant, if it is a
/// structure.
fn declared() -> BTreeMap<String, BTreeSet<String>> {
    let mut names = BTreeSet::from(["PageOption", "Reason"].map(String::from));
    let mut types = BTreeMap::new();
    let mut paths = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(
                fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let name = |text: &str| {
                let end = text.find(|c: char| !c.is_alphanumeric());
                text[..end.unwrap_or(text.len())].to_owned()
            };
            let is_impl = line.starts_with("impl") && !line.contains("From<");
            let of_error = line.split_once("Error for ").filter(|_| is_impl);
            if let Some((_, of)) = of_error {
                names.insert(name(of));
            } else if let Some(of) = line.strip_prefix("pub enum ") {
                let body = lines.by_ref().take_while(|line| *line != "}");
                let variants = body.filter_map(|line| line.strip_prefix("    "));
                let variants = variants.map(name).filter(|name| !name.is_empty());
                types.insert(name(of), variants.collect());
            }
        }
    }
    assert!(names.len() > 15, "{names:?}");
    let variants = |name: String| (name.clone(), types.remove(&name).unwrap_or_default());
    names.into_iter().map(variants).collect()
}

#[test]
fn each_error_says_what_the_file_has() {
    let mut messages = Messages::default();
    errors(&mut messages);
    panics(&mut messages);
    let Messages(mut messages) = messages;
    let shortfall = |option| {
        let reason = Reason::Refused(1);
        let error = AllocError::Refused {
            option,
            reason,
            bytes: 1,
        };
        error.to_string()
    };
    assert!(shortfall(PageOption::HugePages).ends_with("(vm.nr_hugepages reserves them)"));
    assert!(shortfall(PageOption::Lock).ends_with("(the limit is `ulimit -l`)"));
    let _: fn(&Shortfall) -> String = ToString::to_string;

    let mut declared = declared();
    if cfg!(not(feature = "zerocopy")) {
        declared.remove("ViewError");
    }
    for (name, variants) in &declared {
        let said: BTreeSet<_> = (messages.get(&**name).into_iter().flatten())
            .map(|(variant, _)| variant.clone())
            .collect();
        match variants.is_empty() {
            true => assert_eq!(said.len(), 1, "{name} is not printed"),
            false => assert_eq!(&said, variants, "the variants of {name}"),
        }
    }

    let mut text = String::new();
    let panics = messages.remove("panics").unwrap();
    for (name, of) in messages.into_iter().chain([("panics", panics)]) {
        let widest = of.iter().map(|(variant, _)| variant.len()).max().unwrap();
        writeln!(text, "{name}").unwrap();
        for (variant, message) in of {
            assert!(
                !message.starts_with(|c: char| c.is_uppercase()) || name == "panics",
                "{name}: {message}"
            );
            assert!(
                !message.ends_with('.') && message.len() > 5,
                "{name}: {message}"
            );
            writeln!(text, "    {variant:widest$}  {message}").unwrap();
        }
        text.push('\n');
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors.txt");
    if cfg!(feature = "zerocopy") && std::env::var_os("FLATSLAB_WRITE").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let mut expected = fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
    if cfg!(not(feature = "zerocopy")) {
        let start = expected.find("ViewError\n").expect("it is in the file");
        let end = start + expected[start..].find("\n\n").unwrap() + 2;
        expected.replace_range(start..end, "");
    }
    assert!(
        text == expected,
        "messages are not those of tests/errors.txt:\n{text}"
    );
}
