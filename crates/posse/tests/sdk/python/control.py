"""What a program can ask of a session while it runs."""

from common import *


async def turns():
    async with ClaudeSDKClient(options()) as client:
        info = await client.get_server_info()
        assert {"commands", "models", "output_style"} <= set(info), info
        one, two = await turn(client, "one"), await turn(client, "two")
        equal([result(one).result, result(two).result], ["You said: one", "You said: two"])
        equal((len(system(one, "init")), len(system(two, "init"))), (1, 1))
        equal(result(one).session_id, result(two).session_id)


async def mode():
    order = do(write("mode.txt"))
    async with ClaudeSDKClient(options()) as client:
        equal(len(result(await turn(client, order)).permission_denials), 1)
        await client.set_permission_mode("acceptEdits")
        again = await turn(client, order)
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


async def connecting():
    client = ClaudeSDKClient(options())
    try:
        await client.query("too early")
        assert False, "nobody is there yet"
    except sdk.CLIConnectionError:
        pass
    await client.connect("said at once")
    equal(result([one async for one in client.receive_response()]).result, "You said: said at once")
    await client.disconnect()
    await client.connect(said("said in a stream"))
    got = []
    async for message in client.receive_messages():
        got.append(message)
        if isinstance(message, ResultMessage):
            break
    equal(result(got).result, "You said: said in a stream")
    await client.disconnect()


async def several_prompts():
    async def two():
        async for one in said("one"):
            yield one
        async for one in said("two"):
            yield one

    async with ClaudeSDKClient(options()) as client:
        await client.query(two())
        heard = ""
        while "two" not in heard:
            heard += result([one async for one in client.receive_response()]).result
        has(heard, "one")


async def server_info():
    async with ClaudeSDKClient(options(permission_mode="plan")) as client:
        info = await client.get_server_info()
    for one in info["commands"]:
        assert isinstance(one["name"], str) and isinstance(one["description"], str), one
        assert isinstance(one["argumentHint"], str), one
    for one in info["models"]:
        assert one["value"] and one["displayName"] and isinstance(one["description"], str), one
    has([one["name"] for one in info["agents"]], "Explore")
    equal((info["output_style"], info["current_permission_mode"]), ("default", "plan"))
    has(info["available_output_styles"], "default")
    assert info["account"]["apiKeySource"] and info["pid"] and info["claude_code_version"]


async def every_mode():
    async with ClaudeSDKClient(options()) as client:
        for mode in ["acceptEdits", "plan", "dontAsk", "default"]:
            await client.set_permission_mode(mode)
            equal(init(await turn(client, "hi"))["permissionMode"], mode)
    bypass = {"permission_mode": "bypassPermissions", "env": {"IS_SANDBOX": "1"}}
    async with ClaudeSDKClient(options(**bypass)) as client:
        await client.set_permission_mode("default")
        equal(len(result(await turn(client, do(bash("touch bypassed")))).permission_denials), 1)
        await client.set_permission_mode("bypassPermissions")
        equal(result(await turn(client, do(bash("touch bypassed")))).permission_denials, [])


async def models_by_name():
    async with ClaudeSDKClient(options()) as client:
        await client.set_model("haiku")
        first = result(await turn(client, do({"echo": "/model"}))).result
        has(first, "haiku")
        await client.set_model("default")
        lacks(result(await turn(client, do({"echo": "/model"}))).result, "haiku")


async def interrupting_questions():
    """Whoever is asked need not answer."""
    asked = asyncio.Event()

    async def never(*_):
        asked.set()
        await asyncio.sleep(3600)

    async with ClaudeSDKClient(options(can_use_tool=never)) as client:
        await client.query(do(write("never.txt")))
        await asked.wait()
        await client.interrupt()
        end = result([one async for one in client.receive_response()])
        equal((end.subtype, end.terminal_reason), ("error_during_execution", "aborted_tools"))
        equal(result(await turn(client, "on")).result, "You said: on")
    asked.clear()
    async with ClaudeSDKClient(options(hooks=hooked("PreToolUse", never), allowed_tools=["Bash"])) as client:
        await client.query(do(bash("touch never")))
        await asked.wait()
        await client.interrupt()
        end = result([one async for one in client.receive_response()])
        equal(end.subtype, "error_during_execution")
        equal((result(await turn(client, "on")).result, os.path.exists("never")), ("You said: on", False))


async def how_full_it_is():
    async with ClaudeSDKClient(options(mcp_servers={"none": sdk.create_sdk_mcp_server("none")})) as client:
        await turn(client, "hello")
        usage = await client.get_context_usage()
    for name in ["categories", "totalTokens", "maxTokens", "rawMaxTokens", "percentage", "model", "gridRows"]:
        assert name in usage, name
    for name in ["isAutoCompactEnabled", "memoryFiles", "mcpTools", "agents", "apiUsage"]:
        assert name in usage, name
    for one in usage["categories"]:
        assert {"name", "tokens", "color"} <= set(one), one
    assert sum(one["tokens"] for one in usage["categories"]) > 0, usage


async def stopping_a_task():
    helper = sdk.AgentDefinition(description="Helps", prompt="You help.", tools=["Bash", "Write"], background=True)
    given = {"description": "help", "prompt": do(bash("touch working; sleep 60")), "subagent_type": "helper"}
    order = do({"tool": "Agent", "input": {**given, "run_in_background": True}})
    more = {"agents": {"helper": helper}, "allowed_tools": ["Agent", "Bash"]}
    async with ClaudeSDKClient(options(**more)) as client:
        (task,) = system(await turn(client, order), "task_started")
        await appeared("working")
        await client.stop_task(task["task_id"])
        async for message in client.receive_messages():
            if isinstance(message, sdk.TaskNotificationMessage):
                break
        equal((message.task_id, message.status), (task["task_id"], "stopped"))


async def leaving_early():
    """A program that goes away in the middle of a turn leaves nobody behind."""
    client = ClaudeSDKClient(options(allowed_tools=["Bash"]))
    await client.connect()
    await client.query(do(bash("touch left; echo $$ > pid; sleep 600")))
    await appeared("left")
    await client.disconnect()
    pid = int(read("pid"))
    while os.path.exists(f"/proc/{pid}"):
        await asyncio.sleep(0.01)
    async for message in sdk.query(prompt=do(bash("sleep 600")), options=options(allowed_tools=["Bash"])):
        if isinstance(message, sdk.AssistantMessage):
            break


main(
    turns,
    mode,
    model,
    interrupt,
    context,
    unknown_servers,
    tasks,
    connecting,
    several_prompts,
    server_info,
    every_mode,
    models_by_name,
    interrupting_questions,
    how_full_it_is,
    stopping_a_task,
    leaving_early,
)
