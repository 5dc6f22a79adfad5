use crate::{State, Topic, rules};

/// Why some cells of the coverage table have no rule.
#[derive(Debug, Clone, Copy)]
pub struct Reason {
    /// The row.
    pub topic: Topic,
    /// The columns.
    pub states: &'static [State],
    /// Why these cells need no rule.
    pub why: &'static str,
}

/// The cells without a rule.
pub static REASONS: &[Reason] = &[
    Reason {
        topic: Topic::Shed,
        states: &[
            State::Stopped,
            State::Drained,
            State::Killed,
            State::Failed,
            State::NativeStop,
            State::NativeKill,
            State::RuntimeDropped,
        ],
        why: "load shedding affects new messages only, which an ended actor refuses with `Stopped` (SHED-06); queued messages are answered as in every mailbox",
    },
    Reason {
        topic: Topic::Headers,
        states: &[
            State::Dead,
            State::Stopped,
            State::Killed,
            State::Failed,
            State::NativeStop,
            State::NativeKill,
            State::RuntimeDropped,
        ],
        why: "headers are read while a message is handled or answered; those of an unhandled message are dropped with it",
    },
    Reason {
        topic: Topic::Failure,
        states: &[State::Idle],
        why: "an idle actor runs no code that could fail",
    },
    Reason {
        topic: Topic::Failure,
        states: &[
            State::Dead,
            State::Stopped,
            State::Drained,
            State::Killed,
            State::NativeStop,
            State::NativeKill,
            State::RuntimeDropped,
        ],
        why: "an ended actor runs no code that could fail; an error of its last hook is its stop reason",
    },
    Reason {
        topic: Topic::Panic,
        states: &[State::Idle],
        why: "an idle actor runs no code that could panic",
    },
    Reason {
        topic: Topic::Panic,
        states: &[State::Drained, State::NativeStop],
        why: "the same code runs as after a stop",
    },
    Reason {
        topic: Topic::Native,
        states: &[State::Starting],
        why: "`on_start` runs in the spawning task, before the native actor exists",
    },
    Reason {
        topic: Topic::Native,
        states: &[State::RuntimeDropped],
        why: "the native actor no longer exists",
    },
];

/// The ids of the rules for one cell.
pub(crate) fn ids(topic: Topic, state: State) -> Vec<&'static str> {
    rules().filter(|rule| rule.covers.contains(&(topic, state))).map(|rule| rule.id).collect()
}

/// The reason why a cell has no rule.
pub(crate) fn reason(topic: Topic, state: State) -> Option<&'static Reason> {
    REASONS.iter().find(|reason| reason.topic == topic && reason.states.contains(&state))
}

/// The cells with neither a rule nor a reason.
pub fn uncovered() -> Vec<(Topic, State)> {
    cells()
        .filter(|(topic, state)| ids(*topic, *state).is_empty() && reason(*topic, *state).is_none())
        .collect()
}

fn cells() -> impl Iterator<Item = (Topic, State)> {
    Topic::ALL.iter().flat_map(|topic| State::ALL.iter().map(move |state| (*topic, *state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_a_rule_or_a_reason() {
        assert_eq!(uncovered(), []);
    }

    #[test]
    fn no_reason_stands_beside_a_rule() {
        for (topic, state) in cells() {
            if let Some(reason) = reason(topic, state) {
                assert_eq!(ids(topic, state), [""; 0], "{topic:?}, {state:?}: {}", reason.why);
            }
        }
    }
}
