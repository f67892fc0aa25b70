//! `toolyard completions`: a script that teaches a shell our commands.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Arguments;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;

const EXAMPLES: &str = "\
Examples:
  toolyard completions bash > ~/.local/share/bash-completion/completions/toolyard
  toolyard completions fish > ~/.config/fish/completions/toolyard.fish";

/// Print a shell's completion script
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Shell that will read it
    shell: Shell,
}

impl Options {
    pub(super) fn run(&self, _: &CommandContext) -> Result<Reply, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "toolyard", &mut script);
        Ok(Reply::text(String::from_utf8_lossy(&script)))
    }
}
