use posse_testkit::TestEnv;

use super::*;
use crate::catalog::CatalogOptions;

async fn context(env: &TestEnv, wanted: Wanted) -> Context {
    let world =
        World { env: crate::world::Env::new(env.vars()), cwd: env.cwd().to_owned(), ..World::default() };
    let layout = Layout::find(&world, &CatalogOptions::default());
    gather(&world, &layout, &[], "sonnet", wanted).await
}

fn files(env: &TestEnv, context: &Context) -> String {
    let line = |file: &Instructions| env.normalize(format!("{}: {}", file.path, file.text.trim()).as_bytes());
    context.instructions.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn instructions_come_from_general_to_near_with_their_imports() {
    let mut env = TestEnv::new();
    env.write("managed/CLAUDE.md", "managed");
    env.write("home/.claude/CLAUDE.md", "user, see @style.md and `@not-this`");
    env.write("home/.claude/style.md", "style, @~/more.md.");
    env.write("home/more.md", "more, @.claude/style.md");
    env.write("project/CLAUDE.md", "top\n```\n@in-code.md\n```\n@docs/missing.md");
    env.write("project/CLAUDE.local.md", "local");
    env.write("project/sub/AGENTS.md", "agents");
    env.write("above.md", "outside");
    env.enter("project/sub");
    let all = context(&env, Wanted::default()).await;
    assert_eq!(
        files(&env, &all),
        "\
$ENV/managed/CLAUDE.md: managed
$ENV/home/.claude/CLAUDE.md: user, see @style.md and `@not-this`
$ENV/home/.claude/style.md: style, @~/more.md.
$ENV/home/more.md: more, @.claude/style.md
$ENV/project/CLAUDE.md: top
```
@in-code.md
```
@docs/missing.md
$ENV/project/CLAUDE.local.md: local
$ENV/project/sub/AGENTS.md: agents"
    );
    env.write("project/sub/.claude/CLAUDE.md", "own");
    let few = context(&env, Wanted { user: false, local: false, ..Wanted::default() }).await;
    let shown = files(&env, &few);
    assert!(
        shown.ends_with("project/sub/.claude/CLAUDE.md: own")
            && !shown.contains("AGENTS")
            && !shown.contains("local"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_repository_is_described_in_a_few_lines() {
    let env = TestEnv::new();
    assert_eq!(
        context(&env, Wanted::default()).await.git,
        None,
        "an empty .git is no repository git can read"
    );
    std::fs::remove_dir_all(env.path("project/.git")).unwrap();
    env.git("project", &["init", "--quiet"]);
    env.write("project/a.txt", "a");
    env.git("project", &["add", "a.txt"]);
    env.git("project", &["commit", "--quiet", "-m", "add a"]);
    env.write("project/b.txt", "b");
    let context = context(&env, Wanted::default()).await;
    let git = context.git.unwrap();
    assert!(git.starts_with("## main\n?? b.txt\n\nRecent commits:\n") && git.ends_with(" add a"), "{git}");
    assert_eq!(branch(&env.path("project")), "main");
    assert!(context.environment.is_git);
}
