//! `toolyard tools`: what can be called, for people and for each vendor's models.

use yard_core::FaultCode;
use yard_dialects::{Catalog, Format, docs};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  toolyard tools                        names and what they do
  toolyard tools --toolset codex        those of another toolset
  toolyard tools --format anthropic     definitions for a model
  toolyard tools --format markdown      the reference in docs/
  toolyard tools --format openapi       the routes of toolyard serve";

/// List the tools that can be called
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Print definitions instead of a table
    #[arg(long, value_name = "FORMAT")]
    format: Option<DefinitionFormat>,
    /// Toolset whose tools are listed: workspace, file, coder, assistant, codex or filesystem
    #[arg(long, value_name = "NAME", default_value = "workspace")]
    toolset: String,
}

/// The format of the definitions.
#[derive(Clone, Copy, clap::ValueEnum)]
enum DefinitionFormat {
    /// With input and output schemas
    Json,
    /// Name, description and parameters, and no more
    Functions,
    /// As OpenAI's Responses API takes them
    Openai,
    /// As OpenAI's Chat Completions API takes them
    OpenaiChat,
    /// As Anthropic takes them
    Anthropic,
    /// As Gemini takes them
    Gemini,
    /// The reference for people
    Markdown,
    /// The OpenAPI document of the server, with every toolset
    Openapi,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let catalog = Catalog::standard();
        if catalog.list(&self.toolset).next().is_none() {
            return Err(no_toolset(&self.toolset, &catalog));
        }
        let format = match self.format {
            None => {
                let table = self.table(&catalog);
                let hint = self.other_toolsets();
                return Ok(Reply::text(table.render_with_hint(context.terminal, Some(&hint))));
            }
            Some(DefinitionFormat::Markdown) => return Ok(Reply::text(docs::markdown(&catalog))),
            Some(DefinitionFormat::Openapi) => return Ok(openapi(&catalog)),
            Some(DefinitionFormat::Json) => Format::Json,
            Some(DefinitionFormat::Functions) => Format::Functions,
            Some(DefinitionFormat::Openai) => Format::OpenAi,
            Some(DefinitionFormat::OpenaiChat) => Format::OpenAiChat,
            Some(DefinitionFormat::Anthropic) => Format::Anthropic,
            Some(DefinitionFormat::Gemini) => Format::Gemini,
        };
        Ok(Reply::json(catalog.definitions(&self.toolset, format)))
    }

    /// What to type for the tools that are not listed.
    fn other_toolsets(&self) -> String {
        let others = Catalog::toolset_names().into_iter().filter(|name| *name != self.toolset);
        let others: Vec<&str> = others.collect();
        format!(
            "these are the tools of {}; --toolset lists others: {}",
            self.toolset,
            others.join(", ")
        )
    }

    fn table(&self, catalog: &Catalog) -> Table {
        let mut table = Table::new(&["TOOL", "WHAT IT DOES"]);
        for tool in catalog.list(&self.toolset) {
            table.push(vec![tool.name().to_owned(), first_sentence(tool.about()).to_owned()]);
        }
        table
    }
}

/// The OpenAPI document with indentation, so that a diff of the copy in docs/ is readable.
fn openapi(catalog: &Catalog) -> Reply {
    Reply::text(format!("{:#}\n", yard_server::http::document(catalog)))
}

fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence).trim_end_matches('.')
}

fn no_toolset(name: &str, catalog: &Catalog) -> Failure {
    let known: Vec<&str> = catalog.dialects().map(|dialect| dialect.name).collect();
    Failure::new(FaultCode::NotFound, format!("no such toolset: {name}"))
        .with_hint(format!("known toolsets: {}", known.join(", ")))
}
