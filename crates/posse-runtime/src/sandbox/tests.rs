use super::*;

fn support(landlock: u8, bwrap: bool) -> Support {
    let works =
        Bwrap::Works { path: "/usr/bin/bwrap".into(), version: "bubblewrap 1".into(), own_user: false };
    Support { landlock, seccomp: true, bwrap: if bwrap { works } else { Bwrap::Missing } }
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["scratch", "p/.git/hooks", "q"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join("p/.git/config"), "").unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn reader(&self) -> Profile {
        Profile::read_only(self.path("scratch"))
    }

    fn worker(&self) -> Profile {
        Profile::workspace([self.path("p")], self.path("scratch"))
    }
}

#[cfg(target_os = "linux")]
#[test]
fn means_are_chosen_by_what_there_is_and_what_is_needed() {
    let place = Place::new();
    let cases = [
        (place.reader(), 7, true, "kernel"),
        (place.reader(), 7, false, "kernel"),
        (place.reader(), 2, true, "mounts"),
        (place.reader(), 2, false, "none"),
        (place.worker(), 7, true, "mounts"),
        (place.worker(), 3, false, "kernel"),
        (place.worker(), 0, true, "mounts"),
        (place.reader().with_network(Network::Only(Vec::new())), 3, true, "none"),
        (place.reader().with_network(Network::Only(Vec::new())), 4, false, "kernel"),
    ];
    for (profile, landlock, bwrap, expected) in cases {
        let found = match Sandbox::new(profile.clone(), &support(landlock, bwrap), "/posse") {
            Ok(sandbox) if sandbox.uses_mounts() => "mounts",
            Ok(_) => "kernel",
            Err(_) => "none",
        };
        assert_eq!(found, expected, "{landlock} {bwrap} {profile:?}");
    }
    let blind = Support { seccomp: false, ..support(7, true) };
    assert!(Sandbox::new(place.reader(), &blind, "/posse").is_err());
    let lost = Profile::read_only(place.path("missing"));
    assert!(matches!(Sandbox::new(lost, &support(7, true), "/posse"), Err(SandboxError::Folder { .. })));
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_of_hosts_without_a_proxy_is_an_empty_one() {
    let place = Place::new();
    let profile = place.reader().with_network(Network::Only(vec![HostPattern::new("a.org")]));
    let sandbox = Sandbox::new(profile, &support(7, false), "/posse").unwrap();
    assert_eq!(sandbox.order.reach, Reach::Nobody);
    let wrapped = sandbox.with_proxy(4711).wrap(Path::new("/bin/sh"), ["-c", "x"]).unwrap();
    assert_eq!(wrapped.program, Path::new("/posse"));
    assert_eq!(wrapped.args[0], WORD);
    assert_eq!(&wrapped.args[2..], ["--", "/bin/sh", "-c", "x"]);
    assert!(wrapped.env.contains(&("HTTPS_PROXY".to_owned(), "http://127.0.0.1:4711".into())));
    let open = Sandbox::new(place.reader(), &support(7, false), "/posse").unwrap().with_proxy(1);
    assert_eq!(open.order.reach, Reach::Anybody);
}

#[test]
fn paths_are_resolved_once_and_without_links() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.path("p"), place.path("link")).unwrap();
    std::os::unix::fs::symlink(place.path("q"), place.path("p/.claude")).unwrap();
    let mut profile = Profile::workspace([place.path("link"), place.path("p/.git")], place.path("scratch"));
    profile.unreadable = vec![place.path("q"), place.path("missing")];
    let found = resolve::resolve(&profile, true, true).unwrap();
    assert_eq!(found.writable, [place.path("p"), place.path("scratch")]);
    assert_eq!(found.unreadable, [place.path("q")]);
    // Beside those of the project itself: what would be protected in `.git`, taken for a project of its own.
    assert!(found.protected.contains(&place.path("p/.git/hooks")), "{found:?}");
    assert!(found.protected.contains(&place.path("p/.git/config")), "{found:?}");
    let weaknesses = found.weaknesses.join("\n");
    assert!(weaknesses.contains("reached by a link") && weaknesses.contains(".mcp.json"), "{weaknesses}");
}

#[test]
fn what_is_protected_is_found_under_another_name() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.path("."), place.path("other")).unwrap();
    let mut profile = place.worker();
    profile.protected = vec![place.path("other/p/.git/config"), place.path("q/elsewhere")];
    let found = resolve::resolve(&profile, true, true).unwrap();
    assert_eq!(found.protected, [place.path("p/.git/config")]);
}

#[test]
fn what_is_protected_and_missing_gets_an_empty_folder_or_is_named() {
    let place = Place::new();
    std::fs::remove_dir(place.path("p/.git/hooks")).unwrap();
    let found = resolve::resolve(&place.worker(), true, true).unwrap();
    assert!(place.path("p/.git/hooks").is_dir() && place.path("p/.claude").is_dir());
    assert_eq!(found.protected, ["p/.claude", "p/.git/config", "p/.git/hooks"].map(|name| place.path(name)));
    assert!(found.weaknesses[0].contains("p/.mcp.json"), "{:?}", found.weaknesses);
    // Without mounts nothing is made.
    let place = Place::new();
    resolve::resolve(&place.worker(), false, true).unwrap();
    assert!(!place.path("p/.claude").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn only_what_certainly_fits_leaves() {
    let place = Place::new();
    let sandbox = |commands: &[&str], on_request| {
        let sandbox = Sandbox::new(place.worker(), &support(7, false), "/posse").unwrap();
        sandbox.with_exits(Exits::new(commands.iter().copied(), on_request))
    };
    let closed = sandbox(&[], false);
    let excluded = sandbox(&["docker", "npm run deploy:*", " "], true);
    for (line, confined) in [
        ("docker ps", false),
        ("docker", false),
        ("docker ps && docker images", false),
        ("npm run deploy --now", false),
        ("npm run test", true),
        ("docker ps; rm x", true),
        ("docker ps $(rm x)", true),
        ("$docker ps", true),
        ("./docker ps", true),
        ("dockerd", true),
        ("", true),
    ] {
        assert_eq!(excluded.confines(line, false), confined, "{line}");
        assert!(closed.confines(line, true), "{line}");
    }
    assert!(!excluded.confines("rm x", true));
    for (value, leaves) in [
        (serde_json::json!(true), true),
        (serde_json::json!("true"), true),
        (serde_json::json!("TRUE"), false),
        (serde_json::json!(1), false),
        (serde_json::json!(null), false),
    ] {
        let input = serde_json::json!({ "command": "rm x", LEAVE: value });
        assert_eq!(!excluded.confines_call(&input), leaves, "{value}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_failure_is_explained_only_if_the_sandbox_may_be_why() {
    let place = Place::new();
    let reader = Sandbox::new(place.reader(), &support(7, false), "/posse").unwrap();
    let closed = place.worker().with_network(Network::Closed);
    let worker = Sandbox::new(closed, &support(7, false), "/posse").unwrap();
    for (printed, by_reader, by_worker) in [
        ("bash: f: Permission denied", true, true),
        ("error: EROFS, read-only file system", true, true),
        ("PermissionError: [Errno 1] Operation not permitted", true, true),
        ("curl: (6) Could not resolve host: a.org", false, true),
        ("No such file or directory", false, false),
        ("", false, false),
    ] {
        assert_eq!(reader.on_failure(printed).is_some(), by_reader, "{printed}");
        assert_eq!(worker.on_failure(printed).is_some(), by_worker, "{printed}");
    }
    let told = worker.told();
    assert!(told.contains(place.path("p").to_str().unwrap()) && told.contains("no network"), "{told}");
    assert!(told.contains("no way around") && reader.told().contains("read-only"));
    let open = worker.with_exits(Exits::new([], true)).told();
    assert!(open.contains(LEAVE), "{open}");
}

#[cfg(target_os = "linux")]
#[test]
fn looking_ahead_makes_nothing_and_finds_the_same() {
    let place = Place::new();
    let profile = || Profile::workspace([place.path("q")], place.path("scratch"));
    let foreseen = Sandbox::foresee(profile(), &support(7, true)).unwrap();
    assert_eq!(std::fs::read_dir(place.path("q")).unwrap().count(), 0);
    let made = Sandbox::new(profile(), &support(7, true), "/posse").unwrap();
    assert_eq!(foreseen.weaknesses(), made.weaknesses());
    assert!(std::fs::read_dir(place.path("q")).unwrap().count() > 0);
}
