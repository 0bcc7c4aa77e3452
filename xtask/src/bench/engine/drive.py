# Usage: drive.py own    RUNS BASE POSSE PROJECT THOUSAND
#        drive.py crew   RUNS BASE POSSE PROJECT
#        drive.py search RUNS BASE POSSE TREE RG PATTERN GLOB MARK
#        drive.py peers  RUNS BASE POSSE PROJECT PEERS
# Runs programs against the fake model beside this file, one at a time and taking turns, and prints the CPU time and
# peak memory of each whole family of processes. BASE is for homes and complaints.
import json
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 60
CREW_LIMIT = 300
TURNS = 20
NOTES = "notes"
UNIT = 1 if sys.platform == "darwin" else 1024


class Undrivable(Exception):
    """This program cannot be measured, and why."""


class Model:
    """The fake model: a process of its own, told what to do through a pipe."""

    def __init__(self):
        commands, self.commands = os.pipe()
        self.events, events = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, commands, 0), (os.POSIX_SPAWN_DUP2, events, 1)]
        argv = [sys.executable, "-I", "-S", os.path.join(HERE, "fake_model.py")]
        os.posix_spawn(argv[0], argv, {"PATH": "/usr/bin:/bin"}, file_actions=actions)
        os.close(commands), os.close(events)
        self.lines = os.fdopen(self.events, encoding="utf-8")
        self.port = self.hear()["port"]

    def hear(self):
        line = self.lines.readline()
        if not line:
            sys.exit("the fake model is gone; its complaint is above")
        return json.loads(line)

    def ask(self, command):
        os.write(self.commands, json.dumps(command).encode() + b"\n")

    def start(self, plan):
        self.ask({"plan": plan})
        while "ready" not in self.hear():
            pass

    def report(self):
        self.ask({"report": True})
        while "requests" not in (event := self.hear()):
            pass
        return event


class Program:
    """One agent: how it is started, how it is told where the model is, what it calls reading a file."""

    def __init__(self, name, argv, env, read):
        self.name, self.argv, self.extra, self.read = name, argv, env, read

    def env(self):
        home = os.path.join(base, "home-" + self.name.split()[0])
        os.makedirs(home, exist_ok=True)
        # Nothing of the caller's environment: a library search path set by cargo alone would double the start-up time.
        ours = {"HOME": home, "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "fake"}
        ours["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{model.port}"
        return ours | self.extra


class Result:
    def __init__(self, usage, wall, report):
        self.cpu, self.peak, self.wall = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * UNIT, wall
        self.bytes, self.gaps, self.requests = report["first_bytes"], report["gaps"], report["requests"]
        self.ended, self.starts = report.get("ended", 0), report.get("starts", [])


def spawn(argv, env, cwd, complaint="/dev/null"):
    os.chdir(cwd)
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, complaint, writing, 0o644),
    ]
    # A group of its own, so that what it leaves running can be ended with it.
    return os.posix_spawn(argv[0], argv, env, file_actions=actions, setpgroup=0)


def end(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def too_long(*_):
    raise TimeoutError


def run(program, cwd, calls, hold=False):
    """One run. With hold it is killed the moment its first request has arrived, which gives the cost up to there."""
    result = attempt(program, cwd, {"calls": calls, "hold": hold}, LIMIT)
    if not hold and result.requests != len(calls) + 1:
        raise Undrivable(f"{result.requests} requests where {len(calls) + 1} were due")
    return result


def attempt(program, cwd, plan, limit):
    """One run with the model following this plan."""
    hold = plan["hold"]
    model.start(plan)
    complaint = os.path.join(base, "complaint.txt")
    start = time.perf_counter()
    pid = spawn(program.argv, program.env(), cwd, complaint)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        if hold:
            model.hear()
            end(pid)
        _, status, usage = os.wait4(pid, 0)
    except TimeoutError:
        end(pid)
        os.wait4(pid, 0)
        raise Undrivable(f"not done after {limit} s; {last_words(complaint)}") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    wall = time.perf_counter() - start
    end(pid)
    report = model.report()
    code = os.waitstatus_to_exitcode(status)
    if not hold and code != 0:
        raise Undrivable(f"exit status {code}; {last_words(complaint)}")
    # A fast answer that left the work out is no answer.
    if report["problem"]:
        raise Undrivable(report["problem"])
    return Result(usage, wall, report)


def last_words(file):
    with open(file, encoding="utf-8", errors="replace") as lines:
        words = lines.read().strip()
    return f"it said: {words[-400:]}" if words else "it said nothing"


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def ms(seconds):
    return f"{seconds * 1000:.2f} ms" if seconds < 0.1 else f"{seconds * 1000:,.0f} ms"


def mb(size):
    return f"{size / 1e6:.1f} MB"


def cpu(results):
    return median(result.cpu for result in results)


def peak(results):
    return max(result.peak for result in results)


def gaps(results):
    return [gap for result in results for gap in result.gaps]


def posse_at(path):
    return Program("posse", [path, "-p", "hi"], {}, lambda file: ["Read", {"file_path": file}])


def with_other_hooks(posse):
    """The same with hooks for what does not happen: they must cost nothing."""
    hook = {"type": "command", "command": "exit 2"}
    events = {"PreToolUse": "Bash", "PostToolUse": "Write|Edit", "Notification": "", "PreCompact": "", "FileChanged": ".env"}
    hooks = {event: [{"matcher": matcher, "hooks": [hook]}] for event, matcher in events.items()}
    argv = [*posse.argv, "--settings", json.dumps({"hooks": hooks})]
    return Program(posse.name, argv, posse.extra, posse.read)


def reading(program, project):
    """Twenty files and not one file twenty times: an agent may know that it has read a file before."""
    calls = []
    for turn in range(TURNS):
        file = os.path.join(project, NOTES, f"{turn:02}.txt")
        calls.append([*program.read(file), f"line 40 of note {turn}"])
    return calls


def write_notes(project):
    os.makedirs(os.path.join(project, NOTES), exist_ok=True)
    for turn in range(TURNS):
        with open(os.path.join(project, NOTES, f"{turn:02}.txt"), "w", encoding="utf-8") as file:
            file.writelines(f"line {line} of note {turn}, as long as lines of text are\n" for line in range(1, 81))


def floor():
    """A child counts what it shared with us before it became another program; nothing below this can be seen."""
    true = next(path for path in ("/bin/true", "/usr/bin/true") if os.path.exists(path))
    return os.wait4(spawn([true], {}, base), 0)[2].ru_maxrss * UNIT


def own(posse, project, thousand):
    posse = posse_at(posse)
    write_notes(project)
    hooked = with_other_hooks(posse)
    kinds = {
        "first": (posse, project, [], True),
        "first, to its end": (posse, project, [], False),
        "thousand": (posse, thousand, [], True),
        "twenty": (posse, project, reading(posse, project), False),
        "twenty, other hooks": (hooked, project, reading(posse, project), False),
    }
    for program, cwd, calls, _ in kinds.values():
        run(program, cwd, calls)
    results = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind, how in kinds.items():
            results[kind].append(run(*how))
    print(f"    medians of {runs} runs each, taking turns; peak memory is the highest, floor {mb(floor())}")
    print(f"    {'':<20}{'user+sys':>12}{'peak memory':>14}{'first request':>18}")
    for kind, those in results.items():
        print(f"    {kind:<20}{ms(cpu(those)):>12}{mb(peak(those)):>14}{those[0].bytes:>12,} bytes")
    between = gaps(results["twenty"])
    late = sorted(between)[len(between) * 95 // 100]
    print(f"    between a reply and the next request, the tool included: {ms(median(between))}, "
          f"95 % within {ms(late)} ({len(between)} replies)")


def crew(posse, project):
    posse = posse_at(posse)
    write_notes(project)
    three = reading(posse, project)[:3]

    def with_agents(waves, background, calls):
        plan = {"calls": calls, "hold": False, "waves": waves, "background": background}
        result = attempt(posse, project, plan, CREW_LIMIT)
        if result.ended != sum(waves):
            raise Undrivable(f"{result.ended} of {sum(waves)} agents came to their end")
        return result

    with_agents([1], False, three)
    print(f"    medians of {runs} runs; peak memory is the highest, floor {mb(floor())}; agents read three files each")
    print(f"    {'':<28}{'user+sys':>12}{'wall':>12}{'peak memory':>14}{'requests':>10}")

    def row(name, results):
        wall = median(result.wall for result in results)
        print(f"    {name:<28}{ms(cpu(results)):>12}{ms(wall):>12}{mb(peak(results)):>14}{results[0].requests:>10,}")

    row("32 at once", [with_agents([32], False, three) for _ in range(runs)])
    for count in (10, 100, 1000):
        # A thousand take long enough to be one good sample.
        times = runs if count < 1000 else max(1, runs // 7)
        row(f"{count:,} in the background", [with_agents([count], True, three) for _ in range(times)])
    alone = [with_agents([1] * TURNS, False, []) for _ in range(runs)]
    told("from the reply with the call to the agent's first request", [s for one in alone for s in one.starts])
    spawned = [with_agents([1] * 100, True, []) for _ in range(runs)]
    told("from a call in the background to its answer", gaps(spawned))


def told(what, times):
    times = sorted(times)
    part = lambda percent: ms(times[min(len(times) - 1, len(times) * percent // 100)])
    print(f"    {what}: {part(50)}, 95 % within {part(95)}, 99 % within {part(99)} ({len(times)} times)")


def search(posse, tree, rg, pattern, glob, mark):
    posse = posse_at(posse)
    project = os.path.dirname(tree)
    empty = os.path.join(project, "empty")
    os.makedirs(empty, exist_ok=True)
    nothing = ["Glob", {"pattern": "*", "path": empty}, ""]
    grep = ["Grep", {"pattern": pattern, "path": tree, "output_mode": "files_with_matches"}, mark]
    kinds = {
        "Grep": (grep, [rg, "-l", "-e", pattern]),
        "Glob": (["Glob", {"pattern": glob, "path": tree}, mark], [rg, "--files", "-g", glob]),
    }

    def reference(argv):
        start = time.perf_counter()
        usage = os.wait4(spawn(argv, {"PATH": "/usr/bin:/bin"}, project), 0)[2]
        return Result(usage, time.perf_counter() - start, {"first_bytes": 0, "gaps": [], "requests": 0})

    print(f"    medians of {runs} runs each, taking turns, each less the same on an empty folder; wall time of posse")
    print("    is from the call to the request that brings its result")
    print(f"    {'':<8}{'posse':>12}{'wall':>12}{'rg':>12}{'wall':>12}{'ratio':>9}{'wall':>9}")
    for name, (call, argv) in kinds.items():
        four = [
            lambda: run(posse, project, [call]),
            lambda: run(posse, project, [nothing]),
            lambda: reference([*argv, tree]),
            lambda: reference([*argv, empty]),
        ]
        rounds = [[one() for one in four] for _ in range(runs + 1)][1:]
        ours, idle, theirs, their_idle = zip(*rounds)
        times = [
            cpu(ours) - cpu(idle),
            median(gaps(ours)) - median(gaps(idle)),
            cpu(theirs) - cpu(their_idle),
            median(r.wall for r in theirs) - median(r.wall for r in their_idle),
        ]
        ratios = f"{times[0] / times[2]:>9.2f}{times[1] / times[3]:>9.2f}"
        print(f"    {name:<8}" + "".join(f"{ms(seconds):>12}" for seconds in times) + ratios)


def native(packages, folder, names):
    """The program itself and not the script that npm puts before it, which would cost the peer a Node.js more."""
    import glob

    found = sorted(glob.glob(os.path.join(packages, "node_modules", folder, *names)))
    for path in found:
        # More than one build may be there, of which this processor cannot run all.
        if os.waitstatus_to_exitcode(os.wait4(spawn([path, "--version"], {"HOME": base}, base), 0)[1]) == 0:
            return path
    raise Undrivable(f"no {names[-1]} below {packages} that this machine can start")


def claude(packages):
    path = native(packages, "@anthropic-ai/claude-code-*", ["claude"])
    quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"]
    return [path, "-p", "hi"], {name: "1" for name in quiet}, lambda file: ["Read", {"file_path": file}]


def codex(packages):
    """It has no tool for reading; what its own prompt tells the model to do is `cat`."""
    path = native(packages, "@openai/codex-*", ["vendor", "*", "bin", "codex"])
    fake = {"name": "fake", "base_url": f"http://127.0.0.1:{model.port}/v1", "env_key": "ANTHROPIC_API_KEY"}
    fake["wire_api"] = "responses"
    settings = {"model": "fake", "model_provider": "fake"} | {f"model_providers.fake.{k}": v for k, v in fake.items()}
    flags = [word for name, value in settings.items() for word in ("-c", f'{name}="{value}"')]
    # The sandbox would be one more program per call; the fake model asks for nothing but `cat`.
    flags += ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [path, "exec", *flags, "hi"], {}, lambda file: ["exec_command", {"cmd": "cat " + file}]


def opencode(packages):
    path = native(packages, "opencode-*", ["bin", "opencode"])
    options = {"baseURL": f"http://127.0.0.1:{model.port}/v1", "apiKey": "fake"}
    settings = {"autoupdate": False, "share": "disabled", "model": "anthropic/claude-sonnet-4-5"}
    settings["provider"] = {"anthropic": {"options": options}}
    quiet = ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD"]
    env = {f"OPENCODE_DISABLE_{name}": "1" for name in quiet} | {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)}
    return [path, "run", "hi"], env, lambda file: ["read", {"filePath": file}]


def peers(posse, project, packages):
    write_notes(project)
    programs = [posse_at(posse)]
    for name, find in (("Claude Code", claude), ("Codex", codex), ("opencode", opencode)):
        try:
            peer = Program(name, *find(packages))
            # Twice, because the first start of a program in a new home does more than any later one.
            for _ in range(2):
                run(peer, project, reading(peer, project))
            programs.append(peer)
        except Undrivable as why:
            print(f"    {name} could not be driven: {why}")
    scenarios = {"first": True, "first, to its end": False, "twenty": False}
    results = {(program.name, scenario): [] for program in programs for scenario in scenarios}
    run(programs[0], project, reading(programs[0], project))
    for _ in range(runs):
        for scenario, hold in scenarios.items():
            for program in programs:
                calls = reading(program, project) if scenario == "twenty" else []
                results[program.name, scenario].append(run(program, project, calls, hold))
    print(f"    medians of {runs} runs each, taking turns; peak memory is the highest, floor {mb(floor())}")
    for scenario in scenarios:
        last = "reply to request" if scenario == "twenty" else "first request"
        print(f"    {scenario:<20}{'user+sys':>12}{'ratio':>9}{'peak memory':>14}{'ratio':>9}{last:>20}")
        ours = results["posse", scenario]
        for program in programs:
            those = results[program.name, scenario]
            between = ms(median(gaps(those))) if gaps(those) else f"{those[0].bytes:,} bytes"
            factors = cpu(those) / cpu(ours), peak(those) / peak(ours)
            print(f"      {program.name:<18}{ms(cpu(those)):>12}{factors[0]:>8.1f}×{mb(peak(those)):>14}"
                  f"{factors[1]:>8.1f}×{between:>20}")


what, runs, base = sys.argv[1], int(sys.argv[2]), sys.argv[3]
signal.signal(signal.SIGALRM, too_long)
model = Model()
try:
    {"own": own, "crew": crew, "search": search, "peers": peers}[what](*sys.argv[4:])
except Undrivable as why:
    sys.exit(f"    posse could not be driven: {why}")
