//! Placements and claims.

use dactor_engine::decide::{self, ClaimDecision, PlacementRow, Standing};
use dactor_engine::{Claim, ClaimToken, EntityId, ErrorKind, Generation, NodeId, Placement};
use tokio_postgres::Row;

use crate::connection::Connection;
use crate::error::{Effect, Fault};
use crate::statements::Statements;
use crate::values::{Uuid, generation, get, int8, node, token};

/// How often a claim is retried when the row changed between the refusal and the lookup of its reason.
const ATTEMPTS: usize = 10;

pub(crate) async fn lookup(
    connection: &mut Connection,
    statements: &Statements,
    id: &EntityId,
) -> Result<Option<Placement>, Fault> {
    let key = (id.namespace(), id.actor_type(), id.key());
    let rows = connection.query(&statements.lookup, &[&key.0, &key.1, &key.2], Effect::Read).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(Placement { generation: generation(row, 0)?, owner: node(row, 1, 2)? }))
}

pub(crate) async fn claim(
    connection: &mut Connection,
    statements: &Statements,
    id: &EntityId,
    claimant: &NodeId,
    claim_token: ClaimToken,
) -> Result<Claim, Fault> {
    let (namespace, actor_type, key) = (id.namespace(), id.actor_type(), id.key());
    let (incarnation, address) = (int8(claimant.incarnation().get()), claimant.address());
    let token = Uuid::from(claim_token);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&namespace, &actor_type, &key, &incarnation, &address, &token];
    for _ in 0..ATTEMPTS {
        let rows = connection.query(&statements.claim, &parameters, Effect::Write).await?;
        if let Some(row) = rows.first() {
            return Ok(Claim::Granted(generation(row, 0)?));
        }
        // Looks up why there was no row. Nothing was changed.
        let rows = connection.query(&statements.standing, &parameters[..4], Effect::Read).await?;
        let row = rows.first().ok_or_else(|| Fault::new(ErrorKind::Serialization, "no standing"))?;
        if let Some(claim) = answer(row, claimant, claim_token)? {
            return Ok(claim);
        }
    }
    Err(Fault::new(ErrorKind::Unavailable, "the placement changed during every attempt"))
}

/// The answer to a claim that changed nothing; `None` if it would be granted now.
fn answer(row: &Row, claimant: &NodeId, claim_token: ClaimToken) -> Result<Option<Claim>, Fault> {
    let standing = |member: bool, dead: bool| match (member, dead) {
        (false, _) => Standing::Unknown,
        (true, false) => Standing::Alive,
        (true, true) => Standing::Dead,
    };
    let claimants = standing(get(row, 1)?, get(row, 0)?);
    let owners = standing(get(row, 6)?, get(row, 7)?);
    let placement = if get::<Option<i64>>(row, 2)?.is_some() {
        let owner = node(row, 3, 4)?.zip(token(row, 5)?);
        Some(PlacementRow { generation: generation(row, 2)?, owner })
    } else {
        None
    };
    match decide::claim(placement.as_ref(), owners, claimants, claimant, claim_token) {
        ClaimDecision::Grant(_) => Ok(None),
        ClaimDecision::Repeat(generation) => Ok(Some(Claim::Granted(generation))),
        ClaimDecision::OwnedElsewhere => match placement {
            Some(PlacementRow { generation, owner: Some((owner, _)) }) => {
                Ok(Some(Claim::OwnedElsewhere { owner, generation }))
            }
            _ => Err(Fault::new(ErrorKind::Serialization, "an entity without an owner is owned elsewhere")),
        },
        ClaimDecision::Refuse => {
            let what = if claimants == Standing::Dead { "dead" } else { "not a member of the namespace" };
            Err(Fault::new(ErrorKind::Fenced, format!("{claimant} is {what}")))
        }
        ClaimDecision::Exhausted => Err(Fault::new(ErrorKind::TooLarge, "all generations are used up")),
    }
}

pub(crate) async fn release(
    connection: &mut Connection,
    statements: &Statements,
    id: &EntityId,
    generation: Generation,
) -> Result<bool, Fault> {
    let key = (id.namespace(), id.actor_type(), id.key());
    connection.changes(&statements.release, &[&key.0, &key.1, &key.2, &int8(generation.get())]).await
}
