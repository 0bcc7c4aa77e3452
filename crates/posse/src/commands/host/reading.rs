//! What a host looks at through the session: files, names that might be meant, output of commands. And where it works.

use posse_runtime::launch::{FileRead, Reins};
use serde_json::{Value, json};

use super::control::{Handled, done, refused};
use super::incoming::Request;

/// How many names are suggested.
const MOST: usize = 15;

/// A file's contents, if the agent could read it without asking.
pub(super) fn read_file(request: &Request, reins: &Reins) -> Handled {
    let Some(path) = request.text("path").map(str::to_owned) else {
        return refused("read_file needs `path`");
    };
    let most = request.body.get("max_bytes").and_then(Value::as_u64);
    let base64 = request.text("encoding") == Some("base64");
    let reins = reins.clone();
    Handled::Later(Box::pin(async move {
        let FileRead { contents, path, truncated, lossy } = reins.read_file(&path, most, base64).await?;
        let mut answer = json!({ "contents": contents, "absPath": path.display().to_string() });
        if truncated {
            answer["truncated"] = json!(true);
        }
        match lossy {
            Some(lossy) => answer["lossy"] = json!(lossy),
            None => answer["encoding"] = json!("base64"),
        }
        Ok(Some(answer))
    }))
}

/// The model knows a file that is not in its conversation any more.
pub(super) fn seed_read_state(request: &Request, reins: &Reins) -> Handled {
    let (path, mtime) = (request.text("path"), request.body.get("mtime").and_then(Value::as_f64));
    let (Some(path), Some(mtime)) = (path, mtime) else {
        return refused("seed_read_state needs `path` and `mtime`");
    };
    reins.seed_read(path, mtime);
    done(json!({}))
}

/// The end of what a command in the background has printed.
pub(super) fn task_output(request: &Request, reins: &Reins) -> Handled {
    let id = request.text("task_id").unwrap_or_default();
    match reins.task_output(id) {
        None => refused(format!("No shell task found with id: {id}")),
        Some(output) => done(json!({
            "truncated": output.truncated,
            "total_bytes": output.bytes,
            "output": output.text,
        })),
    }
}

/// Names of files that may be meant.
pub(super) fn file_suggestions(request: &Request, reins: &Reins) -> Handled {
    let (query, reins) = (request.text("query").unwrap_or_default().to_owned(), reins.clone());
    Handled::Later(Box::pin(async move {
        let found = tokio::task::spawn_blocking(move || reins.file_names()).await;
        let (cwd, names) = found.map_err(|error| error.to_string())?;
        let suggestions: Vec<Value> = ranked(&query, &names)
            .into_iter()
            .map(|name| json!({ "id": format!("file-{name}"), "displayText": name, "path": cwd.join(name) }))
            .collect();
        Ok(Some(json!({ "suggestions": suggestions, "cwd": cwd.display().to_string() })))
    }))
}

/// The names that fit best: those that hold the words as they are, at the beginning of a part if possible; then those
/// that hold the letters in their order. The shorter, the better.
fn ranked<'n>(query: &str, names: &'n [String]) -> Vec<&'n str> {
    let query = query.trim_start_matches("./").to_lowercase();
    let mut fitting: Vec<(u8, usize, &str)> = names
        .iter()
        .filter_map(|name| Some((fit(&query, &name.to_lowercase())?, name.len(), name.as_str())))
        .collect();
    fitting.sort_unstable();
    fitting.into_iter().take(MOST).map(|(_, _, name)| name).collect()
}

/// How well a name fits, the least the best.
fn fit(query: &str, name: &str) -> Option<u8> {
    let depth = name.trim_end_matches('/').matches('/').count();
    if query.is_empty() {
        return (depth == 0).then_some(0);
    }
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    if name.starts_with(query) {
        Some(0)
    } else if last.starts_with(query) {
        Some(1)
    } else if last.contains(query) {
        Some(2)
    } else if name.contains(query) {
        Some(3)
    } else {
        let mut letters = name.chars();
        query.chars().all(|wanted| letters.any(|letter| letter == wanted)).then_some(4)
    }
}

/// Works elsewhere from now on.
pub(super) fn set_cwd(request: &Request, reins: &Reins) -> Handled {
    let Some(path) = request.text("path").map(str::to_owned) else { return refused("set_cwd needs `path`") };
    let reins = reins.clone();
    Handled::Later(Box::pin(async move {
        let cwd = reins.set_cwd(&path).await?;
        Ok(Some(json!({ "cwd": cwd.display().to_string() })))
    }))
}

/// One more folder belongs to the session.
pub(super) fn register_root(request: &Request, reins: &Reins) -> Handled {
    let Some(path) = request.text("directory").map(str::to_owned) else {
        return refused("register_repo_root needs `directory`");
    };
    let skills = request.is_on("reload_skills") || request.is_on("reload_plugins");
    let reins = reins.clone();
    Handled::Later(Box::pin(async move {
        let folder = reins.add_root(&path).await?;
        if skills {
            reins.reload_skills();
        }
        Ok(Some(json!({ "directory": folder.display().to_string() })))
    }))
}

#[cfg(test)]
mod tests;
