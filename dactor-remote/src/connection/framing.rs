//! The framing of packets in a byte stream.
//!
//! ```text
//!   length: 4 bytes, lowest first   kind: 1 byte   body
//! ```
//!
//! The length includes the kind and the body.

/// The kinds of packets.
pub(crate) mod kind {
    pub(crate) const HELLO: u8 = 1;
    pub(crate) const WELCOME: u8 = 2;
    pub(crate) const REFUSED: u8 = 3;
    /// A frame of the wire protocol.
    pub(crate) const FRAME: u8 = 4;
    /// A chunk of a large frame, after the frame's number and lane; more follow.
    pub(crate) const PART: u8 = 5;
    /// The last chunk of a large frame.
    pub(crate) const LAST: u8 = 6;
    /// A heartbeat.
    pub(crate) const HEARTBEAT: u8 = 7;
    /// The sender is shutting down.
    pub(crate) const BYE: u8 = 8;
}

/// The size of the length and the kind.
pub(crate) const HEADER: usize = 5;

/// Appends a packet; `parts` are concatenated to its body.
pub(crate) fn put(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    out.extend_from_slice(&(length as u32).to_le_bytes());
    out.push(kind);
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

/// The packet at the start of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed<'a> {
    /// Incomplete: the packet needs this many bytes in total, as far as is known.
    Partial(usize),
    /// Complete; `length` includes the packet's header.
    Whole { kind: u8, body: &'a [u8], length: usize },
    /// Not a valid packet.
    Invalid(&'static str),
}

/// Parses the packet at the start of the buffer.
#[inline]
pub(crate) fn parse(bytes: &[u8], limit: usize) -> Parsed<'_> {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else { return Parsed::Partial(HEADER) };
    let length = u32::from_le_bytes(*head) as usize;
    if length == 0 {
        return Parsed::Invalid("a packet is empty");
    }
    if length > limit {
        return Parsed::Invalid("a packet is too long");
    }
    match rest.get(..length) {
        Some(packet) => Parsed::Whole { kind: packet[0], body: &packet[1..], length: 4 + length },
        None => Parsed::Partial(4 + length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets() {
        let mut bytes = Vec::new();
        put(&mut bytes, kind::FRAME, &[b"ab", b"", b"c"]);
        put(&mut bytes, kind::BYE, &[]);
        let Parsed::Whole { kind, body, length } = parse(&bytes, 100) else { panic!("whole") };
        assert_eq!((kind, body, length), (kind::FRAME, &b"abc"[..], 8));
        assert_eq!(parse(&bytes[8..], 100), Parsed::Whole { kind: kind::BYE, body: &[], length: 5 });
        for end in 0..4 {
            assert_eq!(parse(&bytes[..end], 100), Parsed::Partial(HEADER));
        }
        for end in 4..8 {
            assert_eq!(parse(&bytes[..end], 100), Parsed::Partial(8));
        }
        assert!(matches!(parse(&bytes, 3), Parsed::Invalid(_)));
        assert!(matches!(parse(&[0; 5], 100), Parsed::Invalid(_)));
        assert!(matches!(parse(&[255; 5], 100), Parsed::Invalid(_)));
    }
}
