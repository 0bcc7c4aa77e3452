"""Drives the fake Chat Completions endpoint with the official client: if it understands the fake, posse talks to the real protocol."""
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="k", max_retries=0)
ASK = dict(model="gpt-x", messages=[{"role": "user", "content": "hi"}], stream=True,
           stream_options={"include_usage": True})

text, calls, usage, finish = "", {}, None, None
for chunk in client.chat.completions.create(**ASK):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        finish = choice.finish_reason or finish
        text += choice.delta.content or ""
        for part in choice.delta.tool_calls or []:
            call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
            call["id"] += part.id or ""
            call["name"] += part.function.name or ""
            call["arguments"] += part.function.arguments or ""
calls = [{**call, "arguments": json.loads(call["arguments"])} for _, call in sorted(calls.items())]
print(json.dumps({"text": text, "calls": calls, "finish": finish, "prompt_tokens": usage.prompt_tokens}))

try:
    client.chat.completions.create(**ASK)
except openai.RateLimitError as error:
    print(json.dumps({"status": error.status_code, "code": error.code}))
