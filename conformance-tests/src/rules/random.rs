//! Random programs over the whole API, against a model of what must hold.

use super::body;
use crate::random::{real_time, simulated};
use crate::{Pace, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "RANDOM-01",
        Topic::Order,
        &[(Topic::Order, State::Handling)],
        "Random programs on a simulated clock keep all promises.",
        "What two features do together is in no other rule; a seed shows it again.",
        body!(simulated),
    )
    .spi(&["loses-wakes", "ends-when-idle", "drops-cell", "outlives-cell"])
    .pace(Pace::Driven),
    Rule::must(
        "RANDOM-02",
        Topic::Order,
        &[(Topic::Order, State::Handling)],
        "Random programs in real time keep all promises.",
        "What races is in no program that runs the same each time.",
        body!(real_time),
    ),
];
