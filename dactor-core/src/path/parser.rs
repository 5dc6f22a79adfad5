use super::canonical::{self, Address, Names};
use super::navigate::check_name;
use super::uri::{UriParser, UriParts};
use super::{
    ActorPath, ActorPathError, ActorPathScheme, ActorUid, AuthorityError, AuthorityReason, Guardian,
    PathSegment, SegmentError, SegmentReason, UriError, parts,
};

/// Parses actor paths, as a layer above [`UriParser`].
///
/// Strict, because the text may come from the network: the scheme is `pekko` or `pekko.tcp`, names are
/// validated including their decoded escapes, a leading `$` is accepted only below `/system` and `/temp` and
/// in generated names (`$17`), and the fragment is a UID. A query is dropped, as are empty names (`//`, a
/// trailing `/`).
///
/// A URI without a guardian gets the user guardian: `pekko://app` is `/user`, and `pekko://app/bank` is
/// `/user/bank`. With a single `/` it is the root.
#[derive(Debug)]
pub struct ActorPathParser;

impl ActorPathParser {
    /// Parses a path. The work is bounded by [`ActorPath::LONGEST`].
    ///
    /// ```
    /// use dactor_core::path::{ActorPathError, ActorPathParser};
    ///
    /// let path = ActorPathParser::parse("pekko.tcp://app@[::1]:2552/user//bank/?q#42").unwrap();
    /// assert_eq!(path.to_serialization_format(), "pekko.tcp://app@[::1]:2552/user/bank#42");
    ///
    /// let injected = ActorPathParser::parse("pekko://app/user/a/b%0Aroot").unwrap_err();
    /// assert!(matches!(injected, ActorPathError::PercentDecode { index: 2, error } if error.position() == 1));
    /// ```
    pub fn parse(input: &str) -> Result<ActorPath, ActorPathError> {
        read(input, check_name)
    }

    /// Parses a path printed by a program, such as Pekko, which names anonymous actors `$a`, `$b` and so on:
    /// any name below any guardian may begin with `$`.
    ///
    /// ```
    /// use dactor_core::path::ActorPathParser;
    ///
    /// assert!(ActorPathParser::parse("pekko://app/user/$17").is_ok());
    /// assert!(ActorPathParser::parse("pekko://app/user/$a").is_err());
    /// let unnamed = ActorPathParser::parse_generated("pekko://app/user/$a").unwrap();
    /// assert_eq!(unnamed.name().unwrap().as_str(), "$a");
    /// ```
    pub fn parse_generated(input: &str) -> Result<ActorPath, ActorPathError> {
        read(input, |guardian, name| match guardian {
            Some(_) => PathSegment::generated(name),
            None => PathSegment::new(name),
        })
    }
}

/// Validates a name below a guardian.
type CheckName = fn(Option<Guardian>, &str) -> Result<PathSegment<'_>, SegmentError>;

fn read(input: &str, check_name: CheckName) -> Result<ActorPath, ActorPathError> {
    ActorPathError::check_length(input.len())?;
    let uri = UriParser::split(input)?;
    let address = read_address(&uri)?;
    let names = read_names(&uri, check_name)?;
    UriParser::check_tail(input, &uri)?;
    let uid = match uri.fragment {
        None => None,
        Some(digits) => Some(read_uid(digits, &names)?),
    };
    canonical::assemble(address, &names, uid)
}

/// Parses the address of the system in a URI.
pub(super) fn read_address<'a>(uri: &UriParts<'a>) -> Result<Address<'a>, ActorPathError> {
    let Some(scheme) = uri.scheme else {
        return Err(ActorPathError::InvalidUri(UriError::InvalidScheme { position: 0 }));
    };
    let begin = scheme.len() + "://".len();
    let scheme = ActorPathScheme::named(scheme).ok_or(ActorPathError::InvalidScheme)?;
    let Some(authority) = uri.authority.filter(|authority| !authority.is_empty()) else {
        return Err(AuthorityError::new(AuthorityReason::Missing, begin - "//".len()).into());
    };
    let (system, host, port) = parts::read(authority, begin)?;
    Ok(Address { scheme, system, host, port })
}

fn read_names<'a>(uri: &UriParts<'a>, check_name: CheckName) -> Result<Names<'a>, ActorPathError> {
    if uri.path.is_empty() {
        return Ok(Names::from_slice(&[Guardian::User.as_str()]));
    }
    let mut names = Names::new();
    let mut guardian = None;
    for name in uri.path.split('/').filter(|name| !name.is_empty()) {
        let index = names.len();
        check_name(guardian, name).map_err(|error| ActorPathError::segment(index, error))?;
        if index == 0 {
            guardian = Guardian::named(name);
        }
        names.push(name);
    }
    Ok(names)
}

fn read_uid(digits: &str, names: &[&str]) -> Result<ActorUid, ActorPathError> {
    ActorUid::read(digits).ok_or_else(|| {
        let name = names.last().copied().unwrap_or_default();
        let error = SegmentError::new(SegmentReason::Uid, name.len() + 1);
        ActorPathError::segment(names.len().saturating_sub(1), error)
    })
}
