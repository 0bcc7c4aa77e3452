"""A process outside the sandbox that others may try to use: everything that reaches it becomes a file in its folder.

Says its numbers on standard output, and ends when its standard input does.
"""
import ctypes, os, pty, resource, select, signal, socket, sys, tty

folder = os.getcwd()


def mark(name):
    open(os.path.join(folder, "reached-by-" + name), "w").close()


# Anybody may trace it, also where only parents may (PR_SET_PTRACER).
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)
signal.signal(signal.SIGUSR1, lambda *_: mark("signal"))
flag = ctypes.create_string_buffer(8)
held = os.open("held.txt", os.O_WRONLY | os.O_APPEND)


def listener(family, kind, address, protocol=0):
    found = socket.socket(family, kind, protocol)
    found.bind(address)
    if kind == socket.SOCK_STREAM:
        found.listen()
    return found


scratch = sys.argv[1]
sockets = {
    "unix": listener(socket.AF_UNIX, socket.SOCK_STREAM, scratch + "/stream"),
    "datagram": listener(socket.AF_UNIX, socket.SOCK_DGRAM, scratch + "/datagram"),
    "abstract": listener(socket.AF_UNIX, socket.SOCK_STREAM, "\0posse-keeper-%d" % os.getpid()),
    "tcp": listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
    "udp": listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
}


# Nothing is ever typed at this terminal.
master, terminal = pty.openpty()
tty.setraw(terminal)
try:
    # Free for all programs; nobody but the kernel is in between.
    sockets["netlink"] = listener(socket.AF_NETLINK, socket.SOCK_DGRAM, (os.getpid(), 0), 2)
except OSError:
    pass


def take(name):
    mark(name)
    if name == "terminal":
        os.read(terminal, 100)
        return
    found = sockets[name]
    if found.type == socket.SOCK_DGRAM:
        found.recv(100)
        return
    peer = found.accept()[0]
    if name == "tcp":
        peer.settimeout(5)
        try:
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        except OSError:
            pass
    peer.close()


facts = {
    "KEEPER": os.getpid(),
    "FLAG": ctypes.addressof(flag),
    "HELD": held,
    "TCP": sockets["tcp"].getsockname()[1],
    "UDP": sockets["udp"].getsockname()[1],
    "SOCKETS": scratch,
    "TERMINAL": os.ttyname(terminal),
}
print(" ".join("%s=%s" % fact for fact in facts.items()), flush=True)

names = {found.fileno(): name for name, found in sockets.items()}
names[terminal] = "terminal"
while True:
    ready = select.select([0, *names], [], [])[0]
    for number in ready:
        if number:
            take(names[number])
    if 0 in ready:
        break
# What came before the end counts.
while ready := select.select(list(names), [], [], 0)[0]:
    for number in ready:
        take(names[number])
if flag.raw != bytes(8):
    mark("memory")
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 77:
    mark("limits")
