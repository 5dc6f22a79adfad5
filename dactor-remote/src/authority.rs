//! The state of the association with one address: a pure state machine.
//!
//! ```text
//!   Unresolved ──Resolved──► Connected ──Invalid──► Quarantined
//!       ▲ ▲                     │ ▲                     │
//!       │ └───TransportDropped──┘ └──Resolved, Override─┤
//!       └──────────────────────────Elapsed, Override────┘
//! ```
//!
//! A quarantine applies to one incarnation: another incarnation at the same address resolves it at once.
//! `Unresolved` also changes to `Quarantined` when the other node is unreachable for too long.

use std::collections::VecDeque;

use tokio::time::Instant;

/// The state of the association with the address of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorityState {
    /// Not connected: messages are deferred.
    Unresolved,
    /// Connected: messages are sent.
    Connected,
    /// Quarantined until this time: messages are refused.
    Quarantined {
        /// When the quarantine ends.
        until: Instant,
    },
}

/// An input of the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// A handshake was completed with an incarnation that is not quarantined.
    Resolved,
    /// The connection was lost.
    TransportDropped,
    /// The other node is to be quarantined.
    Invalid { until: Instant },
    /// Time has passed.
    Elapsed { now: Instant },
    /// The user lifts the quarantine.
    Override { connected: bool },
}

/// The state transition; `None` when the state stays the same.
pub(crate) fn next(state: AuthorityState, input: Input) -> Option<AuthorityState> {
    use AuthorityState::{Connected, Quarantined, Unresolved};
    match (state, input) {
        (Unresolved | Quarantined { .. }, Input::Resolved) => Some(Connected),
        (Connected, Input::TransportDropped) => Some(Unresolved),
        (Unresolved | Connected, Input::Invalid { until }) => Some(Quarantined { until }),
        (Quarantined { until }, Input::Elapsed { now }) if now >= until => Some(Unresolved),
        (Quarantined { .. }, Input::Override { connected: true }) => Some(Connected),
        (Quarantined { .. }, Input::Override { connected: false }) => Some(Unresolved),
        (Connected, Input::Resolved)
        | (Unresolved | Quarantined { .. }, Input::TransportDropped)
        | (Quarantined { .. }, Input::Invalid { .. } | Input::Elapsed { .. })
        | (Unresolved | Connected, Input::Elapsed { .. } | Input::Override { .. }) => None,
    }
}

/// The state of an authority and its deferred messages.
#[derive(Debug)]
pub(crate) struct Authority<T> {
    state: AuthorityState,
    deferred: VecDeque<T>,
    limit: usize,
}

/// The effect of a state transition on the deferred messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change<T> {
    /// The state stays the same.
    None,
    /// The new state; deferred messages are not affected.
    To(AuthorityState),
    /// Connected: send these deferred messages in this order.
    Released(Vec<T>),
    /// Quarantined: these deferred messages are dead letters.
    Dropped(Vec<T>),
}

impl<T> Authority<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: AuthorityState::Unresolved, deferred: VecDeque::new(), limit }
    }

    pub(crate) fn state(&self) -> AuthorityState {
        self.state
    }

    pub(crate) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.deferred.len() < self.limit
    }

    /// Defers a message. Returns it in a state other than `Unresolved`, or when the limit is reached.
    pub(crate) fn defer(&mut self, message: T) -> Result<(), T> {
        if self.state != AuthorityState::Unresolved || !self.has_room() {
            return Err(message);
        }
        self.deferred.push_back(message);
        Ok(())
    }

    /// Removes and returns the deferred messages for which `is_expired` holds.
    pub(crate) fn take_expired(&mut self, mut is_expired: impl FnMut(&T) -> bool) -> Vec<T> {
        let (gone, kept) = std::mem::take(&mut self.deferred).into_iter().partition(|it| is_expired(it));
        self.deferred = kept;
        let gone: VecDeque<T> = gone;
        gone.into()
    }

    pub(crate) fn apply(&mut self, input: Input) -> Change<T> {
        let Some(next) = next(self.state, input) else { return Change::None };
        self.state = next;
        match next {
            AuthorityState::Connected => Change::Released(std::mem::take(&mut self.deferred).into()),
            AuthorityState::Quarantined { .. } => Change::Dropped(std::mem::take(&mut self.deferred).into()),
            AuthorityState::Unresolved => Change::To(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::AuthorityState::{Connected, Quarantined, Unresolved};
    use super::*;

    #[test]
    fn transitions() {
        let now = Instant::now();
        let until = now + Duration::from_secs(60);
        let later = until + Duration::from_secs(60);
        let quarantined = Quarantined { until };
        let early = Input::Elapsed { now };
        let due = Input::Elapsed { now: until };
        let invalid = Input::Invalid { until: later };
        let [up, down] = [true, false].map(|connected| Input::Override { connected });
        let table = [
            (Unresolved, Input::Resolved, Some(Connected)),
            (Unresolved, Input::TransportDropped, None),
            (Unresolved, invalid, Some(Quarantined { until: later })),
            (Unresolved, early, None),
            (Unresolved, due, None),
            (Unresolved, up, None),
            (Unresolved, down, None),
            (Connected, Input::Resolved, None),
            (Connected, Input::TransportDropped, Some(Unresolved)),
            (Connected, invalid, Some(Quarantined { until: later })),
            (Connected, early, None),
            (Connected, due, None),
            (Connected, up, None),
            (Connected, down, None),
            (quarantined, Input::Resolved, Some(Connected)),
            (quarantined, Input::TransportDropped, None),
            (quarantined, invalid, None),
            (quarantined, early, None),
            (quarantined, due, Some(Unresolved)),
            (quarantined, up, Some(Connected)),
            (quarantined, down, Some(Unresolved)),
        ];
        for (state, input, expected) in table {
            assert_eq!(next(state, input), expected, "{state:?} {input:?}");
        }
    }

    #[test]
    fn messages_wait_in_order_and_within_the_limit() {
        let until = Instant::now();
        let mut authority = Authority::new(3);
        for message in 1..=3 {
            authority.defer(message).unwrap();
        }
        assert_eq!(authority.defer(4), Err(4));
        assert_eq!(authority.take_expired(|message| *message == 2), [2]);
        authority.defer(5).unwrap();
        assert_eq!(authority.apply(Input::Resolved), Change::Released(vec![1, 3, 5]));
        assert_eq!(authority.defer(6), Err(6), "it can be sent");
        assert_eq!(authority.apply(Input::TransportDropped), Change::To(Unresolved));
        authority.defer(7).unwrap();
        assert_eq!(authority.apply(Input::Invalid { until }), Change::Dropped(vec![7]));
        assert_eq!(authority.defer(8), Err(8), "quarantined");
        assert_eq!(authority.apply(Input::Elapsed { now: until }), Change::To(Unresolved));
        assert!(!authority.has_deferred() && authority.has_room());
    }
}
