/// For a result that is an error only if an actor that the program needs has ended or was never spawned.
pub(crate) trait Runs {
    type Value;

    /// Returns the value, because the actor runs.
    fn runs(self) -> Self::Value;
}

impl<T, E> Runs for Result<T, E> {
    type Value = T;

    // Not `expect`: an error that contains a message is `Debug` only if the message is.
    #[track_caller]
    fn runs(self) -> T {
        match self {
            Ok(value) => value,
            Err(_) => panic!("an actor that is needed does not run"),
        }
    }
}
