"""Clients that send what no client should: an error for that message, and the server goes on with the next."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("pygls")

from tests.servers.wire import folders_of, framed, wire

PROGRAM = """\
import torch
from torch.distributed.fsdp import fully_shard

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
fully_shard(model)
optimizer.step()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "train.py").write_text(PROGRAM)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(PROGRAM)
    (folder / "link.py").symlink_to(outside / "secret.py")
    return folder


def opened(uri: str, text: str = PROGRAM, version: Any = 1) -> bytes:
    document = {"uri": uri, "languageId": "python", "version": version, "text": text}
    return _body("textDocument/didOpen", textDocument=document)


def hovered(uri: Any, id: Any = 7) -> bytes:
    position = {"line": 0, "character": 0}
    return _body("textDocument/hover", id=id, textDocument={"uri": uri}, position=position)


def _body(method: str, id: Any = None, **params: Any) -> bytes:
    held = {"jsonrpc": "2.0", "method": method, "params": params, **({} if id is None else {"id": id})}
    return json.dumps(held).encode()


HEADERS = {
    "a huge length": framed(b"{}", 99999999999),
    "a length of 5,000 digits": framed(b"{}", "9" * 5000),
    "a negative length": framed(b"{}", -5),
    "no number": framed(b"{}", "many"),
    "no length": b"Content-Length:\r\n\r\n{}\n",
    "a length of 0": framed(b"", 0),
    "no header": b'{"jsonrpc":"2.0"}\r\n\r\n',
    "another header": b"Content-Type: x\r\n\r\n",
    "a length that is too short": framed(hovered("file:///x.py"), 20),
    "bytes": bytes(range(256)) * 300 + b"\n",
    "no JSON": framed(b"{" * 100),
    "deep JSON": framed(b"[" * 100_000),
    "a list": framed(b"[1, 2]"),
    "a number": framed(b"5"),
    "nothing in it": framed(b"{}"),
}
BODIES = {
    "another version": b'{"jsonrpc":"1.0","id":7,"method":"textDocument/hover"}',
    "a method that is a number": b'{"jsonrpc":"2.0","id":7,"method":5}',
    "parameters that are a list": b'{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":[1]}',
    "no parameters": b'{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":{}}',
    "null for parameters that are needed": b'{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":null}',
    "no such method": b'{"jsonrpc":"2.0","id":7,"method":"nosuch","params":{}}',
    "a NUL in a URI": hovered("file:///a%00b.py"),
    "half a character in a URI": hovered("file:///a\ud800.py"),
    "a URI that is a number": hovered(5),
    "a request for code actions of nothing": _body("textDocument/codeAction", id=7),
}
TOLD = {
    "a document with a NUL": opened("file:///a%00b.py"),
    "half a character in a document": opened("file:///a.py", "x = '\ud800'"),
    "a version that is a text": opened("file:///a.py", version="x"),
    "no file": opened("untitled:Untitled-1"),
    "no URI at all": opened("http://[::1"),
    "folders that cannot be": _body(
        "workspace/didChangeWorkspaceFolders", event={"added": [{"uri": "\0"}], "removed": 5}
    ),
}


@pytest.mark.slow
def test_an_editor_that_sends_nonsense(project: Path) -> None:
    with wire("server", project) as server:
        for name, data in HEADERS.items():
            server.send(data)
            told = server.alive()
            assert name in ("another header", "nothing") or any("error" in each for each in told.values()), name
        for name, body in BODIES.items():
            server.send(framed(body))
            assert "error" in server.alive()[7], name
        for body in TOLD.values():
            server.send(framed(body))
            server.alive()
        server.send(framed(opened((project / "train.py").as_uri())))
        assert "FSDP601" in server.published((project / "train.py").as_uri())


@pytest.mark.slow
def test_an_editor_is_told_nothing_of_what_lies_outside(project: Path) -> None:
    outside = project.parent / "outside"
    with wire("server", project) as server:
        server.send(framed(opened((outside / "secret.py").as_uri())))
        server.send(framed(opened((outside / "new.py").as_uri())))
        server.send(framed(opened((project / "train.py").as_uri())))
        assert "outside" not in server.published((project / "train.py").as_uri())
        told = server.ask(
            "textDocument/hover",
            textDocument={"uri": (outside / "secret.py").as_uri()},
            position={"line": 5, "character": 3},
        )
        assert [each["result"] for each in told.values() if each["id"]] == [None]


def call(id: Any, tool: str = "check", **arguments: Any) -> bytes:
    return _body("tools/call", id=id, name=tool, arguments=arguments) + b"\n"


def failed(answer: dict[str, Any]) -> bool:
    return "error" in answer or answer["result"]["isError"]


LINES = {
    "no JSON": (b"garbage\n", False),
    "bytes": (bytes(range(11, 256)) * 30 + b"\n", False),
    "deep JSON": (b"[" * 100_000 + b"\n", False),
    "a list": (b"[1, 2]\n", False),
    "blanks": (b" \n\n\r\n", False),
    "no method": (b'{"jsonrpc":"2.0","id":7}\n', True),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":7,"method":5}\n', True),
    "parameters that are a list": (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}\n', True),
    "no such method": (b'{"jsonrpc":"2.0","id":7,"method":"nosuch"}\n', True),
    "half a character": (call(7, paths=["\ud800.py"]), True),
    "a NUL": (call(7, paths=["a\0.py"]), True),
    "paths that are a number": (call(7, paths=5), True),
    "a path outside": (call(7, paths=["/etc"]), True),
    "a path above": (call(7, paths=["../outside"]), True),
    "a link that leads outside": (call(7, paths=["link.py"]), True),
    "no such tool": (call(7, "nosuch"), True),
    "verify outside": (call(7, "verify", paths=["/"]), True),
    "a long path": (call(7, paths=["a" * 100_000]), True),
    "an odd code": (call(7, "explain", code="\x1b[31m" * 100), True),
}


@pytest.mark.slow
def test_an_agent_that_sends_nonsense(project: Path) -> None:
    with wire("mcp", project) as server:
        for name, (data, answered) in LINES.items():
            server.send(data)
            told = server.alive()
            assert not answered or failed(told.get(7) or server.until(7)[7]), name
        assert "FSDP601" in json.dumps(server.ask("tools/call", name="check", arguments={}))


@pytest.mark.slow
def test_thirty_checks_at_once(project: Path) -> None:
    with wire("mcp", project) as server:
        server.send(b"".join(call(number) for number in range(30)))
        told: dict[Any, dict[str, Any]] = {}
        for each in server.answers():
            told[each["id"]] = each
            if len(told) == 30:
                break
        assert sorted(told) == [*range(30)] and not any(map(failed, told.values()))
        assert all("FSDP601" in json.dumps(each) for each in told.values())


@pytest.mark.slow
def test_an_agent_gets_nothing_from_outside(project: Path) -> None:
    with wire("mcp", project) as server:
        told = json.dumps(server.ask("tools/call", name="check", arguments={}))
    assert "FSDP601" in told and "secret" not in told and "link.py: leads out of the project" in told


# Messages that were right once


def spoilt(body: bytes, chance: random.Random) -> bytes:
    """One byte, one value or one length of it is another."""
    kind = chance.randrange(4)
    if kind == 0:
        data = bytearray(body)
        for _ in range(chance.randrange(1, 5)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data).replace(b"\n", b" ")
    if kind == 1:
        return body[: chance.randrange(len(body))]
    held = json.loads(body)
    _change(held, chance)
    return json.dumps(held).encode()


def _change(value: Any, chance: random.Random) -> None:
    while True:
        key = chance.choice([*value] if isinstance(value, dict) else [*range(len(value))])
        if isinstance(value[key], (dict, list)) and value[key] and chance.random() < 0.8:
            value = value[key]
            continue
        odd: list[Any] = [
            None,
            -1,
            10**30,
            "\ud800",
            "\0",
            [],
            {},
            "file:///\0",
            "file://x/y/../..",
            1.5,
            True,
            "x" * 9999,
        ]
        value[key] = chance.choice(odd)
        return


def editors(project: Path) -> list[bytes]:
    uri = (project / "train.py").as_uri()
    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": PROGRAM}]}
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    document = {"uri": uri}
    return [
        opened(uri),
        hovered(uri),
        _body("textDocument/didChange", **changed),
        _body("textDocument/didSave", textDocument=document),
        _body("textDocument/didClose", textDocument=document),
        _body("textDocument/codeAction", id=8, textDocument=document, range=span, context={"diagnostics": []}),
        _body("workspace/didChangeWatchedFiles", changes=[{"uri": uri, "type": 2}]),
        _body("workspace/didChangeWorkspaceFolders", event={"added": folders_of(project), "removed": []}),
    ]


def agents(project: Path) -> list[bytes]:
    several = (
        call(7, paths=["train.py"]),
        call(8, "verify"),
        call(9, "explain", code="FSDP601"),
        call(10, select=["FSDP6"]),
    )
    return [*(each.strip() for each in several), _body("tools/list", id=11), _body("ping", id=12)]


def conversation(command: str, seeds: range, project: Path) -> None:
    """Each of these costs itself at most: what is asked between them is answered."""
    of_client: Callable[[Path], list[bytes]] = editors if command == "server" else agents
    before = {path: path.read_bytes() for path in project.parent.rglob("*") if path.is_file()}
    with wire(command, project) as server:
        for seed in seeds:
            chance = random.Random(seed)
            body = spoilt(chance.choice(of_client(project)), chance)
            if b'"shutdown"' in body or b'"exit"' in body:
                continue
            length = chance.choice([None] * 6 + [len(body) // 2, -1, 10**12, "x"])
            server.send(framed(body, length) if server.headers else body + b"\n")
            if seed % 5 == 0:
                server.alive()
        server.alive()
    assert {path: path.read_bytes() for path in project.parent.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("command", ["server", "mcp"])
def test_broken_messages(command: str, project: Path) -> None:
    conversation(command, range(40), project)


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", ["server", "mcp"])
@pytest.mark.parametrize("first", range(40, 1_000, 96))
def test_a_thousand_broken_messages(command: str, first: int, project: Path) -> None:
    conversation(command, range(first, first + 96), project)
