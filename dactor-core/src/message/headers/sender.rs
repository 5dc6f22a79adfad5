use std::fmt;

use super::{Header, invalid};
use crate::base::origin;
use crate::{ActorPath, Pid, Result};

/// The actor that sent a message. Interceptors see it on messages that were sent in an actor's turn.
///
/// It is the actor's [path](Self::path), which means the same in every process. The path is put together when it is asked
/// for: a message that stays in the process carries a number.
#[derive(Clone)]
pub struct Sender(Origin);

#[derive(Clone)]
enum Origin {
    Here(Pid),
    At(ActorPath),
}

impl Sender {
    /// The actor of this process with this number.
    pub(crate) fn here(pid: Pid) -> Self {
        Self(Origin::Here(pid))
    }

    /// The actor at this path, which may be in another process.
    pub fn at(path: ActorPath) -> Self {
        Self(Origin::At(path))
    }

    /// Its number, if it is an actor of this process.
    pub fn id(&self) -> Option<Pid> {
        match &self.0 {
            Origin::Here(pid) => Some(*pid),
            Origin::At(_) => None,
        }
    }

    /// Its path, with its UID. `None` for an actor of this process that has ended meanwhile.
    pub fn path(&self) -> Option<ActorPath> {
        match &self.0 {
            Origin::Here(pid) => origin::path_of(*pid),
            Origin::At(path) => Some(path.clone()),
        }
    }
}

/// The same actor.
impl PartialEq for Sender {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Origin::Here(one), Origin::Here(other)) => one == other,
            _ => match (self.path(), other.path()) {
                (Some(one), Some(other)) => one.is_same_incarnation(&other),
                _ => false,
            },
        }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("Sender");
        match &self.0 {
            Origin::Here(pid) => shown.field(pid).finish(),
            Origin::At(path) => shown.field(path).finish(),
        }
    }
}

/// It leaves the process as its path. The sender of a message lives while it sends it.
impl Header for Sender {
    const NAME: &'static str = "sender";

    fn encode(&self) -> Option<String> {
        self.path().map(|path| path.to_serialization_format())
    }

    fn decode(text: &str) -> Result<Self> {
        let path = text.parse();
        path.map(Self::at).map_err(|error| invalid(Self::NAME, "it is no actor's path").because(error))
    }
}
