import asyncio

from agents import Agent, Runner
from agents.mcp import MCPServerStdio

server = MCPServerStdio(
    name="toolyard",
    params={"command": COMMAND, "args": ARGS},
    client_session_timeout_seconds=300,  # a call may wait for a person
)


async def main():
    async with server:
        agent = Agent(name="Assistant", mcp_servers=[server])
        result = await Runner.run(agent, "What is in this project?")
        print(result.final_output)


asyncio.run(main())
