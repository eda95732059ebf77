"""Fixes of the static analysis: their edits, applied to the bad programs of the pages, mend what was found."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from fsdp2_lint.catalogue import registry
from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.lint import lint
from fsdp2_lint.vocab.finding import Edit, Finding
from tests.pages.harness import Program, programs

CODES = ("FSDP401", "FSDP601", "FSDP606", "FSDP607", "FSDP711", "FSDP901", "FSDP902", "FSDP904", "FSDP905")
PARTLY = ("FSDP601", "FSDP711", "FSDP902")  # not all that is wrong has one right place or one equivalent
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


def fix_all(folder: Path, code: str) -> int:
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
    fixed = fix_all(tmp_path, code)
    assert before and len(found(tmp_path, code)) == before - fixed
    assert fixed == before or code in PARTLY


SHARDED = """\
import torch
import torch.distributed.checkpoint.state_dict as dcp
import torch.distributed.fsdp as fsdp
from torch.distributed.fsdp import fully_shard
model = torch.nn.Sequential(torch.nn.Linear(2, 2))
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), "
OUTER = "fully_shard(model); model[0].forward("
GET = "fully_shard(model); dcp.get_state_dict(model, "


@pytest.mark.parametrize(
    ("code", "line", "mended"),
    [
        ("FSDP902", "fully_shard(model, device_mesh=mesh)", "fully_shard(model, mesh=mesh)"),
        ("FSDP902", "fully_shard(model, use_orig_params=True)", "fully_shard(model)"),
        ("FSDP902", "fully_shard(model, limit_all_gathers=True, mesh=mesh)", "fully_shard(model, mesh=mesh)"),
        ("FSDP902", "fully_shard(limit_all_gathers=True, module=model)", None),
        ("FSDP902", "fully_shard(model, **{'use_orig_params': True})", None),
        ("FSDP902", "fully_shard(model, sharding_strategy='x')", None),
        ("FSDP902", "fully_shard(model, cpu_offload=None, mesh=mesh)", "fully_shard(model, mesh=mesh)"),
        ("FSDP902", "fully_shard(model, sync_module_states=False)", "fully_shard(model)"),
        ("FSDP902", "fully_shard(model, sync_module_states=True)", None),
        ("FSDP902", "fully_shard(model, sharding_strategy=fsdp.ShardingStrategy.FULL_SHARD)", "fully_shard(model)"),
        ("FSDP902", "fully_shard(model, sharding_strategy=fsdp.ShardingStrategy.SHARD_GRAD_OP)", None),
        ("FSDP902", "fully_shard(model, device_mesh=mesh, mesh=mesh)", None),
        ("FSDP905", "fully_shard(model); print('ä', model.module.bias)", "fully_shard(model); print('ä', model.bias)"),
        ("FSDP905", "fully_shard(model); print((model).module)", None),
        ("FSDP905", "fully_shard(model); print(model . module)", None),
        ("FSDP401", "fully_shard(model); print('ä', model.forward(1))", "fully_shard(model); print('ä', model(1))"),
        ("FSDP401", "fully_shard(model); model[0].forward(model.forward(1))", f"{OUTER}model(1))"),
        ("FSDP401", "fully_shard(model); (model).forward(1)", None),
        ("FSDP401", "fully_shard(model); model. forward(1)", None),
        ("FSDP606", "fully_shard(model); model.clip_grad_norm_(1, 2)", f"fully_shard(model); {CLIP}1, 2)"),
        ("FSDP606", "fully_shard(model); model.clip_grad_norm_(max_norm=1)", f"fully_shard(model); {CLIP}max_norm=1)"),
        ("FSDP606", "fully_shard(model); norm = model.clip_grad_norm_(1)", None),
        ("FSDP606", "fully_shard(model); model.clip_grad_norm_ (1)", None),
        ("FSDP711", "fully_shard(model); dcp.get_state_dict(model, optimizer=[])", f"{GET}optimizers=[])"),
        ("FSDP711", "fully_shard(model); dcp.get_state_dict(model, [], optimizer=[])", None),
        ("FSDP711", "fully_shard(model); dcp.get_state_dict(*[model], optimizer=[])", None),
        ("FSDP711", "fully_shard(model); dcp.get_state_dict(model, optimizer=[], **{})", None),
        ("FSDP711", "fully_shard(model); dcp.get_state_dict(model, [], cpu_offload=True)", None),
    ],
)
def test_an_edit_is_made_where_it_is_certain(tmp_path: Path, code: str, line: str, mended: str | None) -> None:
    write(tmp_path, {"train.py": f"{SHARDED}mesh = None\n{line}\n"})
    (finding,) = found(tmp_path, code)
    if mended is None:
        assert finding.fix is None
        return
    assert finding.fix is not None and finding.fix.safe
    fix_all(tmp_path, code)
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
    fix_all(tmp_path, "FSDP904")
    assert (tmp_path / "train.py").read_text().splitlines()[-1] == "assert isinstance(model, fsdp.FSDPModule)"


NET = """\
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x)

    def generate(self, x):
        return {said}

{more}

net = Net()
fully_shard(net.inner)
fully_shard(net)
net.generate(torch.ones(2))
"""
OWN_CALL = "    def __call__(self, x):\n        return self.forward(x)"


@pytest.mark.parametrize(
    ("said", "more", "mended"),
    [
        ("self.inner.forward(x)", "", "self.inner(x)"),
        ("self.forward(x)", "", None),  # generate may be what forward calls
        ("getattr(self.inner, 'forward')(x)", "", None),
        ("functools.partial(self.inner.forward, x)()", "", None),
    ],
)
def test_a_module_is_called_unless_it_would_call_itself(
    tmp_path: Path, said: str, more: str, mended: str | None
) -> None:
    before, after = (SHARDED + NET.format(said=each, more=more) for each in (said, mended or said))
    write(tmp_path, {"train.py": before})
    fix_all(tmp_path, "FSDP401")
    assert (tmp_path / "train.py").read_text() == after


@pytest.mark.parametrize(
    ("more", "safe"),
    [("", True), (OWN_CALL, None), ("    def watch(self):\n        self.register_forward_hook(print)", False)],
)
def test_a_call_does_what_forward_does_and_runs_hooks(tmp_path: Path, more: str, safe: bool | None) -> None:
    """Those of the program as well; and a class may define what a call of it does."""
    write(tmp_path, {"train.py": f"{SHARDED}{NET.format(said='x', more=more)}net.forward(torch.ones(2))\n"})
    (finding,) = found(tmp_path, "FSDP401")
    assert (finding.fix and finding.fix.safe) is safe


LOOP = """\
{first}
optimizer = torch.optim.SGD(params)
model(torch.ones(2)).sum().backward()
torch.nn.utils.clip_grad_norm_(params, 1.0)
{last}
"""
LATE = "fully_shard(model)\n"


@pytest.mark.parametrize(
    ("first", "last", "mended"),
    [
        (f"{LATE}params = model.parameters()", "", f"{LATE}params = list(model.parameters())"),
        (f"{LATE}params = (p for p in model.parameters())", "", f"{LATE}params = list(p for p in model.parameters())"),
        (f"params = model.parameters()\n{LATE}", "", None),  # a list would hold what fully_shard replaces
        ("params = model.parameters()", LATE, None),
        (f"{LATE}params = model.parameters()", "def look():\n    next(params)\nlook()", None),
        (f"{LATE}params = kept = model.parameters()", "", f"{LATE}params = kept = list(model.parameters())"),
        (f"{LATE}params = filter(None, model.parameters())", "", None),
        (f"{LATE}list = sorted\nparams = model.parameters()", "", None),
    ],
)
def test_what_is_read_twice_becomes_a_list_once_all_is_sharded(
    tmp_path: Path, first: str, last: str, mended: str | None
) -> None:
    before, after = (SHARDED + LOOP.format(first=each, last=last) for each in (first, mended or first))
    write(tmp_path, {"train.py": before})
    fixes = [finding.fix for finding in found(tmp_path, "FSDP607") if finding.fix is not None]
    assert not any(fix.safe for fix in fixes)  # what the second reader does has not been done so far
    fix_all(tmp_path, "FSDP607")
    assert (tmp_path / "train.py").read_text() == after
