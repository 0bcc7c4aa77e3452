"""Sessions that are kept elsewhere as well."""

from common import *

AGENT = {"helper": sdk.AgentDefinition(description="Helps", prompt="You help.", tools=["Bash"])}
GIVEN = {"description": "help", "prompt": do(bash("echo inner")), "subagent_type": "helper", "run_in_background": False}
WITH_AGENT = do({"tool": "Agent", "input": GIVEN})


async def stored():
    store = sdk.InMemorySessionStore()
    session = result(await ask("remember this", session_store=store)).session_id
    messages = await sdk.get_session_messages_from_store(store, session, directory=CWD)
    equal([message.type for message in messages], ["user", "assistant"])
    equal(len(await echo("/messages", session_store=store, resume=session)), 3)


async def gone_from_the_disk():
    """Whoever resumes elsewhere has only the store."""
    store = sdk.InMemorySessionStore()
    session = result(await ask("remember this", session_store=store)).session_id
    sdk.delete_session(session, directory=CWD)
    has(await refusal(resume=session), "No conversation found")
    messages = await ask("more", session_store=store, resume=session)
    equal(result(messages).session_id, session)
    told = await sdk.get_session_messages_from_store(store, session, directory=CWD)
    equal(len(told), 4)
    equal(len(await echo("/messages", session_store=store, continue_conversation=True)), 5)


async def a_store_that_takes_too_long():
    store = sdk.InMemorySessionStore()
    session = result(await ask("remember this", session_store=store)).session_id

    async def never(*_):
        await asyncio.sleep(3600)

    store.load = never
    await fails(ask("on", session_store=store, resume=session, load_timeout_ms=10), "10ms")


async def the_same_as_on_disk():
    store = sdk.InMemorySessionStore()
    more = {"agents": AGENT, "allowed_tools": ["Agent", "Bash"]}
    session = result(await ask(WITH_AGENT, session_store=store, **more)).session_id
    disk = sdk.get_session_messages(session, directory=CWD)
    there = await sdk.get_session_messages_from_store(store, session, directory=CWD)
    equal([one.uuid for one in disk], [one.uuid for one in there])
    (agent,) = await sdk.list_subagents_from_store(store, session, directory=CWD)
    equal([agent], sdk.list_subagents(session, directory=CWD))
    disk = sdk.get_subagent_messages(session, agent, directory=CWD)
    there = await sdk.get_subagent_messages_from_store(store, session, agent, directory=CWD)
    equal([one.uuid for one in disk], [one.uuid for one in there])


async def as_it_happens():
    """Eager stores have a line when it is written."""
    store = sdk.InMemorySessionStore()
    seen = asyncio.Event()
    append = store.append

    async def noted(key, entries):
        await append(key, entries)
        seen.set()

    store.append = noted
    more = {"session_store": store, "session_store_flush": "eager", "allowed_tools": ["Bash"]}
    async with ClaudeSDKClient(options(**more)) as client:
        await client.query(do(bash("touch began; while [ ! -e go ]; do sleep 0.01; done")))
        await appeared("began")
        await seen.wait()
        put("go", "")
        result([one async for one in client.receive_response()])


async def changed_there():
    store = sdk.InMemorySessionStore()
    session = result(await ask("remember this", session_store=store)).session_id
    await sdk.rename_session_via_store(store, session, "Elsewhere", directory=CWD)
    await sdk.tag_session_via_store(store, session, "far", directory=CWD)
    info = await sdk.get_session_info_from_store(store, session, directory=CWD)
    equal((info.custom_title, info.tag, info.first_prompt), ("Elsewhere", "far", "remember this"))
    copy = (await sdk.fork_session_via_store(store, session, directory=CWD)).session_id
    equal(len(await echo("/messages", session_store=store, resume=copy)), 3)
    listed = [one.session_id for one in await sdk.list_sessions_from_store(store, directory=CWD)]
    assert {session, copy} <= set(listed), listed
    await sdk.delete_session_via_store(store, copy, directory=CWD)
    equal(await sdk.get_session_info_from_store(store, copy, directory=CWD), None)


async def brought_in():
    session = result(await ask("remember this")).session_id
    store = sdk.InMemorySessionStore()
    await sdk.import_session_to_store(session, store, directory=CWD)
    sdk.delete_session(session, directory=CWD)
    equal(len(await echo("/messages", session_store=store, resume=session)), 3)


async def a_store_that_fails():
    """The session goes on; the program is told."""
    store = sdk.InMemorySessionStore()

    async def broken(key, entries):
        raise OSError("the store is down")

    store.append = broken
    messages = await ask("hello", session_store=store)
    equal(result(messages).result, "You said: hello")
    errors = [one for one in messages if isinstance(one, sdk.MirrorErrorMessage)]
    assert errors and "the store is down" in errors[0].error, messages


main(
    stored,
    gone_from_the_disk,
    a_store_that_takes_too_long,
    the_same_as_on_disk,
    as_it_happens,
    changed_there,
    brought_in,
    a_store_that_fails,
)
