"""Killed at any point of its writing, a run leaves each file as it was or as it was to be.

The run is forked off this process. Before each thing that it does to the disk, its number is counted; one run is killed
before the first, the next before the second, and so on, until one comes to its end. Of a write half is done before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.files.discovery import discover
from fsdp2_lint.files.writing import PREFIX

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

PRIVATE = "from torch.distributed._composable.fsdp import fully_shard  # é\n"
FILES = {
    "a.py": PRIVATE,
    "b.py": f"import a\n{PRIVATE}",
    "pyproject.toml": '[tool.fsdp2-lint]\nbaseline = "known.json"\n',
}
KILLED, INTO, MOST = 77, 78, 200
_CHANGES = frozenset(
    {"os.rename", "os.remove", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime", "os.mkdir"}
)


@dataclass(frozen=True)
class Action:
    """What is run, and what the project holds before besides ``FILES``."""

    arguments: tuple[str, ...]
    before: tuple[tuple[str, str], ...] = ()


ACTIONS = {
    "fix": Action(("--isolated", "--fix")),
    "add-ignore": Action(("--isolated", "--add-ignore=known")),
    "a new baseline": Action(("--update-baseline",)),
    "a baseline": Action(("--update-baseline",), (("known.json", '{"version": 1, "findings": []}'),)),
    "results": Action(("--isolated", "--output-format", "json", "-o", "out.json"), (("out.json", "[]\n"),)),
}


def killing(at: int) -> None:
    """From now on this process dies before it changes the disk for the time number ``at``."""
    done = 0
    write, fsync = os.write, os.fsync

    def count() -> bool:
        nonlocal done
        done += 1
        return done == at

    def hook(event: str, given: tuple[object, ...]) -> None:
        for_writing = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
        if for_writing and not os.path.basename(str(given[0])).startswith(PREFIX):
            os._exit(INTO)  # what is half written there, nobody counts
        if (for_writing or event in _CHANGES) and count():
            os._exit(KILLED)

    def half(descriptor: int, data: bytes) -> int:
        if count():
            write(descriptor, bytes(data)[: len(data) // 2])
            os._exit(KILLED)
        return write(descriptor, data)

    def settle(descriptor: int) -> None:
        if count():
            os._exit(KILLED)
        fsync(descriptor)

    os.write, os.fsync = half, settle  # type: ignore[assignment]
    sys.addaudithook(hook)


def forked(arguments: tuple[str, ...], at: int) -> int:
    """The exit code of a run that is killed there."""
    child = os.fork()
    if not child:
        code = 99
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            killing(at)
            code = invoke(["check", *arguments])
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def held(folder: Path) -> dict[str, bytes]:
    """Temporary files are nobody's, and the cache is the tool's own."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(PREFIX)}


def laid_out(folder: Path, action: Action) -> dict[str, bytes]:
    for path in folder.iterdir():
        if path.is_file():  # the cache stays: what was kept of other contents is not asked for
            path.unlink()
    for name, text in {**FILES, **dict(action.before)}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return held(folder)


def killed(action: Action, folder: Path) -> Iterator[int]:
    """The project after each kill."""
    for at in range(1, MOST):
        laid_out(folder, action)
        code = forked(action.arguments, at)
        if code != KILLED:
            assert code in (0, 1), "it wrote into a file" if code == INTO else "it broke"
            return
        yield at
    raise AssertionError("it never comes to its end")


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ACTIONS)
def test_each_file_is_the_old_one_or_the_new_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    action = ACTIONS[name]
    before = laid_out(tmp_path, action)
    invoke(["check", *action.arguments])
    after, said = held(tmp_path), capfd.readouterr()
    assert before != after, "there is something to write"
    sources, seen = discover(["."]).files, set()
    for at in killed(action, tmp_path):
        now = held(tmp_path)
        for file in {*before, *after, *now}:
            assert now.get(file) in (before.get(file), after.get(file)), f"{file} after kill {at}"
        seen.add(frozenset(now.items()))
        assert discover(["."]).files == sources, "what a kill left is no source"
        if any(path.name.startswith(PREFIX) for path in tmp_path.iterdir() if path.is_file()) and now == before:
            invoke(["check", *action.arguments])
            assert (held(tmp_path), capfd.readouterr()) == (after, said), "nor is it in the way of the next run"
    assert frozenset(before.items()) in seen and frozenset(after.items()) in seen
