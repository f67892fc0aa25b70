"""An agent of Pydantic AI works on a small project through `toolyard mcp`; its model is a script.

    python3 agent.py BINARY SCRATCH

It reads a file, edits it and writes a new one. Then the files are as they should be, `toolyard history` has the
steps and `toolyard undo` takes one back. Packages are installed into SCRATCH once. Exits with 0 if all holds.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

PACKAGE = "pydantic-ai-slim[mcp]==2.66.0"
SECONDS = 60

if __name__ == "__main__" and os.environ.get("TOOLYARD_TEST_FURNISHED") != PACKAGE:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    from furnish import furnish

    chosen = furnish(Path(sys.argv[2]).absolute(), [PACKAGE])
    os.execve(chosen, [chosen, *sys.argv], {**os.environ, "TOOLYARD_TEST_FURNISHED": PACKAGE})

import asyncio
import json

os.environ["FASTMCP_CHECK_FOR_UPDATES"] = "off"

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, models
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

# Whatever would ask a model elsewhere fails, and nobody asks for news.
models.ALLOW_MODEL_REQUESTS = False

BEFORE = "def greet(name):\n    return 'hello ' + name\n"
AFTER = "def greet(name):\n    return f'Hello, {name}!'\n"
ADDED = "from greet import greet\n\nassert greet('you') == 'Hello, you!'\n"

# What the model calls, one call a turn, how that ends, and what the answer to it holds. The edit is first tried in a wrong way:
# the complaint must reach the model, and change nothing.
TURNS = [
    ("read_text_file", {"path": "greet.py"}, "success", "return 'hello ' + name"),
    ("edit_file", {"path": "greet.py", "edits": [{"oldText": "goodbye", "newText": "x"}]}, "retried", "not found"),
    (
        "edit_file",
        {"path": "greet.py", "edits": [{"oldText": "'hello ' + name", "newText": "f'Hello, {name}!'"}]},
        "success",
        "Hello",
    ),
    ("write_file", {"path": "test_greet.py", "content": ADDED}, "success", "test_greet.py"),
    ("list_directory", {"path": "."}, "success", "test_greet.py"),
]


class Script:
    def __init__(self):
        self.turn, self.failures = 0, []

    def __call__(self, messages, info):
        """The next call, once the answer to the last one was looked at."""
        if self.turn == 0:
            offered = {tool.name for tool in info.function_tools}
            missing = {name for name, *_ in TURNS} - offered
            if missing:
                self.failures.append(f"not offered: {missing}; there are {sorted(offered)}")
        else:
            name, _, outcome, words = TURNS[self.turn - 1]
            last = messages[-1].parts[-1]
            content = last.content if isinstance(last.content, str) else json.dumps(last.content)
            if getattr(last, "outcome", None) != outcome or words not in content:
                self.failures.append(f"{name} (turn {self.turn}) answered {last!r}")
        if self.turn == len(TURNS):
            return ModelResponse(parts=[TextPart("done")])
        name, arguments, *_ = TURNS[self.turn]
        self.turn += 1
        return ModelResponse(parts=[ToolCallPart(name, arguments)])


async def work(binary, folder, data, script):
    words = ["mcp", "--policy", "open", "--data-dir", str(data), str(folder)]
    server = MCPToolset(StdioTransport(command=binary, args=words, keep_alive=False))
    agent = Agent(FunctionModel(script), toolsets=[server], retries=2)
    async with agent:
        return (await agent.run("Make the greeting polite, and test it.")).output


def main(binary, temp):
    folder, data, failures = temp / "project", temp / "data", []
    folder.mkdir()
    (folder / "greet.py").write_text(BEFORE)

    def expect(holds, what):
        if not holds:
            failures.append(what)

    def toolyard(*words):
        command = [binary, "--root", str(folder), "--data-dir", str(data), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        expect(done.returncode == 0, f"{words}: {done.returncode} {done.stdout}{done.stderr}")
        return done.stdout

    script = Script()
    output = asyncio.run(asyncio.wait_for(work(binary, folder, data, script), SECONDS))
    failures += script.failures
    expect(output == "done" and script.turn == len(TURNS), f"the run ended with {output!r} in turn {script.turn}")
    expect((folder / "greet.py").read_text() == AFTER, f"greet.py is {(folder / 'greet.py').read_text()!r}")
    expect((folder / "test_greet.py").read_text() == ADDED, "test_greet.py is as it was written")
    lines = [line.split() for line in toolyard("history").splitlines()[1:]]
    mine = [(line[4], line[6]) for line in lines if line[3] == "agent"]
    expect(mine == [("write", "/test_greet.py"), ("edit", "/greet.py")], f"history: {lines}")
    edits = [line[0] for line in lines if line[3:5] == ["agent", "edit"]]
    expect(len(edits) == 1, f"one edit: {lines}")
    shown = toolyard("show", *edits)
    expect("+    return f'Hello, {name}!'" in shown, f"show: {shown}")
    toolyard("undo", *edits)
    expect((folder / "greet.py").read_text() == BEFORE, "the edit was undone")
    expect((folder / "test_greet.py").read_text() == ADDED, "what came after it stayed")
    expect("no damage" in toolyard("verify"), "verify")
    return failures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=Path(sys.argv[2]).absolute(), prefix="agent-") as temp:
        failures = main(str(Path(sys.argv[1]).absolute()), Path(temp).resolve())
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{len(failures)} fail")
    sys.exit(1 if failures else 0)
