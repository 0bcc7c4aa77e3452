"""One question, and what goes to the model with it."""

from common import *
from claude_agent_sdk import TextBlock, ToolResultBlock, ToolUseBlock


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


async def every_prompt():
    custom = {"type": "custom", "prompt": "Made to measure."}
    has(await whole("/system", system_prompt=custom), "Made to measure.")
    snapshot = {"type": "custom", "prompt": "Kept.", "snapshot": True}
    has(await whole("/system", system_prompt=snapshot), "Kept.")


async def a_prompt_that_is_the_same_for_everybody():
    """Where the program works is then told elsewhere."""
    static = {"type": "preset", "preset": "claude_code", "exclude_dynamic_sections": True}
    lacks(await whole("/system", system_prompt=static), CWD)
    has(await whole("/messages", system_prompt=static), CWD)


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


async def a_model_that_fails():
    order = do({"fail": 529, "model": "claude-opus-4-1"}, {"echo": "/model"})
    more = {"model": "claude-opus-4-1", "env": {"CLAUDE_CODE_MAX_RETRIES": "1"}}
    failed = result(await ask(order, **more))
    equal((failed.is_error, failed.api_error_status), (True, 529))
    messages = await ask(order, fallback_model="claude-haiku-4-5", **more)
    equal((result(messages).is_error, result(messages).result), (False, '"claude-haiku-4-5"'))


async def thoughts():
    shown = {"type": "adaptive", "display": "summarized"}
    equal((await echo("/thinking", thinking=shown))["display"], "summarized")
    hidden = {"type": "enabled", "budget_tokens": 3000, "display": "omitted"}
    equal((await echo("/thinking", thinking=hidden))["display"], "omitted")
    env = {"MAX_THINKING_TOKENS": "8000"}
    equal(await echo("/thinking/budget_tokens", model="claude-sonnet-4-5", env=env), 8000)
    for effort in ["medium", "high", "xhigh", "max"]:
        equal(await echo("/output_config/effort", effort=effort), effort)


async def who_asks():
    app = result(await ask(do({"header": "user-agent"}), client_app="my-app/1.0.0")).result
    for part in ["sdk-py", f"agent-sdk/{sdk.__version__}", "my-app/1.0.0"]:
        has(app, part)
    beta = result(await ask(do({"header": "anthropic-beta"}), task_budget={"total": 5000})).result
    has(beta, "task-budgets-2026-03-13")
    has(init(await ask("hi", betas=["context-1m-2025-08-07"]))["betas"], "context-1m-2025-08-07")


async def the_surroundings():
    put("elsewhere/here.txt", "")
    order = do(bash("echo $COLOUR; pwd; echo $PWD; ls"))
    where = os.path.realpath("elsewhere")
    more = {"allowed_tools": ["Bash"], "env": {"COLOUR": "green"}}
    messages = await ask(order, cwd="elsewhere", **{**more, "cli_path": os.environ["POSSE"]})
    equal(init(messages)["cwd"], where)
    has(result(messages).result, "\n".join(["green", where, where, "here.txt"]))


async def a_line_that_is_too_long():
    long = do({"text": "x" * 5000})
    equal(len(result(await ask(long, max_buffer_size=100_000)).result), 5000)
    try:
        await ask(long, max_buffer_size=2000)
        assert False, "the line is longer than the program reads"
    except sdk.CLIJSONDecodeError:
        pass
    # What a tool says may be as long as it likes; a line may not.
    put("long.txt", ("y" * 1000 + "\n") * 1500)
    more = {"tools": ["Bash"], "allowed_tools": ["Bash"], "env": {"BASH_MAX_OUTPUT_LENGTH": "5000000"}}
    equal(result(await ask(do(bash("cat long.txt")), **more)).is_error, False)


async def flags():
    given = {"debug-file": "d.txt", "workload": "w", "await-initialize": None, "strict-mcp-config": None}
    equal(result(await ask("hi", extra_args=given)).is_error, False)
    equal(COMPLAINTS, [])
    equal(await echo("/model", extra_args={"model": "claude-opus-4-1"}), "claude-opus-4-1")
    # Flags go to the program as they are, also those that look like one.
    has(await whole("/system", system_prompt=None, extra_args={"append-system-prompt": "-- so"}), "-- so")


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


main(
    a_plain_question,
    prompts,
    every_prompt,
    tools,
    limits,
    the_provider,
    a_model_that_fails,
    thoughts,
    who_asks,
    the_surroundings,
    a_line_that_is_too_long,
    flags,
    failures,
    a_prompt_that_is_the_same_for_everybody,
)
