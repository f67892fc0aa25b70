//! The certificate authorities that the user's tools trust, if a variable names a file of them, as in an office whose
//! network inspects connections. Such a file goes into the box if it has certificates and no key.

#![allow(clippy::disallowed_methods, reason = "files of the machine, not of a workspace")]

use std::path::{Path, PathBuf};

use yard_sandbox::Programs;

use crate::user_environment::UserEnvironment;

/// Variables that name a file of certificates.
const VARIABLES: [&str; 9] = [
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "npm_config_cafile",
    "DENO_CERT",
];
/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// The folder of the files in boxes, unless boxes show the file itself.
const SHOWN_AT: &str = "/run/toolyard";
/// Folders that every box shows.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr", "/etc/ssl", "/etc/pki", "/etc/ca-certificates"];

/// Adds the files that the user's variables name.
pub(crate) fn add_to(programs: &mut Programs, user: &UserEnvironment<'_>) {
    for name in VARIABLES {
        let Some(file) = (user.variable)(name).map(PathBuf::from) else { continue };
        if SYSTEM_FOLDERS.iter().any(|folder| file.starts_with(folder)) {
            programs.environment.push((name.into(), file.into()));
        } else if let Some(text) = certificates(&file) {
            let shown = format!("{}.pem", name.to_ascii_lowercase());
            let at = Path::new(SHOWN_AT).join(&shown);
            programs.environment.push((name.into(), at.into()));
            programs.files.push((shown, text));
        }
    }
}

/// The bytes of a file that has certificates and no key.
fn certificates(file: &Path) -> Option<Vec<u8>> {
    let metadata = file
        .metadata()
        .ok()
        .filter(|metadata| metadata.is_file() && metadata.len() <= MAX_FILE_BYTES);
    metadata.filter(|_| file.is_absolute())?;
    let text = std::fs::read_to_string(file).ok()?;
    let begins = |what: &str| text.contains(&format!("-----BEGIN {what}"));
    let holds_key = text.contains("PRIVATE KEY-----");
    let is_safe = (begins("CERTIFICATE") || begins("TRUSTED CERTIFICATE")) && !holds_key;
    is_safe.then(|| text.into_bytes())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn certificates_go_in_and_keys_do_not() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n";
        fs::write(at("office.pem"), certificate).unwrap();
        fs::write(at("both.pem"), format!("{certificate}{key}")).unwrap();
        fs::write(at("other"), "a token").unwrap();
        let variable = |name: &str| match name {
            "PIP_CERT" => Some("/etc/ssl/certs/ca-certificates.crt".into()),
            "SSL_CERT_FILE" => Some(at("office.pem").into()),
            "CURL_CA_BUNDLE" => Some(at("both.pem").into()),
            "NODE_EXTRA_CA_CERTS" => Some(at("other").into()),
            "GIT_SSL_CAINFO" => Some(at("nothing").into()),
            _ => None,
        };
        let user = UserEnvironment { path: "".into(), home: None, variable: &variable };
        let mut programs = Programs::default();
        add_to(&mut programs, &user);
        let environment = [
            ("PIP_CERT".into(), "/etc/ssl/certs/ca-certificates.crt".into()),
            ("SSL_CERT_FILE".into(), "/run/toolyard/ssl_cert_file.pem".into()),
        ];
        assert_eq!(programs.environment, environment);
        let files = [("ssl_cert_file.pem".to_owned(), certificate.as_bytes().to_vec())];
        assert_eq!(programs.files, files);
    }
}
