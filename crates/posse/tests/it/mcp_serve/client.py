"""Drives `posse mcp serve` with the official client: if it understands posse, so does what is built on it."""
import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client, types

posse, scene, *flags = sys.argv[1:]


def show(**told):
    print(json.dumps(told), flush=True)


async def asked(context, params):
    show(asked=params.message)
    allow = scene != "refuse"
    return types.ElicitResult(action="accept", content={"allow": allow})


def said(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


async def main():
    server = StdioServerParameters(command=posse, args=["mcp", "serve", *flags], env=dict(os.environ))
    async with stdio_client(server) as (reading, writing):
        async with ClientSession(reading, writing, elicitation_callback=asked) as session:
            greeting = await session.initialize()
            show(server=greeting.server_info.name)
            await globals()[scene](session)


async def tools(session):
    listed = (await session.list_tools()).tools
    show(tools=[tool.name for tool in listed])
    read = await session.call_tool("Read", {"file_path": "a.txt"})
    show(read=said(read), failed=read.is_error)
    try:
        await session.call_tool("Fly", {})
    except Exception as error:
        show(code=error.error.code)


async def agent(session):
    heard = []

    async def progress(done, total, message):
        heard.append(message)

    result = await session.call_tool("agent_worker", {"prompt": "go"}, progress_callback=progress)
    show(report=result.structured_content["report"], heard=heard)


async def permit(session):
    result = await session.call_tool("Write", {"file_path": "new.txt", "content": "x"})
    show(failed=result.is_error)


refuse = permit


async def cancel(session):
    begun = asyncio.Event()

    async def progress(done, total, message):
        if "Bash" in message:
            begun.set()

    call = asyncio.create_task(session.call_tool("agent_worker", {"prompt": "go"}, progress_callback=progress))
    await begun.wait()
    # The pipe opens when the agent's command holds it, and ends when nobody does any more.
    with await asyncio.to_thread(open, "lifeline", "rb") as lifeline:
        call.cancel()
        rest = await asyncio.to_thread(lifeline.read)
    listed = (await session.list_tools()).tools
    show(rest=rest.decode(), alive=len(listed) > 0)


asyncio.run(main())
