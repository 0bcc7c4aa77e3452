"""Servers of tools."""

from common import *
from claude_agent_sdk import ToolResultBlock


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


SERVER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "server.py")
GREET = do({"tool": "mcp__out__greet", "input": {"name": "you"}})
ALLOW = {"allowed_tools": ["mcp__out__greet"]}


def stdio(*args, **more):
    return {"type": "stdio", "command": sys.executable, "args": [SERVER, *args], **more}


async def servers_of_others():
    servers = {"out": stdio("hey", env={"GREETING": "warmly"})}
    messages = await ask(GREET, mcp_servers=servers, **ALLOW)
    equal(result(messages).result, "Result: hey you warmly")
    equal([(one["name"], one["status"]) for one in init(messages)["mcp_servers"]], [("out", "connected")])
    has(init(messages)["tools"], "mcp__out__greet")
    path = put("servers.json", json.dumps({"mcpServers": servers}))
    equal(result(await ask(GREET, mcp_servers=path, **ALLOW)).result, "Result: hey you warmly")
    text = json.dumps({"mcpServers": servers})
    equal(result(await ask(GREET, mcp_servers=text, **ALLOW)).result, "Result: hey you warmly")
    everything = {"allowed_tools": ["mcp__out"]}
    equal(result(await ask(GREET, mcp_servers=servers, **everything)).permission_denials, [])


async def servers_over_http():
    async def serve(reader, writer):
        size = 0
        while (line := (await reader.readline()).decode().lower().strip()):
            if line.startswith("content-length:"):
                size = int(line.split(":")[1])
        message = json.loads(await reader.readexactly(size)) if size else {}
        body, status = b"", "202 Accepted" if size else "405 Method Not Allowed"
        if "id" in message:
            shape = {"name": "greet", "description": "", "inputSchema": {"type": "object"}}
            answers = {
                "initialize": lambda: {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "web", "version": "1"},
                },
                "tools/list": lambda: {"tools": [shape]},
                "tools/call": lambda: {"content": [{"type": "text", "text": "from the web"}]},
            }
            answer = answers.get(message["method"], dict)()
            body, status = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}).encode(), "200 OK"
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    servers = {"out": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Key": "k"}}}
    equal(result(await ask(GREET, mcp_servers=servers, **ALLOW)).result, "Result: from the web")
    server.close()


async def only_these():
    put(".mcp.json", json.dumps({"mcpServers": {"folder": stdio("folder")}}))
    trust(CWD)
    settings = json.dumps({"enableAllProjectMcpServers": True})
    mine = {"mcp_servers": {"out": stdio()}, "settings": settings}

    async def names(**more):
        there = init(await ask("hi", **mine, **more))["mcp_servers"]
        return sorted(one["name"] for one in there if one["status"] in ["connected", "pending"])

    equal(await names(), ["folder", "out"])
    equal(await names(strict_mcp_config=True), ["out"])
    os.remove(".mcp.json")


async def others_are_not_even_named():
    put(".mcp.json", json.dumps({"mcpServers": {"folder": stdio("folder")}}))
    messages = await ask("hi", mcp_servers={"out": stdio()}, strict_mcp_config=True)
    os.remove(".mcp.json")
    equal([one["name"] for one in init(messages)["mcp_servers"]], ["out"])


async def servers_that_fail():
    servers = {"gone": {"command": "/nowhere/at-all"}, "out": stdio()}
    messages = await ask(GREET, mcp_servers=servers, **ALLOW)
    states = {one["name"]: one["status"] for one in init(messages)["mcp_servers"]}
    equal((states["gone"], result(messages).result), ("failed", "Result: hello you"))
    async with ClaudeSDKClient(options(mcp_servers=servers)) as client:
        await turn(client, "hi")
        status = {one["name"]: one for one in (await client.get_mcp_status())["mcpServers"]}
        assert status["gone"]["status"] == "failed" and status["gone"]["error"], status
        out = status["out"]
        equal((out["serverInfo"], out["tools"][0]["name"]), ({"name": "greeter", "version": "1.2.3"}, "greet"))
        equal(out["tools"][0]["annotations"]["readOnly"], True)
        await fails(client.reconnect_mcp_server("gone"), "")
        await client.reconnect_mcp_server("out")


async def how_servers_are_configured():
    async with ClaudeSDKClient(options(mcp_servers={"out": stdio()})) as client:
        (out,) = (await client.get_mcp_status())["mcpServers"]
        equal((out["config"]["command"], out["config"]["args"]), (sys.executable, [SERVER]))


async def switched_off_and_on():
    async with ClaudeSDKClient(options(mcp_servers={"out": stdio()}, **ALLOW)) as client:
        equal(result(await turn(client, GREET)).result, "Result: hello you")

        async def state():
            (only,) = (await client.get_mcp_status())["mcpServers"]
            return only["status"]

        await client.toggle_mcp_server("out", False)
        equal(await state(), "disabled")
        lacks(init(await turn(client, GREET))["tools"], "mcp__out__greet")
        await client.toggle_mcp_server("out", True)
        equal((await state(), result(await turn(client, GREET)).result), ("connected", "Result: hello you"))


async def results_of_all_kinds():
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    @sdk.tool("paint", "Paints", {}, annotations=sdk.ToolAnnotations(readOnlyHint=True))
    async def paint(_):
        return {"content": [{"type": "text", "text": "see"}, {"type": "image", "data": pixel, "mimeType": "image/png"}]}

    @sdk.tool("breaks", "Breaks", {})
    async def breaks(_):
        raise ValueError("broken tool")

    @sdk.tool("huge", "Says much", {})
    async def huge(_):
        return {"content": [{"type": "text", "text": "z" * 2_000_000}]}

    server = sdk.create_sdk_mcp_server("kinds", tools=[paint, breaks, huge])
    more = {"mcp_servers": {"kinds": server}, "allowed_tools": ["mcp__kinds"]}
    async with ClaudeSDKClient(options(**more)) as client:
        messages = await turn(client, do({"tool": "mcp__kinds__paint", "input": {}}))
        (block,) = blocks(messages, ToolResultBlock)
        equal([one["type"] for one in block.content], ["text", "image"])
        messages = await turn(client, do({"tool": "mcp__kinds__breaks", "input": {}}))
        equal(blocks(messages, ToolResultBlock)[0].is_error, True)
        has(result(messages).result, "broken tool")
        messages = await turn(client, do({"tool": "mcp__kinds__huge", "input": {}}))
        equal(result(messages).is_error, False)
        asked = do({"tool": "mcp__kinds__nothing", "input": {}})
        equal(blocks(await turn(client, asked), ToolResultBlock)[0].is_error, True)


async def several_tools_at_once():
    both = asyncio.Barrier(2)

    @sdk.tool("meet", "Waits for another", {"n": int}, annotations=sdk.ToolAnnotations(readOnlyHint=True))
    async def meet(args):
        await both.wait()
        return {"content": [{"type": "text", "text": f"met {args['n']}"}]}

    server = sdk.create_sdk_mcp_server("m", tools=[meet])
    order = do({"tool": "mcp__m__meet", "input": {"n": 1}}, {"tool": "mcp__m__meet", "input": {"n": 2}})
    messages = await ask(order, mcp_servers={"m": server}, allowed_tools=["mcp__m__meet"])
    has(result(messages).result, "met 1 | met 2")


async def what_is_forbidden():
    called = []

    @sdk.tool("echo", "Echoes", {"text": str})
    async def echo_(args):
        called.append("echo")
        return {"content": [{"type": "text", "text": args["text"]}]}

    @sdk.tool("greet", "Greets", {"name": str})
    async def greet(args):
        called.append("greet")
        return {"content": [{"type": "text", "text": "Hello"}]}

    server = sdk.create_sdk_mcp_server("t", tools=[echo_, greet])
    more = {"disallowed_tools": ["mcp__t__echo"], "allowed_tools": ["mcp__t__greet"]}
    order = do({"tool": "mcp__t__greet", "input": {"name": "A"}}, {"tool": "mcp__t__echo", "input": {"text": "x"}})
    messages = await ask(order, mcp_servers={"t": server}, **more)
    equal(called, ["greet"])
    lacks(init(messages)["tools"], "mcp__t__echo")


async def interrupting_a_tool():
    began = asyncio.Event()

    @sdk.tool("hang", "Never ends", {})
    async def hang(_):
        began.set()
        await asyncio.sleep(3600)

    server = sdk.create_sdk_mcp_server("h", tools=[hang])
    more = {"mcp_servers": {"h": server}, "allowed_tools": ["mcp__h__hang"]}
    async with ClaudeSDKClient(options(**more)) as client:
        await client.query(do({"tool": "mcp__h__hang", "input": {}}))
        await began.wait()
        await client.interrupt()
        equal(result([one async for one in client.receive_response()]).terminal_reason, "aborted_tools")
        equal(result(await turn(client, "on")).result, "You said: on")


main(
    tools_of_the_program,
    a_tool_that_decides,
    servers_of_others,
    servers_over_http,
    only_these,
    servers_that_fail,
    results_of_all_kinds,
    several_tools_at_once,
    what_is_forbidden,
    interrupting_a_tool,
    how_servers_are_configured,
    switched_off_and_on,
    others_are_not_even_named,
)
