"""The server for coding agents, by a real client over stdio: check, edit, verify."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.servers import bounds, mcp

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
        # The library's own choice of variables lacks PYTHONPATH, and with it what is tested.
        command, environment = ["-m", "fsdp2_lint", "mcp"], dict(os.environ)
        server = StdioServerParameters(command=sys.executable, args=command, cwd=project, env=environment)
        async with Client(server) as client:
            await dialogue(client)

    asyncio.run(asyncio.wait_for(session(), LIMIT))


async def call(client: Client, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Was it an error, and the text."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert result.structured_content is None, "the same once more"
    return bool(result.is_error), content.text


def test_the_tools(project: Path) -> None:
    async def dialogue(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == ["check", "explain", "verify"]
        for tool in tools.values():
            assert tool.annotations is not None and tool.annotations.read_only_hint
            assert tool.description and len(tool.description) < 400
            assert all(line == line.strip() for line in tool.description.splitlines())

    talk(project, dialogue)


def test_the_loop(project: Path) -> None:
    async def dialogue(client: Client) -> None:
        failed, found = await call(client, "check")
        assert not failed and found.count("FSDP601") == 2 and "parallelize.py:13" in found
        assert found.splitlines()[-1] == "This check is s1."
        failed, page = await call(client, "explain", code="FSDP601")
        assert not failed and page.startswith("# FSDP601: optimizer-before-sharding")
        assert "## How to fix" in page and "## Examples" not in page and len(page) < 5_000
        failed, whole = await call(client, "explain", code="FSDP601", examples=True)
        assert not failed and "## Examples" in whole and len(whole) > len(page)
        assert "1 remaining" in (await call(client, "verify"))[1]
        train = project / "train.py"
        text = train.read_text()
        train.write_text(text.replace("  # error: [FSDP601]", "  # noqa: FSDP601"))
        assert "1 silenced instead of fixed" in (await call(client, "verify"))[1]
        train.write_text(text.replace(EARLY, "").replace(SHARDED, SHARDED + EARLY))
        failed, told = await call(client, "verify")
        assert not failed and "(the rule is upheld)" in told and told.endswith("1 fixed.")
        assert "0 findings" in (await call(client, "check"))[1]
        assert "1 fixed" in (await call(client, "verify", since="s1"))[1]
        assert "There was nothing to fix" in (await call(client, "verify", since="s2"))[1]

    talk(project, dialogue)


@pytest.mark.slow
def test_what_cannot_be_done_is_said(project: Path) -> None:
    async def dialogue(client: Client) -> None:
        for tool, arguments, words in (
            ("explain", {"code": "FSDP6O1"}, "did you mean FSDP"),
            ("check", {"select": ["X"]}, "'X' is not a rule"),
            ("check", {"paths": ["nowhere.py"]}, "nowhere.py: cannot be read"),
            ("verify", {"paths": ["other"]}, "call check with the same paths first"),
            ("verify", {"since": "s1"}, "s1 is neither a check of this server (none yet) nor a git revision"),
            ("check", {"paths": ["/etc"]}, "lies outside"),
        ):
            failed, text = await call(client, tool, **arguments)
            assert failed and words in text and "findings" not in text
        failed, text = await call(client, "check", paths=["nowhere.py", "optim.py"])
        assert failed and "nowhere.py: cannot be read" in text and "FSDP601" in text, "the other one was checked"
        failed, text = await call(client, "verify", paths=["train.py"], since="s1")
        assert failed and "s1 is a check of" in text and "nowhere.py" in text

    talk(project, dialogue)


@pytest.mark.slow
def test_what_is_not_shown_is_counted(project: Path) -> None:
    """Findings of other files and those that a comment hides: "0 findings" alone reads as if there were none."""

    async def dialogue(client: Client) -> None:
        _, told = await call(client, "check", paths=["model.py"])
        assert "0 findings" in told and "1 more in other files of the same programs (name them, or" in told
        train = project / "train.py"
        train.write_text(train.read_text().replace("# error: [FSDP601]", "# noqa: FSDP601"))
        _, told = await call(client, "check")
        assert "0 findings" in told and "1 silenced by comments." in told

    talk(project, dialogue)


def git(project: Path, *arguments: str) -> str:
    person = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ran = subprocess.run(
        ["git", *person, *arguments], cwd=project, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_verify_against_a_revision(project: Path) -> None:
    """Of a folder inside a repository; what is not committed counts as an edit."""
    train, model = project / "train.py", project / "model.py"
    (project.parent / "other.py").write_text("from torch.distributed._composable.fsdp import fully_shard\n")
    git(project.parent, "init", "--quiet")
    git(project.parent, "add", "--all")
    git(project.parent, "commit", "--quiet", "--message", "wrong")
    status = git(project, "status", "--porcelain", "--ignored")

    async def dialogue(client: Client) -> None:
        failed, told = await call(client, "verify", since="HEAD")
        assert not failed and told.startswith("remaining") and ": 1 remaining." in told
        text = train.read_text()
        train.write_text(text.replace(EARLY, "").replace(SHARDED, SHARDED + EARLY))
        (project / "late.py").write_text("from torch.distributed._composable.fsdp import fully_shard\n")
        failed, told = await call(client, "verify", since="HEAD")
        assert not failed and "is upheld)" in told and "late.py:1:1 FSDP901" in told
        assert "Since HEAD (" in told and told.endswith(": 1 fixed, 1 new."), "other.py is not served"
        failed, told = await call(client, "verify", since="HEAD", paths=["late.py"])
        assert not failed and told.endswith(": 1 new."), "it was not there"
        model.unlink()
        assert "1 fixed" not in (await call(client, "verify", since="HEAD"))[1]
        git(project, "checkout", "model.py", "train.py")
        (project / "late.py").unlink()
        for revision in ("nothing", "HEAD~7", "--all", "HEAD:train.py", "", "a b", "x\n\0"):
            failed, told = await call(client, "verify", since=revision)
            assert failed and "nor a git revision" in told

    talk(project, dialogue)
    assert git(project, "status", "--porcelain", "--ignored") == status


@pytest.mark.slow
def test_progress_is_told(project: Path) -> None:
    told: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert progress > len(told)
        told.append(message)

    async def dialogue(client: Client) -> None:
        for _ in range(2):
            await client.call_tool("check", {}, progress_callback=note)

    talk(project, dialogue)
    assert told.count("train.py") == 1, "the second check has nothing to follow"


@pytest.mark.slow
def test_an_answer_is_bounded_and_says_what_it_leaves_out(project: Path) -> None:
    late = "from torch.distributed._composable.fsdp import fully_shard\n"
    (project / "many.py").write_text(late * 300)

    async def dialogue(client: Client) -> None:
        failed, told = await call(client, "check", paths=["many.py"])
        assert not failed and len(told) <= bounds.LONGEST
        shown = told.count("many.py:")
        assert 20 < shown <= mcp.MOST
        cut = re.search(r"(\d+) lines are left out here: check fewer paths, or select codes", told)
        assert shown + int(cut[1] if cut else 0) == mcp.MOST
        assert f"300 findings (300 warnings); {300 - mcp.MOST} of them not shown\n" in told
        (project / "many.py").write_text("")
        failed, told = await call(client, "verify", paths=["many.py"])
        assert not failed and len(told) <= bounds.LONGEST and "lines are left out here" in told
        assert told.splitlines()[-1].startswith("Since s1: 300 gone")

    talk(project, dialogue)


@pytest.mark.parametrize("number", [0, 1, 3, 40, 4000])
def test_whole_lines_are_left_out(number: int) -> None:
    lines = [f"{index} {'x' * 500}" for index in range(number)]
    text = "".join(f"{line}\n" for line in [*lines, "one", "two", "three", "last"])
    told = bounds.bounded(text)
    assert len(told) <= bounds.LONGEST and told.endswith("one\ntwo\nthree\nlast\n")
    assert (told == text) is (len(text) <= bounds.LONGEST)
    assert {*told.splitlines()} - {*text.splitlines()} == (set() if told == text else {told.splitlines()[-5]})


@pytest.mark.parametrize("text", ["x" * 100_000, f"a{'x' * 30_000}z\n" * 3])
def test_long_lines_are_cut_in_the_middle(text: str) -> None:
    told = bounds.bounded(text)
    assert len(told) <= 4 * bounds.LONGEST_LINE and "left out" not in told
    for line, whole in zip(told.splitlines(), text.splitlines()):
        assert len(line) == bounds.LONGEST_LINE and (line[0], line[-1]) == (whole[0], whole[-1])


def test_errors_are_bounded_and_arguments_are_those_of_the_tool(project: Path) -> None:
    async def dialogue(client: Client) -> None:
        for arguments, words in (
            ({"paths": ["x" * 200_000]}, "cannot be read"),
            ({"paths": [f"/{index}{'x' * 900}" for index in range(300)]}, "lies outside"),
            ({"select": ["x" * 99_000]}, "is not a rule"),
            ({"paths": [5] * 9_000}, "check: paths has to be a list of text, and is [5, 5, 5,"),
            ({"paths": "train.py", "select": 6}, 'text, and is "train.py"; select has to be a list of text, and is 6'),
            ({"path": ["train.py"]}, "check has no argument path; did you mean paths?"),
            ({"y" * 99_000: 1}, "(known: paths, select)"),
        ):
            failed, told = await call(client, "check", **arguments)
            assert failed and len(told) <= bounds.LONGEST and words in told, told[:2000]
        for arguments, words in (
            ({}, "explain: code has to be text, and is missing"),
            ({"code": "FSDP601", "examples": "all"}, 'examples has to be true or false, and is "all"'),
        ):
            failed, told = await call(client, "explain", **arguments)
            assert failed and told.endswith(words)
        for nothing in ([], [""]):
            failed, told = await call(client, "check", select=nothing)
            assert not failed and "Nothing was judged: no code is selected." in told
        assert "There was nothing to fix" in (await call(client, "verify", since="s1"))[1]
        failed, told = await call(client, "explain", code="fsdp6")
        assert not failed and "- FSDP601 optimizer-before-sharding\n" in told and "FSDP701" not in told

    talk(project, dialogue)


def test_who_does_not_wait_any_more_ends_the_check(monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    """Before the next step; the check that was asked for next has its turn."""
    monkeypatch.chdir(project)
    began, ended = threading.Event(), threading.Event()

    def endless(paths: object, asked: object, *, progress: object, look: Callable[[], None]) -> Report:
        began.set()
        try:
            while True:
                look()
        finally:
            ended.set()

    class Nobody:
        async def report_progress(self, *told: object) -> None: ...

    async def session() -> None:
        tools = mcp._Tools(str(project), Asked())
        asked = asyncio.create_task(tools.check(Nobody()))  # type: ignore[arg-type]
        while not began.is_set():
            await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    monkeypatch.setattr(mcp, "lint", endless)
    asyncio.run(asyncio.wait_for(session(), LIMIT))
    assert ended.wait(LIMIT) and mcp._ONE_AT_A_TIME.acquire(timeout=LIMIT)
    mcp._ONE_AT_A_TIME.release()


@pytest.mark.slow
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
