//! The receiving side of a peer: reassembly of chunks, and frames queued behind large frames.

use std::collections::{HashMap, VecDeque};

use dactor_core::wire::Association;
use dactor_core::wire::association::Order;

use super::framing::{Parsed, kind, parse};
use super::lanes::Lanes;
use super::outbox::LARGE;

/// Maximum number of large frames in flight.
const MOST_LARGE: usize = 64;

/// The receiving side of a connection.
#[derive(Default)]
pub(crate) struct Inbound {
    /// The number of the current connection; frames of other connections are dropped.
    pub(crate) number: u64,
    /// Incomplete large frames and their lanes, by frame number.
    parts: HashMap<u32, (u64, Vec<u8>)>,
    /// The total size of large frames not yet decoded.
    bytes: usize,
    /// Reassembled large frames, which a separate task decodes.
    whole: VecDeque<(u64, Vec<u8>)>,
    /// Whether that task is running.
    decoding: bool,
    lanes: Lanes<Vec<u8>>,
}

impl Inbound {
    /// Starts over for the connection with this number; frames of the previous connection are no longer
    /// delivered.
    pub(crate) fn reset(&mut self, number: u64) {
        let decoding = self.decoding;
        *self = Self { number, decoding, ..Self::default() };
    }

    /// Whether the caller must start the task that decodes large frames.
    pub(crate) fn begin_decoding(&mut self) -> bool {
        !self.whole.is_empty() && !std::mem::replace(&mut self.decoding, true)
    }

    /// Takes the next large frame to decode.
    pub(crate) fn next_large(&mut self) -> Option<(u64, Vec<u8>)> {
        let next = self.whole.pop_front();
        self.decoding = next.is_some();
        if let Some((_, frame)) = &next {
            self.bytes = self.bytes.saturating_sub(frame.len());
        }
        next
    }

    /// Releases the frames that were queued behind a delivered large frame of this lane.
    pub(crate) fn delivered(&mut self, lane: u64) -> Vec<Vec<u8>> {
        let is_long = |frame: &Vec<u8>| frame.len() > LARGE;
        let mut released = Vec::new();
        for (order, frame) in self.lanes.finish(lane, is_long) {
            match order {
                // Large as well: later frames of the lane wait for it.
                Order::Lane(lane) if is_long(&frame) => self.whole.push_back((lane, frame)),
                _ => released.push(frame),
            }
        }
        released
    }

    /// Adds a chunk to its large frame.
    fn part(&mut self, body: &[u8], is_last: bool, limit: usize) -> Result<(), &'static str> {
        let Some((number, rest)) = body.split_first_chunk::<4>() else { return Err("a part is too short") };
        let Some((lane, part)) = rest.split_first_chunk::<8>() else { return Err("a part is too short") };
        let (number, lane) = (u32::from_le_bytes(*number), u64::from_le_bytes(*lane));
        if self.parts.len() >= MOST_LARGE && !self.parts.contains_key(&number) {
            return Err("too many large frames are under way");
        }
        self.bytes += part.len();
        let (known, frame) = self.parts.entry(number).or_insert_with(|| (lane, Vec::new()));
        if *known != lane || frame.len() + part.len() > limit || self.bytes > 4 * limit {
            return Err("a large frame is too long, or changes its lane");
        }
        frame.extend_from_slice(part);
        if is_last && let Some((lane, frame)) = self.parts.remove(&number) {
            let order = Order::Lane(lane);
            if self.lanes.holds(order) {
                self.lanes.hold(order, frame);
            } else {
                self.lanes.begin(lane);
                self.whole.push_back((lane, frame));
            }
        }
        Ok(())
    }
}

/// Parses the packets in a buffer. Iterates over the frames, and handles all other packets itself.
pub(crate) struct Packets<'a, 'b> {
    pub(crate) bytes: &'a [u8],
    pub(crate) inbound: &'b mut Inbound,
    pub(crate) association: &'b Association,
    /// The number of bytes parsed.
    pub(crate) read: usize,
    /// The number of frames.
    pub(crate) frames: u64,
    /// The maximum size of a frame.
    pub(crate) limit: usize,
    pub(crate) state: State,
}

/// What to do after the last complete packet.
pub(crate) enum State {
    /// The next packet needs this many bytes.
    More(usize),
    Bye,
    Invalid(&'static str),
}

impl<'a> Iterator for Packets<'a, '_> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            match parse(&self.bytes[self.read..], LARGE + 1024) {
                Parsed::Partial(needed) => self.state = State::More(needed),
                Parsed::Invalid(why) => self.state = State::Invalid(why),
                Parsed::Whole { kind, body, length } => {
                    self.read += length;
                    match kind {
                        kind::FRAME if self.inbound.lanes.is_idle() => {
                            self.frames += 1;
                            return Some(body);
                        }
                        kind::FRAME => match self.in_order(body) {
                            Some(frame) => return Some(frame),
                            None => continue,
                        },
                        kind::HEARTBEAT => continue,
                        kind::PART | kind::LAST => {
                            match self.inbound.part(body, kind == kind::LAST, self.limit) {
                                Ok(()) => continue,
                                Err(why) => self.state = State::Invalid(why),
                            }
                        }
                        kind::BYE => self.state = State::Bye,
                        _ => self.state = State::Invalid("a packet is of no known kind"),
                    }
                }
            }
            return None;
        }
    }
}

impl<'a> Packets<'a, '_> {
    /// Returns the frame, or `None` if it is queued behind a large frame.
    #[cold]
    fn in_order(&mut self, frame: &'a [u8]) -> Option<&'a [u8]> {
        self.frames += 1;
        match self.association.order_of(frame) {
            Some(order) if self.inbound.lanes.holds(order) => {
                self.inbound.lanes.hold(order, frame.to_vec());
                None
            }
            _ => Some(frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(number: u32, lane: u64, byte: u8, length: usize) -> Vec<u8> {
        [&number.to_le_bytes()[..], &lane.to_le_bytes(), &vec![byte; length]].concat()
    }

    #[test]
    fn large_frames_of_a_lane_are_decoded_one_after_the_other() {
        let (mut inbound, long) = (Inbound::default(), LARGE + 1);
        inbound.part(&part(1, 7, 1, long), true, 1 << 20).unwrap();
        inbound.lanes.hold(Order::Lane(7), vec![9]);
        inbound.part(&part(2, 7, 2, long), true, 1 << 20).unwrap();
        inbound.lanes.hold(Order::Lane(7), vec![8]);
        assert!(inbound.begin_decoding() && !inbound.begin_decoding());
        assert_eq!(inbound.next_large().map(|(lane, frame)| (lane, frame[0])), Some((7, 1)));
        assert_eq!(inbound.delivered(7), [[9]]);
        assert_eq!(inbound.next_large().map(|(lane, frame)| (lane, frame[0])), Some((7, 2)));
        assert_eq!(inbound.delivered(7), [[8]]);
        assert!(inbound.next_large().is_none() && inbound.lanes.is_idle());
        assert_eq!(inbound.bytes, 0);
    }

    #[test]
    fn parts_have_limits() {
        let mut inbound = Inbound::default();
        assert!(inbound.part(&[1, 2, 3], true, 100).is_err(), "too short");
        assert!(inbound.part(&part(1, 7, 1, 101), false, 100).is_err(), "too long");
        let mut inbound = Inbound::default();
        inbound.part(&part(1, 7, 1, 10), false, 100).unwrap();
        assert!(inbound.part(&part(1, 8, 1, 10), false, 100).is_err(), "another lane");
        let mut inbound = Inbound::default();
        for number in 0..MOST_LARGE as u32 {
            inbound.part(&part(number, 7, 1, 1), false, 100).unwrap();
        }
        assert!(inbound.part(&part(1000, 7, 1, 1), false, 100).is_err(), "too many");
    }
}
