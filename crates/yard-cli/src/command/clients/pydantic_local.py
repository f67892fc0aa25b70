import asyncio

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

MODEL = "provider:model"

toolset = MCPToolset(
    StdioTransport(
        command=COMMAND,
        args=ARGS,
    )
)


async def main():
    agent = Agent(MODEL, toolsets=[toolset])
    async with agent:
        result = await agent.run("What is in this project?")
        print(result.output)


asyncio.run(main())
