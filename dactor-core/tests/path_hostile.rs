//! Malicious input: each text ends in a typed error with a position, after bounded work.

use dactor_core::path::{
    ActorPath, ActorPathError, ActorPathParser, ActorSelection, SegmentReason, SelectionPath, UriParser,
};

const HUGE: usize = 10 << 20;

fn user() -> ActorPath {
    "pekko://sys/user/a".parse().unwrap()
}

/// Where and why the decoded escapes of a segment are refused.
fn decode_error(result: Result<ActorPath, ActorPathError>) -> (usize, SegmentReason, usize) {
    match result {
        Err(ActorPathError::PercentDecode { index, error }) => (index, error.reason(), error.position()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_name_cannot_break_a_line_of_a_log() {
    for escape in ["%0A", "%0a", "%0D", "%00", "%1B", "%7F"] {
        let injected = format!("pekko://sys/user/a/b{escape}ERROR%20forged");
        assert_eq!(decode_error(injected.parse()), (2, SegmentReason::Control, 1), "{escape}");
        assert_eq!(
            decode_error(user().resolve(&format!("x/{escape}"))),
            (1, SegmentReason::Control, 0),
            "{escape}"
        );
        let in_system = format!("pekko://sys{escape}@host:1/user").parse::<ActorPath>().unwrap_err();
        assert!(matches!(in_system, ActorPathError::UnsupportedAuthority(error) if error.position() == 11));
    }
    for raw in ["\n", "\r", "\0", "\u{1b}", "\u{85}", "\u{2028}"] {
        let error = format!("pekko://sys/user/a{raw}b").parse::<ActorPath>().unwrap_err();
        assert!(matches!(error, ActorPathError::InvalidSegment { index: 1, error } if error.position() == 1));
        assert!(
            error.to_string().bytes().all(|byte| (b' '..0x7f).contains(&byte)),
            "an error forges nothing either"
        );
    }
}

#[test]
fn a_name_cannot_lead_elsewhere() {
    for (hidden, position) in
        [("..%2F..", 2), ("..%2f..%2Fsystem", 2), ("%2E%2E", 0), (".%2e", 1), ("a%2F..%2Fb", 1)]
    {
        let expected = (1, SegmentReason::Traversal, position);
        assert_eq!(decode_error(format!("pekko://sys/user/{hidden}").parse()), expected, "{hidden}");
        assert_eq!(decode_error(user().join(hidden)).1, SegmentReason::Traversal, "{hidden}");
        assert_eq!(decode_error(user().resolve(hidden)).1, SegmentReason::Traversal, "{hidden}");
        assert!(ActorSelection::parse(hidden).is_err(), "{hidden}");
    }
    // An encoded slash alone is a character of a name.
    let path: ActorPath = "pekko://sys/user/a%2Fsystem".parse().unwrap();
    assert_eq!(path.segments().len(), 2);
    assert_eq!(user().resolve("../../system/log"), Err(ActorPathError::RelativeEscape { index: 1 }));
    assert_eq!(ActorSelection::parse("/user/../system"), Err(ActorPathError::RelativeEscape { index: 1 }));
}

#[test]
fn ten_megabytes_are_not_read() {
    let a = "a".repeat(HUGE);
    for huge in [
        a.clone(),
        format!("{a}://sys/user"),
        format!("pekko://{a}/user"),
        format!("pekko://sys@{a}:1/user"),
        format!("pekko://sys@h:{}1/user", "0".repeat(HUGE)),
        format!("pekko://sys/user/{a}"),
        format!("pekko://sys/user{}", "/".repeat(HUGE)),
        format!("pekko://sys/user/a?{a}"),
        format!("pekko://sys/user/a#{}", "1".repeat(HUGE)),
        "%2".repeat(HUGE / 2),
    ] {
        let refused = ActorPathError::TooLong { length: huge.len() };
        assert_eq!(ActorPathParser::parse(&huge), Err(refused));
        assert_eq!(user().resolve(&huge), Err(refused));
        assert_eq!(user().join(&huge), Err(refused));
        assert_eq!(ActorSelection::parse(&huge), Err(refused));
        assert_eq!(SelectionPath::compile(&huge), Err(refused));
        // The URI grammar has no length limit; parsing is one pass without allocations.
        let _ = UriParser::parse(&huge);
    }
}

#[test]
fn depth_is_bounded_by_length() {
    let deep = |depth: usize| format!("pekko://sys/user{}", "/a".repeat(depth));
    let most = (ActorPath::LONGEST - deep(0).len()) / 2;
    let deepest: ActorPath = deep(most).parse().unwrap();
    assert_eq!(deepest.segments().len(), most + 1);
    assert_eq!(deepest.parent().unwrap().segments().len(), most);
    let length = deep(most + 1).len();
    assert_eq!(deep(most + 1).parse::<ActorPath>(), Err(ActorPathError::TooLong { length }));
    assert_eq!(deepest.join("a"), Err(ActorPathError::TooLong { length }));
    assert_eq!(deepest.resolve("a"), Err(ActorPathError::TooLong { length }));
    assert!(deep(1_000_000).parse::<ActorPath>().is_err());
    // A parsed path has room for the guardian that it omitted.
    let bare = format!("pekko://sys/{}", "a".repeat(ActorPath::LONGEST - 12));
    assert_eq!(bare.parse::<ActorPath>(), Err(ActorPathError::TooLong { length: ActorPath::LONGEST + 5 }));
}
