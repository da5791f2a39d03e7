//! What a figure depends on besides the code: processor, system, compiler, and
//! the core that the measuring thread is kept on.

use std::process::Command;
use std::sync::OnceLock;

use core_affinity::CoreId;
use serde::{Deserialize, Serialize};

/// Where and of what a measurement was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name for itself.
    pub cpu: String,
    /// Its family, model and stepping, where the system tells.
    pub cpu_version: String,
    /// Operating system and kernel.
    pub system: String,
    /// How the system sets the clock, where it tells.
    pub governor: String,
    /// The compiler of the benches.
    pub compiler: String,
    /// The day of the measurement.
    pub date: String,
}

impl Machine {
    /// This one, now.
    #[must_use]
    pub fn this() -> Self {
        let field = |name: &str| {
            let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
            let line = info
                .lines()
                .find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let unknown = || "unknown".to_owned();
        let number = |name| field(name).unwrap_or_else(|| "?".to_owned());
        Machine {
            cpu: field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cpu_version: format!(
                "family {}, model {}, stepping {}",
                number("cpu family"),
                number("model"),
                number("stepping")
            ),
            system: std::fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(
                |_| std::env::consts::OS.to_owned(),
                |release| {
                    // What follows the version says which distributor built it.
                    let version = release.trim().split('-').next().unwrap_or("");
                    format!("{} {version}", std::env::consts::OS)
                },
            ),
            governor: std::fs::read_to_string(
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            )
            .map_or_else(|_| unknown(), |governor| governor.trim().to_owned()),
            compiler: env!("COMPILER").to_owned(),
            date: time::OffsetDateTime::now_utc().date().to_string(),
        }
    }

    /// A name for files: the day and the processor.
    #[must_use]
    pub fn file_stem(&self) -> String {
        let cpu: String = format!("{} {}", self.cpu, self.cpu_version)
            .to_lowercase()
            .chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() {
                    letter
                } else {
                    ' '
                }
            })
            .collect();
        let words: Vec<&str> = cpu
            .split_ascii_whitespace()
            .filter(|word| !["r", "tm", "cpu", "processor", "stepping"].contains(word))
            .collect();
        format!("{}-{}", self.date, words.join("-"))
    }
}

impl core::fmt::Display for Machine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Machine {
            cpu,
            cpu_version,
            system,
            governor,
            compiler,
            ..
        } = self;
        write!(
            f,
            "{cpu} ({cpu_version}), {system}, {compiler}, governor {governor}"
        )
    }
}

/// The commit of the crate, with a `+` where files differ from it.
#[must_use]
pub fn commit() -> String {
    ask_git().unwrap_or_else(|| "unknown".to_owned())
}

fn ask_git() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // What is being recorded is not a change of what is measured.
    let changed = git(&["status", "--porcelain", "--", "../src", ".", ":!record"])?;
    Some(if changed.is_empty() {
        commit
    } else {
        commit + "+"
    })
}

/// Bytes of this process that are in memory; `None` where the system does not say.
pub fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size())
}

/// Bytes of a page.
fn page_size() -> u64 {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    // SAFETY: a question without arguments of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    let bytes = 4096;
    bytes
}

/// The minor page faults of this thread so far; `None` where the system does not
/// tell.
#[must_use]
pub fn faults() -> Option<u64> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return u64::try_from(usage(libc::RUSAGE_THREAD).ru_minflt).ok();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    None
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn usage(who: i32) -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: it writes a `rusage`, of which zeros are a valid one.
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

/// How often the system took the processor from this process and its children, and when.
pub struct Interruptions {
    count: i64,
    at: std::time::Instant,
}

impl Interruptions {
    /// So many a second are a busy machine's.
    const MANY: f64 = 25.0;

    /// Those up to now; none where the system does not tell.
    #[must_use]
    pub fn now() -> Self {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        let count = usage(libc::RUSAGE_SELF).ru_nivcsw + usage(libc::RUSAGE_CHILDREN).ru_nivcsw;
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        let count = 0;
        Interruptions {
            count,
            at: std::time::Instant::now(),
        }
    }

    /// What a reader of figures measured since then has to know, if the machine was busy.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let count = Self::now().count - self.count;
        let seconds = self.at.elapsed().as_secs_f64();
        let rate = count as f64 / seconds.max(1.0);
        (rate > Self::MANY).then(|| {
            format!(
                "The machine was busy: it interrupted the bench {rate:.0} times a second. Tails are \
                 its own, and ratios may be off."
            )
        })
    }
}

/// The setting of transparent huge pages of this name that is in effect.
#[must_use]
pub fn transparent_huge_pages(setting: &str) -> String {
    let path = format!("/sys/kernel/mm/transparent_hugepage/{setting}");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let chosen = text.split('[').nth(1).and_then(|it| it.split(']').next());
    chosen.unwrap_or("unknown").to_owned()
}

/// How many huge pages are set aside and free, and of how many bytes each is.
#[must_use]
pub fn free_huge_pages() -> (usize, usize) {
    let number = |field: &str| meminfo(field).unwrap_or(0);
    (
        number("HugePages_Free").saturating_sub(number("HugePages_Rsvd")),
        number("Hugepagesize") << 10,
    )
}

/// Whether a container of so many bytes leaves as much again free.
#[must_use]
pub fn has_free(bytes: usize) -> bool {
    meminfo("MemAvailable").is_none_or(|kib| kib << 10 > 2 * bytes)
}

/// A field of what the system says about its memory.
fn meminfo(field: &str) -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let value = |line: &str| {
        line.strip_prefix(field)?
            .strip_prefix(':')
            .map(str::to_owned)
    };
    let value = info.lines().find_map(value)?;
    value.split_ascii_whitespace().next()?.parse().ok()
}

/// Asks for transparent huge pages between two addresses of this process: whole
/// ones, which have not been touched yet. Nothing happens where there are none.
pub fn advise_huge(start: usize, end: usize) {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    {
        const HUGE: usize = 2 << 20;
        let (start, end) = (start.next_multiple_of(HUGE), end / HUGE * HUGE);
        if start < end {
            let start_pointer = std::ptr::without_provenance_mut(start);
            // SAFETY: advice, which changes no byte.
            unsafe { libc::madvise(start_pointer, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    let _ = (start, end);
}

/// The cores that the process may use, those first that are the first of their SMT siblings,
/// and of these the last first: the first cores of a machine get most of its interrupts.
///
/// Asked for once, before any thread is pinned: a thread begins with the cores of the one that
/// starts it.
fn cores() -> &'static [CoreId] {
    static CORES: OnceLock<Vec<CoreId>> = OnceLock::new();
    CORES.get_or_init(|| {
        let mut cores = core_affinity::get_core_ids().unwrap_or_default();
        cores.reverse();
        cores.sort_by_key(|core| !is_first_sibling(core.id));
        cores
    })
}

/// Pins this thread to the first of the cores. Returns what to print about it.
pub fn pin() -> String {
    match cores().first() {
        Some(core) if core_affinity::set_for_current(*core) => {
            format!("pinned to core {}", core.id)
        }
        _ => "NOT pinned: figures will wander".to_owned(),
    }
}

/// Pins this thread to a core that no thread with a smaller number is pinned to, if there are
/// so many.
pub fn pin_to(thread: usize) {
    if let Some(core) = cores().get(thread % cores().len().max(1)) {
        core_affinity::set_for_current(*core);
    }
}

/// How many threads have a core of their own.
#[must_use]
pub fn processors() -> usize {
    cores().len()
}

/// On which cores [`pin_to`] keeps threads.
#[must_use]
pub fn threads() -> String {
    match cores() {
        [] => "the threads are NOT pinned".to_owned(),
        [core] => format!(
            "all threads on core {}: figures of two say nothing",
            core.id
        ),
        cores => {
            let numbers: Vec<String> = cores.iter().map(|core| core.id.to_string()).collect();
            format!("the threads on cores {}", numbers.join(", "))
        }
    }
}

fn is_first_sibling(core: usize) -> bool {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    // Where nothing is said of siblings there are none to avoid.
    std::fs::read_to_string(path).map_or(true, |siblings| {
        let first = siblings.split([',', '-']).next().unwrap_or("");
        first.trim().parse() == Ok(core)
    })
}
