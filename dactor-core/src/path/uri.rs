//! The lower layer of the parser: URIs by RFC 2396, independent of actors.

pub(super) mod charset;
mod error;
mod parser;
mod resolve;
mod server;

use std::fmt;

pub use error::UriError;
pub use parser::UriParser;
pub use server::UriServer;

/// The components of a URI, as written. `None` means absent, which differs from empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UriParts<'a> {
    /// The text before the first `:`. Only a relative reference has none.
    pub scheme: Option<&'a str>,
    /// The text after `//`.
    pub authority: Option<&'a str>,
    /// The path, with its leading `/` if it has one. For a URI like `mailto:a@b`, all text after the scheme.
    pub path: &'a str,
    /// The text after `?`.
    pub query: Option<&'a str>,
    /// The text after `#`.
    pub fragment: Option<&'a str>,
}

impl<'a> UriParts<'a> {
    /// The authority as a server. `None` if it is a registry name.
    pub fn server(&self) -> Option<UriServer<'a>> {
        self.authority.and_then(UriServer::read)
    }

    /// Resolves a reference against this base URI (RFC 2396, section 5.2).
    ///
    /// ```
    /// use dactor_core::path::UriParser;
    ///
    /// let base = UriParser::parse("http://a/b/c/d;p?q").unwrap();
    /// assert_eq!(base.resolve("../g").unwrap(), "http://a/b/g");
    /// // Unlike later RFCs, this one keeps a `..` above the root.
    /// assert_eq!(base.resolve("../../../g").unwrap(), "http://a/../g");
    /// ```
    pub fn resolve(&self, reference: &str) -> Result<String, UriError> {
        Ok(resolve::resolve(self, &UriParser::parse_reference(reference)?))
    }

    /// Whether the part after the scheme has no structure, as in `mailto:a@b`.
    fn is_opaque(&self) -> bool {
        self.scheme.is_some() && self.authority.is_none() && !self.path.starts_with('/')
    }
}

/// The URI, reassembled.
impl fmt::Display for UriParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme {
            write!(f, "{scheme}:")?;
        }
        if let Some(authority) = self.authority {
            write!(f, "//{authority}")?;
        }
        f.write_str(self.path)?;
        if let Some(query) = self.query {
            write!(f, "?{query}")?;
        }
        if let Some(fragment) = self.fragment {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(input: &str) -> UriError {
        UriParser::parse(input).unwrap_err()
    }

    #[test]
    fn components() {
        let uri = UriParser::parse("http://a/b;c?d?e#f/?").unwrap();
        assert_eq!((uri.scheme, uri.authority, uri.path), (Some("http"), Some("a"), "/b;c"));
        assert_eq!((uri.query, uri.fragment), (Some("d?e"), Some("f/?")));
        for whole in ["http://a/b?#", "x:///p", "mailto:a@b", "x://h?q", "x://u%20v@h:/p", "x://?q", "x://#f"]
        {
            let uri = UriParser::parse(whole).unwrap();
            let again = if uri.authority.is_none() { whole.replacen("//", "", 1) } else { whole.into() };
            assert_eq!(uri.to_string(), again);
        }
        assert_eq!(UriParser::parse_reference("//h/p").unwrap().authority, Some("h"));
        assert_eq!(UriParser::parse_reference("").unwrap().path, "");
    }

    #[test]
    fn servers() {
        let server = |uri| UriParser::parse(uri).unwrap().server();
        let read = server("x://u:p@1.2.3.4:5").unwrap();
        assert_eq!((read.user_info, read.host, read.port), (Some("u:p"), "1.2.3.4", Some(5)));
        let read = server("x://[fe80::1%eth0]").unwrap();
        assert_eq!((read.user_info, read.host, read.port), (None, "[fe80::1%eth0]", None));
        assert_eq!(server("x://h:").unwrap().port, None);
        for registry in ["x://1.2.3", "x://u@h:-foo", "x://h:65536", "x://:/b", "x://a_b", "x://a@b@c"] {
            assert_eq!(server(registry), None, "{registry}");
        }
    }

    #[test]
    fn errors_say_where() {
        assert_eq!(error(""), UriError::InvalidScheme { position: 0 });
        assert_eq!(error("://h/p"), UriError::InvalidScheme { position: 0 });
        assert_eq!(error("1x://h"), UriError::InvalidScheme { position: 0 });
        assert_eq!(error("x_y://h"), UriError::InvalidScheme { position: 1 });
        assert_eq!(error("/p"), UriError::InvalidScheme { position: 0 });
        assert_eq!(error("x:"), UriError::InvalidPath { position: 2 });
        assert_eq!(error("x://"), UriError::InvalidAuthority { position: 4 });
        assert_eq!(error("x://[::g]/"), UriError::InvalidAuthority { position: 4 });
        assert_eq!(error("x://h/a b"), UriError::InvalidPath { position: 7 });
        assert_eq!(error("x:{"), UriError::InvalidPath { position: 2 });
        assert_eq!(error("x://h/?^"), UriError::InvalidQuery { position: 7 });
        assert_eq!(error("x://h/#a#b"), UriError::InvalidFragment { position: 8 });
        assert_eq!(error("x://h/p%2"), UriError::InvalidPercentEncoding { position: 7 });
    }
}
