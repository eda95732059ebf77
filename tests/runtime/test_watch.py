"""What comes after the watched steps: collectives are followed to the end of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.commands import HEAD, command, row

pytestmark = pytest.mark.torchrun

LATE = (
    HEAD
    + """\
from pathlib import Path
import time


class Ordered(Net):
    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.order:
            x = layer(x)
        return self.head(x)


def wait_until_said():
    limit = time.monotonic() + 60
    while not any('"record": "fact"' in each.read_text() for each in Path.cwd().rglob("*.seen")):
        if time.monotonic() > limit:
            sys.exit("it was not said")
        time.sleep(0.05)


model = Ordered()
model.order = list(model.layers)
shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train(model, optimizer, 20)
before = dist.ProcessGroup.barrier
"""
)
# Their weights have the same shape, so nothing fails where they change places.
SWAPPED = """\
model.order = list(model.layers)[:: -1 if rank == 1 else 1]
train(model, optimizer, 1)
model.order = list(model.layers)
"""
ALONE = """\
if rank == 0:
    whole = model.head.weight.full_tensor()
train(model, optimizer, 1)
"""
CALL = "        x = layer(x)"


def test_blocks_in_another_order_are_said_while_the_job_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LATE + SWAPPED + "wait_until_said()\ntrain(model, optimizer, 1)\n")
    ranks = command(tmp_path, "run", "--check", "train.py", timeout=120)
    line = LATE.splitlines().index(f"    {CALL}", HEAD.count("\n")) + 1
    said = f"train.py:{line}: FSDP802 error rank 0 issued all_gather of layers.0 while rank 1 issued all_gather of"
    assert [each.code for each in ranks] == [1, 0], ranks
    assert sum(each.err.count(said) for each in ranks) == 1, ranks
    assert "FSDP802" in ranks[0].out and "each gets the data of the other" in ranks[0].out


@pytest.mark.slow
def test_a_gathering_on_one_rank(tmp_path: Path) -> None:
    """gloo aborts the process that meets another size, before it can say anything."""
    program = LATE + ALONE
    (tmp_path / "train.py").write_text(program)
    first, _ = command(tmp_path, "run", "--check", "train.py", timeout=120)
    report = command(tmp_path, "report", "fsdp2-lint-report", "--output-format", "concise", ranks=1)[0].out
    assert first.code != 0
    assert f"train.py:{row(program, '    whole = ')}:" in report and "FSDP801 error full_tensor()" in report


@pytest.mark.slow
def test_no_watch(tmp_path: Path) -> None:
    """Then the functions of torch are the very objects that they were, and nobody follows."""
    check = "assert before is dist.ProcessGroup.barrier and not hasattr(before, '__wrapped__')\n"
    (tmp_path / "train.py").write_text(LATE + SWAPPED + check)
    ranks = command(tmp_path, "run", "--check", "--no-watch", "train.py")
    assert [each.code for each in ranks] == [0, 0], ranks


COMPILED = """\
import torch._dynamo


def total(x):
    y = 2 * x
    dist.all_reduce(y)
    return y


torch._dynamo.config.recompile_limit = 8 if rank == 0 else 1
compiled = torch.compile(total, backend="eager", dynamic=False)
for size in (2, 3, 4):
    assert compiled(torch.ones(size)).sum() == 4 * size
train(model, optimizer, 1)
"""


@pytest.mark.slow
def test_one_rank_has_compiled_what_another_has_not(tmp_path: Path) -> None:
    """Python sees the collectives of the second one only. Both issue the same."""
    (tmp_path / "train.py").write_text(LATE + COMPILED)
    ranks = command(tmp_path, "run", "--check", "train.py", timeout=120)
    assert [each.code for each in ranks] == [0, 0], ranks
