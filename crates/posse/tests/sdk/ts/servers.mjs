// Servers of tools.

import assert from "node:assert/strict";
import fs from "node:fs";

import {
  sdk, z, give, ask, system, blocks, result, init, put, trust, signal, says, SERVER, conversation, main,
} from "./common.mjs";

const stdio = (...args) => ({ type: "stdio", command: "python3", args: [SERVER, ...args] });
const shell = { command: "sh", args: [new URL("../../it/sdk/server.sh", import.meta.url).pathname, "s"] };
const GREET = give({ tool: "mcp__out__greet", input: { name: "you" } });
const allowedTools = ["mcp__out__greet"];
const names = (messages) => init(messages).mcp_servers.map((one) => one.name);

await main({
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
  async "servers of others"() {
    const messages = await ask(GREET, { mcpServers: { out: stdio("hey") }, allowedTools });
    assert.equal(result(messages).result, "Result: hey you");
    assert.deepEqual(names(messages), ["out"]);
  },
  async "only these"() {
    put(".mcp.json", JSON.stringify({ mcpServers: { folder: stdio("folder") } }));
    trust(".");
    const more = { mcpServers: { out: stdio() }, settings: { enableAllProjectMcpServers: true } };
    const there = async (extra) => {
      const all = init(await ask("hi", { ...more, ...extra })).mcp_servers;
      return all.filter((one) => ["connected", "pending"].includes(one.status)).map((one) => one.name).sort();
    };
    assert.deepEqual(await there(), ["folder", "out"]);
    assert.deepEqual(await there({ strictMcpConfig: true }), ["out"]);
    fs.rmSync(".mcp.json");
  },
  async "their state"() {
    const mcpServers = { out: stdio(), gone: { command: "/nowhere/at-all" } };
    await conversation({ mcpServers, allowedTools }, async (query, turn) => {
      await turn(GREET);
      const status = Object.fromEntries((await query.mcpServerStatus()).map((one) => [one.name, one]));
      assert.deepEqual([status.out.status, status.gone.status], ["connected", "failed"]);
      assert.ok(status.gone.error && status.out.tools.some((tool) => tool.name === "greet"));
      assert.deepEqual(status.out.serverInfo, { name: "greeter", version: "1.2.3" });
      await query.reconnectMcpServer("out");
      await assert.rejects(query.reconnectMcpServer("gone"));
      await assert.rejects(query.reconnectMcpServer("nobody"), /Server not found: nobody/);
      await assert.rejects(query.toggleMcpServer("nobody", true), /Server not found: nobody/);
    });
  },
  async "tools that fail"() {
    const fails = sdk.tool("fails", "Fails", {}, async () => {
      throw new Error("broken tool");
    });
    const says = sdk.tool("says", "Says no", {}, async () => ({ content: [{ type: "text", text: "no" }], isError: true }));
    const bad = sdk.createSdkMcpServer({ name: "bad", tools: [fails, says] });
    const more = { mcpServers: { bad }, allowedTools: ["mcp__bad"] };
    const order = give({ tool: "mcp__bad__fails", input: {} }, { tool: "mcp__bad__says", input: {} });
    const answers = blocks(await ask(order, more), "tool_result");
    assert.deepEqual(answers.map((one) => one.is_error), [true, true]);
    assert.match(JSON.stringify(answers), /broken tool/);
  },
  async "what is forbidden"() {
    const called = [];
    const make = (name) =>
      sdk.tool(name, name, {}, async () => {
        called.push(name);
        return { content: [{ type: "text", text: name }] };
      });
    const t = sdk.createSdkMcpServer({ name: "t", tools: [make("echo"), make("greet")] });
    const order = give({ tool: "mcp__t__greet", input: {} }, { tool: "mcp__t__echo", input: {} });
    await ask(order, { mcpServers: { t }, disallowedTools: ["mcp__t__echo"], allowedTools: ["mcp__t__greet"] });
    assert.deepEqual(called, ["greet"]);
    assert.equal(result(await ask(order, { mcpServers: { t } })).permission_denials.length, 2);
    assert.deepEqual(called, ["greet"]);
  },
  async "interrupting a tool"() {
    const began = signal();
    const hang = sdk.tool("hang", "Never ends", {}, async () => {
      began.keep();
      return new Promise(() => {});
    });
    const h = sdk.createSdkMcpServer({ name: "h", tools: [hang] });
    await conversation({ mcpServers: { h }, allowedTools: ["mcp__h__hang"] }, async (query, turn) => {
      const stopping = began.kept.then(() => query.interrupt());
      assert.equal(result(await turn(give({ tool: "mcp__h__hang", input: {} }))).terminal_reason, "aborted_tools");
      await stopping;
      assert.equal(result(await turn("on")).result, "You said: on");
    });
  },
  async "others while it runs"() {
    const add = sdk.tool("add", "Adds", {}, async () => ({ content: [{ type: "text", text: "added" }] }));
    await conversation({ allowedTools: ["mcp__out__greet", "mcp__sums__add"] }, async (query, turn) => {
      await turn("hi");
      const sums = sdk.createSdkMcpServer({ name: "sums", tools: [add] });
      const first = await query.setMcpServers({ sums, out: stdio("hey") });
      assert.deepEqual([first.added.sort(), first.removed, first.errors], [["out", "sums"], [], {}]);
      assert.equal(result(await turn(GREET)).result, "Result: hey you");
      assert.equal(result(await turn(give({ tool: "mcp__sums__add", input: {} }))).result, "Result: added");
      const second = await query.setMcpServers({ gone: { command: "/nowhere/at-all" } });
      assert.deepEqual(second.removed.sort(), ["out", "sums"]);
      assert.ok(second.errors.gone || second.added.includes("gone"));
      assert.ok(!init(await turn("hi")).tools.includes("mcp__out__greet"));
    });
  },
  async "switched off and on"() {
    await conversation({ mcpServers: { out: stdio() }, allowedTools }, async (query, turn) => {
      await turn(GREET);
      await query.toggleMcpServer("out", false);
      assert.equal((await query.mcpServerStatus())[0].status, "disabled");
      assert.ok(!init(await turn("hi")).tools.includes("mcp__out__greet"));
      await query.toggleMcpServer("out", true);
      assert.equal(result(await turn(GREET)).result, "Result: hello you");
    });
  },
  async "pages of servers"() {
    await conversation({ mcpServers: { out: stdio() } }, async (query, turn) => {
      await turn("hi");
      const { contents } = await query.readMcpResource("out", "ui://page");
      assert.deepEqual([contents[0].uri, contents[0].text], ["ui://page", "<p>page</p>"]);
      await assert.rejects(query.readMcpResource("out", "file:///etc/passwd"));
    });
  },
  async "questions of servers"() {
    const asked = [];
    const onElicitation = async (question) => {
      asked.push([question.serverName, question.message]);
      return { action: "accept", content: { name: "Ada" } };
    };
    const more = { mcpServers: { s: shell }, allowedTools: ["mcp__s__ask"] };
    const order = give({ tool: "mcp__s__ask", input: {} });
    assert.equal(result(await ask(order, { ...more, onElicitation })).result, "Result: hello Ada");
    assert.deepEqual(asked, [["s", "Who?"]]);
    assert.equal(result(await ask(order, more)).result, "Result: declined");
  },
  async "how far a tool is"() {
    const more = { mcpServers: { s: shell }, allowedTools: ["mcp__s__hang"] };
    await conversation(more, async (query, turn) => {
      const seen = [];
      const during = async (message) => {
        if (message.type !== "tool_progress") return;
        seen.push([message.tool_name, message.parent_tool_use_id]);
        await query.interrupt();
      };
      const end = result(await turn(give({ tool: "mcp__s__hang", input: {} }), during));
      assert.deepEqual([end.terminal_reason, seen], ["aborted_tools", [["mcp__s__hang", null]]]);
    });
  },
  async "who is asked for a server"() {
    await conversation({ mcpServers: { out: stdio() } }, async (query, turn) => {
      await turn("hi");
      await query.setMcpPermissionModeOverride("out", "default");
      await query.setMcpPermissionModeOverride("out", null);
    });
  },
});
