"""Everything the SDK offers that posse has a part in, one line of JSON per kind: what `coverage.txt` must speak of."""

import dataclasses
import inspect
import json
import typing

import claude_agent_sdk as sdk

CLIENT = [name for name, _ in inspect.getmembers(sdk.ClaudeSDKClient, inspect.isfunction) if not name.startswith("_")]
KINDS = {
    "options": [field.name for field in dataclasses.fields(sdk.ClaudeAgentOptions)],
    "agents": [field.name for field in dataclasses.fields(sdk.AgentDefinition)],
    "client": CLIENT,
    "events": sorted(set(name for one in typing.get_args(sdk.types.HookEvent) for name in typing.get_args(one))),
    "messages": [one.__name__ for one in (*typing.get_args(sdk.Message), *typing.get_args(sdk.ContentBlock))],
    "functions": [name for name in sdk.__all__ if name.islower() and inspect.isfunction(getattr(sdk, name))],
}
for kind, names in KINDS.items():
    assert names, kind
    print(json.dumps({"kind": kind, "names": names}))
