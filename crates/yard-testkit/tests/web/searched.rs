//! A5: the web is searched by the provider that is configured; its key is for nobody else.

use serde_json::{Value, json};
use yard_dialects::assistant::{Provider, search_provider};
use yard_gate::{Actor, Awaited, CallerPolicy, Net, Web};
use yard_store::{SqliteStore, Store as _};
use yard_testkit::TestWorkspace;

use super::server::{Server, page};
use super::{Names, call, workspace};

const KEY: &str = "open-sesame";

fn searching(provider: Provider, server: &Server) -> TestWorkspace {
    let search = search_provider(provider, Some(&server.url("")), Some(KEY.to_owned())).unwrap();
    // The provider is on loopback, which is where the operator said that it is.
    let net = Net::default().resolving_by(Names::new(|_, _| Vec::new()));
    workspace(Web::new(net).searching(search).unwrap())
}

fn search(workspace: &TestWorkspace, args: Value) -> Value {
    let answer = call(
        workspace,
        &workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded),
        "web_search",
        args,
    );
    assert!(!answer.body.to_string().contains(KEY), "{}", answer.body);
    answer.body["result"].clone()
}

fn results(count: usize, snippet: &str) -> Vec<Value> {
    let one = |at| json!({"title": format!("T{at}"), "url": format!("https://r.example/{at}"), snippet: "a <strong>b</strong> &amp; c"});
    (0..count).map(one).collect()
}

#[test]
fn a5_every_provider_is_asked_in_its_own_words() {
    for (provider, body, line, says) in [
        (
            Provider::Searxng,
            json!({"results": results(8, "content")}),
            "GET /search?format=json&q=rust%20%26%20web HTTP/1.1",
            "",
        ),
        (
            Provider::Brave,
            json!({"web": {"results": results(8, "description")}}),
            "GET /res/v1/web/search?count=5&q=rust%20%26%20web HTTP/1.1",
            "x-subscription-token: open-sesame",
        ),
        (
            Provider::Tavily,
            json!({"results": results(8, "content")}),
            "POST /search HTTP/1.1",
            "authorization: Bearer open-sesame",
        ),
    ] {
        let server = Server::saying(page("application/json", body.to_string()));
        let workspace = searching(provider, &server);
        let reply = search(&workspace, json!({"query": "rust & web"}));
        let found = reply["value"]["results"].as_array().unwrap_or_else(|| panic!("{reply}"));
        assert_eq!(found.len(), 5, "{provider:?}");
        let first = json!({"title": "T0", "url": "https://r.example/0", "snippet": "a b & c"});
        assert_eq!(found[0], first);
        let heard = server.heard().remove(0);
        assert!(heard.starts_with(line), "{heard}");
        let lines: String = heard.lines().map(|line| format!("{line}\n")).collect();
        assert!(lines.to_lowercase().contains(&says.to_lowercase()), "{heard}");
        let many = search(&workspace, json!({"query": "x", "numResults": "20"}));
        assert_eq!(many["value"]["results"].as_array().unwrap().len(), 8);
        let rows = SqliteStore::open(workspace.folders().state()).unwrap().audit(0, 99).unwrap();
        let reply = format!("{rows:?}");
        assert!(
            reply.contains("assistant.web_search fetch 127.0.0.1") && !reply.contains(KEY),
            "{reply}"
        );
    }
}

#[test]
fn a5_without_a_provider_it_says_how_to_have_one() {
    let workspace = workspace(Web::default());
    let reply = search(&workspace, json!({"query": "x"}));
    assert_eq!(reply["error"]["code"], json!("UNAVAILABLE"));
    let message = reply["error"]["message"].as_str().unwrap();
    for word in ["searxng", "brave", "tavily", "search_url", "TOOLYARD__WEB__SEARCH"] {
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn a5_a_refusal_of_a_provider_is_reported_without_its_text() {
    let refusing =
        format!("HTTP/1.1 401 No\r\nContent-Length: {}\r\n\r\nbad key {KEY}", 8 + KEY.len());
    for (answer, expected) in [
        (refusing.as_str(), "answered 401: it does not take the key"),
        ("HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n", "too many searches"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>", "did not answer in JSON"),
    ] {
        let server = Server::saying(answer);
        let reply = search(&searching(Provider::Brave, &server), json!({"query": "x"}));
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    let off = Server::saying("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    let reply = search(&searching(Provider::Searxng, &off), json!({"query": "x"}));
    assert!(reply["error"]["message"].as_str().unwrap().contains("settings.yml"), "{reply}");
    for args in [
        json!({"query": " "}),
        json!({"query": "x", "numResults": 0}),
        json!({"query": "x", "numResults": 21}),
    ] {
        assert_eq!(
            search(&workspace(Web::default()), args)["error"]["code"],
            json!("INVALID_ARGUMENTS")
        );
    }
    let found_nothing = Server::saying(page("application/json", "{\"type\": \"search\"}"));
    let reply = search(&searching(Provider::Brave, &found_nothing), json!({"query": "x"}));
    assert_eq!(reply["value"]["results"], json!([]));
}

#[test]
fn a5_searching_asks_where_everything_asks() {
    let server = Server::saying(page("application/json", "{\"results\": []}"));
    let workspace = searching(Provider::Tavily, &server);
    let strict = workspace.session_of(Actor::LocalAgent, CallerPolicy::Strict);
    let answer = call(&workspace, &strict, "web_search", json!({"query": "where is it"}));
    let Some(Awaited::Approval(id)) = answer.pending.map(|pending| pending.awaited) else {
        panic!("{}", answer.body)
    };
    let request = workspace.person().approvals().get(id).unwrap().request;
    assert!(
        request.reason.contains("search for \"where is it\" at 127.0.0.1"),
        "{}",
        request.reason
    );
    assert!(!format!("{request:?}").contains(KEY));
    let viewer = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    let answer = call(&workspace, &viewer, "web_search", json!({"query": "x"}));
    assert_eq!(answer.body["result"]["error"]["code"], json!("PERMISSION_DENIED"));
    assert_eq!(server.heard().len(), 0);
}
