// What is read from files, and what limits a run.

import assert from "node:assert/strict";
import path from "node:path";

import {
  sdk, give, complaints, ask, refusal, result, echo, whole, init, bash, put, exists, SERVER, conversation,
  WRITE, main,
} from "./common.mjs";

const skill = (name) =>
  put(`.claude/skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: How to ${name}.\n---\n${name} well.\n`);

await main({
  async sources() {
    put("CLAUDE.md", "The project is about bees.");
    const bees = async (more) => (await whole("/messages", more)).includes("bees");
    assert.deepEqual([await bees(), await bees({ settingSources: ["project"] })], [true, true]);
    assert.deepEqual([await bees({ settingSources: [] }), await bees({ settingSources: ["user"] })], [false, false]);
  },
  async settings() {
    const order = (file) => give(WRITE(file));
    const file = put("more.json", JSON.stringify({ permissions: { allow: ["Write"] } }));
    assert.equal(result(await ask(order("s1.txt"), { settings: file })).permission_denials.length, 0);
    const settings = { permissions: { deny: ["Write"] }, model: "claude-opus-4-1" };
    await ask(order("s2.txt"), { settings, allowedTools: ["Write"] });
    assert.ok(exists("s1.txt") && !exists("s2.txt"));
    assert.equal(await echo("/model", { settings }), "claude-opus-4-1");
  },
  async skills() {
    ["bake", "sing"].forEach(skill);
    const told = async (skills) => {
      const text = await whole("", { skills });
      return ["bake", "sing"].filter((name) => text.includes(`How to ${name}.`));
    };
    assert.deepEqual(await told("all"), ["bake", "sing"]);
    assert.deepEqual(await told(["sing"]), ["sing"]);
    assert.deepEqual(await told([]), []);
    const call = give({ tool: "Skill", input: { skill: "bake" } });
    assert.match(result(await ask(call, { skills: ["bake"] })).result, /bake/);
    assert.doesNotMatch(result(await ask(call, { skills: ["sing"] })).result, /bake well/);
  },
  async plugins() {
    put("demo/.claude-plugin/plugin.json", '{"name": "demo", "version": "1.1.0"}');
    put("demo/commands/wave.md", "---\ndescription: Waves\n---\nWave at $ARGUMENTS.\n");
    put("demo/agents/waver.md", "---\nname: waver\ndescription: Waves\n---\nYou wave.\n");
    put("demo/.mcp.json", JSON.stringify({ mcpServers: { out: { command: "python3", args: [SERVER] } } }));
    const plugin = { type: "local", path: path.resolve("demo") };
    const messages = await ask("/demo:wave me", { plugins: [plugin] });
    assert.deepEqual(init(messages).plugins.map((one) => [one.name, one.version]), [["demo", "1.1.0"]]);
    assert.ok(init(messages).agents.includes("demo:waver"));
    assert.match(result(messages).result, /Wave at me\./);
    assert.equal(init(messages).mcp_servers.length, 1);
    const without = await ask("hi", { plugins: [{ ...plugin, skipMcpDiscovery: true }] });
    assert.deepEqual([init(without).mcp_servers, init(without).plugins.length], [[], 1]);
    const gone = await ask("hi", { plugins: [{ type: "local", path: "/nowhere/at-all" }] });
    assert.equal(init(gone).plugin_errors[0].type, "path-not-found");
  },
  async modes() {
    const touch = (file) => give(bash(`touch ${file}`));
    const denials = async (more, order) => result(await ask(order, more)).permission_denials.length;
    assert.equal(await denials({ permissionMode: "dontAsk" }, give(WRITE("d.txt"))), 1);
    assert.equal(await denials({ permissionMode: "dontAsk", allowedTools: ["Write"] }, give(WRITE("d.txt"))), 0);
    await ask(give(WRITE("p.txt")), { permissionMode: "plan" });
    assert.ok(exists("d.txt") && !exists("p.txt"));
    const env = { ...process.env, IS_SANDBOX: "1" };
    const bypass = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
    assert.equal(await denials({ ...bypass, env }, touch("bypassed")), 0);
    assert.ok(exists("bypassed"));
    if (process.geteuid() === 0) {
      assert.match(await refusal(bypass), /code 1/);
      assert.match(complaints.join(""), /root/);
    }
  },
  async "nobody to ask"() {
    const canUseTool = async () => assert.fail("nobody is asked");
    const messages = await ask(give(WRITE("unasked.txt")), { canUseTool, permissionPrompts: "none" });
    assert.deepEqual([result(messages).permission_denials.length, result(messages).is_error], [1, false]);
  },
  async confined() {
    const sandbox = { enabled: true, autoAllowBashIfSandboxed: true, failIfUnavailable: false };
    const outside = path.join(process.env.HOME, "escaped");
    const order = give(bash(`touch inside; touch ${outside}; true`));
    const messages = await ask(order, { sandbox, tools: ["Bash"] });
    assert.deepEqual([result(messages).permission_denials, exists("inside"), exists(outside)], [[], true, false]);
  },
  async "not kept"() {
    const { session_id } = result(await ask("hi", { persistSession: false }));
    const listed = await sdk.listSessions({ dir: process.cwd() });
    assert.ok(!listed.some((one) => one.sessionId === session_id));
    assert.match(await refusal({ resume: session_id }), /No conversation found/);
  },
  async "settings of whoever is in charge"() {
    const managedSettings = { permissions: { deny: ["Write"] } };
    await ask(give(WRITE("managed.txt")), { managedSettings, allowedTools: ["Write"] });
    assert.ok(!exists("managed.txt"));
  },
  async "settings of another checkout"() {
    put("trusted/.claude/commands/shout.md", "Shout $ARGUMENTS.\n");
    put("branch/.claude/commands/whisper.md", "Whisper $ARGUMENTS.\n");
    const more = { cwd: path.resolve("branch"), projectConfigRoot: path.resolve("trusted") };
    const commands = init(await ask("hi", more)).slash_commands;
    assert.deepEqual([commands.includes("shout"), commands.includes("whisper")], [true, false]);
  },
  async "other names for tools"() {
    const greet = sdk.tool("greet", "Greets", {}, async () => ({ content: [{ type: "text", text: "instead" }] }));
    const mine = sdk.createSdkMcpServer({ name: "mine", tools: [greet] });
    const more = { mcpServers: { mine }, toolAliases: { Bash: "mcp__mine__greet" }, allowedTools: ["mcp__mine__greet"] };
    assert.match(result(await ask(give(bash("touch real")), more)).result, /instead/);
    assert.ok(!exists("real"));
  },
  async "how to plan"() {
    const more = { permissionMode: "plan", planModeInstructions: "Plan on one page." };
    assert.match(await whole("", more), /Plan on one page\./);
  },
  async "a title from the start"() {
    const { session_id } = result(await ask("hi", { title: "About hats" }));
    assert.equal((await sdk.getSessionInfo(session_id, { dir: process.cwd() })).customTitle, "About hats");
  },
  async "plugins in the greeting"() {
    put("demo/.claude-plugin/plugin.json", '{"name": "demo"}');
    const more = { plugins: [{ type: "local", path: path.resolve("demo") }], pluginDelivery: "initialize" };
    assert.deepEqual(init(await ask("hi", more)).plugins.map((one) => one.name), ["demo"]);
  },
});
