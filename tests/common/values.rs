//! Values that tell what became of them, and panics.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A growable slab's smallest chunk is of one slot for values of this size, and of
/// dozens for small ones. Tests that are about chunks use values so wide.
type Width = [u64; 64];

/// A number, [wide](Width).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wide(pub u64, Width);

/// `number`, wide.
pub fn wide(number: u64) -> Wide {
    Wide(number, [0; 64])
}

impl PartialEq<u64> for Wide {
    fn eq(&self, other: &u64) -> bool {
        self.0 == *other
    }
}

/// Counts the drops of its [`Counted`]s.
#[derive(Clone, Default)]
pub struct Drops(Rc<Cell<usize>>);

impl Drops {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn count(&self) -> usize {
        self.0.get()
    }

    pub fn value(&self, number: u64) -> Counted {
        Counted {
            number,
            drops: self.clone(),
            _width: [0; 64],
        }
    }

    /// A [`Hooked`] whose drop is counted.
    pub fn hooked(&self) -> Hooked {
        let drops = self.clone();
        Hooked::new(move || drops.add())
    }

    fn add(&self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A value whose drop is counted.
pub struct Counted {
    pub number: u64,
    drops: Drops,
    _width: Width,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.add();
    }
}

/// A value whose destructor runs a closure.
pub struct Hooked(Option<Box<dyn FnOnce()>>, Width);

impl Hooked {
    pub fn new(hook: impl FnOnce() + 'static) -> Self {
        Hooked(Some(Box::new(hook)), [0; 64])
    }

    pub fn plain() -> Self {
        Hooked(None, [0; 64])
    }

    /// Whether the closure is still to run.
    pub fn is_armed(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        if let Some(hook) = self.0.take() {
            hook();
        }
    }
}

/// Whether `f` panicked; what it holds is dropped either way. Under Miri the panic is not
/// printed: that takes an interpreter longer than all the rest of a test.
pub fn panics<R>(f: impl FnOnce() -> R) -> bool {
    if cfg!(miri) {
        set_hook();
    }
    let outer = IN_PANICS.replace(cfg!(miri));
    let result = catch_unwind(AssertUnwindSafe(|| drop(f())));
    IN_PANICS.set(outer);
    result.is_err()
}

thread_local! {
    static IN_PANICS: Cell<bool> = const { Cell::new(false) };
    static UNEXPECTED: RefCell<Vec<String>> = RefCell::default();
}

static EXPECTS_REFUSALS: AtomicBool = AtomicBool::new(false);

/// From now on a panic because the slab refused something is not printed. Such
/// panics come by the thousand in random programs, and printing one takes an
/// interpreter longer than all the rest.
pub fn expect_refusals() {
    set_hook();
    EXPECTS_REFUSALS.store(true, Ordering::Relaxed);
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// Allocates nothing: some tests count what is allocated.
fn set_hook() {
    static PRINT: OnceLock<Hook> = OnceLock::new();
    PRINT.get_or_init(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(|info| {
            if EXPECTS_REFUSALS.load(Ordering::Relaxed) {
                let text = info.payload().downcast_ref::<String>();
                if text.is_some_and(|text| text.contains("was refused")) {
                    return;
                }
                // Not if the thread is ending.
                let _ = UNEXPECTED.try_with(|all| all.borrow_mut().push(info.to_string()));
            }
            let is_expected = IN_PANICS.try_with(Cell::get).unwrap_or(false);
            if let (false, Some(print)) = (is_expected, PRINT.get()) {
                print(info);
            }
        }));
        print
    });
}

/// The panics of this thread since the last call that were no refusals.
/// `resume_unwind` calls no hook, so a panic on purpose can be kept out.
pub fn unexpected_panics() -> Vec<String> {
    UNEXPECTED.take()
}
