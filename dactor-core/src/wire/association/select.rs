//! Selections: which actors of the other system match an expression.

use super::{Association, control, lock};
use crate::path::{ActorPath, ActorSelection, SelectionAnchor};
use crate::spi::ReplyReturn;
use crate::wire::{Call, Remote, Target, far_actor};
use crate::{ActorRef, Error, ErrorKind, Headers, Result};

impl Association {
    /// The refs to the actors of the other system that match a selection and are an `A`, in the order in which they match.
    ///
    /// The selection is resolved in the other system, once for each call. It has the address of that system.
    ///
    /// # Errors
    ///
    /// [`InvalidPath`](ErrorKind::InvalidPath) for a selection without an address, and those of an ask.
    pub async fn select<A: Remote>(&self, selection: &ActorSelection) -> Result<Vec<ActorRef<A>>> {
        let invalid = |why: &'static str| {
            let error = Error::new(ErrorKind::InvalidPath);
            error.with("selection", selection.to_serialization_format()).with("because", why)
        };
        let SelectionAnchor::Path(anchor) = selection.anchor() else {
            return Err(invalid("it does not begin with the address of a system"));
        };
        let Ok(length) = u8::try_from(A::TYPE.len()) else {
            return Err(invalid("the name of the actor type is too long"));
        };
        self.link.admit(anchor)?;
        let steps = selection.path().to_string();
        let payload = [&[length], A::TYPE.as_bytes(), steps.as_bytes()].concat();
        let text = anchor.to_string();
        let target = Target::Path { path: &text, uid: anchor.uid().map(|uid| uid.get()) };
        let answer = self.request(control::SELECT, target, &payload).await?;
        let unread = || Error::new(ErrorKind::InvalidFrame).with("because", "a selected path cannot be read");
        let lines = std::str::from_utf8(&answer).map_err(|_| unread())?.lines();
        lines
            .map(|line| {
                let path: ActorPath = line.parse().map_err(|error| unread().because(error))?;
                far_actor(&self.system, &path, &self.carrier())
            })
            .collect()
    }

    /// Says which actors of this system match a selection.
    pub(super) fn selected(&self, correlation: u64, call: &Call<'_>) {
        lock(&self.incoming).insert(correlation, super::asks::Incoming::default());
        let found = self.find_selected(call);
        let answer = found.as_ref().map(|paths| paths.as_bytes());
        self.reply(correlation, answer, &Headers::default());
    }

    /// One path with its UID in each line.
    fn find_selected(&self, call: &Call<'_>) -> Result<String> {
        let unread = || {
            let error = Error::new(ErrorKind::InvalidFrame);
            error.with("because", "it does not say which actors are selected")
        };
        let (&length, rest) = call.payload.split_first().ok_or_else(unread)?;
        let (name, steps) = rest.split_at_checked(length.into()).ok_or_else(unread)?;
        let steps = std::str::from_utf8(steps).map_err(|_| unread())?;
        let anchor = self.local(&super::receive::target(call)?)?;
        let text = format!("{}{steps}", anchor.to_string().trim_end_matches('/'));
        let (tables, mut paths) = (self.tables(), String::new());
        for actor in self.system.select(&text)?.identify() {
            let accepts = tables.served.accepts(&actor);
            if accepts.is_some_and(|accepts| accepts.actor_type().as_bytes() == name) {
                paths.push_str(&self.link.path_of(&actor.path())?.to_serialization_format());
                paths.push('\n');
            }
        }
        Ok(paths)
    }
}
