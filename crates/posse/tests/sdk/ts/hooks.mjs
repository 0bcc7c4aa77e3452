// Callbacks of the program at every moment of the run that posse knows.

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import os from "node:os";
import { spawnSync } from "node:child_process";

import {
  give, ask, system, blocks, result, init, bash, put, exists, trust, signal, says, hooked, conversation,
  WRITE, main,
} from "./common.mjs";

/** Everything that callbacks for these events are told. */
function listening(events, output = {}) {
  const seen = [];
  const hooks = Object.assign({}, ...events.map((event) => hooked(event, says(seen, output))));
  return { seen, hooks, names: () => seen.map((one) => one.hook_event_name) };
}

const BASE = ["session_id", "transcript_path", "cwd", "hook_event_name"];
function fields(given, ...names) {
  for (const name of [...BASE, ...names]) assert.ok(name in given, `${name} missing in ${JSON.stringify(given)}`);
}

const HELPER = { helper: { description: "Helps", prompt: "You help.", tools: ["Bash", "Write"] } };
const agent = (prompt, more = {}) =>
  give({ tool: "Agent", input: { description: "help", prompt, subagent_type: "helper", run_in_background: false, ...more } });
const sh = (script) => spawnSync("sh", ["-ec", script], { stdio: "ignore" });

await main({
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
  async "around a tool"() {
    const { seen, hooks, names } = listening(["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"]);
    const order = give(bash("echo fine"), { tool: "Read", input: { file_path: "nowhere" } });
    await ask(order, { hooks, allowedTools: ["Bash", "Read"] });
    assert.deepEqual(names().sort(), ["PostToolBatch", "PostToolUse", "PostToolUseFailure", "PreToolUse", "PreToolUse"]);
    const find = (name) => seen.find((one) => one.hook_event_name === name);
    fields(find("PreToolUse"), "tool_name", "tool_input", "tool_use_id", "permission_mode");
    fields(find("PostToolUse"), "tool_response", "tool_use_id", "duration_ms");
    assert.equal(find("PostToolUse").tool_response.stdout.trim(), "fine");
    fields(find("PostToolUseFailure"), "error", "tool_use_id");
    fields(find("PostToolBatch"), "tool_calls");
    assert.equal(find("PostToolBatch").tool_calls.length, 2);
  },
  async "what they change"() {
    const allow = { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput: { command: "echo changed" } };
    const hooks = hooked("PreToolUse", says([], { hookSpecificOutput: { ...allow, additionalContext: "mind the cat" } }));
    await conversation({ hooks }, async (_, turn) => {
      assert.match(result(await turn(give(bash("touch unchanged")))).result, /changed/);
      assert.match(result(await turn(give({ echo: "/messages" }))).result, /mind the cat/);
    });
    assert.ok(!exists("unchanged"));
    const output = { hookEventName: "PostToolUse", updatedToolOutput: { stdout: "something else", stderr: "" } };
    const after = hooked("PostToolUse", says([], { hookSpecificOutput: output }));
    const end = result(await ask(give(bash("echo secret")), { hooks: after, allowedTools: ["Bash"] }));
    assert.match(end.result, /something else/);
  },
  async "prompts and ends"() {
    const { seen, hooks } = listening(["UserPromptSubmit", "Stop", "MessageDisplay"]);
    await ask("hello there", { hooks });
    const find = (name) => seen.find((one) => one.hook_event_name === name);
    assert.equal(find("UserPromptSubmit").prompt, "hello there");
    fields(find("Stop"), "stop_hook_active", "last_assistant_message", "background_tasks", "session_crons");
    assert.equal(find("Stop").last_assistant_message, "You said: hello there");
    fields(find("MessageDisplay"));
    const failed = listening(["StopFailure"]);
    await ask(give({ fail: 400 }), { hooks: failed.hooks });
    assert.deepEqual(failed.names(), ["StopFailure"]);
    const block = hooked("UserPromptSubmit", says([], { decision: "block", reason: "not that" }));
    assert.deepEqual(blocks(await ask("secret", { hooks: block }), "text"), []);
    const stop = hooked("PostToolUse", says([], { continue: false, stopReason: "enough" }));
    const end = result(await ask(give(bash("echo hi")), { hooks: stop, allowedTools: ["Bash"] }));
    assert.equal(end.terminal_reason, "hook_stopped");
  },
  async "sessions begin and end"() {
    put("CLAUDE.md", "The project is about bees.");
    const { seen, hooks, names } = listening(["SessionStart", "SessionEnd", "InstructionsLoaded", "Setup"]);
    await conversation({ hooks, extraArgs: { init: null } }, async (_, turn) => {
      await turn("hello");
      await turn("/clear");
    });
    for (const name of ["Setup", "SessionStart", "InstructionsLoaded"]) assert.ok(names().includes(name), names());
    assert.ok(seen.some((one) => one.hook_event_name === "SessionEnd" && one.reason === "clear"), names());
    assert.ok(seen.some((one) => one.hook_event_name === "SessionStart" && one.source === "clear"), names());
    const loaded = seen.find((one) => one.hook_event_name === "InstructionsLoaded");
    fields(loaded, "file_path", "memory_type", "load_reason");
  },
  async "commands of the project"() {
    put(".claude/commands/shout.md", "Shout $ARGUMENTS.\n");
    const { seen, hooks } = listening(["UserPromptExpansion"]);
    await ask("/shout hey", { hooks });
    assert.equal(seen.length, 1);
    fields(seen[0]);
    assert.match(JSON.stringify(seen[0]), /shout/);
  },
  async "agents come and go"() {
    const { seen, hooks } = listening(["SubagentStart", "SubagentStop"]);
    const messages = await ask(agent("hello"), { hooks, agents: HELPER, allowedTools: ["Agent"] });
    const [task] = system(messages, "task_started");
    assert.deepEqual(seen.map((one) => one.agent_id), [task.task_id, task.task_id]);
    fields(seen[1], "agent_transcript_path", "last_assistant_message", "stop_hook_active", "agent_type");
  },
  async "worktrees come and go"() {
    const made = sh(`git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m start`);
    assert.equal(made.status, 0);
    const { names, hooks } = listening(["WorktreeRemove"]);
    const inner = give(bash("pwd"));
    const more = { hooks, agents: HELPER, allowedTools: ["Agent", "Bash"] };
    const plain = result(await ask(agent(inner, { isolation: "worktree" }), more));
    assert.doesNotMatch(plain.result, new RegExp(`${fs.realpathSync(".")}$`, "m"));
    const place = path.resolve("../tree");
    fs.mkdirSync(place, { recursive: true });
    const output = { hookEventName: "WorktreeCreate", worktreePath: place };
    const seen = [];
    const create = { ...hooks, ...hooked("WorktreeCreate", says(seen, { hookSpecificOutput: output })) };
    const end = result(await ask(agent(inner, { isolation: "worktree" }), { ...more, hooks: create }));
    assert.ok(end.result.includes(fs.realpathSync(place)), end.result);
    assert.deepEqual([seen.length, names()], [1, ["WorktreeRemove"]]);
  },
  async summaries() {
    const { seen, hooks } = listening(["PreCompact", "PostCompact"]);
    await conversation({ hooks }, async (_, turn) => {
      await turn("a long story");
      await turn("/compact keep the names");
    });
    assert.deepEqual(seen.map((one) => [one.hook_event_name, one.trigger]), [["PreCompact", "manual"], ["PostCompact", "manual"]]);
    assert.equal(seen[0].custom_instructions, "keep the names");
  },
  async "models are switched"() {
    const { seen, hooks, names } = listening(["PreModelSwitch", "PostModelSwitch"]);
    await conversation({ hooks, model: "claude-sonnet-4-5" }, async (query, turn) => {
      await turn("hello");
      await query.setModel("claude-opus-4-1");
      await turn("hello");
    });
    assert.ok(names().includes("PostModelSwitch"), JSON.stringify(seen));
  },
  async "permissions are asked for"() {
    const { seen, hooks, names } = listening(["PermissionRequest", "Notification"]);
    const canUseTool = async (_, input) => ({ behavior: "allow", updatedInput: input });
    await ask(give(WRITE("asked.txt")), { hooks, canUseTool });
    assert.ok(names().includes("PermissionRequest") && names().includes("Notification"), names());
    fields(seen.find((one) => one.hook_event_name === "Notification"), "message", "notification_type");
    const allow = { hookEventName: "PermissionRequest", decision: { behavior: "allow" } };
    const yes = hooked("PermissionRequest", says([], { hookSpecificOutput: allow }));
    assert.equal(result(await ask(give(WRITE("yes.txt")), { hooks: yes })).permission_denials.length, 0);
  },
  async "tasks are kept"() {
    const { hooks, names } = listening(["TaskCreated", "TaskCompleted"]);
    await conversation({ hooks }, async (_, turn) => {
      await turn(give({ tool: "TaskCreate", input: { subject: "Bake", description: "Bake a cake" } }));
      await turn(give({ tool: "TaskUpdate", input: { taskId: "1", status: "completed" } }));
    });
    assert.deepEqual(names(), ["TaskCreated", "TaskCompleted"]);
  },
  async "places change"() {
    fs.mkdirSync("deeper", { recursive: true });
    const { hooks, seen } = listening(["CwdChanged"]);
    await ask(give(bash("cd deeper")), { hooks, allowedTools: ["Bash"] });
    assert.equal(seen.length, 1);
    assert.match(JSON.stringify(seen[0]), /deeper/);
    const other = fs.mkdtempSync(path.join(os.tmpdir(), "added-"));
    const added = listening(["DirectoryAdded"]);
    const more = { type: "addDirectories", directories: [other], destination: "session" };
    const canUseTool = async (_, input) => ({ behavior: "allow", updatedInput: input, updatedPermissions: [more] });
    await ask(give(WRITE(path.join(other, "x.txt"))), { hooks: added.hooks, canUseTool });
    assert.equal(added.seen.length, 1);
    fs.rmSync(other, { recursive: true });
  },
  async "files change"() {
    const told = signal();
    const seen = [];
    const changed = async (input) => {
      seen.push(input);
      told.keep();
      return {};
    };
    put("watched.txt", "before");
    const hooks = {
      ...hooked("SessionStart", async () => ({
        hookSpecificOutput: { hookEventName: "SessionStart", watchPaths: [path.resolve("watched.txt")] },
      })),
      ...hooked("FileChanged", changed),
    };
    await conversation({ hooks }, async (_, turn) => {
      await turn("hello");
      put("watched.txt", "after");
      await told.kept;
    });
    assert.match(seen[0].file_path, /watched\.txt$/);
  },
  async "settings change"() {
    put(".claude/settings.json", "{}");
    trust(".");
    const told = signal();
    const hooks = hooked("ConfigChange", async (input) => (told.keep(input), {}));
    await conversation({ hooks }, async (_, turn) => {
      await turn("hello");
      put(".claude/settings.json", '{"cleanupPeriodDays": 9}');
      const given = await told.kept;
      fields(given, "source");
    });
    fs.rmSync(".claude/settings.json");
  },
  async failing() {
    const broken = async () => {
      throw new Error("broken hook");
    };
    const order = (file) => give(bash(`touch ${file}`));
    const soft = await ask(order("soft"), { hooks: hooked("PreToolUse", broken), allowedTools: ["Bash"] });
    assert.ok(exists("soft"));
    assert.match(JSON.stringify(system(soft, "informational")), /broken hook/);
    const hard = hooked("PreToolUse", broken, { onFailure: "block" });
    await ask(order("hard"), { hooks: hard, allowedTools: ["Bash"] });
    const slow = hooked("PreToolUse", () => new Promise(() => {}), { timeout: 0.2 });
    await ask(order("slow"), { hooks: slow, allowedTools: ["Bash"] });
    assert.deepEqual([exists("hard"), exists("slow")], [false, false]);
  },
  async "put off"() {
    const output = { hookEventName: "PreToolUse", permissionDecision: "defer" };
    const hooks = hooked("PreToolUse", says([], { hookSpecificOutput: output }));
    const end = result(await ask(give(bash("touch later")), { hooks, allowedTools: ["Bash"] }));
    assert.deepEqual([end.stop_reason, end.deferred_tool_use.name, exists("later")], ["tool_deferred", "Bash", false]);
  },
  async "for commands, told on demand"() {
    const command = { type: "command", command: "echo noted" };
    const settings = { hooks: { PreToolUse: [{ matcher: "Bash", hooks: [command] }] } };
    const more = { settings, allowedTools: ["Bash"] };
    const told = await ask(give(bash("echo hi")), { ...more, includeHookEvents: true });
    assert.equal(system(told, "hook_started").length, 1);
    const [response] = system(told, "hook_response");
    assert.deepEqual([response.stdout.trim(), response.exit_code], ["noted", 0]);
    assert.deepEqual(system(await ask(give(bash("echo hi")), more), "hook_started"), []);
  },
});
