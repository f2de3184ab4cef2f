//! `tidegate blocks`: the blocks that hold now.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::admin::{AdminArgs, text};
use super::failure::ExitFailure;
use crate::client::{ServerAddress, encoded};
use crate::text::{TextTable, escaped_json, in_words};

/// List the blocks that hold now
///
/// Accounts and addresses do not show: a block is named by a key, which `tidegate unblock --key` takes.
/// Up to 100 are listed, with --all up to 10000. Blocks that begin or end meanwhile may be missing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate blocks --token-file admin.token
  TIDEGATE_ADMIN_TOKEN=$(cat admin.token) tidegate blocks --all --json
  tidegate blocks --admin http://127.0.0.1:7707")]
pub(super) struct BlocksArgs {
    /// List up to 10000 blocks, not 100
    #[arg(long)]
    all: bool,
    /// Print JSON: the blocks as the server lists them, and whether there are more
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    admin: AdminArgs,
}

/// One page of the list of blocks.
#[derive(Debug, Deserialize)]
struct Page {
    blocks: Vec<Value>,
    next: Option<String>,
}

/// The part of a listed block that is shown.
#[derive(Debug, Deserialize)]
struct Listed {
    policy: Option<String>,
    limit: Option<String>,
    scope: String,
    level: Option<String>,
    ends_in_us: u64,
    key: String,
}

const FEW: usize = 100;
const ALL: usize = 10_000;

/// The most pages that are asked for: a large store has many, and most of them may be empty.
const MOST_PAGES: usize = 100_000;

pub(super) fn run(args: &BlocksArgs) -> Result<ExitCode, ExitFailure> {
    let most = if args.all { ALL } else { FEW };
    let (blocks, more) = args.admin.ask(async |peer| listed(peer, most).await)?;
    let mut out = io::stdout().lock();
    if args.json {
        let document = json!({ "blocks": blocks, "more": more });
        writeln!(out, "{}", escaped_json(&document.to_string()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if blocks.is_empty() {
        writeln!(out, "Nobody is blocked.")?;
    } else {
        write!(out, "{}", table(blocks)?)?;
    }
    if more {
        let advice = if args.all { "this is the most that is listed" } else { "--all lists more" };
        writeln!(io::stderr().lock(), "There are more than these {most}; {advice}.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The first blocks of the list, and whether there are more.
async fn listed(peer: &ServerAddress, most: usize) -> Result<(Vec<Value>, bool)> {
    let (mut blocks, mut path) = (Vec::new(), "/admin/blocks".to_owned());
    for _ in 0..MOST_PAGES {
        let page = text(peer.get(&path).await?)?;
        let page: Page =
            serde_json::from_str(&page).context("the answer is not a list of blocks")?;
        blocks.extend(page.blocks);
        let more = blocks.len() > most;
        blocks.truncate(most);
        match page.next {
            Some(next) if !more => path = format!("/admin/blocks?after={}", encoded(&next)),
            _ => return Ok((blocks, more)),
        }
    }
    Ok((blocks, true))
}

fn table(blocks: Vec<Value>) -> Result<TextTable> {
    let mut table = TextTable::headed(["policy", "limit", "scope", "level", "ends in", "key"]);
    for block in blocks {
        let block: Listed =
            serde_json::from_value(block).context("the answer is not a list of blocks")?;
        let none = || "–".to_owned();
        table.row(&[
            block.policy.unwrap_or_else(none),
            block.limit.unwrap_or_else(none),
            block.scope,
            block.level.unwrap_or_else(none),
            in_words(block.ends_in_us),
            block.key,
        ]);
    }
    Ok(table)
}
