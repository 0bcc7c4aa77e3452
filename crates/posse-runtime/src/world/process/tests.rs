use std::process::Stdio;

use tokio::io::AsyncReadExt;

use super::*;
use crate::world::Ids;

/// Without a minder, which only the real program can be: this is what holds where there is none.
fn shell(script: &str) -> Program {
    let mut program = Program::new(Path::new(""), "/bin/sh", "sh", Path::new("/"));
    program.command().arg("-c").arg(script).stdout(Stdio::piped());
    program
}

/// Reads a line, which is how these scripts say that they are ready.
async fn line(tree: &mut Tree) -> String {
    next_line(&mut tree.stdout().unwrap()).await
}

async fn next_line(output: &mut ChildStdout) -> String {
    let mut text = Vec::new();
    while text.last() != Some(&b'\n') {
        text.push(output.read_u8().await.unwrap());
    }
    String::from_utf8(text).unwrap().trim_end().to_owned()
}

#[tokio::test]
async fn a_tree_within_a_tree_carries_both_marks() {
    let id = Ids::default().uuid();
    let mut inner = shell("echo $POSSE_CALL");
    inner.command().env(MARK, "outer");
    let mut tree = Tree::start(inner, Input::None, &id).unwrap();
    assert_eq!(line(&mut tree).await, format!("outer/{id}"));
    assert!(tree.wait().await.unwrap().success());
    assert!(tree.left().await.is_empty());
}

#[tokio::test]
async fn waiting_is_for_the_first_and_left_for_the_others() {
    let mut tree = Tree::start(shell("sleep 1000 & echo $!"), Input::None, &Ids::default().uuid()).unwrap();
    let child = line(&mut tree).await;
    assert!(tree.wait().await.unwrap().success());
    let left: Vec<String> = tree.left().await.iter().map(ToString::to_string).collect();
    #[cfg(target_os = "linux")]
    assert_eq!(left, [child]);
    #[cfg(not(target_os = "linux"))]
    assert!(!left.is_empty(), "{child}");
    tree.kill(Duration::from_secs(5)).await;
    assert!(tree.left().await.is_empty());
    tree.gone().await;
}

#[tokio::test]
async fn who_is_asked_to_end_may_tidy_up() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("tidied");
    let script =
        format!("trap 'touch {}; exit' TERM; echo ready; while :; do sleep 0.05; done", mark.display());
    let mut tree = Tree::start(shell(&script), Input::None, &Ids::default().uuid()).unwrap();
    line(&mut tree).await;
    tree.kill(Duration::from_secs(30)).await;
    assert!(mark.exists());
    assert!(tree.wait().await.is_ok());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_tree_is_gone_and_its_orphans_are_reaped() {
    let script = "(setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000";
    let mut tree = Tree::start(shell(script), Input::None, &Ids::default().uuid()).unwrap();
    let orphan = line(&mut tree).await;
    let path = Path::new("/proc").join(&orphan);
    assert!(path.exists());
    drop(tree);
    assert!(!path.exists(), "not even a zombie is left of {orphan}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_tree_does_not_end_another() {
    let mut one = Tree::start(shell("echo ready; sleep 1000"), Input::None, &Ids::default().uuid()).unwrap();
    let mut other =
        Tree::start(shell("echo ready; sleep 1000"), Input::None, &Ids::default().uuid()).unwrap();
    line(&mut one).await;
    line(&mut other).await;
    one.kill(Duration::from_secs(5)).await;
    assert!(one.left().await.is_empty());
    assert!(!other.left().await.is_empty());
}

/// It has no mark, no parent and a session of its own; but it is the session of one who was known.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_session_once_known_is_known_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    let inner = format!("echo ready; read line < {}; sleep 1000 & echo $!", fifo.display());
    let script = format!("mkfifo {}; env -i setsid sh -c '{inner}' & sleep 1000", fifo.display());
    let mut tree = Tree::start(shell(&script), Input::None, &Ids::default().uuid()).unwrap();
    let mut output = tree.stdout().unwrap();
    next_line(&mut output).await;
    assert!(tree.left().await.len() >= 3);
    tokio::fs::write(&fifo, "\n").await.unwrap();
    let late: i32 = next_line(&mut output).await.parse().unwrap();
    while std::fs::read_to_string(format!("/proc/{late}/stat")).is_ok_and(|stat| {
        let parent: i32 = stat.split_whitespace().nth(3).unwrap().parse().unwrap();
        parent != rustix::process::getpid().as_raw_nonzero().get()
    }) {
        tokio::task::yield_now().await;
    }
    assert!(tree.left().await.contains(&late));
    tree.kill(Duration::ZERO).await;
    assert!(!Path::new("/proc").join(late.to_string()).exists());
}
