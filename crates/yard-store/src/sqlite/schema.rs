//! The tables, the migrations from older formats, and the check that this program does not write into a format
//! that it does not know. It holds no query.
//!
//! The layout is for many small steps: ids are stored once and linked by row number, a change holds
//! only the state after it (the one before is its predecessor's), and a step's audit row is part of
//! the step's.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::zstd_deltas;
use crate::{Result, StoreError};

/// How a database came to be: version n is what the first n of its migrations make of an empty one.
#[derive(Debug)]
pub(super) struct Schema {
    migrations: &'static [Migration],
}

#[derive(Debug)]
enum Migration {
    Sql(&'static str),
    /// Changes rows of the database in that folder. It uses the program's own queries, so it comes after every
    /// migration that changes a table of theirs.
    Rows(fn(&Connection, &Path) -> Result<()>),
}
use Migration::{Rows, Sql};

/// A workspace's journal.
pub(super) const JOURNAL: Schema = Schema {
    migrations: &[
        Sql(FIRST),
        Sql(PURGING),
        Sql(CHAT_TABLES),
        Sql(APPROVALS),
        Sql(RUNS),
        Sql(TERMINALS),
        Sql(ROOTS),
        Sql(FORMULAS),
        Sql(PLACEMENTS),
        Sql(CLAIMS),
        Sql(NAMES),
        Sql(RETENTION),
        Rows(zstd_deltas::re_encode),
        Sql(COMMENTS),
        Sql(SEEN),
        Sql(PARTS),
        Sql(LATER),
    ],
};
/// Changes no table. It raises the format, because older programs take the events of terminals for damage.
const TERMINALS: &str = "";

const ROOTS: &str = "
-- The name of the root that the paths of a request begin with.
ALTER TABLE approval ADD COLUMN root TEXT;
";

const FORMULAS: &str = "
-- What the hash of a row of the audit chain covers: 1 before this, 2 from now on.
ALTER TABLE step ADD COLUMN formula INTEGER NOT NULL DEFAULT 1;
ALTER TABLE note ADD COLUMN formula INTEGER NOT NULL DEFAULT 1;
";

const PLACEMENTS: &str = "
-- What a change does to the disk: the file that it places and the file that it displaces, each by inode,
-- time of birth, time of the last write and time of the last change. Rows are kept until the disk is flushed.
-- Change -1 is none: such a row is an entry as recovery found it, and one that recovery made is `placed` too.
CREATE TABLE placement (
    id INTEGER PRIMARY KEY,
    change INTEGER NOT NULL,
    placed_inode INTEGER,
    placed_birth INTEGER,
    placed_mtime INTEGER,
    placed_ctime INTEGER,
    displaced_inode INTEGER,
    displaced_birth INTEGER,
    displaced_mtime INTEGER,
    displaced_ctime INTEGER
) STRICT;
CREATE INDEX placement_by_change ON placement (change);

-- The folder that the history belongs to: at most one row.
CREATE TABLE root (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    filesystem INTEGER,
    inode INTEGER NOT NULL,
    birth INTEGER
) STRICT;
";

const CLAIMS: &str = "
-- The process that asked, the process that executes what was approved, and whether it has started something
-- (not NULL). An older request that was approved and had started something is one with a run whose effect is a
-- start and no change.
ALTER TABLE approval ADD COLUMN asked_in BLOB;
ALTER TABLE approval ADD COLUMN claimed_by BLOB;
ALTER TABLE approval ADD COLUMN started INTEGER;
UPDATE approval SET started = 1 WHERE status = 1 AND run IS NOT NULL
    AND (effect LIKE '%\"kind\":\"run\"%' OR effect LIKE '%\"dials\"%');
";

/// It also raises the format for the events of renamed and removed chats, as [`TERMINALS`] does.
const NAMES: &str = "
-- The display name of a file, where it has one.
CREATE TABLE display_name (
    file BLOB PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

const RETENTION: &str = "
-- Whether a kept file may be evicted is a form of its own (7). Before, only the file's name said it.
UPDATE content SET form = 7 WHERE form = 4 AND instr(data, CAST('-output-' AS BLOB)) > 0;
";

const COMMENTS: &str = "
-- A person's comment on a line of a diff, until it is sent: on that of a step or of a request.
CREATE TABLE comment (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    author TEXT NOT NULL,
    at INTEGER NOT NULL,
    step BLOB,
    approval BLOB,
    path BLOB NOT NULL,
    side INTEGER NOT NULL,
    line INTEGER NOT NULL,
    content BLOB NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX comment_by_author ON comment (author, id);

-- Messages that the agent of a chat has not received yet.
CREATE TABLE unread (
    chat INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (chat, turn)
) STRICT, WITHOUT ROWID;
";

const SEEN: &str = "
-- A content of a file that a person has seen.
CREATE TABLE seen (
    id INTEGER PRIMARY KEY,
    person TEXT NOT NULL,
    path BLOB NOT NULL,
    content BLOB NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (person, path, content)
) STRICT;
CREATE INDEX seen_by_person ON seen (person, id);
";

/// The people of a server.
pub(super) const PEOPLE: Schema =
    Schema { migrations: &[Sql(FIRST_PEOPLE), Sql(OWNERS_KEYS), Sql(KEY_TOOLSETS), Sql(LOGINS)] };

const OWNERS_KEYS: &str = "
-- A key is revoked when its maker is no owner any more.
UPDATE key SET revoked = 1 WHERE NOT EXISTS (SELECT 1 FROM member
    WHERE member.workspace = key.workspace AND member.user = key.made_by AND role = 'owner');

-- The workspace that a request was about: a purge there removes the stored answer. Requests of callers
-- without a login were stored with a hash that covers their passwords.
ALTER TABLE claim ADD COLUMN workspace BLOB;
DELETE FROM claim WHERE actor LIKE 'nobody:%';
";

const KEY_TOOLSETS: &str = "
-- The toolsets that a key may use, one in each line; NULL for all of them, as in older keys.
ALTER TABLE key ADD COLUMN toolsets TEXT;
";

const LOGINS: &str = "
-- When a login was last renewed, and the program that a person logged in with.
ALTER TABLE login ADD COLUMN used INTEGER;
ALTER TABLE login ADD COLUMN agent TEXT;
CREATE INDEX login_by_user ON login (user, id);
CREATE INDEX refresh_by_login ON refresh (login);
";

const FIRST: &str = "
-- A step, with its row of the audit chain. Its changes are `files` rows from row `first` on.
-- `undoes` is a step's seq, or its id where the store does not have it. `audit_at` and `action` are
-- NULL where they equal the step's time and verb.
CREATE TABLE step (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    at INTEGER NOT NULL,
    author INTEGER NOT NULL,
    verb TEXT NOT NULL,
    undoes ANY,
    first INTEGER NOT NULL,
    files INTEGER NOT NULL,
    audit_at INTEGER,
    actor TEXT NOT NULL,
    action TEXT,
    detail TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- A row of the audit chain that belongs to no step. `number` counts all rows of the chain, `nth`
-- only these rows: the difference is the number of the step before it.
CREATE TABLE note (
    number INTEGER PRIMARY KEY,
    nth INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;

-- A file as its last change left it; of a removed file, its last living state. The state is stored whole
-- here, because there is one row for each file and every lookup reads it.
CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL,
    parent BLOB NOT NULL,
    name BLOB NOT NULL,
    living INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    content BLOB,
    size INTEGER NOT NULL,
    path BLOB NOT NULL,
    seq INTEGER NOT NULL,
    last INTEGER NOT NULL,
    version BLOB,
    created INTEGER NOT NULL,
    seen_size INTEGER,
    seen_mtime INTEGER,
    seen_ctime INTEGER,
    seen_inode INTEGER
) STRICT;
CREATE UNIQUE INDEX file_by_name ON file (parent, name) WHERE living = 1;
CREATE INDEX removed_by_name ON file (parent, name, last) WHERE living = 0;
CREATE INDEX removed_by_age ON file (last) WHERE living = 0;

-- What a step did to one file: the state after it. `parent` is the row of a file, 0 for the root, or an id
-- where the store does not have that file. `name` is NULL if it is the last part of `destination`. `origin` is
-- NULL if there is none or if it equals `destination` (`flags` says which). `previous` is the change of the
-- same file before this one.
CREATE TABLE change (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    previous INTEGER,
    flags INTEGER NOT NULL,
    parent ANY,
    name BLOB,
    mode INTEGER,
    content INTEGER,
    size INTEGER,
    destination BLOB,
    origin BLOB,
    version BLOB
) STRICT;
CREATE INDEX change_by_file ON change (file, seq);

-- The row that an id names: a step, a file, or the change that made a version. Ids grow with time, so the ids
-- of one step are neighbours and a step writes one page of this table.
CREATE TABLE named (
    id BLOB PRIMARY KEY,
    row INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A content. `data` is by `form`: its bytes, compressed bytes, bytes compressed against row `base` (not any
-- more), nothing (it is a blob), the name under which the kernel keeps it, a splice of row `base`, or nothing
-- (it was purged).
CREATE TABLE content (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    form INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    base INTEGER,
    data BLOB
) STRICT;
CREATE UNIQUE INDEX content_by_hash ON content (hash);

-- The last content that the packer has looked at: at most one row.
CREATE TABLE packed (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    content INTEGER NOT NULL
) STRICT;

-- The last step that is flushed to the disk: at most one row.
CREATE TABLE mark (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    boot BLOB NOT NULL
) STRICT;
";

const CHAT_TABLES: &str = "
-- A chat. `header` is how its transcript begins, `bytes` how long it is with the texts of all turns.
CREATE TABLE chat (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    title TEXT NOT NULL,
    name BLOB NOT NULL UNIQUE,
    mode INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    default_of TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    header TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX default_chat ON chat (default_of) WHERE default_of IS NOT NULL;

-- A turn of a chat: its data as JSON, and the same as readable text.
CREATE TABLE turn (
    id INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    kind INTEGER NOT NULL,
    data TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX turn_by_chat ON turn (chat, id);

-- A question, with its answer once there is one. `plans` are paths and hashes as they were when it
-- was asked.
CREATE TABLE question (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    chat INTEGER NOT NULL,
    asked_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    form TEXT NOT NULL,
    plans BLOB NOT NULL,
    answers TEXT,
    answered_by TEXT,
    via INTEGER,
    answered_at INTEGER,
    used INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX question_by_chat ON question (chat, id);
CREATE INDEX pending_question ON question (id) WHERE answers IS NULL;

-- An event that is not a step. `number` counts steps and events together, `nth` only events: the difference is
-- the number of the step before it.
CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    nth INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    chat BLOB,
    question BLOB,
    value INTEGER,
    paths BLOB
) STRICT;
";

const APPROVALS: &str = "
-- A request for approval, with the decision. `args`, `effect`, `other_args` and
-- `answer` are JSON; `step` is the seq of the step in which it happened.
CREATE TABLE approval (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    chat INTEGER NOT NULL,
    asked_by TEXT NOT NULL,
    at INTEGER NOT NULL,
    toolset TEXT NOT NULL,
    tool TEXT NOT NULL,
    args TEXT NOT NULL,
    reason TEXT NOT NULL,
    effect TEXT NOT NULL,
    diff TEXT NOT NULL,
    state BLOB NOT NULL,
    status INTEGER NOT NULL,
    approves INTEGER,
    scope INTEGER,
    word TEXT,
    other_args TEXT,
    decided_by TEXT,
    decided_at INTEGER,
    step INTEGER,
    answer TEXT
) STRICT;
CREATE INDEX approval_by_status ON approval (status, id);

-- A permission that a person gave for more than one call: in one chat, or in all of them.
CREATE TABLE allowed (
    id INTEGER PRIMARY KEY,
    chat BLOB,
    rule TEXT NOT NULL,
    by TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX allowed_by_chat ON allowed (chat);

-- The policy as JSON: at most one row.
CREATE TABLE policy (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    text TEXT NOT NULL
) STRICT;
";

const RUNS: &str = "
-- The chat that a step belongs to.
ALTER TABLE step ADD COLUMN chat BLOB;

-- The preset under which a request came, and the run of a command that it is about.
ALTER TABLE approval ADD COLUMN preset TEXT NOT NULL DEFAULT 'strict';
ALTER TABLE approval ADD COLUMN run BLOB;
UPDATE approval SET preset = COALESCE(json_extract(effect, '$.preset'), 'strict'),
    effect = json_remove(effect, '$.preset');
";

const PURGING: &str = "
-- Not NULL once a removed file was purged: it cannot be restored.
ALTER TABLE file ADD COLUMN purged INTEGER;

-- Pending deletions: files whose contents were purged and that are still to be deleted: the blob of `hash` where `kept`
-- is empty, else the file that the kernel keeps under that name.
CREATE TABLE doomed (
    hash BLOB NOT NULL,
    kept TEXT NOT NULL,
    PRIMARY KEY (hash, kept)
) STRICT, WITHOUT ROWID;
";

const PARTS: &str = "
-- The part of the call that a decision approves, and the rest, as JSON; NULL if it is about the whole.
ALTER TABLE approval ADD COLUMN parts TEXT;
";

const LATER: &str = "
-- What a person put off, by the id of the request or the question, and until when, in milliseconds.
CREATE TABLE later (
    person TEXT NOT NULL,
    item BLOB NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (person, item)
) STRICT, WITHOUT ROWID;
";

const FIRST_PEOPLE: &str = "
CREATE TABLE user (
    id BLOB PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    full_name TEXT,
    password TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE login (
    id BLOB PRIMARY KEY,
    user BLOB NOT NULL REFERENCES user (id),
    ended INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Every refresh token of a login that has not expired, used ones too, so that the use of a copied old one is recognized.
CREATE TABLE refresh (
    secret BLOB PRIMARY KEY,
    login BLOB NOT NULL REFERENCES login (id),
    expires INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE workspace (
    id BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    folder TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE member (
    workspace BLOB NOT NULL REFERENCES workspace (id),
    user BLOB NOT NULL REFERENCES user (id),
    role TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (workspace, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_by_user ON member (user, workspace);

CREATE TABLE key (
    id BLOB PRIMARY KEY,
    workspace BLOB NOT NULL REFERENCES workspace (id),
    secret BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    chat BLOB,
    made_by BLOB NOT NULL,
    created INTEGER NOT NULL,
    revoked INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX key_by_workspace ON key (workspace, id);

-- A request that may be repeated under its key. `status` is NULL until it was answered.
CREATE TABLE claim (
    actor TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    at INTEGER NOT NULL,
    status INTEGER,
    body BLOB,
    PRIMARY KEY (actor, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_by_age ON claim (at);

CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;
";

impl Schema {
    /// The format that this program reads and writes.
    fn format(&self) -> u32 {
        u32::try_from(self.migrations.len()).unwrap_or(u32::MAX)
    }

    /// Migrates a database, even an empty one, to this program's format. Only the process that holds the opening
    /// lock calls this.
    pub(super) fn migrate(&self, connection: &mut Connection, database: &Path) -> Result<()> {
        let (found, known) = (format(connection)?, self.format());
        if found > known {
            return Err(StoreError::Format { found, known });
        }
        if found == known {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for migration in self.migrations.iter().skip(found as usize) {
            match migration {
                Sql(statements) => transaction.execute_batch(statements)?,
                Rows(change) => {
                    change(&transaction, database.parent().unwrap_or(Path::new(".")))?;
                }
            }
        }
        transaction.pragma_update(None, "user_version", known)?;
        Ok(transaction.commit()?)
    }

    /// Returns an error if another version of the program has migrated the database since it was opened.
    pub(super) fn check(&self, connection: &Connection) -> Result<()> {
        match format(connection)? {
            found if found == self.format() => Ok(()),
            found => Err(StoreError::Format { found, known: self.format() }),
        }
    }
}

fn format(connection: &Connection) -> Result<u32> {
    let mut statement = connection.prepare_cached("PRAGMA user_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}
