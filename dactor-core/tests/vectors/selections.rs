//! Cases about selections.

use std::collections::BTreeSet;

use dactor_core::path::{
    ActorSelection, ActorTree, ActorUid, SegmentPattern, SelectionAnchor, SelectionElement, SelectionPath,
};
use serde_json::{Value, json};

use super::paths::{path_error, place};
use super::text;

/// `{ op: compile, actorSelection, match, resolve, serialize or to_string; … }`
pub(super) fn selection(input: &Value) -> Option<Value> {
    match text(input, "op")? {
        "compile" => Some(match SelectionPath::compile(text(input, "path")?) {
            Ok(path) => elements(&path),
            Err(error) => path_error(error),
        }),
        "actorSelection" => Some(match ActorSelection::parse(text(input, "path")?) {
            Ok(selection) => json!({ "anchor": anchor(&selection)?, "elements": elements(selection.path()) }),
            // Pekko returns an empty selection instead of an error.
            Err(_) => json!({ "anchor": "deadLetters", "elements": [] }),
        }),
        "match" => {
            let pattern = SegmentPattern::new(text(input, "pattern")?).ok()?;
            Some(pattern.matches(text(input, "name")?).into())
        }
        "resolve" => resolve(input),
        "serialize" => Some(anchored(input)?.to_serialization_format().into()),
        "to_string" => Some(anchored(input)?.to_string().into()),
        _ => None,
    }
}

fn anchored(input: &Value) -> Option<ActorSelection> {
    let path = SelectionPath::compile(text(input, "path")?).ok()?;
    ActorSelection::new(&place(text(input, "anchor")?)?, path).ok()
}

fn anchor(selection: &ActorSelection) -> Option<String> {
    match selection.anchor() {
        SelectionAnchor::Here => Some("lookupRoot".into()),
        SelectionAnchor::Root => Some("rootGuardian".into()),
        SelectionAnchor::Path(root) => Some(format!("rootGuardianAt({})", root.parts())),
        _ => None,
    }
}

fn elements(path: &SelectionPath) -> Value {
    let element = |element: &SelectionElement| match element {
        SelectionElement::Parent => json!({ "parent": true }),
        SelectionElement::Pattern(pattern) => json!({ "pattern": pattern.as_str() }),
        name => json!({ "name": name.to_string() }),
    };
    path.elements().iter().map(element).collect()
}

/// Walks a tree that is given as the paths of its nodes.
fn resolve(input: &Value) -> Option<Value> {
    let tree = Tree(
        input["tree"]
            .as_array()?
            .iter()
            .map(|path| path.as_str().map(str::to_owned))
            .collect::<Option<_>>()?,
    );
    let path = SelectionPath::compile(text(input, "path")?).ok()?;
    let selected = path.walk(&tree, text(input, "anchor")?.to_owned());
    let matches: BTreeSet<_> = selected.nodes.into_iter().collect();
    let missed = selected.missed.map(|missed| {
        let steps = missed.elements.iter().map(|element| format!("/{element}")).collect::<String>();
        missed.from.trim_end_matches('/').to_owned() + &steps
    });
    Some(json!({ "matches": matches, "empty_ref": missed }))
}

struct Tree(BTreeSet<String>);

impl ActorTree for Tree {
    type Node = String;

    fn parent(&self, node: &String) -> String {
        match node.rfind('/') {
            None | Some(0) => "/".into(),
            Some(slash) => node[..slash].into(),
        }
    }

    fn child(&self, node: &String, name: &str, _uid: Option<ActorUid>) -> Option<String> {
        self.0.get(&format!("{}/{name}", node.trim_end_matches('/'))).cloned()
    }

    fn children(&self, node: &String, pattern: &SegmentPattern) -> Vec<String> {
        let is_child = |path: &&String| *path != "/" && self.parent(path) == *node;
        let name = |path: &str| path[path.rfind('/').map_or(0, |slash| slash + 1)..].to_owned();
        self.0.iter().filter(is_child).filter(|path| pattern.matches(&name(path))).cloned().collect()
    }
}
