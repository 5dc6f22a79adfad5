//! Actors without a life, for tests of what surrounds them.

use std::sync::Arc;

use crate::mailbox::Mailbox;
use crate::path::Guardian;
use crate::shared::{Control, Head, Shared};
use crate::spi::{Backend, Cell};
use crate::{Actor, Context, Error, ErrorKind, Handler, Outcome, Result, System, Terminated};

pub(crate) struct Puppet;

impl Actor for Puppet {}

impl Handler<Terminated> for Puppet {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        Ok(())
    }
}

struct Nowhere;

impl Backend for Nowhere {
    fn name(&self) -> &'static str {
        "nowhere"
    }

    fn spawn(&self, _: Cell) -> Result<()> {
        Err(Error::new(ErrorKind::Backend))
    }
}

pub(crate) fn system() -> System {
    System::builder("puppets").backend(Nowhere).build().unwrap()
}

/// One at the top.
pub(crate) fn puppet(system: &System, guardian: Guardian) -> Arc<Shared<Puppet>> {
    let head = Head::new(None, system.clone(), guardian, None, None).unwrap();
    Arc::new(Shared { mailbox: Mailbox::new(None), head })
}

/// A child that its parent does not know yet.
pub(crate) fn child(parent: &Arc<Shared<Puppet>>, name: Option<&str>) -> Arc<Shared<Puppet>> {
    let (system, above) = (parent.head.system.clone(), parent.clone() as Arc<dyn Control>);
    let head = Head::new(name.map(Arc::from), system, Guardian::User, Some(above), None).unwrap();
    Arc::new(Shared { mailbox: Mailbox::new(None), head })
}
