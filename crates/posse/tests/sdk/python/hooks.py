"""Callbacks of the program at moments of the run."""

from common import *
from claude_agent_sdk import TextBlock


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


main(
    before_a_tool,
    after_a_tool,
    put_off,
    prompt_and_stop,
    failing,
)
