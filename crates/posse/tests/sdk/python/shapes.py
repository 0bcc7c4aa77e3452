"""The messages of a session, as the SDK reads them."""

from common import *
from claude_agent_sdk import StreamEvent, ThinkingBlock


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
    more = {"uuid": "aaaaaaaa-2222-4333-8444-555555555555", "origin": {"kind": "human"}}
    messages = await ask(said("named", **more), extra_args={"replay-user-messages": None})
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


def fields(message, *names):
    missing = [name for name in names if getattr(message, name) is None]
    assert not missing, f"{missing} missing in {message}"


async def answers():
    messages = await ask(do({"thinking": "let me see"}, {"text": "so"}, bash("echo hi")), model="claude-sonnet-4-5")
    told = [one for one in messages if isinstance(one, AssistantMessage)]
    for one in told:
        fields(one, "model", "message_id", "usage", "session_id", "uuid")
        assert one.message_id.startswith("msg_") and {"input_tokens", "output_tokens"} <= set(one.usage), one
    # One message per block, all of one answer of the model.
    equal([len(one.content) for one in told[:3]], [1, 1, 1])
    equal(len({one.message_id for one in told[:3]}), 1)
    equal(len({one.uuid for one in told}), len(told))
    (block,) = blocks(messages, ThinkingBlock)
    equal((block.thinking, block.signature), ("let me see", "signed"))


async def ends():
    end = result(await ask("hello", model="claude-sonnet-4-5"))
    fields(end, "uuid", "duration_ms", "duration_api_ms", "total_cost_usd", "usage", "model_usage")
    (usage,) = end.model_usage.values()
    for name in ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"]:
        assert isinstance(usage[name], int), usage
    assert {"webSearchRequests", "costUSD", "contextWindow"} <= set(usage), usage
    assert abs(end.total_cost_usd - usage["costUSD"]) < 0.0001, end
    equal((end.permission_denials, end.stop_reason), ([], "end_turn"))
    two = do(bash("echo one"), bash("echo two"))
    equal(result(await ask(two, allowed_tools=["Bash"])).num_turns, 3)


async def sums():
    """Of a turn and of the whole session."""
    async with ClaudeSDKClient(options()) as client:
        one, two = result(await turn(client, "one")), result(await turn(client, "two"))
    equal(one.usage["output_tokens"], two.usage["output_tokens"])
    assert two.total_cost_usd > one.total_cost_usd, (one, two)
    (usage,) = two.model_usage.values()
    equal(usage["outputTokens"], one.usage["output_tokens"] + two.usage["output_tokens"])


async def the_first_message():
    messages = await ask("hi", include_partial_messages=True)
    assert isinstance(messages[0], SystemMessage) and messages[0].subtype == "init", messages[0]
    first = init(messages)
    for name in ["cwd", "session_id", "tools", "mcp_servers", "model", "permissionMode", "slash_commands"]:
        assert name in first, name
    for name in ["apiKeySource", "claude_code_version", "output_style", "agents", "skills", "plugins", "uuid"]:
        assert name in first, name
    quiet = await ask("hi")
    equal([one for one in quiet if isinstance(one, StreamEvent)], [])


async def thoughts_in_pieces():
    order = do({"thinking": "two and two are four, as everybody knows"}, {"text": "4"})
    messages = await ask(order, include_partial_messages=True)
    events = [one for one in messages if isinstance(one, StreamEvent)]
    deltas = [one.event["delta"] for one in events if one.event["type"] == "content_block_delta"]
    thoughts = [one["thinking"] for one in deltas if one["type"] == "thinking_delta"]
    assert len(thoughts) > 1 and "".join(thoughts) == "two and two are four, as everybody knows", deltas
    equal([one["type"] for one in deltas].count("signature_delta"), 1)
    for one in events:
        fields(one, "uuid", "session_id", "event")
    calls = await ask(do(bash("echo hi")), include_partial_messages=True, allowed_tools=["Bash"])
    deltas = [one.event.get("delta", {}) for one in calls if isinstance(one, StreamEvent)]
    text = "".join(one["partial_json"] for one in deltas if one.get("type") == "input_json_delta")
    equal(json.loads(text), {"command": "echo hi"})


async def tool_results():
    put("looked-at.txt", "content\n")
    orders = [
        bash("echo out; echo err >&2"),
        write("written.txt", "new"),
        {"tool": "Read", "input": {"file_path": "looked-at.txt"}},
        {"tool": "Edit", "input": {"file_path": "looked-at.txt", "old_string": "content", "new_string": "text"}},
        {"tool": "Read", "input": {"file_path": "nowhere"}},
    ]
    async with ClaudeSDKClient(options(permission_mode="acceptEdits")) as client:
        shapes = []
        for order in orders:
            messages = await turn(client, do(order))
            (answer,) = [one for one in messages if isinstance(one, UserMessage)]
            shapes.append(answer.tool_use_result)
    ran, wrote, read_, edited, failed = shapes
    equal((ran["stdout"].strip(), ran["interrupted"]), ("out", False))
    assert {"stdout", "stderr", "interrupted", "isImage"} <= set(ran), ran
    equal((wrote["type"], os.path.basename(wrote["filePath"]), wrote["content"]), ("create", "written.txt", "new"))
    assert {"structuredPatch", "originalFile"} <= set(wrote), wrote
    equal(read_["type"], "text")
    has(read_["file"]["content"], "content")
    assert {"oldString", "newString", "originalFile", "structuredPatch", "filePath"} <= set(edited), edited
    assert isinstance(failed, str) and failed.startswith("Error: "), failed


async def structured_by_tools():
    """The schema is held, the tool is offered, and what does not fit comes back."""
    schema = {
        "type": "object",
        "properties": {
            "analysis": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
            "words": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        },
        "required": ["analysis", "words"],
    }
    more = {"output_format": {"type": "json_schema", "schema": schema}, "permission_mode": "acceptEdits"}
    first = blocks(await ask(do({"echo": "/tools"}), **more), sdk.TextBlock)[0].text
    (tool,) = [one for one in json.loads(first) if one["name"] == "StructuredOutput"]
    equal(tool["input_schema"]["required"], ["analysis", "words"])
    good = {"analysis": {"n": 2}, "words": ["a", "b"]}
    end = result(await ask(do({"tool": "StructuredOutput", "input": good}), **more))
    equal((end.structured_output, end.is_error, end.subtype), (good, False, "success"))
    wrong = {"analysis": {}, "words": ["c"]}
    messages = await ask(do({"tool": "StructuredOutput", "input": wrong}), max_turns=3, **more)
    (first, *_) = blocks(messages, sdk.ToolResultBlock)
    equal((first.is_error, result(messages).structured_output), (True, None))
    # Who only talks is told once to use the tool.
    messages = await ask("just talk", max_turns=4, **more)
    equal(result(messages).structured_output, None)


async def tasks_and_their_news():
    helper = sdk.AgentDefinition(description="Helps", prompt="You help.", tools=["Bash"])
    given = {"description": "help", "prompt": do(bash("echo hi")), "subagent_type": "helper", "run_in_background": False}
    order = do({"tool": "Agent", "input": given})
    messages = await ask(order, agents={"helper": helper}, allowed_tools=["Agent", "Bash"])
    (started,) = [one for one in messages if isinstance(one, sdk.TaskStartedMessage)]
    fields(started, "task_id", "description", "uuid", "session_id", "tool_use_id", "task_type")
    equal(started.task_type, "local_agent")
    progress = [one for one in messages if isinstance(one, sdk.TaskProgressMessage)]
    assert progress and {"total_tokens", "tool_uses", "duration_ms"} <= set(progress[0].usage), progress
    updates = [one for one in messages if isinstance(one, sdk.TaskUpdatedMessage)]
    equal((updates[-1].status, updates[-1].status in sdk.TERMINAL_TASK_STATUSES), ("completed", True))
    (ended,) = [one for one in messages if isinstance(one, sdk.TaskNotificationMessage)]
    fields(ended, "task_id", "status", "output_file", "summary", "uuid", "session_id", "tool_use_id")
    equal({one.task_id for one in [started, *progress, *updates, ended]}, {started.task_id})


async def a_new_conversation():
    async with ClaudeSDKClient(options()) as client:
        old = result(await turn(client, "hello")).session_id
        messages = await turn(client, "/clear")
        (reset,) = [one for one in messages if isinstance(one, sdk.ConversationResetMessage)]
        equal((reset.session_id, result(messages).session_id), (old, reset.new_conversation_id))
        heard = json.loads(result(await turn(client, do({"echo": "/messages"}))).result)
        equal(len(heard), 1)


async def blocks_of_the_provider():
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    messages = await ask(do({"block": block}, {"text": "found"}))
    (used,) = blocks(messages, sdk.ServerToolUseBlock)
    equal((used.id, used.name, result(messages).result), ("srvtoolu_1", "web_search", "found"))


async def denials():
    messages = await ask(do(write("denied.txt")))
    (denied,) = system(messages, "permission_denied")
    equal((denied["tool_name"], denied["tool_use_id"]), ("Write", "toolu_0"))
    (listed,) = result(messages).permission_denials
    equal((listed["tool_name"], listed["tool_input"]["file_path"]), ("Write", "denied.txt"))


async def tries():
    messages = await ask(do({"fail": 529}), env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    (retry,) = system(messages, "api_retry")
    equal((retry["attempt"], retry["max_retries"], retry["error_status"]), (1, 1, 529))
    assert isinstance(retry["retry_delay_ms"], int) and retry["error"], retry
    kinds = {400: "invalid_request", 401: "authentication_failed", 429: "rate_limit"}
    for status, kind in {**kinds, 500: "server_error", 529: "overloaded"}.items():
        messages = await ask(do({"fail": status}))
        (told,) = [one for one in messages if isinstance(one, AssistantMessage)]
        equal((told.error, told.model, result(messages).api_error_status), (kind, "<synthetic>", status))


async def states():
    told = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "0"}
    messages = await ask("hi", env=told)
    equal([one["state"] for one in system(messages, "session_state_changed")], ["running", "idle"])
    equal(system(await ask("hi"), "session_state_changed"), [])


main(
    partial,
    structured,
    replayed,
    rewound,
    answers,
    ends,
    sums,
    the_first_message,
    thoughts_in_pieces,
    tool_results,
    structured_by_tools,
    tasks_and_their_news,
    a_new_conversation,
    blocks_of_the_provider,
    denials,
    tries,
    states,
)
