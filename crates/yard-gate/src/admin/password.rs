//! Passwords: Argon2id with the parameters that its crate recommends. A password is never stored, and
//! never compared with anything but its hash.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use yard_core::{Fault, FaultCode, Result, World};

/// A hash of no password that anyone uses. It is checked where there is no account, so that the answer takes as long as
/// where there is one.
const NO_ACCOUNT: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXRoaW5nc2FsdHk$\
                      H0nbSCYyQbcAGyfRk5tJ2hfb2sLYqVAAZBWxzOdWvTA";

/// The hash of a password, as a string in the PHC format.
pub(super) fn hash(password: &str, world: &dyn World) -> Result<String> {
    let salt = world.random().to_le_bytes();
    let hashed = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    hashed.map(|hash| hash.to_string()).map_err(|error| {
        Fault::new(FaultCode::Io, format!("the password could not be hashed: {error}"))
    })
}

/// Whether `hash` is that of the password. Without a hash the answer is no, after the same time.
pub(super) fn matches(password: &str, hash: Option<&str>) -> bool {
    let has_account = hash.is_some();
    let Ok(parsed) = PasswordHash::new(hash.unwrap_or(NO_ACCOUNT)) else { return false };
    let same = Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok();
    same && has_account
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_for_no_account_parses_and_matches_no_password() {
        assert!(PasswordHash::new(NO_ACCOUNT).is_ok());
        assert!(!matches("something", None));
    }
}
