//! Reads that run beside each other.
//!
//! The first read opens a *read phase*: the instance is borrowed as `&A`, and reads are taken from the mailbox and polled
//! together until a message that is not a read is next. That message closes the phase: it is kept aside, the reads that run
//! finish, and the message loop handles it.
//!
//! ```text
//!   read ─► open ── a write, a failure, a restart, a stop, the end of a drain ─► closed ── reads done ─► loop
//!            │ ▲                                                                    │ ▲
//!            ▼ │ a read is done                                                     ▼ │
//!           full (as many reads as may run at once)                    interleaved reads join
//! ```
//!
//! Full or closed, only messages that [interleave](crate::Interleaved) are taken, from wherever they wait.
//!
//! | mailbox | a pending phase is woken by | because |
//! | --- | --- | --- |
//! | open | a message, a call, a signal | the next message may run beside the reads |
//! | full, closed | a message that interleaves, a signal | others wait |
//!
//! A stop refuses queued messages at once: a read may wait for one of them, through another actor. A kill drops the reads.
//!
//! The instance of an actor that is not `Sync` cannot be borrowed across an await, and the task does not know which
//! actors are. The first read does, and gives the reference as a [`SharedActor`](crate::SharedActor).

mod phase;
mod set;

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::time::Duration;

use self::phase::{Door, ReadPhase};
use self::set::ReadSet;
use super::{ActorTask, LoopExit};
use crate::delivery::envelope::Envelope;
use crate::kernel::cycles::Watch;
use crate::mailbox::Ending;
use crate::{Actor, Error, ErrorKind, Result, StopReason};

/// How many reads of an actor run at once, and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadLimits {
    pub(crate) reads: usize,
    pub(crate) interleaved: usize,
    /// A read that runs longer is an event; as the system says if this does not.
    pub(crate) slow: Option<Duration>,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { reads: 64, interleaved: 64, slow: None }
    }
}

impl ReadLimits {
    pub(crate) fn check(&self) -> Result<()> {
        if self.reads == 0 || self.interleaved == 0 {
            let error = Error::new(ErrorKind::InvalidCapacity).with("reads", self.reads);
            let error = error.with("interleaved", self.interleaved);
            return Err(error.with("because", "an actor that runs no read could never answer one"));
        }
        Ok(())
    }
}

impl<A: Actor> ActorTask<A> {
    /// Runs reads, from this one up to the next message that is none: that message, if there is one, and whether it delays the
    /// idle timeout.
    pub(super) async fn reads(
        &mut self,
        first: Envelope<A>,
        handled: &mut usize,
    ) -> Result<Option<(Envelope<A>, bool)>, LoopExit> {
        let core = self.teardown.core.clone();
        let mut limits = self.options.as_ref().and_then(|options| options.reads).unwrap_or_default();
        limits.slow = limits.slow.or(core.meta.system().slow_read());
        let (write, failed) = {
            let Self { factory, ctx, teardown, inbound, .. } = self;
            let actor = factory.instance().and_then(|actor| first.share(actor));
            let Some(actor) = actor else { unreachable!("a read is handled by an instance that is `Sync`") };
            let mut set = pin!(ReadSet::default());
            let mut alarm = pin!(None);
            let mut phase = ReadPhase {
                core: &core,
                actor,
                inbound: inbound.as_ref(),
                limits,
                ctx,
                teardown,
                first: Some(first),
                write: None,
                failed: Vec::new(),
                door: Door::Open,
                polled_open: false,
                joining: Vec::new(),
                watch: Watch::of_reads(),
            };
            let ended = poll_fn(|cx| phase.poll(set.as_mut(), alarm.as_mut(), handled, cx)).await;
            if ended.is_err() {
                return Err(LoopExit::Lost(StopReason::Killed));
            }
            if !phase.failed.is_empty() || core.mailbox.ending() >= Ending::Stop {
                phase.give_write_back();
            }
            (phase.write.take(), mem::take(&mut phase.failed))
        };
        let generation = core.meta.family().generation();
        for report in failed {
            if core.meta.family().generation() == generation {
                self.conclude(report).await?;
            } else {
                // Its instance is gone already.
                self.report(report);
            }
        }
        Ok(write.map(|write| {
            let counts = self.ctx.counts_as_activity(&write);
            (write, counts)
        }))
    }
}
