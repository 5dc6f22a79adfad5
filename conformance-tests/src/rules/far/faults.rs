//! A link that loses, delays, repeats and reorders frames.

use std::collections::HashMap;
use std::time::Duration;

use dactor_core::ErrorKind;
use futures_util::future::join_all;

use crate::fixtures::far::{Echo, Note, Pair};
use crate::fixtures::until;
use crate::rules::body;
use crate::{Rule, RuleContext, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "FAR-14",
        Topic::Ask,
        &[(Topic::Ask, State::Idle), (Topic::Tell, State::Idle)],
        "Over a link that loses, repeats, reorders and delays frames, each ask is answered exactly once, with its own reply or with `Timeout`, and each message is handled at most once.",
        "A network does all of this.",
        body!(faults),
    )
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "FAR-15",
        Topic::Order,
        &[(Topic::Order, State::Idle)],
        "Over a link that only delays and repeats frames, messages of one sender are handled in order, once.",
        "Order per sender and receiver does not depend on where they are.",
        body!(order),
    ),
];

async fn faults(mut rule: RuleContext) {
    // A network of streams loses no frames, unless it is lost itself.
    if !Pair::is_linked(&rule) {
        return;
    }
    let pair = Pair::new(&rule).await;
    let Some(link) = pair.link.link().cloned() else { return };
    let a = pair.spawn("a").await;
    link.lose(0.2).duplicate(0.2).reorder(0.2).answer_within(Duration::from_secs(5));
    for note in 0..100 {
        a.far.tell(Note(format!("note {note}"))).unwrap();
    }
    let far = a.far.clone();
    let asks = tokio::spawn(async move { join_all((0..100).map(|number| far.ask(Echo(number)))).await });
    rule.let_idle().await;
    while !asks.is_finished() {
        rule.clock().advance(Duration::from_secs(1)).await;
    }
    let answers = asks.await.unwrap();
    let (mut answered, mut lost) = (0, 0);
    for (number, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(reply) => {
                assert_eq!(reply, 2 * number as u64, "seed {}", link.seed());
                answered += 1;
            }
            Err(error) => {
                assert_eq!((error.kind(), error.may_have_been_handled()), (ErrorKind::Timeout, true));
                lost += 1;
            }
        }
    }
    assert!(answered > 20 && lost > 5, "seed {}: {answered} answered, {lost} lost", link.seed());
    let mut handled = HashMap::new();
    for entry in a.journal.entries() {
        *handled.entry(entry).or_insert(0) += 1;
    }
    assert!(handled.values().all(|count| *count == 1), "seed {}: {handled:?}", link.seed());
    assert!(handled.len() < 200, "seed {}: some were lost", link.seed());
    assert_eq!(pair.pending(), 0);
}

async fn order(rule: RuleContext) {
    // A network of streams loses no frames, unless it is lost itself.
    if !Pair::is_linked(&rule) {
        return;
    }
    let pair = Pair::new(&rule).await;
    let Some(link) = pair.link.link().cloned() else { return };
    let a = pair.spawn("a").await;
    link.duplicate(0.5).delay(Duration::ZERO..=Duration::from_micros(200));
    for note in 0..100 {
        a.far.tell(Note(format!("{note}"))).unwrap();
    }
    rule.soon("all arrive", until(|| a.journal.len() == 100)).await;
    link.repair();
    assert_eq!(rule.soon("the reply", a.far.ask(Echo(1))).await.unwrap(), 2);
    let expected: Vec<_> = (0..100).map(|note| note.to_string()).chain(["echo 1".into()]).collect();
    assert_eq!(a.journal.entries(), expected, "seed {}", link.seed());
}
