//! The dependencies between modules, and between rooms.

use std::collections::{BTreeMap, BTreeSet};

use crate::ROOMS;
use crate::source::Source;

/// The modules of the crate, such as `kernel::task`, with the modules that each uses. A module in a module is part of it.
pub(crate) struct Graph {
    uses: BTreeMap<String, BTreeSet<String>>,
}

/// How high the room of a module is.
fn height(module: &str) -> usize {
    ROOMS.iter().position(|room| *room == room_of(module)).unwrap_or(ROOMS.len())
}

fn room_of(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

impl Graph {
    pub(crate) fn new(source: &Source) -> Self {
        // Above the rooms a module is not split: it is one of the crate's public modules.
        let module = |path: &[String]| {
            let parts = if ROOMS.contains(&path[0].as_str()) { 2 } else { 1 };
            path[..path.len().min(parts)].join("::")
        };
        let mut uses: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (user, used) in source.uses() {
            let (user, used) = (module(user), module(&used));
            if user != used {
                uses.entry(used.clone()).or_default();
                uses.entry(user).or_default().insert(used);
            }
        }
        Self { uses }
    }

    fn edges(&self) -> impl Iterator<Item = (&String, &String)> {
        self.uses.iter().flat_map(|(user, uses)| uses.iter().map(move |used| (user, used)))
    }

    /// The modules that use a room above their own.
    pub(crate) fn upward(&self) -> BTreeSet<(String, String)> {
        let upward = self.edges().filter(|(user, used)| height(used) > height(user));
        upward.map(|(user, used)| (user.clone(), room_of(used).to_owned())).collect()
    }

    /// The edges between rooms, without transitive ones.
    pub(crate) fn downward(&self) -> BTreeSet<(usize, usize)> {
        let all: BTreeSet<_> = self
            .edges()
            .map(|(user, used)| (height(user), height(used)))
            .filter(|(user, used)| user > used)
            .collect();
        let mut reach = all.clone();
        for middle in 0..=ROOMS.len() {
            let (to, from): (Vec<_>, Vec<_>) = (
                reach.iter().filter(|edge| edge.1 == middle).map(|edge| edge.0).collect(),
                reach.iter().filter(|edge| edge.0 == middle).map(|edge| edge.1).collect(),
            );
            reach.extend(to.iter().flat_map(|user| from.iter().map(move |used| (*user, *used))));
        }
        let is_short = |(user, used): &(usize, usize)| {
            !(used + 1..*user)
                .any(|middle| reach.contains(&(*user, middle)) && reach.contains(&(middle, *used)))
        };
        all.into_iter().filter(is_short).collect()
    }

    /// The largest set of modules that all use each other, directly or through others.
    pub(crate) fn largest_cycle(&self) -> BTreeSet<&String> {
        let reach: BTreeMap<_, _> = self.uses.keys().map(|module| (module, self.reached(module))).collect();
        let cycle = |module: &String| {
            let back = reach[module].iter().filter(|other| reach[**other].contains(module));
            back.copied().collect::<BTreeSet<_>>()
        };
        self.uses.keys().map(cycle).max_by_key(BTreeSet::len).unwrap_or_default()
    }

    fn reached(&self, module: &String) -> BTreeSet<&String> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<_> = self.uses[module].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(&self.uses[module]);
            }
        }
        reached
    }
}
