//! For random trees of live actors: every printed path parses back to an equal one, and finds its actor.
//!
//! `DACTOR_TREE_CASES` sets on how many trees.

#[path = "support/tokio_tasks.rs"]
mod tokio_tasks;

use std::sync::{Arc, Mutex};

use dactor_core::path::{ActorPathScheme, Guardian, PathAuthority};
use dactor_core::{
    Actor, ActorPath, ActorRef, ActorSystemConfig, Context, ErrorKind, Event, Handler, Message, Outcome,
    Result, System,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use tokio_tasks::TokioTasks;

struct Branch;
impl Actor for Branch {}

struct Grow(Option<String>);

impl Message for Grow {
    type Reply = Result<ActorRef<Branch>, ErrorKind>;
    type Access = dactor_core::Exclusive;
}

impl Handler<Grow> for Branch {
    async fn handle(
        &mut self,
        Grow(name): Grow,
        ctx: &mut Context<Self>,
    ) -> Outcome<<Grow as Message>::Reply> {
        Ok(spawn(ctx.spawn(Branch), name).await)
    }
}

struct Find(String);

impl Message for Find {
    type Reply = Option<ActorRef<Branch>>;
    type Access = dactor_core::Exclusive;
}

impl Handler<Find> for Branch {
    async fn handle(
        &mut self,
        Find(name): Find,
        ctx: &mut Context<Self>,
    ) -> Outcome<Option<ActorRef<Branch>>> {
        Ok(ctx.child(&name))
    }
}

/// The selections to try, and the paths that each found.
struct Look(Vec<String>);

impl Message for Look {
    type Reply = Vec<Vec<ActorPath>>;
    type Access = dactor_core::Exclusive;
}

impl Handler<Look> for Branch {
    async fn handle(&mut self, Look(texts): Look, ctx: &mut Context<Self>) -> Outcome<Vec<Vec<ActorPath>>> {
        let found = |text: &String| {
            let selected = ctx.select(text).map(|selection| selection.identify()).unwrap_or_default();
            selected.iter().map(|identity| identity.path()).collect()
        };
        Ok(texts.iter().map(found).collect())
    }
}

async fn spawn(
    spawn: dactor_core::Spawn<Branch>,
    name: Option<String>,
) -> Result<ActorRef<Branch>, ErrorKind> {
    let spawn = if let Some(name) = name { spawn.name(name) } else { spawn };
    spawn.await.map_err(|error| error.kind())
}

#[derive(Debug, Clone)]
struct Planted {
    parent: Option<Index>,
    name: Option<String>,
    service: bool,
}

/// Mostly plain names, arbitrary text, and some that look like other syntax.
fn names() -> impl Strategy<Value = Option<String>> {
    let odd = select(vec![
        "user", "system", "temp", "*", "a?", "$1", "..", ".", "...", "", "a b", "%2F", "#7", "%41", "A",
        "%2e", "%2E%2E", "~41", "a/../b",
    ]);
    option::of(
        prop_oneof![3 => "[a-zA-Z0-9._~:@&=+,!;'*-]{1,12}", 1 => "([a-z]|%[2-6][0-9]){1,6}", 1 => any::<String>(), 1 => odd.prop_map(str::to_owned)],
    )
}

fn planted() -> impl Strategy<Value = Planted> {
    (option::weighted(0.8, any::<Index>()), names(), any::<bool>())
        .prop_map(|(parent, name, service)| Planted { parent, name, service })
}

fn config() -> impl Strategy<Value = ActorSystemConfig> {
    let authority = option::of((select(vec!["host", "db.example.com", "[::1]"]), option::of(any::<u16>())));
    ("[a-z][a-z0-9-]{0,8}", any::<bool>(), authority, any::<bool>()).prop_map(
        |(name, tcp, authority, services)| {
            let config = ActorSystemConfig::new(name)
                .scheme(if tcp { ActorPathScheme::PekkoTcp } else { ActorPathScheme::Pekko })
                .guardian(if services { Guardian::System } else { Guardian::User });
            match authority {
                Some((host, port)) => config.authority(PathAuthority::new(host, port).expect("a host")),
                None => config,
            }
        },
    )
}

async fn try_tree(config: ActorSystemConfig, tree: Vec<Planted>) -> std::result::Result<(), TestCaseError> {
    let printed: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = printed.clone();
    let observe = move |event: &Event| {
        if let Event::Spawned { actor, .. } = event {
            record.lock().unwrap().push(actor.to_string());
        }
    };
    let system = System::builder(config).backend(TokioTasks).observe(observe).build().unwrap();
    let mut actors: Vec<ActorRef<Branch>> = Vec::new();
    for Planted { parent, name, service } in tree {
        let parent = parent.filter(|_| !actors.is_empty()).map(|parent| parent.get(&actors).clone());
        let born = match parent {
            Some(ref parent) => parent.ask(Grow(name.clone())).await.unwrap(),
            None if service => spawn(system.spawn_service(Branch), name.clone()).await,
            None => spawn(system.spawn(Branch), name.clone()).await,
        };
        match born {
            Ok(actor) => {
                prop_assert_eq!(actor.name(), name.as_deref());
                let found = match (name, parent) {
                    (None, _) => Some(actor.clone()),
                    (Some(name), Some(parent)) => {
                        let again = parent.ask(Grow(Some(name.clone()))).await.unwrap();
                        prop_assert_eq!(again.err(), Some(ErrorKind::NameTaken));
                        parent.ask(Find(name)).await.unwrap()
                    }
                    (Some(_), None) if service => Some(actor.clone()),
                    (Some(name), None) => system.get(&name),
                };
                prop_assert_eq!(found.as_ref(), Some(&actor));
                actors.push(actor);
            }
            Err(ErrorKind::NameTaken) => prop_assert!(name.is_some()),
            Err(kind) => {
                prop_assert_eq!(kind, ErrorKind::InvalidName);
                let name = name.unwrap_or_default();
                prop_assert!(name.is_empty() || name == "." || name == ".." || name.starts_with('$'));
            }
        }
    }
    let labels = std::mem::take(&mut *printed.lock().unwrap());
    prop_assert_eq!(labels.len(), actors.len());
    for (actor, label) in actors.iter().zip(&labels) {
        let path = actor.path();
        let parsed: ActorPath =
            label.parse().map_err(|error| TestCaseError::fail(format!("{label}: {error}")))?;
        prop_assert_eq!(&parsed, &path);
        prop_assert_eq!(&parsed.to_string(), label);
        let exact: ActorPath = path.to_serialization_format().parse().unwrap();
        prop_assert!(exact.is_same_incarnation(&path));
        prop_assert_eq!(system.actor_at::<Branch>(&parsed).ok(), Some(actor.clone()));
        prop_assert_eq!(system.actor_at::<Branch>(&exact).ok(), Some(actor.clone()));
        prop_assert!(system.path_of(actor.id()).is_some_and(|found| found.is_same_incarnation(&path)));
        let relative = vec![".".to_owned(), "*".into(), path.without_address().into(), "../*".into()];
        let found = actor.ask(Look(relative)).await.unwrap();
        prop_assert_eq!(&found[0], std::slice::from_ref(&path));
        let children = actors.iter().filter(|child| child.path().parent().as_ref() == Some(&path)).count();
        prop_assert_eq!(found[1].len(), children);
        prop_assert_eq!(&found[2], std::slice::from_ref(&path));
        for text in [label, &path.to_serialization_format()] {
            let selected = system.select(text).unwrap().identify();
            prop_assert_eq!(selected.len(), 1, "{}", text);
            prop_assert_eq!(selected[0].id(), actor.id());
        }
        prop_assert!(found[3].contains(&path));
    }
    system.shutdown().await.unwrap();
    prop_assert!(actors.iter().all(|actor| system.find(&actor.path()).is_err()));
    Ok(())
}

#[test]
fn what_is_printed_is_found() {
    let cases = std::env::var("DACTOR_TREE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200);
    let config_of_run = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let strategy = (config(), vec(planted(), 1..40));
    TestRunner::new(config_of_run)
        .run(&strategy, |(config, tree)| runtime.block_on(try_tree(config, tree)))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn no_selection_panics_or_leaves_its_guardian() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let system = System::builder("sys").backend(TokioTasks).build().unwrap();
    let here = runtime.block_on(async {
        let top = system.spawn(Branch).name("a").await.unwrap();
        system.spawn_service(Branch).name("a").await.unwrap();
        top.ask(Grow(Some("b".into()))).await.unwrap().unwrap()
    });
    let token = select(vec![
        "a",
        "b",
        "/",
        "..",
        ".",
        "*",
        "?",
        "#",
        "1",
        "$",
        "pekko://sys",
        "user",
        "system",
        "%2F",
        "%0A",
        " ",
        "é",
    ]);
    let config = ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() };
    let law = |tokens: Vec<&str>| {
        let text = tokens.concat();
        let _ = system.select(&text).map(|selection| selection.identify());
        let relative = !text.starts_with('/') && !text.contains("://");
        let found = runtime.block_on(async { here.ask(Look(vec![text.clone()])).await }).unwrap();
        for path in found.iter().flatten().filter(|_| relative) {
            prop_assert_eq!(path.guardian(), Some(Guardian::User), "{}", text);
        }
        Ok(())
    };
    TestRunner::new(config).run(&vec(token, 0..16), law).unwrap_or_else(|failure| panic!("{failure}"));
}

/// A chain as deep as paths allow is spawned, printed, found and ended without recursion over it.
#[test]
fn a_deep_chain() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let system = System::builder("sys").backend(TokioTasks).build().unwrap();
        let mut last = system.spawn(Branch).name("a").await.unwrap();
        let mut depth = 1;
        let refused = loop {
            match last.ask(Grow(Some("a".into()))).await.unwrap() {
                Ok(child) => last = child,
                Err(kind) => break kind,
            }
            depth += 1;
        };
        assert_eq!(refused, ErrorKind::InvalidName);
        assert!(depth > 32_000, "{depth}");
        assert_eq!(system.actor_at::<Branch>(&last.path()).ok().as_ref(), Some(&last));
        assert_eq!(last.path().segments().len(), depth + 1);
        let top = system.get::<Branch>("a").unwrap();
        top.kill();
        top.wait().await.unwrap();
        assert_eq!(system.actor_count(), 0);
        assert!(system.find(&last.path()).is_err());
    });
}
