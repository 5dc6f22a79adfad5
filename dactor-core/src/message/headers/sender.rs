use super::{Header, invalid};
use crate::{Pid, Result};

/// The actor that sent a message. Interceptors see it beside messages that were sent from an actor's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender(pub Pid);

impl Header for Sender {
    const NAME: &'static str = "sender";

    fn encode(&self) -> Option<String> {
        Some(format!("#{}", self.0))
    }

    fn decode(text: &str) -> Result<Self> {
        let number = text.strip_prefix('#').and_then(|number| number.parse().ok());
        number
            .map(|number| Self(Pid::from_number(number)))
            .ok_or_else(|| invalid(Self::NAME, "it is no actor's number"))
    }
}
