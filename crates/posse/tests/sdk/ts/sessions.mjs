// Conversations that are gone back to, on disk and in stores.

import assert from "node:assert/strict";
import fs from "node:fs";

import {
  sdk, give, ask, refusal, system, result, echo, bash, put, appeared, signal, conversation, main,
} from "./common.mjs";

const dir = process.cwd();
const first = async (more) => result(await ask("remember this", more)).session_id;
const said = async (session) => (await sdk.getSessionMessages(session, { dir })).map((message) => message.type);
const AGENTS = { helper: { description: "Helps", prompt: "You help.", tools: ["Bash"] } };
const inner = { description: "help", prompt: give(bash("echo inner")), subagent_type: "helper", run_in_background: false };
const WITH_AGENT = [give({ tool: "Agent", input: inner }), { agents: AGENTS, allowedTools: ["Agent", "Bash"] }];

await main({
  async resumed() {
    const session = await first();
    assert.equal(result(await ask("more", { resume: session })).session_id, session);
    assert.equal(result(await ask("and more", { continue: true })).session_id, session);
    assert.equal((await said(session)).length, 6);
    const copy = result(await ask("elsewhere", { resume: session, forkSession: true })).session_id;
    assert.notEqual(copy, session);
    assert.deepEqual([(await said(session)).length, (await said(copy)).length], [6, 8]);
    assert.match(await refusal({ resume: "99999999-2222-4333-8444-555555555555" }), /No conversation found/);
  },
  async named() {
    const sessionId = "11111111-2222-4333-8444-555555555555";
    assert.equal(result(await ask("hi", { sessionId })).session_id, sessionId);
    await refusal({ sessionId });
    const other = "22222222-2222-4333-8444-555555555555";
    const copy = result(await ask("on", { resume: sessionId, forkSession: true, sessionId: other }));
    assert.equal(copy.session_id, other);
  },
  async cut() {
    const session = await first();
    const kept = (await sdk.getSessionMessages(session, { dir })).at(-1).uuid;
    await ask("forget this", { resume: session });
    const dropped = (await sdk.getSessionMessages(session, { dir }))[2].uuid;
    const both = { resume: session, resumeSessionAt: kept, forkSession: true };
    assert.equal((await echo("/messages", both)).length, 3);
    assert.equal((await echo("/messages", { ...both, resumeDropsTurn: dropped })).length, 3);
    assert.match(await refusal({ ...both, resumeDropsTurn: kept }), /Resume rejected by --resume-drops-turn:/);
  },
  async "looked up"() {
    const session = await first();
    const info = await sdk.getSessionInfo(session, { dir });
    assert.deepEqual([info.sessionId, info.firstPrompt, info.cwd], [session, "remember this", fs.realpathSync(dir)]);
    assert.ok(info.lastModified > 0 && info.fileSize > 0 && info.summary);
    assert.ok((await sdk.listSessions({ dir })).some((one) => one.sessionId === session));
    assert.ok((await sdk.listSessions()).some((one) => one.sessionId === session));
    assert.deepEqual(await said(session), ["user", "assistant"]);
    const page = await sdk.getSessionMessages(session, { dir, limit: 1, offset: 1 });
    assert.deepEqual(page.map((one) => one.type), ["assistant"]);
  },
  async "changed from outside"() {
    const session = await first();
    await sdk.renameSession(session, "A better name", { dir });
    await sdk.tagSession(session, "kept", { dir });
    await ask("go on", { resume: session });
    const info = await sdk.getSessionInfo(session, { dir });
    assert.deepEqual([info.customTitle, info.tag], ["A better name", "kept"]);
    assert.equal(result(await ask("by name", { resume: "A better name" })).session_id, session);
    await sdk.tagSession(session, null, { dir });
    assert.equal((await sdk.getSessionInfo(session, { dir })).tag, undefined);
    const upToMessageId = (await sdk.getSessionMessages(session, { dir }))[1].uuid;
    const { sessionId } = await sdk.forkSession(session, { dir, upToMessageId, title: "Half" });
    assert.equal((await echo("/messages", { resume: sessionId })).length, 3);
    await sdk.archiveSession(session, { dir });
    await sdk.unarchiveSession(session, { dir });
    assert.equal(result(await ask("on", { resume: session })).session_id, session);
    await sdk.deleteSession(sessionId, { dir });
    assert.equal(await sdk.getSessionInfo(sessionId, { dir }), undefined);
  },
  async "of agents"() {
    const messages = await ask(...WITH_AGENT);
    const session = result(messages).session_id;
    const [task] = system(messages, "task_started");
    assert.deepEqual(await sdk.listSubagents(session, { dir }), [task.task_id]);
    const heard = await sdk.getSubagentMessages(session, task.task_id, { dir });
    assert.match(JSON.stringify(heard), /inner/);
  },
  async stored() {
    const sessionStore = new sdk.InMemorySessionStore();
    const session = await first({ sessionStore });
    const there = await sdk.getSessionMessages(session, { dir, sessionStore });
    const disk = await sdk.getSessionMessages(session, { dir });
    assert.deepEqual(there.map((one) => one.uuid), disk.map((one) => one.uuid));
    await sdk.deleteSession(session, { dir });
    assert.equal((await echo("/messages", { sessionStore, resume: session })).length, 3);
    assert.equal((await echo("/messages", { sessionStore, continue: true })).length, 5);
    const [prompt, more] = WITH_AGENT;
    const other = result(await ask(prompt, { ...more, sessionStore })).session_id;
    assert.equal((await sdk.listSubagents(other, { dir, sessionStore })).length, 1);
  },
  async "stored as it happens"() {
    const sessionStore = new sdk.InMemorySessionStore();
    const appended = signal();
    const append = sessionStore.append.bind(sessionStore);
    sessionStore.append = async (key, entries) => {
      await append(key, entries);
      appended.keep();
    };
    const more = { sessionStore, sessionStoreFlush: "eager", allowedTools: ["Bash"] };
    await conversation(more, async (_, turn) => {
      const going = appeared("began").then(() => appended.kept).then(() => put("go", ""));
      await turn(give(bash("touch began; while [ ! -e go ]; do sleep 0.01; done")));
      await going;
    });
  },
  async "a store that fails"() {
    const sessionStore = new sdk.InMemorySessionStore();
    const session = await first({ sessionStore });
    sessionStore.load = () => new Promise(() => {});
    assert.match(await refusal({ sessionStore, resume: session, loadTimeoutMs: 10 }), /10/);
    const broken = new sdk.InMemorySessionStore();
    broken.append = async () => {
      throw new Error("the store is down");
    };
    const messages = await ask("hello", { sessionStore: broken });
    assert.equal(result(messages).result, "You said: hello");
    assert.match(JSON.stringify(system(messages, "mirror_error")), /the store is down/);
  },
  async "brought in"() {
    const session = await first();
    const sessionStore = new sdk.InMemorySessionStore();
    await sdk.importSessionToStore(session, sessionStore, { dir });
    await sdk.deleteSession(session, { dir });
    assert.equal((await echo("/messages", { sessionStore, resume: session })).length, 3);
  },
});
