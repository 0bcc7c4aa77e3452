// Checks of `posse acp` with the official client library of the Agent Client Protocol: `checks.mjs GROUP`. One line of
// JSON per check.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const from = createRequire(path.join(process.env.POSSE_TEST_ACP, "package.json"));
const acp = await import(pathToFileURL(from.resolve("@agentclientprotocol/sdk")).href);
const { agent, client } = acp.methods;

const cwd = process.cwd();
const here = (file) => path.join(cwd, file);
const give = (...orders) => `do: ${JSON.stringify(orders)}`;
const text = (text) => ({ type: "text", text });
const tool = (tool, input, id) => ({ tool, input, ...(id && { id }) });
const bash = (command, id) => tool("Bash", { command }, id);

/** An editor with posse at the other end, for as long as `work` takes. */
async function editor(options, work) {
  const { args = [], capabilities = {}, env = {}, permit = () => assert.fail("nothing to ask"), fill } = options;
  const child = spawn(process.env.POSSE, ["acp", ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let complaints = "";
  child.stderr.on("data", (data) => (complaints += data));
  const exit = new Promise((resolve) => child.on("exit", resolve));
  const told = [];
  const waiting = new Set();
  const asked = [];
  const look = () => [...waiting].forEach((wait) => wait());
  const app = acp
    .client({ name: "checks" })
    .onNotification(client.session.update, ({ params }) => {
      told.push(params);
      look();
    })
    .onRequest(client.session.requestPermission, async (context) => {
      asked.push(context);
      look();
      const answer = await permit(context.params, context);
      if (answer === "cancelled") return { outcome: { outcome: "cancelled" } };
      return { outcome: { outcome: "selected", optionId: answer } };
    });
  if (fill) app.onRequest(client.elicitation.create, ({ params }) => fill(params));
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  const connection = app.connect(stream);
  const ask = (method, params) => connection.agent.request(method, params);
  const hello = await ask(agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: capabilities,
    clientInfo: { name: "checks", version: "1" },
  });
  const e = {
    hello,
    told,
    asked,
    ask,
    notify: (method, params) => connection.agent.notify(method, params),
    complaints: () => complaints,
    /** Waits until something that was told fits. */
    async until(fits) {
      for (;;) {
        const found = told.find(fits) ?? asked.find(fits);
        if (found) return found;
        await new Promise((resolve) => {
          const wait = () => {
            waiting.delete(wait);
            resolve();
          };
          waiting.add(wait);
        });
      }
    },
    open: async (more = {}) => (await ask(agent.session.new, { cwd, mcpServers: [], ...more })).sessionId,
    prompt: (sessionId, ...blocks) =>
      ask(agent.session.prompt, { sessionId, prompt: blocks.map((one) => (typeof one === "string" ? text(one) : one)) }),
    of: (sessionId, kind) =>
      told
        .filter((one) => one.sessionId === sessionId && (!kind || one.update.sessionUpdate === kind))
        .map((one) => one.update),
    said(sessionId, kind = "agent_message_chunk") {
      return this.of(sessionId, kind)
        .map((one) => one.content.text)
        .join("");
    },
    /** A call with everything that was told of it. */
    call(sessionId, id) {
      const all = told
        .filter((one) => one.sessionId === sessionId && one.update.toolCallId === id)
        .map((one) => one.update);
      const states = all.map((one) => one.status).filter(Boolean);
      return Object.assign({}, ...all, { states, first: all[0]?.sessionUpdate });
    },
  };
  try {
    await work(e);
  } catch (error) {
    error.message += `\n${complaints}`;
    throw error;
  } finally {
    child.stdin.end();
    e.code = await exit;
  }
  assert.equal(e.code, 0, complaints);
}

/** Whoever refuses must say so with this code, and with these words. */
async function refused(promise, code, words) {
  const error = await promise.then(
    () => assert.fail("it was not refused"),
    (error) => error,
  );
  assert.equal(error.code, code, `${error.code} ${error.message}`);
  assert.match(error.message, words);
}

const options = (params) => params.options.map((one) => `${one.kind}: ${one.name}`);
const choice = (kind, words = /./) => (params) => {
  const found = params.options.find((one) => one.kind === kind && words.test(one.name));
  assert.ok(found, JSON.stringify(params.options));
  return found.optionId;
};

const SERVER = `
const tools = [{ name: "greet", description: "Greets", inputSchema: { type: "object", properties: { name: { type: "string" } } } }];
function answer({ id, method, params }) {
  if (method === "initialize") return { id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "greeter", version: "1" } } };
  if (method === "tools/list") return { id, result: { tools } };
  if (method === "tools/call") return { id, result: { content: [{ type: "text", text: "Hello " + params.arguments.name + (process.env.MARK ?? "") }] } };
  return { id, error: { code: -32601, message: "no such method" } };
}
`;

const checks = {
  handshake: {
    async "what posse is"() {
      await editor({}, async ({ hello }) => {
        assert.equal(hello.protocolVersion, 1);
        assert.equal(hello.agentInfo.name, "posse");
        assert.match(hello.agentInfo.version, /^\d/);
        const can = hello.agentCapabilities;
        assert.equal(can.loadSession, true);
        assert.deepEqual([can.promptCapabilities.image, can.promptCapabilities.embeddedContext], [true, true]);
        assert.deepEqual([can.mcpCapabilities.http, can.mcpCapabilities.sse], [true, true]);
        for (const one of ["list", "resume", "close", "additionalDirectories"]) assert.ok(can.sessionCapabilities[one]);
        assert.deepEqual(hello.authMethods, []);
      });
    },
    async "a newer editor"() {
      await editor({}, async ({ ask }) => {
        const again = await ask(agent.initialize, { protocolVersion: 7, clientCapabilities: {} });
        assert.equal(again.protocolVersion, 1);
      });
    },
    async "no key"() {
      await editor({}, async (e) => {
        await refused(e.ask(agent.authenticate, { methodId: "x" }), -32602, /ANTHROPIC_API_KEY/);
        const session = await e.open();
        await refused(e.prompt(session, give({ fail: 401 })), -32000, /ANTHROPIC_API_KEY/);
        assert.equal((await e.prompt(session, "still there?")).stopReason, "end_turn");
      });
    },
  },
  sessions: {
    async "a new one"() {
      fs.mkdirSync(here(".claude/commands"), { recursive: true });
      fs.writeFileSync(here(".claude/commands/shout.md"), "---\ndescription: Shouts\nargument-hint: WHAT\n---\nSAY $ARGUMENTS LOUD");
      await editor({}, async (e) => {
        const opened = await e.ask(agent.session.new, { cwd, mcpServers: [] });
        assert.equal(opened.modes.currentModeId, "default");
        assert.deepEqual(
          opened.modes.availableModes.map((one) => one.id),
          ["default", "acceptEdits", "plan", "auto", "dontAsk"],
        );
        assert.deepEqual(
          opened.configOptions.map((one) => [one.id, one.category, one.type]),
          [["mode", "mode", "select"], ["model", "model", "select"]],
        );
        const { update } = await e.until((one) => one.update?.sessionUpdate === "available_commands_update");
        const shout = update.availableCommands.find((one) => one.name === "shout");
        assert.deepEqual([shout.description, shout.input.hint], ["Shouts", "WHAT"]);
        assert.ok(update.availableCommands.some((one) => one.name === "compact"));
        await e.prompt(opened.sessionId, "/shout hello");
        assert.match(e.said(opened.sessionId), /You said: .*SAY hello LOUD/s);
        assert.equal(e.of(opened.sessionId, "session_info_update")[0].title, "/shout hello");
        const [usage] = e.of(opened.sessionId, "usage_update");
        assert.ok(usage.size > usage.used && usage.cost.currency === "USD");
      });
    },
    async "side by side"() {
      fs.mkdirSync(here("other"), { recursive: true });
      await editor({}, async (e) => {
        const one = await e.open();
        const other = await e.open({ cwd: here("other") });
        const slow = e.prompt(one, "stop: there");
        await e.until((told) => told.sessionId === one && told.update?.content?.text === "part of it");
        assert.equal((await e.prompt(other, "hi")).stopReason, "end_turn");
        assert.equal(e.said(other), "You said: hi");
        await refused(e.prompt(one, "me too"), -32600, /being answered/);
        await e.notify(agent.session.cancel, { sessionId: one });
        assert.equal((await slow).stopReason, "cancelled");
        assert.equal((await e.prompt(one, "again")).stopReason, "end_turn");
      });
    },
    async "listed and loaded"() {
      let session;
      await editor({ permit: choice("allow_once") }, async (e) => {
        session = await e.open();
        await e.prompt(session, give({ thinking: "hm" }, { text: "on it" }, tool("Write", { file_path: here("l.txt"), content: "x\n" })));
        await e.prompt(session, "and then?");
        const { sessions } = await e.ask(agent.session.list, { cwd });
        assert.ok(sessions.some((one) => one.sessionId === session && one.cwd === cwd && one.title && one.updatedAt));
        const all = await e.ask(agent.session.list, {});
        assert.ok(all.sessions.some((one) => one.sessionId === session && one.cwd === cwd));
        assert.deepEqual((await e.ask(agent.session.list, { cwd: here("nowhere") })).sessions, []);
        await refused(e.ask(agent.session.list, { cursor: "x" }), -32602, /cursor/);
        await refused(e.ask(agent.session.load, { sessionId: session, cwd, mcpServers: [] }), -32602, /open already/);
        await e.ask(agent.session.close, { sessionId: session });
        await refused(e.prompt(session, "hello?"), -32002, /no open session/);
      });
      await editor({}, async (e) => {
        const loaded = await e.ask(agent.session.load, { sessionId: session, cwd, mcpServers: [] });
        assert.equal(loaded.modes.currentModeId, "default");
        const told = e.of(session).map((one) => one.sessionUpdate);
        assert.equal(told[0], "user_message_chunk");
        assert.match(e.said(session, "user_message_chunk"), /do: .*and then\?$/s);
        assert.equal(e.said(session, "agent_thought_chunk"), "hm");
        assert.match(e.said(session), /on it.*Result: .*You said: and then\?/s);
        const call = e.call(session, "toolu_2");
        assert.deepEqual([call.kind, call.status], ["edit", "completed"]);
        assert.deepEqual(call.content, [{ type: "diff", path: here("l.txt"), newText: "x\n" }]);
        assert.equal((await e.prompt(session, "back")).stopReason, "end_turn");
        assert.match(e.said(session), /You said: back$/);
      });
      await editor({}, async (e) => {
        await e.ask(agent.session.resume, { sessionId: session, cwd, mcpServers: [] });
        assert.deepEqual(e.of(session, "user_message_chunk"), []);
        await e.prompt(session, give({ echo: "/messages/0/content" }));
        assert.match(e.said(session), /on it/);
        await e.ask(agent.session.close, { sessionId: session });
        await e.ask(agent.session.resume, { sessionId: session, cwd, mcpServers: [] });
      });
    },
    async "refused"() {
      await editor({}, async (e) => {
        await refused(e.ask(agent.session.new, { cwd: "relative", mcpServers: [] }), -32602, /cwd/);
        await refused(e.ask(agent.session.new, { cwd: here("missing"), mcpServers: [] }), -32602, /cwd/);
        await refused(e.ask(agent.session.load, { sessionId: "nope", cwd, mcpServers: [] }), -32002, /nope/);
        await refused(e.ask(agent.session.setMode, { sessionId: "nope", modeId: "plan" }), -32002, /nope/);
        await refused(e.ask("session/unheard_of", {}), -32601, /not found/i);
        const session = await e.open();
        await refused(e.prompt(session), -32602, /empty/);
        await refused(e.prompt(session, "  "), -32602, /empty/);
      });
    },
  },
  prompts: {
    async "what is said"() {
      await editor({}, async (e) => {
        const session = await e.open();
        const content = async (...blocks) => {
          const before = e.said(session).length;
          await e.prompt(session, ...blocks, give({ echo: "/messages" }));
          const messages = JSON.parse(e.said(session).slice(before).trim());
          return messages.at(-1).content.filter((one) => !one.text?.startsWith("<system-reminder>"));
        };
        const image = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };
        const [before, picture, after] = await content("look", image);
        assert.deepEqual([before.text, picture.type, picture.source.data], ["look", "image", image.data]);
        assert.match(after.text, /^do: /);
        const link = { type: "resource_link", name: "a b.txt", uri: `file://${here("a%20b.txt")}` };
        assert.match((await content("see ", link, " "))[0].text, /^see \[a b\.txt\]\(\/.*\/a b\.txt\) do: /);
      });
    },
    async "what is attached"() {
      await editor({}, async (e) => {
        const session = await e.open();
        const resource = { uri: `file://${here("note.md")}`, mimeType: "text/markdown", text: "the note" };
        await e.prompt(session, "read ", { type: "resource", resource });
        assert.match(e.said(session), /^You said: read \[note\.md\]\(.*\)\n\n<context uri="file:.*">\nthe note\n<\/context>$/s);
      });
    },
    async "what comes back"() {
      await editor({}, async (e) => {
        const session = await e.open();
        const end = await e.prompt(session, give({ thinking: "let me see" }, { text: "Here you are." }));
        assert.equal(end.stopReason, "end_turn");
        assert.equal(e.said(session, "agent_thought_chunk"), "let me see");
        assert.equal(e.said(session), "Here you are.");
        assert.deepEqual(e.of(session, "user_message_chunk"), []);
      });
    },
    async "why it ends"() {
      await editor({ args: ["--max-turns", "2"], permit: choice("allow_once") }, async (e) => {
        const session = await e.open();
        assert.equal((await e.prompt(session, "stop: max_tokens")).stopReason, "max_tokens");
        assert.equal((await e.prompt(session, "stop: refusal")).stopReason, "refusal");
        await refused(e.prompt(session, give({ fail: 400 })), -32603, /as you wish/);
        assert.equal((await e.prompt(session, "hello")).stopReason, "end_turn");
        assert.equal((await e.prompt(session, "stop: never")).stopReason, "max_turn_requests");
      });
    },
  },
  tools: {
    async "a command"() {
      await editor({ args: ["--allowedTools", "Bash"] }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(bash("echo one; echo two", "t-1"), bash("exit 3", "t-2")));
        const call = e.call(session, "t-1");
        assert.deepEqual(call.states, ["pending", "in_progress", "completed"]);
        assert.deepEqual([call.first, call.kind, call.title], ["tool_call", "execute", "`echo one; echo two`"]);
        assert.deepEqual(call.rawInput, { command: "echo one; echo two" });
        assert.equal(call.rawOutput.stdout.trim(), "one\ntwo");
        assert.deepEqual(call.content, [{ type: "content", content: text("```\none\ntwo\n```") }]);
        assert.equal(e.call(session, "t-2").status, "failed");
      });
    },
    async "files"() {
      const file = here("f.txt");
      await editor({ args: ["--permission-mode", "acceptEdits"] }, async (e) => {
        const session = await e.open();
        const does = async (name, input, id) => {
          await e.prompt(session, give(tool(name, input, id)));
          return e.call(session, id);
        };
        const made = await does("Write", { file_path: file, content: "a\nb\nc\n" }, "w-1");
        assert.deepEqual([made.kind, made.title, made.status], ["edit", "Write f.txt", "completed"]);
        assert.deepEqual(made.content, [{ type: "diff", path: file, newText: "a\nb\nc\n" }]);
        assert.deepEqual(made.locations, [{ path: file }]);
        const read = await does("Read", { file_path: file, offset: 2, limit: 1 }, "r-1");
        assert.deepEqual([read.kind, read.title], ["read", "Read f.txt (lines 2–2)"]);
        assert.deepEqual(read.locations, [{ path: file, line: 2 }]);
        const edited = await does("Edit", { file_path: file, old_string: "b", new_string: "B" }, "e-1");
        assert.deepEqual(edited.content, [{ type: "diff", path: file, oldText: "a\nb\nc", newText: "a\nB\nc" }]);
        assert.deepEqual(edited.locations, [{ path: file, line: 1 }]);
        const over = await does("Write", { file_path: file, content: "z\n" }, "w-2");
        assert.deepEqual(over.content, [{ type: "diff", path: file, oldText: "a\nB\nc", newText: "z" }]);
        const failed = await does("Edit", { file_path: file, old_string: "nope", new_string: "x" }, "e-2");
        assert.equal(failed.status, "failed");
        assert.match(failed.content[0].content.text, /not found/);
      });
    },
    async "notebooks"() {
      const file = here("n.ipynb");
      const cell = { cell_type: "code", id: "c1", execution_count: null, metadata: {}, outputs: [], source: ["1\n"] };
      fs.writeFileSync(file, JSON.stringify({ cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 }, null, 1));
      await editor({ args: ["--permission-mode", "acceptEdits"] }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(tool("Read", { file_path: file })));
        await e.prompt(session, give(tool("NotebookEdit", { notebook_path: file, cell_id: "c1", new_source: "2" }, "nb-1")));
        const call = e.call(session, "nb-1");
        assert.deepEqual([call.kind, call.status, call.locations], ["edit", "completed", [{ path: file }]]);
        const [diff] = call.content;
        assert.match(diff.oldText, /"1\\n"/);
        assert.match(diff.newText, /"2"/);
      });
    },
    async "a plan"() {
      await editor({}, async (e) => {
        const session = await e.open();
        const todos = ["completed", "in_progress", "pending"].map((status) => ({ content: `be ${status}`, status, activeForm: "being" }));
        await e.prompt(session, give(tool("TodoWrite", { todos }, "p-1")));
        const [plan] = e.of(session, "plan");
        assert.deepEqual(
          plan.entries.map((one) => [one.content, one.status]),
          todos.map((one) => [one.content, one.status]),
        );
        assert.deepEqual(e.of(session, "tool_call"), []);
      });
    },
    async "ids that come twice"() {
      await editor({ args: ["--allowedTools", "Bash"] }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(bash("echo 1", "same")));
        await e.prompt(session, give(bash("echo 2", "same")));
        assert.deepEqual(
          e.of(session, "tool_call").map((one) => one.toolCallId),
          ["same", "same-2"],
        );
        assert.match(e.call(session, "same-2").content[0].content.text, /2/);
      });
    },
  },
  permissions: {
    async "once"() {
      await editor({ permit: choice("allow_once") }, async (e) => {
        const session = await e.open();
        for (const id of ["a-1", "a-2"]) await e.prompt(session, give(bash("touch once.txt", id)));
        assert.ok(fs.existsSync(here("once.txt")));
        assert.equal(e.asked.length, 2);
        const { toolCall, sessionId } = e.asked[0].params;
        assert.deepEqual([sessionId, toolCall.toolCallId, toolCall.kind], [session, "a-1", "execute"]);
        assert.deepEqual(toolCall.rawInput, { command: "touch once.txt" });
        assert.deepEqual(options(e.asked[0].params).map((one) => one.split(":")[0]), [
          "allow_once", "allow_always", "allow_always", "reject_once", "reject_always",
        ]);
      });
    },
    async "always"() {
      await editor({ permit: choice("allow_always", /session/) }, async (e) => {
        const session = await e.open();
        for (const id of ["a-1", "a-2"]) await e.prompt(session, give(bash("touch always.txt", id)));
        assert.equal(e.asked.length, 1);
        const other = await e.open();
        await e.prompt(other, give(bash("touch always.txt", "a-3")));
        assert.equal(e.asked.length, 2, "another session knows nothing of it");
      });
      assert.ok(!fs.existsSync(here(".claude/settings.local.json")));
      await editor({ permit: choice("allow_always", /project/) }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(bash("touch always.txt", "a-1")));
        assert.match(fs.readFileSync(here(".claude/settings.local.json"), "utf8"), /touch/);
        fs.rmSync(here(".claude/settings.local.json"));
      });
    },
    async "edits"() {
      const file = here("edits.txt");
      fs.writeFileSync(file, "old\n");
      await editor({ permit: choice("allow_always") }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(tool("Read", { file_path: file })));
        await e.prompt(session, give(tool("Write", { file_path: file, content: "new\n" }, "w-1")));
        const { toolCall } = e.asked[0].params;
        assert.deepEqual(toolCall.content[0], { type: "diff", path: file, oldText: "old\n", newText: "new\n" });
        assert.equal(e.of(session, "current_mode_update")[0].currentModeId, "acceptEdits");
        const [now] = e.of(session, "config_option_update");
        assert.equal(now.configOptions.find((one) => one.id === "mode").currentValue, "acceptEdits");
        await e.prompt(session, give(tool("Write", { file_path: file, content: "newer\n" }, "w-2")));
        assert.equal(e.asked.length, 1);
      });
    },
    async "no"() {
      await editor({ permit: choice("reject_once") }, async (e) => {
        const session = await e.open();
        const end = await e.prompt(session, give(bash("touch no.txt", "n-1")));
        assert.equal(end.stopReason, "end_turn");
        assert.equal(e.call(session, "n-1").status, "failed");
        assert.match(e.said(session), /refused/);
        await e.prompt(session, give(bash("touch no.txt", "n-2")));
        assert.equal(e.asked.length, 2);
      });
      await editor({ permit: choice("reject_always") }, async (e) => {
        const session = await e.open();
        for (const id of ["n-1", "n-2"]) await e.prompt(session, give(bash("touch no.txt", id)));
        assert.equal(e.asked.length, 1);
        assert.ok(!fs.existsSync(here("no.txt")));
      });
    },
    async "nobody"() {
      await editor({ permit: () => "cancelled" }, async (e) => {
        const session = await e.open();
        assert.equal((await e.prompt(session, give(bash("touch x.txt")))).stopReason, "cancelled");
      });
      await editor({ permit: () => "made up" }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(bash("touch x.txt")));
        assert.match(e.said(session), /not offered/);
      });
      const broken = () => {
        throw new Error("no");
      };
      await editor({ permit: broken }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(bash("touch x.txt", "x-1")));
        assert.equal(e.call(session, "x-1").status, "failed");
      });
      await editor({ args: ["--permission-prompts", "none"] }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(bash("touch x.txt", "x-1")));
        assert.equal(e.call(session, "x-1").status, "failed");
        assert.equal(e.asked.length, 0);
      });
      assert.ok(!fs.existsSync(here("x.txt")));
    },
  },
  modes: {
    async "set"() {
      await editor({}, async (e) => {
        const session = await e.open();
        await e.ask(agent.session.setMode, { sessionId: session, modeId: "acceptEdits" });
        await e.until((one) => one.update?.currentModeId === "acceptEdits");
        await e.prompt(session, give(tool("Write", { file_path: here("m.txt"), content: "m" })));
        assert.ok(fs.existsSync(here("m.txt")));
        await refused(e.ask(agent.session.setMode, { sessionId: session, modeId: "fast" }), -32602, /fast/);
        const bypass = { sessionId: session, modeId: "bypassPermissions" };
        await refused(e.ask(agent.session.setMode, bypass), -32602, /not open/);
        const set = { sessionId: session, configId: "mode", value: "plan" };
        const { configOptions } = await e.ask(agent.session.setConfigOption, set);
        assert.equal(configOptions.find((one) => one.id === "mode").currentValue, "plan");
        await e.until((one) => one.update?.currentModeId === "plan");
        await refused(e.ask(agent.session.setConfigOption, { ...set, configId: "size" }), -32602, /size/);
      });
    },
    async "the model"() {
      await editor({ args: ["--model", "claude-opus-4-1"] }, async (e) => {
        const opened = await e.ask(agent.session.new, { cwd, mcpServers: [] });
        const sessionId = opened.sessionId;
        const of = (all) => all.find((one) => one.id === "model");
        assert.equal(of(opened.configOptions).currentValue, "claude-opus-4-1");
        const model = async () => {
          const before = e.said(sessionId).length;
          await e.prompt(sessionId, give({ echo: "/model" }));
          return e.said(sessionId).slice(before).trim();
        };
        assert.equal(await model(), '"claude-opus-4-1"');
        const set = { sessionId, configId: "model", value: "haiku" };
        assert.equal(of((await e.ask(agent.session.setConfigOption, set)).configOptions).currentValue, "haiku");
        assert.match(await model(), /haiku/);
        await refused(e.ask(agent.session.setConfigOption, { ...set, value: "none" }), -32602, /none/);
        const slow = e.prompt(sessionId, "stop: there");
        await e.until((one) => one.update?.content?.text === "part of it");
        const busy = await e.ask(agent.session.setConfigOption, { ...set, value: "sonnet" });
        assert.equal(of(busy.configOptions).currentValue, "sonnet");
        await e.notify(agent.session.cancel, { sessionId });
        await slow;
        assert.match(await model(), /sonnet/);
      });
    },
    async "a plan that is approved"() {
      const plan = tool("ExitPlanMode", { plan: "# Do it\n\n1. so" }, "plan-1");
      await editor({ args: ["--permission-mode", "plan"], permit: choice("reject_once", /planning/) }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(plan));
        const { toolCall } = e.asked[0].params;
        assert.deepEqual([toolCall.kind, toolCall.toolCallId], ["switch_mode", "plan-1"]);
        assert.deepEqual(toolCall.content[0].content.text, "# Do it\n\n1. so");
        assert.deepEqual(e.of(session, "current_mode_update"), []);
      });
      await editor({ args: ["--permission-mode", "plan"], permit: choice("allow_always", /edits/) }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(plan));
        assert.deepEqual(options(e.asked[0].params), [
          "allow_once: Yes, and ask before changes",
          "allow_always: Yes, and accept edits",
          "reject_once: No, keep planning",
        ]);
        assert.equal(e.of(session, "current_mode_update").at(-1).currentModeId, "acceptEdits");
        await e.prompt(session, give(tool("EnterPlanMode", {})));
        assert.equal(e.of(session, "current_mode_update").at(-1).currentModeId, "plan");
      });
    },
  },
  cancel: {
    async "while the model speaks"() {
      await editor({}, async (e) => {
        const session = await e.open();
        const turn = e.prompt(session, "stop: there");
        await e.until((one) => one.update?.content?.text === "part of it");
        await e.notify(agent.session.cancel, { sessionId: session });
        assert.equal((await turn).stopReason, "cancelled");
        await e.prompt(session, "go on");
        assert.match(e.said(session), /You said: go on$/);
      });
    },
    async "while a tool works"() {
      await editor({ args: ["--allowedTools", "Bash"] }, async (e) => {
        const session = await e.open();
        const turn = e.prompt(session, give(bash("echo begun; sleep 600; touch over.txt", "c-1")));
        await e.until((one) => one.update?.toolCallId === "c-1" && one.update.status === "in_progress");
        await e.notify(agent.session.cancel, { sessionId: session });
        assert.equal((await turn).stopReason, "cancelled");
        assert.equal(e.call(session, "c-1").status, "failed");
        assert.ok(!fs.existsSync(here("over.txt")));
      });
    },
    async "while somebody is asked"() {
      let withdrawn;
      const permit = (_, { signal }) =>
        new Promise((resolve) => {
          withdrawn = new Promise((told) => signal.addEventListener("abort", () => { told(); resolve("cancelled"); }));
        });
      await editor({ permit }, async (e) => {
        const session = await e.open();
        const turn = e.prompt(session, give(bash("touch asked.txt", "c-1")));
        await e.until((one) => one.params?.toolCall);
        await e.notify(agent.session.cancel, { sessionId: session });
        assert.equal((await turn).stopReason, "cancelled");
        await withdrawn;
        assert.equal(e.call(session, "c-1").status, "failed");
        assert.ok(!fs.existsSync(here("asked.txt")));
        assert.equal((await e.prompt(session, "on")).stopReason, "end_turn");
      });
    },
    async "when nothing goes on"() {
      await editor({}, async (e) => {
        const session = await e.open();
        await e.notify(agent.session.cancel, { sessionId: session });
        await e.notify(agent.session.cancel, { sessionId: "nobody" });
        assert.equal((await e.prompt(session, "hello")).stopReason, "end_turn");
      });
    },
  },
  questions: {
    async "on a form"() {
      const questions = [
        { question: "Which one?", header: "One", options: [{ label: "A", description: "first" }, { label: "B", description: "" }], multiSelect: false },
        { question: "Which ones?", header: "Many", options: [{ label: "C", description: "" }, { label: "D", description: "" }], multiSelect: true },
        { question: "What else?", header: "Else", options: [{ label: "E", description: "" }, { label: "F", description: "" }], multiSelect: false },
      ];
      let form;
      const fill = (params) => {
        form = params;
        const content = { "question-0": "B", "question-1": ["C", "D"], "question-2": "E", "question-2-other": "mine" };
        return { action: "accept", content };
      };
      await editor({ capabilities: { elicitation: { form: {} } }, fill }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(tool("AskUserQuestion", { questions }, "q-1")));
        assert.deepEqual([form.sessionId, form.mode, form.toolCallId], [session, "form", "q-1"]);
        const fields = form.requestedSchema.properties;
        assert.deepEqual(fields["question-0"].oneOf.map((one) => one.const), ["A", "B"]);
        assert.deepEqual(fields["question-1"].items.anyOf.map((one) => one.const), ["C", "D"]);
        assert.match(e.said(session), /B/);
        assert.match(e.said(session), /C, D/);
        assert.match(e.said(session), /mine/);
      });
      await editor({ capabilities: { elicitation: { form: {} } }, fill: () => ({ action: "decline" }) }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(tool("AskUserQuestion", { questions })));
        assert.match(e.said(session), /would not say/);
      });
    },
    async "by choosing"() {
      const question = (multiSelect) => ({
        questions: [{ question: "Red or blue?", header: "Colour", options: [{ label: "Red", description: "warm" }, { label: "Blue", description: "" }], multiSelect }],
      });
      await editor({ permit: choice("allow_once", /Blue/) }, async (e) => {
        const session = await e.open();
        await e.prompt(session, give(tool("AskUserQuestion", question(false), "q-1")));
        assert.deepEqual(options(e.asked[0].params), ["allow_once: Red: warm", "allow_once: Blue", "reject_once: Skip this question"]);
        assert.equal(e.asked[0].params.toolCall.title, "Red or blue?");
        assert.match(e.said(session), /Blue/);
        await e.prompt(session, give(tool("AskUserQuestion", question(true))));
        assert.equal(e.asked.length, 1, "several answers cannot be chosen like this");
      });
    },
  },
  agents: {
    async "that are waited for"() {
      fs.mkdirSync(here(".claude/agents"), { recursive: true });
      fs.writeFileSync(here(".claude/agents/helper.md"), "---\nname: helper\ndescription: Helps\n---\nHelp.");
      await editor({ args: ["--allowedTools", "Bash"] }, async (e) => {
        const session = await e.open();
        const task = { description: "help", subagent_type: "helper", prompt: give({ text: "secret talk" }, bash("echo inner", "inner-1")) };
        await e.prompt(session, give(tool("Agent", task, "agent-1")));
        const outer = e.call(session, "agent-1");
        assert.deepEqual([outer.kind, outer.title, outer.status], ["think", "helper: help", "completed"]);
        const inner = e.call(session, "inner-1");
        assert.deepEqual([inner.status, inner._meta.posse.parentToolCallId, inner._meta.posse.agentType], ["completed", "agent-1", "helper"]);
        assert.ok(!e.said(session).includes("secret talk"));
        assert.match(e.said(session), /^Result: /);
      });
    },
    async "that go on"() {
      await editor({ args: ["--allowedTools", "Bash"] }, async (e) => {
        const session = await e.open();
        const task = {
          description: "later",
          subagent_type: "general-purpose",
          run_in_background: true,
          prompt: give(bash("until [ -e go.txt ]; do sleep 0.02; done; echo late", "late-1")),
        };
        assert.equal((await e.prompt(session, give(tool("Agent", task, "agent-1")))).stopReason, "end_turn");
        const before = e.said(session);
        fs.writeFileSync(here("go.txt"), "");
        await e.until((one) => one.sessionId === session && e.said(session).slice(before.length).includes("task-notification"));
        assert.equal(e.call(session, "late-1").status, "completed");
        assert.equal((await e.prompt(session, "thanks")).stopReason, "end_turn");
        assert.match(e.said(session), /You said: thanks$/);
        fs.rmSync(here("go.txt"));
      });
    },
    async "that are stopped"() {
      await editor({ args: ["--allowedTools", "Bash"] }, async (e) => {
        const session = await e.open();
        const task = { description: "x", subagent_type: "general-purpose", run_in_background: true, prompt: give(bash("sleep 600", "never-1")) };
        await e.prompt(session, give(tool("Agent", task, "agent-1")));
        await e.until((one) => one.update?.toolCallId === "never-1" && one.update.status === "in_progress");
        await e.notify(agent.session.cancel, { sessionId: session });
        assert.equal((await e.prompt(session, "hello")).stopReason, "end_turn");
      });
    },
    async "that ask"() {
      await editor({ permit: choice("allow_once") }, async (e) => {
        const session = await e.open();
        const task = { description: "x", subagent_type: "general-purpose", prompt: give(bash("touch sub.txt", "sub-1")) };
        await e.prompt(session, give(tool("Agent", task, "agent-1")));
        assert.equal(e.asked[0].params.toolCall.toolCallId, "sub-1");
        assert.ok(fs.existsSync(here("sub.txt")));
      });
    },
  },
  servers: {
    async "a program"() {
      const script = here("server.mjs");
      const loop = `
import readline from "node:readline";
for await (const line of readline.createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", ...answer(message) }));
}`;
      fs.writeFileSync(script, SERVER + loop);
      const server = { name: "greeter", command: process.execPath, args: [script], env: [{ name: "MARK", value: "!" }] };
      await editor({ args: ["--allowedTools", "mcp__greeter"] }, async (e) => {
        const session = await e.open({ mcpServers: [server] });
        await e.prompt(session, give(tool("mcp__greeter__greet", { name: "Ada" }, "g-1")));
        const call = e.call(session, "g-1");
        assert.deepEqual([call.title, call.kind, call.status], ["greet (greeter)", "other", "completed"]);
        assert.match(call.content[0].content.text, /Hello Ada!/);
        const without = await e.open();
        await e.prompt(without, give(tool("mcp__greeter__greet", { name: "Ada" }, "g-2")));
        assert.equal(e.call(without, "g-2").status, "failed");
      });
    },
    async "an address"() {
      const answer = new Function(`${SERVER}; return answer;`)();
      const seen = [];
      const web = http.createServer(async (request, response) => {
        seen.push(request.headers["x-mark"]);
        let body = "";
        for await (const part of request) body += part;
        const message = body ? JSON.parse(body) : {};
        if (request.method !== "POST") return response.writeHead(405).end();
        if (message.id === undefined) return response.writeHead(202).end();
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", ...answer(message) }));
      });
      await new Promise((resolve) => web.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${web.address().port}/mcp`;
      const server = { type: "http", name: "web", url, headers: [{ name: "X-Mark", value: "yes" }] };
      await editor({ args: ["--allowedTools", "mcp__web"] }, async (e) => {
        const session = await e.open({ mcpServers: [server] });
        await e.prompt(session, give(tool("mcp__web__greet", { name: "Bob" }, "g-1")));
        assert.match(e.call(session, "g-1").content[0].content.text, /Hello Bob/);
        assert.ok(seen.length && seen.every((mark) => mark === "yes"));
      });
      web.close();
      web.closeAllConnections();
    },
    async "more folders"() {
      const other = fs.mkdtempSync(path.join(path.dirname(cwd), "more-"));
      fs.writeFileSync(path.join(other, "o.txt"), "over there");
      await editor({}, async (e) => {
        const session = await e.open({ additionalDirectories: [other] });
        await e.prompt(session, give(tool("Read", { file_path: path.join(other, "o.txt") }, "o-1")));
        assert.equal(e.call(session, "o-1").status, "completed");
      });
    },
  },
  notes: {
    async "shown"() {
      const capabilities = { session: { notices: {}, compaction: {} } };
      fs.mkdirSync(here(".claude/agents"), { recursive: true });
      fs.writeFileSync(here(".claude/agents/broken.md"), "---\nname: broken\n---\nNo description.");
      await editor({ capabilities }, async (e) => {
        const session = await e.open();
        await e.until((one) => /broken\.md is not loaded/.test(one.update?.title ?? ""));
        await e.prompt(session, "one");
        await e.prompt(session, "/compact");
        const states = e.of(session, "compaction_update").map((one) => one.status);
        assert.deepEqual(states, ["in_progress", "completed"]);
      });
      await editor({}, async (e) => {
        await e.open();
        while (!e.complaints().includes("broken.md is not loaded")) await new Promise(setImmediate);
        assert.deepEqual(e.told.filter((one) => one.update.sessionUpdate === "notice"), []);
      });
    },
  },
};

const group = checks[process.argv[2]];
for (const [name, check] of Object.entries(group)) {
  const line = { check: name, ok: true };
  try {
    await check();
  } catch (error) {
    Object.assign(line, { ok: false, error: String(error.stack ?? error) });
  }
  console.log(JSON.stringify(line));
}
process.exit(0);
