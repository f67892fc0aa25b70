//! Accounts and logins over HTTP. Tokens are in the body, and for browsers in cookies as well.

use http::header::USER_AGENT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::Timestamp;
use yard_gate::admin::{Identity, LoginTokens, NewPerson, Person};

use super::cookie::{self, Cookie, CookieNames};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::trusted_proxies;

/// The path of the refresh token's cookie, so that browsers send it to the auth routes only.
const REFRESH_PATH: &str = "/api/v1/auth";

/// A new account.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Register {
    /// Email address: what you log in with.
    email: String,
    /// Password, 12 to 1,024 characters.
    password: String,
    /// The password once more.
    confirm_password: Option<String>,
    /// Your name.
    full_name: Option<String>,
}

/// Email address and password.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Login {
    /// Email address.
    email: String,
    /// Password.
    password: String,
}

/// The code of `toolyard ui`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct LocalCode {
    /// The code that stands in the address that the program prints.
    code: String,
}

/// A refresh token; browsers send it as a cookie.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Refresh {
    /// The refresh token of the last login or refresh.
    refresh_token: Option<String>,
}

/// A person.
#[derive(Serialize, JsonSchema)]
pub(super) struct User {
    id: String,
    email: String,
    full_name: Option<String>,
    /// The person of this machine, who has no account.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_local: bool,
    created_at: String,
}

impl From<&Person> for User {
    fn from(person: &Person) -> Self {
        Self {
            id: person.id.to_string(),
            email: person.email.clone(),
            is_local: person.is_local(),
            full_name: person.full_name.clone(),
            created_at: person.created_at.to_string(),
        }
    }
}

/// A person, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneUser {
    user: User,
}

/// A login.
#[derive(Serialize, JsonSchema)]
pub(super) struct LoginReply {
    user: User,
    access_token: String,
    refresh_token: String,
    access_token_expires_at: String,
    refresh_token_expires_at: String,
}

pub(super) fn register(request: &HttpRequest) -> Result<Reply, Problem> {
    let Register { email, password, confirm_password, full_name } = request.json()?;
    let new = NewPerson { email, password, confirm_password, full_name };
    let person = request.app.admin.register(&new, &trusted_proxies::network(request.peer))?;
    Reply::created(&OneUser { user: User::from(&person) })
}

pub(super) fn login(request: &HttpRequest) -> Result<Reply, Problem> {
    let Login { email, password } = request.json()?;
    logged_in(request, &check_password(request, &email, &password)?)
}

pub(super) fn login_by_code(request: &HttpRequest) -> Result<Reply, Problem> {
    let LocalCode { code } = request.json()?;
    logged_in(request, &request.app.admin.log_in_by_code(&code, user_agent(request))?)
}

pub(super) fn refresh(request: &HttpRequest) -> Result<Reply, Problem> {
    let sent: Refresh = request.json()?;
    let token = sent.refresh_token.as_deref().or(sent_refresh_token(request));
    let token = token.ok_or_else(|| {
        Problem::unknown_caller("send refresh_token in the body, or the cookie that login set")
    })?;
    logged_in(request, &request.app.admin.refresh(token)?)
}

pub(super) fn logout(request: &HttpRequest) -> Result<Reply, Problem> {
    let sent: Refresh = request.json()?;
    let token = sent.refresh_token.as_deref().or(sent_refresh_token(request));
    request.app.admin.log_out(request.optional_identity().as_ref(), token)?;
    request.app.access_changed.notify_waiters();
    let expired = |name, path| Cookie { name, value: String::new(), path, max_age: 0 };
    let names = names(request);
    let cookies = vec![expired(names.access, "/"), expired(names.refresh, REFRESH_PATH)];
    Ok(Reply::empty().with_cookies(cookies))
}

pub(super) fn me(request: &HttpRequest) -> Result<Reply, Problem> {
    match request.identity()? {
        Identity::Person { person, .. } => Reply::ok(&OneUser { user: User::from(person) }),
        Identity::Agent(_) => Err(Problem::forbidden("an agent's key is no person")),
    }
}

/// Logs a browser in: the cookies to set.
pub(super) fn log_in(
    request: &HttpRequest,
    email: &str,
    password: &str,
) -> Result<Vec<Cookie>, Problem> {
    Ok(cookies(request, &check_password(request, email, password)?))
}

fn check_password(
    request: &HttpRequest,
    email: &str,
    password: &str,
) -> Result<LoginTokens, Problem> {
    let address = trusted_proxies::network(request.peer);
    Ok(request.app.admin.log_in(email, password, &address, user_agent(request))?)
}

/// The program that the caller uses, by its own words.
fn user_agent(request: &HttpRequest) -> Option<&str> {
    request.headers().get(USER_AGENT)?.to_str().ok()
}

/// The names of this server's cookies.
fn names(request: &HttpRequest) -> CookieNames {
    cookie::names(request.app.settings.is_local)
}

fn sent_refresh_token(request: &HttpRequest) -> Option<&str> {
    cookie::sent(request.headers(), names(request).refresh)
}

fn cookies(request: &HttpRequest, login: &LoginTokens) -> Vec<Cookie> {
    let (names, now) = (names(request), request.app.admin.world().now());
    let cookie = |name, value: &str, path, until: Timestamp| Cookie {
        name,
        value: value.to_owned(),
        path,
        max_age: (until.as_millis() - now.as_millis()) / 1_000,
    };
    let LoginTokens { access_token, refresh_token, access_expires_at, refresh_expires_at, .. } =
        login;
    vec![
        cookie(names.access, access_token, "/", *access_expires_at),
        cookie(names.refresh, refresh_token, REFRESH_PATH, *refresh_expires_at),
    ]
}

fn logged_in(request: &HttpRequest, login: &LoginTokens) -> Result<Reply, Problem> {
    let LoginTokens { access_token, refresh_token, access_expires_at, refresh_expires_at, .. } =
        login;
    let session = LoginReply {
        user: User::from(&login.person),
        access_token: access_token.clone(),
        refresh_token: refresh_token.clone(),
        access_token_expires_at: access_expires_at.to_string(),
        refresh_token_expires_at: refresh_expires_at.to_string(),
    };
    Ok(Reply::ok(&session)?.with_cookies(cookies(request, login)))
}
