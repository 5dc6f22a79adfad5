use std::sync::{Arc, Mutex, PoisonError};

use dactor_core::testkit::Journal;
use dactor_core::{Error, Event};

/// The recorded events of one system.
#[derive(Debug, Clone, Default)]
pub struct Events {
    seen: Arc<Mutex<Vec<Event>>>,
    journal: Journal,
}

impl Events {
    pub(crate) fn note(&self, event: &Event) {
        if matches!(event, Event::Spawned { .. } | Event::Stopped { .. }) {
            return;
        }
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        self.journal.note(match event {
            Event::DeadLetter(letter) => format!("dead {}", short(letter.message)),
            Event::Failed { message, .. } => format!("failed {}", short(message)),
            Event::Restarted { .. } => "restarted".to_owned(),
            Event::SlowRead { message, .. } => format!("slow {}", short(message)),
            other => format!("{other:?}"),
        });
    }

    /// All events, each as its kind and message: `dead Note`, `failed Fail`, `restarted`.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The errors of the events, in order.
    pub(crate) fn errors(&self) -> Vec<Error> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let error = |event: &Event| match event {
            Event::DeadLetter(letter) => Some(letter.error.clone()),
            Event::Failed { error, .. } | Event::Restarted { error, .. } => Some(error.clone()),
            _ => None,
        };
        seen.iter().filter_map(error).collect()
    }

    /// The actors of the events, in order.
    pub(crate) fn actors(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let actor = |event: &Event| match event {
            Event::DeadLetter(letter) => Some(letter.target.to_string()),
            Event::Failed { actor, .. } | Event::Restarted { actor, .. } => Some(actor.to_string()),
            _ => None,
        };
        seen.iter().filter_map(actor).collect()
    }
}

fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
