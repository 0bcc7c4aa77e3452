"""Checks of posse with the Claude Agent SDK for Python: `checks.py GROUP`. One line of JSON per check."""

import asyncio
import json
import os
import sys
import traceback

import claude_agent_sdk as sdk
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

CWD = os.getcwd()
COMPLAINTS = []


def do(*orders):
    return "do: " + json.dumps(orders)


def options(**more):
    return ClaudeAgentOptions(cli_path=os.environ["POSSE"], cwd=CWD, stderr=COMPLAINTS.append, **more)


async def ask(prompt, **more):
    """Every message of one question; an error result does not raise."""
    messages = []
    try:
        async for message in sdk.query(prompt=prompt, options=options(**more)):
            messages.append(message)
    except sdk.ResultError:
        pass
    return messages


def results(messages):
    return [message for message in messages if isinstance(message, ResultMessage)]


def result(messages):
    (only,) = results(messages)
    return only


def blocks(messages, kind):
    said = [message.content for message in messages if isinstance(message, (AssistantMessage, UserMessage))]
    return [block for content in said if isinstance(content, list) for block in content if isinstance(block, kind)]


def system(messages, subtype):
    found = [message for message in messages if isinstance(message, SystemMessage)]
    return [message.data for message in found if message.subtype == subtype]


async def echo(pointer, **more):
    return json.loads(result(await ask(do({"echo": pointer}), **more)).result)


def equal(one, other):
    assert one == other, f"{one!r} != {other!r}"


def has(whole, part):
    assert part in whole, f"{part!r} not in {whole!r}"


async def refusal(**more):
    """What a start that is refused says."""
    try:
        async for _ in sdk.query(prompt="hi", options=options(**more)):
            pass
    except sdk.ClaudeSDKError as error:
        return str(error)
    raise AssertionError("the start must be refused")


# Queries


async def a_plain_question():
    messages = await ask("hello")
    (init,) = system(messages, "init")
    equal(init["cwd"], os.path.realpath(CWD))
    has(init["tools"], "Task")
    equal([block.text for block in blocks(messages, TextBlock)], ["You said: hello"])
    end = result(messages)
    equal((end.subtype, end.is_error, end.num_turns, end.result), ("success", False, 1, "You said: hello"))
    equal((end.session_id, end.terminal_reason, end.stop_reason), (init["session_id"], "completed", "end_turn"))
    assert end.total_cost_usd is not None and end.usage["output_tokens"] == 5
    equal(list(end.model_usage), ["claude-fake-1"])
    equal(COMPLAINTS, [])


async def prompts():
    equal(await echo("/system"), None)
    has(json.dumps(await echo("/system", system_prompt="Be brief.")), "Be brief.")
    preset = {"type": "preset", "preset": "claude_code"}
    whole = json.dumps(await echo("/system", system_prompt=preset))
    more = json.dumps(await echo("/system", system_prompt={**preset, "append": "And kind."}))
    assert len(whole) > 1000 and "And kind." in more and "And kind." not in whole
    with open("prompt.txt", "w") as file:
        file.write("From a file.")
    has(json.dumps(await echo("/system", system_prompt={"type": "file", "path": "prompt.txt"})), "From a file.")

    async def several():
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        content = [image, {"type": "text", "text": do({"echo": "/messages/0/content/0/type"})}]
        yield {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}

    equal(result(await ask(several())).result, '"image"')
    verbatim = result(await ask("/nothing of the kind", verbatim_prompts=True))
    equal(verbatim.result, "You said: /nothing of the kind")


async def tools():
    async def names(**more):
        return sorted(tool["name"] for tool in await echo("/tools", **more) or [])

    equal(await names(tools=[]), [])
    equal(await names(tools=["Read", "Bash"]), ["Bash", "Read"])
    whole = await names(tools={"type": "preset", "preset": "claude_code"})
    assert {"Agent", "Bash", "Edit", "Read", "Write"} <= set(whole), whole
    assert "Bash" not in await names(disallowed_tools=["Bash"])
    write = do({"tool": "Write", "input": {"file_path": "made.txt", "content": "made"}})
    denied = result(await ask(write))
    equal([denial["tool_name"] for denial in denied.permission_denials], ["Write"])
    assert not os.path.exists("made.txt")
    allowed = await ask(write, allowed_tools=["Write"])
    equal((open("made.txt").read(), result(allowed).num_turns), ("made", 2))
    (answer,) = [message for message in allowed if isinstance(message, UserMessage)]
    equal((answer.tool_use_result["type"], answer.parent_tool_use_id), ("create", None))
    equal(blocks(allowed, ToolResultBlock)[0].tool_use_id, blocks(allowed, ToolUseBlock)[0].id)
    settings = json.dumps({"permissions": {"allow": ["Write"]}})
    equal(result(await ask(write.replace("made.txt", "m2.txt"), settings=settings)).permission_denials, [])
    edits = await ask(write.replace("made.txt", "m3.txt"), permission_mode="acceptEdits")
    equal(system(edits, "init")[0]["permissionMode"], "acceptEdits")
    assert os.path.exists("m3.txt")


async def limits():
    again = do({"tool": "Bash", "input": {"command": "echo hi"}})
    end = result(await ask(again, max_turns=1))
    equal((end.subtype, end.is_error, end.terminal_reason), ("error_max_turns", True, "max_turns"))
    equal(end.errors, ["Reached maximum number of turns (1)"])
    end = result(await ask("hello", max_budget_usd=0.0000001, model="claude-sonnet-4-5"))
    equal((end.subtype, end.is_error), ("error_max_budget_usd", True))


async def the_provider():
    equal(await echo("/model", model="claude-opus-4-1"), "claude-opus-4-1")
    equal(await echo("/output_config/effort", effort="low"), "low")
    enabled = {"type": "enabled", "budget_tokens": 2048}
    equal(await echo("/thinking", thinking=enabled), enabled)
    equal(await echo("/thinking/budget_tokens", max_thinking_tokens=4096), 4096)
    equal(await echo("/thinking/type", thinking={"type": "adaptive"}), "adaptive")
    equal(await echo("/thinking/type", thinking={"type": "disabled"}), "disabled")
    beta = "context-1m-2025-08-07"
    has(result(await ask(do({"header": "anthropic-beta"}), betas=[beta])).result, beta)
    equal(await echo("/output_config/task_budget", task_budget={"total": 5000}), {"type": "tokens", "total": 5000})
    extra = {"debug-file": "d.txt", "workload": "w", "await-initialize": None, "strict-mcp-config": None}
    equal(result(await ask("hi", extra_args=extra, fallback_model="haiku", add_dirs=[CWD])).is_error, False)
    equal(result(await ask("hi", setting_sources=[])).is_error, False)
    equal(result(await ask("hi", setting_sources=["user", "project"], include_hook_events=True)).is_error, False)
    equal(result(await ask("hi", sandbox={"enabled": False}, plugins=[], skills="all")).is_error, False)


async def failures():
    messages = []
    try:
        async for message in sdk.query(prompt=do({"fail": 401}), options=options()):
            messages.append(message)
        assert False, "an error result must raise"
    except sdk.ResultError as error:
        has(str(error), "401")
    end = result(messages)
    equal((end.subtype, end.is_error, end.api_error_status, end.terminal_reason), ("success", True, 401, "api_error"))
    equal([message.error for message in messages if isinstance(message, AssistantMessage)], ["authentication_failed"])
    try:
        await ask("hi", extra_args={"no-such-flag": None})
        assert False, "a wrong flag must raise"
    except sdk.ProcessError as error:
        assert error.exit_code != 0
    has("".join(COMPLAINTS), "no-such-flag")


# Sessions


async def first():
    return result(await ask("remember this")).session_id


async def resume():
    session = await first()
    later = await ask("more", resume=session)
    equal(result(later).session_id, session)
    equal(len(await echo("/messages", resume=session)), 5)
    equal(result(await ask("and more", continue_conversation=True)).session_id, session)


async def fork():
    session = await first()
    copy = result(await ask("elsewhere", resume=session, fork_session=True)).session_id
    assert copy != session
    equal(len(sdk.get_session_messages(session, directory=CWD)), 2)
    equal(len(sdk.get_session_messages(copy, directory=CWD)), 4)


async def named():
    name = "11111111-2222-4333-8444-555555555555"
    equal(result(await ask("hi", session_id=name)).session_id, name)
    try:
        await ask("hi", session_id=name)
        assert False, "an id in use must raise"
    except sdk.ProcessError:
        pass


async def listed():
    session = await first()
    info = sdk.get_session_info(session, directory=CWD)
    equal((info.first_prompt, info.session_id), ("remember this", session))
    assert session in [one.session_id for one in sdk.list_sessions(directory=CWD)]
    messages = sdk.get_session_messages(session, directory=CWD)
    equal([message.type for message in messages], ["user", "assistant"])
    sdk.rename_session(session, "A better name", directory=CWD)
    sdk.tag_session(session, "kept", directory=CWD)
    info = sdk.get_session_info(session, directory=CWD)
    equal((info.custom_title, info.tag), ("A better name", "kept"))
    equal(result(await ask("on", resume=session)).session_id, session)
    made = sdk.fork_session(session, directory=CWD)
    equal(result(await ask("on", resume=made.session_id)).session_id, made.session_id)
    sdk.delete_session(made.session_id, directory=CWD)


async def cut():
    session = await first()
    upto = sdk.get_session_messages(session, directory=CWD)[-1].uuid
    await ask("forget this", resume=session)
    dropped = sdk.get_session_messages(session, directory=CWD)[2].uuid
    both = {"resume": session, "resume_session_at": upto}
    equal(len(await echo("/messages", fork_session=True, **both)), 3)
    equal(len(await echo("/messages", fork_session=True, resume_drops_turn=dropped, **both)), 3)
    has(await refusal(resume_drops_turn=upto, **both), "Resume rejected by --resume-drops-turn:")


async def stored():
    store = sdk.InMemorySessionStore()
    session = result(await ask("remember this", session_store=store)).session_id
    messages = await sdk.get_session_messages_from_store(store, session, directory=CWD)
    equal([message.type for message in messages], ["user", "assistant"])
    equal(len(await echo("/messages", session_store=store, resume=session)), 3)


async def refused():
    has(await refusal(resume="99999999-2222-4333-8444-555555555555"), "No conversation found with session ID")


# Permissions

WRITE = {"tool": "Write", "input": {"file_path": "asked.txt", "content": "asked"}}


async def with_answers(prompt, answer, **more):
    asked = []

    async def can_use_tool(tool, tool_input, context):
        asked.append((tool, tool_input, context))
        return answer(tool, tool_input, context)

    async def stream():
        yield {"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": None}

    return asked, await ask(stream(), can_use_tool=can_use_tool, **more)


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


# Hooks


async def with_hooks(prompt, hooks, **more):
    async def stream():
        yield {"type": "user", "message": {"role": "user", "content": prompt}, "parent_tool_use_id": None}

    return await ask(stream(), hooks=hooks, **more)


def says(seen, **output):
    async def hook(given, tool_use_id, _):
        seen.append((given, tool_use_id))
        return output

    return hook


TOUCH = {"tool": "Bash", "input": {"command": "touch hooked"}}


async def before_a_tool():
    seen, others = [], []
    deny = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no touching"}
    hooks = {
        "PreToolUse": [
            HookMatcher(matcher="Bash", hooks=[says(seen, hookSpecificOutput=deny)]),
            HookMatcher(matcher="Write", hooks=[says(others)]),
        ]
    }
    messages = await with_hooks(do(TOUCH), hooks, allowed_tools=["Bash"])
    ((given, call),) = seen
    equal((given["tool_name"], given["tool_input"], call, others), ("Bash", TOUCH["input"], "toolu_0", []))
    equal((given["hook_event_name"], given["session_id"]), ("PreToolUse", result(messages).session_id))
    has(result(messages).result, "no touching")
    assert not os.path.exists("hooked")
    changes = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "echo changed"},
        "additionalContext": "it was changed",
    }
    messages = await with_hooks(do(TOUCH), {"PreToolUse": [HookMatcher(hooks=[says([], hookSpecificOutput=changes)])]})
    equal(result(messages).permission_denials, [])
    has(result(messages).result, "changed")


async def after_a_tool():
    seen, failed = [], []
    more = {"hookEventName": "PostToolUse", "additionalContext": "looked at"}
    hooks = {
        "PostToolUse": [HookMatcher(hooks=[says(seen, hookSpecificOutput=more)])],
        "PostToolUseFailure": [HookMatcher(hooks=[says(failed)])],
    }
    both = do({"tool": "Bash", "input": {"command": "echo fine"}}, {"tool": "Read", "input": {"file_path": "nowhere"}})
    await with_hooks(both, hooks, allowed_tools=["Bash", "Read"])
    equal(([given["tool_name"] for given, _ in seen], [given["tool_name"] for given, _ in failed]), (["Bash"], ["Read"]))
    has(json.dumps(seen[0][0]["tool_response"]), "fine")
    stop = {"PostToolUse": [HookMatcher(hooks=[says([], **{"continue_": False, "stopReason": "enough"})])]}
    end = result(await with_hooks(both, stop, allowed_tools=["Bash", "Read"]))
    equal((end.terminal_reason, end.is_error), ("hook_stopped", False))


async def put_off():
    defer = {"hookEventName": "PreToolUse", "permissionDecision": "defer"}
    hooks = {"PreToolUse": [HookMatcher(hooks=[says([], hookSpecificOutput=defer)])]}
    end = result(await with_hooks(do(TOUCH), hooks, allowed_tools=["Bash"]))
    equal((end.terminal_reason, end.stop_reason, end.is_error), ("tool_deferred", "tool_deferred", False))
    put_off = end.deferred_tool_use
    equal((put_off.id, put_off.name, put_off.input), ("toolu_0", "Bash", TOUCH["input"]))
    assert not os.path.exists("hooked")


async def prompt_and_stop():
    seen = []
    block = {"UserPromptSubmit": [HookMatcher(hooks=[says(seen, decision="block", reason="not that")])]}
    messages = await with_hooks("secret", block)
    equal((seen[0][0]["prompt"], blocks(messages, TextBlock), result(messages).is_error), ("secret", [], False))
    times = []

    async def once_more(given, *_):
        times.append(given["stop_hook_active"])
        return {"decision": "block", "reason": "go on"} if len(times) == 1 else {}

    messages = await with_hooks("hello", {"Stop": [HookMatcher(hooks=[once_more])]})
    equal(times, [False, True])
    has(result(messages).result, "go on")


async def failing():
    async def fails(*_):
        raise ValueError("broken hook")

    soft = {"PreToolUse": [HookMatcher(hooks=[fails])]}
    messages = await with_hooks(do({"tool": "Bash", "input": {"command": "echo ran"}}), soft, allowed_tools=["Bash"])
    has(result(messages).result, "ran")
    has(json.dumps(system(messages, "informational")), "broken hook")
    hard = {"PreToolUse": [HookMatcher(hooks=[fails], on_failure="block")]}
    messages = await with_hooks(do(TOUCH), hard, allowed_tools=["Bash"])
    assert not os.path.exists("hooked"), result(messages)

    async def hangs(*_):
        await asyncio.sleep(60)

    slow = {"PreToolUse": [HookMatcher(hooks=[hangs], timeout=0.2)]}
    messages = await with_hooks(do(TOUCH), slow, allowed_tools=["Bash"])
    assert not os.path.exists("hooked"), result(messages)


# Control


async def turn(client, prompt):
    await client.query(prompt)
    return [message async for message in client.receive_response()]


async def turns():
    async with ClaudeSDKClient(options()) as client:
        info = await client.get_server_info()
        assert {"commands", "models", "output_style"} <= set(info), info
        one, two = await turn(client, "one"), await turn(client, "two")
        equal([result(one).result, result(two).result], ["You said: one", "You said: two"])
        equal((len(system(one, "init")), len(system(two, "init"))), (1, 1))
        equal(result(one).session_id, result(two).session_id)


async def mode():
    write = do({**WRITE, "input": {"file_path": "mode.txt", "content": ""}})
    async with ClaudeSDKClient(options()) as client:
        equal(len(result(await turn(client, write)).permission_denials), 1)
        await client.set_permission_mode("acceptEdits")
        again = await turn(client, write)
        equal((len(result(again).permission_denials), system(again, "init")[0]["permissionMode"]), (0, "acceptEdits"))
        for wrong in ["bypassPermissions", "nonsense"]:
            try:
                await client.set_permission_mode(wrong)
                assert False, wrong
            except Exception as error:
                has(str(error), "Cannot set permission mode")


async def model():
    async with ClaudeSDKClient(options(model="claude-sonnet-4-5")) as client:
        wanted = do({"echo": "/model"})
        equal(result(await turn(client, wanted)).result, '"claude-sonnet-4-5"')
        await client.set_model("claude-opus-4-1")
        later = await turn(client, wanted)
        equal((result(later).result, system(later, "init")[0]["model"]), ('"claude-opus-4-1"', "claude-opus-4-1"))
        await client.set_model(None)
        equal(result(await turn(client, wanted)).result, '"claude-sonnet-4-5"')


async def interrupt():
    slow = do({"tool": "Bash", "input": {"command": "touch began; sleep 60"}})
    async with ClaudeSDKClient(options(allowed_tools=["Bash"])) as client:
        for prompt, reason in [(slow, "aborted_tools"), (do({"text": "a" * 300}, {}), "aborted_streaming")]:
            await client.query(prompt)
            messages = []
            async for message in client.receive_response():
                messages.append(message)
                if reason == "aborted_streaming" and system([message], "init"):
                    await client.interrupt()
                if reason == "aborted_tools" and isinstance(message, AssistantMessage):
                    while not os.path.exists("began"):
                        await asyncio.sleep(0.01)
                    await client.interrupt()
            end = result(messages)
            equal((end.subtype, end.terminal_reason), ("error_during_execution", reason))
        await client.interrupt()
        equal(result(await turn(client, "still there")).result, "You said: still there")


async def context():
    async with ClaudeSDKClient(options()) as client:
        await turn(client, "hello")
        usage = await client.get_context_usage()
        equal((usage["totalTokens"], usage["maxTokens"] > 1000), (15, True))


async def unknown_servers():
    async with ClaudeSDKClient(options()) as client:
        equal(await client.get_mcp_status(), {"mcpServers": []})
        for work in [client.reconnect_mcp_server("x"), client.toggle_mcp_server("x", True)]:
            try:
                await work
                assert False, "there is no such server"
            except Exception as error:
                has(str(error), "Server not found: x")


async def tasks():
    async with ClaudeSDKClient(options()) as client:
        await client.stop_task("nobody")


# Servers


async def tools_of_the_program():
    calls = []

    @sdk.tool("add", "Adds two numbers", {"a": int, "b": int})
    async def add(args):
        calls.append(args)
        return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}

    @sdk.tool("fails", "Always fails", {})
    async def fails(args):
        return {"content": [{"type": "text", "text": "it failed"}], "is_error": True}

    server = sdk.create_sdk_mcp_server("sums", "1.0.0", tools=[add, fails])
    more = {"mcp_servers": {"sums": server}, "allowed_tools": ["mcp__sums__add", "mcp__sums__fails"]}
    order = do({"tool": "mcp__sums__add", "input": {"a": 2, "b": 3}})
    messages = await ask(order, **more)
    equal((calls, result(messages).result), ([{"a": 2, "b": 3}], "Result: 5"))
    (init,) = system(messages, "init")
    has(init["tools"], "mcp__sums__add")
    equal([(one["name"], one["status"]) for one in init["mcp_servers"]], [("sums", "connected")])
    messages = await ask(do({"tool": "mcp__sums__fails", "input": {}}), **more)
    equal([block.is_error for block in blocks(messages, ToolResultBlock)], [True])
    denied = await ask(order, mcp_servers={"sums": server})
    equal(len(result(denied).permission_denials), 1)
    async with ClaudeSDKClient(options(**more)) as client:
        (status,) = (await client.get_mcp_status())["mcpServers"]
        equal((status["name"], status["status"], len(status["tools"])), ("sums", "connected", 2))
        await client.reconnect_mcp_server("sums")
        equal(result(await turn(client, order)).result, "Result: 5")


async def a_tool_that_decides():
    asked = []

    @sdk.tool("decide", "Decides", {"tool_name": str, "input": dict, "tool_use_id": str})
    async def decide(args):
        asked.append(args["tool_name"])
        answer = {"behavior": "allow", "updatedInput": args["input"]}
        return {"content": [{"type": "text", "text": json.dumps(answer)}]}

    server = sdk.create_sdk_mcp_server("judge", tools=[decide])
    more = {"mcp_servers": {"judge": server}, "permission_prompt_tool_name": "mcp__judge__decide"}
    messages = await ask(do({"tool": "Write", "input": {"file_path": "decided.txt", "content": ""}}), **more)
    equal((asked, os.path.exists("decided.txt"), result(messages).permission_denials), (["Write"], True, []))


# Agents

HELPER = AgentDefinition(description="Helps", prompt="You are a helper.", tools=["Bash"], model="haiku")


def call_helper(prompt, **more):
    given = {"description": "help", "prompt": prompt, "subagent_type": "helper", **more}
    return do({"tool": "Agent", "input": given, "id": "toolu_agent"})


async def in_the_foreground():
    order = call_helper("do: " + json.dumps([{"tool": "Bash", "input": {"command": "echo from the helper"}}]))
    messages = await ask(order, agents={"helper": HELPER}, allowed_tools=["Bash", "Agent"])
    has(system(messages, "init")[0]["agents"], "helper")
    (started,) = system(messages, "task_started")
    equal((started["tool_use_id"], started["subagent_type"]), ("toolu_agent", "helper"))
    (ended,) = system(messages, "task_notification")
    equal((ended["task_id"], ended["status"]), (started["task_id"], "completed"))
    inside = [one for one in messages if getattr(one, "parent_tool_use_id", None) == "toolu_agent"]
    equal([block.name for block in blocks(inside, ToolUseBlock)], ["Bash"])
    has(result(messages).result, "from the helper")
    equal(blocks(inside, TextBlock)[1:], [])
    heard = await ask(order, agents={"helper": HELPER}, allowed_tools=["Bash", "Agent"], forward_subagent_text=True)
    inside = [one for one in heard if getattr(one, "parent_tool_use_id", None) == "toolu_agent"]
    has([block.text.strip() for block in blocks(inside, TextBlock)], "Result: from the helper")


async def in_the_background():
    order = call_helper("do: " + json.dumps([{"text": "found it"}]), run_in_background=True)
    hooks = {"Notification": [HookMatcher(hooks=[says([])])]}
    messages = await with_hooks(order, hooks, agents={"helper": HELPER}, allowed_tools=["Agent"])
    ends = results(messages)
    has(json.dumps([end.result for end in ends]), "found it")
    equal([one["status"] for one in system(messages, "task_notification")], ["completed"])


async def their_transcripts():
    order = call_helper("do: " + json.dumps([{"text": "written down"}]))
    end = result(await ask(order, agents={"helper": HELPER}, allowed_tools=["Agent"]))
    (agent,) = sdk.list_subagents(end.session_id, directory=CWD)
    said = sdk.get_subagent_messages(end.session_id, agent, directory=CWD)
    has(json.dumps([message.message for message in said]), "written down")


# Shapes


async def partial():
    messages = await ask(do({"thinking": "hm"}, {"text": "in several pieces"}), include_partial_messages=True)
    events = [message.event for message in messages if isinstance(message, StreamEvent)]
    kinds = [event["type"] for event in events]
    equal((kinds[0], kinds[-1], kinds.count("content_block_stop")), ("message_start", "message_stop", 2))
    deltas = [event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta"]
    equal("".join(deltas), "in several pieces")
    equal([block.signature for block in blocks(messages, ThinkingBlock)], ["signed"])
    equal([one["status"] for one in system(messages, "status")], ["requesting"])
    # Each block is told of when it is whole, just before its end.
    said = [message for message in messages if isinstance(message, (AssistantMessage, StreamEvent))]
    order = [one.event["type"] if isinstance(one, StreamEvent) else "assistant" for one in said]
    places = [place for place, kind in enumerate(order) if kind == "assistant"]
    equal([order[place + 1] for place in places], ["content_block_stop", "content_block_stop"])
    session = result(messages).session_id
    saved = [message.uuid for message in sdk.get_session_messages(session, directory=CWD)][1:]
    assert set(saved) <= {one.uuid for one in said if isinstance(one, AssistantMessage)}, saved


async def structured():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "schema": schema}
    end = result(await ask(do({"tool": "StructuredOutput", "input": {"n": 7}}), output_format=form))
    equal((end.structured_output, json.loads(end.result)), ({"n": 7}, {"n": 7}))


async def replayed():
    async def stream():
        message = {"role": "user", "content": "named"}
        more = {"uuid": "aaaaaaaa-2222-4333-8444-555555555555", "origin": {"kind": "human"}}
        yield {"type": "user", "message": message, "parent_tool_use_id": None, **more}

    messages = await ask(stream(), extra_args={"replay-user-messages": None})
    (user,) = [message for message in messages if isinstance(message, UserMessage)]
    equal((user.uuid, user.content), ("aaaaaaaa-2222-4333-8444-555555555555", "named"))
    equal(result(messages).origin, {"kind": "human"})
    saved = sdk.get_session_messages(result(messages).session_id, directory=CWD)
    equal(saved[0].uuid, user.uuid)


async def rewound():
    with open("kept.txt", "w") as file:
        file.write("before")
    kept = options(
        enable_file_checkpointing=True,
        permission_mode="acceptEdits",
        extra_args={"replay-user-messages": None},
    )
    read = {"tool": "Read", "input": {"file_path": "kept.txt"}}
    change = {"tool": "Write", "input": {"file_path": "kept.txt", "content": "after"}}
    make = {"tool": "Write", "input": {"file_path": "fresh.txt", "content": "new"}}
    async with ClaudeSDKClient(kept) as client:
        await turn(client, do(read))
        messages = await turn(client, do(change, make))
        prompt = [one for one in messages if isinstance(one, UserMessage) and isinstance(one.content, str)][0]
        equal((open("kept.txt").read(), os.path.exists("fresh.txt")), ("after", True))
        session = result(messages).session_id
        try:
            await client.rewind_files("nothing")
            assert False, "there is no such prompt"
        except Exception as error:
            has(str(error), "No file checkpoint found for this message.")
    # As a program does it that comes back later.
    kept.resume = session
    async with ClaudeSDKClient(kept) as client:
        await client.rewind_files(prompt.uuid)
    equal((open("kept.txt").read(), os.path.exists("fresh.txt")), ("before", False))


GROUPS = {
    "queries": [a_plain_question, prompts, tools, limits, the_provider, failures],
    "sessions": [resume, fork, named, listed, cut, stored, refused],
    "permissions": [allowed, changed, denied, interrupted, remembered, broken, questions],
    "hooks": [before_a_tool, after_a_tool, put_off, prompt_and_stop, failing],
    "control": [turns, mode, model, interrupt, context, unknown_servers, tasks],
    "servers": [tools_of_the_program, a_tool_that_decides],
    "agents": [in_the_foreground, in_the_background, their_transcripts],
    "shapes": [partial, structured, replayed, rewound],
}


async def main():
    for check in GROUPS[sys.argv[1]]:
        line = {"check": check.__name__.replace("_", " "), "ok": True}
        try:
            await asyncio.wait_for(check(), 60)
        except BaseException:
            line.update(ok=False, why=traceback.format_exc(), complaints=COMPLAINTS)
        print(json.dumps(line), flush=True)


asyncio.run(main())
