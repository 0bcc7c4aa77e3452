"""Conversations that are gone back to, and those on disk."""

from common import *


async def first():
    return result(await ask("remember this")).session_id


async def resume():
    session = await first()
    later = await ask("more", resume=session)
    equal(result(later).session_id, session)
    equal(len(await echo("/messages", resume=session)), 5)
    equal(result(await ask("and more", continue_conversation=True)).session_id, session)


async def fork():
    session = await first()
    copy = result(await ask("elsewhere", resume=session, fork_session=True)).session_id
    assert copy != session
    equal(len(sdk.get_session_messages(session, directory=CWD)), 2)
    equal(len(sdk.get_session_messages(copy, directory=CWD)), 4)


async def named():
    name = "11111111-2222-4333-8444-555555555555"
    equal(result(await ask("hi", session_id=name)).session_id, name)
    try:
        await ask("hi", session_id=name)
        assert False, "an id in use must raise"
    except sdk.ProcessError:
        pass


async def listed():
    session = await first()
    info = sdk.get_session_info(session, directory=CWD)
    equal((info.first_prompt, info.session_id), ("remember this", session))
    assert session in [one.session_id for one in sdk.list_sessions(directory=CWD)]
    messages = sdk.get_session_messages(session, directory=CWD)
    equal([message.type for message in messages], ["user", "assistant"])
    sdk.rename_session(session, "A better name", directory=CWD)
    sdk.tag_session(session, "kept", directory=CWD)
    info = sdk.get_session_info(session, directory=CWD)
    equal((info.custom_title, info.tag), ("A better name", "kept"))
    equal(result(await ask("on", resume=session)).session_id, session)
    made = sdk.fork_session(session, directory=CWD)
    equal(result(await ask("on", resume=made.session_id)).session_id, made.session_id)
    sdk.delete_session(made.session_id, directory=CWD)


async def cut():
    session = await first()
    upto = sdk.get_session_messages(session, directory=CWD)[-1].uuid
    await ask("forget this", resume=session)
    dropped = sdk.get_session_messages(session, directory=CWD)[2].uuid
    both = {"resume": session, "resume_session_at": upto}
    equal(len(await echo("/messages", fork_session=True, **both)), 3)
    equal(len(await echo("/messages", fork_session=True, resume_drops_turn=dropped, **both)), 3)
    has(await refusal(resume_drops_turn=upto, **both), "Resume rejected by --resume-drops-turn:")


async def refused():
    has(await refusal(resume="99999999-2222-4333-8444-555555555555"), "No conversation found with session ID")


async def by_title():
    session = await first()
    sdk.rename_session(session, "About the garden", directory=CWD)
    equal(result(await ask("more", resume="About the garden")).session_id, session)
    await refusal(resume="About nothing at all")


async def named_forks():
    session = await first()
    name = "22222222-2222-4333-8444-555555555555"
    copy = await ask("elsewhere", resume=session, fork_session=True, session_id=name)
    equal((result(copy).session_id, len(sdk.get_session_messages(name, directory=CWD))), (name, 4))
    has(await refusal(resume=session, session_id="33333333-2222-4333-8444-555555555555"), "exit code")


async def looked_up():
    """What the functions that read files tell of a session."""
    messages = await ask(do(bash("echo hi"), {"text": "done"}), allowed_tools=["Bash"])
    session = result(messages).session_id
    info = sdk.get_session_info(session, directory=CWD)
    equal((info.cwd, info.session_id), (os.path.realpath(CWD), session))
    assert info.last_modified > 0 and info.file_size > 0 and info.created_at > 0, info
    has(info.summary, "do:")
    told = sdk.get_session_messages(session, directory=CWD)
    equal([one.type for one in told][:2] + [told[-1].type], ["user", "assistant", "assistant"])
    equal({one.session_id for one in told}, {session})
    answers = {one.uuid for one in messages if isinstance(one, sdk.AssistantMessage)}
    assert answers <= {one.uuid for one in told}, told
    page = sdk.get_session_messages(session, directory=CWD, limit=1, offset=1)
    equal([one.uuid for one in page], [told[1].uuid])
    assert session in [one.session_id for one in sdk.list_sessions(directory=CWD, limit=50)]
    assert session in [one.session_id for one in sdk.list_sessions()]
    equal(sdk.get_session_info("99999999-2222-4333-8444-555555555555", directory=CWD), None)


async def changed_from_outside():
    session = await first()
    sdk.tag_session(session, "kept", directory=CWD)
    sdk.rename_session(session, "Named", directory=CWD)
    await ask("go on", resume=session)
    info = sdk.get_session_info(session, directory=CWD)
    equal((info.tag, info.custom_title), ("kept", "Named"))
    sdk.tag_session(session, None, directory=CWD)
    equal(sdk.get_session_info(session, directory=CWD).tag, None)
    at = sdk.get_session_messages(session, directory=CWD)[1].uuid
    copy = sdk.fork_session(session, directory=CWD, up_to_message_id=at, title="Half").session_id
    equal(len(await echo("/messages", resume=copy)), 3)
    sdk.delete_session(copy, directory=CWD)
    equal(sdk.get_session_info(copy, directory=CWD), None)
    has(await refusal(resume=copy), "No conversation found")


async def of_agents():
    helper = {"helper": sdk.AgentDefinition(description="Helps", prompt="You help.", tools=["Bash"])}
    given = {"description": "help", "prompt": do(bash("echo inner")), "subagent_type": "helper", "run_in_background": False}
    order = do({"tool": "Agent", "input": given, "id": "toolu_a"}, {"tool": "Agent", "input": given, "id": "toolu_b"})
    messages = await ask(order, agents=helper, allowed_tools=["Agent", "Bash"])
    session = result(messages).session_id
    tasks = {one["task_id"] for one in system(messages, "task_started")}
    equal(set(sdk.list_subagents(session, directory=CWD)), tasks)
    for task in tasks:
        said = sdk.get_subagent_messages(session, task, directory=CWD)
        equal([one.type for one in said][:2], ["user", "assistant"])
        has(json.dumps([one.message for one in said]), "inner")
    main_ = sdk.get_session_messages(session, directory=CWD)
    lacks(json.dumps([one.uuid for one in main_]), said[0].uuid)


async def not_kept():
    end = result(await ask("hi", extra_args={"no-session-persistence": None}))
    lacks([one.session_id for one in sdk.list_sessions(directory=CWD)], end.session_id)
    has(await refusal(resume=end.session_id), "No conversation found")


async def parallel_calls():
    """Calls side by side fork the tree of a transcript; whoever reads it gets all of them."""
    order = do(bash("echo one"), bash("echo two"), bash("echo three"))
    session = result(await ask(order, allowed_tools=["Bash"])).session_id
    told = json.dumps([one.message for one in sdk.get_session_messages(session, directory=CWD)])
    for word in ["one", "two", "three"]:
        has(told, f'"content": "{word}')
    heard = await echo("/messages", resume=session)
    equal([one["role"] for one in heard], ["user", "assistant", "user", "assistant", "user"])
    equal(len(heard[2]["content"]), 3)


async def after_a_summary():
    async with ClaudeSDKClient(options()) as client:
        await turn(client, "a long story")
        end = result(await turn(client, "/compact"))
        await turn(client, "the rest")
    heard = json.dumps(await echo("/messages", resume=end.session_id))
    has(heard, "the rest")
    assert sdk.get_session_messages(end.session_id, directory=CWD)


main(
    resume,
    fork,
    named,
    listed,
    cut,
    refused,
    by_title,
    named_forks,
    looked_up,
    changed_from_outside,
    of_agents,
    not_kept,
    parallel_calls,
    after_a_summary,
)
