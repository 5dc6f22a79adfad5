//! The send queue of one node.

use std::collections::VecDeque;

use dactor_core::wire::association::{Lane, Order, order_of};

use super::framing::{kind, put};
use super::lanes::Lanes;

/// A batch buffer larger than this is not reused.
const KEPT: usize = 1024 * 1024;
/// A larger frame is written in chunks, to avoid head-of-line blocking.
pub(crate) const LARGE: usize = 32 * 1024;
/// The size of a chunk.
const PART: usize = 16 * 1024;
/// The send queue: packets in the order in which they are written.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    urgent: Vec<u8>,
    normal: Vec<u8>,
    /// Large frames, written round-robin in chunks.
    large: VecDeque<Large>,
    /// Frames that wait for large frames.
    lanes: Lanes<Vec<u8>>,
    numbers: u32,
    /// The number of queued frames.
    frames: usize,
    /// The size of the frames in `large` and `lanes`.
    waiting: usize,
}

#[derive(Debug)]
struct Large {
    number: u32,
    lane: u64,
    frame: Vec<u8>,
    written: usize,
}

impl Outbox {
    /// Adds a frame. Returns `true` if the writer must be woken.
    pub(crate) fn push(&mut self, frame: &[u8], lane: Lane) -> bool {
        let was_empty = self.is_empty();
        self.frames += 1;
        if lane == Lane::Urgent {
            put(&mut self.urgent, kind::FRAME, &[frame]);
        } else if frame.len() <= LARGE && self.lanes.is_idle() {
            put(&mut self.normal, kind::FRAME, &[frame]);
        } else {
            self.push_in_order(frame, lane);
        }
        was_empty
    }

    #[cold]
    fn push_in_order(&mut self, frame: &[u8], lane: Lane) {
        let mut order = order_of(frame, lane);
        if is_long(frame) && order == Order::AfterAll {
            // Such frames have no lane of their own and share lane 0.
            order = Order::Lane(0);
        }
        if self.lanes.holds(order) {
            self.waiting += frame.len();
            self.lanes.hold(order, frame.to_vec());
        } else if let Order::Lane(lane) = order
            && is_long(frame)
        {
            self.waiting += frame.len();
            self.lanes.begin(lane);
            self.begin(lane, frame.to_vec());
        } else {
            put(&mut self.normal, kind::FRAME, &[frame]);
        }
    }

    fn begin(&mut self, lane: u64, frame: Vec<u8>) {
        self.numbers = self.numbers.wrapping_add(1);
        self.large.push_back(Large { number: self.numbers, lane, frame, written: 0 });
    }

    /// Adds a packet that overtakes frames.
    pub(crate) fn push_packet(&mut self, kind: u8) -> bool {
        let was_empty = self.is_empty();
        put(&mut self.urgent, kind, &[]);
        was_empty
    }

    /// Adds the last packet, a goodbye.
    pub(crate) fn push_bye(&mut self) {
        put(&mut self.normal, kind::BYE, &[]);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.normal.is_empty() && self.large.is_empty()
    }

    /// The number of queued bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.urgent.len() + self.normal.len() + self.waiting
    }

    /// Moves the next packets to write into `batch`, which must be empty.
    pub(crate) fn take(&mut self, batch: &mut Vec<u8>) {
        self.frames = 0;
        if batch.capacity() > KEPT {
            *batch = Vec::new();
        }
        if self.urgent.is_empty() {
            std::mem::swap(batch, &mut self.normal);
        } else {
            std::mem::swap(batch, &mut self.urgent);
            batch.append(&mut self.normal);
        }
        self.take_part(batch);
    }

    /// Writes the next chunk of the large frame at the front.
    fn take_part(&mut self, batch: &mut Vec<u8>) {
        let Some(mut large) = self.large.pop_front() else { return };
        let end = large.frame.len().min(large.written + PART);
        let part = &large.frame[large.written..end];
        let is_last = end == large.frame.len();
        let kind = if is_last { kind::LAST } else { kind::PART };
        put(batch, kind, &[&large.number.to_le_bytes(), &large.lane.to_le_bytes(), part]);
        large.written = end;
        if !is_last {
            return self.large.push_back(large);
        }
        self.waiting -= large.frame.len();
        for (order, frame) in self.lanes.finish(large.lane, |frame| is_long(frame)) {
            match order {
                Order::Lane(lane) if is_long(&frame) => self.begin(lane, frame),
                _ => {
                    self.waiting -= frame.len();
                    put(&mut self.normal, kind::FRAME, &[&frame]);
                }
            }
        }
    }

    /// Drops all queued packets. Returns the approximate number of frames among them.
    pub(crate) fn clear(&mut self) -> usize {
        std::mem::take(self).frames
    }
}

fn is_long(frame: &[u8]) -> bool {
    frame.len() > LARGE
}

#[cfg(test)]
mod tests {
    use super::super::framing::{Parsed, parse};
    use super::*;

    /// The size of a chunk's header: the number of the frame and its lane.
    const PART_HEAD: usize = 12;

    /// The written packets: kind, and the first byte of a frame or the length of a chunk.
    fn written(out: &mut Outbox) -> Vec<(u8, usize)> {
        let mut packets = Vec::new();
        while !out.is_empty() {
            let mut batch = Vec::new();
            out.take(&mut batch);
            let mut rest = &batch[..];
            while let Parsed::Whole { kind, body, length } = parse(rest, usize::MAX) {
                packets.push((kind, if kind == kind::FRAME { body[0].into() } else { body.len() }));
                rest = &rest[length..];
            }
            assert!(rest.is_empty());
        }
        packets
    }

    #[test]
    fn a_large_frame_is_written_in_parts_and_others_pass_it() {
        let mut out = Outbox::default();
        out.push(&vec![7; 2 * PART + 2 * PART / 2 + 1], Lane::Answer(1));
        out.push(&[1], Lane::Answer(1));
        out.push(&[2], Lane::Answer(2));
        out.push(&[3], Lane::Urgent);
        let part = PART + PART_HEAD;
        let expected = [
            (kind::FRAME, 3),
            (kind::FRAME, 2),
            (kind::PART, part),
            (kind::PART, part),
            (kind::PART, part),
            (kind::LAST, 1 + PART_HEAD),
            (kind::FRAME, 1),
        ];
        assert_eq!(written(&mut out), expected);
        assert_eq!(out.bytes(), 0);
    }

    #[test]
    fn large_frames_of_different_lanes_take_turns() {
        let mut out = Outbox::default();
        for lane in [1, 2] {
            out.push(&vec![7; LARGE + 1], Lane::Answer(lane));
        }
        let kinds: Vec<_> = written(&mut out).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [kind::PART, kind::PART, kind::PART, kind::PART, kind::LAST, kind::LAST]);
    }
}
