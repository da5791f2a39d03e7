//! Destructors and closures that use the pool they are called by.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use flatslab::AllocError;
use flatslab::pool::{Pool, PoolBox, PoolMemory, PoolStorage, RecycledBox, RecyclingPool};

use crate::common::{Drops, Hooked, panics};
use crate::kinds::{assert_all_usable_but, forever};

const CELLS: usize = 4;

type Boxed<M> = PoolBox<'static, Hooked, M>;

/// What a destructor or a closure may reach.
struct Scene<M: PoolMemory> {
    pool: &'static Pool<'static, Hooked, M>,
    other: RefCell<Option<Boxed<M>>>,
    /// Where the value stands whose destructor runs.
    own: Cell<usize>,
    /// How often a cell was had that a value still stood in.
    met: Cell<usize>,
    ran: Cell<usize>,
}

impl<M: PoolMemory> Scene<M> {
    fn plain(&self) -> Option<Boxed<M>> {
        let boxed = self.pool.try_alloc(Hooked::plain()).ok()?;
        let is_own = address(&boxed) == self.own.get();
        self.met.set(self.met.get() + usize::from(is_own));
        Some(boxed)
    }
}

fn address<M: PoolMemory>(boxed: &Boxed<M>) -> usize {
    (&raw const **boxed).addr()
}

type Action<M> = (&'static str, fn(&Scene<M>));

fn actions<M: PoolMemory>() -> [Action<M>; 8] {
    [
        ("allocate and free", |scene| drop(scene.plain())),
        ("fill the pool", |scene| {
            let all: Vec<_> = std::iter::from_fn(|| scene.plain()).collect();
            assert!(scene.pool.is_full());
            drop(all);
        }),
        ("free another", |scene| drop(scene.other.take())),
        ("free another and take its cell", |scene| {
            drop(scene.other.take());
            *scene.other.borrow_mut() = scene.plain();
        }),
        ("free another while building a value", |scene| {
            let boxed = scene.pool.try_alloc_with(|| {
                drop(scene.other.take());
                drop(scene.plain());
                Hooked::plain()
            });
            drop(boxed);
        }),
        ("refill another", |scene| {
            if let Some(other) = scene.other.take() {
                let (value, vacant) = PoolBox::take(other);
                drop(scene.plain());
                *scene.other.borrow_mut() = Some(PoolBox::write(vacant, value));
            }
        }),
        ("hold a vacant cell", |scene| {
            let vacant = scene.pool.try_alloc_uninit();
            drop(scene.plain());
            drop(vacant);
        }),
        ("free all and panic", |scene| {
            drop(scene.other.take());
            // Not within the other value's destructor that unwinds, which would abort.
            if !std::thread::panicking() {
                panic!("on purpose");
            }
        }),
    ]
}

type Death<M> = (&'static str, fn(&Scene<M>, Boxed<M>));

fn deaths<M: PoolMemory>() -> [Death<M>; 5] {
    [
        ("dropped", |_, boxed| drop(boxed)),
        ("moved out", |_, boxed| drop(PoolBox::into_inner(boxed))),
        ("overwritten", |_, mut boxed| *boxed = Hooked::plain()),
        ("taken", |_, boxed| drop(PoolBox::take(boxed))),
        ("dropped in a closure", |scene, boxed| {
            let built = scene.pool.try_alloc_with(|| {
                drop(boxed);
                Hooked::plain()
            });
            assert!(built.is_ok(), "a cell is free");
        }),
    ]
}

/// A value dies, its destructor uses the pool, and so does the destructor of the other
/// value that it may end.
fn destructors_use_the_pool<M: PoolMemory>(pool: &'static Pool<'static, Hooked, M>) {
    let scene = Rc::new(Scene {
        pool,
        other: RefCell::new(None),
        own: Cell::new(0),
        met: Cell::new(0),
        ran: Cell::new(0),
    });
    let hooked = |action: fn(&Scene<M>), notes_own: bool| {
        let place = Rc::new(Cell::new(0));
        let (inner, own) = (scene.clone(), place.clone());
        let boxed = pool.try_alloc(Hooked::new(move || {
            inner.ran.set(inner.ran.get() + 1);
            let before = inner.own.replace(own.get());
            action(&inner);
            inner.own.set(before);
        }));
        let boxed = boxed.expect("a cell is free");
        place.set(if notes_own { address(&boxed) } else { 0 });
        boxed
    };
    let mut combinations = 0;
    for (dies, death) in deaths::<M>() {
        for (does, action) in actions::<M>() {
            for (other_does, other) in actions::<M>() {
                combinations += 1;
                if cfg!(miri) && combinations % 7 != 0 {
                    continue;
                }
                scene.ran.set(0);
                scene.own.set(0);
                *scene.other.borrow_mut() = Some(hooked(other, true));
                // A value that was moved out has left its cell.
                let stays = !["moved out", "taken"].contains(&dies);
                let boxed = hooked(action, stays);
                let panicked = panics(|| death(&scene, boxed));
                let context = format!("{dies}: {does}, the other: {other_does}");
                assert!(
                    !panicked || format!("{does}{other_does}").contains("panic"),
                    "{context}"
                );
                assert!((1..=2).contains(&scene.ran.get()), "{context}");
                scene.own.set(0);
                let last = scene.other.take();
                let _ = panics(|| drop(last));
                drop(scene.other.take());
                assert_eq!(
                    scene.met.get(),
                    0,
                    "a cell was had during a drop in it: {context}"
                );
                assert_all_usable_but(pool, 0);
            }
        }
    }
}

#[test]
fn destructors_use_a_heap_pool() {
    destructors_use_the_pool(forever(Pool::with_capacity(CELLS)));
}

/// Values that may be made on any thread, so that a static is theirs.
#[test]
fn destructors_use_a_pool_in_a_static() {
    static STORAGE: PoolStorage<Hooked, CELLS> = PoolStorage::new();
    destructors_use_the_pool(STORAGE.claim().unwrap());
}

/// Nested as deep as there are cells, each value made while its predecessor's cell is
/// reserved.
#[test]
fn closures_nest_as_deep_as_there_are_cells() {
    fn nest<M: PoolMemory>(pool: &Pool<'_, usize, M>, depth: usize) -> usize {
        match pool.try_alloc_with(|| nest(pool, depth + 1)) {
            Ok(boxed) => {
                assert_eq!(pool.len(), depth + 1);
                *boxed
            }
            Err(error) => {
                assert_eq!(error, AllocError::Full { capacity: depth });
                depth
            }
        }
    }
    crate::kinds::with_each_pool!(9, |pool: usize| {
        assert_eq!(nest(&pool, 0), 9);
        assert_all_usable_but(&pool, 0);
        pool.reset();
    });
}

#[test]
fn closures_and_destructors_use_a_recycling_pool() {
    let builder = Pool::<Hooked>::builder().capacity(3).recycle();
    for pool in [builder.clone().build(), builder.lazy().build()] {
        let pool: &'static RecyclingPool<Hooked> = crate::kinds::keep(pool);
        let drops = Drops::new();
        // `init` fills the rest of the pool and gives it back.
        let first = pool.try_alloc_or_reuse(
            || {
                let make = || pool.try_alloc_or_reuse(Hooked::plain, |_| {}).ok();
                let rest: Vec<_> = std::iter::from_fn(make).collect();
                assert_eq!((rest.len(), pool.len()), (2, 3));
                drop(rest);
                drops.hooked()
            },
            |_| unreachable!("none is kept"),
        );
        let first = first.unwrap();
        assert_eq!((pool.len(), pool.idle()), (1, 2));
        // `reset` returns the other box, and gets it again.
        let (mut first, mut inner) = (Some(first), None);
        let second = pool.try_alloc_or_reuse(
            || unreachable!("two are kept"),
            |value| {
                assert!(!value.is_armed());
                drop(first.take());
                inner = pool
                    .try_alloc_or_reuse(|| unreachable!(), |value| assert!(value.is_armed()))
                    .ok();
            },
        );
        assert_eq!((pool.len(), pool.idle(), drops.count()), (2, 1, 0));
        drop(RecycledBox::into_inner(inner.unwrap()));
        assert_eq!((pool.len(), pool.idle(), drops.count()), (1, 1, 1));
        // A destructor that takes the cells of the pool and gives one back.
        let mut second = second.unwrap();
        *second = Hooked::new(|| {
            let make = || pool.try_alloc_or_reuse(Hooked::plain, |_| {}).ok();
            let all: Vec<_> = std::iter::from_fn(make).collect();
            // Its own cell is free: the value has moved out of it.
            assert_eq!(all.len(), 3);
        });
        drop(RecycledBox::into_inner(second));
        assert_eq!(pool.len(), 0);
        while pool.idle() > 0 {
            let kept = pool.alloc_or_reuse(Hooked::plain, |_| {});
            drop(RecycledBox::into_inner(kept));
        }
    }
}
