"""All that the checker says of many programs, as text: equal before and after a change that changes no behaviour.

Of each program: what happens in it, step by step, what is found, what holds of each model, and what the run says.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fsdp2_lint.catalogue import registry
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.outcome import Report
from fsdp2_lint.lint import lint
from fsdp2_lint.output import contract, render
from fsdp2_lint.static.dump import Writer
from tests.locks.programs import Program, every_page, examples, planted, projects

T = TypeVar("T")
ALL = Asked(select=["ALL"], dump_trace=True)
KINDS = {"pages": every_page, "examples": examples, "projects": projects, "planted": planted}


@dataclass(frozen=True)
class Case:
    """``name`` is that of its file, with that of a folder. A repository is checked where it lies."""

    name: str
    what: Program | Path


def cases(repositories: Sequence[Path] = ()) -> list[Case]:
    """Every program of this project, and what lies in folders of repositories."""
    own = [Case(f"{kind}/{each.name}", each) for kind, programs in KINDS.items() for each in programs()]
    found = sorted(path for folder in repositories for path in folder.iterdir() if path.is_dir())
    return [*own, *(Case(f"repositories/{path.name}", path.resolve()) for path in found)]


def behaviour(case: Case) -> str:
    """The same wherever the program lies, whoever asks, and whatever was asked before."""
    return inside(case.what, told) if isinstance(case.what, Path) else in_folder(case.what, told)


def in_folder(program: Program, ask: Callable[[Path], T]) -> T:
    """An answer about a program, in a new folder in which it is a project of its own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "program"
        write(program, root)
        return inside(root, ask)


def write(program: Program, root: Path) -> None:
    if program.folder is not None:
        shutil.copytree(program.folder, root, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in program.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "pyproject.toml").touch()  # the project ends here, whatever lies above


def inside(root: Path, ask: Callable[[Path], T]) -> T:
    """Paths are told as they are seen from the working folder."""
    before = os.getcwd()
    os.chdir(root)
    try:
        return ask(root)
    finally:
        os.chdir(before)


def told(root: Path) -> str:
    """What is said of the project in the working folder."""
    text = "".join(f"== {title}\n{text.rstrip()}\n\n" for title, text in parts(lint(["."], ALL)))
    return text.replace(f"{root}{os.sep}", "").replace(str(root), ".")


def parts(report: Report) -> Iterator[tuple[str, str]]:
    """What a run says, each part with its title."""
    yield "trace", "\n".join(report.traces)
    for shown in ("findings", "silenced", "known", "set_aside"):
        for form in ("json", "full"):
            yield f"{shown}, {form}", render(form, getattr(report, shown), report.sources)
    yield "verdicts", verdicts(report)
    text = Writer().text
    yield "seen", "\n".join(map(text, report.seen))
    for name in ("notes", "failures", "files", "left_out", "beyond", "skipped"):
        yield name, "\n".join(getattr(report, name))
    counted = ("target", "candidates", "linked", "elsewhere", "all_judged", "selected")
    yield "counted", "\n".join(f"{name} = {text(getattr(report, name))}" for name in counted)


def verdicts(report: Report) -> str:
    """Those of ``contract``, without the rules themselves, which are the same for all programs."""
    told = contract.contract(report.findings, report.models, report.followed)
    said = json.loads(contract.render_json(told, registry.rules(), report.target, report.unseen))
    return json.dumps({name: what for name, what in said.items() if name != "rules"}, indent=1)


def save(folder: Path, case: Case) -> str:
    """One file; gives its name."""
    path = folder / f"{case.name}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(behaviour(case), encoding="utf-8", errors="backslashreplace")
    return path.name
