# Usage: measure.py startup|large|sandbox POSSE PROJECT HOME RUNS [AGENT NAME...]
# Starts programs one at a time and prints wall time, CPU time and peak memory of what it started.
import json
import os
import sys
import time

what, posse, project, home, runs = sys.argv[1:6]
names = sys.argv[6:]
runs = int(runs)

os.chdir(project)
# Nothing of the caller's environment: a library search path set by cargo alone would double the start-up time.
ENV = {"HOME": home, "PATH": "/usr/bin:/bin"}
QUIET = [
    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
]
TRUE = next(path for path in ("/bin/true", "/usr/bin/true") if os.path.exists(path))


def run(argv, actions=QUIET):
    """Wall seconds, user+sys seconds, peak bytes of one run."""
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, ENV, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        sys.exit(f"`{' '.join(argv)}` ended with exit status {code}; its complaint is above")
    unit = 1 if sys.platform == "darwin" else 1024
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def ms(seconds):
    return f"{seconds * 1000:9.3f} ms"


def mb(size):
    return f"{size / 1e6:.1f} MB"


def startup():
    ours, nothing = [posse, "agents", "list"], [TRUE]
    for _ in range(5):
        run(ours), run(nothing)
    # Turn by turn, so that a noisy moment on the machine hits both alike.
    pairs = [(run(ours), run(nothing)) for _ in range(runs)]
    wall = [median(pair[i][0] for pair in pairs) for i in (0, 1)]
    cpu = [median(pair[i][1] for pair in pairs) for i in (0, 1)]
    print(f"    medians of {runs} runs each, taking turns")
    print(f"    {'':<20}{'wall':>12}{'user+sys':>15}")
    print(f"    {'posse agents list':<20}{ms(wall[0])}   {ms(cpu[0])}")
    print(f"    {TRUE:<20}{ms(wall[1])}   {ms(cpu[1])}")
    print(f"    {'ratio':<20}{wall[0] / wall[1]:9.2f}      {cpu[0] / max(cpu[1], 1e-9):9.2f}")


def sandbox():
    order = {
        "landlock": True, "writable": [project], "protected": [], "unreadable": [], "read_only": True,
        "freeze_metadata": True, "private_dev": False, "reach": "anybody", "local_sockets": False,
    }
    bash = ["/bin/bash", "-c", ":"]
    confined = [posse, "__confine", json.dumps(order), "--", *bash]
    ways = {"free": bash, "confined": confined}
    if os.path.exists("/usr/bin/bwrap"):
        order.update(read_only=False, freeze_metadata=False, private_dev=True)
        mounts = ["/usr/bin/bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-ipc", "--bind", project, project]
        ways["with mounts"] = [*mounts, "--", posse, "__confine", json.dumps(order), "--", *bash]
    for argv in ways.values():
        run(argv)
    rounds = [{name: run(argv) for name, argv in ways.items()} for _ in range(runs)]
    print(f"    medians of {runs} runs each, taking turns")
    print(f"    {'':<20}{'wall':>12}{'user+sys':>15}")
    for name in ways:
        print(f"    {name:<20}{ms(median(r[name][0] for r in rounds))}   {ms(median(r[name][1] for r in rounds))}")


def large():
    argv = [posse, "agents", "list", "--json"]
    # A child counts what it shared with us before it became posse, so nothing below this can be seen.
    floor = run([TRUE])[2]
    run(argv)
    results = [run(argv) for _ in range(runs)]
    best, peak = min(results), max(result[2] for result in results)
    print(f"    {runs} runs after one to warm the file cache")
    print(f"    wall        {ms(best[0])} best, {ms(median(r[0] for r in results)).strip()} median")
    print(f"    user+sys    {ms(best[1])} in the best run")
    hidden = " (posse may need less: the measuring itself takes this much)" if peak <= floor * 1.02 else ""
    print(f"    peak memory {mb(peak):>12}{hidden}")


def all_listed():
    """A fast answer that leaves agents out is no answer. Last, because reading the output makes us bigger."""
    out = os.path.join(project, os.pardir, "list.json")
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    run([posse, "agents", "list", "--json"], [QUIET[0], (os.POSIX_SPAWN_OPEN, 1, out, writing, 0o644)])
    with open(out, encoding="utf-8") as file:
        text = file.read()
    missing = [name for name in names if name not in text]
    if missing:
        sys.exit(f"the list leaves out {', '.join(missing)}, so the numbers above mean nothing")


if what == "startup":
    startup()
elif what == "sandbox":
    sandbox()
else:
    large()
    all_listed()
