//! Deliberately broken engines: each is the memory engine with one flaw, and each must fail the rules that name it.

mod protocol;
mod sql;
mod wrapper;

use std::sync::Arc;

use dactor_engine::{Engine, ManualClock, Memory};

use super::subject::SharedStore;
use super::{EngineSubject, TestStore};
use protocol::FlawedProtocol;
pub use sql::BROKEN_SQL;
pub(crate) use sql::BrokenSql;
use wrapper::{Flawed, FlawedStore};

/// An engine with one flaw.
#[derive(Debug, Clone, Copy)]
pub struct BrokenEngine {
    /// The name, which rules refer to.
    pub name: &'static str,
    /// Its defect.
    pub what: &'static str,
}

/// All broken engines.
pub static BROKEN: &[BrokenEngine] = &[
    flaw("claims-in-two-steps", "looks whether the entity is free, and takes it later"),
    flaw("ignores-claim-tokens", "grants a new generation for each claim of the owner"),
    flaw("refuses-repeated-claims", "refuses the owner's own claim"),
    flaw("knows-only-incarnations", "grants the same generation for any token of the owner"),
    flaw("takes-a-deadline-for-a-death", "takes entities from owners with an expired lease"),
    flaw("ignores-tombstones", "never takes an entity from a dead owner"),
    flaw("reuses-the-generation-of-the-dead", "grants the dead owner's generation to the next one"),
    flaw("grants-to-the-dead", "does not look whether the claimant is dead"),
    flaw("grants-to-strangers", "does not look whether the claimant is a member"),
    flaw("releases-any-generation", "releases whatever generation owns the entity"),
    flaw("releases-twice", "answers a repeated release with true"),
    flaw("forgets-released-rows", "deletes the row of a released entity"),
    flaw("lookup-forgets-released-rows", "does not find a released entity"),
    flaw("watches-in-silence", "never reports a change"),
    flaw("watches-all-namespaces", "reports the changes of other namespaces"),
    flaw("opens-for-old-generations", "lowers the fence"),
    flaw("refuses-repeated-opens", "refuses the owner's own open"),
    flaw("ignores-open-tokens", "opens for any token of the generation"),
    flaw("opens-in-two-steps", "loads first, and raises the fence later"),
    flaw("ignores-the-fence", "saves for any generation"),
    flaw("saves-for-higher-generations", "saves for generations that have not opened the state"),
    flaw("clears-the-fence", "deletes the row of a cleared state"),
    flaw("read-hides-the-etag", "reads no etag"),
    flaw("loads-an-old-body", "loads the first body that was saved"),
    flaw("ignores-etags", "saves over any etag"),
    flaw("lets-no-etag-match", "saves over any etag if the writer names none"),
    flaw("compares-etags-too-early", "compares the etag first, and saves later"),
    flaw("creates-on-save", "creates a state that was never opened"),
    flaw("clear-ignores-its-etag", "clears with an etag of its own"),
    flaw("clear-keeps-the-body", "changes only the etag of a cleared state"),
    flaw("fails-the-neighbours", "fails the save after a refused one"),
    flaw("does-not-prolong", "answers renewals without prolonging the lease"),
    flaw("does-not-count-renewals", "reports no renewals"),
    flaw("renews-expired-leases", "renews a lease after its deadline"),
    flaw("refuses-repeated-joins", "refuses a node that joins again"),
    flaw("joins-with-expired-leases", "lets a node join again after its deadline"),
    flaw("evicts-before-the-deadline", "evicts nodes whose leases have not expired"),
    flaw("ignores-the-seen-renewals", "evicts nodes that have renewed since the evictor looked"),
    flaw("renewal-revives", "renews the lease of a dead node"),
    flaw("join-revives", "lets a dead node join again"),
    flaw("forgets-a-leave", "does not record that a node left"),
    flaw("calls-the-overdue-gone", "takes an expired lease for a proof of death"),
    flaw("never-evicts", "never records a death"),
    flaw("mixes-the-members", "lists the members of other namespaces"),
    flaw("forgets-everything", "is empty after a crash"),
    flaw("forgets-the-last-save", "loses the last acknowledged save in a crash"),
    flaw("truncates", "stores the first 64 KiB"),
    flaw("takes-empty-for-cleared", "clears a state when an empty one is saved"),
    flaw("folds-case", "compares keys without regard to case"),
    flaw("trims-keys", "removes spaces around keys"),
    flaw("joins-the-fields", "identifies an entity by its text"),
    flaw("ignores-namespaces", "keeps all namespaces in one"),
    flaw("ignores-types", "keeps all types in one"),
    flaw("lists-cleared-states", "lists states that were opened and have no body"),
    flaw("repeats-the-last-key", "starts a page with the last key of the page before"),
    flaw("ignores-the-limit", "lists one key more than asked for"),
    flaw("lists-all-types", "lists the keys of other types"),
];

const fn flaw(name: &'static str, what: &'static str) -> BrokenEngine {
    BrokenEngine { name, what }
}

impl EngineSubject for BrokenEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn store(&self) -> Arc<dyn TestStore> {
        let clock = Arc::new(ManualClock::new());
        let protocol = FlawedProtocol { flaw: self.name, clock: clock.clone() };
        let memory = Memory::with_protocol(clock.clone(), protocol);
        let engine = Arc::new(Flawed::new(self.name, memory));
        let store = SharedStore::new(clock, Engine::new(engine.clone()));
        Arc::new(FlawedStore { flaw: self.name, engine, store })
    }
}
