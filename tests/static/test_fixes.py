"""Fixes of the static witness: their edits, applied to the bad programs of the pages, mend what was found."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from fsdp2_lint import registry
from fsdp2_lint.lint import Asked, lint
from fsdp2_lint.vocab.finding import Edit, Finding
from tests.pages.harness import Program, programs

CODES = ("FSDP901", "FSDP902", "FSDP904", "FSDP905")
BAD = [
    pytest.param(code, program, id=f"{code}-{number}")
    for code in CODES
    for number, program in enumerate(programs(registry.page(registry.rule(code))), start=1)
    if not program.good
]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Last edit first, so that the places of the others hold."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:row])) for row in range(len(lines) + 1)]
    for edit in sorted(set(edits), key=lambda edit: edit.site, reverse=True):
        site = edit.site
        start, end = starts[site.row - 1] + site.column - 1, starts[site.end_row - 1] + site.end_column - 1
        text = text[:start] + edit.text + text[end:]
    return text


def found(folder: Path, code: str) -> list[Finding]:
    return [finding for finding in lint([str(folder)], Asked(select=[code])).findings if finding.code == code]


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        (folder / name).write_text(text)


def mend(folder: Path, code: str) -> int:
    """Apply all fixes of a clause; how many findings had one."""
    fixes = [finding.fix for finding in found(folder, code) if finding.fix is not None]
    edits = [edit for fix in fixes for edit in fix.edits]
    for path in {Path(edit.site.path) for edit in edits}:
        text = apply(path.read_text(), [edit for edit in edits if Path(edit.site.path) == path])
        ast.parse(text)
        path.write_text(text)
    return len(fixes)


@pytest.mark.parametrize(("code", "program"), BAD)
def test_a_fix_mends_what_was_found(code: str, program: Program, tmp_path: Path) -> None:
    write(tmp_path, program.files)
    before = len(found(tmp_path, code))
    fixed = mend(tmp_path, code)
    assert before and len(found(tmp_path, code)) == before - fixed
    assert fixed == before or code == "FSDP902", "only FSDP1's keywords may have no equivalent"


SHARDED = """\
import torch
from torch.distributed.fsdp import fully_shard
model = torch.nn.Sequential(torch.nn.Linear(2, 2))
"""


@pytest.mark.parametrize(
    ("code", "line", "mended"),
    [
        ("FSDP902", "fully_shard(model, device_mesh=mesh)", "fully_shard(model, mesh=mesh)"),
        ("FSDP902", "fully_shard(model, use_orig_params=True)", "fully_shard(model)"),
        ("FSDP902", "fully_shard(model, limit_all_gathers=True, mesh=mesh)", "fully_shard(model, mesh=mesh)"),
        ("FSDP902", "fully_shard(limit_all_gathers=True, module=model)", None),
        ("FSDP902", "fully_shard(model, **{'use_orig_params': True})", None),
        ("FSDP902", "fully_shard(model, sharding_strategy='x')", None),
        ("FSDP905", "fully_shard(model); print('ä', model.module.bias)", "fully_shard(model); print('ä', model.bias)"),
        ("FSDP905", "fully_shard(model); print((model).module)", None),
        ("FSDP905", "fully_shard(model); print(model . module)", None),
    ],
)
def test_an_edit_is_made_where_it_is_certain(tmp_path: Path, code: str, line: str, mended: str | None) -> None:
    write(tmp_path, {"train.py": f"{SHARDED}mesh = None\n{line}\n"})
    (finding,) = found(tmp_path, code)
    if mended is None:
        assert finding.fix is None
        return
    assert finding.fix is not None and finding.fix.safe
    mend(tmp_path, code)
    assert (tmp_path / "train.py").read_text().splitlines()[-1] == mended


def test_a_path_with_names_that_are_not_public_is_left(tmp_path: Path) -> None:
    line = "from torch.distributed.fsdp._fully_shard import fully_shard, FSDPState\n"
    write(tmp_path, {"train.py": line})
    (finding,) = found(tmp_path, "FSDP901")
    assert finding.fix is None


def test_what_a_test_guards_has_to_be_looked_at(tmp_path: Path) -> None:
    asked = "import torch.distributed.fsdp as fsdp\nassert isinstance(model, fsdp.FullyShardedDataParallel)\n"
    write(tmp_path, {"train.py": f"{SHARDED}fully_shard(model)\n{asked}"})
    (finding,) = found(tmp_path, "FSDP904")
    assert finding.fix is not None and not finding.fix.safe
    mend(tmp_path, "FSDP904")
    assert (tmp_path / "train.py").read_text().splitlines()[-1] == "assert isinstance(model, fsdp.FSDPModule)"
