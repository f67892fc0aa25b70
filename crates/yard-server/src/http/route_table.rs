//! Finds the route of a request by its path, then by its method.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use percent_encoding::percent_decode_str;

use super::route::Route;
use super::row::{Handler, Row};

/// Every route, by its path.
pub(crate) struct RouteTable {
    paths: matchit::Router<Vec<SharedRow>>,
}

/// A row, whose route the requests share.
struct SharedRow {
    route: Arc<Route>,
    handler: Handler,
}

/// A route that was found, with the values of the names in its path.
pub(super) struct FoundRoute {
    pub(super) route: Arc<Route>,
    pub(super) handler: Handler,
    pub(super) params: Vec<(String, String)>,
}

/// The result of a lookup.
pub(super) enum Lookup {
    /// The route.
    Route(FoundRoute),
    /// The path has routes, with these other methods.
    OtherMethods(String),
    /// No route has this path.
    Nothing,
}

impl RouteTable {
    /// A table of these rows.
    pub(super) fn of(rows: Vec<Row>) -> Self {
        let mut by_path: HashMap<&'static str, Vec<SharedRow>> = HashMap::new();
        for Row { route, handler } in rows {
            let row = SharedRow { route: Arc::new(route), handler };
            by_path.entry(row.route.path).or_default().push(row);
        }
        let mut paths = matchit::Router::new();
        for (path, rows) in by_path {
            // `insert` fails only for conflicting paths: `every_route_is_found_by_its_path` checks that there are none.
            let _ = paths.insert(path, rows);
        }
        Self { paths }
    }

    /// Finds a route. `HEAD` uses the route of `GET`.
    pub(super) fn find(&self, method: &Method, path: &str) -> Lookup {
        let Ok(found) = self.paths.at(path) else { return Lookup::Nothing };
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        match found.value.iter().find(|row| row.route.method == wanted) {
            Some(SharedRow { route, handler }) => {
                let params = names(&found.params);
                Lookup::Route(FoundRoute { route: Arc::clone(route), handler: *handler, params })
            }
            None => Lookup::OtherMethods(methods(found.value)),
        }
    }
}

/// The values of the names in a path; none if one of them is not UTF-8, so that nothing is found by them.
fn names(params: &matchit::Params<'_, '_>) -> Vec<(String, String)> {
    let decoded = params.iter().map(|(name, value)| {
        let value = match value.as_bytes().contains(&b'%') {
            true => percent_decode_str(value).decode_utf8().ok()?.into_owned(),
            false => value.to_owned(),
        };
        Some((name.to_owned(), value))
    });
    decoded.collect::<Option<_>>().unwrap_or_default()
}

fn methods(rows: &[SharedRow]) -> String {
    let words = rows.iter().flat_map(|row| match row.route.method {
        Method::GET => vec!["GET", "HEAD"],
        _ => vec![row.route.method.as_str()],
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use yard_dialects::Catalog;

    use super::*;
    use crate::http::routes::{routes, rows};

    fn table() -> RouteTable {
        RouteTable::of(rows(&Catalog::standard()))
    }

    #[test]
    fn every_route_is_found_by_its_path() {
        let table = table();
        for route in routes(&Catalog::standard()) {
            let path = route.path.replace("{*", "{").replace('{', "x-").replace('}', "");
            let Lookup::Route(found) = table.find(&route.method, &path) else {
                panic!("{} {path}", route.method)
            };
            let (found, names) = (found.route, found.params);
            assert_eq!((&found.method, found.path), (&route.method, route.path));
            assert_eq!(names.len(), route.path.matches('{').count(), "{path}");
            assert!(names.iter().all(|(name, value)| *value == format!("x-{name}")), "{names:?}");
        }
    }

    #[test]
    fn a_head_is_a_get_and_other_methods_are_named() {
        let table = table();
        assert!(matches!(table.find(&Method::HEAD, "/health"), Lookup::Route(..)));
        let Lookup::OtherMethods(allowed) = table.find(&Method::PUT, "/health") else { panic!() };
        assert_eq!(allowed, "GET,HEAD");
        for path in ["/health/", "//", "", "/api/v1", "/openapi.json/x", "*"] {
            assert!(matches!(table.find(&Method::GET, path), Lookup::Nothing), "{path}");
        }
    }

    #[test]
    fn names_are_decoded_and_a_name_that_is_not_utf8_finds_nothing() {
        let named = |id: &str| {
            let path = format!("/api/v1/workspaces/{id}");
            match table().find(&Method::GET, &path) {
                Lookup::Route(found) => found.params,
                _ => panic!("{path}"),
            }
        };
        assert_eq!(named("a%20b%2Fc"), [("id".to_owned(), "a b/c".to_owned())]);
        assert_eq!(named("a%ffb"), []);
    }
}
