use posse_testkit::TestEnv;

use super::*;
use crate::catalog::CatalogOptions;
use crate::world::Env;

fn support(landlock: u8, bwrap: Bwrap) -> Support {
    Support { landlock, seccomp: true, bwrap }
}

fn works() -> Bwrap {
    Bwrap::Works { path: "/usr/bin/bwrap".into(), version: "bubblewrap 1".into(), own_user: false }
}

fn words(check: &Check) -> String {
    format!("{} {} {}", check.state.word(), check.text, check.fix.as_deref().unwrap_or_default())
}

#[cfg(target_os = "linux")]
#[test]
fn each_state_of_the_machine_has_its_words() {
    let on = r#"{"sandbox": {"enabled": true, "failIfUnavailable": true, "readOnlyAgents": "require"}}"#;
    let off = r#"{"sandbox": {"readOnlyAgents": "off"}}"#;
    let missing = r#"{"sandbox": {"enabled": true, "filesystem": {"allowWrite": ["/nowhere/at/all"]}}}"#;
    let cases = [
        ("{}", support(9, works()), "good landlock: version 9", "good the commands", "skipped commands"),
        (on, support(9, works()), "good", "good", "note commands write only"),
        (on, support(9, Bwrap::Missing), "apt install bubblewrap", "good", "without bubblewrap permissions"),
        (on, support(0, Bwrap::Missing), "lsm=landlock", "broken the sandbox is not", "broken the sandbox"),
        ("{}", support(0, Bwrap::Missing), "note", "note the sandbox is not available", "skipped"),
        (off, support(9, works()), "good", "skipped agents without", "skipped"),
        (missing, support(9, works()), "good", "good", "/nowhere/at/all does not exist"),
        ("{}", support(4, works()), "Linux 6.12", "note", "skipped"),
    ];
    for (settings, support, first, second, third) in cases {
        let env = TestEnv::new();
        env.write("home/.claude/settings.json", settings);
        let world = World { env: Env::new(env.vars()), cwd: env.path("project"), ..World::default() };
        let catalog = Catalog::load(&world, &CatalogOptions::default()).unwrap();
        for (check, part) in [
            (means(&support), first),
            (readers(&catalog, &world, &support), second),
            (workspace(&catalog, &world, &support), third),
        ] {
            assert!(words(&check).contains(part), "{part} in {} ({settings} {support:?})", words(&check));
        }
        let made: Vec<_> = std::fs::read_dir(env.path("project")).unwrap().collect();
        assert_eq!(made.len(), 1, "looking makes nothing");
    }
}
