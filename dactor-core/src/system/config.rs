use std::fmt;

use crate::base::text::shown;
use crate::path::{ActorPath, ActorPathParts, ActorPathScheme, Guardian, PathAuthority};
use crate::{Error, ErrorKind, Result};

/// The address of a system's actors: passed to [`System::builder`](crate::System::builder). A name alone is
/// enough.
///
/// ```
/// use dactor_core::path::{ActorPathScheme, PathAuthority};
/// use dactor_core::{ActorSystemConfig, System};
///
/// let config = ActorSystemConfig::new("bank")
///     .scheme(ActorPathScheme::PekkoTcp)
///     .authority(PathAuthority::new("db.example.com", Some(2552)).unwrap());
/// assert_eq!(config.to_string(), "pekko.tcp://bank@db.example.com:2552/user");
/// let builder = System::builder(config);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct ActorSystemConfig {
    name: String,
    scheme: ActorPathScheme,
    authority: Option<PathAuthority>,
    guardian: Guardian,
}

impl ActorSystemConfig {
    /// A system with this name and local paths: `pekko://name/user/…`. The name is validated when the system
    /// is built.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            scheme: ActorPathScheme::default(),
            authority: None,
            guardian: Guardian::default(),
        }
    }

    /// The scheme of the actors' paths.
    pub fn scheme(mut self, scheme: ActorPathScheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// The host and port of the system, as they appear in the paths of its actors.
    pub fn authority(mut self, authority: PathAuthority) -> Self {
        self.authority = Some(authority);
        self
    }

    /// The guardian below which [`System::spawn`](crate::System::spawn) puts actors and
    /// [`System::get`](crate::System::get) finds them. With [`Guardian::System`] all of them are services.
    pub fn guardian(mut self, guardian: Guardian) -> Self {
        self.guardian = guardian;
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The address of the system, and the default guardian.
    pub(crate) fn check(self) -> Result<(ActorPathParts, Guardian)> {
        let refused = |why: String| {
            Error::new(ErrorKind::InvalidName).with("system", shown(&self.name)).with("because", why)
        };
        if self.guardian == Guardian::Temp {
            let why = "no actor is spawned below `/temp`";
            return Err(Error::new(ErrorKind::Unsupported)
                .with("system", shown(&self.name))
                .with("because", why));
        }
        let parts = ActorPathParts::new(&self.name).map_err(|error| refused(error.to_string()))?;
        let parts = parts.with_scheme(self.scheme);
        let parts = match self.authority.clone() {
            Some(authority) => parts.with_authority(authority),
            None => parts,
        };
        // The longer of the two guardian paths has to fit.
        ActorPath::new(&parts, Guardian::System).map_err(|error| refused(error.to_string()))?;
        Ok((parts, self.guardian))
    }
}

impl<N: Into<String>> From<N> for ActorSystemConfig {
    fn from(name: N) -> Self {
        Self::new(name)
    }
}

/// The path below which actors are spawned.
impl fmt::Display for ActorSystemConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.name)?;
        if let Some(authority) = &self.authority {
            write!(f, "@{authority}")?;
        }
        write!(f, "/{}", self.guardian)
    }
}
