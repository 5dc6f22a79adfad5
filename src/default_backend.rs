use dactor_core::System;

/// Gives [`System`] its constructor on the backend that the feature flags choose.
///
/// It is in the [prelude](crate::prelude). With both backends on it is ractor;
/// `System::builder(name).backend(dactor::kameo())` chooses at run time.
pub trait DefaultBackend: Sized {
    /// A system with default settings.
    ///
    /// # Panics
    ///
    /// When the name is not a valid system name; [`System::builder`] returns that as an error.
    fn new(name: &str) -> Self;
}

impl DefaultBackend for System {
    fn new(name: &str) -> Self {
        #[cfg(feature = "ractor")]
        let backend = crate::ractor();
        #[cfg(not(feature = "ractor"))]
        let backend = crate::kameo();
        match System::builder(name).backend(backend).build() {
            Ok(system) => system,
            Err(error) => panic!("{error}"),
        }
    }
}
