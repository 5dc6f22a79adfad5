use std::borrow::Cow;
use std::fmt;

use super::table::TimerSlot;

/// The key of a timer: a text or a number. Setting a timer with a key that is in use replaces the timer.
///
/// Keys are per actor. Timers that are set without a key get a unique one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TimerKey(Key);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Text(Cow<'static, str>),
    Number(u64),
    /// Set without a key.
    Unnamed(Option<TimerSlot>),
    /// The idle timeout, of which an actor has one.
    Idle,
}

impl TimerKey {
    pub(super) const IDLE: Self = Self(Key::Idle);

    /// The key of a timer that was set without one.
    pub(super) fn unnamed(slot: Option<TimerSlot>) -> Self {
        Self(Key::Unnamed(slot))
    }

    pub(super) fn slot(&self) -> Option<TimerSlot> {
        match self.0 {
            Key::Unnamed(slot) => slot,
            _ => None,
        }
    }
}

impl From<&'static str> for TimerKey {
    fn from(text: &'static str) -> Self {
        Self(Key::Text(Cow::Borrowed(text)))
    }
}

impl From<String> for TimerKey {
    fn from(text: String) -> Self {
        Self(Key::Text(Cow::Owned(text)))
    }
}

impl From<u64> for TimerKey {
    fn from(number: u64) -> Self {
        Self(Key::Number(number))
    }
}

impl fmt::Display for TimerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Key::Text(text) => f.write_str(text),
            Key::Number(number) => write!(f, "{number}"),
            Key::Unnamed(_) => f.write_str("(without a key)"),
            Key::Idle => f.write_str("(idle timeout)"),
        }
    }
}

impl fmt::Debug for TimerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Key::Text(text) => f.debug_tuple("TimerKey").field(text).finish(),
            Key::Number(number) => f.debug_tuple("TimerKey").field(number).finish(),
            Key::Unnamed(_) | Key::Idle => write!(f, "TimerKey{self}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_key_however_it_is_kept() {
        assert_eq!(TimerKey::from("retry"), TimerKey::from("retry".to_owned()));
        assert_ne!(TimerKey::from("7"), TimerKey::from(7));
    }
}
