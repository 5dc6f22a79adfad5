use super::*;
use crate::ErrorKind;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn every_directive_has_its_decision() {
    let plenty = Supervision::one_for_one();
    let none = Supervision::one_for_one().budget(0, SECOND);
    let now = Instant::now();
    for (directive, with_budget, without) in [
        (Directive::Resume, Decision::Resume, Decision::Resume),
        (Directive::Restart, Decision::Restart { after: Duration::ZERO }, Decision::Exhausted),
        (Directive::Stop, Decision::Stop, Decision::Stop),
        (Directive::Escalate, Decision::Escalate, Decision::Escalate),
    ] {
        assert_eq!(
            plenty.decision(directive, &mut Record::default(), now, 0.0),
            with_budget,
            "{directive:?}"
        );
        assert_eq!(none.decision(directive, &mut Record::default(), now, 0.0), without, "{directive:?}");
    }
}

#[test]
fn a_scope_concerns_all_the_younger_or_nobody() {
    let [first, second, third] = [(); 3].map(|()| Pid::next());
    for (scope, of_first, of_second, of_third) in [
        (Scope::One, [false; 3], [false; 3], [false; 3]),
        (Scope::All, [false, true, true], [true, false, true], [true, true, false]),
        (Scope::Rest, [false, true, true], [false, false, true], [false; 3]),
    ] {
        for (failed, expected) in [(first, of_first), (second, of_second), (third, of_third)] {
            assert_eq!(
                [first, second, third].map(|other| scope.concerns(failed, other)),
                expected,
                "{scope:?}"
            );
        }
    }
}

#[test]
fn constructors_say_the_scope() {
    for (supervision, scope) in [
        (Supervision::one_for_one(), Scope::One),
        (Supervision::all_for_one(), Scope::All),
        (Supervision::rest_for_one(), Scope::Rest),
        (Supervision::default(), Scope::One),
    ] {
        assert_eq!(supervision.scope, scope);
        let ten = Budget { restarts: Some(10), window: SECOND * 60 };
        assert_eq!((supervision.budget, supervision.backoff), (ten, None), "at once, ten times a minute");
    }
    assert_eq!(Supervision::default().budget(3, SECOND * 5).budget_text(), "3 restarts in 5s");
}

#[test]
fn only_a_restart_is_charged() {
    let supervision = Supervision::one_for_one().budget(1, SECOND);
    let (now, mut record) = (Instant::now(), Record::default());
    for directive in [Directive::Resume, Directive::Stop, Directive::Escalate] {
        supervision.decision(directive, &mut record, now, 0.0);
    }
    let restart = |record: &mut Record| supervision.decision(Directive::Restart, record, now, 0.0);
    assert_eq!(restart(&mut record), Decision::Restart { after: Duration::ZERO });
    assert_eq!(restart(&mut record), Decision::Exhausted);
    assert_eq!(
        restart(&mut record),
        Decision::Exhausted,
        "a refused restart is not charged, and does not help"
    );
}

#[test]
fn a_long_wait_is_no_quiet_window() {
    let supervision =
        Supervision::one_for_one().budget(9, SECOND).backoff(Backoff::exponential(SECOND, SECOND * 60));
    let (mut now, mut record) = (Instant::now(), Record::default());
    for seconds in [1, 2, 4, 8] {
        let decision = supervision.decision(Directive::Restart, &mut record, now, 0.0);
        assert_eq!(decision, Decision::Restart { after: SECOND * seconds });
        // It fails right after its restart.
        now += SECOND * seconds;
    }
    now += SECOND;
    let decision = supervision.decision(Directive::Restart, &mut record, now + SECOND * 8, 0.0);
    assert_eq!(decision, Decision::Restart { after: SECOND }, "a quiet period resets the backoff");
    let absurd = Supervision::one_for_one().backoff(Backoff::exponential(Duration::MAX, Duration::MAX));
    let decision = absurd.decision(Directive::Restart, &mut record, now, 0.0);
    assert_eq!(decision, Decision::Restart { after: Duration::MAX });
}

#[test]
fn what_follows_a_failure() {
    let (panicked, failed) = (Error::new(ErrorKind::Panicked), Error::new(ErrorKind::Failed));
    let default = Supervision::default();
    let told = Supervision::default().always(Directive::Escalate);
    let asked = Supervision::default().decide(|failure| match failure.kind() {
        ErrorKind::Panicked => Directive::Resume,
        _ => Directive::Stop,
    });
    for (supervision, failure, factory, expected) in [
        (&default, &panicked, true, Directive::Restart),
        (&default, &panicked, false, Directive::Stop),
        (&default, &failed, true, Directive::Restart),
        (&told, &failed, true, Directive::Escalate),
        (&told, &failed, false, Directive::Escalate),
        (&asked, &panicked, false, Directive::Resume),
        (&asked, &failed, true, Directive::Stop),
    ] {
        assert_eq!(
            supervision.directive(failure, factory),
            expected,
            "{supervision:?} {failure:?} {factory}"
        );
    }
}

/// Restarts at these seconds, and which of them the budget allows.
fn admitted(budget: Option<u32>, window: u64, seconds: &[u64]) -> Vec<Option<u32>> {
    let (begin, mut record) = (Instant::now(), Record::default());
    let budget = Budget { restarts: budget, window: SECOND * window as u32 };
    seconds.iter().map(|at| record.admit(budget, begin + SECOND * *at as u32)).collect()
}

#[test]
fn a_budget_counts_the_restarts_of_any_window() {
    assert_eq!(admitted(Some(0), 10, &[0, 100]), [None, None]);
    assert_eq!(admitted(Some(2), 10, &[0, 1, 2]), [Some(0), Some(1), None]);
    // The first one leaves the window exactly when the window is over.
    assert_eq!(
        admitted(Some(2), 10, &[0, 5, 9, 10, 14, 15]),
        [Some(0), Some(1), None, Some(2), None, Some(3)]
    );
    assert_eq!(admitted(None, 10, &[0, 0, 0, 0]), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(admitted(Some(1), 0, &[0, 0, 0]), [Some(0), Some(0), Some(0)]);
}

#[test]
fn without_a_budget_there_is_no_restart_too_many() {
    let supervision = Supervision::rest_for_one().unlimited();
    let (now, mut record) = (Instant::now(), Record::default());
    for _ in 0..100 {
        let decision = supervision.decision(Directive::Restart, &mut record, now, 0.0);
        assert_eq!(decision, Decision::Restart { after: Duration::ZERO });
    }
    assert_eq!(supervision.scope, Scope::Rest, "and nothing else is changed");
}

#[test]
fn a_quiet_window_begins_a_new_row() {
    assert_eq!(admitted(None, 10, &[0, 9, 18, 28, 29]), [Some(0), Some(1), Some(2), Some(0), Some(1)]);
}

#[test]
fn waits_double_up_to_a_limit() {
    let backoff = Backoff::exponential(SECOND, SECOND * 5).jitter(0.5);
    let waits: Vec<_> = (0..5).map(|nth| backoff.delay(nth, 0.0).as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 5, 5]);
    assert_eq!(backoff.delay(1, 1.0), SECOND * 3);
    assert_eq!(backoff.delay(1, 0.5), SECOND * 5 / 2);
    assert_eq!(backoff.delay(u32::MAX, 0.0), SECOND * 5);
    assert_eq!(backoff.jitter(-1.0).delay(0, 1.0), SECOND);
    assert_eq!(backoff.jitter(f64::NAN).delay(0, 1.0), SECOND);
    assert_eq!(backoff.jitter(7.0).delay(0, 1.0), SECOND * 2);
    let absurd = Backoff::exponential(Duration::MAX, Duration::MAX).jitter(1.0);
    assert_eq!(absurd.delay(3, 1.0), Duration::MAX);
}

#[test]
fn a_restart_waits_as_its_backoff_says() {
    let supervision =
        Supervision::one_for_one().unlimited().backoff(Backoff::exponential(SECOND, SECOND * 60));
    let (now, mut record) = (Instant::now(), Record::default());
    let waits: Vec<_> =
        (0..3).map(|_| supervision.decision(Directive::Restart, &mut record, now, 0.0)).collect();
    let restart = |seconds| Decision::Restart { after: SECOND * seconds };
    assert_eq!(waits, [restart(1), restart(2), restart(4)]);
}
