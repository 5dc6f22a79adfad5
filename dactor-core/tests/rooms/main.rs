//! The rooms of the core: the folders of `src`, from the bottom to the top. A module uses its own room and
//! those below it; exceptions are listed in `exceptions.rs` with their reasons.
//!
//! This reads the paths (`crate::…`, `super::…`) in the sources, without tests and comments, and draws the picture in
//! `ARCHITECTURE.md`. After a change:
//!
//! ```sh
//! UPDATE_ROOMS=1 cargo test --package dactor-core --test rooms
//! ```

mod exceptions;
mod graph;
mod picture;
mod sizes;
mod source;
mod walks;

use std::path::Path;

use self::exceptions::{EXCEPTIONS, MOST_EXCEPTIONS};
use self::graph::Graph;
use self::source::Source;

/// From the bottom to the top. All other modules of the crate are above them.
const ROOMS: [&str; 12] = [
    "path",
    "identity",
    "base",
    "message",
    "mailbox",
    "interceptor",
    "delivery",
    "supervision",
    "kernel",
    "actor",
    "actor_ref",
    "system",
];

/// The number of modules in the largest dependency cycle: 50 before there were rooms. If it shrinks, lower
/// this number.
const LARGEST_CYCLE: usize = 33;

fn sources() -> Source {
    Source::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

#[test]
fn no_module_uses_a_room_above_its_own() {
    let graph = Graph::new(&sources());
    let upward = graph.upward();
    let is_listed = |module: &str, room: &str| {
        EXCEPTIONS.iter().any(|exception| (exception.module, exception.room) == (module, room))
    };
    let new: Vec<_> = upward.iter().filter(|(module, room)| !is_listed(module, room)).collect();
    assert!(
        new.is_empty(),
        "these modules use a room above their own, as (module, room): {new:#?}\nMove the used item to a lower room. \
         If it belongs where it is, add an exception with its reason to tests/rooms/exceptions.rs."
    );
    for exception in EXCEPTIONS {
        assert!(
            upward.contains(&(exception.module.to_owned(), exception.room.to_owned())),
            "{} no longer uses {}: remove the exception",
            exception.module,
            exception.room
        );
    }
    assert!(EXCEPTIONS.len() <= MOST_EXCEPTIONS, "there are more than {MOST_EXCEPTIONS} exceptions");
}

#[test]
fn the_largest_cycle_does_not_grow() {
    let graph = Graph::new(&sources());
    let cycle = graph.largest_cycle();
    assert_eq!(cycle.len(), LARGEST_CYCLE, "the modules of the largest dependency cycle: {cycle:#?}");
}

#[test]
fn every_folder_is_a_room() {
    let source = sources();
    let rooms = source.rooms();
    for room in ROOMS {
        assert!(rooms.contains(room), "src/{room} has no modules");
    }
    let top: Vec<_> = rooms.iter().filter(|room| !ROOMS.contains(&room.as_str())).collect();
    assert_eq!(top, ["interceptors", "spi", "testkit", "wire"], "the modules above the rooms");
}

#[test]
fn the_picture_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    // The page is not part of the package.
    let Ok(text) = std::fs::read_to_string(&page) else { return };
    let source = sources();
    let drawn = picture::insert(&text, &picture::draw(&source, &Graph::new(&source)));
    if std::env::var_os("UPDATE_ROOMS").is_some() {
        std::fs::write(&page, drawn).unwrap();
    } else {
        assert!(text == drawn, "the rooms in ARCHITECTURE.md are stale: run this test with UPDATE_ROOMS=1");
    }
}
