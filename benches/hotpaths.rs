//! The machine code of the hot paths, as it is executed: every instruction of
//! an operation on a `u64`, counted and, if asked for, listed. `trace` says how.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod traced {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::process::ExitCode;

    use clap::Parser;
    use flatslab::bump::{Arena, ArenaVec, Scope};
    use flatslab::bytes::{Buf, BufMut, ByteArena, Evicted, Loc, LocError, RequestError, Ring};
    use flatslab::epoch::{Epoch, EpochKey, EpochSlab, InsertError};
    use flatslab::pool::{Heap, InStorage, Pool, PoolBox, PoolStorage};
    use flatslab::sync::{SendSlot, SharedKey, SharedSlab};
    use flatslab::{
        BoundedKeySlab, BoundedSlab, FullError, GenKey, Key, KeySlab, Slab, Slot, SlotBox,
    };
    use flatslab_benches::arguments::Arguments;
    use flatslab_benches::table;

    use super::trace::{Executed, trace};

    /// Instructions, loads, stores and branches of the hot paths, as executed
    #[derive(Parser)]
    struct CommandLine {
        /// Fails if an operation calls a function, or takes more instructions
        /// than recorded
        #[arg(long)]
        check: bool,
        /// Shows the instructions
        #[arg(long)]
        instructions: bool,
        #[command(flatten)]
        arguments: Arguments,
    }

    /// An operation as a function of its own, so that it has a beginning and an
    /// end, and what it is called with.
    macro_rules! operation {
        ($name:expr, ($($argument:ident: $type:ty = $value:expr),*) $(-> $result:ty)? $body:block) => {
            Operation {
                name: $name.to_owned(),
                trace: Box::new(move |name| {
                    #[inline(never)]
                    fn operation($($argument: $type),*) $(-> $result)? $body
                    let function = operation as *const ();
                    trace(name, function, ($($value,)*), |($($argument,)*)| operation($($argument),*))
                }),
            }
        };
    }

    macro_rules! operations {
        ($($name:expr, ($($argument:ident: $type:ty = $value:expr),*) $(-> $result:ty)?
            $body:block;)*) => {
            vec![$(operation!($name, ($($argument: $type = $value),*) $(-> $result)? $body)),*]
        };
    }

    struct Operation<'a> {
        name: String,
        trace: Box<dyn Fn(String) -> Executed + 'a>,
    }

    /// What both slabs do, each in code of its own.
    macro_rules! by_slab {
        ($slab:ident, $of:ident, $inserted:ty $(, $some:ident)?) => {{
            let slot = move || $of.insert(7)$(.$some())?;
            let key = move || slot().leak();
            operations![
                concat!(stringify!($slab), "::insert"), (slab: &$slab<u64> = $of, value: u64 = 7)
                    -> $inserted { slab.insert(value) };
                concat!(stringify!($slab), "::insert, leak"),
                    (slab: &$slab<u64> = $of, value: u64 = 7)
                    -> Key { slab.insert(value)$(.$some())?.leak() };
                concat!(stringify!($slab), "::get"), (slab: &$slab<u64> = $of, key: Key = key())
                    -> u64 { *slab.get(key).unwrap() };
                concat!(stringify!($slab), "::get_mut"), (slab: &$slab<u64> = $of, key: Key = key())
                    { *slab.get_mut(key).unwrap() += 1 };
                concat!(stringify!($slab), "::get_copied"),
                    (slab: &$slab<u64> = $of, key: Key = key())
                    -> u64 { slab.get_copied(key).unwrap() };
                concat!(stringify!($slab), "::contains_key"),
                    (slab: &$slab<u64> = $of, key: Key = key())
                    -> bool { slab.contains_key(key) };
                concat!(stringify!($slab), "::untracked, []"),
                    (slab: &$slab<u64> = $of, key: Key = key())
                    -> u64 {
                        // SAFETY: nothing borrows the value.
                        unsafe { slab.untracked()[key] }
                    };
                concat!(stringify!($slab), "::remove_by_key"),
                    (slab: &$slab<u64> = $of, key: Key = key())
                    -> u64 { slab.remove_by_key(key) };
                concat!(stringify!($slab), "::into_inner"), (slot: Slot<u64> = slot())
                    -> u64 { slot.into_inner() };
            ]
        }};
    }

    /// What handles do alike for both slabs.
    fn by_handle(slab: &Slab<u64>) -> Vec<Operation<'_>> {
        let slot = move || slab.insert(7);
        let boxed = move || slot().into_box();
        operations![
            "Slot::get", (slot: &Slot<u64> = &slot()) -> u64 { *slot.get() };
            "Slot::get_mut", (slot: &Slot<u64> = &slot()) { *slot.get_mut() += 1 };
            "Slot::replace", (slot: &Slot<u64> = &slot(), value: u64 = 8)
                -> u64 { slot.replace(value) };
            "Slot::is_valid", (slot: &Slot<u64> = &slot()) -> bool { slot.is_valid() };
            "Slot::take, VacantSlot::insert", (slot: Slot<u64> = slot(), value: u64 = 8)
                -> (u64, Slot<u64>) {
                let (old, vacant) = slot.take();
                (old, vacant.insert(value))
            };
            "Slot, drop", (slot: Slot<u64> = slot()) { drop(slot) };
            "Slot::into_box", (slot: Slot<u64> = slot()) -> SlotBox<u64> { slot.into_box() };
            "SlotBox, deref", (boxed: &SlotBox<u64> = &boxed()) -> u64 { **boxed };
            "SlotBox, deref_mut", (boxed: &mut SlotBox<u64> = &mut boxed()) { **boxed += 1 };
            "SlotBox::into_inner", (boxed: SlotBox<u64> = boxed())
                -> u64 { SlotBox::into_inner(boxed) };
            "SlotBox, drop", (boxed: SlotBox<u64> = boxed()) { drop(boxed) };
        ]
    }

    /// What a container of plain references does.
    macro_rules! plain {
        ($name:literal, $slab:ident<$key:ident> $(, $some:ident)?) => {{
            let filled = || {
                let mut slab = $slab::<u64, $key>::with_capacity_and_key(8);
                let keys = [1, 2, 3].map(|value| slab.insert(value)$(.$some())?);
                slab.remove(keys[0]);
                (Box::leak(Box::new(slab)), keys[1])
            };
            operations![
                concat!($name, "::insert"),
                    (slab: &mut $slab<u64, $key> = filled().0, value: u64 = 7)
                    -> $key { slab.insert(value)$(.$some())? };
                concat!($name, "::get"), (slab: (&mut $slab<u64, $key>, $key) = filled())
                    -> u64 { slab.0[slab.1] };
                concat!($name, "::contains"), (slab: (&mut $slab<u64, $key>, $key) = filled())
                    -> bool { slab.0.contains(slab.1) };
                concat!($name, "::remove"), (slab: (&mut $slab<u64, $key>, $key) = filled())
                    -> u64 { slab.0.remove(slab.1) };
            ]
        }};
    }

    /// What pools and boxes do alike, whatever their memory.
    macro_rules! by_pool {
        ($pool:literal, $boxed:literal, $memory:ident, $of:expr) => {{
            let pool: &'static Pool<'static, u64, $memory> = $of;
            let boxed = move || pool.try_alloc(7).unwrap();
            operations![
                concat!($pool, "::alloc"),
                    (pool: &'static Pool<'static, u64, $memory> = pool, value: u64 = 7)
                    -> PoolBox<'static, u64, $memory> { pool.alloc(value) };
                concat!($pool, "::try_alloc"),
                    (pool: &'static Pool<'static, u64, $memory> = pool, value: u64 = 7)
                    -> Result<PoolBox<'static, u64, $memory>, FullError<u64>> {
                        pool.try_alloc(value)
                    };
                concat!($boxed, "::into_inner"), (boxed: PoolBox<'static, u64, $memory> = boxed())
                    -> u64 { PoolBox::into_inner(boxed) };
                concat!($boxed, ", drop"), (boxed: PoolBox<'static, u64, $memory> = boxed())
                    { drop(boxed) };
            ]
        }};
    }

    /// A value that is large enough to be copied by a function.
    type Large = [u64; 32];

    /// What does not depend on the memory: access, and a value built in its cell.
    fn by_box() -> Vec<Operation<'static>> {
        let pool: &'static Pool<'static, u64> = Pool::leak(8);
        let large: &'static Pool<'static, Large> = Pool::leak(8);
        let boxed = move || pool.try_alloc(7).unwrap();
        operations![
            "Pool::try_alloc_with, 256 B",
                (pool: &'static Pool<'static, Large> = large, value: u64 = 7)
                -> Option<PoolBox<'static, Large>> { pool.try_alloc_with(|| [value; 32]).ok() };
            "PoolBox, deref", (boxed: &PoolBox<'static, u64> = &boxed()) -> u64 { **boxed };
            "PoolBox, deref_mut", (boxed: &mut PoolBox<'static, u64> = &mut boxed())
                { **boxed += 1 };
            "PoolBox::take, PoolBox::write",
                (boxed: PoolBox<'static, u64> = boxed(), value: u64 = 8)
                -> (u64, PoolBox<'static, u64>) {
                let (old, vacant) = PoolBox::take(boxed);
                (old, PoolBox::write(vacant, value))
            };
        ]
    }

    /// What arenas do.
    fn by_arena() -> Vec<Operation<'static>> {
        let arena = || {
            let arena: &'static mut Arena = Box::leak(Box::new(Arena::with_capacity(1 << 12)));
            // Enters the chunk.
            arena.alloc(7_u64);
            arena
        };
        let bounded: &Arena = Box::leak(Box::new(Arena::bounded(1 << 12)));
        let scope: &Scope<'_, '_> = Box::leak(Box::new(arena().as_scope()));
        let vec = move || {
            let vec = ArenaVec::with_capacity_in(8, &*arena());
            Box::leak(Box::new(vec))
        };
        operations![
            "Arena::alloc", (arena: &'static Arena = arena(), value: u64 = 7)
                -> &'static mut u64 { arena.alloc(value) };
            "Arena::alloc_str, 5 bytes",
                (arena: &'static Arena = arena(), text: &'static str = "short")
                -> &'static str { arena.alloc_str(text) };
            "Scope::alloc", (scope: &'static Scope<'static, 'static> = scope, value: u64 = 7)
                -> &'static mut u64 { scope.alloc(value) };
            "Arena::try_alloc, bounded", (arena: &'static Arena = bounded, value: u64 = 7)
                -> Result<&'static mut u64, FullError<u64>> { arena.try_alloc(value) };
            "ArenaVec::push",
                (vec: &'static mut ArenaVec<'static, 'static, u64> = vec(), value: u64 = 7)
                { vec.push(value) };
        ]
    }

    /// What byte arenas and their buffers do.
    fn by_bytes() -> Vec<Operation<'static>> {
        let arena: &ByteArena = Box::leak(Box::new(ByteArena::new()));
        // Of each class that is used chunks are on the free stack.
        arena.prepare(128, 16).unwrap();
        let buf = || arena.try_copy(&[7; 128]).unwrap();
        let ring = |entries| {
            let mut ring = Ring::with_capacity(4, 64);
            for _ in 0..entries {
                ring.push(&[7; 40]).unwrap();
            }
            Box::leak(Box::new(ring))
        };
        operations![
            "ByteArena::try_alloc, 128 bytes", (arena: &'static ByteArena = arena)
                -> Result<BufMut, RequestError> { arena.try_alloc(128) };
            "ByteArena::try_alloc, any size", (arena: &'static ByteArena = arena, size: usize = 128)
                -> Result<BufMut, RequestError> { arena.try_alloc(size) };
            "BufMut, drop", (buf: BufMut = arena.try_alloc(128).unwrap()) { drop(buf) };
            "BufMut::freeze", (buf: BufMut = arena.try_alloc(128).unwrap()) -> Buf { buf.freeze() };
            "Buf, clone", (buf: &'static Buf = Box::leak(Box::new(buf()))) -> Buf { buf.clone() };
            "Buf, drop, not the last", (buf: Buf = {
                let buf = buf();
                std::mem::forget(buf.clone());
                buf
            }) { drop(buf) };
            "ByteArena::resolve", (arena: &'static ByteArena = arena, loc: Loc = buf().into_loc())
                -> Result<Buf, LocError> { arena.resolve(loc) };
            "Ring::push, 40 bytes, not full",
                (ring: &'static mut Ring = ring(0), bytes: &'static [u8; 40] = &[7; 40])
                -> Result<Option<Evicted>, RequestError> { ring.push(bytes) };
            "Ring::push, 40 bytes, full",
                (ring: &'static mut Ring = ring(4), bytes: &'static [u8; 40] = &[7; 40])
                -> Result<Option<Evicted>, RequestError> { ring.push(bytes) };
        ]
    }

    /// What epoch slabs do.
    fn by_epoch() -> Vec<Operation<'static>> {
        let slab: &EpochSlab<u64> = Box::leak(Box::new(EpochSlab::new()));
        // The epoch has a chunk, which neither is full nor becomes empty.
        slab.insert(7);
        let key = move || slab.insert(7);
        operations![
            "EpochSlab::try_insert", (slab: &'static EpochSlab<u64> = slab, value: u64 = 7)
                -> Result<EpochKey, InsertError<u64>> { slab.try_insert(value) };
            "EpochSlab::try_insert_in",
                (slab: (&'static EpochSlab<u64>, Epoch) = (slab, slab.current()), value: u64 = 7)
                -> Result<EpochKey, InsertError<u64>> { slab.0.try_insert_in(slab.1, value) };
            "EpochSlab::get", (slab: &'static EpochSlab<u64> = slab, key: EpochKey = key())
                -> u64 { *slab.get(key).unwrap() };
            "EpochSlab::get_mut", (slab: &'static EpochSlab<u64> = slab, key: EpochKey = key())
                { *slab.get_mut(key).unwrap() += 1 };
            "EpochSlab::take", (slab: &'static EpochSlab<u64> = slab, key: EpochKey = key())
                -> u64 { slab.take(key).unwrap() };
        ]
    }

    /// What goes across threads, where one thread alone is at work.
    fn by_thread() -> Vec<Operation<'static>> {
        let slab: &Slab<u64> = Box::leak(Box::new(Slab::with_capacity(8)));
        let slot = move || slab.insert(7);
        let shared: &SharedSlab<u64> = Box::leak(Box::new(SharedSlab::with_capacity(64)));
        let key = move || shared.insert(7).unwrap();
        // The first operations of a thread get numbers for it.
        key();
        drop(slot().into_send());
        operations![
            "Slot::into_send", (slot: Slot<u64> = slot()) -> SendSlot<u64> { slot.into_send() };
            "SendSlot, drop", (sent: SendSlot<u64> = slot().into_send()) { drop(sent) };
            "SharedSlab::insert", (slab: &'static SharedSlab<u64> = shared, value: u64 = 7)
                -> Result<SharedKey, FullError<u64>> { slab.insert(value) };
            "SharedSlab::get, drop",
                (slab: &'static SharedSlab<u64> = shared, key: SharedKey = key())
                -> u64 { *slab.get(key).unwrap() };
            "SharedSlab::try_take",
                (slab: &'static SharedSlab<u64> = shared, key: SharedKey = key())
                -> u64 { slab.try_take(key).unwrap() };
            "SharedSlab::remove", (slab: &'static SharedSlab<u64> = shared, key: SharedKey = key())
                -> bool { slab.remove(key) };
        ]
    }

    pub(super) fn main() -> ExitCode {
        let command = CommandLine::parse();
        let arguments = &command.arguments;
        let (bounded, growable) = (BoundedSlab::with_capacity(8), Slab::with_capacity(8));
        let (bounded, growable, for_handles) = (&bounded, &growable, &Slab::with_capacity(32));
        let mut operations: Vec<Operation<'_>> = by_slab!(
            BoundedSlab,
            bounded,
            Result<Slot<u64>, FullError<u64>>,
            unwrap
        );
        operations.extend(by_slab!(Slab, growable, Slot<u64>));
        operations.extend(by_handle(for_handles));
        operations.extend(plain!("BoundedKeySlab", BoundedKeySlab<Key>, unwrap));
        operations.extend(plain!("KeySlab", KeySlab<Key>));
        operations.extend(plain!("KeySlab, GenKey", KeySlab<GenKey>));

        operations.extend(by_pool!("Pool", "PoolBox", Heap, Pool::leak(8)));
        operations.extend(by_box());
        operations.extend(by_pool!("Pool, storage", "StorageBox", InStorage, {
            static STORAGE: PoolStorage<u64, 8> = PoolStorage::new();
            let pool = STORAGE.claim().expect("not claimed yet");
            // Its first cells are put on the free list.
            drop(pool.try_alloc(7));
            pool
        }));
        operations.extend(by_arena());
        operations.extend(by_bytes());
        operations.extend(by_epoch());
        operations.extend(by_thread());

        // Values of 8 bytes; how many are live changes nothing.
        if let Err(message) = arguments.pairs(&[(64, &[8])], 64) {
            arguments.refuse(&message);
        }
        arguments.select(&mut operations, |operation| {
            let subject = operation.name.split([':', ',']).next();
            (&operation.name, subject.unwrap_or_default())
        });
        if arguments.list {
            for operation in operations {
                println!("{}", operation.name);
            }
            return ExitCode::SUCCESS;
        }
        let trace = |operation: Operation<'_>| (operation.trace)(operation.name);
        let executed: Vec<Executed> = operations.into_iter().map(trace).collect();
        if command.instructions {
            for it in &executed {
                println!("\n{}\n{}", it.name, it.listing);
            }
        }
        println!("\n{}", render(&executed));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("record/hotpaths.md");
        if arguments.record {
            std::fs::write(&path, render(&executed) + "\n").expect("the record can be written");
        }
        match command.check.then(|| check(&executed, &path)) {
            None | Some(Ok(())) => ExitCode::SUCCESS,
            Some(Err(error)) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    fn render(operations: &[Executed]) -> String {
        let lines = operations.iter().map(|it| {
            let counts = [it.instructions, it.loads, it.stores, it.branches, it.calls];
            table::line(&it.name, counts.map(|it| it.to_string()))
        });
        let head = ["instructions", "loads", "stores", "branches", "calls"];
        table::markdown(table::line("operation on `u64`", head), lines).unwrap_or_default()
    }

    /// Compares with what was recorded.
    fn check(operations: &[Executed], path: &Path) -> Result<(), String> {
        let recorded = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let mut errors = String::new();
        for operation in operations {
            let line = recorded.lines().find_map(|line| {
                let mut cells = line.split('|').map(str::trim).skip(1);
                let named = cells.next()? == operation.name;
                named.then(|| cells.next()?.parse::<usize>().ok())?
            });
            let (name, now) = (&operation.name, operation.instructions);
            if operation.calls > 0 {
                let _ = writeln!(errors, "{name}: calls a function in its hot path");
            }
            match line {
                None => {
                    let _ = writeln!(errors, "{name}: not recorded");
                }
                Some(before) if now > before => {
                    let _ = writeln!(errors, "{name}: {now} instructions, recorded {before}");
                }
                Some(_) => {}
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors
                + "see `cargo bench --features machine-code --bench hotpaths -- --instructions`")
        }
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    traced::main()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("hot paths are traced on x86_64 Linux; nothing to do here");
}
