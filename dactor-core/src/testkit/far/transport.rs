//! How frames travel in one direction.

use std::sync::{Arc, Weak};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;

use super::conditions::Conditions;
use super::side::Side;

/// A frame under way.
pub(super) struct Packet {
    /// Counts the frames of one direction: a second one with the same number is a duplicate.
    pub(super) number: u64,
    pub(super) epoch: u64,
    pub(super) frame: Vec<u8>,
}

/// Carries frames to a side until it is gone, or the sides that send to it are.
pub(super) async fn carry(
    mut packets: UnboundedReceiver<Packet>,
    to: Weak<Side>,
    conditions: Arc<Conditions>,
) {
    let mut overtaken = None;
    loop {
        let next = match &overtaken {
            None => packets.recv().await,
            Some(_) => next_soon(&mut packets).await,
        };
        let is_overtaken = next.is_none();
        let Some(packet) = next.or_else(|| overtaken.take()) else { return };
        let fault = conditions.decide();
        if !fault.delay.is_zero() {
            tokio::time::sleep(fault.delay).await;
        }
        // A frame that was sent while the link was cut has an odd number.
        if fault.lost || packet.epoch % 2 == 1 || packet.epoch != conditions.epoch() {
            continue;
        }
        if fault.late && overtaken.is_none() && !is_overtaken {
            overtaken = Some(packet);
            continue;
        }
        let Some(to) = to.upgrade() else { return };
        for _ in 0..1 + u8::from(fault.twice) {
            to.receive(&packet);
        }
        if let Some(packet) = overtaken.take().filter(|packet: &Packet| packet.epoch == conditions.epoch()) {
            to.receive(&packet);
        }
    }
}

/// The next frame, if there is one before all else that is ready has run.
async fn next_soon(packets: &mut UnboundedReceiver<Packet>) -> Option<Packet> {
    for _ in 0..16 {
        match packets.try_recv() {
            Ok(packet) => return Some(packet),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => tokio::task::yield_now().await,
        }
    }
    None
}
