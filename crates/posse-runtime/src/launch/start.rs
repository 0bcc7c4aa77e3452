//! What flags and settings say of how a session starts: its mode, its agent, the tools they name.
//!
//! Knows which of them wins and what is not allowed. Refuses to know what the mode then does.

use posse_core::permission::Mode;
use posse_core::registry::Lookup;
use posse_core::tools::{self, NotATool, ToolPattern, split_entries};

use super::crew::{Crew, Lodged};
use super::ground::Ground;
use super::{LaunchError, LaunchRequest};
use crate::authority::{RunHooks, Territory};
use crate::catalog::Catalog;
use crate::tool::ToolCx;
use crate::world::{World, is_root};

/// A limit of the environment that cannot be read refuses the start: it must not be taken for no limit.
pub(super) fn check_limits(world: &World) -> Result<(), LaunchError> {
    let bad: Vec<String> = world.env.bad_limits().iter().map(ToString::to_string).collect();
    if bad.is_empty() {
        return Ok(());
    }
    let hint = "correct or unset it, in the environment or under `env` in settings";
    Err(LaunchError::Refused { what: bad.join("; "), hint })
}

/// The mode a session starts in. A flag that is not allowed is refused, a setting that is not is passed over.
pub(super) fn mode(
    request: &LaunchRequest,
    catalog: &Catalog,
    world: &World,
    notes: &mut Vec<String>,
) -> Result<Mode, LaunchError> {
    let settings = &catalog.settings;
    let wanted = match (request.permission_mode, &settings.default_mode) {
        (Some(mode), _) => (mode, None),
        (None, Some(set)) => (set.value, Some(set.by.file.display().to_string())),
        (None, None) => return Ok(catalog.main.approval.mode),
    };
    let (mode, from) = wanted;
    let forbidden = match mode {
        Mode::BypassPermissions => settings.bypass_disabled.as_ref(),
        Mode::Auto => settings.auto_disabled.as_ref(),
        Mode::Plan | Mode::DontAsk | Mode::Default | Mode::Bubble | Mode::AcceptEdits => None,
    };
    let objection = match forbidden {
        Some(by) => Some(format!("is switched off in {}", by.file.display())),
        None if mode == Mode::Bubble => Some("is for agents that others start".to_owned()),
        None => None,
    };
    match (objection, from) {
        (Some(objection), None) => Err(LaunchError::Refused {
            what: format!("permission mode {} {objection}", mode.name()),
            hint: "choose another --permission-mode",
        }),
        (Some(objection), Some(from)) => {
            let name = mode.name();
            notes.push(format!("permission mode {name} from {from} is not used: it {objection}"));
            Ok(Mode::Default)
        }
        (None, from) if mode == Mode::BypassPermissions && is_root() && !world.env.is_on("IS_SANDBOX") => {
            let from = from.map(|from| format!(" ({from} asks for it)")).unwrap_or_default();
            Err(LaunchError::Refused {
                what: format!("approving everything is refused for root: nothing would be safe{from}"),
                hint: "run as another user, or set IS_SANDBOX=1 inside a container",
            })
        }
        (None, _) => Ok(mode),
    }
}

/// The name of the agent a session runs as. One from the settings that is not there is passed over.
pub(super) fn agent<'a>(
    request: &'a LaunchRequest,
    catalog: &'a Catalog,
    notes: &mut Vec<String>,
) -> Option<&'a str> {
    if let Some(name) = &request.agent {
        if request.lenient_agent && !matches!(catalog.registry.lookup(name), Lookup::Found(_)) {
            notes.push(format!("there is no agent called `{name}`; running without"));
            return None;
        }
        return Some(name);
    }
    let set = catalog.settings.agent.as_ref()?;
    match catalog.registry.lookup(&set.value) {
        Lookup::Found(_) => Some(&set.value),
        Lookup::Ambiguous(_) | Lookup::Unknown(_) => {
            let file = set.by.file.display();
            notes.push(format!(
                "there is no agent called `{}`, which {file} asks for; running without",
                set.value
            ));
            None
        }
    }
}

/// Notes on the tools that flags name and that do not exist. A list that is to be the whole of what there is must be
/// right.
pub(super) fn check_tools(request: &LaunchRequest) -> Result<Vec<String>, LaunchError> {
    let mut notes = Vec::new();
    let given = request.tools.as_deref().filter(|list| *list != "default");
    for (name, why) in given.into_iter().flat_map(unknown) {
        let text = format!("--tools {name}: there is no such tool{}", hint(&why));
        match why {
            // Somebody's list for another version; what is left of it still means something.
            NotATool::Retired(_) | NotATool::Elsewhere => notes.push(text),
            NotATool::Case(_) | NotATool::Foreign(_) | NotATool::Misspelt(_) | NotATool::Unknown => {
                let hint = "--tools takes names of built-in tools, such as Read,Grep,Bash";
                return Err(LaunchError::Refused { what: text, hint });
            }
        }
    }
    let mut refused = request.disallowed_tools.iter().flat_map(|list| split_entries(list));
    if let Some((_, entry)) = refused.find(|(_, entry)| ToolPattern::is_unbalanced(entry)) {
        // A limit that cannot be read must not be taken for none.
        let what = format!("--disallowedTools {entry}: unbalanced parentheses");
        return Err(LaunchError::Refused { what, hint: "write Tool or Tool(pattern), in quotes" });
    }
    let flags =
        [("--allowedTools", &request.allowed_tools), ("--disallowedTools", &request.disallowed_tools)];
    for (flag, lists) in flags {
        for (name, why) in lists.iter().flat_map(|list| unknown(list)) {
            if name.contains('*') && flag == "--disallowedTools" {
                continue;
            }
            let why = if name.contains('*') {
                "a star in a name allows nothing".to_owned()
            } else {
                format!("there is no such tool{}", hint(&why))
            };
            notes.push(format!("{flag} {name}: {why}"));
        }
    }
    Ok(notes)
}

/// The entries of a list that name no tool.
fn unknown(list: &str) -> Vec<(String, NotATool)> {
    let named = split_entries(list).into_iter().filter_map(|(_, entry)| match ToolPattern::parse(entry) {
        ToolPattern::Tool { name, .. } if tools::find(&name).is_none() => Some(name),
        ToolPattern::All | ToolPattern::Tool { .. } | ToolPattern::Mcp(_) => None,
    });
    named.map(|name| (name.to_string(), tools::why_not_a_tool(&name))).collect()
}

fn hint(why: &NotATool) -> String {
    match why {
        NotATool::Case(close) | NotATool::Foreign(close) | NotATool::Misspelt(close) => {
            format!("; did you mean {close}?")
        }
        NotATool::Retired(instead) => format!(" any more: {instead}"),
        NotATool::Elsewhere => " in posse".to_owned(),
        NotATool::Unknown => String::new(),
    }
}

/// Makes the worktree that the session is to work in, if it is to; a start that asks for one needs it.
pub(super) async fn lodge(
    ground: &mut Ground,
    crew: &Crew,
    hooks: &RunHooks,
) -> Result<Option<Lodged>, LaunchError> {
    let Some(name) = &ground.request.worktree else { return Ok(None) };
    let roots = ground.authority.roots();
    let lodged = crew.lodge(name.as_deref(), hooks, &roots).await.map_err(|why| LaunchError::Refused {
        what: format!("--worktree cannot make its worktree: {why}"),
        hint: "leave --worktree out to work here",
    })?;
    let branch = lodged.branch.as_ref().map(|branch| format!(" on the branch {branch}"));
    ground.notes.push(format!("working in {}{}", lodged.path.display(), branch.unwrap_or_default()));
    ground.gathered.environment.cwd = lodged.path.display().to_string();
    Ok(Some(lodged))
}

/// Moves the session to its worktree.
pub(super) fn settle(lodged: Option<&Lodged>, cx: &ToolCx) -> Territory {
    if let Some(lodged) = lodged {
        cx.cwd.set(lodged.path.clone());
    }
    Territory::new(lodged.map(|lodged| lodged.claim.clone()))
}
