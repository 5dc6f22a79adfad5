//! Hosts and ports, for URIs, authorities and node identities.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::uri::charset::Class;

/// Longest host, in bytes.
pub(crate) const LONGEST: usize = 255;

/// Why a text is not a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoHost {
    /// It is longer than [`LONGEST`].
    TooLong,
    /// Invalid at this byte.
    At(usize),
}

/// Validates a host: an IPv4 address, an IPv6 literal in brackets, or a name.
///
/// A name consists of labels of letters, digits and inner `-`, separated by dots, with an optional one at the
/// end. The last of several labels begins with a letter, so that a mistyped IPv4 address is not a name.
pub(crate) fn check(host: &str) -> Result<(), NoHost> {
    if host.len() > LONGEST {
        return Err(NoHost::TooLong);
    }
    if let Some(literal) = host.strip_prefix('[') {
        let literal = literal.strip_suffix(']').ok_or(NoHost::At(0))?;
        return if is_ipv6(literal) { Ok(()) } else { Err(NoHost::At(0)) };
    }
    if host.parse::<Ipv4Addr>().is_ok() { Ok(()) } else { check_name(host) }
}

fn is_ipv6(literal: &str) -> bool {
    let (address, zone) = match literal.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (literal, None),
    };
    let zone_fits =
        zone.is_none_or(|zone| !zone.is_empty() && zone.bytes().all(|byte| Class::ZONE.has(byte)));
    zone_fits && address.parse::<Ipv6Addr>().is_ok()
}

fn check_name(name: &str) -> Result<(), NoHost> {
    let mut begin = 0;
    let mut last = 0;
    let labels = name.strip_suffix('.').unwrap_or(name);
    for label in labels.split('.') {
        let bytes = label.as_bytes();
        if let Some(at) = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-') {
            return Err(NoHost::At(begin + at));
        }
        match bytes {
            [] | [b'-', ..] => return Err(NoHost::At(begin)),
            [.., b'-'] => return Err(NoHost::At(begin + bytes.len() - 1)),
            _ => {}
        }
        last = begin;
        begin += label.len() + 1;
    }
    if last > 0 && !name.as_bytes()[last].is_ascii_alphabetic() {
        return Err(NoHost::At(last));
    }
    Ok(())
}

/// Splits `host:port` without validating either. The colons of an IPv6 literal are not the delimiter.
pub(crate) fn split_port(server: &str) -> (&str, Option<&str>) {
    let host_end = if server.starts_with('[') { server.find(']').unwrap_or(server.len()) } else { 0 };
    match server[host_end..].find(':') {
        Some(colon) => (&server[..host_end + colon], Some(&server[host_end + colon + 1..])),
        None => (server, None),
    }
}

/// Parses a port: digits only, no sign.
pub(crate) fn port(digits: &str) -> Option<u16> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for good in [
            "localhost",
            "a",
            "7up",
            "7up.com",
            "a-b.c-d",
            "host.",
            "1.2.3.4",
            "1.2.3.com",
            "[::1]",
            "[::]",
            "[1:2:3:4:5:6:7:8]",
            "[::192.9.5.5]",
            "[fe80::1%eth0]",
            &"a".repeat(LONGEST),
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, at) in [
            ("", 0),
            (".", 0),
            ("a..b", 2),
            (".a", 0),
            ("-a", 0),
            ("a-", 1),
            ("a.b-.c", 3),
            ("a_b", 1),
            ("a b", 1),
            ("a\u{e9}", 1),
            ("1.2.3", 4),
            ("1.2.3.300", 6),
            ("1.2.3.4.5", 8),
            ("[::1", 0),
            ("[]", 0),
            ("[foo]", 0),
            ("[1.2.3.4]", 0),
            ("[ff::ee::8]", 0),
            ("[1:2:3:4::5:6:7:8]", 0),
            ("[::1%]", 0),
            ("[::1%!]", 0),
        ] {
            assert_eq!(check(bad), Err(NoHost::At(at)), "{bad}");
        }
        assert_eq!(check(&"a".repeat(LONGEST + 1)), Err(NoHost::TooLong));
    }

    #[test]
    fn ports() {
        assert_eq!(split_port("h:1"), ("h", Some("1")));
        assert_eq!(split_port("h"), ("h", None));
        assert_eq!(split_port("[::1]:2"), ("[::1]", Some("2")));
        assert_eq!(split_port("[::1]"), ("[::1]", None));
        assert_eq!(split_port("[::1"), ("[::1", None));
        assert_eq!(split_port("[::1]x:2"), ("[::1]x", Some("2")));
        for (digits, number) in [("0", Some(0)), ("00080", Some(80)), ("65535", Some(65535)), ("65536", None)]
        {
            assert_eq!(port(digits), number);
        }
        for bad in ["", "+1", "-1", "1x", "\u{661}"] {
            assert_eq!(port(bad), None, "{bad}");
        }
    }
}
