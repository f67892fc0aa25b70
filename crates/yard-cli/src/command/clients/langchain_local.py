import asyncio

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

MODEL = "provider:model"

client = MultiServerMCPClient({
    "toolyard": {
        "transport": "stdio",
        "command": COMMAND,
        "args": ARGS,
    }
})


async def main():
    async with client.session("toolyard") as session:
        agent = create_agent(MODEL, await load_mcp_tools(session))
        question = {"role": "user", "content": "What is in this project?"}
        result = await agent.ainvoke({"messages": [question]})
        print(result["messages"][-1].content)


asyncio.run(main())
