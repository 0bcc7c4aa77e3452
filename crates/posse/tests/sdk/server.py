"""A server of tools over standard input and output, for programs that configure one: `server.py [WORD]`.

It offers `greet`, which answers with the word and whatever is in the variable GREETING, `slow`, which never answers, and
one resource.
"""

import json
import os
import sys

WORD = sys.argv[1] if len(sys.argv) > 1 else "hello"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
TOOLS = [
    {"name": "greet", "description": "Greets", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    {"name": "slow", "description": "Never answers", "inputSchema": SCHEMA},
]


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "greeter", "version": "1.2.3"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        name = params.get("arguments", {}).get("name", "nobody")
        text = " ".join(filter(None, [WORD, name, os.environ.get("GREETING")]))
        return {"content": [{"type": "text", "text": text}]}
    if method == "resources/list":
        return {"resources": [{"uri": "ui://page", "name": "page"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "mimeType": "text/html", "text": "<p>page</p>"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or message.get("params", {}).get("name") == "slow":
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params", {}))}
    print(json.dumps(reply), flush=True)
