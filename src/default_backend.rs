use dactor_core::System;

/// Adds `System::new`, which uses the backend that the feature flags select.
///
/// The trait is in the [prelude](crate::prelude). With both backends enabled it uses ractor;
/// `System::builder(name).backend(dactor::kameo())` selects the backend at run time.
pub trait DefaultBackend: Sized {
    /// Builds a system with default settings.
    ///
    /// # Panics
    ///
    /// Panics if the name is not a valid system name; [`System::builder`] returns an error instead.
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
