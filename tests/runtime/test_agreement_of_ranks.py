"""Collectives that ranks issue in different orders, and ranks that stand still."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from fsdp2_lint.report.rank_file import records
from fsdp2_lint.report.sequences import sequences
from tests.runtime.commands import HEAD, row
from tests.runtime.jobs import Job, run_program

pytestmark = pytest.mark.torchrun

SHORT = HEAD.replace('("gloo")', '("gloo", timeout=datetime.timedelta(seconds=5))').replace(
    "import os\n", "import datetime\nimport os\nimport signal\nimport threading\nimport time\n"
)
MODEL = "model = shard(Net())\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"


def run(folder: Path, program: str, **options: float) -> Job:
    (folder / "train.py").write_text(SHORT + MODEL + program)
    steps = int(options.pop("steps", 3))
    return run_program(folder / "train.py", folder / "report", steps=steps, **options)  # type: ignore[arg-type]


def found(job: Job) -> list[tuple[str, int]]:
    return [(each.code, each.primary.site.row) for each in job.findings]


def line(program: str, text: str) -> int:
    return row(SHORT + MODEL + program, text)


# Hangs that come when the hooks are gone: both ranks wait, and only the thread still looks.

LATE_GUARD = """\
train(model, optimizer, steps=4)
if rank == 0:
    model(batch(9))
dist.barrier()
"""
LATE_LOOP = """\
for step in range(4 + rank):
    loss = model(batch(step)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
"""


@pytest.mark.slow  # the ranks wait until somebody says so
@pytest.mark.parametrize(
    ("program", "code", "text"),
    [(LATE_GUARD, "FSDP801", "    model(batch(9))"), (LATE_LOOP, "FSDP804", "    loss = model(")],
    ids=["guard", "loop"],
)
def test_a_hang_after_the_watched_steps(tmp_path: Path, program: str, code: str, text: str) -> None:
    job = run(tmp_path, program, steps=1, stall_after=1.0)
    assert found(job) == [(code, line(program, text))], job.output()


# The loop runs in a thread, as under Ray Train, and one rank alone gathers.
IN_A_THREAD = """\
def loop():
    for step in range(4):
        train(model, optimizer, steps=1)
        if step == 1 and rank == 0:
            whole = model.head.weight.full_tensor()
    dist.barrier()


thread = threading.Thread(target=loop)
thread.start()
thread.join()
"""


def test_a_guard_in_a_thread(tmp_path: Path) -> None:
    job = run(tmp_path, IN_A_THREAD)
    assert found(job) == [("FSDP801", line(IN_A_THREAD, "            whole = "))], job.output()


# Weights of one shape in another order: only their names tell that the halves of two layers meet.
ANOTHER_ORDER = """\
weights = [layer.weight for layer in model.layers]
for each in reversed(weights) if rank else weights:
    whole = each.full_tensor()
"""


@pytest.mark.parametrize("before", ["", "train(model, optimizer)\n"], ids=["before any forward", "after training"])
def test_equal_shapes_of_other_parameters(tmp_path: Path, before: str) -> None:
    program = f"{before}{ANOTHER_ORDER}dist.barrier()\ndist.destroy_process_group()\n"
    job = run(tmp_path, program)
    assert found(job) == [("FSDP802", line(program, "    whole = "))], job.output()
    (finding,) = job.findings
    assert "all_gather of layers.0.weight while rank 1 issued all_gather of layers.1.weight" in finding.message


def test_a_rank_that_is_killed(tmp_path: Path) -> None:
    """What it issued is on disk, and that nothing follows proves nothing."""
    program = (
        "train(model, optimizer, steps=1)\nif rank == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\ndist.barrier()\n"
    )
    job = run(tmp_path, program)
    assert found(job) == []
    path = tmp_path / "report" / "rank1.jsonl"
    (only,) = sequences(1, path, list(records(path)))
    assert not only.ended and len(only.issued) == 8  # of three groups; the root stays gathered
    assert {each.by for each in only.issued.values()} == {"forward", "backward()"}
    assert {each.used_for for each in only.issued.values() if each.names} >= {"layers.0", "layers.1"}


CORRECT = {
    # Only the order within a group counts.
    "groups in another order": """\
first, second = dist.new_group([0, 1]), dist.new_group([0, 1])
mine, other = (first, second) if rank == 0 else (second, first)
one = dist.all_reduce(torch.ones(3), group=mine, async_op=True)
two = dist.all_reduce(torch.ones(3), group=other, async_op=True)
one.wait()
two.wait()
train(model, optimizer)
dist.barrier()
""",
    # A thread of its own, in a group of its own.
    "a saver in the background": """\
own = dist.new_group([0, 1])


def save():
    for _ in range(20):
        dist.all_reduce(torch.ones(1), group=own)
        time.sleep(0.01 * rank)


saver = threading.Thread(target=save)
saver.start()
train(model, optimizer)
saver.join()
dist.barrier()
""",
    # Processes that are forked do not speak for the rank.
    "forked workers": """\
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.arange(8)), batch_size=2, num_workers=2, multiprocessing_context="fork")
assert len(list(loader)) == 4
train(model, optimizer)
dist.barrier()
""",
    # One does more, and nobody waits for it in the end.
    "messages between two ranks": """\
train(model, optimizer)
for _ in range(3):
    dist.send(torch.ones(1), 1) if rank == 0 else dist.recv(torch.ones(1), 0)
dist.barrier()
""",
    # Different lines, and the same collectives.
    "both sides of a condition": """\
train(model, optimizer)
if rank == 0:
    state = {name: each.full_tensor() for name, each in model.named_parameters()}
else:
    for _, each in model.named_parameters():
        each.full_tensor()
dist.barrier()
""",
    # A rank that saves, and is back in time.
    "a short wait": """\
train(model, optimizer)
if rank == 0:
    time.sleep(0.4)
dist.barrier()
""",
}


@pytest.mark.parametrize("name", CORRECT)
def test_correct(tmp_path: Path, name: str) -> None:
    job = run(tmp_path, CORRECT[name] + "dist.destroy_process_group()\n", stall_after=2.0)
    assert found(job) == []
    assert job.report.notes == [] and job.report.crashes == [], job.output()


@pytest.mark.slow
def test_the_patience_can_be_switched_off(tmp_path: Path) -> None:
    program = "train(model, optimizer, steps=1)\nif rank == 0:\n    time.sleep(2)\ndist.barrier()\n"
    job = run(tmp_path, program, stall_after=0.0)
    assert found(job) == []
