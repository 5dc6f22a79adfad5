//! Resolution of relative references, RFC 2396, section 5.2.

use super::UriParts;

/// Resolves a reference against an absolute URI.
pub(super) fn resolve(base: &UriParts<'_>, reference: &UriParts<'_>) -> String {
    if reference.scheme.is_some() {
        return reference.to_string();
    }
    let mut resolved = *reference;
    resolved.scheme = base.scheme;
    if reference.authority.is_some() {
        return resolved.to_string();
    }
    resolved.authority = base.authority;
    if reference.path.is_empty() && reference.query.is_none() {
        // The reference is to the document itself.
        resolved.path = base.path;
        resolved.query = base.query;
        return resolved.to_string();
    }
    if reference.path.starts_with('/') {
        return resolved.to_string();
    }
    let path = merge(base.path, reference.path);
    UriParts { path: &path, ..resolved }.to_string()
}

/// Replaces the last segment of the base by the relative path, and removes dot segments (step 6). The RFC
/// keeps each `..` without a segment to remove.
fn merge(base: &str, relative: &str) -> String {
    let directory = base.rfind('/').map_or("/", |slash| &base[..=slash]);
    let whole = [directory, relative].concat();
    // The text before the first `/` is empty, and not a segment.
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = whole.split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." if kept.len() > 1 && kept.last() != Some(&"..") => {
                kept.pop();
            }
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if segments.peek().is_none() {
            kept.push("");
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use crate::path::UriParser;

    /// Appendix C of the RFC.
    #[test]
    fn the_examples_of_the_rfc() {
        let base = UriParser::parse("http://a/b/c/d;p?q").unwrap();
        for (reference, resolved) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q#s"),
            ("g#s", "http://a/b/c/g#s"),
            ("g?y#s", "http://a/b/c/g?y#s"),
            (";x", "http://a/b/c/;x"),
            ("g;x?y#s", "http://a/b/c/g;x?y#s"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../", "http://a/"),
            ("../../g", "http://a/g"),
            ("", "http://a/b/c/d;p?q"),
            ("../../../g", "http://a/../g"),
            ("../../../../g", "http://a/../../g"),
            ("/./g", "http://a/./g"),
            ("/../g", "http://a/../g"),
            ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/./x", "http://a/b/c/g#s/./x"),
            ("g#s/../x", "http://a/b/c/g#s/../x"),
            ("http:g", "http:g"),
        ] {
            assert_eq!(base.resolve(reference).unwrap(), resolved, "{reference}");
        }
        let empty = UriParser::parse("http://a").unwrap();
        assert_eq!(empty.resolve("g").unwrap(), "http://a/g");
        assert_eq!(empty.resolve("a//../g").unwrap(), "http://a/a/g");
    }
}
