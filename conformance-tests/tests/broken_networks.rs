//! A network that spoils what is written is caught by the rules: some rule fails on each of them.

#[path = "support/nodes.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use dactor_conformance::{Flavor, Settings, Verdict, check, rules};
use dactor_remote::transport::WriteFault;

use support::{Nodes, kameo, ractor};

#[test]
fn a_network_that_spoils_writes_is_caught() {
    let mut settings = Settings::from_env();
    settings.patience = Duration::from_secs(3);
    let rule = rules().find(|rule| rule.id == "FAR-16").expect("the rule about streams");
    for fault in
        [WriteFault::Lose, WriteFault::Duplicate, WriteFault::Reorder, WriteFault::Corrupt, WriteFault::Cut]
    {
        let nodes = |fault| Nodes { name: "spoiled", backends: [ractor, kameo], tcp: false, fault };
        let flavor = Flavor::of(rule.runtime)[0];
        let sound = check(rule, Arc::new(nodes(None)), flavor, &settings);
        assert!(matches!(sound, Verdict::Passed), "without a fault: {sound:?}");
        let spoiled = check(rule, Arc::new(nodes(Some((fault, 7)))), flavor, &settings);
        assert!(matches!(spoiled, Verdict::Failed(_)), "{fault:?}: {spoiled:?}");
    }
}
