//! Access tokens: signed claims about a login, valid for minutes. HS256 is the only algorithm: the one that a token
//! names for itself is ignored.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use signature::{Signer, Verifier};
use yard_core::{LoginId, Timestamp};

/// Characters of the shortest secret that tokens may be signed with.
pub(super) const MIN_SECRET_BYTES: usize = 32;

/// Signs tokens and reads them back.
pub(super) struct Tokens {
    signing: EncodingKey,
    checking: DecodingKey,
    validation: Validation,
}

/// The claims of a token.
#[derive(Serialize, Deserialize)]
struct Claims {
    /// The person.
    sub: String,
    /// The login that it came from.
    sid: String,
    /// When it was made, in seconds.
    iat: i64,
    /// When it ends, in seconds.
    exp: i64,
}

impl Tokens {
    pub(super) fn new(secret: &[u8]) -> Self {
        // A second server in one process finds it installed: it is the same one.
        let _ = PROVIDER.install_default();
        let mut validation = Validation::new(Algorithm::HS256);
        // The clock is the world's, so the end of a token is checked below.
        validation.validate_exp = false;
        validation.set_required_spec_claims(&["exp", "sub"]);
        Self {
            signing: EncodingKey::from_secret(secret),
            checking: DecodingKey::from_secret(secret),
            validation,
        }
    }

    /// A token for a login; `None` if it cannot be signed.
    pub(super) fn sign(
        &self,
        person: &str,
        login: LoginId,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<String> {
        let claims = Claims {
            sub: person.to_owned(),
            sid: login.to_string(),
            iat: now.as_millis().div_euclid(1_000),
            exp: until.as_millis().div_euclid(1_000),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.signing).ok()
    }

    /// The login of a token and the end of the token, if this server signed it and it has not ended.
    pub(super) fn read(&self, token: &str, now: Timestamp) -> Option<(LoginId, Timestamp)> {
        let read = jsonwebtoken::decode::<Claims>(token, &self.checking, &self.validation).ok()?;
        let end = Timestamp::from_millis(read.claims.exp.saturating_mul(1_000));
        let login = read.claims.sid.parse().ok()?;
        (now < end).then_some((login, end))
    }
}

/// The only algorithm that is ever used.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| match algorithm {
        Algorithm::HS256 => Ok(Box::new(Hs256::new(key.as_bytes())?)),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    verifier_factory: |algorithm, key| match algorithm {
        Algorithm::HS256 => Ok(Box::new(Hs256::new(key.try_get_as_bytes()?)?)),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    },
    key_utils: KeyUtils::new_unimplemented(),
};

struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn new(key: &[u8]) -> Result<Self, Error> {
        Hmac::new_from_slice(key).map(Self).map_err(|_| ErrorKind::InvalidKeyFormat.into())
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(self.0.clone().chain_update(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let checked = self.0.clone().chain_update(message).verify_slice(signature);
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_token_is_good_until_its_end_and_under_its_secret_only() {
        let tokens = Tokens::new(b"0123456789abcdef0123456789abcdef");
        let login = LoginId::from_bytes([7; 16]);
        let token = tokens.sign("someone", login, at(0), at(60)).unwrap();
        assert_eq!(tokens.read(&token, at(59)), Some((login, at(60))));
        assert_eq!(tokens.read(&token, at(60)), None);
        assert_eq!(Tokens::new(b"another secret of this length, 32").read(&token, at(1)), None);
        let (head, tail) = token.split_at(token.len() - 2);
        let other = if tail == "AA" { "BB" } else { "AA" };
        assert_eq!(tokens.read(&format!("{head}{other}"), at(1)), None);
    }

    #[test]
    fn a_token_without_a_signature_is_none() {
        let tokens = Tokens::new(b"0123456789abcdef0123456789abcdef");
        let login = LoginId::from_bytes([7; 16]);
        let token = tokens.sign("someone", login, at(0), at(60)).unwrap();
        let claims = token.split('.').nth(1).unwrap();
        // {"typ":"JWT","alg":"none"}
        let unsigned = format!("eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.{claims}.");
        assert_eq!(tokens.read(&unsigned, at(1)), None);
    }
}
