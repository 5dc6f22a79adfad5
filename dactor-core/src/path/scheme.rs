use std::fmt;

/// The scheme of an actor path. Case-sensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ActorPathScheme {
    /// `pekko`
    #[default]
    Pekko,
    /// `pekko.tcp`, of systems that are reached by classic remoting.
    PekkoTcp,
}

impl ActorPathScheme {
    /// The scheme as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pekko => "pekko",
            Self::PekkoTcp => "pekko.tcp",
        }
    }

    pub(super) fn named(text: &str) -> Option<Self> {
        [Self::Pekko, Self::PekkoTcp].into_iter().find(|scheme| scheme.as_str() == text)
    }
}

impl fmt::Display for ActorPathScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
