//! Counting what was executed.

use std::fmt::Write as _;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, Instruction, InstructionInfoFactory,
    IntelFormatter, OpAccess,
};

/// What an operation runs through.
pub(crate) struct Executed {
    pub(crate) name: String,
    pub(crate) listing: String,
    pub(crate) instructions: usize,
    pub(crate) loads: usize,
    pub(crate) stores: usize,
    pub(crate) branches: usize,
    pub(crate) calls: usize,
}

impl Executed {
    /// Decodes the addresses from the first instruction of a function to its return.
    pub(super) fn of(name: String, addresses: &[u64]) -> Self {
        let mut executed = Executed {
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
        for &address in addresses {
            let instruction = decode(address);
            let is_frame = is_frame(&instruction);
            executed.instructions += usize::from(!is_frame);
            let _ = write!(executed.listing, "{:1$}", "", 4 + 4 * depth);
            formatter.format(&instruction, &mut executed.listing);
            executed.listing.push('\n');
            let info = information.info(&instruction);
            for memory in info.used_memory() {
                use OpAccess::{CondRead, CondWrite, Read, ReadCondWrite, ReadWrite, Write};
                let access = memory.access();
                let flow = instruction.flow_control();
                // A return loads, and a call stores, where it goes back to.
                if is_frame || matches!(flow, FlowControl::Return | FlowControl::Call) {
                    continue;
                }
                executed.loads += usize::from(matches!(
                    access,
                    Read | CondRead | ReadWrite | ReadCondWrite
                ));
                executed.stores += usize::from(matches!(
                    access,
                    Write | CondWrite | ReadWrite | ReadCondWrite
                ));
            }
            match instruction.flow_control() {
                FlowControl::Return if depth == 0 => return executed,
                FlowControl::Return => depth -= 1,
                FlowControl::Call | FlowControl::IndirectCall => {
                    executed.calls += 1;
                    depth += 1;
                }
                FlowControl::ConditionalBranch => executed.branches += 1,
                _ => {}
            }
        }
        panic!(
            "{} does not return within {} instructions",
            executed.name,
            addresses.len()
        );
    }
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
