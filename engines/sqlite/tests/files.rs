//! Files that are not what they should be: each is a typed error, and is left as it was.

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::{Scratch, entity, join, own};
use dactor_engine::{Engine, ErrorKind, Etag, StateStore};
use dactor_sqlite::{OpenError, Sqlite};
use rusqlite::Connection;

async fn create(path: &Path) {
    let engine = Engine::from(Sqlite::open(path).unwrap());
    let node = join(&engine).await;
    let (generation, _) = own(&engine, &node, &entity("alice")).await;
    engine.state.save(&entity("alice"), generation, None, Etag::random(), "100".into()).await.unwrap();
}

/// Closes all connections, so that the file alone has the data.
async fn created(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    create(scratch.path()).await;
    for file in ["state.db", "lease.db"] {
        let file = scratch.join(file);
        for _ in 0..200 {
            if Connection::open(&file).unwrap().pragma_update(None, "journal_mode", "DELETE").is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    scratch
}

#[track_caller]
fn open_fails(path: &Path) -> OpenError {
    match Sqlite::builder(path).busy_limit(Duration::from_millis(50)).open() {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => {
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
            error
        }
    }
}

#[test]
fn a_file_instead_of_a_directory() {
    let scratch = Scratch::new("not-a-directory");
    fs::create_dir_all(scratch.path()).unwrap();
    let file = scratch.join("bank");
    fs::write(&file, "a letter").unwrap();
    assert!(matches!(open_fails(&file), OpenError::NotADirectory(_)));
    assert!(matches!(Sqlite::open(file.join("below")), Err(OpenError::NotADirectory(_))));
    assert_eq!(fs::read(&file).unwrap(), b"a letter");
}

#[test]
fn a_directory_instead_of_a_file() {
    for name in ["state.db", "lease.db", "gate"] {
        let scratch = Scratch::new("not-a-file");
        fs::create_dir_all(scratch.join(name)).unwrap();
        assert!(matches!(open_fails(scratch.path()), OpenError::NotAFile(_)), "{name}");
    }
}

#[tokio::test]
async fn a_read_only_file() {
    for name in ["state.db", "lease.db"] {
        let scratch = created("read-only").await;
        let mut permissions = fs::metadata(scratch.join(name)).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(scratch.join(name), permissions).unwrap();
        assert!(matches!(open_fails(scratch.path()), OpenError::ReadOnly(_)), "{name}");
    }
}

#[test]
fn a_file_of_something_else() {
    let text =
        b"Dear SQLite,\nI am a letter, and longer than a hundred bytes, so that my length is no hint.\n\
        Please leave me alone.\n";
    for content in [&text[..], b"short"] {
        let scratch = Scratch::new("letter");
        fs::create_dir_all(scratch.path()).unwrap();
        fs::write(scratch.join("lease.db"), "").unwrap();
        fs::write(scratch.join("state.db"), content).unwrap();
        assert!(matches!(open_fails(scratch.path()), OpenError::NotADatabase(_)));
        assert_eq!(fs::read(scratch.join("state.db")).unwrap(), content);
    }
}

#[test]
fn a_database_of_another_application() {
    let scratch = Scratch::new("foreign");
    fs::create_dir_all(scratch.path()).unwrap();
    let file = scratch.join("state.db");
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE letters (text)").unwrap();
    let before = fs::read(&file).unwrap();
    assert!(matches!(open_fails(scratch.path()), OpenError::ForeignDatabase(_)));
    assert_eq!(fs::read(&file).unwrap(), before);
    assert!(!scratch.join("lease.db").exists());
}

#[tokio::test]
async fn a_newer_version() {
    for name in ["state.db", "lease.db"] {
        let scratch = created("newer").await;
        let file = scratch.join(name);
        Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let before = fs::read(&file).unwrap();
        let error = open_fails(scratch.path());
        assert!(matches!(error, OpenError::NewerVersion { found: 99, known: 1, .. }), "{error:?}");
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

#[tokio::test]
async fn leases_of_another_database() {
    let (one, other) = (created("pair").await, created("pair").await);
    fs::copy(other.join("lease.db"), one.join("lease.db")).unwrap();
    assert!(matches!(open_fails(one.path()), OpenError::Unpaired(_)));
    fs::remove_file(one.join("lease.db")).unwrap();
    assert!(matches!(open_fails(one.path()), OpenError::Unpaired(_)));
    assert!(!one.join("lease.db").exists());
    fs::rename(other.join("state.db"), other.join("lease.db")).unwrap();
    fs::copy(other.join("lease.db"), other.join("state.db")).unwrap();
    assert!(matches!(open_fails(other.path()), OpenError::ForeignDatabase(_)), "swapped files");
}

#[tokio::test]
async fn a_locked_file() {
    let scratch = created("locked").await;
    let other = Connection::open(scratch.join("state.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert!(matches!(open_fails(scratch.path()), OpenError::Locked(_)));
    drop(other);
    Sqlite::open(scratch.path()).unwrap();
}

#[tokio::test]
async fn a_locked_gate() {
    let scratch = created("locked-gate").await;
    let gate = fs::File::open(scratch.join("gate")).unwrap();
    gate.lock().unwrap();
    assert!(matches!(open_fails(scratch.path()), OpenError::Locked(_)));
    drop(gate);
    Sqlite::open(scratch.path()).unwrap();
}

#[tokio::test]
async fn a_truncated_file() {
    let scratch = created("truncated").await;
    let file = fs::OpenOptions::new().write(true).open(scratch.join("state.db")).unwrap();
    file.set_len(4096 + 100).unwrap();
    match Sqlite::open(scratch.path()) {
        Err(OpenError::Corrupt { .. }) => {}
        Err(error) => panic!("{error:?}"),
        Ok(sqlite) => {
            let error = sqlite.read(&entity("alice")).await.unwrap_err();
            assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Io, false), "{error}");
        }
    }
}

#[tokio::test]
async fn a_damaged_page() {
    let scratch = created("damaged").await;
    let mut bytes = fs::read(scratch.join("state.db")).unwrap();
    // All pages but the first, which has the schema.
    bytes[4096..].fill(0xa5);
    fs::write(scratch.join("state.db"), &bytes).unwrap();
    match Sqlite::open(scratch.path()) {
        Err(OpenError::Corrupt { .. }) => {}
        Err(error) => panic!("{error:?}"),
        Ok(sqlite) => {
            let error = sqlite.read(&entity("alice")).await.unwrap_err();
            assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Io, false), "{error}");
        }
    }
}

#[tokio::test]
async fn a_path_with_unusual_characters() {
    let scratch = Scratch::new("unusual");
    let path = scratch.join("a b?c=d&e#f%20'\"ü");
    create(&path).await;
    let sqlite = Sqlite::open(&path).unwrap();
    let stored = sqlite.read(&entity("alice")).await.unwrap().unwrap();
    assert_eq!(stored.body.as_deref(), Some(&b"100"[..]));
}

#[test]
fn two_openings_at_once_create_one_database() {
    let scratch = Scratch::new("created-at-once");
    std::thread::scope(|scope| {
        let openings: Vec<_> = (0..8).map(|_| scope.spawn(|| Sqlite::open(scratch.path()))).collect();
        for opening in openings {
            opening.join().unwrap().unwrap();
        }
    });
}
