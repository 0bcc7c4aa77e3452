// The messages of a session.

import assert from "node:assert/strict";

import {
  sdk, give, options, ask, system, blocks, result, whole, init, bash, put, line, conversation, WRITE, main,
} from "./common.mjs";

const ids = (message) => assert.ok(message.uuid && message.session_id, JSON.stringify(message));

await main({
  async partial() {
    const messages = await ask(give({ text: "in several pieces" }), { includePartialMessages: true });
    const events = messages.filter((one) => one.type === "stream_event").map((one) => one.event.type);
    assert.deepEqual([events[0], events.at(-1)], ["message_start", "message_stop"]);
  },
  async structured() {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const outputFormat = { type: "json_schema", schema };
    const order = give({ tool: "StructuredOutput", input: { n: 7 } });
    assert.deepEqual(result(await ask(order, { outputFormat })).structured_output, { n: 7 });
  },
  async sessions() {
    const first = result(await ask("remember this")).session_id;
    assert.equal(result(await ask("more", { resume: first })).session_id, first);
    assert.notEqual(result(await ask("more", { resume: first, forkSession: true })).session_id, first);
    const listed = await sdk.listSessions({ dir: process.cwd() });
    assert.ok(listed.some((session) => session.sessionId === first));
    const messages = await sdk.getSessionMessages(first, { dir: process.cwd() });
    assert.deepEqual(messages.map((message) => message.type), ["user", "assistant", "user", "assistant"]);
    const unknown = options({ resume: "99999999-2222-4333-8444-555555555555" });
    const refused = async () => {
      for await (const _ of sdk.query({ prompt: "hi", options: unknown }));
    };
    await assert.rejects(refused(), /No conversation found/);
  },
  async "every message has its name"() {
    const messages = await ask(give({ thinking: "hm" }, { text: "so" }, bash("echo hi")), { includePartialMessages: true });
    messages.forEach(ids);
    const types = new Set(messages.map((one) => one.type));
    for (const type of ["system", "assistant", "user", "stream_event", "result"]) assert.ok(types.has(type), type);
    for (const one of messages.filter((one) => ["assistant", "user", "stream_event"].includes(one.type)))
      assert.equal(one.parent_tool_use_id, null);
    const first = init(messages);
    const names = ["cwd", "tools", "mcp_servers", "model", "permissionMode", "slash_commands", "apiKeySource", "skills"];
    for (const name of [...names, "claude_code_version", "output_style", "agents", "plugins"]) assert.ok(name in first, name);
  },
  async ends() {
    const end = result(await ask("hello", { model: "claude-sonnet-4-5" }));
    const names = ["duration_ms", "duration_api_ms", "num_turns", "stop_reason", "total_cost_usd", "usage", "modelUsage"];
    for (const name of [...names, "permission_denials"]) assert.ok(name in end, name);
    const [usage] = Object.values(end.modelUsage);
    assert.ok(Math.abs(usage.costUSD - end.total_cost_usd) < 0.0001);
  },
  async "thoughts in pieces"() {
    const order = give({ thinking: "two and two are four, as everybody knows" }, { text: "4" });
    const events = (await ask(order, { includePartialMessages: true })).filter((one) => one.type === "stream_event");
    const deltas = events.map((one) => one.event.delta).filter((one) => one?.type === "thinking_delta");
    assert.ok(deltas.length > 1);
    assert.equal(deltas.map((one) => one.thinking).join(""), "two and two are four, as everybody knows");
    assert.ok(!(await ask("hi")).some((one) => one.type === "stream_event"));
  },
  async "what does not fit"() {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const outputFormat = { type: "json_schema", schema };
    const messages = await ask(give({ tool: "StructuredOutput", input: { n: "x" } }), { outputFormat, maxTurns: 3 });
    assert.equal(blocks(messages, "tool_result")[0].is_error, true);
    assert.equal(result(messages).structured_output, undefined);
  },
  async "as it is written"() {
    put(".claude/commands/shout.md", "Shout $ARGUMENTS.\n");
    assert.match(result(await ask("/shout hey")).result, /Shout hey\./);
    assert.equal(result(await ask("/shout hey", { verbatimPrompts: true })).result, "You said: /shout hey");
  },
  async "shown again"() {
    const more = { extraArgs: { "replay-user-messages": null } };
    await conversation(more, async (_, turn) => {
      const uuid = "eeeeeeee-2222-4333-8444-555555555555";
      const messages = await turn("named", undefined, { uuid });
      const [again] = messages.filter((one) => one.type === "user" && one.isReplay);
      assert.deepEqual([again.uuid, again.message.content], [uuid, "named"]);
    });
  },
  async "a new conversation"() {
    await conversation({}, async (_, turn) => {
      const old = result(await turn("hello")).session_id;
      const messages = await turn("/clear");
      const [reset] = messages.filter((one) => one.type === "conversation_reset");
      assert.deepEqual([reset.session_id, reset.new_conversation_id], [old, result(messages).session_id]);
    });
  },
  async summaries() {
    await conversation({}, async (_, turn) => {
      await turn("a long story");
      const messages = await turn("/compact");
      const states = system(messages, "status").map((one) => one.status);
      assert.ok(states.includes("compacting"), states);
      assert.equal(system(messages, "compact_boundary")[0].compact_metadata.trigger, "manual");
    });
  },
  async tasks() {
    const agents = { one: { description: "One", prompt: "You are one.", tools: ["Bash"] } };
    const input = { description: "help", prompt: give(bash("echo hi")), subagent_type: "one", run_in_background: false };
    const messages = await ask(give({ tool: "Agent", input }), { agents, allowedTools: ["Agent", "Bash"] });
    const [started] = system(messages, "task_started");
    assert.equal(started.task_type, "local_agent");
    assert.ok(system(messages, "task_progress")[0].usage.total_tokens >= 0);
    assert.equal(system(messages, "task_updated").at(-1).patch.status, "completed");
    const [ended] = system(messages, "task_notification");
    assert.ok(ended.task_id === started.task_id && "output_file" in ended && "summary" in ended);
  },
  async "tries and denials"() {
    const env = { ...process.env, CLAUDE_CODE_MAX_RETRIES: "1" };
    const [retry] = system(await ask(give({ fail: 529 }), { env }), "api_retry");
    assert.deepEqual([retry.attempt, retry.max_retries, retry.error_status], [1, 1, 529]);
    const [denied] = system(await ask(give(WRITE("no.txt"))), "permission_denied");
    assert.deepEqual([denied.tool_name, denied.tool_use_id], ["Write", "toolu_0"]);
  },
  async states() {
    const told = { ...process.env, CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1", CLAUDE_CODE_SDK_READS_SESSION_STATE: "0" };
    const states = (messages) => system(messages, "session_state_changed").map((one) => one.state);
    assert.deepEqual(states(await ask("hi", { env: told })), ["running", "idle"]);
    assert.deepEqual(states(await ask("hi")), []);
  },
  async "files in a prompt"() {
    const file = put("mentioned.txt", "The marker is MARKER-17.");
    assert.match(await whole("/messages", {}, `See @${file} `), /MARKER-17/);
    assert.doesNotMatch(await whole("/messages", { verbatimPrompts: true }, `See @${file} `), /MARKER-17/);
  },
}, {
  async "what could be asked next"() {
    const said = line();
    const query = sdk.query({ prompt: said.prompts, options: options({ promptSuggestions: true }) });
    said.put("hello");
    const types = [];
    for await (const message of query) {
      types.push(message.type);
      if (message.type === "result") said.end();
    }
    assert.ok(types.includes("prompt_suggestion"), types);
  },
  async "previews of questions"() {
    const canUseTool = async (_, input) => ({ behavior: "allow", updatedInput: input });
    const toolConfig = { askUserQuestion: { previewFormat: "html" } };
    assert.match(await whole("/tools", { canUseTool, toolConfig }), /preview/);
  },
});
