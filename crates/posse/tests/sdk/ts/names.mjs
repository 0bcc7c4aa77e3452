// Everything the SDK offers that posse has a part in, one line of JSON per kind: what `coverage.txt` must speak of.

import fs from "node:fs";
import path from "node:path";

import { sdk } from "./common.mjs";

const folder = path.join(process.env.POSSE_TEST_SDK, "node_modules/@anthropic-ai/claude-agent-sdk");
const types = fs.readFileSync(path.join(folder, "sdk.d.ts"), "utf8");

/** The names on the first level of a declaration. */
function members(start, pattern) {
  const from = types.indexOf(start);
  const body = types.slice(from, types.indexOf("\n}", from));
  return [...new Set([...body.matchAll(pattern)].map((found) => found[1]))];
}

const kinds = {
  options: members("export declare type Options = {", /^ {4}(\w+)\??: /gm),
  agents: members("export declare type AgentDefinition = {", /^ {4}(\w+)\??: /gm),
  query: members("export declare interface Query ", /^ {4}(\w+)\(/gm),
  events: [...sdk.HOOK_EVENTS],
  messages: /export declare type SDKMessage = ([^;]+);/.exec(types)[1].split(" | "),
  functions: Object.keys(sdk).filter((name) => /^[a-z]/.test(name) && typeof sdk[name] === "function"),
};
for (const [kind, names] of Object.entries(kinds)) {
  if (!names.length) throw new Error(kind);
  console.log(JSON.stringify({ kind, names }));
}
