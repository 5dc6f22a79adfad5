use super::*;
use crate::ActorRef;
use crate::delivery::envelope::Envelope;
use crate::kernel::actor_core::DynActor;
use crate::path::Guardian;
use crate::system::test_actors::{TestActor, child, system, test_actor};

type Actor = Arc<ActorCore<TestActor>>;

fn some() -> [Actor; 3] {
    let system = system();
    [(); 3].map(|()| test_actor(&system, Guardian::User))
}

fn end(actor: &Actor) {
    actor.meta.set_ended(StopReason::Killed);
    if let Some(watches) = actor.meta.watchers().end() {
        watches.tell(&actor.clone().into_labelled(), &StopReason::Killed);
    }
}

fn observed(actor: Actor) -> Observed {
    Observed::new(actor).unwrap()
}

fn is_unwatched(actor: &Actor) -> bool {
    actor.meta.watchers().are_none()
}

#[test]
fn every_watcher_is_told_once() {
    let [one, two, target] = some();
    let (mut of_one, mut of_two) = (Watching::new(one.meta.pid()), Watching::new(two.meta.pid()));
    of_one.begin(one.clone(), observed(target.clone()));
    of_one.begin(one.clone(), observed(target.clone()));
    of_two.begin(two.clone(), observed(target.clone()));
    assert_eq!((one.mailbox.len(), two.mailbox.len()), (0, 0));
    end(&target);
    end(&target);
    assert_eq!((one.mailbox.len(), two.mailbox.len()), (1, 1));
    of_one.begin(one.clone(), observed(target.clone()));
    assert_eq!(one.mailbox.len(), 1, "the first notice is not handled yet");
    assert!(of_one.claim(target.meta.pid(), 1));
    assert!(!of_one.claim(target.meta.pid(), 1), "a notice is claimed once");
    of_one.begin(one.clone(), observed(target.clone()));
    assert_eq!(one.mailbox.len(), 2, "at once");
}

#[test]
fn a_notice_of_a_watch_that_was_given_up_is_not_wanted() {
    let [watcher, other, target] = some();
    let mut watching = Watching::new(watcher.meta.pid());
    assert!(!watching.end(target.meta.pid()));
    watching.begin(watcher.clone(), observed(target.clone()));
    end(&target);
    assert!(watching.end(target.meta.pid()));
    assert!(!watching.claim(target.meta.pid(), 1));
    watching.begin(watcher.clone(), observed(target.clone()));
    assert!(!watching.claim(target.meta.pid(), 1), "the old notice is not the new one");
    assert!(!watching.claim(other.meta.pid(), 2));
    assert!(watching.claim(target.meta.pid(), 2));
}

#[test]
fn nothing_is_left_at_the_target() {
    let [one, two, target] = some();
    let mut of_two = Watching::new(two.meta.pid());
    {
        let mut of_one = Watching::new(one.meta.pid());
        of_one.begin(one.clone(), observed(target.clone()));
        of_two.begin(two.clone(), observed(target.clone()));
        // One strong count for each place that holds it.
        assert_eq!(Arc::strong_count(&one), 2);
    }
    assert_eq!(Arc::strong_count(&one), 1);
    assert!(!is_unwatched(&target));
    of_two.end(target.meta.pid());
    assert!(is_unwatched(&target), "not even an empty table");
    assert_eq!((Arc::strong_count(&two), Arc::strong_count(&target)), (1, 1));
}

#[test]
fn children_are_forgotten_and_others_are_not() {
    let [watcher, stranger, _] = some();
    let (own, ended, nephew) = (child(&watcher, None), child(&watcher, None), child(&stranger, None));
    let mut watching = Watching::new(watcher.meta.pid());
    for target in [&own, &ended, &nephew, &stranger] {
        watching.begin(watcher.clone(), observed(target.clone()));
    }
    end(&ended);
    watching.end_children();
    assert!(is_unwatched(&own) && !is_unwatched(&nephew) && !is_unwatched(&stranger));
    for (target, number, wanted) in
        [(&own, 1, false), (&ended, 2, false), (&nephew, 3, true), (&stranger, 4, true)]
    {
        assert_eq!(watching.claim(target.meta.pid(), number), wanted);
    }
}

#[test]
fn one_that_is_closed_is_not_told() {
    let [watcher, target, _] = some();
    let mut watching = Watching::new(watcher.meta.pid());
    watching.begin(watcher.clone(), observed(target.clone()));
    let _ = watcher.mailbox.signal(crate::mailbox::Ending::Drain);
    end(&target);
    assert_eq!(watcher.mailbox.len(), 0);
}

#[test]
fn a_notice_says_who_has_ended() {
    let [ended, other, _] = some();
    let notice = Terminated { who: ended.clone().into_labelled(), reason: StopReason::Killed };
    let [is_ended, is_other] = [&ended, &other].map(|actor| notice.is(&ActorRef::of(actor.clone())));
    assert!(is_ended && !is_other);
    assert_eq!((notice.uid(), notice.path(), notice.label()), (ended.uid(), ended.path(), ended.label()));
    // A stashed notice is a letter like any other.
    let text = notice.describe().unwrap();
    assert!(text.contains(&ended.label()) && text.contains("Killed"), "{text}");
    let letter: Envelope<TestActor> = TerminatedNotice::envelope(notice, 1);
    assert!(!letter.is_letter());
    assert_eq!((letter.message_type(), letter.describe()), (std::any::type_name::<Terminated>(), Some(text)));
    for queued in 0..3 {
        assert_eq!(other.queued(), queued);
        let _ = other.mailbox.notify(TerminatedNotice::envelope(
            Terminated { who: ended.clone().into_labelled(), reason: StopReason::Killed },
            1,
        ));
    }
}
