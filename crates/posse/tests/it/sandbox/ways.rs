//! Ways to change something outside of a sandbox, as data: a name, what it needs, and the attempt.
//!
//! An attempt runs in a folder it must not change, with `victim.txt`, `link` to it, `dir/inner.txt`, `empty/`,
//! `repo/` and `home/`. `$TMPDIR` is the scratch folder. `$KEEPER` and its likes are a process outside; see
//! `keeper.py`. Descriptor 9 is open to write `fd.txt`.

/// What is to be tried with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum With {
    Shell,
    Python,
}

/// What it needs to work at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Programs, by name.
    Programs(&'static [&'static str]),
    /// Root's rights.
    Root,
}

/// An attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) with: With,
    pub(super) needs: Needs,
    pub(super) attempt: &'static str,
}

const fn sh(name: &'static str, attempt: &'static str) -> Way {
    Way { name, with: With::Shell, needs: Needs::Programs(&[]), attempt }
}

const fn using(programs: &'static [&'static str], name: &'static str, attempt: &'static str) -> Way {
    Way { name, with: With::Shell, needs: Needs::Programs(programs), attempt }
}

const fn root(name: &'static str, attempt: &'static str) -> Way {
    Way { name, with: With::Shell, needs: Needs::Root, attempt }
}

const fn py(name: &'static str, attempt: &'static str) -> Way {
    Way { name, with: With::Python, needs: Needs::Programs(&[]), attempt }
}

const fn root_py(name: &'static str, attempt: &'static str) -> Way {
    Way { name, with: With::Python, needs: Needs::Root, attempt }
}

/// What systems, file systems and containers refuse to everybody: there, these prove nothing.
pub(super) const SELDOM_POSSIBLE: &[&str] = &[
    "setfattr",
    "chattr",
    "fallocate",
    "fchmodat2",
    "nameless file",
    "mknod",
    "mount of one's own",
    "user of one's own",
    "bind mount",
    "unmount",
    "chroot",
    "another user",
    "by handle",
    "io_uring",
    "memory by /proc",
    "memory by process_vm_writev",
    "ptrace",
    "descriptor of another",
    "typing for another",
    "netlink",
    "raw packet",
    "tcp by the other family",
    "tcp by many ways",
    "tcp by its first bytes",
];

/// Against everybody who may only read.
pub(super) const WRITES: &[Way] = &[
    // Content.
    sh("redirect", "echo x > victim.txt"),
    sh("append", "echo x >> victim.txt"),
    sh("open for both", "exec 3<>victim.txt; echo x >&3"),
    sh("tee", "echo x | tee victim.txt"),
    sh("sed -i", "sed -i s/before/after/ victim.txt"),
    sh("dd", "dd if=/dev/zero of=victim.txt bs=1 count=3 conv=notrunc"),
    sh("truncate", "truncate -s 0 victim.txt"),
    sh("cp over", "cp /etc/passwd victim.txt"),
    sh("install", "install -m 644 /etc/passwd victim.txt"),
    sh("awk", "awk 'BEGIN { print \"x\" > \"victim.txt\" }'"),
    using(&["perl"], "perl", "perl -e 'open(F, \">>\", \"victim.txt\") or die; print F \"x\"'"),
    using(&["sqlite3"], "sqlite", "sqlite3 new.db 'create table t(x)'"),
    using(&["fallocate"], "fallocate", "fallocate -l 100 victim.txt"),
    using(&["tar"], "tar", "tar cf - dir | tar xf - -C empty"),
    py("python open", "open('victim.txt', 'a').write('x')"),
    py("empty by opening to read", "os.open('victim.txt', os.O_RDONLY | os.O_TRUNC)"),
    py("truncate by name", "os.truncate('victim.txt', 1)"),
    py(
        "shared mapping",
        "
fd = os.open('victim.txt', os.O_RDWR)
memory = mmap.mmap(fd, 4, mmap.MAP_SHARED)
memory[0:1] = b'X'
memory.flush()",
    ),
    py(
        "copy_file_range",
        "
source, sink = os.open('/etc/passwd', os.O_RDONLY), os.open('victim.txt', os.O_WRONLY)
os.copy_file_range(source, sink, 20)",
    ),
    py(
        "sendfile",
        "
source, sink = os.open('/etc/passwd', os.O_RDONLY), os.open('victim.txt', os.O_WRONLY)
os.sendfile(sink, source, 0, 20)",
    ),
    py(
        "reopen to write",
        "
fd = os.open('victim.txt', os.O_RDONLY)
os.write(os.open('/proc/self/fd/%d' % fd, os.O_WRONLY), b'x')",
    ),
    // Names.
    sh("new file", ": > new"),
    sh("mkdir", "mkdir new"),
    sh("rm", "rm -f victim.txt"),
    sh("rm -r", "rm -rf dir"),
    sh("rmdir", "rmdir empty"),
    sh("find -delete", "find . -name inner.txt -delete"),
    sh("rename", "mv victim.txt moved"),
    sh("move over", "echo x > $TMPDIR/x; mv -f $TMPDIR/x victim.txt"),
    sh("hard link inside", "ln victim.txt hard"),
    sh("hard link, then write", "ln victim.txt $TMPDIR/hard && echo x > $TMPDIR/hard"),
    sh("symbolic link", "ln -s /etc new"),
    sh("through a link that is there", "echo x > link"),
    sh("through a link of its own", "ln -s $PWD/victim.txt $TMPDIR/l; echo x > $TMPDIR/l"),
    sh("mkfifo", "mkfifo new"),
    root("mknod", "mknod new c 1 3"),
    py("rename over", "open(scratch + '/x', 'w'); os.rename(scratch + '/x', 'victim.txt')"),
    py(
        "exchange",
        "
open(scratch + '/x', 'w')
check(libc.renameat2(-100, (scratch + '/x').encode(), -100, b'victim.txt', 2))",
    ),
    py(
        "nameless file",
        "
fd = os.open('.', os.O_TMPFILE | os.O_RDWR)
check(libc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, b'new', 0x400))",
    ),
    py("socket as a file", "socket.socket(socket.AF_UNIX).bind('new')"),
    // What is written about a file.
    sh("chmod", "chmod 777 victim.txt"),
    root("chown", "chown 1:1 victim.txt"),
    sh("times", "touch -d 2001-01-01 victim.txt"),
    sh("times of a link", "touch -h -d 2001-01-01 link"),
    using(&["setfattr"], "setfattr", "setfattr -n user.x -v y victim.txt"),
    using(&["chattr"], "chattr", "chattr +d victim.txt"),
    py("chmod of an open file", "os.fchmod(os.open('victim.txt', os.O_RDONLY), 0o777)"),
    py("times of an open file", "os.utime(os.open('victim.txt', os.O_RDONLY), (1, 1))"),
    py("fchmodat2", "check(libc.syscall(452, -100, b'victim.txt', 0o777, 0))"),
    // By what others run.
    using(&["git"], "git commit", "git -C repo commit --allow-empty -m x"),
    using(&["git"], "git config", "git -C repo config a.b c"),
    using(&["git"], "git add", "echo x > $TMPDIR/x; cd repo; git --work-tree=$TMPDIR add x"),
    sh("shell start-up files", "echo x >> $HOME/.bashrc"),
    // By another way to the same place.
    sh("/proc/self/root", "echo x > /proc/self/root$PWD/new"),
    sh("/proc/self/cwd", "echo x > /proc/self/cwd/new"),
    sh("/proc of another, root", "echo x > /proc/$KEEPER/root$PWD/new"),
    sh("/proc of another, cwd", "echo x > /proc/$KEEPER/cwd/new"),
    sh("/proc of another, open files", "echo x >> /proc/$KEEPER/fd/$HELD"),
    sh("inherited descriptor", "echo x >&9"),
    sh("dot dot", "cd $TMPDIR && echo x > $OLDPWD/../outside/new"),
    root("chroot", "chroot / /bin/sh -c \"echo x > $PWD/new\""),
    using(
        &["unshare", "mount"],
        "mount of one's own",
        "unshare -rm sh -c 'mount --bind dir empty && : > empty/new'",
    ),
    using(&["unshare"], "user of one's own", "unshare -r sh -c ': > new'"),
    root("bind mount", "unshare -m sh -c 'mount --bind dir empty && : > empty/new'"),
    root_py(
        "by handle",
        "
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
mount = ctypes.c_int()
check(libc.name_to_handle_at(-100, b'victim.txt', handle, ctypes.byref(mount), 0))
fd = libc.open_by_handle_at(os.open('/', os.O_RDONLY), handle, os.O_WRONLY)
check(fd)
os.write(fd, b'x')",
    ),
    // As another process.
    sh("clean environment", "env -i /bin/sh -c ': > new'"),
    sh("session of its own", "(setsid nohup sh -c ': > new' &)"),
    sh("copied program", "cp /bin/sh $TMPDIR/sh && $TMPDIR/sh -c ': > new'"),
    sh(
        "by the loader",
        "for l in /lib64/ld-linux* /lib/ld-*; do test -e $l && $l /bin/sh -c ': > new'; done",
    ),
    using(
        &["cc"],
        "preloaded library",
        "
echo 'int open(const char*, int, ...); __attribute__((constructor)) void f(void) { open(\"new\", 0101, 0600); }' > $TMPDIR/a.c
cc -shared -fPIC -o $TMPDIR/a.so $TMPDIR/a.c; test -s $TMPDIR/a.so || echo 'posse: nothing to preload'
LD_PRELOAD=$TMPDIR/a.so /bin/true",
    ),
    root("another user", "su root -c \": > $PWD/new\""),
    py(
        "orphan",
        "
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('new', 'w')
    os._exit(0)
os.wait()",
    ),
    py(
        "program without a name",
        "
fd = os.memfd_create('sh')
os.write(fd, open('/bin/sh', 'rb').read())
os.execve(fd, ['sh', '-c', ': > new'], os.environ)",
    ),
    py(
        "io_uring",
        "
parameters = ctypes.create_string_buffer(120)
ring = libc.syscall(425, 4, parameters)
check(ring)
numbers = struct.unpack('30I', parameters.raw)
tail_at, array_at = numbers[11], numbers[16]
queue = mmap.mmap(ring, 4096, offset=0)
entries = mmap.mmap(ring, 4096, offset=0x10000000)
path = ctypes.create_string_buffer(b'new')
# IORING_OP_MKDIRAT
entries[0:64] = struct.pack('BBHiQQIIQ', 37, 0, 0, -100, 0, ctypes.addressof(path), 0o755, 0, 1) + bytes(24)
queue[array_at:array_at + 4] = struct.pack('I', 0)
queue[tail_at:tail_at + 4] = struct.pack('I', 1)
check(libc.syscall(426, ring, 1, 1, 1, 0, 0))",
    ),
    // By somebody else.
    sh("signal", "kill -USR1 $KEEPER"),
    using(&["prlimit"], "limits of another", "prlimit --pid $KEEPER --nofile=77:"),
    py(
        "memory by /proc",
        "
memory = os.open('/proc/%d/mem' % keeper, os.O_RDWR)
os.pwrite(memory, b'x', flag)",
    ),
    py(
        "memory by process_vm_writev",
        "
data = ctypes.create_string_buffer(b'x', 1)
here = (ctypes.c_size_t * 2)(ctypes.addressof(data), 1)
there = (ctypes.c_size_t * 2)(flag, 1)
check(libc.process_vm_writev(keeper, here, 1, there, 1, 0))",
    ),
    py(
        "ptrace",
        "
check(libc.ptrace(16, keeper, None, None))
os.waitpid(keeper, 0x40000000)
check(libc.ptrace(5, keeper, ctypes.c_void_p(flag), ctypes.c_void_p(1)))
libc.ptrace(17, keeper, None, None)",
    ),
    py(
        "descriptor of another",
        "
fd = libc.syscall(438, libc.syscall(434, keeper, 0), held, 0)
check(fd)
os.write(fd, b'x')",
    ),
    py(
        "typing for another",
        "
import fcntl, termios
terminal = os.open(os.environ['TERMINAL'], os.O_RDONLY | os.O_NOCTTY)
fcntl.ioctl(terminal, termios.TIOCSTI, b'x')",
    ),
    py("local socket", "socket.socket(socket.AF_UNIX).connect(sockets + '/stream')"),
    py(
        "local datagram",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', sockets + '/datagram')",
    ),
    py(
        "datagram from a pair",
        "
socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', sockets + '/datagram')",
    ),
    py("abstract socket", "socket.socket(socket.AF_UNIX).connect('\\0posse-keeper-%d' % keeper)"),
];

/// Against those who may reach nobody.
pub(super) const REACHES: &[Way] = &[
    py("tcp", "socket.create_connection(('127.0.0.1', tcp))"),
    py("udp", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp))"),
    py(
        "tcp by the other family",
        "
s = socket.socket(socket.AF_INET6)
s.connect(('::ffff:127.0.0.1', tcp))",
    ),
    py(
        "tcp by many ways",
        "
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.connect(('127.0.0.1', tcp))",
    ),
    py(
        "tcp by its first bytes",
        "
s = socket.socket(socket.AF_INET)
s.sendto(b'GET', 0x20000000, ('127.0.0.1', tcp))",
    ),
    py("netlink", "socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 2).sendto(bytes(16), (keeper, 0))"),
    root_py(
        "raw packet",
        "
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
s.sendto(struct.pack('!HHHH', 9, udp, 9, 0) + b'x', ('127.0.0.1', 0))",
    ),
    sh("tcp by the shell", "exec 3<>/dev/tcp/127.0.0.1/$TCP"),
];

/// Against those who work in `repo`: what is run from there, and everything beside it.
pub(super) const WORK_AROUNDS: &[Way] = &[
    sh("new hook", "echo x > repo/.git/hooks/pre-commit"),
    sh("hook by a link", "ln -s /bin/true repo/.git/hooks/post-commit"),
    sh("hook by a move", "echo x > repo/src/x && mv repo/src/x repo/.git/hooks/pre-push"),
    sh("hook of another name", "echo x > repo/src/../.git/hooks/pre-commit"),
    using(&["git"], "git config", "git -C repo config a.b c"),
    sh("config", "echo x >> repo/.git/config"),
    sh("config over", "cp repo/.git/config repo/src/c; mv -f repo/src/c repo/.git/config"),
    sh("settings", "echo {} > repo/.claude/settings.json"),
    sh("settings that are not there", "echo {} > repo/.claude/settings.local.json"),
    sh("agents", "mkdir -p repo/.claude/agents && : > repo/.claude/agents/a.md"),
    sh("folder moved away", "mv repo/.claude repo/old"),
    sh("folder removed", "rm -rf repo/.claude"),
    sh("repository moved away", "mv repo/.git repo/old && cp -r repo/old repo/.git"),
    sh("hooks moved away", "mv repo/.git/hooks repo/.git/old"),
    sh("project moved away", "mv repo elsewhere"),
    sh("beside the project", "echo x > victim.txt"),
    sh("above the project", "cd repo && echo x > ../new"),
    sh("out by a link", "ln -s $PWD/victim.txt repo/src/l; echo x > repo/src/l"),
    sh("out by a hard link", "ln victim.txt repo/src/l && echo x > repo/src/l"),
    sh("out by a move", "echo x > repo/src/y; mv repo/src/y victim.txt"),
    sh("signal", "kill -USR1 $KEEPER"),
    py("local socket", "socket.socket(socket.AF_UNIX).connect(sockets + '/stream')"),
    root("bind mount", "unshare -m sh -c 'mount --bind repo/src empty && : > dir/new'"),
];

/// Where mounts hold them too, what is written about files outside.
pub(super) const WORK_AROUNDS_OF_MOUNTS: &[Way] = &[
    sh("chmod", "chmod 777 victim.txt"),
    root("chown", "chown 1:1 victim.txt"),
    sh("times", "touch -d 2001-01-01 victim.txt"),
    root("unmount", "umount repo/.git/hooks; chmod 700 home"),
];
