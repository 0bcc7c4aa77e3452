// One question, and what goes to the model with it.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { spawn } from "node:child_process";

import {
  sdk, give, complaints, options, ask, refusal, results, system, result, echo, whole, init, bash, put,
  read, exists, appeared, signal, WRITE, main,
} from "./common.mjs";

await main({
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
    assert.deepEqual(await echo("/output_config/task_budget", { taskBudget: { total: 5000 } }), {
      type: "tokens",
      total: 5000,
    });
  },
  async "every prompt"() {
    const parts = ["First part.", sdk.SYSTEM_PROMPT_DYNAMIC_BOUNDARY, "Second part."];
    const text = await whole("/system", { systemPrompt: parts });
    assert.match(text, /First part\.[^]*Second part\./);
    const custom = { type: "custom", prompt: "Made to measure.", snapshot: false };
    assert.match(await whole("/system", { systemPrompt: custom }), /Made to measure\./);
    const preset = { type: "preset", preset: "claude_code" };
    assert.ok((await whole("/system", { systemPrompt: preset })).length > 1000);
  },
  async "a model that fails"() {
    const order = give({ fail: 529, model: "claude-opus-4-1" }, { echo: "/model" });
    const env = { ...process.env, CLAUDE_CODE_MAX_RETRIES: "1" };
    const failed = result(await ask(order, { model: "claude-opus-4-1", env }));
    assert.deepEqual([failed.is_error, failed.api_error_status], [true, 529]);
    const end = result(await ask(order, { model: "claude-opus-4-1", env, fallbackModel: "claude-haiku-4-5" }));
    assert.deepEqual([end.is_error, end.result], [false, '"claude-haiku-4-5"']);
  },
  async thoughts() {
    const kinds = [
      [{ thinking: { type: "adaptive", display: "summarized" } }, "adaptive"],
      [{ thinking: { type: "disabled" } }, "disabled"],
      [{ maxThinkingTokens: 4096 }, "enabled"],
    ];
    for (const [more, type] of kinds) assert.equal((await echo("/thinking", more)).type, type);
    assert.equal((await echo("/thinking", kinds[0][0])).display, "summarized");
    assert.equal((await echo("/thinking", kinds[2][0])).budget_tokens, 4096);
  },
  async "who asks"() {
    const env = { ...process.env, CLAUDE_AGENT_SDK_CLIENT_APP: "my-app/1.0.0" };
    const agent = result(await ask(give({ header: "user-agent" }), { env })).result;
    for (const part of ["sdk-ts", "agent-sdk/", "my-app/1.0.0"]) assert.ok(agent.includes(part), agent);
  },
  async "the surroundings"() {
    put("elsewhere/here.txt", "");
    const where = fs.realpathSync("elsewhere");
    const env = { ...process.env, COLOUR: "green" };
    const messages = await ask(give(bash("echo $COLOUR; pwd; ls")), { cwd: "elsewhere", env, allowedTools: ["Bash"] });
    assert.equal(init(messages).cwd, where);
    assert.ok(result(messages).result.includes(["green", where, "here.txt"].join("\n")), result(messages).result);
    // The environment is the program's alone.
    const bare = { PATH: process.env.PATH, HOME: process.env.HOME };
    for (const name of ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"]) bare[name] = process.env[name];
    process.env.COLOUR = "red";
    assert.match(result(await ask(give(bash("echo colour=$COLOUR.")), { env: bare, allowedTools: ["Bash"] })).result, /colour=\./);
    delete process.env.COLOUR;
  },
  async "more folders"() {
    const other = path.join(fs.realpathSync(".."), "other");
    fs.mkdirSync(other, { recursive: true });
    const order = give(WRITE(path.join(other, "made.txt"), "made"));
    const edits = { permissionMode: "acceptEdits" };
    assert.equal(result(await ask(order, edits)).permission_denials.length, 1);
    await ask(order, { ...edits, additionalDirectories: [other] });
    assert.equal(read(path.join(other, "made.txt")), "made");
  },
  async flags() {
    assert.equal(await echo("/model", { extraArgs: { model: "claude-opus-4-1" } }), "claude-opus-4-1");
    const none = { extraArgs: { "no-session-persistence": null, workload: "x" } };
    const { session_id } = result(await ask("hi", none));
    assert.equal(await sdk.getSessionInfo(session_id, { dir: process.cwd() }), undefined);
    await refusal({ extraArgs: { "no-such-flag": null } });
    assert.match(complaints.join(""), /no-such-flag/);
  },
  async "another way to start it"() {
    const started = [];
    const spawnClaudeCodeProcess = ({ command, args, cwd, env, signal }) => {
      started.push(args);
      return spawn(command, args, { cwd, env, signal, stdio: ["pipe", "pipe", "ignore"] });
    };
    assert.equal(result(await ask("hi", { spawnClaudeCodeProcess })).result, "You said: hi");
    assert.equal(started.length, 1);
    // A script is run by the runtime that is named, with its arguments.
    const script = `import { spawnSync } from "node:child_process";
      const { status } = spawnSync(process.env.POSSE, process.argv.slice(2), { stdio: "inherit" });
      process.exit(process.execArgv.includes("--no-warnings") ? status : 7);`;
    const wrapped = put("wrapper.mjs", script);
    const more = { pathToClaudeCodeExecutable: wrapped, executable: "node", executableArgs: ["--no-warnings"] };
    assert.equal(result(await ask("hi", more)).result, "You said: hi");
  },
  async "called off"() {
    const abortController = new AbortController();
    const messages = [];
    const more = options({ abortController, allowedTools: ["Bash"] });
    const running = async () => {
      const order = give(bash("touch calling; echo $$ > pid; sleep 600"));
      for await (const message of sdk.query({ prompt: order, options: more })) messages.push(message);
    };
    const ended = running().then(() => "ended", (error) => error instanceof sdk.AbortError);
    await appeared("calling");
    abortController.abort();
    assert.equal(await ended, true);
    assert.equal(results(messages).length, 0);
    const pid = read("pid").trim();
    while (exists(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 10));
  },
  async failures() {
    const failing = sdk.query({ prompt: give({ fail: 401 }), options: options() });
    const messages = [];
    await assert.rejects(async () => {
      for await (const message of failing) messages.push(message);
    }, /401/);
    const end = result(messages);
    assert.deepEqual([end.subtype, end.is_error, end.api_error_status], ["success", true, 401]);
  },
  async "a prompt that is the same for everybody"() {
    const systemPrompt = { type: "preset", preset: "claude_code", excludeDynamicSections: true };
    assert.ok(!(await whole("/system", { systemPrompt })).includes(process.cwd()));
    assert.ok((await whole("/messages", { systemPrompt })).includes(process.cwd()));
  },
  async reasons() {
    const lines = [];
    const stderr = (text) => lines.push(text);
    const end = result(await ask("hi", { debug: true, stderr }));
    assert.equal(end.result, "You said: hi");
    assert.match(lines.join(""), /request/);
    lines.length = 0;
    await ask("hi", { debugFile: "debug.txt", stderr });
    assert.deepEqual(lines, []);
    assert.match(read("debug.txt"), /request/);
  },
});
