use super::*;

#[test]
fn mounts_are_layered_from_the_outside_in() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["p/.git/hooks", "p/a/b", "secret"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("p/.git/config"), "").unwrap();
    std::fs::write(root.join("key"), "").unwrap();
    let mounts = Mounts {
        writable: vec![root.join("p")],
        protected: [".git/hooks", ".git/config", "a/b", "missing"]
            .map(|name| root.join("p").join(name))
            .to_vec(),
        unreadable: vec![root.join("secret"), root.join("key")],
        own_processes: true,
        own_user: false,
    };
    let args: Vec<String> = mounts.arguments().iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let text = args.join(" ").replace(root.to_str().unwrap(), "");
    assert_eq!(
        text,
        "--ro-bind / / --dev /dev --tmpfs /dev/shm --unshare-ipc --unshare-pid --proc /proc --remount-ro /proc --bind /p /p \
         --bind /p/.git /p/.git --bind /p/a /p/a --ro-bind /p/.git/hooks /p/.git/hooks \
         --ro-bind /p/.git/config /p/.git/config --ro-bind /p/a/b /p/a/b \
         --tmpfs /secret --remount-ro /secret --ro-bind /dev/null /key --"
    );
}
