//! Two systems that reach each other through frames, without a network.

mod conditions;
mod side;
mod spawns;
mod transport;

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use self::conditions::Conditions;
use self::side::Side;
use crate::base::random::random;
use crate::path::ActorPath;
use crate::wire::{Association, Elsewhere, Remote, WireScope, far_actor, far_recipient};
use crate::{ActorRef, Codec, Error, ErrorKind, Header, Recipient, Result, SentTo, StopReason, System};

/// A link between two systems: each has refs to actors of the other one, and every message, answer, watch and request to end
/// travels as the bytes of a frame. It stands in for a network in tests, and can be made as bad as one.
///
/// The systems may be on different backends; they need different addresses. Frames travel in order, one after the other, in
/// a task of the runtime in which the link is made. What the link does to them is decided by a random number for each frame,
/// from a seed that is printed to stderr when the link is made with faults, so that a run can be repeated.
///
/// ```
/// # mod tokio_tasks { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tokio_tasks.rs")); }
/// # use tokio_tasks::TokioTasks;
/// use dactor_core::testkit::FarLink;
/// use dactor_core::wire::{Accepts, Remote};
/// use dactor_core::{Actor, Context, Exclusive, Handler, Message, Outcome, System, Wire};
///
/// #[derive(Default)]
/// struct Account(u64);
/// impl Actor for Account {}
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Deposit(u64);
/// impl Message for Deposit {
///     type Reply = u64;
///     type Access = Exclusive;
///     const WIRE: Option<Wire<Self>> = Some(Wire::serde("bank.Deposit"));
/// }
///
/// impl Handler<Deposit> for Account {
///     async fn handle(&mut self, Deposit(more): Deposit, _: &mut Context<Self>) -> Outcome<u64> {
///         self.0 += more;
///         Ok(self.0)
///     }
/// }
///
/// impl Remote for Account {
///     const TYPE: &'static str = "bank.Account";
///     fn accepts(messages: &mut Accepts<Self>) {
///         messages.message::<Deposit>();
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> dactor_core::Result<()> {
/// let [here, there] = ["here", "there"].map(|name| System::builder(name).backend(TokioTasks).build().unwrap());
/// let link = FarLink::between(&here, &there)?;
/// link.serve::<Account>()?;
/// let local = there.spawn(Account::default()).name("alice").await?;
/// let remote = link.actor_at::<Account>(&here, &"pekko://there/user/alice".parse().unwrap())?;
/// assert_eq!(remote.ask(Deposit(20)).await?, 20);
/// assert_eq!(remote, local);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct FarLink {
    sides: [Arc<Side>; 2],
    conditions: Arc<Conditions>,
}

impl FarLink {
    /// Links two systems.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`](ErrorKind::InvalidPath) for systems with the same address, which a path could not tell apart, and
    /// [`NoRuntime`](ErrorKind::NoRuntime).
    pub fn between(one: &System, other: &System) -> Result<Self> {
        Self::with_seed(one, other, random())
    }

    /// Links two systems; the seed decides which frames the faults meet.
    ///
    /// # Errors
    ///
    /// Those of [`between`](Self::between).
    pub fn with_seed(one: &System, other: &System, seed: u64) -> Result<Self> {
        if one.parts() == other.parts() {
            let error = Error::new(ErrorKind::InvalidPath).with("system", one.name());
            return Err(error.with("because", "two systems of a link have different addresses"));
        }
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Error::new(ErrorKind::NoRuntime).with("call", "FarLink::between"));
        }
        let conditions = Arc::new(Conditions::new(seed));
        let sides = side::pair([one, other], &conditions);
        Ok(Self { sides, conditions })
    }

    /// Lets actors of this type take messages from the other system, in both.
    ///
    /// # Errors
    ///
    /// Those of [`Accepts::of`](crate::wire::Accepts::of).
    pub fn serve<A: Remote>(&self) -> Result<&Self> {
        for side in &self.sides {
            side.association.serve::<A>()?;
        }
        Ok(self)
    }

    /// Lets headers of this type be read, in both systems.
    ///
    /// # Errors
    ///
    /// Those of [`HeaderDecoders::register`](crate::wire::HeaderDecoders::register).
    pub fn header<H: Header>(&self) -> Result<&Self> {
        for side in &self.sides {
            side.association.header::<H>()?;
        }
        Ok(self)
    }

    /// How payloads are encoded from now on; MessagePack if not set.
    pub fn codec(&self, codec: Codec) -> &Self {
        self.conditions.set_codec(codec);
        self
    }

    /// The ref that `from` gets to the actor of the other system at this path. The other system is asked which incarnation
    /// that is.
    ///
    /// # Errors
    ///
    /// Those of [`System::actor_at`] in the other system, [`Unresolved`](ErrorKind::Unresolved) for the path of a third system, and
    /// what the link is told to [refuse](Self::refuse) with.
    pub fn actor_at<A: Remote>(&self, from: &System, path: &ActorPath) -> Result<ActorRef<A>> {
        let side = self.side(from)?;
        side.check_target(path)?;
        let there = side.peer_system().actor_at::<A>(path)?;
        self.actor(from, &there)
    }

    /// The ref that `from` gets to an actor of the other system.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for an actor of a third system.
    pub fn actor<A: Remote>(&self, from: &System, actor: &ActorRef<A>) -> Result<ActorRef<A>> {
        let side = self.side(from)?;
        far_actor(from, &side.checked(&actor.path())?, &side.association.carrier())
    }

    /// The recipient that `from` gets for the actor of the other system at this path, whatever its type. The path has the
    /// actor's UID.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for the path of a third system, and those of
    /// [`far_ref`](crate::spi::far_ref).
    pub fn recipient<M: SentTo<Elsewhere<M>>>(
        &self,
        from: &System,
        path: &ActorPath,
    ) -> Result<Recipient<M>> {
        let side = self.side(from)?;
        far_recipient(from, &side.checked(path)?, &side.association.carrier())
    }

    /// Loses frames with this probability. A lost request or answer is a `Timeout` for its asker. A stream is whole, or ends with an
    /// error: a lost item is found when the next one comes, and a stream without a sign of life from the other end has ended as
    /// `Timeout` [after the same time](Self::answer_within).
    pub fn lose(&self, probability: f64) -> &Self {
        self.conditions.change(|faults| faults.lose = probability);
        self
    }

    /// Delivers frames twice with this probability. The receiver drops the second one.
    pub fn duplicate(&self, probability: f64) -> &Self {
        self.conditions.change(|faults| faults.duplicate = probability);
        self
    }

    /// Lets frames be overtaken by the next one with this probability.
    pub fn reorder(&self, probability: f64) -> &Self {
        self.conditions.change(|faults| faults.reorder = probability);
        self
    }

    /// Delays each frame by a time in this range. The frames behind it wait.
    pub fn delay(&self, range: RangeInclusive<Duration>) -> &Self {
        self.conditions.change(|faults| faults.delay = Some(range));
        self
    }

    /// Frames travel without faults from now on.
    pub fn repair(&self) -> &Self {
        self.conditions.change(|faults| *faults = conditions::Faults::default());
        self
    }

    /// Fails asks that have no answer after this long, and streams from whose other end nothing is heard for as long; 30
    /// seconds if not set.
    pub fn answer_within(&self, limit: Duration) -> &Self {
        self.conditions.set_limit(limit);
        self
    }

    /// Cuts the link. Frames under way are lost: asks fail with [`Disconnected`](ErrorKind::Disconnected), streams end with it, and
    /// messages are refused with it. It ends no actor.
    pub fn cut(&self) -> &Self {
        self.conditions.cut();
        self.sides.iter().for_each(|side| side.association.disconnected());
        self
    }

    /// Joins a link that was [cut](Self::cut). Watches are set again.
    pub fn heal(&self) -> &Self {
        self.conditions.heal();
        self.sides.iter().for_each(|side| side.association.connected());
        self
    }

    /// Lets `system` give the other system up for lost: what it watches there has ended as
    /// [`Unreachable`](StopReason::Unreachable), messages to it are refused with [`Quarantined`](ErrorKind::Quarantined), and its messages are no
    /// longer delivered.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a system that is not linked.
    pub fn quarantine(&self, system: &System) -> Result<&Self> {
        let side = self.side(system)?;
        side.refuse(Some(ErrorKind::Quarantined));
        side.association.give_up(&StopReason::Unreachable);
        Ok(self)
    }

    /// Refuses lookups and messages of `system` with an error of this kind, or no more with `None`.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a system that is not linked.
    pub fn refuse(&self, system: &System, kind: Option<ErrorKind>) -> Result<&Self> {
        self.side(system)?.refuse(kind);
        Ok(self)
    }

    /// Whether one system may end actors of the other one; it may if not set.
    pub fn allow_end(&self, allowed: bool) -> &Self {
        self.conditions.set_allows_end(allowed);
        self
    }

    /// The seed of its faults.
    pub fn seed(&self) -> u64 {
        self.conditions.seed()
    }

    /// How many frames were sent so far, and how many of them were delivered, both ways.
    pub fn frames(&self) -> (u64, u64) {
        self.conditions.frames()
    }

    /// How many asks of `system` wait for an answer of the other one.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a system that is not linked.
    pub fn pending(&self, system: &System) -> Result<usize> {
        self.side(system).map(|side| side.association.pending())
    }

    /// The association of `system` with the other one.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a system that is not linked.
    pub fn association(&self, system: &System) -> Result<Arc<Association>> {
        self.side(system).map(|side| side.association.clone())
    }

    /// What encodes and decodes refs in `system`, for tests of messages alone.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a system that is not linked.
    pub fn scope(&self, system: &System) -> Result<Arc<dyn WireScope>> {
        self.side(system).map(|side| side.association.carrier().scope())
    }

    fn side(&self, system: &System) -> Result<&Arc<Side>> {
        let ours = self.sides.iter().find(|side| side.system().incarnation() == system.incarnation());
        ours.ok_or_else(|| Error::new(ErrorKind::Unresolved).with("system", system.name()))
    }
}

impl fmt::Debug for FarLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = &self.sides;
        let names = [one.system().name(), other.system().name()];
        f.debug_struct("FarLink").field("systems", &names).field("seed", &self.seed()).finish_non_exhaustive()
    }
}
