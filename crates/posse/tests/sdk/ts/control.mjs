// What a program can ask of a session while it runs.

import assert from "node:assert/strict";
import fs from "node:fs";

import {
  sdk, give, options, system, result, echo, init, bash, put, read, exists, appeared, signal, says, hooked,
  line, conversation, WRITE, main,
} from "./common.mjs";

await main({
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
  async "asked in vain"() {
    await conversation({}, async (query, turn) => {
      await turn("hello");
      await assert.rejects(query.reconnectMcpServer("x"), /Server not found: x/);
      const context = await query.getContextUsage();
      assert.equal(context.totalTokens, 15);
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
  async "what it begins with"() {
    const agents = { helper: { description: "Helps", prompt: "You help.", model: "haiku" } };
    await conversation({ agents, permissionMode: "plan" }, async (query, turn) => {
      const first = await query.initializationResult();
      assert.ok(first.models.length && first.commands && first.output_style && first.available_output_styles.length);
      assert.equal(first.current_permission_mode, "plan");
      assert.ok((await query.supportedAgents()).some((one) => one.name === "helper" && one.model === "haiku"));
      const account = await query.accountInfo();
      assert.equal(account.apiKeySource, "ANTHROPIC_API_KEY");
      for (const model of await query.supportedModels()) assert.ok(model.value && model.displayName);
      await turn("hello");
    });
  },
  async "greeted again"() {
    const seen = [];
    await conversation({ hooks: hooked("UserPromptSubmit", says(seen)) }, async (query, turn) => {
      await turn("one");
      const again = await query.reinitialize();
      assert.deepEqual([again.hooks_applied, again.pending_permission_requests ?? []], [true, []]);
      await turn("two");
    });
    assert.deepEqual(seen.map((one) => one.prompt), ["one", "two"]);
  },
  async "more to say"() {
    const said = line();
    const query = sdk.query({ prompt: said.prompts, options: options() });
    const heard = [];
    const next = async () => {
      for (;;) {
        const { value } = await query.next();
        heard.push(value);
        if (value.type === "result") return value.result;
      }
    };
    said.put("one");
    assert.equal(await next(), "You said: one");
    await query.streamInput(
      (async function* () {
        yield { type: "user", message: { role: "user", content: "two" }, parent_tool_use_id: null };
      })(),
    );
    assert.equal(await next(), "You said: two");
    query.close();
    said.end();
  },
  async "without an answer"() {
    await conversation({}, async (_, turn) => {
      const quiet = result(await turn("know this", undefined, { shouldQuery: false }));
      assert.deepEqual([quiet.num_turns, quiet.subtype], [0, "success"]);
      assert.equal(result(await turn("and answer")).result, "You said: know this\nand answer");
    });
  },
  async "interrupts and what waits"() {
    const uuid = "dddddddd-2222-4333-8444-555555555555";
    const asked = signal();
    const canUseTool = async () => {
      asked.keep();
      return new Promise(() => {});
    };
    const said = line();
    const query = sdk.query({ prompt: said.prompts, options: options({ canUseTool }) });
    said.put(give(WRITE("never.txt")));
    const ends = [];
    const queued = signal();
    const reading = (async () => {
      for await (const message of query) {
        if (message.type === "command_lifecycle" && message.state === "queued") queued.keep();
        if (message.type !== "result") continue;
        ends.push(message);
        if (ends.length === 2) return;
      }
    })();
    await asked.kept;
    said.put("waits", { uuid });
    await queued.kept;
    assert.deepEqual((await query.interrupt()).still_queued, [uuid]);
    await reading;
    assert.equal(ends[0].terminal_reason, "aborted_tools");
    assert.equal(ends[1].result, "You said: waits");
    said.end();
    query.close();
  },
  async "how full it is"() {
    await conversation({}, async (query, turn) => {
      await turn("hello");
      for (const detail of ["summary", "full"]) {
        const usage = await query.getContextUsage({ detail });
        const names = ["categories", "totalTokens", "maxTokens", "rawMaxTokens", "percentage", "model", "gridRows"];
        for (const name of [...names, "memoryFiles", "mcpTools", "agents", "apiUsage"]) assert.ok(name in usage, name);
        assert.ok(usage.categories.every((one) => one.name && Number.isFinite(one.tokens)));
      }
    });
  },
  async "sent to the background"() {
    const agents = { helper: { description: "Helps", prompt: "You help.", tools: ["Bash", "Write"] } };
    await conversation({ allowedTools: ["Agent", "Bash"], agents }, async (query, turn) => {
      assert.equal(await query.backgroundTasks("toolu_nobody"), false);
      const prompt = give(bash("touch working; while [ ! -e go ]; do sleep 0.01; done"));
      const input = { description: "help", prompt, subagent_type: "helper", run_in_background: false };
      const sending = appeared("working").then(() => query.backgroundTasks("toolu_agent"));
      const messages = await turn(give({ tool: "Agent", input, id: "toolu_agent" }));
      assert.equal(await sending, true);
      const [task] = system(messages, "task_started");
      await query.stopTask(task.task_id);
      for (;;) {
        const { value } = await query.next();
        if (value.subtype !== "task_notification") continue;
        assert.deepEqual([value.task_id, value.status], [task.task_id, "stopped"]);
        return;
      }
    });
  },
  async "stopped one by one"() {
    const agents = { helper: { description: "Helps", prompt: "You help.", tools: ["Bash", "Write"], background: true } };
    for (const [perTaskStopAffordance, spared] of [[true, true], [false, false]]) {
      const more = { agents, allowedTools: ["Agent", "Bash"], perTaskStopAffordance };
      await conversation(more, async (query, turn) => {
        const mark = `spared-${spared}`;
        const prompt = give(bash(`touch ${mark}; while [ ! -e ${mark}-go ]; do sleep 0.01; done`));
        const input = { description: "help", prompt, subagent_type: "helper", run_in_background: true };
        await turn(give({ tool: "Agent", input }));
        await appeared(mark);
        await query.interrupt();
        if (spared) put(`${mark}-go`, "");
        for (;;) {
          const { value } = await query.next();
          if (value.subtype !== "task_notification") continue;
          assert.equal(value.status, spared ? "completed" : "stopped");
          return;
        }
      });
    }
  },
  async "started ahead"() {
    const warm = await sdk.startup({ options: options() });
    const messages = [];
    for await (const message of warm.query("hello")) messages.push(message);
    assert.equal(result(messages).result, "You said: hello");
    const unused = await sdk.startup({ options: options() });
    unused.close();
  },
  async closed() {
    const query = sdk.query({ prompt: give(bash("touch open; echo $$ > pid; sleep 600")), options: options({ allowedTools: ["Bash"] }) });
    const reading = (async () => {
      for await (const _ of query);
    })().catch(() => {});
    await appeared("open");
    query.close();
    await reading;
    const pid = read("pid").trim();
    while (exists(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 10));
  },
  async "thoughts on the way"() {
    await conversation({}, async (query, turn) => {
      await query.setMaxThinkingTokens(3000, "omitted");
      const thinking = JSON.parse(result(await turn(give({ echo: "/thinking" }))).result);
      assert.deepEqual([thinking.budget_tokens, thinking.display], [3000, "omitted"]);
      await query.setMaxThinkingTokens(null);
      const later = JSON.parse(result(await turn(give({ echo: "/thinking" }))).result);
      assert.notEqual(later?.budget_tokens, 3000);
    });
  },
  async "settings on the way"() {
    await conversation({ model: "claude-sonnet-4-5" }, async (query, turn) => {
      assert.equal(result(await turn(give(WRITE("flag.txt")))).permission_denials.length, 1);
      await query.applyFlagSettings({ permissions: { allow: ["Write"] } });
      assert.equal(result(await turn(give(WRITE("flag.txt")))).permission_denials.length, 0);
      await query.applyFlagSettings({ model: "claude-opus-4-1", effortLevel: "low" });
      assert.equal(result(await turn(give({ echo: "/model" }))).result, '"claude-opus-4-1"');
      assert.equal(result(await turn(give({ echo: "/output_config/effort" }))).result, '"low"');
    });
  },
  async "files read for the program"() {
    put("shown.txt", "shown");
    await conversation({}, async (query, turn) => {
      await turn("hi");
      const file = await query.readFile("shown.txt");
      assert.deepEqual([file.contents, file.absPath, file.lossy], ["shown", fs.realpathSync("shown.txt"), false]);
      const cut = await query.readFile("shown.txt", { maxBytes: 2 });
      assert.deepEqual([cut.contents, cut.truncated], ["sh", true]);
      const coded = await query.readFile("shown.txt", { encoding: "base64" });
      assert.equal(Buffer.from(coded.contents, "base64").toString(), "shown");
      assert.equal(await query.readFile("nowhere.txt"), null);
    });
  },
  async "taken for read"() {
    const file = put("seeded.txt", "old");
    await conversation({ permissionMode: "acceptEdits" }, async (query, turn) => {
      await turn("hi");
      await query.seedReadState(file, Math.floor(fs.statSync(file).mtimeMs));
      const edit = { file_path: file, old_string: "old", new_string: "new" };
      await turn(give({ tool: "Edit", input: edit }));
    });
    assert.equal(read("seeded.txt"), "new");
  },
  async "what was spent"() {
    await conversation({}, async (query, turn) => {
      await turn("hi");
      const usage = await query.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET({ skipBehaviors: true });
      assert.ok(usage.session.total_cost_usd > 0);
      assert.equal(usage.rate_limits_available, false);
    });
  },
  async "a model during a turn"() {
    await conversation({ model: "claude-sonnet-4-5", allowedTools: ["Bash"] }, async (query, turn) => {
      const switching = appeared("switching").then(() => query.setModel("claude-opus-4-1")).then(() => put("switched", ""));
      const messages = await turn(give(bash("touch switching; while [ ! -e switched ]; do sleep 0.01; done; echo 'do: [{\"echo\": \"/model\"}]'")));
      await switching;
      const models = messages.filter((one) => one.type === "assistant").map((one) => one.message.model);
      assert.ok(models.length > 1, models);
    });
  },
  async "settings written down"() {
    await conversation({}, async (query, turn) => {
      await turn("hi");
      await query.updateSettings("localSettings", { outputStyle: "default" });
      assert.equal(JSON.parse(read(".claude/settings.local.json")).outputStyle, "default");
      await assert.rejects(query.updateSettings("localSettings", { permissions: { allow: ["Bash"] } }));
    });
  },
  async "read again"() {
    await conversation({}, async (query, turn) => {
      await turn("hi");
      put(".claude/skills/bake/SKILL.md", "---\nname: bake\ndescription: How to bake.\n---\nBake.\n");
      assert.ok((await query.reloadSkills()).skills.some((one) => one.name === "bake"));
      assert.ok((await query.reloadOutputStyles()).available_output_styles.includes("default"));
      const plugins = await query.reloadPlugins();
      assert.deepEqual([plugins.plugins, plugins.error_count], [[], 0]);
      assert.ok(init(await turn("hi")).skills.includes("bake"));
    });
  },
});
