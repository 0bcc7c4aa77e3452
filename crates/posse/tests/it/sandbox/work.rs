//! Those who work in a folder: what they can change there, what not, and what nobody but they can read.

use super::ways::{WORK_AROUNDS, WORK_AROUNDS_OF_MOUNTS};
use super::*;

fn worker(place: &Place) -> Profile {
    Profile::workspace([place.path("outside/repo")], place.path("scratch"))
}

/// Only what is protected, and what is not in the project, must stay.
fn may_change(name: &str) -> bool {
    let in_project = name.contains("/outside/repo");
    let protected = ["/.git/hooks", "/.git/config", "/.claude"];
    in_project && !protected.iter().any(|part| name.contains(part)) || name.contains(".lock")
}

#[test]
fn a_worker_does_not_get_around_what_is_protected() {
    let Some(support) = support_or_say("work-arounds") else { return };
    let kernel = Support { bwrap: Bwrap::Missing, ..support.clone() };
    let mut kinds = vec![support.clone()];
    kinds.extend((support.landlock >= 3).then_some(kernel));
    try_all(WORK_AROUNDS, &kinds, worker, may_change);
    if matches!(support.bwrap, Bwrap::Works { .. }) {
        let without_landlock = Support { landlock: 0, ..support.clone() };
        try_all(WORK_AROUNDS_OF_MOUNTS, &[support, without_landlock], worker, may_change);
    }
}

fn said(place: &Place, sandbox: &Sandbox, attempt: &'static str) -> String {
    let way = Way { name: "", with: With::Shell, needs: Needs::Programs(&[]), attempt };
    place.attempt(&way, Some(sandbox))
}

#[test]
fn a_worker_can_work() {
    let Some(support) = support_or_say("work") else { return };
    let with_mounts = matches!(support.bwrap, Bwrap::Works { .. });
    let always = [
        "echo x > repo/src/new && mv repo/src/new repo/src/other && rm repo/src/other",
        "mkdir repo/src/d && echo x > repo/src/d/f && ln repo/src/d/f repo/src/g && chmod 700 repo/src/g",
        "echo x > $TMPDIR/x && touch -d 2001-01-01 $TMPDIR/x && cp -p $TMPDIR/x repo/src/x",
        "echo x > /dev/null",
    ];
    let with_mounts_only = [
        "echo x > repo/new && rm repo/new",
        "cd repo && git add src && git commit -qm x && git log --oneline > /dev/null",
        "cd repo && git checkout -q -b other && git stash list",
        "echo x > /dev/shm/x && python3 -c 'import pty; pty.openpty()'",
    ];
    for support in [Support { bwrap: Bwrap::Missing, ..support.clone() }, support.clone()] {
        let place = Place::new();
        let sandbox = Sandbox::new(worker(&place), &support, POSSE).expect("a sandbox");
        let more = with_mounts_only.into_iter().filter(|_| sandbox.uses_mounts());
        for attempt in always.into_iter().chain(more) {
            assert_eq!(said(&place, &sandbox, attempt), "exit status: 0 ", "{attempt} {:?}", support.bwrap);
        }
        assert_eq!(sandbox.uses_mounts(), with_mounts && support.bwrap != Bwrap::Missing);
    }
}

#[test]
fn what_is_unreadable_is_not_read() {
    let Some(support) = support_or_say("unreadable files") else { return };
    for support in [Support { bwrap: Bwrap::Missing, ..support.clone() }, support] {
        let place = Place::new();
        let mut profile = worker(&place);
        profile.unreadable = vec![place.path("outside/dir"), place.path("outside/home/.bashrc")];
        let sandbox = Sandbox::new(profile, &support, POSSE).expect("a sandbox");
        for attempt in [
            "cat dir/inner.txt",
            "cat home/.bashrc",
            "cat /proc/self/root$PWD/dir/inner.txt",
            "cp -r dir $TMPDIR/d; cat $TMPDIR/d/*",
        ] {
            let said = said(&place, &sandbox, attempt);
            assert!(!said.contains("before") && !said.contains("status: 0"), "{attempt}: {said}");
        }
        assert_eq!(said(&place, &sandbox, "cat victim.txt"), "exit status: 0 before\n");
    }
}
