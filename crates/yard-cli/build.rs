//! How the binary is linked: at a fixed address. Agents start it for every command and wait for its first
//! answer; otherwise a third of that start is the loader writing addresses into tables of this program,
//! page by page. Libraries, heap and stacks stay where chance puts them. Who would rather have all of it
//! placed by chance builds with the feature `pie`.

#![allow(clippy::disallowed_methods, reason = "Cargo speaks to build scripts by the environment")]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let is_static = target("FEATURE").split(',').any(|feature| feature == "crt-static");
    let is_known = target("OS") == "linux" && target("ENV") == "gnu" && !is_static;
    if is_known && env::var_os("CARGO_FEATURE_PIE").is_none() {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
