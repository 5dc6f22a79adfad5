use super::charset::{self, Class, Stop};
use super::{UriError, UriParts, UriServer};

/// Parses URIs by the grammar of RFC 2396, with the IPv6 literals of RFC 2732. It does not allocate.
///
/// It is independent of actors: further restrictions are up to
/// [`ActorPathParser`](crate::path::ActorPathParser).
#[derive(Debug)]
pub struct UriParser;

impl UriParser {
    /// Parses an absolute URI.
    ///
    /// ```
    /// use dactor_core::path::UriParser;
    ///
    /// let uri = UriParser::parse("pekko://bank@[::1]:2552/user/a%20b?q#42").unwrap();
    /// assert_eq!(uri.scheme, Some("pekko"));
    /// assert_eq!(uri.path, "/user/a%20b");
    /// let server = uri.server().unwrap();
    /// assert_eq!((server.user_info, server.host, server.port), (Some("bank"), "[::1]", Some(2552)));
    ///
    /// // A relative reference is not a URI. The error has the position.
    /// assert_eq!(UriParser::parse("a b").unwrap_err().position(), 0);
    /// assert_eq!(UriParser::parse("x://h/a b").unwrap_err().position(), 7);
    /// ```
    pub fn parse(input: &str) -> Result<UriParts<'_>, UriError> {
        let uri = Self::split(input)?;
        if uri.scheme.is_none() {
            return Err(UriError::InvalidScheme { position: 0 });
        }
        check_parts(input, uri)
    }

    /// Parses a URI reference: an absolute URI, or a relative one without a scheme.
    pub fn parse_reference(input: &str) -> Result<UriParts<'_>, UriError> {
        check_parts(input, Self::split(input)?)
    }

    /// Splits the components and validates only the scheme. An empty authority is kept as such.
    pub(in crate::path) fn split(input: &str) -> Result<UriParts<'_>, UriError> {
        let (scheme, rest) = split_scheme(input)?;
        let (rest, fragment) = split_at(rest, '#');
        let (rest, query) = split_at(rest, '?');
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                (Some(authority), path)
            }
            None => (None, rest),
        };
        Ok(UriParts { scheme, authority, path, query, fragment })
    }

    /// Validates the components after the path.
    pub(in crate::path) fn check_tail(input: &str, uri: &UriParts<'_>) -> Result<(), UriError> {
        check(input, uri.query, Class::URIC, |position| UriError::InvalidQuery { position })?;
        check(input, uri.fragment, Class::URIC, |position| UriError::InvalidFragment { position })
    }
}

fn split_scheme(input: &str) -> Result<(Option<&str>, &str), UriError> {
    let end = input.bytes().position(|byte| b":/?#".contains(&byte)).unwrap_or(input.len());
    let Some(rest) = input[end..].strip_prefix(':') else { return Ok((None, input)) };
    let scheme = &input[..end];
    let alien = match scheme.as_bytes() {
        [first, ..] if first.is_ascii_alphabetic() => {
            scheme.bytes().position(|byte| !Class::SCHEME.has(byte))
        }
        _ => Some(0),
    };
    match alien {
        Some(position) => Err(UriError::InvalidScheme { position }),
        None => Ok((Some(scheme), rest)),
    }
}

fn split_at(text: &str, delimiter: char) -> (&str, Option<&str>) {
    match text.split_once(delimiter) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Validates all components but the scheme. An empty authority followed by something counts as none.
fn check_parts<'a>(input: &str, mut uri: UriParts<'a>) -> Result<UriParts<'a>, UriError> {
    match uri.authority {
        Some("") if ends_at(input, uri.path) => {
            return Err(UriError::InvalidAuthority { position: input.len() });
        }
        Some("") => uri.authority = None,
        Some(authority) => check_authority(input, authority)?,
        None if uri.scheme.is_some() && ends_at(input, uri.path) => {
            return Err(UriError::InvalidPath { position: input.len() });
        }
        None => {}
    }
    let class = if uri.is_opaque() { Class::URIC } else { Class::PATH };
    check(input, Some(uri.path), class, |position| UriError::InvalidPath { position })?;
    UriParser::check_tail(input, &uri)?;
    Ok(uri)
}

fn check_authority(input: &str, authority: &str) -> Result<(), UriError> {
    if UriServer::read(authority).is_some() {
        return Ok(());
    }
    check(input, Some(authority), Class::REGISTRY_NAME, |position| UriError::InvalidAuthority { position })
}

fn check(
    input: &str,
    component: Option<&str>,
    class: Class,
    error: impl Fn(usize) -> UriError,
) -> Result<(), UriError> {
    let Some(component) = component else { return Ok(()) };
    charset::scan(component, class).map_err(|stop| match stop {
        Stop::Character(at) => error(offset(input, component) + at),
        Stop::Escape(at) => UriError::InvalidPercentEncoding { position: offset(input, component) + at },
    })
}

/// Whether nothing follows this component, which is a slice of the input.
fn ends_at(input: &str, component: &str) -> bool {
    offset(input, component) == input.len()
}

/// The offset of a component, which is a slice of the input.
fn offset(input: &str, component: &str) -> usize {
    component.as_ptr() as usize - input.as_ptr() as usize
}
