"""Agents that the program defines."""

from common import *
from claude_agent_sdk import AgentDefinition, TextBlock, ToolResultBlock, ToolUseBlock


HELPER = AgentDefinition(description="Helps", prompt="You are a helper.", tools=["Bash"], model="haiku")


def call_helper(prompt, **more):
    given = {"description": "help", "prompt": prompt, "subagent_type": "helper", **more}
    return do({"tool": "Agent", "input": given, "id": "toolu_agent"})


async def in_the_foreground():
    order = call_helper("do: " + json.dumps([{"tool": "Bash", "input": {"command": "echo from the helper"}}]))
    messages = await ask(order, agents={"helper": HELPER}, allowed_tools=["Bash", "Agent"])
    has(system(messages, "init")[0]["agents"], "helper")
    (started,) = system(messages, "task_started")
    equal((started["tool_use_id"], started["subagent_type"]), ("toolu_agent", "helper"))
    (ended,) = system(messages, "task_notification")
    equal((ended["task_id"], ended["status"]), (started["task_id"], "completed"))
    within = [one for one in messages if getattr(one, "parent_tool_use_id", None) == "toolu_agent"]
    equal([block.name for block in blocks(within, ToolUseBlock)], ["Bash"])
    has(result(messages).result, "from the helper")
    equal(blocks(within, TextBlock)[1:], [])
    heard = await ask(order, agents={"helper": HELPER}, allowed_tools=["Bash", "Agent"], forward_subagent_text=True)
    within = [one for one in heard if getattr(one, "parent_tool_use_id", None) == "toolu_agent"]
    has([block.text.strip() for block in blocks(within, TextBlock)], "Result: from the helper")


async def in_the_background():
    order = call_helper("do: " + json.dumps([{"text": "found it"}]), run_in_background=True)
    hooks = {"Notification": [HookMatcher(hooks=[says([])])]}
    messages = await with_hooks(order, hooks, agents={"helper": HELPER}, allowed_tools=["Agent"])
    ends = results(messages)
    has(json.dumps([end.result for end in ends]), "found it")
    equal([one["status"] for one in system(messages, "task_notification")], ["completed"])


async def their_transcripts():
    order = call_helper("do: " + json.dumps([{"text": "written down"}]))
    end = result(await ask(order, agents={"helper": HELPER}, allowed_tools=["Agent"]))
    (agent,) = sdk.list_subagents(end.session_id, directory=CWD)
    said = sdk.get_subagent_messages(end.session_id, agent, directory=CWD)
    has(json.dumps([message.message for message in said]), "written down")


def order_for(kind, prompt, **more):
    given = {"description": "help", "prompt": prompt, "subagent_type": kind, "run_in_background": False, **more}
    return do({"tool": "Agent", "input": given})


async def inside(pointer, definition, **more):
    """A part of the request that an agent makes."""
    order = order_for("one", do({"echo": pointer}))
    messages = await ask(order, agents={"one": definition}, allowed_tools=["Agent"], **more)
    (block,) = [one for one in blocks(messages, ToolResultBlock)]
    text = block.content if isinstance(block.content, str) else block.content[0]["text"]
    return text


def agent(**more):
    return AgentDefinition(description="Does one thing", prompt="You are one.", **more)


async def what_they_are():
    has(await inside("/system", agent()), "You are one.")
    has(await inside("/model", agent(model="haiku")), "haiku")
    has(await inside("/model", agent(model="claude-opus-4-1")), "claude-opus-4-1")
    has(await inside("/model", agent(model="inherit"), model="claude-sonnet-4-5"), "claude-sonnet-4-5")
    names = await inside("/tools", agent(tools=["Read", "Grep"]))
    has(names, '"name":"Read"')
    lacks(names, '"name":"Bash"')
    lacks(await inside("/tools", agent(disallowedTools=["Bash"])), '"name":"Bash"')
    has(await inside("/output_config", agent(effort="low")), "low")
    lacks(await inside("/messages", agent()), "Agent")


async def what_they_know():
    put(".claude/skills/bake/SKILL.md", "---\nname: bake\ndescription: How to bake.\n---\nUse butter.\n")
    has(await inside("/messages", agent(skills=["bake"])), "Use butter.")
    put(".claude/agent-memory/one/MEMORY.md", "Remember the milk.")
    trust(CWD)
    known = await inside("", agent(memory="project"))
    has(known, "Remember the milk.")
    lacks(await inside("", agent()), "Remember the milk.")


async def what_they_may_do():
    again = do(bash("echo again"))
    order = order_for("one", again)

    async def wrote(definition):
        prompt = order_for("one", do(write("by-agent.txt")))
        more = {"permission_mode": "acceptEdits", "allowed_tools": ["Agent"]}
        await ask(prompt, agents={"one": definition}, **more)
        return os.path.exists("by-agent.txt")

    # A mode can be narrower than that of the session.
    equal(await wrote(agent(tools=["Write"], permissionMode="plan")), False)
    equal(await wrote(agent(tools=["Write"])), True)
    one = agent(tools=["Bash"], maxTurns=1)
    messages = await ask(order, agents={"one": one}, allowed_tools=["Agent", "Bash"])
    (ended,) = system(messages, "task_notification")
    equal(ended["usage"]["tool_uses"] <= 1, True)


async def servers_of_their_own():
    server = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "server.py")
    config = {"type": "stdio", "command": sys.executable, "args": [server, "hey"]}
    own = agent(mcpServers=[{"out": config}])
    order = order_for("one", do({"tool": "mcp__out__greet", "input": {"name": "you"}}))
    messages = await ask(order, agents={"one": own}, allowed_tools=["Agent", "mcp__out__greet"])
    has(result(messages).result, "hey you")
    lacks(init(messages)["tools"], "mcp__out__greet")


async def which_run_in_the_background():
    definition = {"one": agent(background=True)}
    given = {"description": "help", "prompt": do({"text": "found"}), "subagent_type": "one"}
    hooks = hooked("Notification", says([]))
    order = do({"tool": "Agent", "input": given})
    messages = await with_hooks(order, hooks, agents=definition, allowed_tools=["Agent"])
    (started,) = system(messages, "task_started")
    equal(started["is_backgrounded"], True)
    has(json.dumps([end.result for end in results(messages)]), "found")
    changes = [len(one["tasks"]) for one in system(messages, "background_tasks_changed")]
    equal(changes, [1, 0])
    equal([one["patch"]["status"] for one in system(messages, "task_updated")][-1], "completed")


async def an_agent_for_everything():
    agents = {"boss": AgentDefinition(description="Leads", prompt="You lead.", tools=["Read"], initialPrompt="Go.")}
    messages = await ask(do({"echo": "/system"}), agents=agents, extra_args={"agent": "boss"})
    has(result(messages).result, "You lead.")
    first = await ask(do({"echo": "/messages"}), agents=agents, extra_args={"agent": "boss"})
    has(result(first).result, "Go.")
    equal(set(init(messages)["tools"]) & {"Bash", "Write"}, set())


async def many():
    """More than fits on a command line."""
    prompt = "You know much. " + "x" * 20_000
    agents = {f"agent-{n}": AgentDefinition(description=f"Number {n}", prompt=prompt) for n in range(20)}
    messages = await ask("hi", agents=agents)
    assert set(agents) <= set(init(messages)["agents"]), init(messages)["agents"]


async def from_files():
    put(".claude/agents/filed.md", "---\nname: filed\ndescription: From a file\ntools: Read\n---\nYou are filed.\n")
    messages = await ask(order_for("filed", do({"echo": "/system"})), setting_sources=["project"], allowed_tools=["Agent"])
    has(init(messages)["agents"], "filed")
    has(result(messages).result, "You are filed.")
    lacks(init(await ask("hi", setting_sources=[]))["agents"], "filed")


main(
    in_the_foreground,
    in_the_background,
    their_transcripts,
    what_they_are,
    what_they_know,
    what_they_may_do,
    servers_of_their_own,
    which_run_in_the_background,
    an_agent_for_everything,
    many,
    from_files,
)
