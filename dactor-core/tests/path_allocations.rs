//! A path of up to eight short segments is one allocation, and so is its text.
//!
//! The counter is global, so there is one test.

use std::any::Any;
use std::hint::black_box;
use std::sync::Mutex;

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor_core::path::{ActorPath, ActorPathParts, Guardian, PathSegment};
use dactor_core::spi::{Backend, Cell, NativeHandle};
use dactor_core::{Actor, Result, System};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Other threads of the test may allocate too, so the smallest of several counts is the operation's own.
fn allocations<T>(operation: impl Fn() -> T) -> usize {
    let count = || {
        start_counting();
        let result = black_box(operation());
        let count = stop_counting();
        drop(result);
        count.allocations
    };
    (0..20).map(|_| count()).min().unwrap_or(usize::MAX)
}

#[test]
fn one_allocation_each() {
    for text in [
        "pekko://sys",
        "pekko://sys/user/a/b/c/d/e/f/g",
        "pekko.tcp://sys@host.example.com:2552/user/a/b/c/d/e/f/g#42",
        "pekko://sys@[::1]:02552/user//bank/account-42/?q#7",
        "pekko://sys/bank",
    ] {
        assert_eq!(allocations(|| text.parse::<ActorPath>().unwrap()), 1, "parse {text}");
        let path: ActorPath = text.parse().unwrap();
        assert_eq!(allocations(|| path.to_string()), 1, "print {text}");
        assert_eq!(allocations(|| path.to_serialization_format()), 1, "serialize {text}");
        assert_eq!(allocations(|| path.clone()), 1, "clone {text}");
        assert_eq!(allocations(|| path.parent()), 1, "parent {text}");
        assert_eq!(allocations(|| path.without_address().len()), 0, "look at {text}");
        assert_eq!(allocations(|| (path.segments().count(), path.host().is_some(), path == path.clone())), 1);
    }
    let parts = ActorPathParts::new("sys").unwrap();
    let user = ActorPath::new(&parts, Guardian::User).unwrap();
    let name = PathSegment::new("account-42").unwrap();
    assert_eq!(allocations(|| user.child(name).unwrap()), 1, "child");
    assert_eq!(allocations(|| user.resolve("a/../b").unwrap()), 1, "resolve");
    assert_eq!(allocations(|| "pekko://sys/user/a b".parse::<ActorPath>().is_err()), 0, "refuse");
    live_actors();
}

/// The path of an actor is built on demand, in one allocation; a lookup does not allocate.
fn live_actors() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let system = System::builder("sys").backend(Shelf::default()).build().unwrap();
        for spawn in [system.spawn(Idle), system.spawn(Idle).name("a")] {
            let actor = spawn.await.unwrap();
            let (path, exact) = (actor.path().without_uid(), actor.path());
            assert_eq!(allocations(|| actor.path()), 1, "{path}");
            assert_eq!(allocations(|| system.path_of(actor.id())), 1, "{path}");
            assert_eq!(allocations(|| system.find(&path).is_ok()), 0, "{path}");
            assert_eq!(allocations(|| system.actor_at::<Idle>(&exact).is_ok()), 0, "{path}");
        }
    });
}

struct Idle;
impl Actor for Idle {}

/// Keeps actors without running them.
#[derive(Default)]
struct Shelf(Mutex<Vec<Cell>>);

impl Backend for Shelf {
    fn name(&self) -> &'static str {
        "shelf"
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        cell.bind(Nothing);
        self.0.lock().unwrap().push(cell);
        Ok(())
    }
}

struct Nothing;

impl NativeHandle for Nothing {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}
