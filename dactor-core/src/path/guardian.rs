use std::fmt;

/// The actors at the top of a system, each the ancestor of one kind of actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Guardian {
    /// `/user`: all that the application spawns.
    #[default]
    User,
    /// `/system`: the system's own actors.
    System,
    /// `/temp`: actors that live for one reply.
    Temp,
}

impl Guardian {
    /// The guardian's name in a path.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::System => "system",
            Self::Temp => "temp",
        }
    }

    /// The guardian with this name. The whole name counts: `username` is nobody's.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::User, Self::System, Self::Temp].into_iter().find(|guardian| guardian.as_str() == name)
    }

    /// Whether names below it are made up by the system, so that a text may give them with their leading `$`.
    pub(super) fn has_generated_names(self) -> bool {
        self != Self::User
    }
}

impl fmt::Display for Guardian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
