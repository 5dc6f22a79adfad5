use crate::{Error, ErrorKind, Result};

/// Which lane of a mailbox a message travels in.
///
/// A type of message has one ([`Message::PRIORITY`](crate::Message::PRIORITY)), and a single send may say another ([`ActorRef::at`](crate::ActorRef::at)). An actor
/// takes the highest message that waits; those of one lane stay in the order in which they came. A lower lane never
/// starves: of every eight messages that an actor takes while the lane waits, one comes from it (where two lanes wait
/// for that, they follow one another).
///
/// Priority orders what waits in a mailbox, nothing else. A bounded mailbox counts all lanes together, a sender in
/// line is let in in its turn, and stop, drain and kill are not messages: they overtake every lane. Between messages
/// of different priority there is no order to rely on, also from one sender.
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
    /// Behind everything else.
    Low = 0,
    /// What a message has if it does not say otherwise.
    #[default]
    Normal = 1,
    /// Before everything else.
    High = 2,
}

impl Priority {
    /// One message in this many, at the least, is taken from a lower lane that waits.
    pub const SHARE: usize = 8;
}

/// From a level of a configuration: 0 is low, 1 normal, 2 high.
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
