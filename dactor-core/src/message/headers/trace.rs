use std::fmt;
use std::str::FromStr;

use super::{Header, invalid};
use crate::Error;
use crate::base::random::random;

/// The position in a distributed trace at which a message was sent: the W3C `traceparent`.
///
/// ```
/// use dactor_core::TraceParent;
///
/// let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let parent: TraceParent = text.parse().unwrap();
/// assert_eq!(parent.trace_id, 0x0af7651916cd43dd8448eb211c80319c);
/// assert!(parent.is_sampled());
/// assert_eq!(parent.to_string(), text);
/// assert!("00-00000000000000000000000000000000-b7ad6b7169203331-01".parse::<TraceParent>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    /// The trace id; not zero.
    pub trace_id: u128,
    /// The id of the span in which the message was sent; not zero.
    pub parent_id: u64,
    /// The lowest bit marks a sampled trace.
    pub flags: u8,
}

impl TraceParent {
    /// Starts a new, sampled trace with random ids.
    pub fn start() -> Self {
        let trace_id = u128::from(not_zero()) << 64 | u128::from(random());
        Self { trace_id, parent_id: not_zero(), flags: 1 }
    }

    /// A new span in the same trace.
    #[must_use]
    pub fn child(self) -> Self {
        Self { parent_id: not_zero(), ..self }
    }

    /// Whether the trace is sampled.
    pub fn is_sampled(self) -> bool {
        self.flags & 1 == 1
    }
}

fn not_zero() -> u64 {
    random().max(1)
}

impl FromStr for TraceParent {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).ok_or_else(|| {
            invalid(Self::NAME, "it is not `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`")
        })
    }
}

/// Version 00; later versions may append fields.
fn parse(text: &str) -> Option<TraceParent> {
    let mut fields = text.split('-');
    let version = hex(fields.next()?, 2)?;
    let trace_id = hex(fields.next()?, 32)?;
    let parent_id = hex(fields.next()?, 16)?;
    let flags = hex(fields.next()?, 2)?;
    let more = fields.next().is_some();
    if version == 0xff || (version == 0 && more) || trace_id == 0 || parent_id == 0 {
        return None;
    }
    Some(TraceParent { trace_id, parent_id: parent_id.try_into().ok()?, flags: flags.try_into().ok()? })
}

/// Exactly this many lower-case digits.
fn hex(field: &str, digits: usize) -> Option<u128> {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if field.len() != digits || !field.bytes().all(lower) {
        return None;
    }
    u128::from_str_radix(field, 16).ok()
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.parent_id, self.flags)
    }
}

impl Header for TraceParent {
    const NAME: &'static str = "traceparent";

    fn encode(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn decode(text: &str) -> Result<Self, Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_traceparent_is_refused() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(good.parse::<TraceParent>().is_ok());
        assert!(good.replacen("00", "cc", 1).parse::<TraceParent>().is_ok(), "a later version");
        assert!(format!("{}-more", good.replacen("00", "cc", 1)).parse::<TraceParent>().is_ok());
        for bad in [
            "",
            "00",
            &good[..54],
            &format!("{good}-more"),
            &good.to_uppercase(),
            &good.replacen("00", "ff", 1),
            &good.replace("b7ad6b7169203331", "0000000000000000"),
            &good.replace("0af7", "0ag7"),
            &good.replace("-01", "-+1"),
            &good.replace("-01", "-1"),
        ] {
            assert!(bad.parse::<TraceParent>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_trace_and_every_span_has_numbers_of_its_own() {
        let (one, other) = (TraceParent::start(), TraceParent::start());
        assert!(one.trace_id >> 64 != 0 && one.trace_id as u64 != 0, "both halves are used: {one}");
        assert!(one.trace_id != other.trace_id && one.parent_id != other.parent_id);
        let child = one.child();
        assert!(child.trace_id == one.trace_id && child.parent_id != one.parent_id);
        for parent in [one, other, child] {
            assert!(parent.to_string().parse::<TraceParent>().is_ok(), "{parent}");
        }
    }

    #[test]
    fn the_lowest_flag_says_that_it_is_recorded() {
        let flagged = |flags| TraceParent { flags, ..TraceParent::start() }.is_sampled();
        assert_eq!([0, 1, 2, 3].map(flagged), [false, true, false, true]);
    }
}
