//! Accounts and logins. A login is a family of refresh tokens, each good for one use; an access token
//! belongs to its login and ends with it.

use yard_core::{ContentHash, Fault, FaultCode, LoginId, Timestamp, UserId};
use yard_store::registry::{NewRefresh, Rotation, SecretHash, UserRow};

use super::identity::{Identity, Person};
use super::password;
use super::refusal::Refusal;
use super::server::Server;
use crate::Actor;

/// Characters of a password.
const PASSWORD: std::ops::RangeInclusive<usize> = 12..=1_024;
const MAX_EMAIL_BYTES: usize = 254;
const MAX_NAME_CHARS: usize = 200;
/// Characters of the name of a program that a person logs in with.
const MAX_PROGRAM_CHARS: usize = 200;
const REFRESH_PREFIX: &str = "tyr_";
/// The prefix of a key. It distinguishes a key from a token, and lets scanners find one that leaked.
pub(super) const KEY_PREFIX: &str = "tyk_";

/// The request for an account.
#[derive(Clone, Debug)]
pub struct NewPerson {
    /// The address.
    pub email: String,
    /// The password.
    pub password: String,
    /// The repeated password, if the door asks for it.
    pub confirm_password: Option<String>,
    /// The name.
    pub full_name: Option<String>,
}

/// A login that was just made or renewed.
#[derive(Clone, Debug)]
pub struct LoginTokens {
    /// The person.
    pub person: Person,
    /// Sent with every call; valid for minutes.
    pub access_token: String,
    /// When it ends.
    pub access_expires_at: Timestamp,
    /// Exchanged once for a new pair.
    pub refresh_token: String,
    /// When it ends.
    pub refresh_expires_at: Timestamp,
}

impl Server {
    /// Makes an account.
    pub fn register(&self, new: &NewPerson, address: &str) -> Result<Person, Refusal> {
        if !self.auth.open_registration {
            return Err(Refusal::denied(
                "registration is closed on this server; its operator can open it \
                 (registration.open in the configuration)",
            ));
        }
        check_new(new)?;
        let now = self.now();
        self.count_account_answer(address, now)?;
        self.registrations_by_address.count(address, now).map_err(Refusal::TooMany)?;
        let row = UserRow {
            id: UserId::new(self.world.as_ref()),
            email: email_key(&new.email),
            full_name: new.full_name.as_deref().map(str::trim).map(str::to_owned),
            password: password::hash(&new.password, self.world.as_ref())?,
            created_at: now,
        };
        let audit = self.audit(Actor::Person(row.id), "register", String::new());
        if !self.registry.add_user(&row, &audit)? {
            return Err(Refusal::taken(
                "this email address has an account already; log in instead",
            ));
        }
        self.account_answers.uncount(address, now);
        Ok(row.into())
    }

    /// Makes a login for a person who sends the right password, from that address and with that program.
    pub fn log_in(
        &self,
        email: &str,
        password: &str,
        address: &str,
        user_agent: Option<&str>,
    ) -> Result<LoginTokens, Refusal> {
        let (mut email, now) = (email_key(email), self.now());
        // No account has a longer address, so that the rest of a longer text is not kept in the counts.
        email.truncate(email.floor_char_boundary(MAX_EMAIL_BYTES + 1));
        self.logins.count(&email, address, now).map_err(Refusal::TooMany)?;
        let user = self.registry.user_by_email(&email)?;
        let hash = user.as_ref().map(|user| user.password.as_str());
        let matches = is_password(password, hash);
        let Some(user) = user.filter(|_| matches) else {
            return Err(Refusal::Unknown("the email address or the password is wrong".to_owned()));
        };
        self.logins.uncount(&email, address, now);
        let actor = Actor::Person(user.id);
        self.begin_login(user, actor, user_agent)
    }

    /// Makes a login for a person who has proved who it is.
    pub(super) fn begin_login(
        &self,
        user: UserRow,
        actor: Actor,
        user_agent: Option<&str>,
    ) -> Result<LoginTokens, Refusal> {
        let login = LoginId::new(self.world.as_ref());
        let (refresh_token, refresh) = self.new_refresh()?;
        let audit = self.audit(actor, "login", format!("login {login}"));
        let user_agent = user_agent.and_then(shown_program);
        self.registry.add_login(login, user.id, user_agent.as_deref(), refresh, &audit)?;
        self.logged_in(user.into(), login, refresh_token, refresh.expires_at)
    }

    /// Exchanges a refresh token for a new pair. A token that was used before ends its whole login: it was copied, and
    /// the server cannot know whether its owner or the thief sends it.
    pub fn refresh(&self, token: &str) -> Result<LoginTokens, Refusal> {
        let presented = secret_hash(token);
        let refused = |message: &str| Refusal::Unknown(message.to_owned());
        let ended = || refused("the refresh token is not good any more; log in again");
        let (login, user) = self.registry.login_of(&presented)?.ok_or_else(ended)?;
        let detail = format!("login {login}: a refresh token was used twice");
        let reused = self.audit(Actor::Person(user), "end login", detail);
        let (refresh_token, next) = self.new_refresh()?;
        match self.registry_for_change().rotate(&presented, next, &reused)? {
            Rotation::Rotated { .. } => {}
            Rotation::Reused { .. } => {
                let message =
                    "this refresh token was used before, so its login was ended; log in again";
                return Err(refused(message));
            }
            Rotation::Dead => return Err(ended()),
        }
        let person = self.registry.person(login)?.ok_or_else(invalid_token)?;
        self.logged_in(person.into(), login, refresh_token, next.expires_at)
    }

    /// Ends the login of a token. It is no error if the login has ended already.
    pub fn log_out(
        &self,
        identity: Option<&Identity>,
        refresh: Option<&str>,
    ) -> Result<(), Refusal> {
        let by_refresh = match refresh {
            Some(token) => self.registry.login_of(&secret_hash(token))?,
            None => None,
        };
        let by_access = match identity {
            Some(Identity::Person { person, login }) => Some((*login, person.id)),
            _ => None,
        };
        for (login, user) in by_refresh.into_iter().chain(by_access) {
            let audit = self.audit(Actor::Person(user), "logout", format!("login {login}"));
            self.registry_for_change().end_login(login, &audit)?;
        }
        Ok(())
    }

    /// The caller with this token or key.
    pub fn identify(&self, token: &str) -> Result<Identity, Refusal> {
        let now = self.now();
        if let Some(identity) = self.callers.identity(token, now) {
            return Ok(identity);
        }
        let lookup = self.callers.begin_lookup(now);
        let (identity, end) = if token.starts_with(KEY_PREFIX) {
            (self.agent_by_secret(&secret_hash(token))?, None)
        } else {
            let (login, end) = self.tokens.read(token, now).ok_or_else(invalid_token)?;
            let person = self.registry.person(login)?.ok_or_else(invalid_token)?;
            (Identity::Person { person: person.into(), login }, Some(end))
        };
        self.callers.store_identity(lookup, token, &identity, end);
        Ok(identity)
    }

    fn agent_by_secret(&self, secret: &SecretHash) -> Result<Identity, Refusal> {
        let key = self.registry.key_by_secret(secret)?;
        key.map(Identity::Agent)
            .ok_or_else(|| Refusal::Unknown("this key was revoked, or never was one".to_owned()))
    }

    fn logged_in(
        &self,
        person: Person,
        login: LoginId,
        refresh_token: String,
        refresh_expires_at: Timestamp,
    ) -> Result<LoginTokens, Refusal> {
        let now = self.now();
        let access_expires_at = later(now, i64::from(self.auth.access_minutes) * 60_000);
        let access_token = self.tokens.sign(&person.id.to_string(), login, now, access_expires_at);
        let access_token = access_token
            .ok_or_else(|| Fault::new(FaultCode::Io, "the access token could not be signed"))?;
        Ok(LoginTokens {
            person,
            access_token,
            access_expires_at,
            refresh_token,
            refresh_expires_at,
        })
    }

    fn new_refresh(&self) -> Result<(String, NewRefresh), Refusal> {
        let token = self.new_secret(REFRESH_PREFIX)?;
        let expires_at = later(self.now(), i64::from(self.auth.refresh_days) * 86_400_000);
        let refresh = NewRefresh { secret: secret_hash(&token), expires_at };
        Ok((token, refresh))
    }

    /// A random text for a token or key.
    pub(super) fn new_secret(&self, prefix: &str) -> Result<String, Refusal> {
        let secret = self.world.secret().ok_or_else(|| {
            Fault::new(FaultCode::Unavailable, "this machine has no source of secrets")
        })?;
        Ok(format!("{prefix}{}", ContentHash::from_bytes(secret)))
    }
}

/// The hash by which the registry finds a token or key.
pub(super) fn secret_hash(token: &str) -> SecretHash {
    *ContentHash::of(token.as_bytes()).as_bytes()
}

fn invalid_token() -> Refusal {
    Refusal::Unknown("the access token is not good, or has ended; log in or refresh".to_owned())
}

fn later(now: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_add(millis))
}

/// Addresses are compared in lower case.
pub(super) fn email_key(email: &str) -> String {
    email.trim().to_lowercase()
}

/// What is wrong with the length of a new password.
pub(super) fn wrong_length(password: &str) -> Option<String> {
    let fits = PASSWORD.contains(&password.chars().count());
    (!fits).then(|| format!("expected {} to {} characters", PASSWORD.start(), PASSWORD.end()))
}

/// Whether a password is that of an account. A longer one than any account has is not hashed.
pub(super) fn is_password(password: &str, hash: Option<&str>) -> bool {
    password.chars().count() <= *PASSWORD.end() && password::matches(password, hash)
}

/// The name of a program, as it is shown to people; none if it has no letters.
fn shown_program(user_agent: &str) -> Option<String> {
    let shown = user_agent.chars().filter(|character| !character.is_control());
    let shown: String = shown.take(MAX_PROGRAM_CHARS).collect();
    Some(shown.trim().to_owned()).filter(|shown| !shown.is_empty())
}

fn check_new(new: &NewPerson) -> Result<(), Refusal> {
    let mut wrong = Vec::new();
    if !is_email(new.email.trim()) {
        wrong.push(("email", "expected an address such as ada@example.com".to_owned()));
    }
    wrong.extend(wrong_length(&new.password).map(|message| ("password", message)));
    if new.confirm_password.as_ref().is_some_and(|again| *again != new.password) {
        wrong.push(("confirm_password", "is not the same as password".to_owned()));
    }
    if new.full_name.as_ref().is_some_and(|name| name.chars().count() > MAX_NAME_CHARS) {
        wrong.push(("full_name", format!("expected at most {MAX_NAME_CHARS} characters")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(Refusal::Fields(wrong)) }
}

fn is_email(text: &str) -> bool {
    let plain = |character: char| !character.is_whitespace() && !character.is_control();
    let halves = text.rsplit_once('@');
    text.len() <= MAX_EMAIL_BYTES
        && text.chars().all(plain)
        && halves.is_some_and(|(local, domain)| {
            !local.is_empty() && !local.contains('@') && !domain.is_empty()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_distinguished_from_other_texts() {
        assert!(is_email("ada@example.com") && is_email("ada@localhost"));
        for wrong in ["", "ada", "@x", "ada@", "a b@c", "a@b@c", "a\n@b"] {
            assert!(!is_email(wrong), "{wrong}");
        }
    }
}
