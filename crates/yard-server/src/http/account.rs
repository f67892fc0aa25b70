//! The caller's own account over HTTP: another password, and the logins. A login that ends takes its tokens and its open
//! streams along.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::LoginId;
use yard_gate::admin::PersonLogin;

use super::paging::{Paging, cut};
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::trusted_proxies;

/// Another password.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewPassword {
    /// The password until now. A wrong one counts as a failed login.
    current_password: String,
    /// The password from now on, 12 to 1,024 characters.
    new_password: String,
}

/// A login that has not ended.
#[derive(Serialize, JsonSchema)]
pub(super) struct LoginLine {
    id: String,
    created_at: String,
    /// When its tokens were last renewed, which happens every few minutes while it is used.
    last_used_at: String,
    /// The browser or program, by its own words.
    user_agent: Option<String>,
    /// The login of this request.
    current: bool,
}

impl From<&PersonLogin> for LoginLine {
    fn from(login: &PersonLogin) -> Self {
        Self {
            id: login.id.to_string(),
            created_at: login.created_at.to_string(),
            last_used_at: login.last_used_at.to_string(),
            user_agent: login.user_agent.clone(),
            current: login.is_current,
        }
    }
}

/// Logins, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct LoginList {
    logins: Vec<LoginLine>,
    /// Older ones remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn change_password(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewPassword { current_password, new_password } = request.json()?;
    let (admin, address) = (&request.app.admin, trusted_proxies::network(request.peer));
    admin.change_password(request.identity()?, &current_password, &new_password, &address)?;
    request.app.access_changed.notify_waiters();
    Ok(Reply::empty())
}

pub(super) fn logins(request: &HttpRequest) -> Result<Reply, Problem> {
    let paging: Paging = request.query()?;
    let page = paging.page::<LoginId>()?;
    let logins = request.app.admin.logins(request.identity()?, page)?;
    let (logins, next) = cut(logins, &paging, |login| login.id.to_string());
    Reply::ok(&LoginList { logins: logins.iter().map(LoginLine::from).collect(), next })
}

pub(super) fn end_login(request: &HttpRequest) -> Result<Reply, Problem> {
    let login = request.id("login_id", "login")?;
    request.app.admin.end_login(request.identity()?, login)?;
    request.app.access_changed.notify_waiters();
    Ok(Reply::empty())
}
