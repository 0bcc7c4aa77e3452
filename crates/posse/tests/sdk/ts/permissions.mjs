// Who decides whether a tool is used.

import assert from "node:assert/strict";
import fs from "node:fs";

import {
  sdk, z, give, ask, result, init, bash, put, exists, signal, conversation, WRITE, main,
} from "./common.mjs";

await main({
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
  async "what is told"() {
    const seen = [];
    const canUseTool = async (tool, input, context) => {
      seen.push([tool, input, context]);
      return { behavior: "allow", updatedInput: input };
    };
    const outside = put("../outside.txt", "outside");
    await ask(give({ tool: "Read", input: { file_path: outside } }), { canUseTool });
    const [[tool, , context]] = seen;
    assert.deepEqual([tool, context.blockedPath, context.toolUseID], ["Read", outside, "toolu_0"]);
    assert.ok(context.title && context.displayName && context.signal instanceof AbortSignal && context.requestId);
    const order = { tool: "Bash", input: { command: "touch told", description: "Makes a file" } };
    await ask(give(order), { canUseTool });
    assert.ok(seen[1][2].suggestions.some((one) => one.type === "addRules"));
    assert.equal(seen[1][2].description, "Makes a file");
  },
  async remembered() {
    const asked = [];
    const rule = { type: "addRules", rules: [{ toolName: "Bash", ruleContent: "touch:*" }], behavior: "allow" };
    const canUseTool = async (tool, input) => {
      asked.push(tool);
      return { behavior: "allow", updatedInput: input, updatedPermissions: [{ ...rule, destination: "session" }] };
    };
    await conversation({ canUseTool }, async (_, turn) => {
      await turn(give(bash("touch one")));
      await turn(give(bash("touch two")));
    });
    assert.deepEqual([asked, exists("one"), exists("two")], [["Bash"], true, true]);
  },
  async broken() {
    const canUseTool = async () => {
      throw new Error("my mistake");
    };
    assert.match(result(await ask(give(WRITE("b.txt")), { canUseTool })).result, /my mistake/);
  },
  async "taken back"() {
    const asked = signal();
    let aborted = signal();
    const canUseTool = async (_tool, _input, context) => {
      context.signal.addEventListener("abort", aborted.keep);
      asked.keep();
      await aborted.kept;
      return { behavior: "deny", message: "too late" };
    };
    await conversation({ canUseTool }, async (query, turn) => {
      const stopping = asked.kept.then(() => query.interrupt());
      const end = result(await turn(give(WRITE("never.txt"))));
      await stopping;
      assert.deepEqual([end.subtype, end.terminal_reason], ["error_during_execution", "aborted_tools"]);
      assert.equal(result(await turn("on")).result, "You said: on");
    });
  },
  async "a tool that decides"() {
    const asked = [];
    const shape = { tool_name: z.string(), input: z.record(z.string(), z.any()), tool_use_id: z.string().optional() };
    const decide = sdk.tool("decide", "Decides", shape, async ({ tool_name, input }) => {
      asked.push(tool_name);
      return { content: [{ type: "text", text: JSON.stringify({ behavior: "allow", updatedInput: input }) }] };
    });
    const judge = sdk.createSdkMcpServer({ name: "judge", tools: [decide] });
    const more = { mcpServers: { judge }, permissionPromptToolName: "mcp__judge__decide" };
    await ask(give(WRITE("decided.txt")), more);
    assert.deepEqual([asked, exists("decided.txt")], [["Write"], true]);
  },
  async plans() {
    const mode = { type: "setMode", mode: "acceptEdits", destination: "session" };
    const canUseTool = async (_, input) => ({ behavior: "allow", updatedInput: input, updatedPermissions: [mode] });
    await conversation({ canUseTool, permissionMode: "plan" }, async (_, turn) => {
      await turn(give({ tool: "ExitPlanMode", input: { plan: "1. Write it." } }));
      const later = await turn(give(WRITE("planned.txt")));
      assert.equal(init(later).permissionMode, "acceptEdits");
    });
    assert.ok(exists("planned.txt"));
  },
});
