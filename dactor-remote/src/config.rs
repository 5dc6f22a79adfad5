use std::time::Duration;

use dactor_core::{Codec, Error, ErrorKind, Result};

/// Limits and timeouts of a node. The defaults fit a local network.
///
/// ```
/// use std::time::Duration;
/// use dactor_remote::RemotingConfig;
///
/// let config = RemotingConfig::new().heartbeat(Duration::from_millis(500)).dead_after(Duration::from_secs(10));
/// # let _ = config;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
#[must_use]
pub struct RemotingConfig {
    pub(crate) codec: Codec,
    pub(crate) canonical: Option<String>,
    pub(crate) ask_timeout: Duration,
    pub(crate) handshake_timeout: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) silence: Duration,
    pub(crate) dead_after: Duration,
    pub(crate) quarantine: Duration,
    pub(crate) reservation: Option<Duration>,
    pub(crate) backoff: (Duration, Duration),
    pub(crate) deferred: usize,
    pub(crate) max_message: usize,
    pub(crate) max_outbound: usize,
    pub(crate) max_in_flight: usize,
    pub(crate) max_handshakes: usize,
}

impl Default for RemotingConfig {
    fn default() -> Self {
        Self {
            codec: Codec::MessagePack,
            canonical: None,
            ask_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(5),
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(5),
            dead_after: Duration::from_secs(20),
            quarantine: Duration::from_secs(5 * 24 * 3600),
            reservation: None,
            backoff: (Duration::from_millis(50), Duration::from_secs(5)),
            deferred: 1024,
            max_message: 16 * 1024 * 1024,
            max_outbound: 64 * 1024 * 1024,
            max_in_flight: 65_536,
            max_handshakes: 256,
        }
    }
}

impl RemotingConfig {
    /// A configuration with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The codec of payloads; MessagePack by default. Nodes with different codecs refuse each other.
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// The address by which other nodes reach this one, if it differs from the listening address:
    /// `host:port`, or `host` alone to use the port of the listener.
    pub fn canonical(mut self, address: impl Into<String>) -> Self {
        self.canonical = Some(address.into());
        self
    }

    /// The timeout of an ask of another node that has no timeout of its own; 30 seconds by default.
    pub fn ask_timeout(mut self, timeout: Duration) -> Self {
        self.ask_timeout = timeout;
        self
    }

    /// The timeout of a handshake; 5 seconds by default. An attempt to connect takes at most a third of
    /// [`dead_after`](Self::dead_after), so that one lost packet does not quarantine a reachable node.
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// The heartbeat interval; one second by default. Also sets [`silence`](Self::silence) to five intervals.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = every;
        self.silence = every * 5;
        self
    }

    /// The idle timeout: a connection that receives nothing for this long is closed, and the node reconnects;
    /// 5 seconds by default.
    pub fn silence(mut self, limit: Duration) -> Self {
        self.silence = limit;
        self
    }

    /// The time after which an unreachable node is quarantined and its watched actors are reported as
    /// [`Unreachable`](dactor_core::StopReason::Unreachable); 20 seconds by default.
    pub fn dead_after(mut self, limit: Duration) -> Self {
        self.dead_after = limit;
        self
    }

    /// The duration of a quarantine, at least one second; 5 days by default. Also the duration of UID
    /// reservations, unless [`uid_reservation`](Self::uid_reservation) is set.
    pub fn quarantine_duration(mut self, duration: Duration) -> Self {
        self.quarantine = duration;
        self
    }

    /// How long the UIDs of actors of a quarantined node stay reserved.
    pub fn uid_reservation(mut self, duration: Duration) -> Self {
        self.reservation = Some(duration);
        self
    }

    /// The reconnect backoff: the pause before the second attempt to connect, which doubles up to `longest`,
    /// with jitter; 50 milliseconds and 5 seconds by default.
    pub fn backoff(mut self, shortest: Duration, longest: Duration) -> Self {
        self.backoff = (shortest, longest);
        self
    }

    /// The maximum number of messages deferred until one node is connected; 1024 by default. More are
    /// refused.
    pub fn deferred(mut self, messages: usize) -> Self {
        self.deferred = messages;
        self
    }

    /// The maximum size of a message in bytes; 16 MiB by default. A larger message is an error at its sender.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// The capacity of the send queue of one node in bytes; 64 MiB by default. More are refused.
    pub fn max_outbound(mut self, bytes: usize) -> Self {
        self.max_outbound = bytes;
        self
    }

    /// The maximum number of in-flight asks from one other node; 65 536 by default. More are refused.
    pub fn max_in_flight(mut self, asks: usize) -> Self {
        self.max_in_flight = asks;
        self
    }

    /// The maximum number of concurrent handshakes; 256 by default. More connections are closed at once.
    pub fn max_handshakes(mut self, connections: usize) -> Self {
        self.max_handshakes = connections;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |name: &'static str, why: &'static str| {
            Err(Error::new(ErrorKind::Unsupported).with("setting", name).with("because", why))
        };
        if self.quarantine < Duration::from_secs(1) {
            return wrong("quarantine_duration", "a quarantine lasts at least one second");
        }
        if self.heartbeat.is_zero() || self.silence < self.heartbeat {
            return wrong("heartbeat", "it is zero, or longer than the silence that closes a connection");
        }
        if self.max_message < 1024 || self.max_message > u32::MAX as usize / 2 {
            return wrong("max_message", "it is below 1 KiB or above 2 GiB");
        }
        if self.backoff.0.is_zero() || self.backoff.1 < self.backoff.0 {
            return wrong("backoff", "the shortest pause is zero, or longer than the longest");
        }
        Ok(())
    }

    /// The timeout of one attempt to connect.
    pub(crate) fn attempt_timeout(&self) -> Duration {
        self.handshake_timeout.min(self.dead_after / 3)
    }

    pub(crate) fn reservation(&self) -> Duration {
        self.reservation.unwrap_or(self.quarantine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_time_for_three_attempts_before_a_node_is_given_up() {
        let config = RemotingConfig::new().handshake_timeout(Duration::from_secs(5));
        assert_eq!(
            config.clone().dead_after(Duration::from_secs(3)).attempt_timeout(),
            Duration::from_secs(1)
        );
        assert_eq!(config.dead_after(Duration::from_secs(60)).attempt_timeout(), Duration::from_secs(5));
    }

    #[test]
    fn senseless_settings_are_refused() {
        let ok = RemotingConfig::new();
        ok.check().unwrap();
        for bad in [
            ok.clone().quarantine_duration(Duration::from_millis(999)),
            ok.clone().heartbeat(Duration::ZERO),
            ok.clone().silence(Duration::from_millis(1)),
            ok.clone().max_message(10),
            ok.clone().backoff(Duration::ZERO, Duration::ZERO),
            ok.clone().backoff(Duration::from_secs(2), Duration::from_secs(1)),
        ] {
            assert_eq!(bad.check().unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}
