use super::*;
use crate::ErrorKind;
use crate::puppet::{Puppet, child, puppet, system};
use crate::shared::Shared;

type Actor = Arc<Shared<Puppet>>;

const AFTER: Duration = Duration::from_secs(7);
const RESTART: Fate = Fate::Restart { after: AFTER };

fn failure() -> Error {
    Error::new(ErrorKind::Panicked)
}

/// A parent and this many children.
fn household(count: usize) -> (Actor, Vec<Actor>) {
    let parent = puppet(&system(), Guardian::User);
    let children: Vec<_> = (0..count).map(|_| child(&parent, None)).collect();
    for child in &children {
        parent.head.family.add(child.clone(), 0).unwrap();
    }
    (parent, children)
}

/// What an actor is summoned for, in one letter each.
fn summoned(actor: &Actor) -> String {
    let letter = |summons| match summons {
        Summons::Restart { after, .. } => {
            assert_eq!(after, AFTER);
            'r'
        }
        Summons::ChildFailed { .. } => 'c',
    };
    std::iter::from_fn(|| actor.head.family.next_summons()).map(letter).collect()
}

fn share(failed: &Actor, scope: Scope, directive: Directive, fate: Fate) -> Fate {
    failed.head.supervisor().share_fate(scope, &failed.head, &failure(), directive, |_| fate)
}

#[test]
fn a_name_is_taken_until_its_child_is_gone() {
    let (parent, _) = household(0);
    let family = &parent.head.family;
    let (first, second, nameless) =
        (child(&parent, Some("a")), child(&parent, Some("a")), child(&parent, None));
    assert!(!family.has_children() && family.child("a").is_none());
    family.add(first.clone(), 0).unwrap();
    family.add(nameless.clone(), 0).unwrap();
    assert_eq!(family.add(second.clone(), 0), Err(Refused::NameTaken));
    assert_eq!(family.child("a").unwrap().pid(), first.head.pid);
    family.remove(second.head.pid);
    assert_eq!(family.child("a").unwrap().pid(), first.head.pid, "one that was refused has no say");
    family.remove(first.head.pid);
    assert!(family.child("a").is_none() && family.has_children());
    family.add(second.clone(), 0).unwrap();
    let order: Vec<_> = family.children().iter().map(|child| child.pid()).collect();
    assert_eq!(order, [second.head.pid, nameless.head.pid], "by birth, not by arrival");
    family.close();
    assert_eq!(family.add(first, 0), Err(Refused::ParentStopped));
}

#[test]
fn a_closed_family_listens_to_nobody() {
    let (parent, children) = household(1);
    children[0].head.supervisor().escalate("x".into(), &failure());
    assert!(parent.mailbox.signals().is_called());
    parent.head.family.close();
    children[0].head.supervisor().escalate("x".into(), &failure());
    assert_eq!(summoned(&parent), "");
}

#[test]
fn summons_are_heard_in_order_and_a_restart_is_found_among_them() {
    let (_, children) = household(2);
    let family = &children[0].head.family;
    assert!(family.take_restart().is_none());
    let child_failed = || Summons::ChildFailed { child: "x".into(), failure: failure() };
    family.summon(child_failed());
    share(&children[1], Scope::All, Directive::Restart, RESTART);
    family.summon(child_failed());
    assert!(matches!(family.take_restart(), Some(Summons::Restart { .. })));
    share(&children[1], Scope::All, Directive::Restart, RESTART);
    assert_eq!(summoned(&children[0]), "ccr");
}

#[test]
fn a_new_instance_begins_without_summons_and_record() {
    let (parent, children) = household(1);
    let supervision = Supervision::all_for_one().budget(1, AFTER);
    let now = tokio::time::Instant::now();
    let failed = &children[0].head;
    let fail = || {
        failed.supervisor().share_fate(Scope::All, failed, &failure(), Directive::Restart, |record| {
            supervision.fate(Directive::Restart, record, now, 0.0)
        })
    };
    assert_eq!((fail(), fail()), (Fate::Restart { after: Duration::ZERO }, Fate::Exhausted));
    failed.supervisor().escalate("x".into(), &failure());
    parent.head.family.begin_anew();
    assert_eq!(summoned(&parent), "");
    assert_eq!(fail(), Fate::Restart { after: Duration::ZERO });
}

#[test]
fn siblings_share_a_restart_or_stop_as_the_scope_says() {
    for (scope, concerned) in [
        (Scope::One, [false, false, false]),
        (Scope::All, [true, false, true]),
        (Scope::Rest, [false, false, true]),
    ] {
        for fate in [Fate::Resume, RESTART, Fate::Stop, Fate::Escalate, Fate::Exhausted] {
            let (_, children) = household(3);
            assert_eq!(share(&children[1], scope, Directive::Escalate, fate), fate);
            for (child, concerned) in children.iter().zip(concerned) {
                let restarts = concerned && fate == RESTART;
                let case = format!("{scope:?} {fate:?}");
                assert_eq!(summoned(child), if restarts { "r" } else { "" }, "{case}");
                assert_eq!(child.mailbox.signals().is_called(), restarts, "{case}");
                let ending = if concerned && fate == Fate::Stop { Ending::Stop } else { Ending::None };
                assert_eq!(child.mailbox.ending(), ending, "{case}");
            }
        }
    }
}

#[test]
fn the_second_of_two_joins_the_restart_of_the_first() {
    let (_, children) = household(3);
    share(&children[0], Scope::All, Directive::Restart, RESTART);
    let second = &children[1].head;
    let fate = second.supervisor().share_fate(Scope::All, second, &failure(), Directive::Restart, |_| {
        unreachable!("the budget is charged once")
    });
    assert_eq!(fate, RESTART);
    assert_eq!(children.iter().map(summoned).collect::<Vec<_>>(), ["", "", "r"]);

    // Whoever is to stop does so, whatever is in store for it.
    share(&children[0], Scope::All, Directive::Restart, RESTART);
    assert_eq!(share(&children[1], Scope::All, Directive::Stop, Fate::Stop), Fate::Stop);
}

#[test]
fn nobody_is_above_the_top() {
    for (guardian, other) in [(Guardian::User, Guardian::System), (Guardian::System, Guardian::User)] {
        for (fate, ending) in [
            (Fate::Resume, Ending::None),
            (Fate::Stop, Ending::Stop),
            (Fate::Escalate, Ending::Stop),
            (Fate::Exhausted, Ending::Stop),
        ] {
            let system = system();
            let (failed, sibling, stranger) =
                (puppet(&system, guardian), puppet(&system, guardian), puppet(&system, other));
            let nephew = child(&sibling, None);
            for actor in [&failed, &sibling, &stranger, &nephew] {
                let _ = system.enrol(actor.clone(), 0).unwrap();
            }
            share(&failed, Scope::All, Directive::Stop, fate);
            let endings = [&failed, &sibling, &stranger, &nephew].map(|actor| actor.mailbox.ending());
            assert_eq!(endings, [Ending::None, ending, Ending::None, Ending::None], "{fate:?}");
            failed.head.supervisor().escalate("x".into(), &failure());
        }
    }
}

#[test]
fn one_that_is_in_no_host_is_killed_at_once() {
    let (parent, children) = household(2);
    signal_all(&parent.head.family.children(), Ending::Drain);
    assert_eq!(children[0].mailbox.ending(), Ending::Kill);
    // And nobody waits for it.
    let all = parent.head.family.children();
    let mut ended = std::pin::pin!(all_ended(&all));
    let mut cx = std::task::Context::from_waker(futures_util::task::noop_waker_ref());
    assert!(ended.as_mut().poll(&mut cx).is_ready());
}
