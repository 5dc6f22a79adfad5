use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::host::{self, NoHost};

/// The address of a system: a host, and optionally a port.
///
/// ```
/// use dactor_core::path::PathAuthority;
///
/// let authority: PathAuthority = "[::1]:2552".parse().unwrap();
/// assert_eq!((authority.host(), authority.port()), ("[::1]", Some(2552)));
/// assert_eq!(authority.to_string(), "[::1]:2552");
/// assert!(PathAuthority::new("in_valid", None).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathAuthority {
    host: Box<str>,
    port: Option<u16>,
}

impl PathAuthority {
    /// Validates the host: a name or an address of at most 255 bytes, an IPv6 address in brackets.
    pub fn new(host: &str, port: Option<u16>) -> Result<Self, AuthorityError> {
        check_host(host, 0)?;
        Ok(Self { host: host.into(), port })
    }

    pub(super) fn checked(host: &str, port: Option<u16>) -> Self {
        Self { host: host.into(), port }
    }

    /// The host as written, an IPv6 address with its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if there is one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

/// Parses `host` or `host:port`, which begins at this byte of a larger text.
pub(super) fn read(server: &str, begin: usize) -> Result<(&str, Option<u16>), AuthorityError> {
    let (host, digits) = host::split_port(server);
    check_host(host, begin)?;
    let port = match digits {
        None => None,
        Some(digits) => {
            let position = begin + host.len() + 1;
            Some(host::port(digits).ok_or(AuthorityError { reason: AuthorityReason::Port, position })?)
        }
    };
    Ok((host, port))
}

fn check_host(host: &str, begin: usize) -> Result<(), AuthorityError> {
    host::check(host).map_err(|no_host| match no_host {
        NoHost::TooLong => {
            AuthorityError { reason: AuthorityReason::HostTooLong, position: begin + host::LONGEST }
        }
        NoHost::At(at) => AuthorityError { reason: AuthorityReason::Host, position: begin + at },
    })
}

impl FromStr for PathAuthority {
    type Err = AuthorityError;

    fn from_str(text: &str) -> Result<Self, AuthorityError> {
        let (host, port) = read(text, 0)?;
        Ok(Self::checked(host, port))
    }
}

impl fmt::Display for PathAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Why the system name or address of a path is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthorityReason {
    /// Missing, so there is no system name.
    Missing,
    /// The system name is empty or has an invalid character.
    System,
    /// The host is neither a name nor an address.
    Host,
    /// The host is longer than 255 bytes.
    HostTooLong,
    /// The port is not a number from 0 to 65535.
    Port,
}

/// An invalid system name or address: why, and at which byte of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AuthorityError {
    reason: AuthorityReason,
    position: usize,
}

impl AuthorityError {
    pub(super) fn new(reason: AuthorityReason, position: usize) -> Self {
        Self { reason, position }
    }

    /// The reason.
    pub fn reason(&self) -> AuthorityReason {
        self.reason
    }

    /// The byte position of the error.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            AuthorityReason::Missing => "the name of the system is missing",
            AuthorityReason::System => {
                "the name of the system is empty or has a character that is not allowed"
            }
            AuthorityReason::Host => "the host is neither a name nor an address",
            AuthorityReason::HostTooLong => "the host has more than 255 bytes",
            AuthorityReason::Port => "the port is not a number from 0 to 65535",
        };
        write!(f, "{what}, at byte {}", self.position)
    }
}

impl Error for AuthorityError {}
