"""The commands of the servers: where their extra is missing, how they end, and the others, which never need it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.wire import wire

PRIVATE = "from torch.distributed._composable.fsdp import fully_shard\n"


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    start = "import sys; sys.modules['pygls'] = None; from fsdp2_lint.cli import invoke; sys.exit(invoke(['server']))"
    ran = python(start, tmp_path)
    assert ran.returncode == 2
    assert "error: `server` needs pygls: pip install 'fsdp2-lint[lsp]'" in ran.stderr


def test_a_check_loads_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PRIVATE)
    ran = python("import sys; from fsdp2_lint.cli import invoke; invoke(['check']); print(*sys.modules)", tmp_path)
    assert "FSDP901" in ran.stdout
    assert not {"pygls", "lsprotocol", "asyncio", "fsdp2_lint.servers"} & {*ran.stdout.split()}


def test_a_request_that_comes_too_early_or_too_late_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    hover = {"textDocument": {"uri": "file:///x.py"}, "position": {"line": 0, "character": 0}}
    with wire("server", tmp_path, greeted=False) as server:
        server.send(server.message(id=1, method="textDocument/hover", params=hover))
        assert server.until(1)[1]["error"] == {"code": -32002, "message": "the first request has to be initialize"}
        server.greet()
        server.send(server.message(id=2, method="shutdown"))
        server.send(server.message(id=3, method="textDocument/hover", params=hover))
        told = {each["id"]: each for each in (next(server.answers()), next(server.answers()))}
        assert told[2]["result"] is None
        assert told[3]["error"] == {"code": -32600, "message": "no request may follow shutdown"}
        server.send(server.message(method="exit"))
        assert server.ended() == 0


def test_an_editor_that_writes_null_for_no_parameters(tmp_path: Path) -> None:
    """As libraries do that write each field of a message; the server ends when it is told so."""
    pytest.importorskip("pygls")
    with wire("server", tmp_path) as server:
        server.send(server.message(id=7, method="shutdown", params=None))
        assert server.until(7)[7]["result"] is None
        server.send(server.message(method="exit", params=None))
        assert server.ended() == 0


def test_an_agent_that_writes_null_for_no_parameters(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    with wire("mcp", tmp_path) as server:
        server.send(server.message(id=8, method="tools/list", params=None))
        assert "verify" in json.dumps(server.until(8)[8])
