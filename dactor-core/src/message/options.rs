use crate::message::headers::Headers;
use crate::message::message::Message;
use crate::message::priority::Priority;

/// Send options of one message.
#[derive(Debug)]
pub(crate) struct SendOptions {
    pub(crate) priority: Priority,
    pub(crate) headers: Headers,
}

impl SendOptions {
    /// The defaults of the message type, without headers.
    pub(crate) fn of<M: Message>() -> Self {
        Self { priority: M::PRIORITY, headers: Headers::default() }
    }
}
