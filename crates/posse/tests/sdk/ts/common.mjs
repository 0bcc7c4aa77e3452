// What the checks with the Claude Agent SDK for TypeScript share: how posse is asked, and how answers are looked at.
// Every program beside this one checks one area and prints one line of JSON per check.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const from = createRequire(path.join(process.env.POSSE_TEST_SDK, "package.json"));
const load = (name) => import(pathToFileURL(from.resolve(name)).href);
export const sdk = await load("@anthropic-ai/claude-agent-sdk");
export const { z } = await load("zod");

export const give = (...orders) => `do: ${JSON.stringify(orders)}`;
export const complaints = [];

export function options(more = {}) {
  const stderr = (text) => complaints.push(text);
  return { pathToClaudeCodeExecutable: process.env.POSSE, cwd: process.cwd(), stderr, ...more };
}

/** Every message of one question; an error result does not throw. */
export async function ask(prompt, more) {
  const messages = [];
  try {
    for await (const message of sdk.query({ prompt, options: options(more) })) messages.push(message);
  } catch (error) {
    if (!messages.some((message) => message.type === "result" && message.is_error)) throw error;
  }
  return messages;
}

/** What a start that is refused says. */
export async function refusal(more, prompt = "hi") {
  try {
    for await (const _ of sdk.query({ prompt, options: options(more) }));
  } catch (error) {
    return String(error);
  }
  throw new Error("the start must be refused");
}

export const results = (messages) => messages.filter((message) => message.type === "result");
export const system = (messages, subtype) =>
  messages.filter((message) => message.type === "system" && message.subtype === subtype);
export const blocks = (messages, type) =>
  messages
    .filter((message) => message.type === "assistant" || message.type === "user")
    .flatMap((message) => (Array.isArray(message.message.content) ? message.message.content : []))
    .filter((block) => block.type === type);

export function result(messages) {
  const all = results(messages);
  assert.equal(all.length, 1);
  return all[0];
}

export const echo = async (pointer, more) => JSON.parse(result(await ask(give({ echo: pointer }), more)).result);

/** A part of what the model gets, as text. */
export const whole = async (pointer, more, prompt = "") =>
  result(await ask(prompt + give({ echo: pointer }), more)).result;

export const init = (messages) => system(messages, "init")[0];

export const bash = (command) => ({ tool: "Bash", input: { command } });

/** Writes a file below the project. */
export function put(file, text) {
  fs.mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  fs.writeFileSync(file, text);
  return path.resolve(file);
}

export const read = (file) => fs.readFileSync(file, "utf8");
export const exists = (file) => fs.existsSync(file);

/** What a folder brings along counts only if somebody trusts it. */
export function trust(folder) {
  const projects = { [fs.realpathSync(folder)]: { hasTrustDialogAccepted: true } };
  put(`${process.env.CLAUDE_CONFIG_DIR}/.claude.json`, JSON.stringify({ projects }));
}

/** Waits for something that another process writes. Who calls has a limit. */
export async function appeared(file) {
  while (!fs.existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** A promise, and what keeps it. */
export function signal() {
  let keep;
  const kept = new Promise((resolve) => (keep = resolve));
  return { kept, keep };
}

/** A hook that notes what it is told and always answers the same. */
export const says =
  (seen, output = {}) =>
  async (input, id) => {
    seen.push({ ...input, id });
    return output;
  };

export const hooked = (event, hook, more = {}) => ({ [event]: [{ hooks: [hook], ...more }] });

export const SERVER = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../server.py");

/** Prompts that are said one after the other, as answers come. */
export function line() {
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

export async function conversation(more, talk) {
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

export const WRITE = (file, content = "") => ({ tool: "Write", input: { file_path: file, content } });


/** Runs checks. What posse does not do yet stands in `later` and is only named, unless everything is wanted. */
export async function main(checks, later = {}) {
  const all = process.env.POSSE_TEST_LATER ? { ...checks, ...later } : checks;
  for (const [name, check] of Object.entries(all)) {
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
  if (all === checks) Object.keys(later).forEach((name) => console.error(`later: ${name}`));
  process.exit(0);
}
