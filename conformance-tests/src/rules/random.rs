//! Random programs over the whole API, checked against a model.

use crate::random::{real_time, simulated};
use crate::rules::body;
use crate::{Rule, RuntimeMode, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "RANDOM-01",
        Topic::Order,
        &[(Topic::Order, State::Handling)],
        "Random programs on a simulated clock satisfy the model.",
        "Interactions of features that no other rule covers are found and can be replayed by their seed.",
        body!(simulated),
    )
    .spi(&["loses-wakes", "ends-when-idle", "drops-cell", "outlives-cell"])
    .runtime(RuntimeMode::DrivenClock),
    Rule::must(
        "RANDOM-02",
        Topic::Order,
        &[(Topic::Order, State::Handling)],
        "Random programs in real time satisfy the model.",
        "Races do not occur in programs that run the same way each time.",
        body!(real_time),
    ),
];
