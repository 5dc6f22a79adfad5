//! How errors read, and what a handler's own error becomes.

use std::error::Error as _;
use std::fmt;
use std::num::ParseIntError;

use dactor_core::{
    Actor, Context, Error, ErrorKind, Handler, Message, OrFail, Outcome, StopReason, Supervision,
};

use super::body;
use super::fixture::{Desk, job, quick};
use crate::{Lab, Rule, State, Topic};

pub(super) static RULES: &[Rule] = &[
    Rule::must(
        "TEXT-01",
        Topic::Panic,
        &[(Topic::Panic, State::Handling), (Topic::Failure, State::Handling)],
        "An error prints one short line that names the actor and the message, and repeats no cause: the causes are in its chain of sources, after `{:#}`, and on lines of their own in `{:?}`.",
        "A line of a log is read; a paragraph is not.",
        body!(short),
    ),
    Rule::must(
        "TEXT-02",
        Topic::Failure,
        &[(Topic::Failure, State::Handling)],
        "With `or_fail` a handler fails with what is no standard error, such as a text or a boxed error; `downcast_ref` gives the asker, and a supervisor above, the handler's own error.",
        "A caller can act on the reason, however the handler came by it.",
        body!(own_error),
    ),
];

async fn short(lab: Lab) {
    let system = lab.system();
    let parent = system.spawn(Desk::default()).name("parent").await.unwrap();
    let born = job(|_, ctx| {
        Box::pin(async move {
            let escalates = Supervision::default().decide(|_| dactor_core::Directive::Escalate);
            ctx.spawn(Desk::default()).name("child").supervision(escalates).await?;
            Ok(0)
        })
    });
    lab.soon("a child is born", parent.ask(born)).await.unwrap();
    let path = "pekko://lab/user/parent/child".parse().unwrap();
    let child = system.actor_at::<Desk>(&path).unwrap();
    let long = "a text of a panic that is long enough to be a nuisance in every line of a log file";
    let asked = child.ask(quick(move |_, _| panic!("{long}")));
    let panicked = lab.soon("the asker is told", asked).await.unwrap_err();
    assert_eq!(
        panicked.to_string(),
        "the handler panicked (actor: pekko://lab/user/parent/child, message: Do)"
    );

    let StopReason::Failed(error) = lab.soon("the parent ends", parent.wait()).await.unwrap() else {
        panic!("not failed")
    };
    assert_eq!(error.kind(), ErrorKind::ChildFailed);
    let line = error.to_string();
    assert!(line.len() < 160 && line.contains("pekko://lab/user/parent"), "{line}");
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

/// An error that is none, like those of `anyhow` and `eyre`.
struct Foreign(ParseIntError);

impl From<Foreign> for Box<dyn std::error::Error + Send + Sync> {
    fn from(Foreign(error): Foreign) -> Self {
        error.into()
    }
}

struct Clerk;
impl Actor for Clerk {}

#[derive(Clone, Copy)]
enum Way {
    Text,
    Boxed,
    Foreign,
    Own,
}

impl Message for Way {
    type Reply = ();
}

impl Handler<Way> for Clerk {
    async fn handle(&mut self, way: Way, _ctx: &mut Context<Self>) -> Outcome<()> {
        match way {
            Way::Text => Err("no money").or_fail()?,
            Way::Boxed => Err(Box::<dyn std::error::Error + Send + Sync>::from(Overdrawn(7))).or_fail()?,
            Way::Foreign => "seven".parse::<u8>().map(drop).map_err(Foreign).or_fail()?,
            Way::Own => Err(Overdrawn(8))?,
        }
        Ok(())
    }
}

async fn own_error(lab: Lab) {
    let clerk = lab.system().spawn(Clerk).await.unwrap();
    let fail = async |way: Way| -> Error {
        let error = lab.soon("the asker is told", clerk.ask(way)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        error
    };
    assert!(format!("{:#}", fail(Way::Text).await).ends_with(": no money"));
    let missing = |error: Error| error.downcast_ref::<Overdrawn>().map(|overdrawn| overdrawn.0);
    assert_eq!(missing(fail(Way::Boxed).await), Some(7));
    assert_eq!(missing(fail(Way::Own).await), Some(8));
    let parse = fail(Way::Foreign).await;
    assert!(parse.downcast_ref::<ParseIntError>().is_some(), "{parse:?}");
    let above = Error::new(ErrorKind::ChildFailed).because(fail(Way::Own).await);
    assert_eq!(missing(above), Some(8));
}
