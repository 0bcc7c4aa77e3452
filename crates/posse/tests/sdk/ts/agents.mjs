// Agents that the program defines.

import assert from "node:assert/strict";

import {
  give, ask, results, system, blocks, result, echo, whole, init, bash, put, says, hooked, main,
} from "./common.mjs";

const agent = (prompt, more = {}) =>
  give({ tool: "Agent", id: "toolu_agent", input: { description: "help", prompt, subagent_type: "one", run_in_background: false, ...more } });

/** A part of the request that an agent makes. */
async function inside(pointer, definition, more = {}) {
  const agents = { one: { description: "Does one thing", prompt: "You are one.", ...definition } };
  const messages = await ask(agent(give({ echo: pointer })), { agents, allowedTools: ["Agent"], ...more });
  return JSON.stringify(blocks(messages, "tool_result")[0].content);
}

await main({
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
  async "what they are"() {
    assert.match(await inside("/system", {}), /You are one\./);
    assert.match(await inside("/model", { model: "haiku" }), /haiku/);
    const tools = await inside("/tools", { tools: ["Read"] });
    assert.ok(tools.includes("Read") && !tools.includes("Bash"));
    assert.ok(!(await inside("/tools", { disallowedTools: ["WebFetch"] })).includes("WebFetch"));
    assert.match(await inside("/output_config", { effort: "low" }), /low/);
    put(".claude/skills/bake/SKILL.md", "---\nname: bake\ndescription: How to bake.\n---\nUse butter.\n");
    assert.match(await inside("/messages", { skills: ["bake"] }), /Use butter\./);
    put("CLAUDE.md", "The project is about bees.");
    assert.match(await inside("/messages", {}), /about bees/);
    assert.doesNotMatch(await inside("/messages", { omitClaudeMd: true }), /about bees/);
  },
  async "what they say"() {
    const agents = { one: { description: "One", prompt: "You are one.", tools: ["Bash"] } };
    const order = agent(give(bash("echo inner")));
    const more = { agents, allowedTools: ["Agent", "Bash"] };
    const texts = (messages) =>
      blocks(messages.filter((one) => one.type === "assistant" && one.parent_tool_use_id === "toolu_agent"), "text");
    assert.deepEqual(texts(await ask(order, more)), []);
    assert.match(texts(await ask(order, { ...more, forwardSubagentText: true }))[0].text, /inner/);
  },
  async "in the background"() {
    const agents = { one: { description: "One", prompt: "You are one.", background: true } };
    const hooks = hooked("Notification", says([]));
    const order = agent(give({ text: "found it" }), { run_in_background: undefined });
    const messages = await ask(order, { agents, hooks, allowedTools: ["Agent"] });
    assert.equal(system(messages, "task_started")[0].is_backgrounded, true);
    assert.equal(system(messages, "task_notification")[0].status, "completed");
    const counts = system(messages, "background_tasks_changed").map((one) => one.tasks.length);
    assert.deepEqual(counts, [1, 0]);
    assert.match(JSON.stringify(results(messages).map((end) => end.result)), /found it/);
  },
  async "for everything"() {
    const agents = { boss: { description: "Leads", prompt: "You lead.", tools: ["Read"], initialPrompt: "Go.", model: "haiku" } };
    const more = { agents, agent: "boss" };
    assert.match(await whole("/system", more), /You lead\./);
    assert.match(await whole("/messages", more), /Go\./);
    assert.match(await echo("/model", more), /haiku/);
  },
  async "from files"() {
    put(".claude/agents/filed.md", "---\nname: filed\ndescription: From a file\n---\nYou are filed.\n");
    assert.ok(init(await ask("hi", { settingSources: ["project"] })).agents.includes("filed"));
    assert.ok(!init(await ask("hi", { settingSources: [] })).agents.includes("filed"));
  },
}, {
  async "how far they are"() {
    const agents = { one: { description: "One", prompt: "You are one.", tools: ["Bash"] } };
    const more = { agents, allowedTools: ["Agent", "Bash"], agentProgressSummaries: true };
    const messages = await ask(agent(give(bash("echo inner"))), more);
    assert.ok(system(messages, "task_progress").some((one) => one.summary));
  },
});
