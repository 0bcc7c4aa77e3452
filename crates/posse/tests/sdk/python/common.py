"""What the checks with the Claude Agent SDK for Python share: how posse is asked, and how answers are looked at.

Every program beside this one checks one area and prints one line of JSON per check.
"""

import asyncio
import json
import os
import sys
import traceback

import claude_agent_sdk as sdk
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    ResultMessage,
    SystemMessage,
    UserMessage,
)

CWD = os.getcwd()
COMPLAINTS = []


def do(*orders):
    """A prompt that the model of the tests carries out."""
    return "do: " + json.dumps(orders)


def bash(command):
    return {"tool": "Bash", "input": {"command": command}}


def write(path, content=""):
    return {"tool": "Write", "input": {"file_path": path, "content": content}}


def options(**more):
    given = {"cli_path": os.environ["POSSE"], "cwd": CWD, "stderr": COMPLAINTS.append, **more}
    return ClaudeAgentOptions(**given)


async def ask(prompt, **more):
    """Every message of one question; an error result does not raise."""
    messages = []
    try:
        async for message in sdk.query(prompt=prompt, options=options(**more)):
            messages.append(message)
    except sdk.ResultError:
        pass
    return messages


async def said(prompt, **fields):
    """A prompt as programs give it that say several."""
    message = {"role": "user", "content": prompt}
    yield {"type": "user", "message": message, "parent_tool_use_id": None, **fields}


async def nothing():
    return
    yield


async def turn(client, prompt):
    await client.query(prompt)
    return [message async for message in client.receive_response()]


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


def init(messages):
    return system(messages, "init")[0]


async def echo(pointer, **more):
    """A part of the request that the model gets."""
    return json.loads(result(await ask(do({"echo": pointer}), **more)).result)


async def whole(pointer="/messages", prompt="", **more):
    """The same as text, for a look whether something is in it."""
    end = result(await ask(prompt + do({"echo": pointer}), **more))
    return end.result


def equal(one, other):
    assert one == other, f"{one!r} != {other!r}"


def has(whole, part):
    assert part in whole, f"{part!r} not in {whole!r}"


def lacks(whole, part):
    assert part not in whole, f"{part!r} in {whole!r}"


async def refusal(prompt="hi", **more):
    """What a start that is refused says."""
    try:
        async for _ in sdk.query(prompt=prompt, options=options(**more)):
            pass
    except sdk.ClaudeSDKError as error:
        return str(error)
    raise AssertionError("the start must be refused")


async def fails(work, part):
    """Something that is answered with an error."""
    try:
        await work
    except Exception as error:
        has(str(error), part)
        return
    raise AssertionError(f"it must fail with {part!r}")


def says(seen, **output):
    """A hook that notes what it is told and always answers the same."""

    async def hook(given, tool_use_id, _):
        seen.append((given, tool_use_id))
        return output

    return hook


def hooked(event, hook, matcher=None, **more):
    return {event: [HookMatcher(matcher=matcher, hooks=[hook], **more)]}


async def with_hooks(prompt, hooks, **more):
    return await ask(said(prompt), hooks=hooks, **more)


def put(path, text):
    """Writes a file below the project."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return os.path.abspath(path)


def trust(folder):
    """What a folder brings along counts only if somebody trusts it."""
    record = {"projects": {os.path.realpath(folder): {"hasTrustDialogAccepted": True}}}
    put(os.environ["CLAUDE_CONFIG_DIR"] + "/.claude.json", json.dumps(record))


def read(path):
    with open(path) as file:
        return file.read()


async def appeared(path):
    """Waits for something that another process writes. Who calls has a limit."""
    while not os.path.exists(path):
        await asyncio.sleep(0.01)


async def run(checks, later):
    for check in checks:
        line = {"check": check.__name__.replace("_", " "), "ok": True}
        try:
            await asyncio.wait_for(check(), 60)
        except BaseException:
            line.update(ok=False, why=traceback.format_exc(), complaints=COMPLAINTS)
        print(json.dumps(line), flush=True)
    for check in later:
        print(f"later: {check.__name__.replace('_', ' ')}", file=sys.stderr)


def main(*checks, later=()):
    """Runs checks. What posse does not do yet stands in `later` and is only named, unless everything is wanted."""
    if os.environ.get("POSSE_TEST_LATER"):
        checks, later = (*checks, *later), ()
    asyncio.run(run(checks, later))
