"""Whole ways of working, as programs with the SDK go them; each looks at one thing from its beginning to its end."""

from common import *
from claude_agent_sdk import AgentDefinition, PermissionResultAllow, TextBlock

WORKER = AgentDefinition(description="Answers with one word", prompt="Say DONE.", tools=[], model="haiku")


async def a_clean_run_is_silent():
    equal(result(await ask("What is 1 + 1?")).is_error, False)
    equal(COMPLAINTS, [])


async def reasons_are_shown_on_demand():
    """Programs that look for a reason ask for lines on standard error."""
    lines = []
    messages = await ask("What is 1 + 1?", stderr=lines.append, extra_args={"debug-to-stderr": None})
    equal(result(messages).result, "You said: What is 1 + 1?")
    assert lines and any("[DEBUG]" in line for line in lines), lines
    lines.clear()
    await ask("hi", stderr=lines.append, extra_args={"debug-file": "debug.txt"})
    equal(lines, [])
    has(read("debug.txt"), "[DEBUG]")


async def errors_reach_the_program():
    try:
        async for message in sdk.query(prompt=do({"fail": 404}), options=options(max_turns=1)):
            if isinstance(message, ResultMessage):
                end = message
        assert False, "it must raise"
    except Exception as error:
        text = str(error)
    equal((end.is_error, end.subtype), (True, "success"))
    assert text.startswith("Claude Code returned an error result: ") and end.result in text, text


async def a_hook_for_a_later_turn():
    """An agent in the background ends after the turn; what the next turn asks of the program is still answered."""
    asked = []
    hooks = hooked("PreToolUse", says(asked), matcher="Write")
    inner = do({"tool": "Bash", "input": {"command": "while [ ! -e first-turn-over ]; do sleep 0.01; done"}})
    given = {"description": "say done", "prompt": inner, "subagent_type": "worker", "run_in_background": True}
    order = do({"tool": "Agent", "input": given})
    worker = AgentDefinition(description="Works", prompt="You work.", tools=["Bash"])
    more = {"agents": {"worker": worker}, "allowed_tools": ["Agent", "Bash"], "hooks": hooks}
    ends = []
    async for message in sdk.query(prompt=order, options=options(**more)):
        assert not system([message], "session_state_changed"), message
        if isinstance(message, ResultMessage):
            ends.append(message)
            put("first-turn-over", "")
    equal((len(ends) >= 2, [end.is_error for end in ends]), (True, [False] * len(ends)))


async def one_result_with_a_hook():
    asked = []
    messages = await ask("Reply with OK.", tools=[], hooks=hooked("PreToolUse", says(asked)))
    equal((len(results(messages)), system(messages, "session_state_changed")), (1, []))


async def a_request_from_the_future():
    async with ClaudeSDKClient(options(tools=[])) as client:
        work = client._query._send_control_request({"subtype": "end_user_input"}, timeout=30)
        await fails(work, "Unsupported control request subtype: end_user_input")
        equal(result(await turn(client, "on")).result, "You said: on")


async def put_off_and_taken_up():
    """A call that a hook puts off is looked at again when the session is resumed, without a word from anybody."""

    def decide(calls, decision):
        async def hook(given, call, _):
            calls.append(call)
            told = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "later"}
            return {"hookSpecificOutput": told}

        return hooked("PreToolUse", hook, matcher="Bash")

    # A query without a prompt closes its input before a hook can answer: what nobody allows is not done.
    for decision, ran, ways in [("deny", False, [False, True]), ("allow", True, [True])]:
        for by_client in ways:
            put_off, again = [], []
            mark = f"executed-{decision}-{by_client}"
            more = {"setting_sources": [], "tools": ["Bash"], "allowed_tools": ["Bash"], "max_turns": 3}
            first = result(await ask(do(bash(f"touch {mark}")), hooks=decide(put_off, "defer"), **more))
            equal((first.stop_reason, os.path.exists(mark)), ("tool_deferred", False))
            more.update(hooks=decide(again, decision), resume=first.session_id)
            if by_client:
                async with ClaudeSDKClient(options(**more)) as client:
                    messages = [one async for one in client.receive_response()]
            else:
                messages = await ask(nothing(), **more)
            equal((again, os.path.exists(mark)), ([first.deferred_tool_use.id], ran))
            equal(result(messages).is_error, False)


async def files_in_a_prompt():
    """What `@` names is read for the model, and the transcript says so; verbatim it is not."""
    outside = os.path.realpath(os.path.dirname(CWD)) + "/mentioned.txt"
    put(outside, "The marker is MARKER-17.")

    def attached(session):
        folder = os.environ["CLAUDE_CONFIG_DIR"] + "/projects"
        for place, _, names in os.walk(folder):
            if f"{session}.jsonl" in names:
                entries = [json.loads(line) for line in read(f"{place}/{session}.jsonl").splitlines()]
        entries = [one for one in entries if one["type"] == "attachment" and one["attachment"].get("type") == "file"]
        return json.dumps(entries)

    async def both(**more):
        end = result(await ask(f"What is in @{outside} ? " + do({"echo": "/messages"}), tools=[], **more))
        return "MARKER-17" in end.result, "MARKER-17" in attached(end.session_id)

    equal(await both(), (True, True))
    equal(await both(verbatim_prompts=True), (False, False))


async def changed_on_the_way():
    async with ClaudeSDKClient(options(permission_mode="default")) as client:
        await client.set_permission_mode("acceptEdits")
        await turn(client, "What is 2+2?")
        await client.set_permission_mode("default")
        await turn(client, "What is 3+3?")
        await client.set_model("claude-haiku-4-5")
        equal(result(await turn(client, do({"echo": "/model"}))).result, '"claude-haiku-4-5"')
        await client.set_model(None)
        await client.interrupt()
        equal(result(await turn(client, "still")).result, "You said: still")


async def a_file_outside():
    asked = []

    async def can_use_tool(tool, given, context):
        asked.append(tool)
        return PermissionResultAllow()

    path = os.path.realpath(os.path.dirname(CWD)) + "/written-outside.txt"
    async with ClaudeSDKClient(options(can_use_tool=can_use_tool)) as client:
        await turn(client, do(write(path, "hello world")))
    equal((asked, read(path)), (["Write"], "hello world"))


async def traced():
    """The context of a trace goes to the program that is started."""
    from opentelemetry import context, trace

    span = trace.SpanContext(trace_id=0xABC, span_id=0xDEF, is_remote=False, trace_flags=trace.TraceFlags(1))
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(span)))
    try:
        messages = await ask(do(bash("echo trace=$TRACEPARENT")), allowed_tools=["Bash"])
    finally:
        context.detach(token)
    has(result(messages).result, "trace=00-")


async def breaking_off():
    """Whoever has heard enough leaves."""
    async for message in sdk.query(prompt="hello", options=options()):
        if isinstance(message, ResultMessage):
            break
    equal([block.text for block in blocks(await ask("again"), TextBlock)], ["You said: again"])


main(
    a_clean_run_is_silent,
    errors_reach_the_program,
    a_hook_for_a_later_turn,
    one_result_with_a_hook,
    a_request_from_the_future,
    changed_on_the_way,
    a_file_outside,
    traced,
    breaking_off,
    reasons_are_shown_on_demand,
    files_in_a_prompt,
    put_off_and_taken_up,
)
