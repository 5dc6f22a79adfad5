use dactor::System;
use dactor::spi::Backend;

/// A library that runs a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Ractor,
    Kameo,
    DactorRactor,
    DactorKameo,
}

impl Subject {
    pub(crate) const ALL: [Self; 4] = [Self::Ractor, Self::Kameo, Self::DactorRactor, Self::DactorKameo];

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Ractor => "ractor",
            Self::Kameo => "kameo",
            Self::DactorRactor => "dactor_ractor",
            Self::DactorKameo => "dactor_kameo",
        }
    }

    /// The native subject that a dactor subject is compared to.
    pub(crate) fn native(self) -> Option<Self> {
        match self {
            Self::Ractor | Self::Kameo => None,
            Self::DactorRactor => Some(Self::Ractor),
            Self::DactorKameo => Some(Self::Kameo),
        }
    }

    /// Creates the system of a dactor subject.
    pub(crate) fn system(self) -> Option<System> {
        match self {
            Self::Ractor | Self::Kameo => None,
            Self::DactorRactor => Some(over(dactor_ractor::ractor())),
            Self::DactorKameo => Some(over(dactor_kameo::kameo())),
        }
    }
}

fn over(backend: impl Backend) -> System {
    System::builder("savina").backend(backend).build().expect("the name and the backend are given")
}
