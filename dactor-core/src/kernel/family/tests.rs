use super::*;
use crate::ErrorKind;
use crate::kernel::actor_core::ActorCore;
use crate::path::Guardian;
use crate::system::test_actors::{TestActor, child, system, test_actor};

type Actor = Arc<ActorCore<TestActor>>;

const AFTER: Duration = Duration::from_secs(7);
const RESTART: Decision = Decision::Restart { after: AFTER };

fn failure() -> Error {
    Error::new(ErrorKind::Panicked)
}

/// A parent and this many children.
fn family_of(count: usize) -> (Actor, Vec<Actor>) {
    let parent = test_actor(&system(), Guardian::User);
    let children: Vec<_> = (0..count).map(|_| child(&parent, None)).collect();
    for child in &children {
        parent.meta.family().add(child.clone(), 0).unwrap();
    }
    (parent, children)
}

/// The pending requests of an actor, one letter each.
fn requested(actor: &Actor) -> String {
    let letter = |request| match request {
        FamilyRequest::Restart { after, .. } => {
            assert_eq!(after, AFTER);
            'r'
        }
        FamilyRequest::ChildFailed { .. } => 'c',
    };
    std::iter::from_fn(|| actor.meta.family().next_request()).map(letter).collect()
}

fn share(failed: &Actor, scope: Scope, directive: Directive, decision: Decision) -> Decision {
    failed.meta.supervisor().decide_for_group(scope, &failed.meta, &failure(), directive, |_| decision)
}

#[test]
fn a_name_is_taken_until_its_child_is_gone() {
    let (parent, _) = family_of(0);
    let family = parent.meta.family();
    let (first, second, nameless) =
        (child(&parent, Some("a")), child(&parent, Some("a")), child(&parent, None));
    assert!(!family.has_children() && family.child("a").is_none());
    family.add(first.clone(), 0).unwrap();
    family.add(nameless.clone(), 0).unwrap();
    assert_eq!(family.add(second.clone(), 0), Err(Refused::NameTaken));
    assert_eq!(family.child("a").unwrap().pid(), first.meta.pid());
    family.remove(second.meta.pid());
    assert_eq!(
        family.child("a").unwrap().pid(),
        first.meta.pid(),
        "a refused child does not change the table"
    );
    family.remove(first.meta.pid());
    assert!(family.child("a").is_none() && family.has_children());
    family.add(second.clone(), 0).unwrap();
    let order: Vec<_> = family.children().iter().map(|child| child.pid()).collect();
    assert_eq!(
        order,
        [second.meta.pid(), nameless.meta.pid()],
        "in spawn order, not in order of registration"
    );
    family.close();
    assert_eq!(family.add(first, 0), Err(Refused::ParentStopped));
}

#[test]
fn a_closed_family_listens_to_nobody() {
    let (parent, children) = family_of(1);
    children[0].meta.supervisor().escalate("x".into(), &failure());
    assert!(parent.mailbox.signals().is_called());
    parent.meta.family().close();
    children[0].meta.supervisor().escalate("x".into(), &failure());
    assert_eq!(requested(&parent), "");
}

#[test]
fn requests_are_met_in_order_and_a_restart_is_found_among_them() {
    let (_, children) = family_of(2);
    let family = &children[0].meta.family();
    assert!(family.take_restart().is_none());
    let child_failed = || FamilyRequest::ChildFailed { child: "x".into(), failure: failure() };
    family.request(child_failed());
    share(&children[1], Scope::All, Directive::Restart, RESTART);
    family.request(child_failed());
    assert!(matches!(family.take_restart(), Some(FamilyRequest::Restart { .. })));
    share(&children[1], Scope::All, Directive::Restart, RESTART);
    assert_eq!(requested(&children[0]), "ccr");
}

#[test]
fn a_new_instance_begins_without_requests_and_record() {
    let (parent, children) = family_of(1);
    let supervision = Supervision::all_for_one().budget(1, AFTER);
    let now = tokio::time::Instant::now();
    let failed = &children[0].meta;
    let fail = || {
        failed.supervisor().decide_for_group(Scope::All, failed, &failure(), Directive::Restart, |record| {
            supervision.decision(Directive::Restart, record, now, 0.0)
        })
    };
    assert_eq!((fail(), fail()), (Decision::Restart { after: Duration::ZERO }, Decision::Exhausted));
    failed.supervisor().escalate("x".into(), &failure());
    parent.meta.family().begin_anew();
    assert_eq!(requested(&parent), "");
    assert_eq!(fail(), Decision::Restart { after: Duration::ZERO });
}

#[test]
fn siblings_share_a_restart_or_stop_as_the_scope_says() {
    for (scope, concerned) in [
        (Scope::One, [false, false, false]),
        (Scope::All, [true, false, true]),
        (Scope::Rest, [false, false, true]),
    ] {
        for decision in [Decision::Resume, RESTART, Decision::Stop, Decision::Escalate, Decision::Exhausted] {
            let (_, children) = family_of(3);
            assert_eq!(share(&children[1], scope, Directive::Escalate, decision), decision);
            for (child, concerned) in children.iter().zip(concerned) {
                let restarts = concerned && decision == RESTART;
                let case = format!("{scope:?} {decision:?}");
                assert_eq!(requested(child), if restarts { "r" } else { "" }, "{case}");
                assert_eq!(child.mailbox.signals().is_called(), restarts, "{case}");
                let ending =
                    if concerned && decision == Decision::Stop { Ending::Stop } else { Ending::None };
                assert_eq!(child.mailbox.ending(), ending, "{case}");
            }
        }
    }
}

#[test]
fn the_second_of_two_joins_the_restart_of_the_first() {
    let (_, children) = family_of(3);
    share(&children[0], Scope::All, Directive::Restart, RESTART);
    let second = &children[1].meta;
    let decision =
        second.supervisor().decide_for_group(Scope::All, second, &failure(), Directive::Restart, |_| {
            unreachable!("the budget is charged once")
        });
    assert_eq!(decision, RESTART);
    assert_eq!(children.iter().map(requested).collect::<Vec<_>>(), ["", "", "r"]);

    // A stop takes precedence over a pending restart.
    share(&children[0], Scope::All, Directive::Restart, RESTART);
    assert_eq!(share(&children[1], Scope::All, Directive::Stop, Decision::Stop), Decision::Stop);
}

#[test]
fn nobody_is_above_the_top() {
    for (guardian, other) in [(Guardian::User, Guardian::System), (Guardian::System, Guardian::User)] {
        for (decision, ending) in [
            (Decision::Resume, Ending::None),
            (Decision::Stop, Ending::Stop),
            (Decision::Escalate, Ending::Stop),
            (Decision::Exhausted, Ending::Stop),
        ] {
            let system = system();
            let (failed, sibling, stranger) =
                (test_actor(&system, guardian), test_actor(&system, guardian), test_actor(&system, other));
            let nephew = child(&sibling, None);
            for actor in [&failed, &sibling, &stranger, &nephew] {
                let _ = system.register(actor.clone(), 0).unwrap();
            }
            share(&failed, Scope::All, Directive::Stop, decision);
            let endings = [&failed, &sibling, &stranger, &nephew].map(|actor| actor.mailbox.ending());
            assert_eq!(endings, [Ending::None, ending, Ending::None, Ending::None], "{decision:?}");
            failed.meta.supervisor().escalate("x".into(), &failure());
        }
    }
}

#[test]
fn one_that_is_in_no_host_is_killed_at_once() {
    let (parent, children) = family_of(2);
    signal_all(&parent.meta.family().children(), Ending::Drain);
    assert_eq!(children[0].mailbox.ending(), Ending::Kill);
    // And it is not awaited.
    let all = parent.meta.family().children();
    let mut ended = std::pin::pin!(all_ended(&all));
    let mut cx = std::task::Context::from_waker(futures_util::task::noop_waker_ref());
    assert!(ended.as_mut().poll(&mut cx).is_ready());
}
