//! Parser cases that the vectors do not cover.

use dactor_core::path::{
    ActorPath, ActorPathError, ActorPathParts, ActorPathScheme, ActorUid, AuthorityReason, Guardian,
    PathAuthority, PathSegment, SegmentReason, UriError,
};

fn path(text: &str) -> ActorPath {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> ActorPathError {
    text.parse::<ActorPath>().expect_err(text)
}

#[test]
fn a_guardian_is_a_whole_segment_and_is_never_left_out() {
    for (text, canonical) in [
        ("pekko://sys", "pekko://sys/user"),
        ("pekko://sys?q", "pekko://sys/user"),
        ("pekko://sys/", "pekko://sys/"),
        ("pekko://sys//", "pekko://sys/"),
        ("pekko://sys/user", "pekko://sys/user"),
        ("pekko://sys/username/a", "pekko://sys/user/username/a"),
        ("pekko://sys/systems/a", "pekko://sys/user/systems/a"),
        ("pekko://sys/User", "pekko://sys/user/User"),
        ("pekko://sys/system/a", "pekko://sys/system/a"),
        ("pekko://sys/temp/a", "pekko://sys/temp/a"),
        ("pekko://sys@h/bank", "pekko://sys@h/user/bank"),
    ] {
        assert_eq!(path(text).to_string(), canonical);
        assert_eq!(path(canonical), path(text), "it is read as it was printed");
    }
    assert_eq!(path("pekko://sys/users").guardian(), Some(Guardian::User));
    assert_eq!(path("pekko://sys/system").guardian(), Some(Guardian::System));
    assert_eq!(path("pekko://sys/").guardian(), None);
}

#[test]
fn a_leading_dollar_is_for_the_system() {
    for good in
        ["pekko://sys/system/$a", "pekko://sys/temp/$a/$b", "pekko://sys/user/a$", "pekko://sys/user/%24a"]
    {
        assert_eq!(path(good).to_string(), good);
    }
    for (bad, index) in [
        ("pekko://sys/$a", 0),
        ("pekko://sys/user/$a", 1),
        ("pekko://sys/user/a//$b", 2),
        ("pekko://sys/systems/$a", 1),
        ("pekko://sys/a/system/$b", 2),
    ] {
        let ActorPathError::InvalidSegment { index: at, error } = error(bad) else { panic!("{bad}") };
        assert_eq!((at, error.reason(), error.position()), (index, SegmentReason::Reserved, 0), "{bad}");
    }
    let generated = path("pekko://sys/user").child(PathSegment::generated("$a").unwrap()).unwrap();
    assert_eq!(generated.to_string(), "pekko://sys/user/$a", "the system itself gives such names anywhere");
    for unnamed in
        ["pekko://sys/user/$17", "pekko://sys/user/a/$17/b", "pekko://sys/user/$18446744073709551615"]
    {
        assert_eq!(path(unnamed).to_string(), unnamed, "as it is printed for an actor without a name");
    }
    for other in ["pekko://sys/user/$0", "pekko://sys/user/$017", "pekko://sys/user/$17a", "pekko://sys/$17"]
    {
        error(other);
    }
    assert!(PathSegment::new("$17").is_err(), "a generated name cannot be chosen");
    assert!(path("pekko://sys/system").join("$a").is_ok());
    assert!(path("pekko://sys/user/b").join("$a").is_err());
}

#[test]
fn authorities() {
    for (text, system, host, port) in [
        ("pekko://my_sys", "my_sys", None, None),
        ("pekko://a.b-c", "a.b-c", None, None),
        ("pekko.tcp://sys/user", "sys", None, None),
        ("pekko://sys@h", "sys", Some("h"), None),
        ("pekko://sys@h:0", "sys", Some("h"), Some(0)),
        ("pekko://sys@h:65535", "sys", Some("h"), Some(65535)),
        ("pekko://sys@h:0080", "sys", Some("h"), Some(80)),
        ("pekko://a:b@h:1", "a:b", Some("h"), Some(1)),
        ("pekko://sys@H.Example:1", "sys", Some("H.Example"), Some(1)),
        ("pekko://sys@[fe80::1%eth0]:1", "sys", Some("[fe80::1%eth0]"), Some(1)),
    ] {
        let path = path(text);
        assert_eq!((path.system(), path.host(), path.port()), (system, host, port), "{text}");
        assert_eq!(ActorPath::new(&path.parts(), Guardian::User).unwrap(), path);
    }
    use AuthorityReason as R;
    for (text, reason, position) in [
        ("pekko:/user/a", R::Missing, 6),
        ("pekko:user", R::Missing, 6),
        ("pekko:///user", R::Missing, 6),
        ("pekko://@h/user", R::System, 8),
        ("pekko://a b/user", R::System, 9),
        ("pekko://a%C3%A9/user", R::System, 9),
        ("pekko://sys:2552/user", R::System, 11),
        ("pekko://sys@/user", R::Host, 12),
        ("pekko://sys@:1/user", R::Host, 12),
        ("pekko://sys@in_valid:1/user", R::Host, 14),
        ("pekko://sys@a@b/user", R::Host, 13),
        ("pekko://sys@[::1/user", R::Host, 12),
        ("pekko://sys@::1/user", R::Host, 12),
        ("pekko://sys@h:/user", R::Port, 14),
        ("pekko://sys@h:+1/user", R::Port, 14),
        ("pekko://sys@h:-1/user", R::Port, 14),
        ("pekko://sys@h:65536/user", R::Port, 14),
        ("pekko://sys@[::1]:x/user", R::Port, 18),
    ] {
        let ActorPathError::UnsupportedAuthority(error) = error(text) else { panic!("{text}") };
        assert_eq!((error.reason(), error.position()), (reason, position), "{text}");
    }
    let longest = "h".repeat(255);
    assert_eq!(path(&format!("pekko://sys@{longest}:1")).host(), Some(&*longest));
    assert!(PathAuthority::new(&format!("{longest}h"), None).is_err());
    assert!(ActorPathParts::new("a:b").is_err());
}

#[test]
fn schemes_and_uris() {
    for bad in ["akka://sys/user", "pekko.udp://sys/user", "PEKKO://sys/user", "pekkos://sys", "http://h/a b"]
    {
        assert_eq!(error(bad), ActorPathError::InvalidScheme, "{bad}");
    }
    for (bad, uri) in [
        ("", UriError::InvalidScheme { position: 0 }),
        ("/user/a", UriError::InvalidScheme { position: 0 }),
        ("user/a", UriError::InvalidScheme { position: 0 }),
        ("//sys/user", UriError::InvalidScheme { position: 0 }),
        (" pekko://sys", UriError::InvalidScheme { position: 0 }),
        ("pekko://sys/user?^", UriError::InvalidQuery { position: 17 }),
        ("pekko://sys/user#1#2", UriError::InvalidFragment { position: 18 }),
        ("pekko://sys/user#%", UriError::InvalidPercentEncoding { position: 17 }),
    ] {
        assert_eq!(error(bad), ActorPathError::InvalidUri(uri), "{bad}");
    }
    let parts = path("pekko.tcp://sys/user").parts();
    assert_eq!(parts.scheme(), ActorPathScheme::PekkoTcp);
    assert_eq!(parts.with_scheme(ActorPathScheme::Pekko), ActorPathParts::new("sys").unwrap());
}

#[test]
fn uids() {
    for (text, uid) in [
        ("pekko://sys/user/a", None),
        ("pekko://sys/user/a#0", Some(0)),
        ("pekko://sys/user/a/#007", Some(7)),
        ("pekko://sys/user/a?q#18446744073709551615", Some(u64::MAX)),
    ] {
        assert_eq!(path(text).uid().map(ActorUid::get), uid, "{text}");
    }
    for bad in ["#", "#a", "#-1", "#+1", "#1.0", "#18446744073709551616", "#%31"] {
        let ActorPathError::InvalidSegment { index, error } = error(&format!("pekko://sys/user/a{bad}"))
        else {
            panic!("{bad}")
        };
        assert_eq!((index, error.reason(), error.position()), (1, SegmentReason::Uid, 2), "{bad}");
    }
    let incarnation = path("pekko://sys/user/a#7");
    assert_eq!(incarnation.join("b").unwrap().uid(), None, "a child is another actor");
    assert_eq!(incarnation.resolve(".").unwrap().uid(), Some(ActorUid::new(7)), "here is the same one");
    assert_eq!(incarnation.resolve("../a").unwrap().uid(), None);
    assert_eq!(incarnation.resolve("b#8/c").unwrap().uid(), None);
    assert_eq!(incarnation.resolve("b/c#8").unwrap().uid(), Some(ActorUid::new(8)));
}

#[test]
fn relatives() {
    let root = path("pekko://sys/");
    assert_eq!(root.parent(), None);
    assert_eq!(root.name(), None);
    assert_eq!(root.join("system").unwrap(), path("pekko://sys/system"));
    assert_eq!(
        root.join("a").unwrap(),
        path("pekko://sys/user/a"),
        "every name below the root is below a guardian"
    );
    assert_eq!(path("pekko://sys/user").parent(), Some(root.clone()));
    assert_eq!(root.resolve(".."), Err(ActorPathError::RelativeEscape { index: 0 }));
    assert_eq!(root.resolve("system/$a").unwrap(), path("pekko://sys/system/$a"));
    let a = path("pekko://sys@h:1/user/a");
    assert_eq!(a.resolve("/").unwrap(), path("pekko://sys@h:1/"));
    assert_eq!(a.resolve("./..//b/").unwrap(), path("pekko://sys@h:1/user/b"));
    assert_eq!(a.name().unwrap().as_str(), "a");
    let elsewhere = path("pekko.tcp://other@x:2").parts();
    assert_eq!(a.with_address(&elsewhere).unwrap(), a, "it says already where it is");
    let moved = path("pekko://sys/user/a#7").with_address(&elsewhere).unwrap();
    assert_eq!(moved.to_serialization_format(), "pekko.tcp://other@x:2/user/a#7");
    assert_eq!(moved.host_port(), "other@x:2");
}
