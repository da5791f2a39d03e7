//! The machine code of the hot paths, as it is executed: every instruction of
//! an operation on a `u64`, counted and, if asked for, listed.
//!
//! Each operation is a function of its own here. It is called once with the
//! processor's trap flag set: the processor then traps behind every instruction,
//! and a signal handler writes down where it was. So what is counted is what an
//! operation runs through when nothing is unusual, whatever the compiler has
//! laid out beside it.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod traced {
    use std::cell::UnsafeCell;
    use std::fmt::Write as _;
    use std::path::Path;
    use std::process::ExitCode;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use clap::Parser;
    use flatslab::{BoundedSlab, Key, Slab, Slot, SlotBox};
    use flatslab_benches::table;
    use iced_x86::{
        Decoder, DecoderOptions, FlowControl, Formatter, Instruction, InstructionInfoFactory,
        IntelFormatter, OpAccess,
    };

    /// Instructions, loads, stores and branches of the hot paths, as executed
    #[derive(Parser)]
    struct Arguments {
        /// Fails if an operation calls a function, or takes more instructions
        /// than recorded
        #[arg(long)]
        check: bool,
        /// Keeps the counts, for `--check`
        #[arg(long)]
        record: bool,
        /// Lists the instructions
        #[arg(long)]
        list: bool,
        /// Nothing here takes long
        #[arg(long, hide = true)]
        quick: bool,
        /// Only operations whose name contains this
        filter: Option<String>,
        /// What `cargo bench` passes to every bench
        #[arg(long, hide = true)]
        bench: bool,
    }

    /// A function each, so that it has a beginning and an end.
    macro_rules! operations {
        ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
            $(
                #[inline(never)]
                fn $name($($argument: $type),*) $(-> $result)? $body
            )*
        };
    }

    /// The same for each slab.
    macro_rules! on {
        ($module:ident, $slab:ident, $inserted:ty) => {
            mod $module {
                use super::*;

                operations! {
                    insert(slab: &$slab<u64>, value: u64) -> $inserted { slab.insert(value) }
                    insert_leak(slab: &$slab<u64>, value: u64) -> Key {
                        into_slot(slab.insert(value)).leak()
                    }
                    get_key(slab: &$slab<u64>, key: Key) -> u64 { *slab.get(key).unwrap() }
                    get_mut_key(slab: &$slab<u64>, key: Key) { *slab.get_mut(key).unwrap() += 1 }
                    get_copied(slab: &$slab<u64>, key: Key) -> u64 { slab.get_copied(key).unwrap() }
                    contains_key(slab: &$slab<u64>, key: Key) -> bool { slab.contains_key(key) }
                    untracked(slab: &$slab<u64>, key: Key) -> u64 {
                        // SAFETY: nobody borrows the value.
                        unsafe { slab.untracked()[key] }
                    }
                    remove_by_key(slab: &$slab<u64>, key: Key) -> u64 { slab.remove_by_key(key) }
                    into_inner(slab: &$slab<u64>, slot: Slot<u64>) -> u64 { slab.into_inner(slot) }
                }

                pub(super) fn all() -> Vec<Operation> {
                    let slab = $slab::with_capacity(8);
                    let slot = || into_slot(slab.insert(7));
                    let key = || slot().leak();
                    let name = |operation: &str| format!("{}::{operation}", stringify!($slab));
                    vec![
                        trace(name("insert"), insert as *const (), || {
                            into_slot(insert(&slab, 7)).into_inner()
                        }),
                        trace(name("insert, leak"), insert_leak as *const (), || {
                            insert_leak(&slab, 7)
                        }),
                        trace_with(name("get"), get_key as *const (), key(), |key| {
                            get_key(&slab, key)
                        }),
                        trace_with(name("get_mut"), get_mut_key as *const (), key(), |key| {
                            get_mut_key(&slab, key)
                        }),
                        trace_with(name("get_copied"), get_copied as *const (), key(), |key| {
                            get_copied(&slab, key)
                        }),
                        trace_with(
                            name("contains_key"),
                            contains_key as *const (),
                            key(),
                            |key| contains_key(&slab, key),
                        ),
                        trace_with(
                            name("untracked, []"),
                            untracked as *const (),
                            key(),
                            |key| untracked(&slab, key),
                        ),
                        trace_with(
                            name("remove_by_key"),
                            remove_by_key as *const (),
                            key(),
                            |key| remove_by_key(&slab, key),
                        ),
                        trace_with(
                            name("into_inner"),
                            into_inner as *const (),
                            slot(),
                            |slot| into_inner(&slab, slot),
                        ),
                    ]
                }
            }
        };
    }

    fn into_slot(inserted: impl Into<Inserted>) -> Slot<u64> {
        inserted.into().0
    }

    struct Inserted(Slot<u64>);

    impl From<Slot<u64>> for Inserted {
        #[inline(always)]
        fn from(slot: Slot<u64>) -> Self {
            Inserted(slot)
        }
    }

    impl From<Result<Slot<u64>, flatslab::Full<u64>>> for Inserted {
        #[inline(always)]
        fn from(result: Result<Slot<u64>, flatslab::Full<u64>>) -> Self {
            Inserted(result.unwrap())
        }
    }

    on!(bounded, BoundedSlab, Result<Slot<u64>, flatslab::Full<u64>>);
    on!(growable, Slab, Slot<u64>);

    /// What handles do alike for both slabs.
    mod handle {
        use super::*;

        operations! {
            get(slot: &Slot<u64>) -> u64 { *slot.get() }
            get_mut(slot: &Slot<u64>) { *slot.get_mut() += 1 }
            replace(slot: &Slot<u64>, value: u64) -> u64 { slot.replace(value) }
            is_valid(slot: &Slot<u64>) -> bool { slot.is_valid() }
            refill(slot: Slot<u64>, value: u64) -> (u64, Slot<u64>) {
                let (old, vacant) = slot.take();
                (old, vacant.insert(value))
            }
            drop_slot(slot: Slot<u64>) { drop(slot) }
            boxed_get(boxed: &SlotBox<u64>) -> u64 { **boxed }
            boxed_get_mut(boxed: &mut SlotBox<u64>) { **boxed += 1 }
            into_box(slot: Slot<u64>) -> SlotBox<u64> { slot.into_box() }
            boxed_into_inner(boxed: SlotBox<u64>) -> u64 { SlotBox::into_inner(boxed) }
            drop_boxed(boxed: SlotBox<u64>) { drop(boxed) }
        }

        pub(super) fn all() -> Vec<Operation> {
            let slab = Slab::with_capacity(32);
            let slot = || slab.insert(7);
            let boxed = || slot().into_box();
            let name = |operation: &str| operation.to_owned();
            vec![
                trace_with(name("Slot::get"), get as *const (), slot(), |slot| {
                    get(&slot)
                }),
                trace_with(
                    name("Slot::get_mut"),
                    get_mut as *const (),
                    slot(),
                    |slot| get_mut(&slot),
                ),
                trace_with(
                    name("Slot::replace"),
                    replace as *const (),
                    slot(),
                    |slot| replace(&slot, 8),
                ),
                trace_with(
                    name("Slot::is_valid"),
                    is_valid as *const (),
                    slot(),
                    |slot| is_valid(&slot),
                ),
                trace_with(
                    name("Slot::take, VacantSlot::insert"),
                    refill as *const (),
                    slot(),
                    |slot| refill(slot, 8),
                ),
                trace_with(
                    name("Slot, drop"),
                    drop_slot as *const (),
                    slot(),
                    drop_slot,
                ),
                trace_with(
                    name("Slot::into_box"),
                    into_box as *const (),
                    slot(),
                    into_box,
                ),
                trace_with(
                    name("SlotBox, deref"),
                    boxed_get as *const (),
                    boxed(),
                    |boxed| boxed_get(&boxed),
                ),
                trace_with(
                    name("SlotBox, deref_mut"),
                    boxed_get_mut as *const (),
                    boxed(),
                    |mut boxed| boxed_get_mut(&mut boxed),
                ),
                trace_with(
                    name("SlotBox::into_inner"),
                    boxed_into_inner as *const (),
                    boxed(),
                    boxed_into_inner,
                ),
                trace_with(
                    name("SlotBox, drop"),
                    drop_boxed as *const (),
                    boxed(),
                    drop_boxed,
                ),
            ]
        }
    }

    pub(super) fn main() -> ExitCode {
        let arguments = Arguments::parse();
        let mut operations = bounded::all();
        operations.extend(growable::all());
        operations.extend(handle::all());
        if let Some(part) = &arguments.filter {
            operations.retain(|operation| operation.name.contains(part.as_str()));
        }
        if arguments.list {
            for operation in &operations {
                println!("\n{}\n{}", operation.name, operation.listing);
            }
        }
        println!("\n{}", render(&operations));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("record/hotpaths.md");
        if arguments.record {
            std::fs::write(&path, render(&operations) + "\n").expect("the record can be written");
        }
        match arguments.check.then(|| check(&operations, &path)) {
            None | Some(Ok(())) => ExitCode::SUCCESS,
            Some(Err(error)) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    fn render(operations: &[Operation]) -> String {
        let rows: Vec<Vec<String>> = operations
            .iter()
            .map(|it| {
                let counts = [it.instructions, it.loads, it.stores, it.branches, it.calls];
                let mut row = vec![it.name.clone()];
                row.extend(counts.iter().map(ToString::to_string));
                row
            })
            .collect();
        let head = [
            "operation on `u64`",
            "instructions",
            "loads",
            "stores",
            "branches",
            "calls",
        ];
        table::markdown(&head, &rows)
    }

    /// Compares with what was recorded.
    fn check(operations: &[Operation], path: &Path) -> Result<(), String> {
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
            Err(errors + "see `cargo bench --bench hotpaths -- --list`")
        }
    }

    /// What an operation runs through.
    struct Operation {
        name: String,
        listing: String,
        instructions: usize,
        loads: usize,
        stores: usize,
        branches: usize,
        calls: usize,
    }

    fn trace<R>(name: String, function: *const (), call: impl FnOnce() -> R) -> Operation {
        trace_with(name, function, (), |()| call())
    }

    /// Runs `call`, which calls `function` with `argument`, and tells what of it
    /// was executed.
    fn trace_with<A, R>(
        name: String,
        function: *const (),
        argument: A,
        call: impl FnOnce(A) -> R,
    ) -> Operation {
        let result = stepped(argument, call);
        drop(std::hint::black_box(result));
        let addresses = TRACE.addresses();
        let entry = function.addr() as u64;
        let Some(first) = addresses.iter().position(|&address| address == entry) else {
            panic!("{name} was not run through: the system does not let a process trace itself");
        };
        let mut operation = Operation {
            name,
            listing: String::new(),
            instructions: 0,
            loads: 0,
            stores: 0,
            branches: 0,
            calls: 0,
        };
        let mut formatter = IntelFormatter::new();
        let mut information = InstructionInfoFactory::new();
        let mut depth = 0;
        for &address in &addresses[first..] {
            let instruction = decode(address);
            let is_frame = is_frame(&instruction);
            operation.instructions += usize::from(!is_frame);
            let _ = write!(operation.listing, "{:1$}", "", 4 + 4 * depth);
            formatter.format(&instruction, &mut operation.listing);
            operation.listing.push('\n');
            let info = information.info(&instruction);
            for memory in info.used_memory() {
                use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
                let access = memory.access();
                let flow = instruction.flow_control();
                // A return loads, and a call stores, where it goes back to.
                if is_frame || matches!(flow, FlowControl::Return | FlowControl::Call) {
                    continue;
                }
                operation.loads += usize::from(matches!(
                    access,
                    Read | CondRead | ReadWrite | ReadCondWrite
                ));
                operation.stores += usize::from(matches!(
                    access,
                    Write | CondWrite | ReadWrite | ReadCondWrite
                ));
            }
            match instruction.flow_control() {
                FlowControl::Return if depth == 0 => return operation,
                FlowControl::Return => depth -= 1,
                FlowControl::Call | FlowControl::IndirectCall => {
                    operation.calls += 1;
                    depth += 1;
                }
                FlowControl::ConditionalBranch => operation.branches += 1,
                _ => {}
            }
        }
        panic!(
            "{} does not return within {TRACED} instructions",
            operation.name
        );
    }

    /// Registers saved, and stack made room on, for what the operation does not
    /// run through: its cold paths. In a caller it is inlined into that goes.
    fn is_frame(instruction: &Instruction) -> bool {
        use iced_x86::{Mnemonic, Register};
        match instruction.mnemonic() {
            Mnemonic::Push | Mnemonic::Pop => true,
            Mnemonic::Add | Mnemonic::Sub => instruction.op0_register() == Register::RSP,
            _ => false,
        }
    }

    fn decode(address: u64) -> Instruction {
        const LONGEST: usize = 15;
        // SAFETY: an instruction that was executed, so its bytes can be read;
        // the code is not the last of the address space.
        let bytes = unsafe {
            core::slice::from_raw_parts(
                core::ptr::with_exposed_provenance(address as usize),
                LONGEST,
            )
        };
        Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode()
    }

    const TRACED: usize = 4096;

    /// Where the handler writes the address of every instruction.
    struct Trace {
        count: AtomicUsize,
        addresses: UnsafeCell<[u64; TRACED]>,
    }

    // SAFETY: one thread traces itself, and looks when it has stopped.
    unsafe impl Sync for Trace {}

    static TRACE: Trace = Trace {
        count: AtomicUsize::new(0),
        addresses: UnsafeCell::new([0; TRACED]),
    };

    impl Trace {
        fn addresses(&self) -> &[u64] {
            let count = self.count.load(Ordering::Relaxed).min(TRACED);
            // SAFETY: nothing is being traced.
            unsafe { &(&*self.addresses.get())[..count] }
        }
    }

    /// The signal handler: allocates nothing, calls nothing.
    extern "C" fn trapped(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system hands a handler its context; the place is below
        // the end, and nobody else writes.
        unsafe {
            let context = context.cast::<libc::ucontext_t>();
            let address = (*context).uc_mcontext.gregs[libc::REG_RIP as usize];
            let count = TRACE.count.fetch_add(1, Ordering::Relaxed);
            if count < TRACED {
                TRACE
                    .addresses
                    .get()
                    .cast::<u64>()
                    .add(count)
                    .write(address as u64);
            }
        }
    }

    /// Runs `call` with the trap flag set.
    fn stepped<A, R>(argument: A, call: impl FnOnce(A) -> R) -> R {
        // SAFETY: a handler that is fit to be one, of the kind the flag asks for.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = trapped as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(
                libc::sigaction(libc::SIGTRAP, &raw const action, core::ptr::null_mut()),
                0
            );
        }
        TRACE.count.store(0, Ordering::Relaxed);
        let argument = std::hint::black_box(argument);
        // SAFETY: the flag makes the processor trap, which is handled, and
        // changes nothing else. The stack is not used below its pointer: the
        // function is not a leaf.
        unsafe {
            core::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
            let result = call(argument);
            core::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq");
            result
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
