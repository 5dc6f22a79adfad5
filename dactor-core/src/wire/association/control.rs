//! What two systems say to each other beside messages: frames with names of their own.

use crate::wire::{decode_error, encode_error};
use crate::{End, Error, ErrorKind, Result, StopReason};

/// Asks an actor to end; the payload says how.
pub(super) const END: &str = "dactor.end";
/// Asks for the end of an actor.
pub(super) const WATCH: &str = "dactor.watch";
/// Withdraws the watch.
pub(super) const UNWATCH: &str = "dactor.unwatch";
/// The actor has ended; the payload is the reason.
pub(super) const TERMINATED: &str = "dactor.terminated";

/// Asks which actor is at a path; the payload is the name of the type, or of the message, that is wanted.
pub(super) const IDENTIFY: &str = "dactor.identify";
/// Asks which actors a selection matches; the payload is the name of the type that is wanted, behind its length, and the steps.
pub(super) const SELECT: &str = "dactor.select";

pub(super) fn decode_end(payload: &[u8]) -> Result<End> {
    let found = [End::Drain, End::Stop, End::Kill].into_iter().find(|how| how.as_str().as_bytes() == payload);
    found.ok_or_else(|| invalid("a request to end"))
}

pub(super) fn encode_reason(reason: &StopReason) -> Vec<u8> {
    let mut payload = vec![match reason {
        StopReason::Stopped => 0,
        StopReason::Drained => 1,
        StopReason::Killed => 2,
        StopReason::Failed(_) => 3,
        StopReason::Unreachable => 4,
        StopReason::Unknown => 5,
    }];
    if let StopReason::Failed(error) = reason {
        encode_error(error, &mut payload);
    }
    payload
}

pub(super) fn decode_reason(payload: &[u8]) -> Result<StopReason> {
    Ok(match payload {
        [0] => StopReason::Stopped,
        [1] => StopReason::Drained,
        [2] => StopReason::Killed,
        [3, error @ ..] => StopReason::Failed(decode_error(error)?),
        [4] => StopReason::Unreachable,
        [5] => StopReason::Unknown,
        _ => return Err(invalid("the reason of an end")),
    })
}

fn invalid(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidFrame).with("because", format!("{what} is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_travel() {
        let failure = Error::new(ErrorKind::Panicked).with("actor", "a");
        for reason in [
            StopReason::Stopped,
            StopReason::Drained,
            StopReason::Killed,
            StopReason::Failed(failure),
            StopReason::Unreachable,
            StopReason::Unknown,
        ] {
            let read = decode_reason(&encode_reason(&reason)).unwrap();
            assert_eq!(read.to_string(), reason.to_string());
        }
        for bad in [&[][..], &[6], &[0, 0], &[3]] {
            assert_eq!(decode_reason(bad).unwrap_err().kind(), ErrorKind::InvalidFrame);
        }
        for how in [End::Drain, End::Stop, End::Kill] {
            assert_eq!(decode_end(how.as_str().as_bytes()).unwrap(), how);
        }
        assert!(decode_end(b"pause").is_err());
    }
}
