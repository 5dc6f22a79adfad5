use std::fmt;
use std::time::Duration;

use ::metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use tokio::time::Instant;

use crate::{
    About, Around, Completion, Delivery, Event, Header, Inbound, ItemVerdict, Next, Outbound, StopReason,
    StreamEnd, StreamItem, SystemBuilder, Verdict,
};

/// Metrics for the actors of a system, through the [metrics](https://docs.rs/metrics) facade: the installed
/// recorder decides where they go.
///
/// | name | kind | labels | what |
/// | --- | --- | --- | --- |
/// | `dactor_messages_handled_total` | counter | `actor_type`, `message` | messages whose handler succeeded |
/// | `dactor_messages_failed_total` | counter | `actor_type`, `message`, `kind` | messages that ended with an error of this [kind](crate::ErrorKind), including messages that an interceptor refused |
/// | `dactor_stream_items_total` | counter | `actor_type`, `message`, `direction` | items that actors took (`to_actor`) or produced (`from_actor`) |
/// | `dactor_streams_ended_total` | counter | `actor_type`, `message`, `mode`, `direction`, `outcome` | streams of actors that have ended: `finished`, `failed`, `dropped` or `passed_on` |
/// | `dactor_queue_seconds` | histogram | `actor_type`, `message` | from the sending of a message until it was its turn |
/// | `dactor_handling_seconds` | histogram | `actor_type`, `message` | how long its handler took, including interrupted handlers |
/// | `dactor_mailbox_depth` | gauge | `actor_type` | messages waiting behind the last one that an actor of the type took |
/// | `dactor_actors_live` | gauge | `actor_type` | actors that have started and not ended |
/// | `dactor_actors_spawned_total` | counter | `actor_type` | actors that have started |
/// | `dactor_actors_stopped_total` | counter | `actor_type`, `reason` | actors that have ended: `stopped`, `drained`, `killed` or `failed` |
///
/// Labels name types, never individual actors, so their cardinality is bounded by the program.
///
/// Install the recorder first: descriptions and counts from before are lost.
///
/// ```
/// # use dactor_core::System;
/// use dactor_core::interceptors::Metrics;
///
#[doc = include_str!("backend.md")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let page = metrics_exporter_prometheus::PrometheusBuilder::new().install_recorder()?;
/// let system = System::builder("measured").backend(TokioTasks).with(Metrics::install).build()?;
/// let echo = system.spawn(Echo).await?;
/// echo.ask(Say(1)).await?;
/// assert!(page.render().contains("dactor_messages_handled_total{actor_type="));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Metrics(());

impl Metrics {
    /// Installs the metrics, for [`SystemBuilder::with`]: an inbound and an outbound interceptor, and an
    /// observer. Interceptors registered later run after it.
    pub fn install(builder: SystemBuilder) -> SystemBuilder {
        describe();
        builder.inbound(Self(())).outbound(Self(())).observe(observe)
    }
}

fn describe() {
    describe_counter!("dactor_messages_handled_total", "Messages whose handler succeeded");
    describe_counter!("dactor_messages_failed_total", "Messages that ended with an error");
    describe_counter!("dactor_stream_items_total", "Items that actors took or produced");
    describe_counter!("dactor_streams_ended_total", "Streams of actors that have ended");
    describe_histogram!("dactor_queue_seconds", Unit::Seconds, "Time from send to the start of handling");
    describe_histogram!("dactor_handling_seconds", Unit::Seconds, "Duration of a handler");
    describe_gauge!("dactor_mailbox_depth", "Mailbox length when an actor last took a message");
    describe_gauge!("dactor_actors_live", "Actors that have started and not ended");
    describe_counter!("dactor_actors_spawned_total", "Actors that have started");
    describe_counter!("dactor_actors_stopped_total", "Actors that have ended");
}

fn observe(event: &Event) {
    match event {
        Event::Spawned { actor_type, .. } => {
            counter!("dactor_actors_spawned_total", "actor_type" => *actor_type).increment(1);
            gauge!("dactor_actors_live", "actor_type" => *actor_type).increment(1.0);
        }
        Event::Stopped { actor_type, reason, .. } => {
            let reason = match reason {
                StopReason::Stopped => "stopped",
                StopReason::Drained => "drained",
                StopReason::Killed => "killed",
                StopReason::Failed(_) => "failed",
                StopReason::Unreachable => "unreachable",
                StopReason::Unknown => "unknown",
            };
            counter!("dactor_actors_stopped_total", "actor_type" => *actor_type, "reason" => reason)
                .increment(1);
            gauge!("dactor_actors_live", "actor_type" => *actor_type).decrement(1.0);
        }
        Event::DeadLetter(_) | Event::Failed { .. } | Event::SlowRead { .. } | Event::Restarted { .. } => {}
    }
}

/// When a message was sent.
#[derive(Debug, Clone, Copy)]
struct Sent(Instant);

impl Header for Sent {
    const NAME: &'static str = "sent";
}

impl Outbound for Metrics {
    fn on_send(&self, delivery: &mut Delivery<'_>) -> Verdict {
        delivery.headers_mut().insert(Sent(Instant::now()));
        Verdict::Continue
    }
}

impl Inbound for Metrics {
    fn on_receive(&self, delivery: &mut Delivery<'_>) -> Verdict {
        gauge!("dactor_mailbox_depth", "actor_type" => delivery.actor_type()).set(delivery.queued() as f64);
        // Removed: a handler that forwards the message sends it anew.
        if let Some(Sent(at)) = delivery.headers_mut().remove() {
            record("dactor_queue_seconds", delivery, at.elapsed());
        }
        Verdict::Continue
    }

    fn scope(&self) -> Option<&dyn Around> {
        Some(self)
    }

    fn on_complete(&self, completion: &mut Completion<'_>) {
        let (actor_type, message) = (completion.actor_type(), completion.message_type());
        let handled = match completion.error() {
            None => {
                counter!("dactor_messages_handled_total", "actor_type" => actor_type, "message" => message)
            }
            Some(error) => {
                let kind = format!("{:?}", error.kind());
                counter!(
                    "dactor_messages_failed_total",
                    "actor_type" => actor_type, "message" => message, "kind" => kind
                )
            }
        };
        handled.increment(1);
    }

    fn on_item(&self, item: &StreamItem<'_>) -> ItemVerdict {
        let (actor_type, message) = (item.actor_type(), item.message_type());
        counter!(
            "dactor_stream_items_total",
            "actor_type" => actor_type, "message" => message, "direction" => item.direction().name()
        )
        .increment(1);
        ItemVerdict::Continue
    }

    fn on_stream_end(&self, end: &StreamEnd<'_>) {
        counter!(
            "dactor_streams_ended_total",
            "actor_type" => end.actor_type(), "message" => end.message_type(), "mode" => end.mode().name(),
            "direction" => end.direction().name(), "outcome" => end.outcome().name()
        )
        .increment(1);
    }
}

impl Around for Metrics {
    fn around<'a>(&'a self, about: &'a About<'a>, next: Next<'a>) -> Next<'a> {
        let clock = Clock { about, start: Instant::now() };
        Box::pin(async move {
            let _clock = clock;
            next.await;
        })
    }
}

fn record(name: &'static str, about: &About<'_>, time: Duration) {
    histogram!(name, "actor_type" => about.actor_type(), "message" => about.message_type()).record(time);
}

/// Records the duration of a handler on drop, which also covers an aborted one.
struct Clock<'a> {
    about: &'a About<'a>,
    start: Instant,
}

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        record("dactor_handling_seconds", self.about, self.start.elapsed());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;
    use tokio::runtime::Builder;

    use super::*;
    use crate::interceptors::testbed::{Echo, Fault, Never, Numbers, Say, Sum, Then, system};
    use crate::{Actor, Context, Outcome};

    /// The metrics page after a run on one thread with a paused clock.
    fn page<F: Future<Output = ()>>(load: impl FnOnce() -> F) -> String {
        let recorder = PrometheusBuilder::new().set_buckets(&[0.5, 5.0]).unwrap().build_recorder();
        let handle = recorder.handle();
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        ::metrics::with_local_recorder(&recorder, || runtime.block_on(load()));
        handle.render()
    }

    /// The value of the line with this name and all of these labels.
    fn value(page: &str, name: &str, labels: &[&str]) -> Option<f64> {
        let labelled = |line: &&str| {
            let rest = line.strip_prefix(name).filter(|rest| rest.starts_with('{'));
            rest.is_some_and(|rest| labels.iter().all(|label| rest.contains(label)))
        };
        page.lines().find(labelled)?.rsplit(' ').next()?.parse().ok()
    }

    struct Stillborn;
    impl Actor for Stillborn {
        async fn on_start(&mut self, _ctx: &mut Context<Self>) -> Outcome<()> {
            Err(crate::Failure::new("no"))
        }
    }

    #[test]
    fn messages_are_counted_and_timed_by_type() {
        let page = page(|| async {
            let system = system(Metrics::install);
            let (one, other) = (system.spawn(Echo).await.unwrap(), system.spawn(Echo).await.unwrap());
            for number in 0..3 {
                one.ask(Say(number)).await.unwrap();
                other.tell(Say(number)).unwrap();
            }
            one.ask(Fault).await.unwrap_err();
            one.ask(Never).timeout(Duration::from_secs(2)).await.unwrap_err();
            // Queued behind a message whose asker has given up, until the actor is killed.
            one.tell(Say(1)).unwrap();
            one.kill();
            one.wait().await.unwrap();
            other.drain();
            other.wait().await.unwrap();
            assert!(system.spawn(Stillborn).await.is_err());
        });
        let echo = "testbed::Echo\"";
        assert_eq!(value(&page, "dactor_messages_handled_total", &[echo, "Say\""]), Some(6.0), "{page}");
        assert_eq!(value(&page, "dactor_messages_failed_total", &["Fault\"", "kind=\"Failed\""]), Some(1.0));
        assert_eq!(
            value(&page, "dactor_messages_failed_total", &["Never\"", "kind=\"Interrupted\""]),
            Some(1.0)
        );
        assert_eq!(value(&page, "dactor_queue_seconds_count", &[echo, "Say\""]), Some(6.0));
        assert_eq!(value(&page, "dactor_handling_seconds_count", &[echo, "Say\""]), Some(6.0));
        assert_eq!(value(&page, "dactor_handling_seconds_sum", &["Never\""]), Some(2.0));
        assert_eq!(value(&page, "dactor_actors_spawned_total", &[echo]), Some(2.0));
        assert_eq!(value(&page, "dactor_actors_live", &[echo]), Some(0.0));
        assert_eq!(value(&page, "dactor_actors_stopped_total", &[echo, "\"killed\""]), Some(1.0));
        assert_eq!(value(&page, "dactor_actors_stopped_total", &[echo, "\"drained\""]), Some(1.0));
        assert!(!page.contains("Stillborn"), "a failed start is not counted");
        assert!(!page.contains('#') || !page.contains("Echo#"), "no individual actor is named");
        assert!(page.contains("# TYPE dactor_mailbox_depth gauge"));
        assert!(page.contains("# HELP dactor_messages_handled_total Messages whose handler succeeded"));
    }

    #[test]
    fn items_and_the_ends_of_streams_are_counted() {
        let page = page(|| async {
            let system = system(Metrics::install);
            let echo = system.spawn(Echo).await.unwrap();
            for then in [Then::Finish, Then::Finish, Then::Fail] {
                let mut items = echo.expand(Numbers(5, then)).await.unwrap();
                while let Some(Ok(_)) = items.next().await {}
            }
            assert_eq!(echo.reduce(Sum, futures_util::stream::iter(0..3)).await.unwrap(), 3);
        });
        let items = "dactor_stream_items_total";
        assert_eq!(value(&page, items, &["Numbers\"", "\"from_actor\""]), Some(15.0), "{page}");
        assert_eq!(value(&page, items, &["Sum\"", "\"to_actor\""]), Some(3.0), "{page}");
        let ends = "dactor_streams_ended_total";
        assert_eq!(value(&page, ends, &["\"expand\"", "\"finished\""]), Some(2.0), "{page}");
        assert_eq!(value(&page, ends, &["\"expand\"", "\"failed\""]), Some(1.0), "{page}");
        assert_eq!(value(&page, ends, &["\"reduce\"", "\"finished\""]), Some(1.0), "{page}");
    }

    #[test]
    fn the_queue_is_measured_in_time_and_length() {
        let page = page(|| async {
            let system = system(Metrics::install);
            let echo = system.spawn(Echo).await.unwrap();
            let hold = echo.ask(Never).timeout(Duration::from_secs(1)).enqueue().unwrap();
            for number in 0..4 {
                echo.tell(Say(number)).unwrap();
            }
            tokio::task::yield_now().await;
            hold.await.unwrap_err();
            echo.kill();
            echo.wait().await.unwrap();
        });
        assert_eq!(value(&page, "dactor_mailbox_depth", &["Echo\""]), Some(4.0), "{page}");

        let page = self::page(|| async {
            let system = system(Metrics::install);
            let echo = system.spawn(Echo).await.unwrap();
            let start = echo.ask(Say(1)).enqueue().unwrap();
            tokio::time::advance(Duration::from_secs(3)).await;
            start.await.unwrap();
        });
        assert_eq!(value(&page, "dactor_queue_seconds_sum", &["Say\""]), Some(3.0), "{page}");
        assert_eq!(value(&page, "dactor_mailbox_depth", &["Echo\""]), Some(0.0));
    }
}
