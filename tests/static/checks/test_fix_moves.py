"""FSDP601: the optimizer's statement moves behind the last one that shards, where nothing needs it before."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from fsdp2_lint.findings.asked import Asked
from fsdp2_lint.findings.fix import fix_all
from fsdp2_lint.lint import lint

HEAD = """\
import torch
from torch.distributed.fsdp import fully_shard
from torch.optim import SGD


def shard(model):
    fully_shard(model)
    return model


def build(model, lr=0.1):
    return SGD(model.parameters(), lr=lr)


def train(model, optimizer):
    model(torch.ones(2)).sum().backward()
    optimizer.step()


"""
MAIN = """\
def main(lr):
    model = torch.nn.Linear(2, 2)
"""
TRAINER = """\
class Trainer:
    def __init__(self, model):
        self.model = model
{steps}

    def build(self):
        self.optimizer = SGD(self.model.parameters(), lr=0.1)

    def shard(self):
        {said}
        fully_shard(self.model)

    def train(self):
        train(self.model, self.optimizer)


Trainer(torch.nn.Linear(2, 2)).train()
"""


def mended(folder: Path, data: bytes, *, unsafe: bool = True) -> bytes:
    """What becomes of ``train.py``, in which something is found; a second run must find nothing more to do."""
    (folder / "pyproject.toml").touch()
    path = folder / "train.py"
    path.write_bytes(data)
    assert lint([str(path)], Asked(select=["FSDP601"])).findings
    for _ in range(2):
        path.write_bytes(data)
        done = fix_all(lambda overlay: lint([str(path)], Asked(select=["FSDP601"]), overlay=overlay), unsafe=unsafe)
        assert not done.applied or not done.report.findings
        data = done.changed.get(str(path.resolve()), data)
    assert not done.changed
    return data


def in_main(lines: str) -> str:
    return HEAD + MAIN + textwrap.indent(textwrap.dedent(lines), "    ") + "\n\nmain(0.1)\n"


MOVED = {
    "directly": (
        "optimizer = SGD(model.parameters(), lr=lr)\nfully_shard(model)\ntrain(model, optimizer)",
        "fully_shard(model)\noptimizer = SGD(model.parameters(), lr=lr)\ntrain(model, optimizer)",
    ),
    "through helpers, over what does not need it": (
        "optimizer = build(model, lr=lr)\nprint(model)\nmodel = shard(model)\ntrain(model, optimizer)",
        "print(model)\nmodel = shard(model)\noptimizer = build(model, lr=lr)\ntrain(model, optimizer)",
    ),
    "with its comments, and the last of several": (
        """\
        # not about it

        # momentum
        # is off
        optimizer = SGD(  # plain
            model.parameters(),
            lr=lr,
        )  # so far
        for part in model.children():
            fully_shard(part)  # parts
        fully_shard(model)  # all
        train(model, optimizer)
        """,
        """\
        # not about it

        for part in model.children():
            fully_shard(part)  # parts
        fully_shard(model)  # all
        # momentum
        # is off
        optimizer = SGD(  # plain
            model.parameters(),
            lr=lr,
        )  # so far
        train(model, optimizer)
        """,
    ),
    "sharding under a condition": (
        "optimizer: SGD = build(model)\nif lr:\n    fully_shard(model)\ntrain(model, optimizer)",
        "if lr:\n    fully_shard(model)\noptimizer: SGD = build(model)\ntrain(model, optimizer)",
    ),
    "over what may refuse to go on": (
        "optimizer = build(model)\nif not lr:\n    raise ValueError\nfully_shard(model)\ntrain(model, optimizer)",
        "if not lr:\n    raise ValueError\nfully_shard(model)\noptimizer = build(model)\ntrain(model, optimizer)",
    ),
    "into a list": (
        "held = []\nheld.append(build(model))\nfully_shard(model)\ntrain(model, held[0])",
        "held = []\nfully_shard(model)\nheld.append(build(model))\ntrain(model, held[0])",
    ),
    "two of them, one after the other": (
        "first = build(model)\nsecond = build(model)\nfully_shard(model)\ntrain(model, first)\ntrain(model, second)",
        "fully_shard(model)\nsecond = build(model)\nfirst = build(model)\ntrain(model, first)\ntrain(model, second)",
    ),
}


@pytest.mark.parametrize(("before", "after"), MOVED.values(), ids=MOVED)
def test_it_moves(tmp_path: Path, before: str, after: str) -> None:
    assert mended(tmp_path, in_main(before).encode()).decode() == in_main(after)


def test_somebody_has_to_look_at_it(tmp_path: Path) -> None:
    data = in_main(MOVED["directly"][0]).encode()
    assert mended(tmp_path, data, unsafe=False) == data


STAYS = {
    "a scheduler needs it": (
        "optimizer = build(model)\nscheduler = print(optimizer)\nfully_shard(model)\ntrain(model, optimizer)"
    ),
    "the sharding itself needs it": "optimizer = build(model)\n(shard(model), optimizer)\ntrain(model, optimizer)",
    "a later function needs it": (
        "optimizer = build(model)\ndef step():\n    optimizer.step()\nfully_shard(model)\ntrain(model, optimizer)"
    ),
    "what it needs changes": "optimizer = build(model, lr)\nlr *= 2\nfully_shard(model)\ntrain(model, optimizer)",
    "it has no line of its own": "a = 1; optimizer = build(model)\nfully_shard(model)\ntrain(model, optimizer)",
    "one line for both": "optimizer = build(model); fully_shard(model)\ntrain(model, optimizer)",
    "the sharding has none": "optimizer = build(model)\nfully_shard(model); print()\ntrain(model, optimizer)",
    "behind a colon": "if lr: optimizer = build(model); fully_shard(model); train(model, optimizer)",
    "another block": "if lr:\n    optimizer = build(model)\n    print()\nfully_shard(model)\ntrain(model, optimizer)",
    "several names": "optimizer, other = build(model), 1\nfully_shard(model)\ntrain(model, optimizer)",
    "an item": "held = {}\nheld['it'] = build(model)\nfully_shard(model)\ntrain(model, held['it'])",
    "the list was filled before": (
        "held = list(model.parameters())\noptimizer = SGD(held)\nfully_shard(model)\ntrain(model, optimizer)"
    ),
    "the program may end between": (
        "optimizer = build(model)\nif not lr:\n    return\nfully_shard(model)\ntrain(model, optimizer)"
    ),
    "the sharding ends it": (
        "optimizer = build(model)\nif lr:\n    fully_shard(model)\n    train(model, optimizer)\n    return model"
    ),
    "others look at it between": (
        "optimizer = build(model)\nyield 1\nfully_shard(model)\ntrain(model, optimizer)\nyield optimizer"
    ),
    "set to nothing between": (
        "optimizer = build(model)\noptimizers = [optimizer]\nfully_shard(model)\ntrain(model, optimizers[0])"
    ),
    "unknown effects": "held = {}\nsetattr(held, 'it', build(model))\nfully_shard(model)\ntrain(model, held.it)",
}


@pytest.mark.parametrize("before", STAYS.values(), ids=STAYS)
def test_it_stays(tmp_path: Path, before: str) -> None:
    data = in_main(before).encode()
    compile(data, "train.py", "exec")
    assert mended(tmp_path, data) == data


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ("self.build()\nself.shard()", "", "self.shard()\nself.build()"),
        ("self.build()\nself.shard()", "print(self.optimizer)", None),
        ("self.optimizer = build(model)\nself.shard()", "", "self.shard()\nself.optimizer = build(model)"),
        ("self.optimizer = build(model)\nself.shard()", "print(self.optimizer)", None),
        ("self.optimizer = build(model)\nprint(getattr(self, 'optimizer'))\nself.shard()", "", None),
        ("self.optimizer = build(model)\nself.optimizer.lr = 1\nself.shard()", "", None),
    ],
)
def test_attributes_may_be_needed_far_away(tmp_path: Path, before: str, said: str, after: str | None) -> None:
    def program(steps: str) -> bytes:
        return (HEAD + TRAINER.format(steps=textwrap.indent(steps, " " * 8), said=said or "pass")).encode()

    assert mended(tmp_path, program(before)) == program(after or before)


def test_a_variable_of_the_file_may_be_needed_by_a_function(tmp_path: Path) -> None:
    """And a constant of the same file that only another function reads does no harm."""
    free = f"{HEAD}def shard_all(model):\n    {{said}}\n    fully_shard(model)\n\n\nmodel = torch.nn.Linear(2, 2)\n"
    early, late = "optimizer = build(model)", "shard_all(model)"
    for said, moves in (("print(optimizer)", False), ("print(HEAD)", True)):
        head = "HEAD = 1\n" + free.format(said=said)
        before = f"{head}{early}\n{late}\ntrain(model, optimizer)\n"
        after = f"{head}{late}\n{early}\ntrain(model, optimizer)\n"
        assert mended(tmp_path, before.encode()).decode() == (after if moves else before)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_everything_else_stays_as_it_is(tmp_path: Path, encoding: str, newline: str) -> None:
    """At the end of a file, which needs no last newline."""
    first = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else "# 𝄞 first\n"
    lines = ["'ä'; model = torch.nn.Linear(2, 2)", "# größer", "optimizer = build(model)", "shard(model)  # é"]
    before, after = (first + HEAD + "\n".join(lines[at] for at in order) for order in ((0, 1, 2, 3), (0, 3, 1, 2)))
    written = mended(tmp_path, before.replace("\n", newline).encode(encoding))
    assert written == after.replace("\n", newline).encode(encoding)
