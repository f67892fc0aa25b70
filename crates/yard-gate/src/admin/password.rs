//! Passwords: Argon2id with the parameters that its crate recommends. A password is never kept, and
//! never compared with anything but its hash.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use yard_core::{Fault, FaultCode, Result, World};

/// A hash of nothing that anybody types: who asks for an account that is not there waits as long as
/// who asks for one that is.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXRoaW5nc2FsdHk$\
                      H0nbSCYyQbcAGyfRk5tJ2hfb2sLYqVAAZBWxzOdWvTA";

/// The string that stands for a password.
pub(super) fn hash(password: &str, world: &dyn World) -> Result<String> {
    let salt = world.random().to_le_bytes();
    let hashed = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    hashed.map(|hash| hash.to_string()).map_err(|error| {
        Fault::new(FaultCode::Io, format!("the password could not be hashed: {error}"))
    })
}

/// Whether a password is the one that `hash` stands for; without a hash, no, after as long.
pub(super) fn matches(password: &str, hash: Option<&str>) -> bool {
    let known = hash.is_some();
    let Ok(parsed) = PasswordHash::new(hash.unwrap_or(NOBODY)) else { return false };
    let same = Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok();
    same && known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_a_hash_that_parses() {
        assert!(PasswordHash::new(NOBODY).is_ok());
        assert!(!matches("something", None));
    }
}
