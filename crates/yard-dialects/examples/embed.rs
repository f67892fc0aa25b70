//! Toolyard as a library: a workspace in a folder, the catalog with a tool of one's own in a dialect of
//! one's own, and two calls.
//!
//! Run it with `cargo run -p yard-dialects --example embed`.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use yard_core::op::{LineStart, Read, Slice, Want};
use yard_core::{Call, Limits, World};
use yard_dialects::{
    CALLER_HINTS, Catalog, Context, Dialect, PathStyle, Stop, Tool, Work, envelope,
};
use yard_disk::Resolution;
use yard_gate::{Actor, CallerPolicy, OpenWorkspace, Session};
use yard_kernel::{Opening, Workspace};
use yard_store::SqliteStore;
// A clock and dice; a program of your own implements `World` over its own.
use yard_testkit::RealWorld;

/// Counts the words of a text file.
#[derive(Deserialize, JsonSchema)]
struct CountWords {
    /// Path of the file, relative to the workspace root.
    path: String,
}

#[derive(Serialize, JsonSchema)]
struct CountReply {
    /// How many words it has.
    words: usize,
}

impl Tool for CountWords {
    type Args = Self;
    type Reply = CountReply;
    const NAME: &'static str = "count_words";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<CountReply, Stop> {
        let answer = context.perform(Read {
            path: context.path(&args.path)?,
            slice: Slice::Lines { start: LineStart::FromStart(0), limit: None },
            want: Want::default(),
            max_bytes: context.limits().load_bytes,
        })?;
        Ok(CountReply { words: answer.text.split_whitespace().count() })
    }
}

/// How our own tools answer: in the envelope that most dialects share.
const OURS: Dialect = Dialect {
    name: "ours",
    about: "Tools of this program.",
    path_style: PathStyle::Relative,
    error_code: |_, _| "failed",
    wrap_reply: envelope::wrap_reply,
    wrap_stop: |_, stop| {
        envelope::wrap_stop(stop, |failure| json!({"error": "failed", "message": failure.message}))
    },
};

/// Opens the folder `root` as a workspace whose history is kept in the folder `state`.
fn open(root: &Path, state: &Path, world: Arc<dyn World>) -> Result<Session, Box<dyn Error>> {
    let store = Arc::new(SqliteStore::open(state)?);
    let workspace = Workspace::open(Opening {
        root: root.to_owned(),
        state_dir: state.to_owned(),
        store: Arc::clone(&store) as _,
        limits: Limits::default(),
        world,
        probe: None,
        resolution: Resolution::Auto,
        virtual_files: None,
        boxed: None,
    })?;
    let open = OpenWorkspace::new(Arc::new(workspace), store, CALLER_HINTS);
    Ok(Session::new(open, Actor::LocalAgent, CallerPolicy::Open))
}

/// Writes a file by a tool of Toolyard's, then reads it by our own; the answer of that.
pub(crate) fn run(root: &Path, state: &Path) -> Result<String, Box<dyn Error>> {
    let world: Arc<dyn World> = Arc::new(RealWorld);
    let session = open(root, state, Arc::clone(&world))?;
    let mut catalog = Catalog::standard();
    catalog.register::<CountWords>(&OURS);

    let call = Call::new(world).within_millis(10_000);
    let write = json!({"path": "notes/today.txt", "content": "three short words\n"});
    let written = catalog.call("file", "file.write", write, &session, &call);
    let count = json!({"path": "notes/today.txt"});
    let counted = catalog.call("ours", "count_words", count, &session, &call);
    Ok(format!("{}\n{}", written.body, counted.body))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (root, state) = (tempfile::tempdir()?, tempfile::tempdir()?);
    println!("{}", run(root.path(), state.path())?);
    Ok(())
}
