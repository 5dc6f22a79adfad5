use std::sync::{Mutex, PoisonError};

/// Makes an exclusively owned value `Sync`: a context is `Sync` whatever messages it keeps. The lock is never
/// taken.
pub(crate) struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn get(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
