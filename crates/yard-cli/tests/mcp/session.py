"""The official Python client against `toolyard mcp` and `/mcp/...` of `toolyard serve`.

    python3 session.py BINARY SCRATCH [PART]...

Each of `auto` (2026-07-28) and `legacy` (2025-11-25) over each of stdio and streamable HTTP: every tool of every
toolset with what calls.json says, progress, cancellation, questions, approvals, subscriptions, resources, prompts
and completion; over HTTP who is let in. Packages are installed into SCRATCH once. Exits with 0 if all holds.
PART is any of stdio, http, auto, legacy, doors or the name of a check, to run less.
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True

PACKAGE = "mcp==2.3.0"

if __name__ == "__main__" and os.environ.get("TOOLYARD_TEST_FURNISHED") != PACKAGE:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    from furnish import furnish

    chosen = furnish(Path(sys.argv[2]).absolute(), [PACKAGE])
    os.execve(chosen, [chosen, *sys.argv], {**os.environ, "TOOLYARD_TEST_FURNISHED": PACKAGE})

import base64
import contextlib
import http.server
import io
import json
import re
import signal
import subprocess
import tempfile
import threading
import time
import traceback
import warnings
import zipfile

import anyio
import httpx2
import jsonschema
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")

HERE = Path(__file__).absolute().parent
CALLS = json.loads((HERE / "calls.json").read_text())
HISTORY = {"list_steps", "undo_step"}
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
INVALID_PARAMS = -32602
PASSWORD = "correct horse battery staple"
NOT_FOUND = {-32002, INVALID_PARAMS}
# Longest that one answer, one check and everything may take.
ANSWER, CHECK, ALL = 45.0, 75.0, 150.0
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WHEEL = "tiny_yard-1.0-py3-none-any.whl"


# ---- what the tools work on


def wheel():
    bytes_ = io.BytesIO()
    with zipfile.ZipFile(bytes_, "w") as archive:
        info = "tiny_yard-1.0.dist-info/"
        archive.writestr("tiny_yard.py", "WORD = 42\n")
        archive.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tiny-yard\nVersion: 1.0\n")
        tag = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(info + "WHEEL", tag)
        archive.writestr(info + "RECORD", "")
    return bytes_.getvalue()


class Web(http.server.BaseHTTPRequestHandler):
    """A page to fetch and an index with one package, on loopback."""

    PAGES = {
        "/page.html": ("text/html", b"<h1>A page</h1><p>with words</p>"),
        "/simple/tiny-yard/": ("text/html", f'<a href="/files/{WHEEL}">{WHEEL}</a>'.encode()),
        f"/files/{WHEEL}": ("application/octet-stream", wheel()),
    }

    def do_GET(self):
        kind, body = self.PAGES.get(self.path, ("text/plain", b""))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def git(folder, *words):
    as_somebody = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"]
    nobody = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}
    subprocess.run(["git", *as_somebody, *words], cwd=folder, env=nobody, check=True, timeout=30,
                   stdout=subprocess.DEVNULL)


def project(folder):
    """A small project with a repository that has a remote, in a new folder."""
    for name in ("src", "checks", "repo"):
        (folder / name).mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "src/main.py").write_text("def greet(name):\n    return 'hello ' + name\n")
    (folder / "src/other.py").write_text("from main import greet\n\nprint(greet('you'))\n")
    (folder / "checks/test_small.py").write_text(
        "import unittest\n\n\nclass Small(unittest.TestCase):\n    def test_two(self):\n"
        "        self.assertEqual(1 + 1, 2)\n"
    )
    (folder / "pixel.png").write_bytes(PIXEL)
    repo = folder / "repo"
    git(repo, "init", "-q", "-b", "main")
    git(repo, "init", "-q", "--bare", "-b", "main", "remote.git")
    (repo / ".gitignore").write_text("remote.git\n")
    (repo / "r.txt").write_text("r\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "First")
    git(repo, "config", "user.name", "Somebody")
    git(repo, "config", "user.email", "somebody@example.com")
    git(repo, "remote", "add", "origin", "./remote.git")
    (repo / "r.txt").write_text("r\nmore\n")


# ---- the two doors


class Person:
    """Whoever sits at the client: what was asked, and what is said."""

    def __init__(self, *said):
        self.said, self.asked = list(said), []

    async def __call__(self, _, params):
        self.asked.append(params)
        said = self.said.pop(0) if self.said else "yes"
        if said in ("decline", "cancel"):
            return types.ElicitResult(action=said)
        if isinstance(said, dict):
            return types.ElicitResult(action="accept", content=said)
        if callable(said):
            await said(params.url)
            return types.ElicitResult(action="accept")
        return types.ElicitResult(action="accept", content=agreeable(params.requested_schema))


def agreeable(schema):
    """The first of everything that a form wants."""
    content = {}
    for name in schema.get("required", []):
        field = schema["properties"][name]
        choices = field.get("enum") or [choice["const"] for choice in field.get("oneOf", [])]
        plain = {"string": "words", "integer": 1, "number": 1.5, "boolean": True}
        content[name] = choices[0] if choices else plain[field["type"]]
    return content


class Ground:
    """A folder, and a way to connect to a server that works on it."""

    def __init__(self, world, mode, name):
        self.world, self.mode, self.name = world, mode, f"{self.door}-{mode}-{name}"
        self.folder = world.temp / self.name
        self.heard = []
        project(self.folder)

    async def listener(self, message):
        self.heard.append(message)

    def client(self, transport, person=None):
        return Client(transport, mode=self.mode, elicitation_callback=person, message_handler=self.listener,
                      read_timeout_seconds=ANSWER)


class Stdio(Ground):
    door = "stdio"

    async def furnish(self):
        self.data = self.world.temp / f"{self.name}-data"
        return self

    def connect(self, toolset, *, policy="open", history=False, person=None, more=()):
        words = ["mcp", "--toolset", toolset, "--policy", policy, "--data-dir", str(self.data), *more]
        words += ["--history"] if history else []
        server = StdioServerParameters(command=self.world.binary, args=[*words, str(self.folder)],
                                       env=self.world.variables)
        return self.client(stdio_client(server, errlog=self.world.log), person)


class Http(Ground):
    door = "http"

    async def furnish(self):
        world = self.world
        self.email, self.me = await world.newcomer()
        made = await world.rest("POST", "/workspaces", self.me, {"name": self.name, "folder": str(self.folder)})
        self.id = made["workspace"]["id"]
        await self.rule("open")
        self.key = await self.agent()
        return self

    async def rule(self, preset, rules=()):
        policy = {"preset": preset, "rules": list(rules)}
        await self.world.rest("PUT", f"/workspaces/{self.id}/policy", self.me, policy)

    async def agent(self, role="member"):
        key = {"name": "agent", "role": role, "toolsets": ["filesystem", "workspace", "coder"]}
        return (await self.world.rest("POST", f"/workspaces/{self.id}/keys", self.me, key))["key"]

    def only_by_page(self, person):
        """Whether a client was told where a person decides, and nothing else."""
        pages = f"{self.world.base}/decide/{self.id}/"
        return person.asked and all(getattr(one, "url", "").startswith(pages) for one in person.asked)

    async def waiting(self):
        path = f"/workspaces/{self.id}/approvals?status=pending"
        return (await self.world.rest("GET", path, self.me))["approvals"]

    def url(self, toolset="filesystem", history=False):
        return f"{self.world.base}/mcp/{self.id}?toolset={toolset}" + ("&history=true" if history else "")

    @contextlib.asynccontextmanager
    async def transport(self, url, token):
        limits = httpx2.Timeout(ANSWER, read=ANSWER)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=limits, trust_env=False) as http_client:
            async with streamable_http_client(url, http_client=http_client) as streams:
                yield streams

    def connect(self, toolset, *, policy=None, history=False, person=None, token=None, more=()):
        return self.client(self.transport(self.url(toolset, history), token or self.me), person)


class World:
    """What all checks share."""

    def __init__(self, binary, temp):
        self.binary, self.temp = str(Path(binary).absolute()), temp
        self.log = open(temp / "server.log", "w+")
        self.failures, self.passed, self.people, self.server = [], 0, 0, None

    def start(self):
        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
        threading.Thread(target=self.web.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{self.web.server_port}"
        self.page = f"http://{place}"
        self.variables = {
            "TOOLYARD__WEB__EXEMPT": f'["{place}"]',
            "TOOLYARD__WEB__PIP_INDEX": f"http://{place}/simple/",
            "TOOLYARD__WORKSPACES__FOLDERS": json.dumps([str(self.temp)]),
        }
        words = [self.binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(self.temp / "served")]
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.temp), **self.variables}
        self.server = subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.server.stderr:
            self.log.write(line)
            if found := re.search(r"http://\S+", line):
                self.base = found[0].rstrip("/")
                break
        else:
            raise RuntimeError("toolyard serve did not start")
        threading.Thread(target=lambda: self.log.writelines(self.server.stderr), daemon=True).start()

    def stop(self):
        self.web.shutdown()
        if not self.server:
            return
        self.server.terminate()
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.fail("serve", "it did not stop within 10 s of SIGTERM")

    def fail(self, where, what):
        self.failures.append(f"{where}: {what}")

    async def rest(self, method, path, token=None, body=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with httpx2.AsyncClient(headers=headers, timeout=ANSWER, trust_env=False) as client:
            answer = await client.request(method, f"{self.base}/api/v1{path}", json=body)
        if answer.status_code >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    async def newcomer(self):
        """A new person's address and access token."""
        self.people += 1
        email = f"person-{self.people}@example.com"
        account = {"email": email, "password": PASSWORD}
        await self.rest("POST", "/auth/register", None, account)
        return email, (await self.rest("POST", "/auth/login", None, account))["access_token"]


def text(result):
    return "".join(block.text for block in result.content if block.type == "text")


def steps(result):
    listed = result.structured_content
    return listed.get("value", listed)["steps"]


def mismatch(tool, result):
    """What is wrong with a result's data by the tool's own schema. Of failures too: the TypeScript SDK 1.x and the
    Inspector look at whatever is there, and throw away the words of a failure whose data does not conform."""
    if tool.output_schema is None or result.structured_content is None:
        return None
    wrong = next(jsonschema.Draft202012Validator(tool.output_schema).iter_errors(result.structured_content), None)
    return wrong and wrong.message


def shown(result):
    return text(result)[:300] or repr(result)[:300]


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


async def until(holds, seconds=10.0):
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        await anyio.sleep(0.05)
    return True


def processes(word):
    """Processes that have a word on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


# ---- the checks; each gets a ground of its own


async def sweep(ground, toolset):
    """Every tool, with what it takes and with what it does not."""
    world, calls, where = ground.world, CALLS[toolset], f"{ground.name}"
    async with ground.connect(toolset, person=None) as client:
        expect(client.protocol_version == VERSIONS[ground.mode], f"spoke {client.protocol_version}")
        plain = {tool.name for tool in (await client.list_tools()).tools}
        expect(plain == set(calls) - HISTORY, f"listed without --history: {plain ^ (set(calls) - HISTORY)}")
    async with ground.connect(toolset, history=True, person=Person()) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        for name in sorted(set(listed) ^ set(calls)):
            world.fail(where, f"{name} is {'listed, not in' if name in listed else 'not listed, in'} calls.json")
        step, strange = "none", {}
        for name, call in calls.items():
            if name not in listed:
                continue
            filled = json.dumps(call["valid"]).replace("$STEP", step).replace("$WEB", world.page)
            try:
                result = await client.call_tool(name, json.loads(filled))
                refused = call.get("refused")
                if result.is_error and not (refused and re.search(refused, text(result))):
                    world.fail(where, f"{name} valid: {shown(result)}")
                if wrong := mismatch(listed[name], result):
                    strange[name] = wrong
                if not result.content and not result.is_error:
                    world.fail(where, f"{name} valid: no content")
                if name == "list_steps" and not result.is_error:
                    # What was there before, or others did, is kept in steps of its own; undone is what a tool did.
                    step = next(one["step"] for one in steps(result) if one["verb"] not in ("adopt", "import"))
                soft = (result.structured_content or {}).get("ok")
                if soft is False and not result.is_error and not refused:
                    world.fail(where, f"{name} valid: {shown(result)}")
                world.passed += 1
            except Exception as error:
                world.fail(where, f"{name} valid: {type(error).__name__}: {error}")
            try:
                result = await client.call_tool(name, call["invalid"])
                if not result.is_error:
                    world.fail(where, f"{name} invalid is no error: {shown(result)}")
                elif not text(result):
                    world.fail(where, f"{name} invalid: an error without words")
                if wrong := mismatch(listed[name], result):
                    strange[name] = wrong
                world.passed += 1
            except MCPError as error:
                if error.code != INVALID_PARAMS:
                    world.fail(where, f"{name} invalid: {error.code} {error}")
            except Exception as error:
                world.fail(where, f"{name} invalid: {type(error).__name__}: {error}")
        if strange:
            name, wrong = next(iter(strange.items()))
            all_ = f"structuredContent is not as outputSchema says, of {len(strange)} tools: {', '.join(strange)}"
            world.fail(where, f"{all_}; {name}: {wrong}")
        try:
            await client.call_tool("nowhere", {})
            world.fail(where, "a tool that is not there answered")
        except MCPError as error:
            expect(error.code == INVALID_PARAMS, f"a tool that is not there: {error.code} {error}")
        expect((await client.list_tools(cache_mode="refresh")).tools, "the server answers afterwards")


async def progress(ground):
    told = []

    async def note(done, total, message):
        told.append((done, total, message))

    async with ground.connect("assistant") as client:
        code = {"language": "bash", "code": "sleep 3; echo slept", "timeout": 30}
        result = await client.call_tool("run_code", code, progress_callback=note)
        expect(not result.is_error and "slept" in text(result), shown(result))
    expect(len(told) >= 2, f"progress of 3 s: {told}")
    expect(told == sorted(told), f"progress goes up: {told}")


async def cancel(ground):
    seconds = f"47.{os.getpid()}{len(ground.name)}{int(ground.mode == 'auto')}{int(ground.door == 'http')}"
    async with ground.connect("assistant") as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "run_code", {"language": "bash", "code": f"exec sleep {seconds}"})
            expect(await until(lambda: processes(f"sleep\0{seconds}")), "the command did not start")
            group.cancel_scope.cancel()
        gone = await until(lambda: not processes(f"sleep\0{seconds}"))
        expect(gone, f"still running 10 s after it was cancelled: {processes(seconds)}")
        result = await client.call_tool("list_directory", {"path": "."})
        expect(not result.is_error, f"afterwards: {shown(result)}")


async def question(ground):
    colour = {"name": "colour", "question": "Which colour?", "schema": {"type": "string", "enum": ["red", "blue"]}}
    many = {"name": "many", "question": "How many?", "schema": {"type": "integer"}}
    person = Person({"colour": "blue", "many": 3}, "decline")
    async with ground.connect("workspace", person=person) as client:
        result = await client.call_tool("ask_user", {"questions": [colour, many]})
        expect(not result.is_error, f"accepted: {shown(result)}")
        expect(result.structured_content["answers"] == {"colour": "blue", "many": 3}, result.structured_content)
        asked = person.asked[0]
        expect("Which colour?" in asked.message and "How many?" in asked.message, asked.message)
        expect(set(asked.requested_schema["required"]) == {"colour", "many"}, asked.requested_schema)
        result = await client.call_tool("ask_user", {"questions": [colour]})
        expect(len(person.asked) == 2, "asked the second time")
        expect(result.is_error and "Not answered yet" in text(result), f"declined: {shown(result)}")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        wrong = mismatch(tools["ask_user"], result)
        expect(not wrong, f"declined: structuredContent is not as outputSchema says: {wrong}")


async def approval(ground):
    """A person at the client decides what is written over."""
    at = ground.folder / "a.txt"
    if ground.door == "http":
        await ground.rule("guarded", [{"effect": "modify", "then": "ask"}])
    # The yes comes last: it is remembered for the path.
    person = Person({"decision": "Deny", "reason": "not this"}, "decline", "cancel", {"decision": "Allow once"})
    before = at.read_text()
    async with ground.connect("filesystem", policy="guarded", person=person) as client:

        async def write(content):
            return await client.call_tool("write_file", {"path": "a.txt", "content": content})

        result = await write("denied\n")
        expect(result.is_error and "not this" in text(result), f"denied: {shown(result)}")
        expect(len(person.asked) == 1, f"asked {len(person.asked)} times, not once")
        result = await write("declined\n")
        expect(result.is_error and "said no" in text(result), f"declined: {shown(result)}")
        result = await write("cancelled\n")
        expect(result.is_error and "Not done yet" in text(result), f"cancelled: {shown(result)}")
        expect(at.read_text() == before, "nothing without a yes")
        result = await write("accepted\n")
        expect(not result.is_error, f"accepted: {shown(result)}")
        expect(len(person.asked) == 4, f"asked {len(person.asked)} times, not 4")
        expect("+accepted" in person.asked[3].message, f"the diff is shown: {person.asked[3].message}")
        expect(at.read_text() == "accepted\n", "written after a yes")


async def approval_elsewhere(ground):
    """A client whose word is no person's: it waits for one, whatever the client says."""
    at, before = ground.folder / "a.txt", (ground.folder / "a.txt").read_text()
    person, options = Person({"decision": "Allow once"}), {"policy": "guarded"}
    if ground.door == "http":
        await ground.rule("guarded", [{"effect": "modify", "then": "ask"}])
        options = {"token": ground.key}
    else:
        options["more"] = ["--no-elicitation", "--wait", "1"]
    async with ground.connect("filesystem", person=person, **options) as client:
        arguments = {"path": "a.txt", "content": "by the agent\n"}
        if ground.door == "stdio":
            result = await client.call_tool("write_file", arguments)
            expect(result.is_error and "toolyard approve" in text(result), f"pending: {shown(result)}")
            expect(not person.asked and at.read_text() == before, "decided by the client's word")
            return
        held = []

        async def call():
            held.append(await client.call_tool("write_file", arguments))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            waiting = []
            while not waiting:
                waiting = await ground.waiting()
                await anyio.sleep(0.05)
            await anyio.sleep(0.5)
            expect(ground.only_by_page(person), f"the client of an agent's key was asked: {person.asked}")
            expect(at.read_text() == before, "decided by the client's word")
            expect(not held or held[0].is_error, "it is told as done")
            decision = f"/workspaces/{ground.id}/approvals/{waiting[0]['id']}/decision"
            if ground.mode == "auto":
                await forged(ground, client, arguments, before)
            await ground.world.rest("POST", decision, ground.me,
                                    {"decision": "approve", "state_hash": waiting[0]["state_hash"]})
        expect(at.read_text() == "by the agent\n", "done once a person said yes")
        expect(not held[0].is_error, f"told that it is done: {shown(held[0])}")
        expect(ground.only_by_page(person), f"the client of an agent's key was asked: {person.asked}")


async def page(ground):
    """URL mode: with an agent's key a person decides on a page, after a login; so they do what no form can ask."""
    at, world = ground.folder / "a.txt", ground.world
    await ground.rule("guarded", [{"effect": "modify", "then": "ask"}])

    def visitor(fields):
        async def visit(url):
            async with httpx2.AsyncClient(timeout=ANSWER, trust_env=False, follow_redirects=True) as browser:
                async def submit(to, sent):
                    return await browser.post(to, data=sent, headers={"Origin": world.base})

                first = await browser.get(url)
                expect(first.status_code == 401 and "a.txt" not in first.text, f"before a login: {first.text}")
                account = {"email": ground.email, "password": PASSWORD, "next": url[len(world.base):]}
                shown_page = await submit(f"{world.base}/decide/login", account)
                expect(shown_page.status_code == 200, f"after a login: {shown_page.status_code} {shown_page.text}")
                state = re.search('name="state_hash" value="([0-9a-f]+)"', shown_page.text)
                done = await submit(url, {**fields, **({"state_hash": state[1]} if state else {})})
                expect(done.status_code == 200, f"decided: {done.status_code} {done.text}")

        return visit

    person = Person(visitor({"decision": "once"}), visitor({"decision": "deny", "reason": "not this"}), "decline")
    async with ground.connect("filesystem", person=person, token=ground.key) as client:

        async def write(content):
            return await client.call_tool("write_file", {"path": "a.txt", "content": content})

        result = await write("allowed on the page\n")
        expect(not result.is_error and at.read_text() == "allowed on the page\n", shown(result))
        result = await write("denied\n")
        expect(result.is_error and "not this" in text(result), f"denied: {shown(result)}")
        result = await write("turned away\n")
        expect(result.is_error and "/decide/" in text(result), f"turned away: {shown(result)}")
        expect(ground.only_by_page(person) and len(person.asked) == 3, f"asked: {person.asked}")
        expect(at.read_text() == "allowed on the page\n", "nothing but what was allowed")
    deep = {"type": "object", "properties": {"x": {"type": "object"}}, "required": ["x"]}
    asked = {"questions": [{"name": "deep", "question": "How deep?", "schema": deep}]}
    person = Person(visitor({"answer.deep": '{"x": {"y": 1}}'}))
    async with ground.connect("workspace", person=person) as client:
        result = await client.call_tool("ask_user", asked)
        expect(not result.is_error and result.structured_content["answers"] == {"deep": {"x": {"y": 1}}}, shown(result))


async def pending(ground):
    """Over HTTP an agent's call that nobody decides in time comes back undone, and happens once a person says yes."""
    at, before = ground.folder / "a.txt", (ground.folder / "a.txt").read_text()
    await ground.rule("guarded", [{"effect": "modify", "then": "ask"}])
    async with ground.connect("filesystem", token=ground.key) as client:
        result = await client.call_tool("write_file", {"path": "a.txt", "content": "by the agent\n"})
    waiting = await ground.waiting()
    expect(len(waiting) == 1, f"one approval waits: {waiting}")
    told = result.is_error and "Not done yet" in text(result) and waiting[0]["id"] in text(result)
    expect(told, f"told as pending: {shown(result)}")
    expect(at.read_text() == before, "nobody decided")
    decision = f"/workspaces/{ground.id}/approvals/{waiting[0]['id']}/decision"
    await ground.world.rest("POST", decision, ground.me,
                                    {"decision": "approve", "state_hash": waiting[0]["state_hash"]})
    expect(at.read_text() == "by the agent\n", "done once a person said yes")


async def forged(ground, client, arguments, before):
    """What was handed to a person's client is no use to an agent's."""
    at = ground.folder / "a.txt"
    async with ground.connect("filesystem", person=Person()) as mine:
        handed = await mine.session.call_tool("write_file", arguments, allow_input_required=True)
        if not isinstance(handed, types.InputRequiredResult):
            raise AssertionError(f"a person is not asked: {handed}")
    yes = {"person": types.ElicitResult(action="accept", content={"decision": "Allow once"})}
    for state in (handed.request_state, "nonsense", ""):
        try:
            result = await client.session.call_tool("write_file", arguments, input_responses=yes,
                                                    request_state=state, allow_input_required=True)
            expect(getattr(result, "is_error", True), f"a state of another was taken: {result}")
        except MCPError as error:
            expect(error.code == INVALID_PARAMS, f"{error.code} {error}")
        expect(at.read_text() == before, "decided by a forged word")


async def subscription(ground):
    uri, name = "toolyard://file/src/main.py", "toolyard://file/src/made.py"
    async with ground.connect("filesystem") as client:

        async def change():
            edit = {"path": "src/main.py", "edits": [{"oldText": "hello ", "newText": "hallo "}]}
            result = await client.call_tool("edit_file", edit)
            expect(not result.is_error, shown(result))

        async def read():
            return (await client.read_resource(uri)).contents[0].text

        expect("hello" in await read(), "before")
        if ground.mode == "auto":
            wanted = {"resource_subscriptions": [uri], "resources_list_changed": True}
            async with client.listen(**wanted) as events:
                expect(events.honored.resource_subscriptions == [uri], f"honoured: {events.honored}")
                with anyio.fail_after(15):
                    await change()
                    event = await anext(events)
                    expect(getattr(event, "uri", None) == uri, f"a tool's change: {event}")
                    expect("hallo" in await read(), "read anew")
                    (ground.folder / "src/main.py").write_text("# from outside\n")
                    event = await anext(events)
                    while getattr(event, "uri", None) != uri:
                        event = await anext(events)
                    expect("outside" in await read(), "read anew")
                    made = await client.call_tool("write_file", {"path": "src/made.py", "content": "x\n"})
                    expect(not made.is_error, shown(made))
                    while type(event).__name__ != "ResourcesListChanged":
                        event = await anext(events)
            return

        def told():
            notes = [note for note in ground.heard if isinstance(note, types.ResourceUpdatedNotification)]
            return [str(note.params.uri) for note in notes]

        await client.subscribe_resource(uri)
        await change()
        expect(await until(lambda: uri in told()), f"not told of a tool's change: {ground.heard}")
        expect("hallo" in await read(), "read anew")
        ground.heard.clear()
        (ground.folder / "src/main.py").write_text("# from outside\n")
        expect(await until(lambda: uri in told()), f"not told of a change from outside: {ground.heard}")
        await client.unsubscribe_resource(uri)
        await anyio.sleep(1.5)
        ground.heard.clear()
        (ground.folder / "src/main.py").write_text("# again\n")
        await anyio.sleep(2)
        expect(not told(), f"told of {told()} after unsubscribing")


async def reading(ground):
    """Resources, prompts and completion."""
    async with ground.connect("filesystem") as client:
        result = await client.call_tool("write_file", {"path": "new ü.txt", "content": "new\n"})
        expect(not result.is_error, shown(result))
        found, cursor = {}, None
        while True:
            page = await client.list_resources(cursor=cursor)
            found.update({str(one.uri): one for one in page.resources})
            cursor = page.next_cursor
            if not cursor:
                break
        new = "toolyard://file/new%20%C3%BC.txt"
        for uri in ("toolyard://history", "toolyard://file/a.txt", "toolyard://file/src/main.py", new):
            expect(uri in found, f"{uri} is not among {sorted(found)}")
        content = (await client.read_resource(new)).contents[0]
        expect(content.text == "new\n", content)
        content = (await client.read_resource("toolyard://file/pixel.png")).contents[0]
        expect(base64.b64decode(content.blob) == PIXEL, "bytes come as they are")
        history = (await client.read_resource("toolyard://history")).contents[0].text
        step = history.split()[0]
        diff = (await client.read_resource(f"toolyard://diff/{step}")).contents[0].text
        expect("+new" in diff, f"the diff of {step}: {diff}")
        one = (await client.read_resource("toolyard://history/new%20%C3%BC.txt")).contents[0].text
        expect(step in one, one)
        for wrong in ("toolyard://file/nowhere", "toolyard://file/../../etc/passwd", "file:///etc/passwd",
                      "toolyard://diff/nonsense"):
            try:
                got = await client.read_resource(wrong)
                raise AssertionError(f"{wrong} was read: {got}")
            except MCPError as error:
                expect(error.code in NOT_FOUND, f"{wrong}: {error.code} {error}")
        try:
            await client.list_resources(cursor="nonsense")
            raise AssertionError("a cursor of nobody's was taken")
        except MCPError as error:
            expect(error.code == INVALID_PARAMS, f"cursor: {error.code} {error}")
        templates = (await client.list_resource_templates()).resource_templates
        forms = {template.uri_template for template in templates}
        wanted = {"toolyard://file/{+path}", "toolyard://history/{+path}", "toolyard://diff/{step}"}
        expect(forms == wanted, forms)
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        expect(prompts == {"plan", "review"}, prompts)
        plan = await client.get_prompt("plan", {"task": "Tidy up", "path": "src"})
        expect("Tidy up" in plan.messages[0].content.text, plan)
        review = await client.get_prompt("review", {"steps": "1"})
        expect("+new" in review.messages[0].content.text, review)
        for name, arguments in (("plan", {}), ("review", {"steps": "x"}), ("nowhere", {})):
            try:
                got = await client.get_prompt(name, arguments)
                raise AssertionError(f"prompt {name} {arguments}: {got}")
            except MCPError as error:
                expect(error.code == INVALID_PARAMS, f"prompt {name}: {error.code} {error}")
        by_form = types.ResourceTemplateReference(type="ref/resource", uri="toolyard://file/{+path}")
        by_name = types.PromptReference(type="ref/prompt", name="plan")
        for ref in (by_form, by_name):
            done = await client.complete(ref, {"name": "path", "value": "src/m"})
            expect(done.completion.values == ["src/main.py"], f"{ref}: {done.completion}")
        done = await client.complete(by_form, {"name": "path", "value": "sr"})
        expect(done.completion.values == ["src/"], done.completion)


async def doors(ground):
    """Who is let in over HTTP; by requests that no client would make."""
    world, url = ground.world, ground.url()
    stranger = await Http(world, ground.mode, "stranger").furnish()
    about = {"io.modelcontextprotocol/protocolVersion": VERSIONS["auto"],
             "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
             "io.modelcontextprotocol/clientCapabilities": {}}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": about}}
    usual = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSIONS["auto"],
             "Mcp-Method": "tools/list"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": VERSIONS["legacy"], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
    plain = {"Accept": usual["Accept"]}
    mine = {"Authorization": f"Bearer {ground.key}"}
    async with httpx2.AsyncClient(timeout=ANSWER, trust_env=False) as client:

        async def post(body, headers, to=url):
            return await client.post(to, json=body, headers=headers)

        for kind, body, headers in (("modern", ask, usual), ("legacy", hello, plain)):
            cases = [
                ("good", {**headers, **mine}, url, {200}),
                ("of a person", {**headers, "Authorization": f"Bearer {ground.me}"}, url, {200}),
                ("own origin", {**headers, **mine, "Origin": world.base}, url, {200}),
                ("wrong host", {**headers, **mine, "Host": "evil.example"}, url, {400, 403, 421}),
                ("rebound host", {**headers, **mine, "Host": "localhost.evil.example:80"}, url, {400, 403, 421}),
                ("foreign origin", {**headers, **mine, "Origin": "http://evil.example"}, url, {403}),
                ("null origin", {**headers, **mine, "Origin": "null"}, url, {403}),
                ("no token", headers, url, {401}),
                ("nonsense token", {**headers, "Authorization": "Bearer nonsense"}, url, {401}),
                ("another's key", {**headers, "Authorization": f"Bearer {stranger.key}"}, url, {403, 404}),
                ("another person", {**headers, "Authorization": f"Bearer {stranger.me}"}, url, {403, 404}),
                ("no workspace", {**headers, **mine}, f"{world.base}/mcp/nonsense", {403, 404}),
                ("no toolset", {**headers, **mine}, ground.url("nowhere"), {400, 404, 422}),
            ]
            for name, sent, to, statuses in cases:
                answer = await post(body, sent, to)
                expected = answer.status_code in statuses
                expect(expected, f"{kind}, {name}: {answer.status_code} {answer.text[:200]}, not {statuses}")
                if answer.status_code == 401:
                    challenge = answer.headers.get("www-authenticate", "")
                    expect(challenge.startswith("Bearer"), f"{kind}, {name}: WWW-Authenticate is {challenge!r}")
        # A session belongs to who opened it.
        opened = await post(hello, {**plain, "Authorization": f"Bearer {ground.me}"})
        session = opened.headers.get("mcp-session-id")
        expect(session, f"no session: {opened.status_code} {opened.headers}")
        taken = {**plain, "MCP-Protocol-Version": VERSIONS["legacy"], "Mcp-Session-Id": session}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        for name, token in (("key", ground.key), ("stranger", stranger.me)):
            answer = await post(listing, {**taken, "Authorization": f"Bearer {token}"})
            expect(answer.status_code in {403, 404}, f"session of another, {name}: {answer.status_code}")
        answer = await client.delete(url, headers={**taken, **mine})
        answer = await post(listing, {**taken, "Authorization": f"Bearer {ground.me}"})
        expect(answer.status_code == 200, f"ended by another: {answer.status_code} {answer.text[:200]}")
        viewer = {"Authorization": f"Bearer {await ground.agent('viewer')}"}
        call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
            "_meta": about, "name": "write_file", "arguments": {"path": "v.txt", "content": "v"}}}
        sent = {**usual, **viewer, "Mcp-Method": "tools/call", "Mcp-Name": "write_file"}
        answer = await post(call, sent)
        expect('"isError":true' in answer.text, f"a viewer's write: {answer.status_code} {answer.text[:300]}")
        expect(not (ground.folder / "v.txt").exists(), "a viewer wrote")


HTTP_CHECKS = [pending, page]
CHECKS = [progress, cancel, question, approval, approval_elsewhere, subscription, reading]


async def check(world, kind, mode, name, run):
    began = time.monotonic()
    where = f"{kind.door}-{mode}-{name}"
    try:
        with anyio.fail_after(CHECK):
            ground = await kind(world, mode, name).furnish()
            await run(ground)
        world.passed += 1
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        plain = isinstance(error, AssertionError)
        detail = str(error) if plain else "".join(traceback.format_exception(error)[-4:])
        world.fail(where, detail if plain else f"{type(error).__name__}: {error}\n{detail}")
    print(f"{where}: {time.monotonic() - began:.1f} s", file=sys.stderr)


async def main(world, parts):
    def wanted(*words):
        kinds = {"stdio", "http"} & parts, {"auto", "legacy"} & parts
        others = parts - {"stdio", "http", "auto", "legacy"}
        return all(not some or some & set(words) for some in (*kinds, others))

    work = []
    for kind in (Stdio, Http):
        for mode in VERSIONS:
            for toolset in CALLS:
                if wanted(kind.door, mode, toolset, "sweep"):
                    work.append((kind, mode, toolset, lambda ground, toolset=toolset: sweep(ground, toolset)))
            for run in CHECKS + (HTTP_CHECKS if kind is Http else []):
                if wanted(kind.door, mode, run.__name__):
                    work.append((kind, mode, run.__name__, run))
    if wanted("http", "auto", "legacy", "doors"):
        work.append((Http, "auto", "doors", doors))
    # Long ones first: they wait, and others work meanwhile.
    waits = {"pending": -1, "progress": 0, "subscription": 1, "assistant": 2, "cancel": 3}
    work.sort(key=lambda one: waits.get(one[2], 9))
    seats = anyio.Semaphore(6)

    async def seated(one):
        async with seats:
            await check(world, *one)

    try:
        with anyio.fail_after(ALL):
            async with anyio.create_task_group() as group:
                for one in work:
                    group.start_soon(seated, one)
    except TimeoutError:
        world.fail("all", f"not done within {ALL} s")


def overdue(*_):
    raise TimeoutError(f"not done within {ALL + 30} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, overdue)
    signal.alarm(int(ALL + 30))
    with tempfile.TemporaryDirectory(dir=Path(sys.argv[2]).absolute(), prefix="session-") as temp:
        world = World(sys.argv[1], Path(temp).resolve())
        try:
            world.start()
            anyio.run(main, world, set(sys.argv[3:]))
        finally:
            world.stop()
    for failure in world.failures:
        print(f"FAILED {failure}")
    print(f"{world.passed} hold, {len(world.failures)} fail")
    sys.exit(1 if world.failures else 0)
