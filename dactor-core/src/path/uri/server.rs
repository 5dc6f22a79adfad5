use super::charset::{self, Class};
use crate::path::host;

/// An authority that names a server: `[ user info "@" ] host [ ":" port ]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UriServer<'a> {
    /// The text before the `@`, escaped as in the URI.
    pub user_info: Option<&'a str>,
    /// A name, an IPv4 address, or an IPv6 literal with its brackets.
    pub host: &'a str,
    /// The port. A URI may end in `:` without one.
    pub port: Option<u16>,
}

impl<'a> UriServer<'a> {
    /// Parses an authority. `None` means a registry name, or malformed.
    pub(super) fn read(authority: &'a str) -> Option<Self> {
        let (user_info, server) = match authority.split_once('@') {
            Some((user_info, server)) => (Some(user_info), server),
            None => (None, authority),
        };
        if user_info.is_some_and(|user_info| charset::scan(user_info, Class::USER_INFO).is_err()) {
            return None;
        }
        let (host, port) = host::split_port(server);
        host::check(host).ok()?;
        let port = match port {
            None | Some("") => None,
            Some(digits) => Some(host::port(digits)?),
        };
        Some(Self { user_info, host, port })
    }
}
