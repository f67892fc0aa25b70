//! A registry in a folder: one SQLite database, `people.db`. The layers above decide what the rows mean.

use std::path::Path;

use rusqlite::{Connection, Row, params};
use yard_core::{ChatId, KeyId, LoginId, Role, Timestamp, UserId, WorkspaceId};

use super::connections::{Connections, Flush};
use super::error::{corrupt, is_taken};
use super::value::{self, moment};
use super::{Options, all, one, run, schema};
use crate::blobs::{create_folder, lock_file};
use crate::registry::{
    Claim, KeyRow, LoginRow, MemberChange, MemberRow, NewRefresh, Registry, Retry, Rotation,
    SecretHash, UserRow, WorkspaceRow,
};
use crate::{AuditEntry, AuditRow, Formula, Result, StoreError, first_chain};

/// How many forgotten requests are removed with each new one.
const FORGOTTEN_AT_ONCE: i64 = 100;

/// People, workspaces and keys in a folder. Any number of them may be open on one folder.
#[derive(Debug)]
pub struct SqliteRegistry {
    db: Connections,
}

impl SqliteRegistry {
    /// Opens the registry in `dir`, making what is missing.
    pub fn open(dir: &Path) -> Result<Self> {
        create_folder(dir)?;
        let _opening = lock_file(&dir.join("people.lock"))?;
        let db = Connections::open(dir.join("people.db"), &schema::PEOPLE, Options::default())?;
        Ok(Self { db })
    }

    /// Makes one change with its audit row.
    fn change<T>(
        &self,
        audit: &AuditEntry,
        work: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        self.db.write(Flush::Now, |connection| {
            let done = work(connection)?;
            note(connection, audit)?;
            Ok(done)
        })
    }

    /// As `change`, but without an audit row if `work` returns that nothing happened.
    fn change_if(
        &self,
        audit: &AuditEntry,
        work: impl FnOnce(&Connection) -> Result<bool>,
    ) -> Result<bool> {
        self.db.write(Flush::Now, |connection| {
            let done = work(connection)?;
            if done {
                note(connection, audit)?;
            }
            Ok(done)
        })
    }
}

/// Adds a row to the audit chain.
fn note(connection: &Connection, entry: &AuditEntry) -> Result<()> {
    let last = "SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1";
    let last = one(connection, last, [], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
    let (number, hash) = last.unwrap_or((0, [0; 32]));
    let sql = "INSERT INTO audit (number, at, actor, action, detail, hash)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let hash = first_chain(&hash, entry, None);
    let at = entry.at.as_millis();
    let values = params![number + 1, at, entry.actor, entry.action, entry.detail, hash];
    run(connection, sql, values).map(drop)
}

/// Whether a row was added; `false` if another row has the same unique value.
fn unless_taken(added: rusqlite::Result<usize>) -> Result<bool> {
    match added {
        Err(error) if is_taken(&error) => Ok(false),
        added => Ok(added? > 0),
    }
}

fn role(row: &Row<'_>, at: usize) -> Result<Role> {
    let word: String = row.get(at)?;
    Role::from_word(&word).ok_or_else(|| corrupt("a row holds an unknown role"))
}

fn user(row: &Row<'_>) -> Result<UserRow> {
    Ok(UserRow {
        id: UserId::from_bytes(row.get(0)?),
        email: row.get(1)?,
        full_name: row.get(2)?,
        password: row.get(3)?,
        created_at: moment(row, 4)?,
    })
}

fn login(row: &Row<'_>) -> Result<LoginRow> {
    let bytes: [u8; 16] = row.get(0)?;
    // An id of version 7 begins with its time, in milliseconds.
    let (time, _) = bytes.split_at(6);
    let created = time.iter().fold(0, |millis, byte| (millis << 8) | i64::from(*byte));
    let created_at = Timestamp::from_millis(created);
    let used: Option<i64> = row.get(1)?;
    Ok(LoginRow {
        id: LoginId::from_bytes(bytes),
        created_at,
        last_used_at: used.map_or(created_at, Timestamp::from_millis),
        user_agent: row.get(2)?,
    })
}

fn workspace(row: &Row<'_>) -> Result<WorkspaceRow> {
    Ok(WorkspaceRow {
        id: WorkspaceId::from_bytes(row.get(0)?),
        name: row.get(1)?,
        folder: row.get(2)?,
        created_at: moment(row, 3)?,
        updated_at: moment(row, 4)?,
    })
}

fn key(row: &Row<'_>) -> Result<KeyRow> {
    Ok(KeyRow {
        id: KeyId::from_bytes(row.get(0)?),
        workspace: WorkspaceId::from_bytes(row.get(1)?),
        name: row.get(2)?,
        role: role(row, 3)?,
        chat: value::id(row, 4, ChatId::from_bytes)?,
        made_by: UserId::from_bytes(row.get(5)?),
        created_at: moment(row, 6)?,
        toolsets: row.get::<_, Option<String>>(7)?.map(|text| lines(&text)),
    })
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

macro_rules! keys {
    ($rest:literal) => {
        concat!(
            "SELECT key.id, key.workspace, key.name, key.role, key.chat, key.made_by, key.created, \
             key.toolsets, workspace.name FROM key JOIN workspace ON workspace.id = key.workspace ",
            $rest
        )
    };
}

fn insert_refresh(connection: &Connection, login: LoginId, refresh: NewRefresh) -> Result<()> {
    let sql = "INSERT INTO refresh (secret, login, expires) VALUES (?1, ?2, ?3)";
    let expires = refresh.expires_at.as_millis();
    run(connection, sql, params![refresh.secret, login.as_bytes(), expires]).map(drop)
}

/// Ends a login; returns whether it had not ended before.
fn end(connection: &Connection, login: LoginId) -> Result<bool> {
    let sql = "UPDATE login SET ended = 1 WHERE id = ?1 AND ended = 0";
    Ok(run(connection, sql, [login.as_bytes()])? > 0)
}

/// A row of `refresh`, with its login.
struct Presented {
    login: LoginId,
    user: UserId,
    expires_at: Timestamp,
    used: bool,
    ended: bool,
}

fn presented(connection: &Connection, secret: &SecretHash) -> Result<Option<Presented>> {
    let sql = "SELECT login.id, login.user, refresh.expires, refresh.used, login.ended
               FROM refresh JOIN login ON login.id = refresh.login WHERE refresh.secret = ?1";
    one(connection, sql, [secret], |row| {
        Ok(Presented {
            login: LoginId::from_bytes(row.get(0)?),
            user: UserId::from_bytes(row.get(1)?),
            expires_at: moment(row, 2)?,
            used: row.get(3)?,
            ended: row.get(4)?,
        })
    })
}

fn member_role(
    connection: &Connection,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Option<Role>> {
    let sql = "SELECT member.role FROM member JOIN workspace ON workspace.id = member.workspace
               WHERE member.workspace = ?1 AND member.user = ?2 AND workspace.deleted = 0";
    one(connection, sql, [workspace.as_bytes(), user.as_bytes()], |row| role(row, 0))
}

/// Whether a workspace has another owner than this person.
fn has_other_owner(connection: &Connection, workspace: WorkspaceId, user: UserId) -> Result<bool> {
    let sql = "SELECT 1 FROM member WHERE workspace = ?1 AND user <> ?2 AND role = 'owner'";
    let ids = [workspace.as_bytes(), user.as_bytes()];
    Ok(one(connection, sql, ids, |_| Ok(()))?.is_some())
}

/// Revokes the keys to a workspace that a person made as its owner.
fn revoke_keys_of(
    connection: &Connection,
    workspace: WorkspaceId,
    user: UserId,
    audit: &AuditEntry,
) -> Result<Vec<KeyId>> {
    let sql = "UPDATE key SET revoked = 1
               WHERE workspace = ?1 AND made_by = ?2 AND revoked = 0 RETURNING id";
    let ids = [workspace.as_bytes(), user.as_bytes()];
    let revoked = all(connection, sql, ids, |row| Ok(KeyId::from_bytes(row.get(0)?)))?;
    for key in &revoked {
        let detail =
            format!("key {key} to workspace {workspace}: who made it is no owner any more");
        let action = "revoke key".to_owned();
        note(connection, &AuditEntry { action, detail, ..audit.clone() })?;
    }
    Ok(revoked)
}

impl Registry for SqliteRegistry {
    fn add_user(&self, user: &UserRow, audit: &AuditEntry) -> Result<bool> {
        let sql = "INSERT INTO user (id, email, full_name, password, created)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        self.change_if(audit, |connection| {
            let created = user.created_at.as_millis();
            let values =
                params![user.id.as_bytes(), user.email, user.full_name, user.password, created];
            unless_taken(connection.prepare_cached(sql)?.execute(values))
        })
    }

    fn user_by_email(&self, email: &str) -> Result<Option<UserRow>> {
        let sql = "SELECT id, email, full_name, password, created FROM user WHERE email = ?1";
        self.db.read(|connection| one(connection, sql, [email], user))
    }

    fn add_login(
        &self,
        login: LoginId,
        user: UserId,
        user_agent: Option<&str>,
        refresh: NewRefresh,
        audit: &AuditEntry,
    ) -> Result<()> {
        let sql = "INSERT INTO login (id, user, used, agent) VALUES (?1, ?2, ?3, ?4)";
        self.change(audit, |connection| {
            // An expired token is refused whether or not it is known.
            let now = audit.at.as_millis();
            run(connection, "DELETE FROM refresh WHERE expires <= ?1", [now])?;
            run(connection, sql, params![login.as_bytes(), user.as_bytes(), now, user_agent])?;
            insert_refresh(connection, login, refresh)
        })
    }

    fn rotate(
        &self,
        secret: &SecretHash,
        next: NewRefresh,
        reused: &AuditEntry,
    ) -> Result<Rotation> {
        self.db.write(Flush::Now, |connection| {
            let Some(found) = presented(connection, secret)? else { return Ok(Rotation::Dead) };
            if found.ended || found.expires_at <= reused.at {
                return Ok(Rotation::Dead);
            }
            if found.used {
                end(connection, found.login)?;
                note(connection, reused)?;
                return Ok(Rotation::Reused { login: found.login });
            }
            run(connection, "UPDATE refresh SET used = 1 WHERE secret = ?1", [secret])?;
            insert_refresh(connection, found.login, next)?;
            let used = params![found.login.as_bytes(), reused.at.as_millis()];
            run(connection, "UPDATE login SET used = ?2 WHERE id = ?1", used)?;
            Ok(Rotation::Rotated { login: found.login, user: found.user })
        })
    }

    fn login_of(&self, secret: &SecretHash) -> Result<Option<(LoginId, UserId)>> {
        let found = self.db.read(|connection| presented(connection, secret))?;
        Ok(found.map(|found| (found.login, found.user)))
    }

    fn end_login(&self, login: LoginId, audit: &AuditEntry) -> Result<()> {
        // A login that has ended leaves no second row: else old tokens could fill the chain.
        self.change_if(audit, |connection| end(connection, login)).map(drop)
    }

    fn logins(
        &self,
        user: UserId,
        now: Timestamp,
        before: Option<LoginId>,
        limit: usize,
    ) -> Result<Vec<LoginRow>> {
        let sql = "SELECT id, used, agent FROM login
                   WHERE user = ?1 AND ended = 0 AND (?2 IS NULL OR id < ?2)
                   AND EXISTS (SELECT 1 FROM refresh WHERE refresh.login = login.id
                               AND refresh.used = 0 AND refresh.expires > ?3)
                   ORDER BY id DESC LIMIT ?4";
        let before = before.as_ref().map(LoginId::as_bytes);
        let values = params![user.as_bytes(), before, now.as_millis(), value::limit(limit)];
        self.db.read(|connection| all(connection, sql, values, login))
    }

    fn end_login_of(&self, user: UserId, login: LoginId, audit: &AuditEntry) -> Result<bool> {
        let sql = "UPDATE login SET ended = 1 WHERE id = ?1 AND user = ?2 AND ended = 0";
        self.change_if(audit, |connection| {
            Ok(run(connection, sql, [login.as_bytes(), user.as_bytes()])? > 0)
        })
    }

    fn change_password(
        &self,
        user: UserId,
        old: &str,
        new: &str,
        keep: LoginId,
        audit: &AuditEntry,
    ) -> Result<bool> {
        let change = "UPDATE user SET password = ?3 WHERE id = ?1 AND password = ?2";
        let end = "UPDATE login SET ended = 1 WHERE user = ?1 AND id <> ?2 AND ended = 0";
        self.change_if(audit, |connection| {
            let changed = run(connection, change, params![user.as_bytes(), old, new])? > 0;
            if changed {
                run(connection, end, [user.as_bytes(), keep.as_bytes()])?;
            }
            Ok(changed)
        })
    }

    fn person(&self, login: LoginId) -> Result<Option<UserRow>> {
        let sql = "SELECT user.id, user.email, user.full_name, user.password, user.created
                   FROM login JOIN user ON user.id = login.user
                   WHERE login.id = ?1 AND login.ended = 0";
        self.db.read(|connection| one(connection, sql, [login.as_bytes()], user))
    }

    fn add_workspace(
        &self,
        workspace: &WorkspaceRow,
        owner: UserId,
        audit: &AuditEntry,
    ) -> Result<()> {
        let sql = "INSERT INTO workspace (id, name, folder, created, updated)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let member =
            "INSERT INTO member (workspace, user, role, since) VALUES (?1, ?2, 'owner', ?3)";
        self.change(audit, |connection| {
            let id = workspace.id.as_bytes();
            let created = workspace.created_at.as_millis();
            let updated = workspace.updated_at.as_millis();
            run(connection, sql, params![id, workspace.name, workspace.folder, created, updated])?;
            run(connection, member, params![id, owner.as_bytes(), created]).map(drop)
        })
    }

    fn workspace(&self, id: WorkspaceId) -> Result<Option<WorkspaceRow>> {
        let sql = "SELECT id, name, folder, created, updated FROM workspace
                   WHERE id = ?1 AND deleted = 0";
        self.db.read(|connection| one(connection, sql, [id.as_bytes()], workspace))
    }

    fn folders(&self) -> Result<Vec<(WorkspaceId, String)>> {
        let sql = "SELECT id, folder FROM workspace
                   WHERE folder IS NOT NULL AND deleted = 0 ORDER BY id";
        self.db.read(|connection| {
            all(connection, sql, [], |row| Ok((WorkspaceId::from_bytes(row.get(0)?), row.get(1)?)))
        })
    }

    fn workspaces_of(
        &self,
        user: UserId,
        after: Option<WorkspaceId>,
        limit: usize,
    ) -> Result<Vec<(WorkspaceRow, Role)>> {
        let sql = "SELECT workspace.id, name, folder, created, updated, member.role
                   FROM member JOIN workspace ON workspace.id = member.workspace
                   WHERE member.user = ?1 AND member.workspace > ?2 AND workspace.deleted = 0
                   ORDER BY member.workspace LIMIT ?3";
        let after = after.map_or_else(Vec::new, |id| id.as_bytes().to_vec());
        let values = params![user.as_bytes(), after, value::limit(limit)];
        self.db.read(|connection| {
            all(connection, sql, values, |row| Ok((workspace(row)?, role(row, 5)?)))
        })
    }

    fn rename_workspace(&self, id: WorkspaceId, name: &str, audit: &AuditEntry) -> Result<bool> {
        let sql = "UPDATE workspace SET name = ?2, updated = ?3 WHERE id = ?1 AND deleted = 0";
        self.change_if(audit, |connection| {
            let values = params![id.as_bytes(), name, audit.at.as_millis()];
            Ok(run(connection, sql, values)? > 0)
        })
    }

    fn delete_workspace(&self, id: WorkspaceId, audit: &AuditEntry) -> Result<bool> {
        let sql = "UPDATE workspace SET deleted = 1 WHERE id = ?1 AND deleted = 0";
        self.change_if(audit, |connection| Ok(run(connection, sql, [id.as_bytes()])? > 0))
    }

    fn role_of(&self, workspace: WorkspaceId, user: UserId) -> Result<Option<Role>> {
        self.db.read(|connection| member_role(connection, workspace, user))
    }

    fn members(
        &self,
        workspace: WorkspaceId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<MemberRow>> {
        let sql = "SELECT user.id, user.email, user.full_name, member.role, member.since
                   FROM member JOIN user ON user.id = member.user
                   JOIN workspace ON workspace.id = member.workspace
                   WHERE member.workspace = ?1 AND member.user > ?2 AND workspace.deleted = 0
                   ORDER BY member.user LIMIT ?3";
        let after = after.map_or_else(Vec::new, |id| id.as_bytes().to_vec());
        let values = params![workspace.as_bytes(), after, value::limit(limit)];
        self.db.read(|connection| {
            all(connection, sql, values, |row| {
                Ok(MemberRow {
                    user: UserId::from_bytes(row.get(0)?),
                    email: row.get(1)?,
                    full_name: row.get(2)?,
                    role: role(row, 3)?,
                    since: moment(row, 4)?,
                })
            })
        })
    }

    fn add_member(
        &self,
        workspace: WorkspaceId,
        user: UserId,
        role: Role,
        audit: &AuditEntry,
    ) -> Result<bool> {
        let sql = "INSERT INTO member (workspace, user, role, since)
                   SELECT id, ?2, ?3, ?4 FROM workspace WHERE id = ?1 AND deleted = 0";
        self.change_if(audit, |connection| {
            let since = audit.at.as_millis();
            let values = params![workspace.as_bytes(), user.as_bytes(), role.word(), since];
            unless_taken(connection.prepare_cached(sql)?.execute(values))
        })
    }

    fn change_member(
        &self,
        workspace: WorkspaceId,
        user: UserId,
        role: Option<Role>,
        audit: &AuditEntry,
    ) -> Result<MemberChange> {
        self.db.write(Flush::Now, |connection| {
            let Some(before) = member_role(connection, workspace, user)? else {
                return Ok(MemberChange::NoMember);
            };
            let steps_down = before == Role::Owner && role != Some(Role::Owner);
            if steps_down && !has_other_owner(connection, workspace, user)? {
                return Ok(MemberChange::LastOwner);
            }
            let ids = [workspace.as_bytes(), user.as_bytes()];
            match role {
                Some(role) => {
                    let sql = "UPDATE member SET role = ?3 WHERE workspace = ?1 AND user = ?2";
                    run(connection, sql, params![ids[0], ids[1], role.word()])?
                }
                None => {
                    run(connection, "DELETE FROM member WHERE workspace = ?1 AND user = ?2", ids)?
                }
            };
            note(connection, audit)?;
            let revoked = match role {
                Some(Role::Owner) => Vec::new(),
                _ => revoke_keys_of(connection, workspace, user, audit)?,
            };
            Ok(MemberChange::Done(revoked))
        })
    }

    fn add_key(&self, key: &KeyRow, secret: &SecretHash, audit: &AuditEntry) -> Result<()> {
        let sql =
            "INSERT INTO key (id, workspace, secret, name, role, chat, made_by, created, toolsets)
                   SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9
                   FROM workspace JOIN member ON member.workspace = workspace.id
                   WHERE id = ?2 AND deleted = 0 AND member.user = ?7 AND member.role = 'owner'";
        self.change(audit, |connection| {
            let values = params![
                key.id.as_bytes(),
                key.workspace.as_bytes(),
                secret,
                key.name,
                key.role.word(),
                key.chat.as_ref().map(ChatId::as_bytes),
                key.made_by.as_bytes(),
                key.created_at.as_millis(),
                key.toolsets.as_ref().map(|toolsets| toolsets.join("\n")),
            ];
            if run(connection, sql, values)? == 0 {
                let message = "the key's workspace was deleted, or its maker is no owner of it";
                return Err(StoreError::Misfit(message.to_owned()));
            }
            Ok(())
        })
    }

    fn keys(
        &self,
        workspace: WorkspaceId,
        after: Option<KeyId>,
        limit: usize,
    ) -> Result<Vec<KeyRow>> {
        let sql = keys!(
            "WHERE key.workspace = ?1 AND key.id > ?2 AND key.revoked = 0 AND workspace.deleted = 0
             ORDER BY key.id LIMIT ?3"
        );
        let after = after.map_or_else(Vec::new, |id| id.as_bytes().to_vec());
        let values = params![workspace.as_bytes(), after, value::limit(limit)];
        self.db.read(|connection| all(connection, sql, values, key))
    }

    fn all_keys(&self, after: Option<KeyId>, limit: usize) -> Result<Vec<(KeyRow, String)>> {
        let sql = keys!(
            "WHERE key.id > ?1 AND key.revoked = 0 AND workspace.deleted = 0
                         ORDER BY key.id LIMIT ?2"
        );
        let after = after.map_or_else(Vec::new, |id| id.as_bytes().to_vec());
        let values = params![after, value::limit(limit)];
        let with_name = |row: &Row<'_>| Ok((key(row)?, row.get(8)?));
        self.db.read(|connection| all(connection, sql, values, with_name))
    }

    fn key_by_secret(&self, secret: &SecretHash) -> Result<Option<KeyRow>> {
        let sql = keys!("WHERE key.secret = ?1 AND key.revoked = 0 AND workspace.deleted = 0");
        self.db.read(|connection| one(connection, sql, [secret], key))
    }

    fn revoke_key(&self, workspace: WorkspaceId, key: KeyId, audit: &AuditEntry) -> Result<bool> {
        let sql = "UPDATE key SET revoked = 1 WHERE id = ?1 AND workspace = ?2 AND revoked = 0";
        let ids = [key.as_bytes(), workspace.as_bytes()];
        self.change_if(audit, |connection| Ok(run(connection, sql, ids)? > 0))
    }

    fn claim(&self, retry: Retry<'_>, now: Timestamp, forget_before: Timestamp) -> Result<Claim> {
        let known = "SELECT fingerprint, at, status, body FROM claim
                     WHERE actor = ?1 AND key = ?2 AND at >= ?3";
        let forget = "DELETE FROM claim WHERE (actor, key) IN
                      (SELECT actor, key FROM claim WHERE at < ?1 ORDER BY at LIMIT ?2)";
        let add = "INSERT OR REPLACE INTO claim (actor, key, fingerprint, at, workspace)
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let Retry { actor, key, fingerprint, workspace } = retry;
        self.db.write(Flush::Now, |connection| {
            let old = params![forget_before.as_millis(), FORGOTTEN_AT_ONCE];
            run(connection, forget, old)?;
            let asked = params![actor, key, forget_before.as_millis()];
            let claim = one(connection, known, asked, |row| {
                if row.get::<_, SecretHash>(0)? != fingerprint {
                    return Ok(Claim::Differs);
                }
                Ok(match (row.get::<_, Option<u16>>(2)?, row.get(3)?) {
                    (Some(status), Some(body)) => Claim::Answered { status, body },
                    (Some(_), None) => Claim::Forgotten,
                    (None, _) => Claim::Begun { at: moment(row, 1)? },
                })
            })?;
            if let Some(claim) = claim {
                return Ok(claim);
            }
            let workspace = workspace.as_ref().map(WorkspaceId::as_bytes);
            run(connection, add, params![actor, key, fingerprint, now.as_millis(), workspace])?;
            Ok(Claim::New)
        })
    }

    fn answer_claim(&self, retry: Retry<'_>, status: u16, body: &[u8]) -> Result<()> {
        // A request that was forgotten while it ran must not answer for the one that has its key now.
        let sql = "UPDATE claim SET status = ?4, body = ?5
                   WHERE actor = ?1 AND key = ?2 AND fingerprint = ?3 AND status IS NULL";
        let Retry { actor, key, fingerprint, .. } = retry;
        let values = params![actor, key, fingerprint, status, body];
        self.db.write(Flush::Now, |connection| run(connection, sql, values).map(drop))
    }

    fn drop_claim(&self, retry: Retry<'_>) -> Result<()> {
        let sql = "DELETE FROM claim
                   WHERE actor = ?1 AND key = ?2 AND fingerprint = ?3 AND status IS NULL";
        let Retry { actor, key, fingerprint, .. } = retry;
        let values = params![actor, key, fingerprint];
        self.db.write(Flush::Now, |connection| run(connection, sql, values).map(drop))
    }

    fn forget_answers(&self, workspace: WorkspaceId) -> Result<()> {
        // Those of an older version do not say which workspace they are about.
        let sql = "UPDATE claim SET body = NULL
                   WHERE body IS NOT NULL AND (workspace IS NULL OR workspace = ?1)";
        let forgotten = self.db.erase(|connection| run(connection, sql, [workspace.as_bytes()]))?;
        if forgotten > 0 { self.db.scrub() } else { Ok(()) }
    }

    fn audit(&self, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        let sql = "SELECT number, at, actor, action, detail, hash FROM audit WHERE number > ?1
                   ORDER BY number LIMIT ?2";
        let values = params![value::number(after), value::limit(limit)];
        self.db.read(|connection| {
            all(connection, sql, values, |row| {
                Ok(AuditRow {
                    number: value::unsigned(row, 0)?,
                    // Its rows have nothing that the first formula does not cover.
                    formula: Formula::First,
                    entry: value::audit_entry(row, 1)?,
                    step: None,
                    hash: row.get(5)?,
                })
            })
        })
    }
}
