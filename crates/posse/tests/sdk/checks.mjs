// Checks of posse with the Claude Agent SDK for TypeScript: `checks.mjs GROUP`. One line of JSON per check.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const from = createRequire(path.join(process.env.POSSE_TEST_SDK, "package.json"));
const load = (name) => import(pathToFileURL(from.resolve(name)).href);
const sdk = await load("@anthropic-ai/claude-agent-sdk");
const { z } = await load("zod");

const give = (...orders) => `do: ${JSON.stringify(orders)}`;
const complaints = [];

function options(more = {}) {
  const stderr = (text) => complaints.push(text);
  return { pathToClaudeCodeExecutable: process.env.POSSE, cwd: process.cwd(), stderr, ...more };
}

async function ask(prompt, more) {
  const messages = [];
  try {
    for await (const message of sdk.query({ prompt, options: options(more) })) messages.push(message);
  } catch (error) {
    if (!messages.some((message) => message.type === "result" && message.is_error)) throw error;
  }
  return messages;
}

const results = (messages) => messages.filter((message) => message.type === "result");
const system = (messages, subtype) =>
  messages.filter((message) => message.type === "system" && message.subtype === subtype);
const blocks = (messages, type) =>
  messages
    .filter((message) => message.type === "assistant" || message.type === "user")
    .flatMap((message) => (Array.isArray(message.message.content) ? message.message.content : []))
    .filter((block) => block.type === type);

function result(messages) {
  const all = results(messages);
  assert.equal(all.length, 1);
  return all[0];
}

const echo = async (pointer, more) => JSON.parse(result(await ask(give({ echo: pointer }), more)).result);

/** Prompts that are said one after the other, as answers come. */
function line() {
  const waiting = [];
  let wake = () => {};
  const put = (content, more = {}) => {
    waiting.push({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, ...more });
    wake();
  };
  let over = false;
  async function* prompts() {
    for (;;) {
      while (waiting.length) yield waiting.shift();
      if (over) return;
      await new Promise((resolve) => (wake = resolve));
    }
  }
  const end = () => {
    over = true;
    wake();
  };
  return { put, end, prompts: prompts() };
}

async function conversation(more, talk) {
  const said = line();
  const query = sdk.query({ prompt: said.prompts, options: options(more) });
  const turn = async (content, during = async () => {}, extra = {}) => {
    said.put(content, extra);
    const messages = [];
    for (;;) {
      const { value, done } = await query.next();
      assert.ok(!done, "the session ended");
      messages.push(value);
      await during(value);
      if (value.type === "result") return messages;
    }
  };
  await talk(query, turn);
  said.end();
  try {
    for await (const _ of query);
  } catch (error) {
    assert.match(String(error), /error result/);
  }
}

const WRITE = (file, content = "") => ({ tool: "Write", input: { file_path: file, content } });

const checks = {
  queries: {
    async "a plain question"() {
      const messages = await ask("hello");
      const [init] = system(messages, "init");
      assert.ok(init.tools.includes("Task") && init.uuid && init.claude_code_version);
      const end = result(messages);
      assert.deepEqual([end.subtype, end.result, end.num_turns], ["success", "You said: hello", 1]);
      assert.equal(end.session_id, init.session_id);
      assert.ok(messages.filter((one) => one.type === "assistant").every((one) => one.parent_tool_use_id === null));
      assert.deepEqual(complaints, []);
    },
    async prompts() {
      assert.equal(await echo("/system"), null);
      const text = JSON.stringify(await echo("/system", { systemPrompt: "Be brief." }));
      assert.match(text, /Be brief\./);
      const preset = { type: "preset", preset: "claude_code", append: "And kind." };
      assert.match(JSON.stringify(await echo("/system", { systemPrompt: preset })), /And kind\./);
    },
    async tools() {
      const names = async (more) => ((await echo("/tools", more)) ?? []).map((tool) => tool.name).sort();
      assert.deepEqual(await names({ tools: [] }), []);
      assert.deepEqual(await names({ tools: ["Read", "Bash"] }), ["Bash", "Read"]);
      assert.ok(!(await names({ disallowedTools: ["Bash"] })).includes("Bash"));
      const denied = result(await ask(give(WRITE("a.txt"))));
      assert.deepEqual(denied.permission_denials.map((one) => one.tool_name), ["Write"]);
      await ask(give(WRITE("a.txt", "made")), { allowedTools: ["Write"] });
      assert.equal(fs.readFileSync("a.txt", "utf8"), "made");
      await ask(give(WRITE("b.txt", "made")), { settings: { permissions: { allow: ["Write"] } } });
      await ask(give(WRITE("c.txt", "made")), { permissionMode: "acceptEdits" });
      assert.ok(fs.existsSync("b.txt") && fs.existsSync("c.txt"));
    },
    async limits() {
      const turns = result(await ask(give({ tool: "Bash", input: { command: "echo" } }), { maxTurns: 1 }));
      assert.deepEqual([turns.subtype, turns.errors.length], ["error_max_turns", 1]);
      const budget = { maxBudgetUsd: 0.0000001, model: "claude-sonnet-4-5" };
      assert.equal(result(await ask("hello", budget)).subtype, "error_max_budget_usd");
    },
    async "the provider"() {
      assert.equal(await echo("/model", { model: "claude-opus-4-1" }), "claude-opus-4-1");
      assert.equal(await echo("/output_config/effort", { effort: "low" }), "low");
      const thinking = { type: "enabled", budgetTokens: 2048 };
      assert.equal(await echo("/thinking/budget_tokens", { thinking }), 2048);
      const header = give({ header: "anthropic-beta" });
      const betas = ["context-1m-2025-08-07"];
      assert.match(result(await ask(header, { betas })).result, /context-1m/);
      const many = {
        settingSources: ["user", "project"],
        additionalDirectories: ["."],
        fallbackModel: "haiku",
        strictMcpConfig: true,
        includeHookEvents: true,
        debug: true,
        persistSession: false,
        plugins: [],
        extraArgs: { workload: "x" },
      };
      const end = result(await ask("hello", many));
      assert.equal(end.is_error, false);
    },
  },
  permissions: {
    async allowed() {
      const asked = [];
      const canUseTool = async (tool, input, context) => {
        asked.push([tool, context.toolUseID]);
        return { behavior: "allow", updatedInput: { ...input, content: "changed" } };
      };
      await ask(give(WRITE("asked.txt", "asked")), { canUseTool });
      assert.deepEqual(asked, [["Write", "toolu_0"]]);
      assert.equal(fs.readFileSync("asked.txt", "utf8"), "changed");
    },
    async denied() {
      const canUseTool = async () => ({ behavior: "deny", message: "not today" });
      const end = result(await ask(give(WRITE("never.txt")), { canUseTool }));
      assert.deepEqual([end.result, end.permission_denials.length], ["Result: not today", 1]);
      const interrupt = async () => ({ behavior: "deny", message: "stop", interrupt: true });
      const stopped = result(await ask(give(WRITE("never.txt")), { canUseTool: interrupt }));
      assert.deepEqual([stopped.subtype, stopped.terminal_reason], ["error_during_execution", "aborted_tools"]);
      assert.ok(!fs.existsSync("never.txt"));
    },
    async questions() {
      const choices = [{ label: "Red", description: "" }, { label: "Blue", description: "" }];
      const question = { question: "Which?", header: "Colour", options: choices, multiSelect: false };
      const canUseTool = async (_, input) => ({
        behavior: "allow",
        updatedInput: { ...input, answers: { "Which?": "Blue" } },
      });
      const order = give({ tool: "AskUserQuestion", input: { questions: [question] } });
      assert.match(result(await ask(order, { canUseTool })).result, /Blue/);
    },
  },
  hooks: {
    async "before a tool"() {
      const seen = [];
      const hook = async (input, id) => {
        seen.push([input.tool_name, id]);
        return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny" } };
      };
      const started = [];
      const begins = async (input) => {
        started.push(input.source);
        return {};
      };
      const hooks = {
        PreToolUse: [{ matcher: "Bash", hooks: [hook] }],
        SessionStart: [{ hooks: [begins] }],
      };
      const order = give({ tool: "Bash", input: { command: "touch hooked" } });
      await ask(order, { hooks, allowedTools: ["Bash"] });
      assert.deepEqual([seen, started], [[["Bash", "toolu_0"]], ["startup"]]);
      assert.ok(!fs.existsSync("hooked"));
    },
  },
  control: {
    async supported() {
      await conversation({}, async (query, turn) => {
        const models = await query.supportedModels();
        assert.ok(models.some((model) => model.value === "opus"));
        assert.ok(Array.isArray(await query.supportedCommands()));
        assert.ok((await query.supportedAgents()).some((agent) => agent.name === "Explore"));
        assert.equal((await query.accountInfo()).apiKeySource, "ANTHROPIC_API_KEY");
        assert.deepEqual(await query.mcpServerStatus(), []);
        await turn("hello");
      });
    },
    async turns() {
      await conversation({}, async (_, turn) => {
        assert.equal(result(await turn("one")).result, "You said: one");
        const extra = { uuid: "bbbbbbbb-2222-4333-8444-555555555555" };
        const two = result(await turn("two", undefined, extra));
        assert.deepEqual([two.result, two.user_message_uuids], ["You said: two", [extra.uuid]]);
      });
    },
    async mode() {
      await conversation({}, async (query, turn) => {
        assert.equal(result(await turn(give(WRITE("m.txt")))).permission_denials.length, 1);
        await query.setPermissionMode("acceptEdits");
        assert.equal(result(await turn(give(WRITE("m.txt")))).permission_denials.length, 0);
        await assert.rejects(query.setPermissionMode("nonsense"), /must be one of/);
      });
    },
    async model() {
      await conversation({ model: "claude-sonnet-4-5" }, async (query, turn) => {
        await query.setModel("claude-opus-4-1");
        assert.equal(result(await turn(give({ echo: "/model" }))).result, '"claude-opus-4-1"');
        await query.setModel();
        assert.equal(result(await turn(give({ echo: "/model" }))).result, '"claude-sonnet-4-5"');
        await query.setMaxThinkingTokens(3000);
        assert.equal(result(await turn(give({ echo: "/thinking/budget_tokens" }))).result, "3000");
      });
    },
    async interrupt() {
      await conversation({ allowedTools: ["Bash"] }, async (query, turn) => {
        const slow = give({ tool: "Bash", input: { command: "touch began; sleep 60" } });
        const stop = async (message) => {
          if (message.type !== "assistant") return;
          while (!fs.existsSync("began")) await new Promise((resolve) => setTimeout(resolve, 10));
          await query.interrupt();
        };
        assert.equal(result(await turn(slow, stop)).terminal_reason, "aborted_tools");
        assert.equal(result(await turn("still there")).result, "You said: still there");
      });
    },
    async unsupported() {
      await conversation({}, async (query, turn) => {
        await turn("hello");
        await assert.rejects(query.reconnectMcpServer("x"), /Server not found: x/);
        const context = await query.getContextUsage();
        assert.equal(context.totalTokens, 15);
        assert.deepEqual((await query.setMcpServers({})).added, []);
        await query.stopTask("nobody");
      });
    },
    async rewound() {
      fs.writeFileSync("kept.txt", "before");
      const more = { enableFileCheckpointing: true, permissionMode: "acceptEdits" };
      await conversation(more, async (query, turn) => {
        const uuid = "cccccccc-2222-4333-8444-555555555555";
        await turn(give({ tool: "Read", input: { file_path: "kept.txt" } }));
        await turn(give(WRITE("kept.txt", "after")), undefined, { uuid });
        assert.equal(fs.readFileSync("kept.txt", "utf8"), "after");
        const trial = await query.rewindFiles(uuid, { dryRun: true });
        assert.deepEqual([trial.canRewind, trial.insertions, trial.deletions], [true, 1, 1]);
        await query.rewindFiles(uuid);
        assert.equal(fs.readFileSync("kept.txt", "utf8"), "before");
      });
    },
  },
  servers: {
    async "tools of the program"() {
      const add = sdk.tool("add", "Adds", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
        content: [{ type: "text", text: String(a + b) }],
      }));
      const sums = sdk.createSdkMcpServer({ name: "sums", version: "1.0.0", tools: [add] });
      const order = give({ tool: "mcp__sums__add", input: { a: 2, b: 3 } });
      const messages = await ask(order, { mcpServers: { sums }, allowedTools: ["mcp__sums__add"] });
      assert.equal(result(messages).result, "Result: 5");
      const [init] = system(messages, "init");
      assert.deepEqual(init.mcp_servers.map((one) => [one.name, one.status]), [["sums", "connected"]]);
    },
  },
  agents: {
    async "in the foreground"() {
      const agents = { helper: { description: "Helps", prompt: "You help.", tools: ["Bash"] } };
      const inner = give({ tool: "Bash", input: { command: "echo from the helper" } });
      const input = { description: "help", prompt: inner, subagent_type: "helper" };
      const more = { agents, allowedTools: ["Bash", "Agent"] };
      const messages = await ask(give({ tool: "Agent", input, id: "toolu_agent" }), more);
      assert.equal(system(messages, "task_started").length, 1);
      assert.match(result(messages).result, /from the helper/);
      const inside = messages.filter((one) => one.parent_tool_use_id === "toolu_agent");
      assert.deepEqual(blocks(inside, "tool_use").map((block) => block.name), ["Bash"]);
      const main = await ask(give({ echo: "/system" }), { agents, agent: "helper" });
      assert.match(result(main).result, /You help\./);
    },
  },
  shapes: {
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
  },
};

for (const [name, check] of Object.entries(checks[process.argv[2]])) {
  const line = { check: name, ok: true };
  let timer;
  try {
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("too late")), 60000)));
    await Promise.race([check(), late]);
  } catch (error) {
    Object.assign(line, { ok: false, why: error.stack, complaints });
  }
  clearTimeout(timer);
  console.log(JSON.stringify(line));
}
process.exit(0);
