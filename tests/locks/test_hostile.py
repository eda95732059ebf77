"""A thousand folders that were made to break the tool: it ends, says what is wrong in them, and writes nowhere else.

The guard of five seconds is for what hangs; what is slow but bounded has its steps counted elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsdp2_lint.cli import invoke
from fsdp2_lint.output import FORMATS
from fsdp2_lint.static.cache.store import FOLDER
from tests.locks import hostile
from tests.locks.hostile_reports import report_folder, spoilt_findings

FIRST = 30  # in the default suite
ALL = 1_000
PART = 5
GUARD = 5.0  # seconds of CPU time of this process
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"^[^\S\n]*::[^:\n]*::|##\[|##vso\[", re.MULTILINE)
_OURS = re.compile(r"^::(error|warning|notice) title=fsdp2-lint[^\n]*$", re.MULTILINE)


class Hangs(BaseException):
    """No exception that the tool could take for its own."""


@contextmanager
def guarded() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGVTALRM, stop), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, GUARD)
    signal.setitimer(signal.ITIMER_REAL, 12 * GUARD)  # for what waits and does nothing
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGVTALRM, before[0])
        signal.signal(signal.SIGALRM, before[1])


def content(top: Path) -> dict[str, object]:
    """All that lies there but what the tool keeps for itself: the bytes of files, and what the others are."""
    found: dict[str, object] = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != FOLDER]
        for name in [*folders, *names]:
            path = os.path.join(folder, name)
            plain = os.path.isfile(path) and not os.path.islink(path)
            found[path] = Path(path).read_bytes() if plain else os.lstat(path).st_mode
    return found


class Ran:
    def __init__(self, arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
        try:
            with guarded():
                self.code = invoke(arguments)
        except Hangs:
            self.code = -1
        self.out, self.err = capfd.readouterr()
        self.arguments = arguments

    def trouble(self) -> Iterator[str]:
        """What must not be, whatever is given to the tool."""
        said = self.out + self.err
        if self.code == -1:
            yield "hangs"
        if self.code not in (0, 1, 2, 3):
            yield f"exit code {self.code}"
        yield from (words for words in ("Traceback", "internal error") if words in said)
        if found := _CONTROL.search(said):
            yield f"the character {found[0]!r}"
        if "github" in self.arguments:
            said = _OURS.sub("", self.out) + self.err
        if found := _COMMAND.search(said):
            yield f"the command {found[0]!r}"

    def __str__(self) -> str:
        return f"{self.arguments}: {self.err[-600:]!r}"


def commands(tree: hostile.Tree) -> Iterator[list[str]]:
    """Some of what can be asked for, beside the plain check."""
    chance = tree.chance
    some = chance.choice(FORMATS)
    yield ["check", ".", "--output-format", some]
    yield chance.choice(
        [
            ["check", "--show-files", "."],
            ["check", "--diff", "."],
            ["check", "--show-settings"],
            ["check", "--statistics", "."],
            ["check", "--isolated", "."],
            ["contract", "."],
            ["contract", ".", "--output-format", "json"],
            ["check", "--output-format", some, "--", hostile.FILE, *tree.named],
            ["check", "--force-exclude", "--", *(tree.named or ["."])],
            ["check", "--baseline", str(tree.outside / "known.json"), "."],
            ["verify", "--since", str(tree.outside / "known.json"), "."],
        ]
    )


def refused(ran: Ran, tree: hostile.Tree) -> bool:
    """Settings that cannot be read, which decide what is to be checked, are said before anything is checked."""
    return ran.code == 2 and not ran.out and any(name in ran.err for name in tree.settings) and ran.err.count("\n") == 1


def tried(top: Path, seed: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What went wrong with one tree."""
    tree = hostile.make(top, seed)
    monkeypatch.chdir(tree.folder)
    plain = Ran(["check", ".", "--output-format", "json"], capfd)
    (tree.outside / "known.json").write_text(spoilt_findings(seed, plain.out))
    before = content(top)
    for ran in [plain, *(Ran(each, capfd) for each in commands(tree))]:
        yield from (f"{each} in {ran}" for each in ran.trouble())
    if not refused(plain, tree):
        try:
            found = {(each["code"], Path(each["filename"]).name) for each in json.loads(plain.out)}
        except ValueError:
            found = set()
        if (hostile.CODE, hostile.FILE) not in found:
            yield f"the finding is lost in {plain}"
    if content(top) != before:
        yield "something was written"
    monkeypatch.chdir(top)
    folder = report_folder(top / "reports", seed)
    ran = Ran(["report", str(folder), "--output-format", tree.chance.choice(FORMATS)], capfd)
    yield from (f"{each} in {ran}" for each in ran.trouble())
    if "FSDP601" not in ran.out:
        yield f"the finding is lost in {ran}"


def troubles(
    seeds: range, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    wrong = []
    for seed in seeds:
        top = tmp_path / str(seed)
        top.mkdir()
        wrong += [f"tree {seed}: {each}" for each in tried(top, seed, capfd, monkeypatch)]
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(top)
    return wrong


@pytest.mark.quick(1)
@pytest.mark.parametrize("first", range(0, FIRST, PART))
def test_a_hostile_tree_breaks_nothing(
    first: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = troubles(range(first, first + PART), tmp_path, capfd, monkeypatch)
    assert not wrong, "\n".join(wrong)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(FIRST, ALL, PART))
def test_no_hostile_tree_breaks_anything(
    first: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = troubles(range(first, first + PART), tmp_path, capfd, monkeypatch)
    assert not wrong, "\n".join(wrong)


def test_trees_are_the_same_each_time(tmp_path: Path) -> None:
    for seed in range(10):
        one, other = (hostile.make(tmp_path / name / str(seed), seed) for name in "ab")
        listed = [sorted(os.path.relpath(path, tree.folder) for path in content(tree.folder)) for tree in (one, other)]
        assert listed[0] == listed[1]
