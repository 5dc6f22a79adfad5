use crate::{Error, ErrorKind, Result};

/// The priority lane of a message in the mailbox.
///
/// A message type has a priority ([`Message::PRIORITY`](crate::Message::PRIORITY)), and a single send can
/// override it ([`ActorRef::at`](crate::ActorRef::at)). An actor takes the message with the highest priority;
/// each lane is FIFO. Lower lanes do not starve: while a lane has messages, at least one of every eight
/// messages comes from it (two lanes that wait for that take turns).
///
/// Priority only orders the messages in a mailbox. A bounded mailbox counts all lanes together, waiting
/// senders are admitted in FIFO order, and stop, drain and kill are not messages: they overtake every lane.
/// There is no order between messages of different priority, not even from one sender.
///
/// ```
/// use dactor_core::Priority;
///
/// assert!(Priority::High > Priority::Normal);
/// assert_eq!(Priority::try_from(0).unwrap(), Priority::Low);
/// assert!(Priority::try_from(3).unwrap_err().to_string().contains("0, 1 or 2"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Priority {
    /// After all other messages.
    Low = 0,
    /// The default.
    #[default]
    Normal = 1,
    /// Before all other messages.
    High = 2,
}

impl Priority {
    /// At least one message in this many comes from a lower lane that has messages.
    pub const SHARE: usize = 8;
}

/// From a configuration level: 0 is low, 1 normal, 2 high.
impl TryFrom<u8> for Priority {
    type Error = Error;

    fn try_from(level: u8) -> Result<Self> {
        match level {
            0 => Ok(Self::Low),
            1 => Ok(Self::Normal),
            2 => Ok(Self::High),
            _ => {
                Err(Error::new(ErrorKind::InvalidPriority).with("level", level).with("expected", "0, 1 or 2"))
            }
        }
    }
}
