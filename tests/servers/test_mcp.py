"""The server for coding agents, by a real client over stdio: check, edit, verify."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

EXAMPLE = Path(__file__).parents[2] / "examples" / "broken" / "optimizer_before_sharding"
EARLY = "    optimizer = build_optimizer(model, lr=1e-2)  # error: [FSDP601]\n"
SHARDED = "    parallelize(model, mesh)\n"
LIMIT = 60  # seconds; no test may hang


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path / "job")
    (tmp_path / "job" / "pyproject.toml").write_text("")
    return tmp_path / "job"


def talk(project: Path, dialogue: Callable[[Client], Awaitable[None]]) -> None:
    async def session() -> None:
        server = StdioServerParameters(command=sys.executable, args=["-m", "fsdp2_lint", "mcp"], cwd=project)
        async with Client(server) as client:
            await dialogue(client)

    asyncio.run(asyncio.wait_for(session(), LIMIT))


async def call(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Was it an error, and the text."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    return bool(result.is_error), content.text


def test_the_tools(project: Path) -> None:
    async def dialogue(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["check", "explain", "verify"]
        for tool in tools.values():
            assert tool.annotations is not None and tool.annotations.read_only_hint
            assert tool.description and len(tool.description) < 400

    talk(project, dialogue)


def test_the_loop(project: Path) -> None:
    async def dialogue(client: Client) -> None:
        failed, found = await call(client, "check")
        assert not failed and found.count("FSDP601") == 2 and "parallelize.py:13" in found
        failed, page = await call(client, "explain", code="FSDP601")
        assert not failed and page.startswith("# FSDP601: optimizer-before-sharding")
        assert "1 remaining" in (await call(client, "verify"))[1]
        train = project / "train.py"
        text = train.read_text()
        train.write_text(text.replace("  # error: [FSDP601]", "  # noqa: FSDP601"))
        assert "1 silenced instead of fixed" in (await call(client, "verify"))[1]
        train.write_text(text.replace(EARLY, "").replace(SHARDED, SHARDED + EARLY))
        failed, told = await call(client, "verify")
        assert not failed and "(the rule is upheld)" in told and told.endswith("1 fixed.")
        assert "0 findings" in (await call(client, "check"))[1]

    talk(project, dialogue)


def test_what_cannot_be_done_is_said(project: Path) -> None:
    async def dialogue(client: Client) -> None:
        for tool, arguments, words in (
            ("explain", {"code": "FSDP6O1"}, "did you mean FSDP"),
            ("check", {"select": ["X"]}, "'X' is no code of this tool"),
            ("check", {"paths": ["nowhere.py"]}, "nowhere.py: cannot be read"),
            ("verify", {"paths": ["other"]}, "call check with the same paths first"),
        ):
            failed, text = await call(client, tool, **arguments)
            assert failed and words in text and "findings" not in text
        failed, text = await call(client, "check", paths=["nowhere.py", "optim.py"])
        assert not failed and "nowhere.py: cannot be read" in text and "FSDP601" in text, "the other one was checked"

    talk(project, dialogue)


def test_nothing_is_written(project: Path) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}

    async def dialogue(client: Client) -> None:
        await call(client, "check")
        await call(client, "verify")

    talk(project, dialogue)
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_without_the_extra(project: Path) -> None:
    blocked = "import sys; sys.modules['mcp'] = None; from fsdp2_lint.cli import invoke; sys.exit(invoke(['mcp']))"
    ran = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, timeout=LIMIT)
    assert ran.returncode == 2 and "pip install 'fsdp2-lint[mcp]'" in ran.stderr and not ran.stdout
