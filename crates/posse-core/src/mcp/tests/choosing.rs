//! Who wins a name, and what keeps a server from being started.

use super::*;

fn offered(name: &str, source: McpSource) -> Offered {
    let command = format!("{{command: {}}}", source.label());
    Offered { name: name.into(), config: Ok(config(&command)), source }
}

/// Every server with what became of it, in order.
fn judged(offered: Vec<Offered>, rules: &Rules) -> Vec<String> {
    let lookup = |_: &str| None;
    choose(offered, rules, &lookup)
        .iter()
        .map(|one| {
            let standing = match &one.standing {
                Standing::Ready => "ready".to_owned(),
                Standing::NeedsApproval => "ask".to_owned(),
                Standing::NeedsTrust => "trust".to_owned(),
                Standing::Denied(why) => format!("no: {why}"),
                Standing::Broken(why) => format!("broken: {why}"),
            };
            format!("{}/{} {standing}", one.offered.name, one.offered.source.label())
        })
        .collect()
}

fn approved() -> Rules {
    let approvals = Approvals { all: true, ..Approvals::default() };
    Rules { approvals, trusted: true, ..Rules::default() }
}

#[test]
fn the_strongest_source_has_the_name_and_the_others_are_listed() {
    let all = [
        McpSource::Plugin("p".into()),
        McpSource::User,
        McpSource::Project,
        McpSource::Local,
        McpSource::Flag,
        McpSource::Managed,
    ];
    for strongest in 1..=all.len() {
        let servers: Vec<Offered> =
            all[..strongest].iter().map(|source| offered("x", source.clone())).collect();
        let lines = judged(servers, &approved());
        let winner = all[strongest - 1].label();
        assert_eq!(lines[0], format!("x/{winner} ready"));
        for line in &lines[1..] {
            assert!(line.ends_with(&format!("from the source `{winner}` counts instead")), "{line}");
        }
        assert_eq!(lines.len(), strongest, "none is lost");
    }
}

#[test]
fn a_broken_server_keeps_its_name_and_a_forbidden_one_does_not() {
    let mut broken = offered("x", McpSource::Local);
    broken.config = Err("no command".into());
    let mut variable = offered("y", McpSource::User);
    variable.config = Ok(config("{command: '${NOT_THERE}'}"));
    let lines = judged(vec![broken, offered("x", McpSource::User), variable], &Rules::default());
    assert_eq!(
        lines,
        [
            "x/local broken: no command",
            "x/user no: a server of this name from the source `local` counts instead",
            "y/user broken: the environment variable NOT_THERE is not set; set it, or write ${NOT_THERE:-default}",
        ]
    );
    let rules = Rules {
        policy: Policy { denied: vec![ServerRule::Command(vec!["local".into()])], ..Policy::default() },
        ..Rules::default()
    };
    let lines = judged(vec![offered("x", McpSource::Local), offered("x", McpSource::User)], &rules);
    assert_eq!(lines, ["x/local no: `deniedMcpServers` denies it", "x/user ready"]);
}

#[test]
fn a_folder_s_servers_take_trust_and_a_yes() {
    let names = |names: &[&str]| names.iter().map(|name| Box::from(*name)).collect::<Vec<_>>();
    for (all, enabled, disabled, trusted, want) in [
        (false, &[][..], &[][..], true, "x/project ask"),
        (false, &["x"][..], &[][..], true, "x/project ready"),
        (false, &["y"][..], &[][..], true, "x/project ask"),
        (true, &[][..], &[][..], true, "x/project ready"),
        (true, &["x"][..], &["x"][..], true, "x/project no: it is switched off"),
        (true, &["x"][..], &[][..], false, "x/project trust"),
        (false, &[][..], &[][..], false, "x/project trust"),
        (true, &["x"][..], &["x"][..], false, "x/project no: it is switched off"),
    ] {
        let approvals = Approvals { all, enabled: names(enabled), disabled: names(disabled) };
        let rules = Rules { approvals, trusted, ..Rules::default() };
        assert_eq!(judged(vec![offered("x", McpSource::Project)], &rules), [want]);
        // The user's own servers need nobody's yes.
        assert_eq!(judged(vec![offered("x", McpSource::User)], &rules), ["x/user ready"]);
    }
}

#[test]
fn locks_leave_only_what_they_say() {
    let all = || {
        vec![
            offered("p", McpSource::Plugin("q".into())),
            offered("u", McpSource::User),
            offered("f", McpSource::Flag),
            offered("a", McpSource::Agent),
            offered("m", McpSource::Managed),
        ]
    };
    let ready = |rules: &Rules| -> String {
        let lines = judged(all(), rules);
        let ready = lines.iter().filter_map(|line| line.strip_suffix(" ready"));
        ready.map(|line| &line[..1]).collect::<Vec<_>>().join("")
    };
    let rules = approved;
    for (rules, want) in [
        (rules(), "afmpu"),
        (Rules { strict: true, ..rules() }, "fm"),
        (Rules { managed_only: true, ..rules() }, "m"),
        (Rules { plugin_only: true, ..rules() }, "mp"),
        (Rules { strict: true, managed_only: true, plugin_only: true, ..rules() }, "m"),
    ] {
        assert_eq!(ready(&rules), want, "{rules:?}");
    }
}

#[test]
fn policy_goes_by_name_command_and_address() {
    let name = |name: &str| ServerRule::Name(name.into());
    let command = |words: &[&str]| ServerRule::Command(words.iter().map(|word| Box::from(*word)).collect());
    let url = |pattern: &str| ServerRule::Url(pattern.into());
    let npx = "{command: npx, args: [-y, x]}";
    let web = "{url: 'https://API.example.com/mcp'}";
    let yes = Ok(());
    let no = Err(Denied::NotListed);
    type Case = (Option<Vec<ServerRule>>, Vec<ServerRule>, &'static str, Result<(), Denied>);
    let cases: Vec<Case> = vec![
        (None, vec![], npx, yes.clone()),
        (Some(vec![]), vec![], npx, no.clone()),
        (Some(vec![name("x")]), vec![], npx, yes.clone()),
        (Some(vec![name("y")]), vec![], npx, no.clone()),
        // A list that speaks of commands is not satisfied by a name: anybody can call a server `x`.
        (Some(vec![name("x"), command(&["other"])]), vec![], npx, no.clone()),
        (Some(vec![name("x"), command(&["other"])]), vec![], web, yes.clone()),
        (Some(vec![command(&["npx", "-y", "x"])]), vec![], npx, yes.clone()),
        (Some(vec![command(&["npx", "-y"])]), vec![], npx, no.clone()),
        (Some(vec![url("https://api.example.com/*")]), vec![], web, yes.clone()),
        (Some(vec![url("https://*.example.com/*")]), vec![], web, yes.clone()),
        (Some(vec![url("https://api.example.com")]), vec![], web, no.clone()),
        (Some(vec![url("*")]), vec![], web, yes.clone()),
        (Some(vec![url("https://*")]), vec![], npx, no.clone()),
        // A deny wins, whichever way it is written.
        (Some(vec![name("x")]), vec![name("x")], npx, Err(Denied::Listed)),
        (None, vec![command(&["npx", "-y", "x"])], npx, Err(Denied::Listed)),
        (None, vec![url("*://api.example.com/*")], web, Err(Denied::Listed)),
        (None, vec![url("*mcp*mcp*")], web, yes),
        (Some(vec![]), vec![], "{type: sdk, name: x}", Ok(())),
    ];
    for (allowed, denied, server, want) in cases {
        let policy = Policy { allowed, denied, also_allowed: None };
        assert_eq!(policy.judge("x", &config(server)), want, "{policy:?} {server}");
    }
}

#[test]
fn an_entry_of_a_list_says_one_thing() {
    for (text, want) in [
        ("{serverName: a}", Some(ServerRule::Name("a".into()))),
        ("{serverUrl: u}", Some(ServerRule::Url("u".into()))),
        ("{serverCommand: [a, 1]}", Some(ServerRule::Command(vec!["a".into(), "1".into()]))),
        ("{serverCommand: a}", None),
        ("{serverName: a, serverUrl: u}", None),
        ("{name: a}", None),
        ("a", None),
    ] {
        assert_eq!(read_rule(&yaml::parse(text).unwrap().root).ok(), want, "{text}");
    }
}

#[test]
fn of_servers_whose_tools_could_not_be_told_apart_the_stronger_stays() {
    let alike = |winner: &str, source: &str| {
        format!(
            "no: its tools could not be told from those of `{winner}` (source `{source}`): rename one of the two"
        )
    };
    for (first, second, want) in [
        (("my_server", McpSource::User), ("my.server", McpSource::Project), alike("my.server", "project")),
        (("my_server", McpSource::Flag), ("my.server", McpSource::Project), alike("my_server", "dynamic")),
        // Of one source, the plainer name.
        (("a__b", McpSource::User), ("a", McpSource::User), alike("a", "user")),
        (("a__b", McpSource::Local), ("a", McpSource::User), alike("a__b", "local")),
        (("a_", McpSource::User), ("a", McpSource::User), alike("a", "user")),
        (("ab", McpSource::User), ("a", McpSource::User), "ready".to_owned()),
        (("a_b", McpSource::User), ("a", McpSource::User), "ready".to_owned()),
    ] {
        let lines = judged(vec![offered(first.0, first.1), offered(second.0, second.1)], &approved());
        let wanted = lines.iter().filter(|line| line.ends_with(&want)).count();
        let ready = lines.iter().filter(|line| line.ends_with(" ready")).count();
        let both = if want == "ready" { (2, 2) } else { (1, 1) };
        assert_eq!((wanted, ready), both, "{lines:?}");
    }
}
