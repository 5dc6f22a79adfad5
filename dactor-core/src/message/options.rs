use crate::message::headers::Headers;
use crate::message::message::Message;
use crate::message::priority::Priority;

/// How one message travels.
#[derive(Debug)]
pub(crate) struct SendOptions {
    pub(crate) priority: Priority,
    pub(crate) headers: Headers,
}

impl SendOptions {
    /// As its type says, and with nothing beside it.
    pub(crate) fn of<M: Message>() -> Self {
        Self { priority: M::PRIORITY, headers: Headers::default() }
    }
}
