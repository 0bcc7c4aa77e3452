//! Fetching repositories: no questions, no programs of the repository's, and an end.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::PluginError;
use crate::world::{World, process};

/// A clone may be large and a line slow; ten minutes are enough for both.
const PATIENCE: Duration = Duration::from_secs(600);

/// What to fetch.
pub(super) struct Wanted<'a> {
    pub(super) url: &'a str,
    pub(super) reference: Option<&'a str>,
    pub(super) commit: Option<&'a str>,
}

/// Clones a repository into a folder that does not exist, and gives the commit that is checked out.
pub(super) async fn clone(world: &World, wanted: &Wanted<'_>, into: &Path) -> Result<String, PluginError> {
    let Wanted { url, reference, commit } = wanted;
    let folder = into.parent().unwrap_or(Path::new("/"));
    let mut args = vec!["clone", "--quiet", "--no-tags", "--no-recurse-submodules"];
    // A commit need not be near a tip, and not every server hands out single ones.
    if commit.is_none() {
        args.extend(["--depth", "1", "--single-branch"]);
    }
    if let Some(reference) = reference {
        args.extend(["--branch", reference]);
    }
    let target = into.to_string_lossy();
    args.extend(["--", url, &target]);
    git(world, folder, &args).await?;
    if let Some(commit) = commit {
        if commit.starts_with('-') || !commit.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(PluginError::Unsupported(format!("`{commit}` is not the id of a commit")));
        }
        git(world, into, &["checkout", "--quiet", "--detach", commit]).await?;
    }
    git(world, into, &["rev-parse", "HEAD"]).await
}

async fn git(world: &World, cwd: &Path, args: &[&str]) -> Result<String, PluginError> {
    let what = args.first().copied().unwrap_or_default().to_owned();
    let failed = |said: String| PluginError::Git { what: what.clone(), said };
    let mut command = process::command("git", cwd);
    // Variables of git's that name a repository would send the clone elsewhere.
    let kept = |name: &str| {
        !name.starts_with("GIT_")
            || name.starts_with("GIT_SSH")
            || name.starts_with("GIT_CONFIG_")
            || name.starts_with("GIT_SSL")
    };
    command.env_clear().envs(world.env.iter().filter(|(name, _)| kept(name)));
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true");
    if world.env.get("GIT_SSH_COMMAND").is_none() && world.env.get("GIT_SSH").is_none() {
        command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=30");
    }
    for setting in [
        "core.hooksPath=/dev/null",
        "core.fsmonitor=false",
        "protocol.ext.allow=never",
        "gc.auto=0",
        "filter.lfs.smudge=",
        "filter.lfs.required=false",
    ] {
        command.args(["-c", setting]);
    }
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.map_err(|_| failed(format!("no end after {} seconds", PATIENCE.as_secs())))?;
    let output = output.map_err(|error| failed(format!("it cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(failed(without_secrets(last)))
}

/// An address may hold a password before its `@`.
pub(super) fn without_secrets(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once("://") {
        Some((scheme, rest)) => {
            let path = rest.find('/').unwrap_or(rest.len());
            match rest[..path].rfind('@') {
                Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
                None => word.to_owned(),
            }
        }
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}
