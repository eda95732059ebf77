"""An answer that is kept is the one that would be given, and is given only as long as that is so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.files.digests import digest
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint
from fsdp2_lint.settings import Settings
from fsdp2_lint.static import check as analysis
from fsdp2_lint.static.cache.codec import dumps, loads
from fsdp2_lint.static.cache.store import FOLDER, Store, default_store
from fsdp2_lint.static.check import check
from fsdp2_lint.static.result import Request, Result
from tests.locks.programs import Program, examples, pages, projects

ROOT = Path(__file__).parents[2]
Run = Callable[..., Report]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """One with a fault, and with requirements."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "good" / "project", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text("torch>=2.4\n")
    replaced(folder / "trainer.py", "self.model(", "self.model.forward(")
    return folder


def replaced(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests for which an analysis really ran."""
    asked: list[Request] = []

    def counted(request: Request, **given: object) -> Result:
        asked.append(request)
        return check(request)

    monkeypatch.setattr(analysis, "check", counted)
    return asked


def run(project: Path, **given: object) -> Report:
    overlay = given.pop("overlay", None)
    asked = Asked(cache=True, settings=Settings(), **given)  # type: ignore[arg-type]
    return lint([str(project)], asked, overlay=overlay)  # type: ignore[arg-type]


def said(report: Report) -> tuple[object, ...]:
    told = [replace(each, about=()) for each in report.findings], [each.about for each in report.findings]
    return (*told, report.models, report.seen, report.notes, report.failures, report.gone)


def test_the_same_is_said_again(project: Path, runs: list[Request]) -> None:
    first = run(project)
    assert first.findings and len(runs) == 1
    second = run(project)
    assert len(runs) == 1, "nothing was worked out again"
    assert said(second) == said(first) == said(lint([str(project)], Asked(settings=Settings())))


PRIVATE = "from torch.distributed._composable.fsdp import FSDPModule\n"  # which torch has to have it is asked


def touched(project: Path) -> None:
    replaced(project / "trainer.py", "self.model.forward(", "self.model(")


def added(project: Path) -> None:
    (project / "torchvision.py").write_text("import os\n")


def pinned(project: Path) -> None:
    (project / "requirements.txt").write_text("torch>=2.6\n")


def removed(project: Path) -> None:
    (project / "config.py").unlink()


@pytest.mark.parametrize("edit", [touched, added, pinned, removed])
def test_what_an_answer_was_made_of(edit: Callable[[Path], None], project: Path, runs: list[Request]) -> None:
    replaced(
        project / "parallelize.py", "from torch.distributed.fsdp import", f"{PRIVATE}from torch.distributed.fsdp import"
    )
    run(project)
    edit(project)
    after = run(project)
    assert len(runs) == 2
    assert said(after) == said(lint([str(project)], Asked(settings=Settings())))


def test_what_was_asked_for(project: Path, runs: list[Request], monkeypatch: pytest.MonkeyPatch) -> None:
    run(project)
    run(project, select=["FSDP6"])
    run(project, target=(2, 6))
    run(project, overlay={str(project / "config.py"): b"SIZE = 1\n"})
    monkeypatch.setenv("FSDP2_LINT_STEPS", "77")
    run(project)
    assert len(runs) == 5


def test_a_file_outside_of_what_was_given(project: Path, runs: list[Request]) -> None:
    """``check train.py`` follows imports; what they mean may change with a file that is not there yet."""
    asked = Asked(cache=True, settings=Settings())
    path = str(project / "trainer.py")
    lint([path], asked)
    lint([path], asked)
    assert len(runs) == 1
    replaced(project / "config.py", "import", "import os, ")
    lint([path], asked)
    assert len(runs) == 2


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:100], lambda data: data[:-1] + bytes([data[-1] ^ 1]), lambda data: b""]
)
def test_spoilt_entries(spoil: Callable[[bytes], bytes], project: Path, runs: list[Request]) -> None:
    first = run(project)
    for entry in (project / FOLDER).glob("*.entry"):
        entry.write_bytes(spoil(entry.read_bytes()))
    assert said(run(project)) == said(first) and len(runs) == 2
    assert said(run(project)) == said(first) and len(runs) == 2, "the entry is whole again"


def test_entries_of_another_form(project: Path, runs: list[Request]) -> None:
    first = run(project)
    (entry,) = (project / FOLDER).glob("*.entry")
    for text in (b"[]", b"{}", b"not json", b"[[],[],[[1]]]", b"null"):
        Store(project / FOLDER).put(entry.stem, text)
        assert said(run(project)) == said(first)
    assert len(runs) == 6


def test_a_cache_that_cannot_be_written(project: Path, runs: list[Request]) -> None:
    (project / FOLDER).write_text("somebody's file")
    assert said(run(project)) == said(run(project)) and len(runs) == 2
    assert (project / FOLDER).read_text() == "somebody's file"


def test_no_link_is_followed_and_no_home_is_written_into(project: Path, tmp_path: Path) -> None:
    (project / FOLDER).symlink_to(tmp_path, target_is_directory=True)
    assert default_store(str(project), None) is None
    assert default_store(str(tmp_path), None) is None, "nothing says that this is a project"


def test_what_breaks_is_not_kept(project: Path, runs: list[Request], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsdp2_lint.static.following.dispatch", lambda *given: 1 / 0)
    assert run(project).failures
    monkeypatch.undo()
    assert not run(project).failures


def test_the_cache_stays_small(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache", most_bytes=3000)
    for number in range(9):
        store.put(f"key{number}", os.urandom(900))
        os.utime(tmp_path / "cache" / f"key{number}.entry", (number, number))
    assert store.get("key0") is not None, "it was asked for last"
    store.prune()
    kept = [number for number in range(9) if store.get(f"key{number}") is not None]
    assert kept == [0, 7, 8]


def test_clear_takes_its_own_files_only(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.put("key", b"data")
    (tmp_path / "cache" / "notes.tmp").write_text("somebody's")
    assert store.clear() == 1
    assert [each.name for each in (tmp_path / "cache").iterdir()] == ["notes.tmp"]


def test_where_one_part_ends_counts() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc")


@pytest.mark.parametrize("programs", [pages, examples, projects])
def test_all_that_is_said_can_be_kept(programs: Callable[[], tuple[Program, ...]]) -> None:
    for program in programs()[::60]:
        overlay = {f"/p/{name}": text.encode() for name, text in program.files.items() if isinstance(text, str)}
        result = check(Request(files=sorted(overlay), root="/p", overlay=overlay, rules=registry.rules()))
        result.texts = {}
        assert loads(Result, dumps(result)) == result


def test_the_budget_that_is_asked_for(project: Path, runs: list[Request]) -> None:
    """It goes before the environment, is a part of what an answer was made of, and the summary tells of it."""
    few = run(project, steps=77)
    assert runs[-1].budget.script_steps == runs[-1].budget.part_steps == 77
    assert 0 < few.cut <= few.programs
    whole = run(project)
    assert len(runs) == 2 and whole.cut == 0 and whole.programs > 0
