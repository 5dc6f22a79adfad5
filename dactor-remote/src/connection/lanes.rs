//! Order behind frames that take long: a large one is written in parts, and decoded beside the reader. Frames of the same lane wait
//! for it, those of other lanes do not.

use std::collections::VecDeque;

use dactor_core::wire::association::Order;

/// What waits behind long frames.
#[derive(Debug)]
pub(crate) struct Lanes<T> {
    /// The lanes with a long frame under way.
    busy: Vec<u64>,
    held: VecDeque<(Order, T)>,
    /// How many of them wait for all before them.
    barriers: usize,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { busy: Vec::new(), held: VecDeque::new(), barriers: 0 }
    }
}

impl<T> Lanes<T> {
    /// Whether nothing is under way: then nothing has to wait.
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

    /// Lets a frame wait.
    pub(crate) fn hold(&mut self, order: Order, frame: T) {
        self.barriers += usize::from(order == Order::AfterAll);
        self.held.push_back((order, frame));
    }

    /// A long frame of this lane is under way.
    pub(crate) fn begin(&mut self, lane: u64) {
        self.busy.push(lane);
    }

    /// It is done. What has waited for it comes out, in order; a long frame among it is under way then.
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

    /// Adds a frame; the texts that begin with a capital are long.
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
