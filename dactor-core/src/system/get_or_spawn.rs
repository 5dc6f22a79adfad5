use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::future::{Either, select};

use crate::actor::factory::IntoActor;
use crate::base::current;
use crate::kernel::actor_core::DynActor;
use crate::mailbox::Ending;
use crate::system::spawn::start_failure;
use crate::{Actor, ActorRef, Context, Error, ErrorKind, Result, Spawn, System};

/// Gets a live actor by name, or spawns it: configure it, then await the ref. From [`System::get_or_spawn`]
/// and [`Context::get_or_spawn`].
#[must_use = "it does nothing before the `.await`: write `system.get_or_spawn(..).await?`"]
pub struct GetOrSpawn<A: Actor> {
    spawn: Spawn<A>,
}

impl<A: Actor> GetOrSpawn<A> {
    /// Configures the spawn, if there is one: `.with(|spawn| spawn.bounded(100, Overflow::Block))`.
    pub fn with(self, configure: impl FnOnce(Spawn<A>) -> Spawn<A>) -> Self {
        Self { spawn: configure(self.spawn) }
    }

    async fn run(self) -> Result<ActorRef<A>> {
        let mut spawn = self.spawn;
        loop {
            let starts = spawn.system().starts().clone();
            // Registered before the lookup, so a start after it is not missed (lost wake-up).
            let mut started = pin!(starts.notified());
            started.as_mut().enable();
            if let Some(actor) = spawn.existing() {
                match stage(&*actor) {
                    Stage::Running => return typed(actor),
                    Stage::Starting => {
                        of_type::<A>(&actor)?;
                        would_wait_for_itself(&actor)?;
                        // It starts or ends; then it is looked up again.
                        let end = pin!(actor.meta().ended());
                        if let Either::Right((reason, _)) = select(started, end).await
                            && reason.failure().is_some()
                            && !has_started(&*actor)
                        {
                            return Err(start_failure(Some(reason)));
                        }
                    }
                    Stage::Ending => {
                        would_wait_for_itself(&actor)?;
                        actor.meta().ended().await;
                    }
                }
                continue;
            }
            match spawn.begin() {
                Ok(()) => return spawn.await,
                // Lost the race against another caller.
                Err(error) if error.kind() == ErrorKind::NameTaken => tokio::task::yield_now().await,
                Err(error) => return Err(error),
            }
        }
    }
}

/// The lifecycle stage of an actor.
enum Stage {
    Starting,
    Running,
    Ending,
}

fn stage(actor: &dyn DynActor) -> Stage {
    if actor.ending() != Ending::None || actor.meta().has_ended() || !actor.is_open() {
        Stage::Ending
    } else if has_started(actor) {
        Stage::Running
    } else {
        Stage::Starting
    }
}

/// A started actor has its native actor.
fn has_started(actor: &dyn DynActor) -> bool {
    actor.meta().is_hosted()
}

fn typed<A: Actor>(actor: Arc<dyn DynActor>) -> Result<ActorRef<A>> {
    of_type::<A>(&actor)?;
    match ActorRef::known(actor) {
        Some(actor) => Ok(actor),
        None => unreachable!("the type has been checked"),
    }
}

/// Checks the type of the actor that has the name.
fn of_type<A: Actor>(actor: &Arc<dyn DynActor>) -> Result<()> {
    if ActorRef::<A>::known(actor.clone()).is_some() {
        return Ok(());
    }
    let error = Error::new(ErrorKind::NameTaken).about(&**actor);
    Err(error
        .with("expected", std::any::type_name::<A>())
        .with("because", "the name belongs to an actor of another type"))
}

/// An error when the caller is the actor it would wait for, or a descendant which that actor waits for.
fn would_wait_for_itself(actor: &Arc<dyn DynActor>) -> Result<()> {
    let mut caller = actor.meta().system().registry().by_number(current::actor());
    while let Some(above) = caller {
        if above.pid() == actor.pid() {
            return Err(current::awaits_itself(&**actor, "get_or_spawn"));
        }
        caller = above.meta().parent().cloned();
    }
    Ok(())
}

impl<A: Actor> IntoFuture for GetOrSpawn<A> {
    type Output = Result<ActorRef<A>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<A: Actor> fmt::Debug for GetOrSpawn<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GetOrSpawn").field(&self.spawn).finish()
    }
}

impl System {
    /// Gets the live actor with this name, or spawns it. With any number of concurrent callers, exactly one
    /// actor is live.
    ///
    /// A caller that finds the actor starting waits for it, and gets the same error if the start fails. A
    /// caller that finds it ending waits for its end and spawns the next one. The factory runs at most once
    /// per incarnation.
    ///
    /// A ref can outlive its actor: a message to an actor that has stopped meanwhile fails with
    /// [`Stopped`](ErrorKind::Stopped), and calling `get_or_spawn` again returns the next one.
    ///
    /// ```
    /// # use dactor_core::{Actor, Overflow, Result, System};
    /// # struct Conversation { id: u64 }
    /// # impl Actor for Conversation {}
    /// # async fn open(system: System, id: u64) -> Result<()> {
    /// let conversation = system
    ///     .get_or_spawn(format!("conversation-{id}"), move || Conversation { id })
    ///     .with(|spawn| spawn.bounded(1000, Overflow::Reject))
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NameTaken`](ErrorKind::NameTaken) when an actor of another type has the name; the context says which
    /// type. [`AskedItself`](ErrorKind::AskedItself) in a handler or hook of the actor that would have to
    /// start or end first, which would be a deadlock. Otherwise as [`spawn`](Self::spawn).
    pub fn get_or_spawn<K, S: IntoActor<K>>(
        &self,
        name: impl Into<String>,
        actor: S,
    ) -> GetOrSpawn<S::Actor> {
        GetOrSpawn { spawn: self.spawn(actor).name(name) }
    }
}

impl<A: Actor> Context<A> {
    /// The live child with this name, or a new one: see [`System::get_or_spawn`].
    pub fn get_or_spawn<K, S: IntoActor<K>>(
        &self,
        name: impl Into<String>,
        actor: S,
    ) -> GetOrSpawn<S::Actor> {
        GetOrSpawn { spawn: self.spawn(actor).name(name) }
    }
}
