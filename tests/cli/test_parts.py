"""A part of a project destroys nothing: comments and entries of the baseline stay unless every program was judged."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from fsdp2_lint.files import discovery
from fsdp2_lint.static.interpreter.interpreter import Interpreter
from tests.cli.conftest import Ran

Cli = Callable[..., Ran]
# A helper that is right or wrong as a program uses it, and such a program.
SHARD = """\
from torch.distributed.fsdp import fully_shard
def shard(model):
    fully_shard(model)
def run(model, first, second):
    first(model)
    second(model){comment}
"""
NEEDED, HELPER = "  # fsdp2-lint: ignore[FSDP305] accepted", "llm/parallel.py"
TRAIN = """\
import torch
from llm.parallel import run, shard
model = torch.nn.Linear(4, 4)
run(model, shard, shard)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2)).sum().backward()
optimizer.step()
"""


@dataclass(frozen=True)
class Part:
    """How a project is laid out, and which part of it is checked in which way. Nobody may say that it is the whole."""

    arguments: tuple[str, ...] = ()
    program: str = "train.py"
    helper: str = HELPER
    settings: str | None = ""  # None: no file says where the project begins
    inside: str = "."
    more: dict[str, str] = field(default_factory=dict)
    text: str = TRAIN
    package: bool = True


PARTS = {
    "a folder": Part(("llm",)),
    "the folder, from inside": Part(inside="llm"),
    "the helper alone": Part((HELPER,)),
    "the files that pre-commit names": Part(("llm/__init__.py", HELPER, "--force-exclude")),
    "the script alone": Part(("train.py",)),
    "some codes": Part(("llm", "--select", "FSDP6,FSDP001")),
    "one code": Part((HELPER, "--select", "FSDP305")),
    "unneeded comments only": Part(("llm", "--select", "FSDP001")),
    "without the code": Part(("--ignore", "FSDP3")),
    "a folder of no project": Part(("llm",), settings=None, package=False),
    "no project, from inside": Part(inside="llm", settings=None, package=False),
    "the program is excluded": Part(settings='[tool.fsdp2-lint]\nexclude = ["train.py"]\n'),
    "its folder is excluded": Part(
        (HELPER,), program="old/run/train.py", settings='[tool.fsdp2-lint]\nexclude = ["old"]\n'
    ),
    "the program is a test": Part(program="tests/test_train.py"),
    "of a test the helper": Part(("llm",), program="test_train.py"),
    "the helper is excluded": Part(settings='[tool.fsdp2-lint]\nexclude = ["llm"]\n'),
    "without the settings": Part(
        ("--isolated",),
        program="jobs/train.py",
        helper="src/kit/llm/parallel.py",
        settings='[tool.fsdp2-lint]\nsource-roots = ["src/kit"]\n',
        more={"llm/parallel.py": "", "llm/__init__.py": ""},
    ),
    "other settings": Part(
        ("--config", "other.toml"),
        program="jobs/train.py",
        helper="src/kit/llm/parallel.py",
        settings='[tool.fsdp2-lint]\nsource-roots = ["src/kit"]\n',
        more={"llm/parallel.py": "", "llm/__init__.py": "", "other.toml": ""},
    ),
    "a program that does not parse": Part((HELPER,), text=f"{TRAIN}def f(:\n"),
    "a program that is nested too deeply": Part((HELPER,), text=TRAIN + "(" * 300 + ")" * 300),
    "a program of unknown encoding": Part((HELPER,), text=f"# coding: klingon\n{TRAIN}"),
    "a program of a newer Python": Part((HELPER,), text=f"{TRAIN}f'{{x!q}}'\n"),
}


def laid_out(part: Part, folder: Path, comment: str, *, healthy: bool = False) -> Path:
    """The project as it is checked; ``healthy``: as it was while all of it could be judged."""
    project = folder / "project"
    files = {part.program: TRAIN if healthy else part.text, part.helper: SHARD.format(comment=comment), **part.more}
    if part.package:
        files[f"{Path(part.helper).parent.as_posix()}/__init__.py"] = ""
    if part.settings is not None:
        files["pyproject.toml"] = part.settings
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    return project


@pytest.mark.parametrize("name", PARTS)
def test_no_comment_is_removed(name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = PARTS[name]
    project = laid_out(part, tmp_path, NEEDED)
    before = held(project)
    monkeypatch.chdir(project / part.inside)
    ran = cli("check", *part.arguments, "--fix")
    assert held(project) == before and "FSDP001" not in ran.out


@pytest.mark.parametrize("name", PARTS)
def test_no_entry_is_dropped(name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = PARTS[name]
    project, known = laid_out(part, tmp_path, "", healthy=True), tmp_path / "known.json"
    monkeypatch.chdir(project)
    assert cli("check", part.program, part.helper, ".", "--update-baseline", "--baseline", known).code == 0
    entries = listed(known)
    assert entries == [("FSDP305", f"project/{part.helper}")]
    laid_out(part, tmp_path, "")
    monkeypatch.chdir(project / part.inside)
    assert " gone" not in cli("check", *part.arguments, "--baseline", known).err
    cli("check", *part.arguments, "--update-baseline", "--baseline", known)
    assert listed(known) == entries


@pytest.mark.parametrize(
    "line",
    [
        "from importlib import import_module\nrun = import_module('llm.parallel').run",
        "run = __import__(\"llm.parallel\", fromlist=['run']).run",
        "from hydra.utils import instantiate\nrun = instantiate({'_target_': 'llm.parallel.run'})",
    ],
)
def test_what_is_imported_by_a_text_may_need_it(
    line: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TRAIN.replace("from llm.parallel import run, shard", f"from llm.other import shard\n{line}")
    part = Part(text=text, more={"llm/other.py": SHARD.format(comment="")})
    monkeypatch.chdir(laid_out(part, tmp_path, NEEDED))
    for arguments in ((), ("llm",), (HELPER,)):
        ran = cli("check", *arguments, "--fix")
        assert "FSDP001" not in ran.out and Path(HELPER).read_text() == SHARD.format(comment=NEEDED)
        assert "train.py may import what they are in by a text" in ran.err or "1 silenced by comments" in ran.err


def held(project: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in project.rglob("*") if path.is_file()}


def listed(file: Path) -> list[tuple[str, str]]:
    return [(entry["code"], entry["path"]) for entry in json.loads(file.read_text())["findings"]]


@pytest.mark.parametrize("name", ["a folder", "the helper alone", "the program is a test", "unneeded comments only"])
def test_what_no_program_needs_is_removed(name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = PARTS[name]
    project = laid_out(part, tmp_path, "")
    monkeypatch.chdir(project)
    assert cli("check", part.program, part.helper, ".", "--update-baseline").code == 0
    assert listed(project / "fsdp2-lint-baseline.json")
    (project / part.program).write_text(TRAIN.replace("shard, shard", "shard, print"))
    cli("check", *part.arguments, "--update-baseline")
    assert not listed(project / "fsdp2-lint-baseline.json")
    (project / part.program).write_text("import llm.parallel\n")
    (project / part.helper).write_text(SHARD.format(comment=NEEDED))
    assert cli("check", *part.arguments, "--fix").code == 0
    assert (project / part.helper).read_text() == SHARD.format(comment="")


@pytest.mark.parametrize("arguments", [(), ("--stdin-filename", HELPER)])
def test_of_stdin_no_comment_is_removed(
    arguments: tuple[str, ...], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(laid_out(Part(), tmp_path, NEEDED))
    text = SHARD.format(comment=NEEDED)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert cli("check", "-", *arguments, "--fix").out == text


def test_stdin_is_no_file_of_a_baseline(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(laid_out(Part(), tmp_path, ""))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    ran = cli("check", "-", "--stdin-filename", HELPER, "--update-baseline")
    assert ran.code == 2 and "--update-baseline is about files, and stdin is not a file" in ran.err
    assert not Path("fsdp2-lint-baseline.json").exists()


# What keeps a run of all from judging all: it is said, and it costs nothing but the answer.
CUTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the budget": lambda patch: patch.setenv("FSDP2_LINT_STEPS", "1"),
    "a defect": lambda patch: patch.setattr(Interpreter, "run_module", _broken),
    "a folder that cannot be listed": lambda patch: patch.setattr(discovery.os, "scandir", _refuses("jobs")),
    "a file that cannot be read": lambda patch: patch.setattr(discovery, "read", _unreadable("train.py")),
}


def _broken(*given: object) -> None:
    raise IndexError("tuple index out of range")


def _refuses(name: str) -> Callable[[str], object]:
    works = discovery.os.scandir

    def scandir(path: str) -> object:
        if path.endswith(name):
            raise PermissionError(13, "Permission denied")
        return works(path)

    return scandir


def _unreadable(name: str) -> Callable[[str, int], bytes]:
    works = discovery.read

    def read(path: str, most: int) -> bytes:
        if path.endswith(name):
            raise PermissionError(13, "Permission denied")
        return works(path, most)

    return read


@pytest.mark.parametrize("arguments", [(), ("llm",)], ids=["all", "part"])
@pytest.mark.parametrize("cut", CUTS)
def test_what_was_cut_off_says_nothing_of_what_is_not_needed(
    cut: str, arguments: tuple[str, ...], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Part(program="jobs/train.py")
    project, known = laid_out(part, tmp_path, ""), tmp_path / "known.json"
    monkeypatch.chdir(project)
    assert cli("check", "--update-baseline", "--baseline", known).code == 0
    entries = listed(known)
    CUTS[cut](monkeypatch)
    assert " gone" not in cli("check", *arguments, "--baseline", known).err
    cli("check", *arguments, "--update-baseline", "--baseline", known)
    assert listed(known) == entries
    laid_out(part, tmp_path, NEEDED)
    ran = cli("check", *arguments, "--fix")
    assert (project / HELPER).read_text() == SHARD.format(comment=NEEDED) and "FSDP001" not in ran.out
    assert "error: " in ran.err or "warning: " in ran.err


def test_of_another_torch_than_the_project_s_nothing_is_removed(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    line = "from torch.distributed._composable.fsdp import fully_shard"
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(f"{line}\n")
    cli("check", "--update-baseline")
    ran = cli("check", "--target-torch", "2.5", "--update-baseline")
    assert listed(Path("fsdp2-lint-baseline.json")) == [("FSDP901", "a.py")]
    assert ran.err.splitlines()[0] == (
        "warning: comments and baseline entries that are not needed are not reported:"
        " the project is for torch 2.15 and this run for torch 2.5"
    )
    Path("a.py").write_text(f"{line}  # noqa: FSDP901\n")
    cli("check", "--target-torch", "2.5", "--fix")
    assert Path("a.py").read_text() == f"{line}  # noqa: FSDP901\n"
    Path("pyproject.toml").write_text('[tool.fsdp2-lint]\ntarget-torch = "2.5"\n')
    cli("check", "--target-torch", "2.5", "--fix")
    assert Path("a.py").read_text() == f"{line}\n"


def test_settings_do_not_choose_a_file_elsewhere(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = laid_out(Part(settings='[tool.fsdp2-lint]\nbaseline = "../known.json"\n'), tmp_path, "")
    monkeypatch.chdir(project)
    works = "--update-baseline --baseline ../known.json"
    ran = cli("check")
    assert ran.code == 2 and ran.err.endswith(f"known.json: there is no such baseline; {works} writes it\n")
    ran = cli("check", "--update-baseline")
    assert ran.code == 2 and f"../known.json: lies outside of the project; {works} writes it all the same" in ran.err
    (project / "pyproject.toml").write_text('[tool.fsdp2-lint]\nbaseline = "known.json"\n')
    (project / "known.json").symlink_to("../known.json")
    assert cli("check", "--update-baseline").code == 2 and not (tmp_path / "known.json").exists()
    assert cli("check", "--update-baseline", "--baseline", "../known.json").code == 0
