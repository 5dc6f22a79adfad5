//! Hooks that panic.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dactor_core::{Actor, Context, Error, ErrorKind, Handler, Message, Outcome, StopReason};

use crate::fixtures::panicking::{PanicOnDrop, PanicOnDropFuture, PanicSite};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[Rule::must(
    "PANIC-09",
    Topic::Panic,
    &[(Topic::Panic, State::Starting), (Topic::Panic, State::Stopping)],
    "A hook panics if its call, its body or the destructor of its future panics: `on_start` fails the spawn, `on_restart` is a further failure for the supervision strategy, and after `on_stop` the actor has failed. The error names the hook.",
    "A hook need not be an `async fn`.",
    body!(hooks),
)];

/// Which hook panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hook {
    Start,
    Restart,
    Stop,
}

/// Panics in one of its hooks, the first time that it runs.
struct PanickingHooks {
    hook: Hook,
    site: PanicSite,
    times: Arc<AtomicUsize>,
}

impl PanickingHooks {
    fn run(&self, hook: Hook) -> Pin<Box<dyn Future<Output = Outcome<()>> + Send>> {
        let first = hook == self.hook && self.times.fetch_add(1, Ordering::Relaxed) == 0;
        let site = if first { self.site } else { PanicSite::Nowhere };
        site.panics_at(PanicSite::Call);
        match site {
            PanicSite::FutureDrop => Box::pin(PanicOnDropFuture::new(Ok(()), PanicOnDrop(true))),
            _ => Box::pin(async move {
                tokio::task::yield_now().await;
                site.panics_at(PanicSite::Body);
                Ok(())
            }),
        }
    }
}

impl Actor for PanickingHooks {
    fn on_start(&mut self, _: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        self.run(Hook::Start)
    }

    fn on_restart(&mut self, _: &Error, _: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        self.run(Hook::Restart)
    }

    fn on_stop(&mut self, _: &StopReason, _: &mut Context<Self>) -> impl Future<Output = Outcome<()>> + Send {
        self.run(Hook::Stop)
    }
}

/// Panics in the handler if the flag is set.
struct MaybePanic(bool);

impl Message for MaybePanic {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<MaybePanic> for PanickingHooks {
    async fn handle(&mut self, MaybePanic(panics): MaybePanic, _: &mut Context<Self>) -> Outcome<()> {
        assert!(!panics, "over");
        Ok(())
    }
}

async fn hooks(rule: RuleContext) {
    for site in [PanicSite::Call, PanicSite::Body, PanicSite::FutureDrop] {
        for hook in [Hook::Start, Hook::Restart, Hook::Stop] {
            let (times, (system, events)) = (Arc::new(AtomicUsize::new(0)), rule.system_with_events());
            let make = move || PanickingHooks { hook, site, times: times.clone() };
            let spawned = system.spawn(make).name("a").await;
            let case = format!("{site:?} in {hook:?}");
            if hook == Hook::Start {
                let error = spawned.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::StartFailed, "{case}");
                assert_hook(std::error::Error::source(&error).unwrap(), "on_start", &case);
                assert_eq!(system.actor_count(), 0, "{case}");
                continue;
            }
            let actor = spawned.unwrap();
            if hook == Hook::Restart {
                actor.tell(MaybePanic(true)).unwrap();
                rule.soon(&format!("{case}: the actor continues"), actor.ask(MaybePanic(false)))
                    .await
                    .unwrap();
                assert_eq!(events.journal().entries(), ["failed MaybePanic", "restarted"], "{case}");
                assert_hook(events.errors().last().unwrap(), "on_restart", &case);
            }
            actor.stop();
            let reason = rule.soon("the actor ends", actor.wait()).await.unwrap();
            match hook {
                Hook::Stop => assert_hook(reason.failure().expect(&case), "on_stop", &case),
                _ => assert!(matches!(reason, StopReason::Stopped), "{case}: {reason}"),
            }
        }
    }
}

fn assert_hook(error: &(dyn std::error::Error + 'static), hook: &str, case: &str) {
    let error = error.downcast_ref::<Error>().expect("a dactor error");
    assert_eq!((error.kind(), error.get("hook")), (ErrorKind::Panicked, Some(hook)), "{case}: {error}");
}
