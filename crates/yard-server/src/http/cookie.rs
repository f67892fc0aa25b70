//! The two cookies of a browser: HttpOnly, so that no script of a page can read them, and SameSite, so
//! that no other site's page can send them.

use http::HeaderMap;
use http::header::COOKIE;

/// The names of the cookies.
pub(crate) struct CookieNames {
    /// The cookie of the access token.
    pub(crate) access: &'static str,
    /// The cookie of the refresh token, which is sent to the auth routes only.
    pub(crate) refresh: &'static str,
}

/// The names of a server's cookies, or of those of a person's page on this machine. Browsers send cookies to every port
/// of an address, so that the two would otherwise log each other out.
pub(crate) fn names(is_local: bool) -> CookieNames {
    match is_local {
        false => CookieNames { access: "access_token", refresh: "refresh_token" },
        true => CookieNames { access: "local_access_token", refresh: "local_refresh_token" },
    }
}

/// A cookie to be set.
pub(crate) struct Cookie {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) path: &'static str,
    /// Seconds that it lives; 0 removes it.
    pub(crate) max_age: i64,
}

impl Cookie {
    /// The value of the header `Set-Cookie`.
    pub(crate) fn header(&self, secure: bool) -> String {
        let Self { name, value, path, max_age } = self;
        let secure = if secure { "; Secure" } else { "" };
        format!("{name}={value}; Path={path}; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}")
    }
}

/// The value of a cookie in a request.
pub(crate) fn sent<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    all.flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(sent, value)| *sent == name && !value.is_empty())
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "a=1; access_token=x.y.z ;b=2".parse().unwrap());
        assert_eq!(sent(&headers, names(false).access), Some("x.y.z"));
        assert_eq!(sent(&headers, names(false).refresh), None);
    }

    #[test]
    fn a_cookie_is_out_of_reach_of_scripts_and_other_sites() {
        let cookie =
            Cookie { name: names(true).access, value: "v".to_owned(), path: "/", max_age: 60 };
        let header = cookie.header(true);
        assert!(header.contains("HttpOnly") && header.contains("SameSite=Strict"));
        assert!(header.ends_with("; Secure") && !cookie.header(false).contains("Secure"));
    }
}
