# Usage: fake_model.py
# A model on 127.0.0.1 that answers at once from a script, for measuring the programs that ask it. It speaks the
# Messages API (posse, Claude Code, opencode) and the Responses API (Codex), and is a process of its own so that its
# work is not counted as theirs. One JSON object per line: commands on standard input, events on standard output. It
# ends when standard input does, so that it cannot outlive whoever started it.
#
#   {"plan": {"calls": [[TOOL, INPUT, MARK]...], "hold": BOOL}}   what to answer from now on: one call per reply, then
#                         a text. MARK must be in the tool's result. With hold, the first request gets no answer.
#                         With "waves": [N...] and "background": BOOL, the main conversation starts so many agents in
#                         each reply, and CALLS are what each agent does. An agent's requests say whose they are.
#   {"report": true}      asks for {"requests": N, "first_bytes": N, "gaps": [SECONDS...], "problem": TEXT or null,
#                         "ended": N agents, "starts": [SECONDS from the call to an agent's first request...]}
#   {"port": N}           the first event
#   {"request": N}        the first request of the plan has arrived, N bytes of body
import json
import socket
import sys
import threading
import time

# A program in a loop is stopped here and not by the clock; each agent that is asked for may ask as often again.
MAX_REQUESTS = 200
PER_AGENT = 10
MAX_BODY = 64 << 20
CALL = "toolu_fake%02d"


class Plan:
    """One script and what became of it."""

    def __init__(self, calls, hold, waves=(), background=False):
        self.calls, self.hold = calls, hold
        self.waves, self.background = waves, background
        self.most = MAX_REQUESTS + PER_AGENT * sum(waves)
        self.agents, self.ended, self.starts = {}, 0, []
        self.lock = threading.Lock()
        self.requests = self.first_bytes = self.others = 0
        self.gaps = []
        self.sent = self.sent_last = None
        self.problem = None

    def arrived(self, at, size):
        """Notes a request of the conversation; true for the first."""
        with self.lock:
            self.requests += 1
            if self.sent is not None:
                self.gaps.append(at - self.sent)
                self.sent = None
            if self.requests == 1:
                self.first_bytes = size
            return self.requests == 1

    def too_many(self):
        with self.lock:
            self.others += 1
            return self.others > self.most

    def complain(self, problem):
        self.problem = self.problem or problem

    def agent_arrived(self, agent, at):
        """Notes a request of an agent."""
        with self.lock:
            self.requests += 1
            if agent not in self.agents:
                self.agents[agent] = 0
                if self.sent_last is not None:
                    self.starts.append(at - self.sent_last)
            self.agents[agent] += 1

    def agent_calls(self, results):
        """What an agent does after these results; nothing is its end."""
        call = self.next_call(results)
        if call is None:
            with self.lock:
                self.ended += 1
        return [call] if call else []

    def wave(self, results):
        """The agents that follow these results, or nothing."""
        done, due = len(results), 0
        for count in self.waves:
            if due == done:
                how = {"description": "Read notes", "prompt": "Read the notes.", "subagent_type": "general-purpose"}
                how["run_in_background"] = self.background
                return [(CALL % (done + number), "Agent", how) for number in range(count)]
            due += count
        return []

    def next_call(self, results):
        """The call that follows these results, or nothing."""
        for (tool, _, mark), result in zip(self.calls, results):
            if mark not in result:
                self.complain(f"{tool} gave `{result[:300]}` and not `{mark}`")
        done = len(results)
        return (CALL % done, *self.calls[done][:2]) if done < len(self.calls) else None


plan = Plan([], False)


def say(event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def text_of(content):
    """What a tool result says, whichever of the shapes it has."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part.get("text", "") for part in parts if isinstance(part, dict))


class Messages:
    """Anthropic's Messages API."""

    def results(body):
        blocks = [b for m in body.get("messages", []) if isinstance(m.get("content"), list) for b in m["content"]]
        return [text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]

    def message(body, calls):
        content = [{"type": "tool_use", "id": id, "name": name, "input": input} for id, name, input in calls]
        content = content or [{"type": "text", "text": "Done."}]
        return {
            "id": "msg_fake",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "fake"),
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }

    def events(body, calls):
        message = Messages.message(body, calls)
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        start = {**message, "content": [], "stop_reason": None}
        yield {"type": "message_start", "message": start}
        for index, block in enumerate(message["content"]):
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block.get("text")}
            if calls:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}}
        yield {"type": "message_stop"}


class Responses:
    """OpenAI's Responses API."""

    def results(body):
        items = body.get("input", [])
        return [text_of(item.get("output")) for item in items if item.get("type") == "function_call_output"]

    def message(body, calls):
        words = [{"type": "output_text", "text": "Done.", "annotations": []}]
        item = {"type": "message", "id": "msg_fake", "role": "assistant", "status": "completed", "content": words}
        for id, name, input in calls:
            arguments = {"call_id": id, "name": name, "arguments": json.dumps(input)}
            item = {"type": "function_call", "id": "fc_" + id, "status": "completed", **arguments}
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        whole = {"id": "resp_fake", "object": "response", "status": "completed", "output": [item], "usage": usage}
        return {**whole, "model": body.get("model", "fake"), "created_at": 0}

    def events(body, calls):
        whole = Responses.message(body, calls)
        [item] = whole["output"]
        started = {**whole, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": started}
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
        if not calls:
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            yield {"type": "response.output_text.delta", "delta": "Done.", **place}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": whole}


def http(kind, body, status="200 OK"):
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def as_json(value, status="200 OK"):
    return http("application/json", json.dumps(value).encode(), status)


def as_stream(events):
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text)


def answer(method, path, raw, at, agent):
    """The whole reply, and whether it belongs to the conversation; None stands for no reply at all."""
    now = plan
    if now.too_many():
        now.complain(f"more than {now.most} requests")
        return as_json({"type": "error", "error": {"type": "invalid_request_error", "message": "enough"}},
                       "400 Bad Request"), False
    if method != "POST":
        return as_json({"data": [], "models": []}), False
    if path.endswith("/count_tokens"):
        return as_json({"input_tokens": 100}), False
    api = Messages if path.endswith("/messages") else Responses if path.endswith("/responses") else None
    if api is None:
        return as_json({}), False
    body = json.loads(raw)
    # Titles, summaries and the like are asked for without tools; they are answered and not measured.
    main = bool(body.get("tools")) and not agent
    calls = []
    if main:
        if now.arrived(at, len(raw)):
            say({"request": len(raw)})
        if now.hold:
            return None, True
        results = api.results(body)
        calls = now.wave(results) if now.waves else [call for call in [now.next_call(results)] if call]
    elif agent:
        now.agent_arrived(agent, at)
        calls = now.agent_calls(api.results(body))
    reply = as_stream(api.events(body, calls)) if body.get("stream") else as_json(api.message(body, calls))
    return reply, main


class Connection(threading.Thread):
    def __init__(self, peer):
        super().__init__(daemon=True)
        self.peer, self.buffer = peer, b""

    def more(self):
        data = self.peer.recv(1 << 18)
        if not data or len(self.buffer) > MAX_BODY:
            raise ConnectionError
        self.buffer += data

    def until(self, mark):
        while mark not in self.buffer:
            self.more()
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def exactly(self, size):
        while len(self.buffer) < size:
            self.more()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def body(self, headers):
        if headers.get("expect", "").lower() == "100-continue":
            self.peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.exactly(int(headers.get("content-length", 0)))
        data = b""
        while size := int(self.until(b"\r\n").split(b";")[0], 16):
            data += self.exactly(size)
            self.until(b"\r\n")
        self.until(b"\r\n")
        return data

    def one(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = self.body(headers)
        at = time.perf_counter()
        now = plan
        reply, main = answer(method, path.partition("?")[0], body, at, headers.get("x-claude-code-agent-id"))
        if reply is None:
            return
        if method == "HEAD":
            reply = reply.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        # Before and not after: on another connection the next request could be here before we are back.
        if main:
            now.sent = now.sent_last = time.perf_counter()
        self.peer.sendall(reply)

    def run(self):
        try:
            self.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                self.one()
        except OSError:
            pass
        except Exception as problem:
            plan.complain(f"a request could not be understood: {problem!r}")
        finally:
            self.peer.close()


def accept(listener):
    while True:
        Connection(listener.accept()[0]).start()


def main():
    global plan
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    threading.Thread(target=accept, args=[listener], daemon=True).start()
    say({"port": listener.getsockname()[1]})
    for line in sys.stdin:
        command = json.loads(line)
        if "plan" in command:
            plan = Plan(**command["plan"])
            say({"ready": True})
        else:
            now = plan
            told = {"requests": now.requests, "first_bytes": now.first_bytes, "gaps": now.gaps, "problem": now.problem}
            say({**told, "ended": now.ended, "starts": now.starts})


main()
