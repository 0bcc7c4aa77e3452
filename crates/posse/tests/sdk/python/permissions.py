"""Who decides whether a tool is used."""

from common import *
from claude_agent_sdk import AgentDefinition, PermissionResultAllow, PermissionResultDeny, PermissionUpdate


WRITE = {"tool": "Write", "input": {"file_path": "asked.txt", "content": "asked"}}


async def with_answers(prompt, answer, **more):
    asked = []

    async def can_use_tool(tool, tool_input, context):
        asked.append((tool, tool_input, context))
        return answer(tool, tool_input, context)

    return asked, await ask(said(prompt), can_use_tool=can_use_tool, **more)


async def allowed():
    asked, messages = await with_answers(do(WRITE), lambda *_: PermissionResultAllow())
    ((tool, given, context),) = asked
    equal((tool, given, context.tool_use_id), ("Write", WRITE["input"], "toolu_0"))
    equal([one.type for one in context.suggestions], ["setMode"])
    equal((open("asked.txt").read(), result(messages).permission_denials), ("asked", []))


async def changed():
    other = {"file_path": "other.txt", "content": "changed"}
    await with_answers(do(WRITE), lambda *_: PermissionResultAllow(updated_input=other))
    equal(open("other.txt").read(), "changed")


async def denied():
    fresh = {**WRITE, "input": {"file_path": "never.txt", "content": ""}}
    _, messages = await with_answers(do(fresh), lambda *_: PermissionResultDeny(message="not today"))
    end = result(messages)
    equal((end.result, end.is_error), ("Result: not today", False))
    equal([denial["tool_use_id"] for denial in end.permission_denials], ["toolu_0"])
    assert not os.path.exists("never.txt")


async def interrupted():
    answer = PermissionResultDeny(message="stop", interrupt=True)
    _, messages = await with_answers(do(WRITE), lambda *_: answer)
    end = result(messages)
    equal((end.subtype, end.terminal_reason), ("error_during_execution", "aborted_tools"))


async def remembered():
    twice = do({"tool": "Bash", "input": {"command": "touch one"}}, {"tool": "Bash", "input": {"command": "touch two"}})
    mode = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    edits = do(WRITE, {**WRITE, "input": {"file_path": "second.txt", "content": "2"}})
    asked, messages = await with_answers(edits, lambda *_: PermissionResultAllow(updated_permissions=[mode]))
    assert os.path.exists("second.txt") and len(asked) <= 2, asked
    has([line.get("permissionMode") for line in system(messages, "status")], "acceptEdits")
    rule = PermissionUpdate(
        type="addRules",
        rules=[sdk.types.PermissionRuleValue(tool_name="Bash", rule_content="touch:*")],
        behavior="allow",
        destination="session",
    )
    asked, _ = await with_answers(twice, lambda *_: PermissionResultAllow(updated_permissions=[rule]))
    assert asked and os.path.exists("one") and os.path.exists("two")


async def broken():
    def fails(*_):
        raise ValueError("my mistake")

    _, messages = await with_answers(do(WRITE), fails)
    has(result(messages).result, "my mistake")


async def questions():
    choices = [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]
    question = {"question": "Which colour?", "header": "Colour", "options": choices, "multiSelect": False}
    order = {"tool": "AskUserQuestion", "input": {"questions": [question]}}

    def answer(_, given, __):
        return PermissionResultAllow(updated_input={**given, "answers": {"Which colour?": "Blue"}})

    asked, messages = await with_answers(do(order), answer)
    equal((len(asked), asked[0][0]), (1, "AskUserQuestion"))
    has(result(messages).result, "Blue")


async def what_is_told():
    outside = os.path.realpath(os.path.dirname(CWD)) + "/outside.txt"
    put(outside, "outside")
    read_it = do({"tool": "Read", "input": {"file_path": outside}})
    ((tool, _, context),), messages = await with_answers(read_it, lambda *_: PermissionResultAllow())
    equal((tool, context.blocked_path), ("Read", outside))
    assert context.title and context.display_name and context.tool_use_id, context
    has(result(messages).result, "outside")
    order = {**bash("touch described"), "input": {"command": "touch described", "description": "Makes a file"}}
    ((tool, _, context),), _ = await with_answers(do(order), lambda *_: PermissionResultAllow())
    has([one.type for one in context.suggestions], "addRules")
    equal(context.description, "Makes a file")


async def asked_by_agents():
    helper = {"helper": AgentDefinition(description="Helps", prompt="You help.", tools=["Write"])}
    given = {"description": "help", "prompt": do(write("by-agent.txt", "made")), "subagent_type": "helper"}
    order = do({"tool": "Agent", "input": {**given, "run_in_background": False}})
    more = {"agents": helper, "allowed_tools": ["Agent"]}
    ((tool, _, context),), messages = await with_answers(order, lambda *_: PermissionResultAllow(), **more)
    (task,) = system(messages, "task_started")
    equal((tool, context.agent_id, read("by-agent.txt")), ("Write", task["task_id"], "made"))


async def not_asked():
    """What is allowed or forbidden anyway comes to nobody."""
    deny = json.dumps({"permissions": {"deny": ["Bash(rm:*)"], "allow": ["Write"]}})
    order = do(bash("rm -rf x"), bash("echo read-only"), write("free.txt"))
    asked, messages = await with_answers(order, lambda *_: PermissionResultDeny(message="no"), settings=deny)
    equal(([one[0] for one in asked], os.path.exists("free.txt")), ([], True))
    has(result(messages).result, "read-only")


async def rules_to_ask():
    ask_first = json.dumps({"permissions": {"ask": ["Bash(echo:*)"]}})
    more = {"settings": ask_first, "allowed_tools": ["Bash"]}
    asked, messages = await with_answers(do(bash("echo hi")), lambda *_: PermissionResultAllow(), **more)
    equal(([one[0] for one in asked], result(messages).permission_denials), (["Bash"], []))


async def written_down():
    """A rule for the project is there for the next session, too."""
    rule = PermissionUpdate(
        type="addRules",
        rules=[sdk.types.PermissionRuleValue(tool_name="Bash", rule_content="mkdir:*")],
        behavior="allow",
        destination="localSettings",
    )
    trust(CWD)
    await with_answers(do(bash("mkdir first")), lambda *_: PermissionResultAllow(updated_permissions=[rule]))
    has(read(".claude/settings.local.json"), "Bash(mkdir:*)")
    equal(result(await ask(do(bash("mkdir second")))).permission_denials, [])
    os.remove(".claude/settings.local.json")


async def more_places():
    other = os.path.realpath(os.path.dirname(CWD)) + "/places"
    os.makedirs(other, exist_ok=True)
    folders = PermissionUpdate(type="addDirectories", directories=[other], destination="session")
    mode = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    asked = []

    async def can_use_tool(tool, given, context):
        asked.append(given["file_path"])
        return PermissionResultAllow(updated_permissions=[folders, mode])

    async with ClaudeSDKClient(options(can_use_tool=can_use_tool)) as client:
        await turn(client, do(write(f"{other}/one.txt")))
        await turn(client, do(write(f"{other}/two.txt")))
    equal((asked, os.path.exists(f"{other}/two.txt")), ([f"{other}/one.txt"], True))


async def plans():
    plan = {"tool": "ExitPlanMode", "input": {"plan": "1. Write it."}}
    mode = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    asked = []

    async def can_use_tool(tool, given, context):
        asked.append(tool)
        return PermissionResultAllow(updated_permissions=[mode])

    async with ClaudeSDKClient(options(can_use_tool=can_use_tool, permission_mode="plan")) as client:
        messages = await turn(client, do(plan))
        has(init(messages)["tools"], "ExitPlanMode")
        later = await turn(client, do(write("planned.txt", "done")))
    equal((asked, init(later)["permissionMode"], read("planned.txt")), (["ExitPlanMode"], "acceptEdits", "done"))


main(
    allowed,
    changed,
    denied,
    interrupted,
    remembered,
    broken,
    questions,
    what_is_told,
    asked_by_agents,
    not_asked,
    rules_to_ask,
    written_down,
    more_places,
    plans,
)
