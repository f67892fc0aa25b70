import os

from langchain_mcp_adapters.client import MultiServerMCPClient

client = MultiServerMCPClient({
    "toolyard": {
        "transport": "streamable_http",
        "url": URL,
        "headers": {"Authorization": "Bearer " + os.environ["TOOLYARD_KEY"]},
    }
})
