//! Keeping the measuring thread on one core.

/// The core a run was pinned to.
pub struct Pinned {
    /// Its number, as the operating system counts.
    pub core: usize,
    /// Whether the operating system agreed.
    pub held: bool,
}

/// Pins this thread to the last core the process may use that is the first of
/// its SMT siblings: the first cores of a machine get most of its interrupts.
pub fn to_physical_core() -> Option<Pinned> {
    let cores = core_affinity::get_core_ids()?;
    let core = cores
        .iter()
        .rev()
        .find(|core| is_first_sibling(core.id))
        .or(cores.last())?;
    Some(Pinned {
        core: core.id,
        held: core_affinity::set_for_current(*core),
    })
}

fn is_first_sibling(core: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    // Where nothing is said of siblings there are none to avoid.
    std::fs::read_to_string(path).map_or(true, |siblings| {
        let first = siblings.split([',', '-']).next().unwrap_or("");
        first.trim().parse() == Ok(core)
    })
}
