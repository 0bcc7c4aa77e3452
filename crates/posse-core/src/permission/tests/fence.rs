//! An agent in a worktree stays in it, whatever the rules and the mode say; and is free in it and elsewhere.

use super::*;

const TREE: &str = "/w/.claude/worktrees/agent-1";

fn decided(mode: Mode, rules_text: &str, text: &str, cwd: &str) -> Decision {
    let folders = Folders {
        cwd: cwd.into(),
        roots: vec![TREE.into()],
        readable: vec!["/spool".into()],
        writable: vec!["/w/.claude/agent-memory/a".into()],
        fenced: vec!["/w".into()],
        home: Some("/home/u".into()),
    };
    let (tool, input) = call(text);
    let rules = rules(rules_text);
    let situation = Situation {
        rules: &rules,
        mode,
        limits: &[],
        folders: &folders,
        paths: &Unlinked,
        hook: Some(HookSays::Allow),
        contained: true,
    };
    decide(&Call::new(&tool, &input), &situation)
}

/// Reaches the main checkout: no mode, no rule, no hook and no sandbox makes it a yes.
const REFUSED: &[&str] = &[
    "Write /w/a.txt",
    "Edit /w/src/a.rs",
    "Edit ../../../a.txt",
    "Write /w/.claude/worktrees/agent-2/a.txt",
    "NotebookEdit /w/a.ipynb",
    "Bash git -C /w status",
    "Bash git -C ../../.. commit -am x",
    "Bash git -C /w/.claude/worktrees/agent-2 reset --hard",
    "Bash git --git-dir=/w/.git --work-tree=/w add -A",
    "Bash git --git-dir /w/.git log",
    "Bash git --work-tree /w checkout .",
    "Bash git -c core.worktree=/w status",
    "Bash git --no-pager -C /w log",
    "Bash git -c a.b=c -C /w log",
    "Bash /usr/bin/git -C /w status",
    "Bash command git -C /w status",
    "Bash timeout 5 git -C /w status",
    "Bash env GIT_DIR=/w/.git git status",
    "Bash GIT_DIR=/w/.git git status",
    "Bash GIT_WORK_TREE=/w git checkout -f",
    "Bash GIT_DIR=/w/.git make",
    "Bash export GIT_DIR=/w/.git; git status",
    "Bash GIT_INDEX_FILE=/w/.git/index git add -A",
    "Bash git -C \"$X\" status",
    "Bash git $X status",
    "Bash GIT_DIR=$X git status",
    "Bash cd /w && git status",
    "Bash cd /w",
    "Bash cd ../../.. && make",
    "Bash cd .. && cd ../.. && git stash",
    "Bash cd .. && git status",
    "Bash (cd /w; git status)",
    // If the first move fails, or was made in a shell of its own, the second one leads out.
    "Bash cd src; make; cd .. && git status",
    "Bash (cd src && make); cd .. && git status",
    "Bash pushd /w; git log",
    "Bash cd $X && git status",
    "Bash cd - && git status",
    "Bash for i in 1 2 3; do cd ..; done; git reset --hard",
    "Bash sh -c 'git -C /w status'",
    "Bash bash -c \"cd /w && git status\"",
    "Bash ls && git -C /w status",
    "Bash echo $(git -C /w rev-parse HEAD)",
    "Bash git worktree remove --force /w/.claude/worktrees/agent-2",
    "Bash git worktree remove ../agent-2",
    "Bash git worktree add /w/other",
    "Bash echo x > /w/a.txt",
    "Bash echo x >> ../../../a.txt",
    "Bash cat a | tee /w/a.txt",
    "Bash cp a.txt /w/a.txt",
    "Bash cp -t /w a.txt",
    "Bash rm -rf /w/src",
    "Bash mv /w/a.txt .",
    "Bash sed -i s/a/b/ /w/a.txt",
    "Bash touch /w/.git/index.lock",
    "Bash cd src && cp a.txt ../../../../a.txt",
];

/// Stays, or goes where nobody's checkout is.
const FREE: &[&str] = &[
    "Read a.txt",
    "Read /w/a.txt",
    "Read /usr/include/stdio.h",
    "Grep /w/src",
    "Write a.txt",
    "Write /w/.claude/worktrees/agent-1/src/a.rs",
    "Write /w/.claude/agent-memory/a/MEMORY.md",
    "Write /tmp/notes.txt",
    "Edit /elsewhere/x",
    "Bash git status",
    "Bash git add -A && git commit -m 'x'",
    "Bash git commit -m \"$(cat <<'EOF'\nfix /w\nEOF\n)\"",
    "Bash git -C . log",
    "Bash git -C src log",
    "Bash git -C /w/.claude/worktrees/agent-1 status",
    "Bash git --git-dir=.git status",
    "Bash git --work-tree=. status",
    "Bash git -C /tmp/clone status",
    "Bash git log -C --stat",
    "Bash git log $X",
    "Bash git show \"$X\"",
    "Bash git push origin HEAD",
    "Bash git worktree list",
    "Bash git worktree add inner",
    "Bash git diff main...HEAD",
    "Bash cd src && git status",
    "Bash cd /w/.claude/worktrees/agent-1 && git commit -am x",
    "Bash cd /tmp && ls",
    "Bash cd \"$X\" && ls",
    "Bash ls /w",
    "Bash cat /w/a.txt > a.txt",
    "Bash cp /w/.env .env",
    "Bash grep -r x /usr/include",
    "Bash cat /tmp/x",
    "Bash echo x > /tmp/x",
    "Bash echo x > /dev/null",
    "Bash echo x > \"$OUT\"",
    "Bash make -j4 && cargo test",
    "Bash GIT_AUTHOR_NAME=a git commit",
    "Bash GIT_PAGER=cat git log",
    "Bash echo GIT_DIR=/w/.git",
    "Bash echo git -C /w",
    "Bash rm -rf /w/.claude/worktrees/agent-1/target",
    "WebSearch",
];

#[test]
fn the_main_checkout_is_out_of_reach() {
    for mode in [Mode::BypassPermissions, Mode::Default, Mode::AcceptEdits, Mode::Plan] {
        for text in REFUSED {
            let decision = decided(mode, "allow Bash; allow Edit; allow Write", text, TREE);
            assert_eq!(decision.ruling, Ruling::Deny, "{mode:?} {text}: {}", decision.reason);
            let is_fence = matches!(decision.reason, Reason::Fenced { .. });
            assert!(is_fence, "{mode:?} {text}: {}", decision.reason);
        }
    }
}

#[test]
fn the_worktree_and_the_rest_of_the_world_are_not() {
    for text in FREE {
        let decision = decided(Mode::BypassPermissions, "", text, TREE);
        assert_eq!(decision.ruling, Ruling::Allow, "{text}: {}", decision.reason);
    }
}

#[test]
fn whoever_ended_up_in_the_main_checkout_cannot_use_git_there() {
    for (text, ruling) in [
        ("Bash git status", Ruling::Deny),
        ("Bash ls", Ruling::Allow),
        ("Bash echo x > a.txt", Ruling::Deny),
        ("Bash cd .claude/worktrees/agent-1", Ruling::Allow),
        ("Bash git -C .claude/worktrees/agent-1 status", Ruling::Deny),
    ] {
        assert_eq!(decided(Mode::BypassPermissions, "", text, "/w").ruling, ruling, "{text}");
    }
}

#[test]
fn without_a_worktree_there_is_no_fence() {
    for text in REFUSED {
        let (tool, input) = call(text);
        let decision = decision("", Mode::BypassPermissions, &[], &tool, &input);
        assert_eq!(decision.ruling, Ruling::Allow, "{text}: {}", decision.reason);
    }
}

#[test]
fn the_reason_says_what_to_do() {
    let said = |text: &str| decided(Mode::BypassPermissions, "", text, TREE).reason.to_string();
    assert_eq!(
        said("Bash git -C /w status"),
        "`git -C /w status` reaches /w in the main checkout, and this agent works in a worktree of its own, \
         /w/.claude/worktrees/agent-1: use the same path below that"
    );
    assert_eq!(
        said("Bash git -C $X status"),
        "where `git -C $X status` leads is only known when it runs, and this agent may not leave its worktree \
         /w/.claude/worktrees/agent-1: write the path out, or run it where you are"
    );
}
