/// For a result that is an error only when an actor which the program needs is not there, or not any more.
pub(crate) trait Runs {
    type Value;

    /// The value: the actor runs.
    fn runs(self) -> Self::Value;
}

impl<T, E> Runs for Result<T, E> {
    type Value = T;

    // Not `expect`: errors that hand a message back are `Debug` only when the message is.
    #[track_caller]
    fn runs(self) -> T {
        match self {
            Ok(value) => value,
            Err(_) => panic!("an actor that is needed does not run"),
        }
    }
}
