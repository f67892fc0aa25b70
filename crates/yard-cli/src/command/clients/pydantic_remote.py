import os

from pydantic_ai.mcp import MCPToolset

toolset = MCPToolset(
    URL,
    headers={"Authorization": "Bearer " + os.environ["TOOLYARD_KEY"]},
)
