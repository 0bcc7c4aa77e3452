"""What is read from files: settings, memory, skills, commands, plugins; and what limits a run."""

from common import *

STYLE = '{"outputStyle": "terse"}'
# Projects of their own, beside the one that the program runs in.
LOCAL = os.path.realpath(os.path.dirname(CWD)) + "/from-local"
STYLED = os.path.realpath(os.path.dirname(CWD)) + "/styled"


async def sources():
    put(f"{LOCAL}/.claude/settings.local.json", '{"permissions": {"allow": ["Write"]}}')
    put(f"{LOCAL}/CLAUDE.md", "The project is about bees.")
    trust(LOCAL)
    order = do(write("made.txt"), {"echo": "/messages"})

    async def denials(**more):
        end = result(await ask(order, cwd=LOCAL, **more))
        if os.path.exists(f"{LOCAL}/made.txt"):
            os.remove(f"{LOCAL}/made.txt")
        return len(end.permission_denials)

    async def bees(**more):
        return "bees" in await whole("/messages", cwd=LOCAL, **more)

    equal((await denials(), await denials(setting_sources=["user", "project", "local"])), (0, 0))
    equal((await denials(setting_sources=[]), await denials(setting_sources=["user"])), (1, 1))
    equal((await bees(), await bees(setting_sources=["project"])), (True, True))
    equal((await bees(setting_sources=[]), await bees(setting_sources=["user"])), (False, False))


async def sources_of_the_user():
    home = os.environ["CLAUDE_CONFIG_DIR"]
    put(f"{home}/settings.json", '{"env": {"FROM_HOME": "yes"}}')
    put(f"{home}/CLAUDE.md", "The user likes tea.")
    order = do(bash("echo home=$FROM_HOME"))
    more = {"allowed_tools": ["Bash"]}
    has(result(await ask(order, **more)).result, "home=yes")
    has(result(await ask(order, setting_sources=["user"], **more)).result, "home=yes")
    lacks(result(await ask(order, setting_sources=["project"], **more)).result, "home=yes")
    has(await whole("/messages", setting_sources=["user"]), "likes tea")
    lacks(await whole("/messages", setting_sources=[]), "likes tea")
    os.remove(f"{home}/settings.json")
    os.remove(f"{home}/CLAUDE.md")


async def settings():
    order = do(write("set.txt"))
    path = put("more.json", '\ufeff{"permissions": {"allow": ["Write"]}}')
    equal(result(await ask(order, settings=path)).permission_denials, [])
    os.remove("set.txt")
    equal(result(await ask(order, settings="more.json")).permission_denials, [])
    os.remove("set.txt")
    deny = json.dumps({"permissions": {"deny": ["Write"]}})
    end = result(await ask(order, settings=deny, allowed_tools=["Write"]))
    assert not os.path.exists("set.txt"), end
    equal(await echo("/model", settings='{"model": "claude-opus-4-1"}'), "claude-opus-4-1")
    await refusal(settings="nowhere.json")
    has("".join(COMPLAINTS), "nowhere.json")


async def a_style_of_answers():
    put(f"{STYLED}/.claude/settings.local.json", STYLE)
    style = init(await ask("hi", cwd=STYLED))["output_style"]
    equal((style, init(await ask("hi", cwd=STYLED, setting_sources=[]))["output_style"]), ("terse", "default"))


async def a_style_in_the_greeting():
    put(f"{STYLED}/.claude/settings.local.json", STYLE)
    async with ClaudeSDKClient(options(cwd=STYLED)) as client:
        equal((await client.get_server_info())["output_style"], "terse")


async def skills():
    for name in ["bake", "sing"]:
        put(f".claude/skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: How to {name}.\n---\n{name} well.\n")
    call = do({"tool": "Skill", "input": {"skill": "bake"}})

    async def told(**more):
        return [name for name in ["bake", "sing"] if f"How to {name}." in await whole("", **more)]

    equal(await told(skills="all"), ["bake", "sing"])
    equal(await told(skills=["sing"]), ["sing"])
    equal(await told(skills=[]), [])
    has(init(await ask("hi", skills="all"))["skills"], "bake")
    # Whoever names skills need not allow the tool.
    messages = await ask(call, skills=["bake"])
    equal(result(messages).permission_denials, [])
    has(result(messages).result, "bake")
    hidden = await ask(call, skills=["sing"])
    lacks(result(hidden).result, "bake well")


async def commands():
    put(".claude/commands/shout.md", "---\ndescription: Shouts\n---\nShout $ARGUMENTS loudly.\n")
    messages = await ask("/shout hey")
    has(init(messages)["slash_commands"], "shout")
    has(result(messages).result, "Shout hey loudly.")
    lacks(init(await ask("hi", setting_sources=["user"]))["slash_commands"], "shout")
    equal(result(await ask("/shout hey", verbatim_prompts=True)).result, "You said: /shout hey")
    equal(result(await ask("/nothing-of-the-kind hey")).result, "You said: /nothing-of-the-kind hey")
    async with ClaudeSDKClient(options()) as client:
        (found,) = [one for one in (await client.get_server_info())["commands"] if one["name"] == "shout"]
        has(found["description"], "Shouts")


async def plugins():
    put("demo/.claude-plugin/plugin.json", '{"name": "demo", "version": "1.1.0"}')
    put("demo/commands/wave.md", "---\ndescription: Waves\n---\nWave at $ARGUMENTS.\n")
    put("demo/agents/waver.md", "---\nname: waver\ndescription: Waves\n---\nYou wave.\n")
    put("demo/skills/wink/SKILL.md", "---\nname: wink\ndescription: How to wink.\n---\nWink.\n")
    given = [{"type": "local", "path": os.path.abspath("demo")}]
    messages = await ask("/demo:wave me", plugins=given)
    first = init(messages)
    (plugin,) = first["plugins"]
    equal((plugin["name"], os.path.realpath(plugin["path"])), ("demo", os.path.realpath("demo")))
    equal((plugin["version"], plugin["source"]), ("1.1.0", "demo@inline"))
    has(first["slash_commands"], "demo:wave")
    has(first["agents"], "demo:waver")
    has(first["skills"], "demo:wink")
    has(result(messages).result, "Wave at me.")
    gone = await ask("hi", plugins=[*given, {"type": "local", "path": "/nowhere/at-all"}])
    (error,) = init(gone)["plugin_errors"]
    equal((error["type"], error["path"], len(init(gone)["plugins"])), ("path-not-found", "/nowhere/at-all", 1))
    equal((error["plugin"], result(gone).is_error), ("inline[1]", False))


async def more_folders():
    other = os.path.realpath(os.path.dirname(CWD)) + "/other"
    os.makedirs(other, exist_ok=True)
    order = do(write(f"{other}/made.txt", "made"))
    edits = {"permission_mode": "acceptEdits"}
    equal(len(result(await ask(order, **edits)).permission_denials), 1)
    messages = await ask(order, add_dirs=[other], **edits)
    equal((result(messages).permission_denials, read(f"{other}/made.txt")), ([], "made"))


async def modes():
    touch, edit = do(bash("touch by-mode")), do(write("by-mode.txt"))

    async def outcome(mode, prompt, **more):
        messages = await ask(prompt, permission_mode=mode, **more)
        equal(init(messages)["permissionMode"], mode)
        return len(result(messages).permission_denials)

    equal((await outcome("default", edit), await outcome("default", touch)), (1, 1))
    equal(await outcome("dontAsk", edit), 1)
    equal(await outcome("dontAsk", edit, allowed_tools=["Write"]), 0)
    os.remove("by-mode.txt")
    await outcome("plan", edit)
    assert not os.path.exists("by-mode.txt")
    if os.geteuid() == 0:
        has(await refusal(permission_mode="bypassPermissions"), "exit code: 1")
        has("".join(COMPLAINTS), "root")
    equal(await outcome("bypassPermissions", touch, env={"IS_SANDBOX": "1"}), 0)
    assert os.path.exists("by-mode")
    await refusal(permission_mode="nonsense")


async def nobody_to_ask():
    async def can_use_tool(*_):
        raise AssertionError("nobody is asked")

    none = {"permission-prompts": "none"}
    messages = await ask(said(do(write("unasked.txt"))), can_use_tool=can_use_tool, extra_args=none)
    equal((len(result(messages).permission_denials), result(messages).is_error), (1, False))
    assert not os.path.exists("unasked.txt")


async def confined():
    """Who is not root and has what it takes is confined; whoever cannot be says so."""
    box = {"enabled": True, "autoAllowBashIfSandboxed": True, "failIfUnavailable": False}
    outside = os.path.expanduser("~/escaped")
    messages = await ask(do(bash(f"touch inside; touch {outside}; true")), sandbox=box, tools=["Bash"])
    equal((result(messages).permission_denials, os.path.exists("inside")), ([], True))
    assert not os.path.exists(outside)
    open_ = await ask(do(bash("touch not-asked")), sandbox={"enabled": False})
    equal(len(result(open_).permission_denials), 1)


main(
    sources,
    sources_of_the_user,
    settings,
    a_style_of_answers,
    skills,
    commands,
    plugins,
    more_folders,
    modes,
    nobody_to_ask,
    confined,
    a_style_in_the_greeting,
)
