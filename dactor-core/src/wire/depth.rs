//! Looks at MessagePack before it is decoded.
//!
//! `rmp-serde` follows the nesting of the input on its stack, without a limit for enums: 100 000 levels of a recursive
//! message, in less than a mebibyte, would end the process. This scan takes no more stack for a deep input than for a flat
//! one. It also finds lengths that the input does not have, before something is allocated for them, and bytes behind
//! the value.

use std::cmp::Ordering;
use std::fmt;

use smallvec::SmallVec;

/// Input that is nested this deep, or deeper, is refused; so it is for JSON, by `serde_json`.
pub const MAX_DEPTH: usize = 128;

/// Why a payload is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// [`MAX_DEPTH`] levels.
    Nested,
    /// It ends inside of a value, at this byte.
    Short(usize),
    /// The value ends at this byte, before the payload.
    Long(usize),
    /// This byte means nothing.
    Reserved(usize),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nested => write!(f, "it is nested {MAX_DEPTH} levels deep, or deeper"),
            Self::Short(at) => write!(f, "it ends inside of a value, at byte {at}"),
            Self::Long(at) => write!(f, "the value ends at byte {at}, and more follows"),
            Self::Reserved(at) => write!(f, "byte {at} is not a marker of MessagePack"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Checks that the payload is one value that is not nested too deep.
pub(crate) fn check(payload: &[u8]) -> Result<(), Malformed> {
    // How many values are still to come, in each container that is open around the current one.
    let mut open: SmallVec<[u64; 16]> = SmallVec::new();
    let mut left = 1_u64;
    let mut at = 0;
    loop {
        while left == 0 {
            let Some(around) = open.pop() else {
                return match at.cmp(&payload.len()) {
                    Ordering::Equal => Ok(()),
                    Ordering::Less => Err(Malformed::Long(at)),
                    Ordering::Greater => Err(Malformed::Short(payload.len())),
                };
            };
            left = around;
        }
        left -= 1;
        let Some(&marker) = payload.get(at) else { return Err(Malformed::Short(payload.len())) };
        let size = SIZES[usize::from(marker)];
        if size > 0 {
            at += usize::from(size);
            continue;
        }
        let (skip, inside) = value(payload, at, marker)?;
        at += skip;
        if let Some(inside) = inside {
            // Each value has a byte at least.
            if inside > payload.len().saturating_sub(at) as u64 {
                return Err(Malformed::Short(payload.len()));
            }
            if open.len() + 1 == MAX_DEPTH {
                return Err(Malformed::Nested);
            }
            open.push(left);
            left = inside;
        }
    }
}

/// How many bytes a value takes up, where the marker alone says it.
const SIZES: [u8; 256] = sizes();

const fn sizes() -> [u8; 256] {
    let mut sizes = [0; 256];
    let mut marker = 0;
    while marker < 256 {
        sizes[marker] = match marker as u8 {
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 1,
            text @ 0xa0..=0xbf => 1 + (text & 0x1f),
            0xcc | 0xd0 => 2,
            0xcd | 0xd1 | 0xd4 => 3,
            0xd5 => 4,
            0xca | 0xce | 0xd2 => 5,
            0xd6 => 6,
            0xcb | 0xcf | 0xd3 => 9,
            0xd7 => 10,
            0xd8 => 18,
            _ => 0,
        };
        marker += 1;
    }
    sizes
}

/// How many bytes the other values take up, and how many values are in one that is a container.
#[inline]
fn value(payload: &[u8], at: usize, marker: u8) -> Result<(usize, Option<u64>), Malformed> {
    let length = |bytes: usize| -> Result<usize, Malformed> {
        let digits = payload.get(at + 1..at + 1 + bytes).ok_or(Malformed::Short(payload.len()))?;
        Ok(digits.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)))
    };
    Ok(match marker {
        0x80..=0x8f => (1, Some(2 * u64::from(marker & 0x0f))),
        0x90..=0x9f => (1, Some(u64::from(marker & 0x0f))),
        0xc4 | 0xd9 => (2 + length(1)?, None),
        0xc5 | 0xda => (3 + length(2)?, None),
        0xc6 | 0xdb => (5 + length(4)?, None),
        0xc7 => (3 + length(1)?, None),
        0xc8 => (4 + length(2)?, None),
        0xc9 => (6 + length(4)?, None),
        0xdc => (3, Some(length(2)? as u64)),
        0xdd => (5, Some(length(4)? as u64)),
        0xde => (3, Some(2 * length(2)? as u64)),
        0xdf => (5, Some(2 * length(4)? as u64)),
        _ => return Err(Malformed::Reserved(at)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many arrays in each other.
    fn nested(levels: usize) -> Vec<u8> {
        let mut bytes = vec![0x91; levels];
        bytes.push(0xc0);
        bytes
    }

    #[test]
    fn the_limit_is_exact() {
        assert_eq!(check(&nested(MAX_DEPTH - 1)), Ok(()));
        assert_eq!(check(&nested(MAX_DEPTH)), Err(Malformed::Nested));
        assert_eq!(check(&nested(1_000_000)), Err(Malformed::Nested));
    }

    #[test]
    fn containers_side_by_side_are_not_nested() {
        let mut bytes = vec![0xdc, 0x03, 0xe8];
        bytes.extend((0..1000).flat_map(|_| [0x91, 0x81, 0x01, 0x02]));
        assert_eq!(check(&bytes), Ok(()));
    }

    #[test]
    fn every_form_of_a_value_is_measured() {
        let values: [(u8, &[u8]); 26] = [
            (0x7f, &[]),
            (0xff, &[]),
            (0xc0, &[]),
            (0xa2, b"ab"),
            (0xc4, &[1, 0]),
            (0xc5, &[0, 1, 0]),
            (0xc6, &[0, 0, 0, 1, 0]),
            (0xc7, &[1, 9, 0]),
            (0xc8, &[0, 1, 9, 0]),
            (0xc9, &[0, 0, 0, 1, 9, 0]),
            (0xca, &[0; 4]),
            (0xcb, &[0; 8]),
            (0xcc, &[0; 1]),
            (0xcd, &[0; 2]),
            (0xce, &[0; 4]),
            (0xcf, &[0; 8]),
            (0xd4, &[9, 0]),
            (0xd8, &[0; 17]),
            (0xd9, &[1, b'a']),
            (0xda, &[0, 1, b'a']),
            (0xdb, &[0, 0, 0, 1, b'a']),
            (0xdc, &[0, 1, 0xc0]),
            (0xdd, &[0, 0, 0, 1, 0xc0]),
            (0xde, &[0, 1, 1, 1]),
            (0xdf, &[0, 0, 0, 1, 1, 1]),
            (0x80, &[]),
        ];
        for (marker, rest) in values {
            let bytes = [&[marker], rest].concat();
            assert_eq!(check(&bytes), Ok(()), "{marker:#x}");
            let more = [&bytes[..], &[0xc0]].concat();
            assert_eq!(check(&more), Err(Malformed::Long(bytes.len())), "{marker:#x}");
            for cut in 0..bytes.len() {
                assert!(matches!(check(&bytes[..cut]), Err(Malformed::Short(_))), "{marker:#x} cut at {cut}");
            }
        }
        assert_eq!(check(&[0xc1]), Err(Malformed::Reserved(0)));
    }

    #[test]
    fn a_length_that_is_not_there_is_found_first() {
        for claim in
            [[0xdd, 0xff, 0xff, 0xff, 0xff], [0xdf, 0xff, 0xff, 0xff, 0xff], [0xdb, 0xff, 0xff, 0xff, 0xff]]
        {
            assert_eq!(check(&claim), Err(Malformed::Short(5)));
        }
    }
}
