//! The SQL statements. PostgreSQL runs each one as a separate transaction at READ COMMITTED.
//!
//! A statement that waits for a row lock sees the newest version of that row, but the snapshot from its start
//! everywhere else. So a decision only depends on the locked row and on monotonic facts: a stale snapshot can
//! miss a death, but cannot invent one.

/// The SQL texts, with the schema name inserted.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) lookup: String,
    pub(crate) claim: String,
    pub(crate) standing: String,
    pub(crate) release: String,
    pub(crate) open: String,
    pub(crate) read: String,
    pub(crate) list: String,
    pub(crate) save: String,
    pub(crate) save_many: String,
    pub(crate) share: String,
    pub(crate) fence: String,
    pub(crate) stored: String,
    pub(crate) join: String,
    pub(crate) renew: String,
    pub(crate) evict: String,
    pub(crate) is_dead: String,
    pub(crate) leave: String,
    pub(crate) members: String,
    pub(crate) prune: String,
    pub(crate) placed_since: String,
    pub(crate) all_members: String,
}

impl Statements {
    /// `schema` must be quoted.
    pub(crate) fn new(schema: &str) -> Self {
        let text = |sql: &str| sql.replace('@', schema);
        Self {
            lookup: text(LOOKUP),
            claim: text(CLAIM),
            standing: text(STANDING),
            release: text(RELEASE),
            open: text(OPEN),
            read: text(READ),
            list: text(LIST),
            save: text(SAVE),
            save_many: text(SAVE_MANY),
            share: text(SHARE),
            fence: text(FENCE),
            stored: text(STORED),
            join: text(JOIN),
            renew: text(RENEW),
            evict: text(EVICT),
            is_dead: text(IS_DEAD),
            leave: text(LEAVE),
            members: text(MEMBERS),
            prune: text(PRUNE),
            placed_since: text(PLACED_SINCE),
            all_members: text(ALL_MEMBERS),
        }
    }
}

const LOOKUP: &str =
    "SELECT generation, owner, address FROM @.directory WHERE namespace = $1 AND type = $2 AND key = $3";

/// No row: the claim is refused or retried. The owner's `died` is monotonic; its deadline and a missing row
/// prove nothing. The generation is incremented in its row: a sequence can grant a lower number after a
/// higher one.
const CLAIM: &str = "
    INSERT INTO @.directory AS d (namespace, type, key, generation, owner, address, token, change)
    SELECT $1::text, $2::text, $3::text, 1, $4::int8, $5::text, $6::uuid, pg_current_xact_id()
        WHERE EXISTS (SELECT FROM @.members WHERE incarnation = $4 AND namespace = $1 AND died IS NULL)
    ON CONFLICT (namespace, type, key) DO UPDATE SET generation = d.generation + 1, owner = excluded.owner,
        address = excluded.address, token = excluded.token, change = excluded.change
        WHERE d.owner IS NULL
            OR (d.owner = excluded.owner AND d.token <> excluded.token)
            OR (d.owner <> excluded.owner
                AND EXISTS (SELECT FROM @.members m WHERE m.incarnation = d.owner AND m.died IS NOT NULL))
    RETURNING generation";

/// Finds out why a claim was refused: the claimant and, if there is a placement, the placement and its owner.
const STANDING: &str = "
    SELECT c.died IS NOT NULL, c.incarnation IS NOT NULL, d.generation, d.owner, d.address, d.token,
        o.incarnation IS NOT NULL, o.died IS NOT NULL
    FROM (SELECT) AS one
    LEFT JOIN @.members c ON c.incarnation = $4 AND c.namespace = $1
    LEFT JOIN @.directory d ON d.namespace = $1 AND d.type = $2 AND d.key = $3
    LEFT JOIN @.members o ON o.incarnation = d.owner";

const RELEASE: &str = "
    UPDATE @.directory SET owner = NULL, address = NULL, token = NULL, change = pg_current_xact_id()
    WHERE namespace = $1 AND type = $2 AND key = $3 AND generation = $4 AND owner IS NOT NULL
    RETURNING generation";

/// Raises the fence and loads the state. No row: fenced.
const OPEN: &str = "
    INSERT INTO @.state AS s (namespace, type, key, fence, token) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (namespace, type, key) DO UPDATE SET fence = excluded.fence, token = excluded.token
        WHERE s.fence < excluded.fence OR (s.fence = excluded.fence AND s.token = excluded.token)
    RETURNING etag, body";

const READ: &str = "SELECT fence, etag, body FROM @.state WHERE namespace = $1 AND type = $2 AND key = $3";

const FENCE: &str = "SELECT fence, etag FROM @.state WHERE namespace = $1 AND type = $2 AND key = $3";

/// The empty string sorts before every key.
const LIST: &str = "
    SELECT key FROM @.state WHERE namespace = $1 AND type = $2 AND key > $3 AND body IS NOT NULL
    ORDER BY key LIMIT $4";

const SAVE: &str = "
    UPDATE @.state SET etag = $6, body = $7
    WHERE namespace = $1 AND type = $2 AND key = $3 AND fence = $4 AND etag IS NOT DISTINCT FROM $5
    RETURNING fence";

/// Must not contain an entity twice: the second save would be lost without an error.
const SAVE_MANY: &str = "
    UPDATE @.state s SET etag = u.new, body = u.body
    FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::uuid[], $6::uuid[], $7::bytea[])
        WITH ORDINALITY AS u (namespace, type, key, fence, read, new, body, number)
    WHERE s.namespace = u.namespace AND s.type = u.type AND s.key = u.key AND s.fence = u.fence
        AND s.etag IS NOT DISTINCT FROM u.read
    RETURNING u.number";

/// Locks the fence until the end of the transaction.
const SHARE: &str = "
    SELECT fence FROM @.state WHERE namespace = $1 AND type = $2 AND key = $3 AND fence = $4 FOR SHARE";

/// Marks the rest of the transaction as the application's, which cannot write the tables of the engine.
pub(crate) const APPLICATION: &str = "SELECT set_config('dactor.application', 'on', true)";

/// The fences and etags of refused saves.
const STORED: &str = "
    SELECT u.number, s.fence, s.etag
    FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS u (namespace, type, key, number)
    JOIN @.state s ON s.namespace = u.namespace AND s.type = u.type AND s.key = u.key";

const JOIN: &str = "
    INSERT INTO @.members AS m (incarnation, namespace, address, ttl, deadline)
    VALUES ($1, $2, $3, $4::int8, clock_timestamp() + $4::int8 * interval '1 microsecond')
    ON CONFLICT (incarnation) DO UPDATE
        SET deadline = clock_timestamp() + m.ttl * interval '1 microsecond', renewals = m.renewals + 1
        WHERE m.died IS NULL AND m.deadline > clock_timestamp()
    RETURNING renewals";

/// `clock_timestamp` is evaluated again after waiting for the row lock; `now` would be the start of the
/// transaction.
const RENEW: &str = "
    UPDATE @.members
    SET deadline = clock_timestamp() + ttl * interval '1 microsecond', renewals = renewals + 1
    WHERE incarnation = $1 AND died IS NULL AND deadline > clock_timestamp()
    RETURNING renewals";

const EVICT: &str = "
    UPDATE @.members SET died = clock_timestamp()
    WHERE incarnation = $1 AND died IS NULL AND renewals = $2 AND deadline <= clock_timestamp()
    RETURNING incarnation";

const IS_DEAD: &str = "SELECT died IS NOT NULL FROM @.members WHERE incarnation = $1";

const LEAVE: &str = "
    UPDATE @.members SET died = clock_timestamp() WHERE incarnation = $1 AND died IS NULL
    RETURNING incarnation";

const MEMBERS: &str = "
    SELECT incarnation, address, ttl, renewals, died IS NOT NULL, deadline <= clock_timestamp(),
        greatest(0, (extract(epoch FROM deadline - clock_timestamp()) * 1000000)::int8)
    FROM @.members WHERE namespace = $1 ORDER BY incarnation";

/// A claim of the dead node may still be in flight, with a snapshot from before its death. The statement
/// timeout is a fraction of this hour.
const PRUNE: &str = "
    DELETE FROM @.members m WHERE died < clock_timestamp() - interval '1 hour'
        AND NOT EXISTS (SELECT FROM @.directory d WHERE d.owner = m.incarnation)
    RETURNING incarnation";

/// The placements changed by transactions from `$1` on, and the first unfinished transaction: all
/// transactions before it are visible. One row without a placement if there are no changes. A transaction
/// beyond the snapshot belongs to another server, from which the database was restored.
const PLACED_SINCE: &str = "
    SELECT pg_snapshot_xmin(s.now)::text, d.change >= pg_snapshot_xmin(s.now), d.namespace, d.type, d.key,
        d.generation, d.owner, d.address
    FROM (SELECT pg_current_snapshot() AS now) AS s
    LEFT JOIN @.directory d ON d.change >= $1::text::xid8 AND d.change < pg_snapshot_xmax(s.now)";

const ALL_MEMBERS: &str =
    "SELECT incarnation, address, namespace, died IS NOT NULL FROM @.members ORDER BY incarnation";
