import os

from agents.mcp import MCPServerStreamableHttp

server = MCPServerStreamableHttp(
    name="toolyard",
    params={
        "url": URL,
        "headers": {"Authorization": "Bearer " + os.environ["TOOLYARD_KEY"]},
    },
    client_session_timeout_seconds=300,  # a call may wait for a person
)
