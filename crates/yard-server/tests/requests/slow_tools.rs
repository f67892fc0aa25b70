//! Tools that take as long as a test wants.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op;
use yard_dialects::{Catalog, Context, Dialect, PathStyle, Stop, Tool, Work, envelope};

/// No condition may take longer to hold.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const TOOLSET: &str = "slow";

const DIALECT: Dialect = Dialect {
    name: TOOLSET,
    about: "Tools that take as long as a test wants.",
    path_style: PathStyle::Rooted,
    error_code: |_, _| "failed",
    wrap_reply: envelope::wrap_reply,
    wrap_stop: |_, stop| {
        envelope::wrap_stop(stop, |failure| serde_json::json!({"message": failure.message}))
    },
};

/// The standard tools, and these.
pub(crate) fn catalog() -> Catalog {
    let mut catalog = Catalog::standard();
    catalog.register::<Linger>(&DIALECT);
    catalog.register::<Occupy>(&DIALECT);
    catalog
}

/// Begins a test that uses these tools. They count for the whole process, so that such tests go one after the other.
pub(crate) fn begin() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    LINGERED.store(0, Ordering::SeqCst);
    OCCUPYING.store(0, Ordering::SeqCst);
    RELEASED.store(false, Ordering::SeqCst);
    guard
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits the first time until it is cancelled, and from then on writes at once.
struct Linger;

/// How often `linger` was called.
pub(crate) static LINGERED: AtomicUsize = AtomicUsize::new(0);

#[derive(Deserialize, JsonSchema)]
struct WriteArgs {
    /// The path to write.
    path: String,
}

#[derive(Serialize, JsonSchema)]
struct Done {
    done: bool,
}

impl Tool for Linger {
    type Args = WriteArgs;
    type Reply = Done;
    const NAME: &'static str = "linger";

    fn run(args: WriteArgs, context: &Context<'_>) -> Result<Done, Stop> {
        if LINGERED.fetch_add(1, Ordering::SeqCst) == 0 {
            let began = Instant::now();
            while began.elapsed() < PATIENCE {
                context.call().check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        write(&args.path, context)
    }
}

fn write(path: &str, context: &Context<'_>) -> Result<Done, Stop> {
    let path = context.path(path)?;
    context.perform(op::Write::replacing(path, b"x\n".to_vec()))?;
    Ok(Done { done: true })
}

/// Does the work of a command: it goes on until the test releases it. Where rules ask about it, they do so first.
struct Occupy;

/// How many calls of `occupy` go on.
pub(crate) static OCCUPYING: AtomicUsize = AtomicUsize::new(0);
/// Ends all calls of `occupy`.
pub(crate) static RELEASED: AtomicBool = AtomicBool::new(false);

impl Tool for Occupy {
    type Args = WriteArgs;
    type Reply = Done;
    const NAME: &'static str = "occupy";
    const WORK: Work = Work::Run;

    fn run(args: WriteArgs, context: &Context<'_>) -> Result<Done, Stop> {
        let done = write(&args.path, context)?;
        OCCUPYING.fetch_add(1, Ordering::SeqCst);
        wait_until("a release", || RELEASED.load(Ordering::SeqCst));
        Ok(done)
    }
}
