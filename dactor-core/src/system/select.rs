//! Using selections: tell, or list the selected actors.

use std::any::type_name;
use std::fmt;

use crate::base::text::shown;
use crate::path::{ActorPathError, ActorSelection, SelectionAnchor};
use crate::system::event::DeadLetterTarget;
use crate::system::tree::{LiveTree, Node};
use crate::{Actor, ActorPath, ActorRef, AnyActorRef, Context, Error, ErrorKind, Result, SentTo, System};

/// The actors that match an expression at the time of use: from [`System::select`] or [`Context::select`].
///
/// It is resolved on each use, so it can be created before the actors are, and kept while they come and go.
/// To address one incarnation, keep an [`ActorRef`].
#[derive(Clone)]
pub struct Selection {
    system: System,
    /// Where resolution starts.
    anchor: Node,
    selection: ActorSelection,
}

impl Selection {
    /// Tells a message to every selected actor that is an `A`, and returns how many of them accepted it.
    ///
    /// If no selected actor is an `A`, the message is a [dead letter](crate::DeadLetter) whose
    /// [target](crate::DeadLetter::target) is the selection. Each actor that refuses the message produces a
    /// dead letter of its own.
    pub fn tell<A: Actor, M: SentTo<A> + Clone>(&self, message: M) -> usize {
        let mut actors = self.actors::<A>();
        let Some(last) = actors.pop() else {
            self.missed::<A, M>(&message);
            return 0;
        };
        // In match order: the last one gets the message itself, the others get clones.
        let told = actors.iter().filter(|actor| actor.tell(message.clone()).is_ok()).count();
        told + usize::from(last.tell(message).is_ok())
    }

    /// The selected actors that are an `A`: to ask them, or to keep the refs.
    pub fn actors<A: Actor>(&self) -> Vec<ActorRef<A>> {
        self.identify().iter().filter_map(AnyActorRef::actor_ref).collect()
    }

    /// The selected actors, of any type.
    pub fn identify(&self) -> Vec<AnyActorRef> {
        let nodes = self.selection.path().walk(&LiveTree(&self.system), self.anchor.clone()).nodes;
        nodes.into_iter().filter_map(Node::into_actor).map(AnyActorRef::new).collect()
    }

    /// The expression, anchored at a path.
    pub fn selection(&self) -> &ActorSelection {
        &self.selection
    }

    fn missed<A: Actor, M: SentTo<A>>(&self, message: &M) {
        let why = format!("no selected actor is a `{}`", type_name::<A>());
        let error = Error::new(ErrorKind::NoSuchActor)
            .with("selection", self)
            .with("message", M::type_name())
            .with("because", if self.identify().is_empty() { "no actor matches".to_owned() } else { why });
        let target = || DeadLetterTarget::Selection(self.selection.clone());
        self.system.events().lost(target, M::type_name(), &error, || message.describe());
    }
}

/// The selection as text that [`System::select`] parses, including the path at which it starts.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.selection.to_serialization_format())
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Selection").field(&format_args!("{self}")).finish()
    }
}

impl System {
    /// Selects actors by an expression: `/user/pool/*`, `user/pool/worker-?`, `pekko://bank/user/audit#7`.
    ///
    /// `*` matches any number of characters of one name, and `?` matches one. In a text with a scheme, which
    /// is a URI, `?` begins a query. A `..` never leads above the guardian. No actor is looked up yet.
    ///
    /// ```
    /// # use dactor_core::{Actor, Handler, Message, Result, System};
    /// # #[derive(Clone)] struct Flush;
    /// # impl Message for Flush { type Reply = (); type Access = dactor_core::Exclusive; }
    /// # fn broadcast<Worker: Handler<Flush>>(system: &System) -> Result<()> {
    /// let pool = system.select("/user/pool/worker-*")?;
    /// let reached = pool.tell::<Worker, _>(Flush);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidPath`](ErrorKind::InvalidPath) with an [`ActorPathError`] as its source, and
    /// [`Unresolved`](ErrorKind::Unresolved) for actors of another system.
    pub fn select(&self, selection: &str) -> Result<Selection> {
        let root = || ActorPath::root(self.parts());
        select(self, Node::Root, selection, root)
    }
}

impl<A: Actor> Context<A> {
    /// Selects actors by an expression that may be relative to this actor: `../worker-?`, `child/*`.
    /// Otherwise like [`System::select`].
    ///
    /// # Errors
    ///
    /// As for [`System::select`]. A `..` that leads above the guardian is
    /// [`RelativeEscape`](ActorPathError::RelativeEscape).
    pub fn select(&self, selection: &str) -> Result<Selection> {
        let here = Node::Actor(self.actor_ref().core.clone());
        select(self.system(), here, selection, || Ok(self.path()))
    }
}

fn select(
    system: &System,
    here: Node,
    text: &str,
    path: impl FnOnce() -> Result<ActorPath, ActorPathError>,
) -> Result<Selection> {
    let invalid = |error: ActorPathError| {
        Error::new(ErrorKind::InvalidPath).with("selection", shown(text)).because(error)
    };
    let selection = ActorSelection::compile(text).map_err(invalid)?;
    let anchor = match selection.anchor() {
        SelectionAnchor::Here => here,
        SelectionAnchor::Path(root) if !root.is_in(system.parts()) => {
            let error = Error::new(ErrorKind::Unresolved).with("selection", shown(text));
            return Err(error.with("system", system.name()));
        }
        SelectionAnchor::Root | SelectionAnchor::Path(_) => Node::Root,
    };
    let selection = path().and_then(|path| selection.anchored(&path)).map_err(invalid)?;
    Ok(Selection { system: system.clone(), anchor, selection })
}
