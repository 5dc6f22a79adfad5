//! The state machine of an activation, as a pure function.
//!
//! ```text
//!              message              started              flushed             end, closed
//!   Invalid ───────────► Creating ───────────► Activating ───────► Valid ─────────────────► Deactivating
//!      ▲ ▲                  │ failed                │ closed          │ ended                   │   │
//!      │ └──────────────────┘                       └─────────────────┼──────────────────► ─────┘   │ ended
//!      └──────────────────────────────────────────────────────────────┴───────────────────────────────┘
//! ```

/// The state of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActivationState {
    /// There is no activation.
    Invalid,
    /// The actor is being claimed, loaded and started. Messages are held.
    Creating,
    /// The actor is running and receives the held messages. New messages queue behind them.
    Activating,
    /// Messages are delivered directly.
    Valid,
    /// The actor is ending. Messages are held for the next activation.
    Deactivating,
}

/// An event of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// A message is sent.
    Message,
    /// The actor has started.
    Started,
    /// All held messages are in the mailbox.
    Flushed,
    /// The actor could not be activated.
    Failed,
    /// The actor was requested to end.
    EndAsked,
    /// The mailbox of the actor is closed.
    Closed,
    /// The actor has ended.
    Ended,
}

/// The action to take after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Nothing.
    Ignore,
    /// Hold the message.
    Hold,
    /// Hold the message and activate the actor.
    Begin,
    /// Deliver the message to the actor.
    Deliver,
    /// Deliver the held messages to the actor.
    Flush,
    /// Remember the event until the held messages are delivered.
    Remember,
    /// Signal the actor.
    Signal,
    /// Answer the held messages with the error.
    Answer,
    /// Finish the activation. Begin the next one if messages are held.
    Finish,
}

/// The state after an event, and the action to take.
pub(crate) fn next(state: ActivationState, event: Event) -> (ActivationState, Action) {
    use ActivationState::{Activating, Creating, Deactivating, Invalid, Valid};
    use Event::{Closed, EndAsked, Ended, Failed, Flushed, Message, Started};
    match (state, event) {
        (Invalid, Message) => (Creating, Action::Begin),
        (Creating | Activating | Deactivating, Message) => (state, Action::Hold),
        (Valid, Message) => (Valid, Action::Deliver),
        (Creating, Started) => (Activating, Action::Flush),
        (Activating, Flushed) => (Valid, Action::Ignore),
        (Creating, Failed) => (Invalid, Action::Answer),
        (Creating | Activating, EndAsked) => (state, Action::Remember),
        (Valid, EndAsked) => (Deactivating, Action::Signal),
        (Deactivating, EndAsked) => (Deactivating, Action::Signal),
        (Activating | Valid | Deactivating, Closed) => (Deactivating, Action::Ignore),
        // The start or the flush is still running in another task, which checks for this when it is done.
        (Creating | Activating, Ended) => (state, Action::Remember),
        (Valid | Deactivating, Ended) => (Invalid, Action::Finish),
        (Invalid, Started | Flushed | Failed | EndAsked | Closed | Ended)
        | (Creating, Flushed | Closed)
        | (Activating | Valid | Deactivating, Started | Failed)
        | (Valid | Deactivating, Flushed) => (state, Action::Ignore),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [ActivationState; 5] = [
        ActivationState::Invalid,
        ActivationState::Creating,
        ActivationState::Activating,
        ActivationState::Valid,
        ActivationState::Deactivating,
    ];
    const EVENTS: [Event; 7] = [
        Event::Message,
        Event::Started,
        Event::Flushed,
        Event::Failed,
        Event::EndAsked,
        Event::Closed,
        Event::Ended,
    ];

    #[test]
    fn every_state_and_event() {
        // Rows are events; columns are Invalid, Creating, Activating, Valid, Deactivating.
        let table = "
            Message  | Creating Begin | Creating Hold     | Activating Hold     | Valid Deliver       | Deactivating Hold
            Started  | Invalid Ignore | Activating Flush  | Activating Ignore   | Valid Ignore        | Deactivating Ignore
            Flushed  | Invalid Ignore | Creating Ignore   | Valid Ignore        | Valid Ignore        | Deactivating Ignore
            Failed   | Invalid Ignore | Invalid Answer    | Activating Ignore   | Valid Ignore        | Deactivating Ignore
            EndAsked | Invalid Ignore | Creating Remember | Activating Remember | Deactivating Signal | Deactivating Signal
            Closed   | Invalid Ignore | Creating Ignore   | Deactivating Ignore | Deactivating Ignore | Deactivating Ignore
            Ended    | Invalid Ignore | Creating Remember | Activating Remember | Invalid Finish      | Invalid Finish";
        let rows: Vec<Vec<&str>> = table
            .lines()
            .filter(|line| line.contains('|'))
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        assert_eq!(rows.len(), EVENTS.len());
        for (row, event) in rows.iter().zip(EVENTS) {
            assert_eq!(row[0], format!("{event:?}"));
            assert_eq!(row.len(), STATES.len() + 1);
            for (cell, state) in row[1..].iter().zip(STATES) {
                let (after, action) = next(state, event);
                assert_eq!(*cell, format!("{after:?} {action:?}"), "{state:?}, {event:?}");
            }
        }
    }

    #[test]
    fn a_message_is_never_dropped() {
        for state in STATES {
            let (_, action) = next(state, Event::Message);
            assert!(matches!(action, Action::Begin | Action::Hold | Action::Deliver), "{state:?}");
        }
    }
}
