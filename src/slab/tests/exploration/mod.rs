//! The whole reachable state space of slabs of one to three cells, breadth
//! first: from every state every operation, and if an operation runs user code
//! (a destructor, a closure), every operation within it too. States already seen
//! are cut off. A state is each cell's word, its holders and guards, the order
//! of the free cells, and the chunks.
//!
//! Every answer and every next state is compared with the table, and every cell
//! of the table must be reached. `cargo test exploration -- --nocapture` prints
//! the number of states and transitions.

mod world;

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use world::{Reached, Step, Transition, Via, World};

use super::table::Event::{self, *};
use super::table::Row::{self, *};
use super::table::{CLOSING_ROWS, EVENTS, ROWS, expected};
use crate::common::values::expect_refusals;
use crate::common::{Room, over_both_slabs};

/// What is explored.
#[derive(Clone, Copy, Debug)]
struct Scope {
    cells: usize,
    /// User code runs operations in states of fewer steps than this.
    nested: usize,
    /// Whether holders are forgotten.
    forgets: bool,
    /// States as many steps from the first one are not left.
    depth: usize,
}

impl Scope {
    fn steps(self) -> Vec<Step> {
        let mut steps = vec![
            Step::Insert,
            Step::InsertWith,
            Step::Reserve,
            Step::MakeRoom(1),
            Step::MakeRoom(2),
            Step::Shrink,
            Step::DropSlab,
        ];
        for cell in 0..self.cells {
            let events = EVENTS.iter().filter(|&&event| is_explored(event));
            steps.extend(events.map(|&event| Step::At(cell, event)));
            for via in [Via::Key, Via::Slot] {
                steps.extend([Step::Hold(cell, via), Step::HoldMut(cell, via)]);
            }
            steps.push(Step::EndFirstBorrow(cell));
            if self.forgets {
                steps.extend([
                    Step::ForgetSlot(cell),
                    Step::ForgetVacant(cell),
                    Step::ForgetBox(cell),
                    Step::ForgetBorrow(cell),
                ]);
            }
        }
        steps
    }
}

/// Whether an event is tried. Under Miri, for its time, only those that change
/// something, one of each kind, and that do not panic when they are refused.
fn is_explored(event: Event) -> bool {
    let changes = matches!(
        event,
        Regain
            | RetainDrop
            | DrainOut
            | SlotDrop
            | SlotTryIntoInner
            | SlotTryTake
            | SlotTryIntoBox
            | SlotTryReplace
            | SlotLeak
            | LastBorrowEnds
            | BoxDrop
            | BoxIntoInner
            | BoxIntoSlot
            | VacantDrop
            | VacantInsert
    );
    changes || !cfg!(miri)
}

#[derive(Default, Debug)]
struct Count {
    states: usize,
    transitions: usize,
    deepest: usize,
}

fn explore<M: Room>(scope: Scope, reached: &Rc<Reached>) -> Count {
    let steps = scope.steps();
    let mut count = Count::default();
    let mut seen = BTreeSet::new();
    let mut paths = VecDeque::from([Vec::<Transition>::new()]);
    let start = |path: &[Transition]| {
        let world = Rc::new(World::<M>::new(scope, reached));
        for &transition in path {
            assert!(
                world.transition(transition).is_some(),
                "it was taken before"
            );
        }
        world
    };
    let first = start(&[]);
    seen.insert(first.fingerprint());
    first.finish();

    while let Some(path) = paths.pop_front() {
        count.states += 1;
        count.deepest = count.deepest.max(path.len());
        if path.len() >= scope.depth {
            continue;
        }
        // A step that cannot be taken leaves the world as it is.
        let mut world = start(&path);
        let mut arrive = |world: &mut Rc<World<M>>, transition| {
            let result = world.transition(transition);
            if result.is_some() {
                count.transitions += 1;
                if seen.insert(world.fingerprint()) {
                    let mut longer = path.clone();
                    longer.push(transition);
                    paths.push_back(longer);
                }
            }
            if result.is_some() || transition.1.is_some() {
                world.finish();
                *world = start(&path);
            }
            result
        };
        for &step in &steps {
            let had_user_code = arrive(&mut world, (step, None));
            if path.len() < scope.nested && had_user_code == Some(true) {
                for &nested in &steps {
                    arrive(&mut world, (step, Some(nested)));
                }
            }
        }
        world.finish();
    }
    count
}

fn explore_all<M: Room>(scopes: &[Scope]) -> Rc<Reached> {
    expect_refusals();
    let reached = Rc::default();
    for &scope in scopes {
        let count = explore::<M>(scope, &reached);
        let kind = if M::GROWS { "growable" } else { "bounded" };
        println!("{kind}, {scope:?}: {count:?}");
    }
    reached
}

/// The cells of the table that were not reached.
fn missing(reached: &Reached) -> Vec<(Row, Event)> {
    let reached = reached.borrow();
    let all = ROWS.iter().chain(CLOSING_ROWS);
    let all = all.flat_map(|&row| EVENTS.iter().map(move |&event| (row, event)));
    all.filter(|&(row, event)| expected(row, event).is_some() && !reached.contains(&(row, event)))
        .collect()
}

const ALL: usize = usize::MAX;

/// Under Miri less, for its time, and nothing forgotten, for its leak check. Without optimisation
/// user code runs operations only in states of two cells that are up to three steps from the first
/// one: these reach the whole table, and all others would take as long again. Three cells reach no
/// cell of the table that two do not. Both are in the optimised run of each week.
const SCOPES: &[Scope] = if cfg!(miri) {
    &[scope(1, 0, false, ALL), scope(1, ALL, false, 2)]
} else if cfg!(debug_assertions) {
    &[scope(1, ALL, true, ALL), scope(2, 4, true, ALL)]
} else {
    &[
        scope(1, ALL, true, ALL),
        scope(2, ALL, true, ALL),
        scope(3, 0, false, ALL),
    ]
};

const fn scope(cells: usize, nested: usize, forgets: bool, depth: usize) -> Scope {
    Scope {
        cells,
        nested,
        forgets,
        depth,
    }
}

fn the_whole_table_is_reached<M: Room>() {
    let mut missing = missing(&explore_all::<M>(SCOPES));
    if cfg!(miri) {
        // For the others these scopes are too small.
        missing.retain(|&(row, event)| {
            is_explored(event) && !CLOSING_ROWS.contains(&row) && !matches!(row, Dying | DyingStale)
        });
    }
    assert_eq!(missing, []);
}

over_both_slabs!(the_whole_table_is_reached);
