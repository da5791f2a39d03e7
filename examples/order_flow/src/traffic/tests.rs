//! What the commands are like.

use super::*;

fn generated(symbols: usize, commands: usize, late: u64) -> Traffic {
    let market = Market {
        seed: 1,
        symbols,
        sessions: 50,
        commands,
        late,
    };
    Traffic::generated(market, 1_000, 0)
}

#[test]
fn the_same_seed_gives_the_same_commands() {
    let (one, other) = (generated(20, 2_000, 20), generated(20, 2_000, 20));
    assert_eq!(one.commands, other.commands);
    assert_eq!(one.targets, other.targets);
}

#[test]
fn latecomers_have_their_share_and_forgeries_are_there() {
    for late in [0, 20, 100] {
        let traffic = generated(50, 40_000, late);
        let counted = &traffic.targets[traffic.ramp..];
        let is_gone = |target: &&Target| matches!(target.number(), Some((_, false)));
        let gone = counted.iter().filter(is_gone).count() as u64;
        let wanted = counted.len() as u64 * late / 1_000;
        assert!(gone.abs_diff(wanted) < 300, "{gone} of {wanted}");
        let forged = counted.iter().filter(|it| **it == Target::FORGED);
        assert!(forged.count() > 5);
    }
}

#[test]
fn every_kind_of_command_is_there() {
    let traffic = generated(50, 40_000, 20);
    for kind in [
        Kind::New,
        Kind::Cancel,
        Kind::Replace,
        Kind::Reduce,
        Kind::CancelAll,
    ] {
        let some = traffic.commands.iter().any(|command| command.kind == kind);
        assert!(some, "{kind:?}");
    }
}

#[test]
fn a_script_has_the_proportions_of_its_messages() {
    let messages: Vec<Message> = Flow::new(1).take(30_000).collect();
    let script = Script::after(10_000, &messages);
    let steps = &script.steps[script.opening..];
    let share =
        |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count() * 1_000 / steps.len();
    // Of thousand messages that concern a visible order, about 493 are new orders, 457 cancels,
    // 45 trades and 5 reductions. A replacement is one of each of the first two.
    let replaced = share(|step| matches!(step, Step::Replace { .. }));
    let rested = share(|step| matches!(step, Step::Rest(_))) + replaced;
    let cancelled = share(|step| matches!(step, Step::Cancel { .. })) + replaced;
    let per_message = |share: usize| share * steps.len() / 20_000;
    assert!((460..=500).contains(&per_message(rested)), "{rested}");
    assert!((430..=470).contains(&per_message(cancelled)), "{cancelled}");
    assert!((20..=70).contains(&share(|step| matches!(step, Step::Take { .. }))));
    let both = |step: &Step| matches!(step, Step::Take { surplus: 1.., .. });
    assert!(steps.iter().any(both));
}

#[test]
fn the_opening_is_the_book_that_the_first_messages_lead_to() {
    let messages: Vec<Message> = Flow::new(3).take(10_000).collect();
    let opening = Script::after(10_000, &messages).opening;
    assert!((350..450).contains(&opening), "{opening}");
}
