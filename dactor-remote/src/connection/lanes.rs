//! Per-lane ordering without head-of-line blocking. A large frame is written in chunks and decoded by a
//! separate task: frames of the same lane wait for it, frames of other lanes do not.

use std::collections::VecDeque;

use dactor_core::wire::association::Order;

/// The frames that wait for large frames.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    /// The lanes with a large frame in flight.
    busy: Vec<u64>,
    held: VecDeque<(Order, T)>,
    /// How many of the held frames are [`Order::AfterAll`].
    barriers: usize,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { busy: Vec::new(), held: VecDeque::new(), barriers: 0 }
    }
}

impl<T> Lanes<T> {
    /// Whether no large frame is in flight, so that no frame has to wait.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.is_empty()
    }

    /// Whether a frame has to wait.
    pub(crate) fn holds(&self, order: Order) -> bool {
        match order {
            Order::Lane(lane) => self.barriers > 0 || self.busy.contains(&lane),
            Order::AfterAll => !self.is_idle(),
        }
    }

    /// Queues a frame.
    pub(crate) fn hold(&mut self, order: Order, frame: T) {
        self.barriers += usize::from(order == Order::AfterAll);
        self.held.push_back((order, frame));
    }

    /// Marks a large frame of this lane as in flight.
    pub(crate) fn begin(&mut self, lane: u64) {
        self.busy.push(lane);
    }

    /// Marks the large frame of this lane as done. Returns the frames it held up, in order; the large frames
    /// among them are now in flight.
    pub(crate) fn finish(&mut self, lane: u64, is_long: impl Fn(&T) -> bool) -> Vec<(Order, T)> {
        if let Some(at) = self.busy.iter().position(|busy| *busy == lane) {
            self.busy.swap_remove(at);
        }
        let (mut released, mut kept) = (Vec::new(), VecDeque::new());
        self.barriers = 0;
        for (order, frame) in std::mem::take(&mut self.held) {
            let waits = match order {
                Order::Lane(lane) => self.barriers > 0 || self.busy.contains(&lane),
                Order::AfterAll => !self.busy.is_empty() || !kept.is_empty(),
            };
            if waits {
                self.barriers += usize::from(order == Order::AfterAll);
                kept.push_back((order, frame));
                continue;
            }
            if let Order::Lane(lane) = order
                && is_long(&frame)
            {
                self.busy.push(lane);
            }
            released.push((order, frame));
        }
        self.held = kept;
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Order = Order::Lane(1);
    const B: Order = Order::Lane(2);

    /// Adds a frame; a text with a capital initial is a large frame.
    fn add(lanes: &mut Lanes<&'static str>, order: Order, text: &'static str, out: &mut Vec<&'static str>) {
        if lanes.holds(order) {
            return lanes.hold(order, text);
        }
        if is_long(&text)
            && let Order::Lane(lane) = order
        {
            lanes.begin(lane);
        }
        out.push(text);
    }

    fn is_long(text: &&'static str) -> bool {
        text.starts_with(char::is_uppercase)
    }

    #[test]
    fn only_frames_of_the_same_lane_wait() {
        let (mut lanes, mut out) = (Lanes::default(), Vec::new());
        for (order, text) in [(A, "a1"), (A, "A2"), (B, "b1"), (A, "a3"), (A, "A4"), (A, "a5"), (B, "b2")] {
            add(&mut lanes, order, text, &mut out);
        }
        assert_eq!(out, ["a1", "A2", "b1", "b2"]);
        let released: Vec<_> = lanes.finish(1, is_long).into_iter().map(|(_, text)| text).collect();
        assert_eq!(released, ["a3", "A4"], "the next long one is under way");
        add(&mut lanes, A, "a6", &mut out);
        let released: Vec<_> = lanes.finish(1, is_long).into_iter().map(|(_, text)| text).collect();
        assert_eq!(released, ["a5", "a6"]);
        assert!(lanes.is_idle());
    }

    #[test]
    fn some_frames_wait_for_all() {
        let (mut lanes, mut out) = (Lanes::default(), Vec::new());
        for (order, text) in [(A, "A"), (B, "B"), (Order::AfterAll, "end"), (Order::Lane(3), "c"), (A, "a")] {
            add(&mut lanes, order, text, &mut out);
        }
        assert_eq!(out, ["A", "B"]);
        assert!(lanes.finish(1, is_long).is_empty(), "the end waits for both, and the others for the end");
        let released: Vec<_> = lanes.finish(2, is_long).into_iter().map(|(_, text)| text).collect();
        assert_eq!(released, ["end", "c", "a"]);
    }
}
