//! `System::shutdown`.

pub(super) mod grace;
pub(super) mod inside;
pub(super) mod quiescence;
pub(super) mod report;
