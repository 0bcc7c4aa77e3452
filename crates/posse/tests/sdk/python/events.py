"""Every event that has a type in the SDK, with what its callbacks are told and what their answers do."""

from common import *
from claude_agent_sdk import AgentDefinition, PermissionResultAllow, UserMessage

BASE = {"session_id", "transcript_path", "cwd", "hook_event_name"}


def fields(given, *names):
    missing = (BASE | set(names)) - set(given)
    assert not missing, f"{missing} missing in {given}"


async def around_a_tool():
    before, after, failed = [], [], []
    hooks = {
        **hooked("PreToolUse", says(before), matcher="Bash|Read"),
        **hooked("PostToolUse", says(after), matcher="Bash|Read"),
        **hooked("PostToolUseFailure", says(failed)),
    }
    order = do(bash("echo fine"), {"tool": "Read", "input": {"file_path": "nowhere"}})
    messages = await with_hooks(order, hooks, allowed_tools=["Bash", "Read"])
    equal([call for _, call in before], ["toolu_0", "toolu_1"])
    for given, call in before:
        fields(given, "tool_name", "tool_input", "tool_use_id", "permission_mode")
        equal((given["tool_use_id"], given["cwd"]), (call, os.path.realpath(CWD)))
        equal((given["session_id"], given["permission_mode"]), (result(messages).session_id, "default"))
    ((given, _),) = after
    fields(given, "tool_name", "tool_input", "tool_response", "tool_use_id", "duration_ms")
    equal(given["tool_response"]["stdout"].strip(), "fine")
    ((given, call),) = failed
    fields(given, "tool_name", "tool_input", "tool_use_id", "error")
    equal((given["tool_use_id"], call), ("toolu_1", "toolu_1"))


async def what_hooks_add():
    tool = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "fine"}
    before = says([], hookSpecificOutput={**tool, "additionalContext": "mind the cat"})
    after = says([], hookSpecificOutput={"hookEventName": "PostToolUse", "additionalContext": "mind the dog"})
    hooks = {**hooked("PreToolUse", before), **hooked("PostToolUse", after)}
    async with ClaudeSDKClient(options(hooks=hooks)) as client:
        messages = await turn(client, do(bash("touch allowed-by-hook")))
        equal(result(messages).permission_denials, [])
        heard = result(await turn(client, do({"echo": "/messages"}))).result
        has(heard, "mind the cat")
        has(heard, "mind the dog")
    prompt = {"hookEventName": "UserPromptSubmit", "additionalContext": "mind the bird"}
    hooks = hooked("UserPromptSubmit", says([], hookSpecificOutput=prompt))
    has(result(await with_hooks(do({"echo": "/messages"}), hooks)).result, "mind the bird")


async def what_a_tool_said_is_changed():
    changed = {"hookEventName": "PostToolUse", "updatedToolOutput": {"stdout": "something else", "stderr": ""}}
    hooks = hooked("PostToolUse", says([], hookSpecificOutput=changed))
    messages = await with_hooks(do(bash("echo secret")), hooks, allowed_tools=["Bash"])
    has(result(messages).result, "something else")
    lacks(result(messages).result, "secret")


async def what_hooks_say_to_the_user():
    hooks = hooked("PreToolUse", says([], systemMessage="look out", suppressOutput=True))
    messages = await with_hooks(do(bash("echo hi")), hooks, allowed_tools=["Bash"])
    has([one["content"] for one in system(messages, "informational")], "PreToolUse:Bash says: look out")


async def asked_and_denied():
    ask = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "please look"}
    asked = []

    async def can_use_tool(tool, given, context):
        asked.append((tool, context.decision_reason))
        return PermissionResultAllow()

    hooks = hooked("PreToolUse", says([], hookSpecificOutput=ask))
    more = {"can_use_tool": can_use_tool, "allowed_tools": ["Bash"]}
    messages = await with_hooks(do(bash("echo hi")), hooks, **more)
    equal((asked[0][0], result(messages).permission_denials), ("Bash", []))
    has(asked[0][1] or "", "please look")
    block = hooked("PreToolUse", says([], decision="block", reason="not like that"))
    has(result(await with_hooks(do(bash("echo hi")), block, allowed_tools=["Bash"])).result, "not like that")


async def stopping_early():
    seen = []
    stop = {"continue_": False, "stopReason": "enough for today"}
    messages = await with_hooks(do(bash("touch early")), hooked("PreToolUse", says(seen, **stop)), allowed_tools=["Bash"])
    equal((len(seen), os.path.exists("early")), (1, False))
    equal(result(messages).is_error, False)
    messages = await with_hooks("hello", hooked("UserPromptSubmit", says([], **stop)))
    equal(result(messages).is_error, False)
    has(json.dumps([one.__dict__ for one in messages], default=str), "enough for today")


async def prompts_and_ends():
    prompts, stops = [], []
    hooks = {**hooked("UserPromptSubmit", says(prompts)), **hooked("Stop", says(stops))}
    await with_hooks("hello there", hooks)
    ((given, _),) = prompts
    fields(given, "prompt")
    equal(given["prompt"], "hello there")
    ((given, _),) = stops
    fields(given, "stop_hook_active", "last_assistant_message", "background_tasks", "session_crons")
    equal((given["stop_hook_active"], given["last_assistant_message"]), (False, "You said: hello there"))


async def agents_come_and_go():
    started, stopped, inside = [], [], []
    more = {"hookEventName": "SubagentStart", "additionalContext": "mind the fish"}
    hooks = {
        **hooked("SubagentStart", says(started, hookSpecificOutput=more)),
        **hooked("SubagentStop", says(stopped)),
        **hooked("PreToolUse", says(inside), matcher="Bash"),
    }
    helper = {"helper": AgentDefinition(description="Helps", prompt="You help.", tools=["Bash"])}
    task = do(bash("echo inner"))
    given = {"description": "help", "prompt": task, "subagent_type": "helper", "run_in_background": False}
    order = do({"tool": "Agent", "input": given})
    messages = await with_hooks(order, hooks, agents=helper, allowed_tools=["Agent", "Bash"])
    ((start, _),) = started
    ((stop, _),) = stopped
    ((tool, _),) = inside
    fields(start, "agent_id", "agent_type")
    fields(stop, "agent_id", "agent_transcript_path", "last_assistant_message", "stop_hook_active", "agent_type")
    (task,) = system(messages, "task_started")
    equal([one["agent_id"] for one in [start, stop, tool]], [task["task_id"]] * 3)
    equal([one["agent_type"] for one in [start, stop, tool]], ["helper"] * 3)
    has(stop["last_assistant_message"], "inner")
    has(read(stop["agent_transcript_path"]), "mind the fish")


async def agents_that_are_not_let_go():
    times = []

    async def once_more(given, *_):
        times.append(given["stop_hook_active"])
        return {"decision": "block", "reason": "look again"} if len(times) == 1 else {}

    helper = {"helper": AgentDefinition(description="Helps", prompt="You help.", tools=["Bash"])}
    given = {"description": "help", "prompt": "hello", "subagent_type": "helper", "run_in_background": False}
    order = do({"tool": "Agent", "input": given})
    messages = await with_hooks(order, hooked("SubagentStop", once_more), agents=helper, allowed_tools=["Agent"])
    equal(times, [False, True])
    has(result(messages).result, "look again")


async def summaries():
    seen = []
    async with ClaudeSDKClient(options(hooks=hooked("PreCompact", says(seen)))) as client:
        await turn(client, "a long story")
        messages = await turn(client, "/compact keep the names")
        equal(result(messages).is_error, False)
        ((given, _),) = seen
        fields(given, "trigger", "custom_instructions")
        equal((given["trigger"], given["custom_instructions"]), ("manual", "keep the names"))
        (boundary,) = system(messages, "compact_boundary")
        equal(boundary["compact_metadata"]["trigger"], "manual")
    stops = says([], decision="block", reason="keep it all")
    async with ClaudeSDKClient(options(hooks=hooked("PreCompact", stops))) as client:
        await turn(client, "a long story")
        equal(system(await turn(client, "/compact"), "compact_boundary"), [])


async def notices():
    seen = []

    async def can_use_tool(*_):
        return PermissionResultAllow()

    hooks = hooked("Notification", says(seen))
    await with_hooks(do(write("noticed.txt")), hooks, can_use_tool=can_use_tool)
    for given, _ in seen:
        fields(given, "message", "notification_type")
    has([given["notification_type"] for given, _ in seen], "permission_prompt")


async def permission_requests():
    seen = []
    allow = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    hooks = hooked("PermissionRequest", says(seen, hookSpecificOutput=allow), matcher="Write")
    messages = await with_hooks(do(write("requested.txt", "yes")), hooks)
    ((given, _),) = seen
    fields(given, "tool_name", "tool_input", "permission_suggestions")
    equal((result(messages).permission_denials, read("requested.txt")), ([], "yes"))
    deny = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "ask me tomorrow"}}
    hooks = hooked("PermissionRequest", says([], hookSpecificOutput=deny))
    has(result(await with_hooks(do(write("r2.txt")), hooks)).result, "ask me tomorrow")
    assert not os.path.exists("r2.txt")


async def others_by_name():
    seen = []
    hooks = {}
    for event in ["SessionStart", "SessionEnd", "PostToolBatch", "PermissionDenied", "StopFailure", "PostCompact"]:
        hooks.update(hooked(event, says(seen)))
    async with ClaudeSDKClient(options(hooks=hooks)) as client:
        await turn(client, do(bash("echo hi"), write("denied.txt")))
        await turn(client, "/compact")
        await turn(client, do({"fail": 400}))
    names = [given["hook_event_name"] for given, _ in seen]
    assert {"SessionStart", "PostToolBatch", "StopFailure", "PostCompact"} <= set(names), names


async def several_at_once():
    """Callbacks of one event run side by side, and each answer counts."""
    both = asyncio.Barrier(2)

    async def waits(*_):
        await both.wait()
        return {}

    seen = []
    hooks = {"PreToolUse": [HookMatcher(hooks=[waits, waits]), HookMatcher(matcher="Bash", hooks=[says(seen)])]}
    await with_hooks(do(bash("echo hi")), hooks, allowed_tools=["Bash"])
    equal(len(seen), 1)


async def answers_that_come_later():
    hooks = hooked("PreToolUse", says([], async_=True, asyncTimeout=5000))
    messages = await with_hooks(do(bash("echo went on")), hooks, allowed_tools=["Bash"])
    has(result(messages).result, "went on")


async def events_of_commands():
    command = {"type": "command", "command": "echo noted"}
    settings = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [command]}]}})
    more = {"settings": settings, "allowed_tools": ["Bash"]}
    messages = await ask(do(bash("echo hi")), include_hook_events=True, **more)
    events = [one for one in messages if isinstance(one, sdk.HookEventMessage)]
    equal([(one.subtype, one.hook_event_name) for one in events], [("hook_started", "PreToolUse"), ("hook_response", "PreToolUse")])
    response = events[1].data
    equal((response["stdout"].strip(), response["exit_code"], response["hook_name"]), ("noted", 0, "PreToolUse:Bash"))
    quiet = await ask(do(bash("echo hi")), **more)
    equal([one for one in quiet if isinstance(one, sdk.HookEventMessage)], [])


main(
    around_a_tool,
    what_hooks_add,
    what_a_tool_said_is_changed,
    what_hooks_say_to_the_user,
    asked_and_denied,
    stopping_early,
    prompts_and_ends,
    agents_come_and_go,
    agents_that_are_not_let_go,
    summaries,
    notices,
    permission_requests,
    others_by_name,
    several_at_once,
    answers_that_come_later,
    events_of_commands,
)
