use std::fmt;

use super::authority::{self, AuthorityError, AuthorityReason};
use super::canonical::Address;
use super::segment;
use super::uri::charset::Class;
use super::{ActorPathScheme, PathAuthority};

/// The system of a path: scheme, name, and address unless it is local.
///
/// ```
/// use dactor_core::path::{ActorPathParts, PathAuthority};
///
/// let local = ActorPathParts::new("bank").unwrap();
/// assert_eq!(local.to_string(), "pekko://bank");
///
/// let remote = local.with_authority(PathAuthority::new("db.example.com", Some(2552)).unwrap());
/// assert_eq!(remote.to_string(), "pekko://bank@db.example.com:2552");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActorPathParts {
    scheme: ActorPathScheme,
    system: Box<str>,
    authority: Option<PathAuthority>,
}

impl ActorPathParts {
    /// A local system: scheme `pekko`, no authority.
    pub fn new(system: &str) -> Result<Self, AuthorityError> {
        check_local_system(system, 0)?;
        Ok(Self { scheme: ActorPathScheme::Pekko, system: system.into(), authority: None })
    }

    /// The same system under another scheme.
    #[must_use]
    pub fn with_scheme(mut self, scheme: ActorPathScheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// The same system with an address.
    #[must_use]
    pub fn with_authority(mut self, authority: PathAuthority) -> Self {
        self.authority = Some(authority);
        self
    }

    /// The scheme.
    pub fn scheme(&self) -> ActorPathScheme {
        self.scheme
    }

    /// The name of the system.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The address of the system. `None` is this process.
    pub fn authority(&self) -> Option<&PathAuthority> {
        self.authority.as_ref()
    }

    pub(super) fn address(&self) -> Address<'_> {
        Address {
            scheme: self.scheme,
            system: &self.system,
            host: self.authority.as_ref().map(PathAuthority::host),
            port: self.authority.as_ref().and_then(PathAuthority::port),
        }
    }
}

impl From<Address<'_>> for ActorPathParts {
    fn from(address: Address<'_>) -> Self {
        Self {
            scheme: address.scheme,
            system: address.system.into(),
            authority: address.host.map(|host| PathAuthority::checked(host, address.port)),
        }
    }
}

impl fmt::Display for ActorPathParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.system)?;
        match &self.authority {
            Some(authority) => write!(f, "@{authority}"),
            None => Ok(()),
        }
    }
}

/// Splits `system` or `system@host:port`, which begins at this byte of a larger text.
pub(super) fn read(text: &str, begin: usize) -> Result<(&str, Option<&str>, Option<u16>), AuthorityError> {
    let Some((system, server)) = text.split_once('@') else {
        check_local_system(text, begin)?;
        return Ok((text, None, None));
    };
    check_system(system, begin)?;
    let (host, port) = authority::read(server, begin + system.len() + 1)?;
    Ok((system, Some(host), port))
}

/// A system name is the user info of a URI. The same rules as for segments apply to its escapes.
fn check_system(system: &str, begin: usize) -> Result<(), AuthorityError> {
    let error = |at| AuthorityError::new(AuthorityReason::System, begin + at);
    if system.is_empty() {
        return Err(error(0));
    }
    segment::check(system, Class::USER_INFO).map_err(|wrong| error(wrong.position()))
}

/// Without a host, a colon would read as the beginning of a port.
fn check_local_system(system: &str, begin: usize) -> Result<(), AuthorityError> {
    check_system(system, begin)?;
    match system.find(':') {
        Some(at) => Err(AuthorityError::new(AuthorityReason::System, begin + at)),
        None => Ok(()),
    }
}
