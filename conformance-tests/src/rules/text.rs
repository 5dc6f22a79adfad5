//! The texts of errors, and the handler's own errors.

use std::error::Error as _;
use std::fmt;
use std::num::ParseIntError;

use dactor_core::{
    Actor, Context, Error, ErrorKind, Handler, Message, OrFail, Outcome, StopReason, Supervision,
};

use crate::fixtures::scripted::{ScriptedActor, async_script, script};
use crate::rules::body;
use crate::{Rule, RuleContext, State, Topic};

pub(crate) static RULES: &[Rule] = &[
    Rule::must(
        "TEXT-01",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Failure, State::Handling)],
        "An error prints one short line with the actor and the message, without its causes. The causes are in its chain of sources, follow in `{:#}`, and are on lines of their own in `{:?}`.",
        "A log line should be short enough to read.",
        body!(short),
    ),
    Rule::must(
        "TEXT-02",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "`or_fail` converts values that are no standard errors, such as texts and boxed errors, into a `Failure`; `downcast_ref` returns the handler's own error to the asker and to a supervisor above.",
        "A caller can react to the reason, however the handler created it.",
        body!(own_error),
    ),
];

async fn short(rule: RuleContext) {
    let system = rule.system();
    let parent = system.spawn(ScriptedActor::default()).name("parent").await.unwrap();
    let spawned = async_script(|_, ctx| {
        Box::pin(async move {
            let escalates = Supervision::default().decide(|_| dactor_core::Directive::Escalate);
            ctx.spawn(ScriptedActor::default()).name("child").supervision(escalates).await?;
            Ok(0)
        })
    });
    rule.soon("the child is spawned", parent.ask(spawned)).await.unwrap();
    let path = "pekko://test/user/parent/child".parse().unwrap();
    let child = system.actor_at::<ScriptedActor>(&path).unwrap();
    let long = "a text of a panic that is long enough to be a nuisance in every line of a log file";
    let asked = child.ask(script(move |_, _| panic!("{long}")));
    let panicked = rule.soon("the asker gets the error", asked).await.unwrap_err();
    assert_eq!(
        panicked.to_string(),
        "the handler panicked (actor: pekko://test/user/parent/child, message: Script)"
    );

    let StopReason::Failed(error) = rule.soon("the parent ends", parent.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!(error.kind(), ErrorKind::ChildFailed);
    let line = error.to_string();
    assert!(line.len() < 160 && line.contains("pekko://test/user/parent"), "{line}");
    assert!(!line.contains(long), "{line}");
    let cause = error.source().expect("the child's error");
    assert_eq!(cause.to_string(), panicked.to_string());
    assert_eq!(cause.source().expect("the panic").to_string(), long);
    assert_eq!(format!("{error:#}"), format!("{line}: {panicked}: {long}"));
    let story = format!("{error:?}");
    assert!(story.ends_with(&format!("\n\nCaused by:\n    0: {panicked}\n    1: {long}")), "{story}");
}

#[derive(Debug)]
struct Overdrawn(u64);

impl fmt::Display for Overdrawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cents are missing", self.0)
    }
}

impl std::error::Error for Overdrawn {}

/// An error that does not implement `std::error::Error`, like those of `anyhow` and `eyre`.
struct Foreign(ParseIntError);

impl From<Foreign> for Box<dyn std::error::Error + Send + Sync> {
    fn from(Foreign(error): Foreign) -> Self {
        error.into()
    }
}

struct Clerk;

impl Actor for Clerk {}

#[derive(Clone, Copy)]
enum ErrorSource {
    Text,
    Boxed,
    Foreign,
    Own,
}

impl Message for ErrorSource {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<ErrorSource> for Clerk {
    async fn handle(&mut self, way: ErrorSource, _ctx: &mut Context<Self>) -> Outcome<()> {
        match way {
            ErrorSource::Text => Err("no money").or_fail()?,
            ErrorSource::Boxed => {
                Err(Box::<dyn std::error::Error + Send + Sync>::from(Overdrawn(7))).or_fail()?
            }
            ErrorSource::Foreign => "seven".parse::<u8>().map(drop).map_err(Foreign).or_fail()?,
            ErrorSource::Own => Err(Overdrawn(8))?,
        }
        Ok(())
    }
}

async fn own_error(rule: RuleContext) {
    let clerk = rule.system().spawn(Clerk).await.unwrap();
    let fail = async |way: ErrorSource| -> Error {
        let error = rule.soon("the asker gets the error", clerk.ask(way)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        error
    };
    assert!(format!("{:#}", fail(ErrorSource::Text).await).ends_with(": no money"));
    let missing = |error: Error| error.downcast_ref::<Overdrawn>().map(|overdrawn| overdrawn.0);
    assert_eq!(missing(fail(ErrorSource::Boxed).await), Some(7));
    assert_eq!(missing(fail(ErrorSource::Own).await), Some(8));
    let parse = fail(ErrorSource::Foreign).await;
    assert!(parse.downcast_ref::<ParseIntError>().is_some(), "{parse:?}");
    let above = Error::new(ErrorKind::ChildFailed).because(fail(ErrorSource::Own).await);
    assert_eq!(missing(above), Some(8));
}
