"""FSDP801 where the part of the data that a rank takes decides, and where the ranks agree or some may share a part."""

from __future__ import annotations

import pytest

from tests.static.program import Analysis, analyse, script

BEFORE = """\
import numpy as np
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh


class Source:
    def __init__(self, tokens):
        self.tokens = tokens

    def sample(self, key):
        by = torch.Generator().manual_seed(key)
        at = int(torch.randint(0, 1000, (1,), generator=by))
        hidden = torch.rand(16, generator=by) < 0.15
        x = self.tokens[at : at + 16]
        return torch.where(hidden, 0, x), torch.where(hidden, x, -100)


def stream(source, rank, world, batch):
    step = 0
    while True:
        order = torch.randperm(4096, generator=torch.Generator().manual_seed(step))
        mine = order[(step * world + rank) * batch :][:batch]
        xs, ys = zip(*(source.sample(int(k)) for k in mine))
        yield torch.stack(xs), torch.stack(ys)
        step += 1


"""
TRAINING = """
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
{mesh}
model = Net()
for layer in model.layers:
    fully_shard(layer{where})
fully_shard(model{where})
tokens = torch.randint(100, (4096,), generator=torch.Generator().manual_seed(0))
{data}
for step in range(100):
    {batch}
    {question}
    dist.all_reduce(count)
    (F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum") / count).backward()
"""
STREAM = ("batches = stream(Source(tokens), rank, world, 4)", "x, y = [each.cpu() for each in next(batches)]")
ROWS = ("rows = tokens.view(world, -1)", "x = rows[rank][step : step + 16]\n    y = x")
EVERY = ("own = tokens[rank::world]", "x, y = own[step * 16 :][:16], own[step * 16 + 1 :][:16]")
COLUMNS = ("wide = tokens.view(-1, 64)", "x = wide[:, rank * 8 : rank * 8 + 8]\n    y = x")
COUNT = "count = (y >= 0).sum()\n    "
OWN = {
    "samples by number": (STREAM, COUNT + "if count == 0:\n        continue"),
    "a generator expression": (
        (STREAM[0], "x, y = (each.cpu() for each in next(batches))"),
        COUNT + "if count.item() == 0:\n        continue",
    ),
    "a row": (ROWS, COUNT + "if count == 0:\n        continue"),
    "every so many": (EVERY, COUNT + "if not count:\n        break"),
    "columns": (COLUMNS, COUNT + "if count < 2:\n        continue"),
}
AGREED = {
    "reduced before": (STREAM, COUNT + "dist.all_reduce(count)\n    if count == 0:\n        continue"),
    "how much there is": (EVERY, COUNT + "if len(x) < 16 or x.size(0) < 16:\n        break"),
    "an error": (STREAM, COUNT + "if count == 0:\n        raise ValueError(step)"),
    "nothing is left out": (ROWS, COUNT + "if count == 0:\n        print(step)"),
}


def said(data: tuple[str, str], question: str, mesh: str = "", where: str = "") -> Analysis:
    text = TRAINING.format(data=data[0], batch=data[1], question=question, mesh=mesh, where=where)
    return analyse(script(text, BEFORE))


@pytest.mark.parametrize("data, question", OWN.values(), ids=OWN.keys())
def test_a_rank_goes_by_its_part(data: tuple[str, str], question: str) -> None:
    assert "FSDP801" in said(data, question).codes


@pytest.mark.parametrize("data, question", AGREED.values(), ids=AGREED.keys())
def test_no_rank_stays_away_alone(data: tuple[str, str], question: str) -> None:
    assert "FSDP801" not in said(data, question).codes


def test_ranks_of_one_replica_may_share_a_part() -> None:
    """A collective of the whole job needs both; what a mesh of two dimensions does may be among those that share it."""
    data = ("own = tokens[mesh['dp'].get_local_rank() :: mesh['dp'].size()]", EVERY[1])
    mesh = "mesh = init_device_mesh('cpu', (world // 2, 2), mesh_dim_names=('dp', 'tp'))"
    whole = said(data, OWN["a row"][1], mesh, ", mesh=mesh['dp']")
    assert "FSDP801" in whole.codes
    inside = COUNT + "if count > 0:\n        dist.all_reduce(count, group=mesh['tp'].get_group())"
    assert "FSDP801" not in said(data, inside, mesh, ", mesh=mesh['dp']").codes
    there = COUNT + "if count > 0:\n        model(x).sum().backward()"
    assert "FSDP801" not in said(data, there, mesh, ", mesh=mesh['dp']").codes


def test_ranks_with_parts_to_play() -> None:
    """A table says what a rank is there for; those that shard a model come to it together."""
    program = """
dist.init_process_group("gloo")
roles = torch.arange(dist.get_world_size()) % 2
model = Net()
if roles[dist.get_rank()] == 0:
    fully_shard(model)
    model(torch.randint(100, (2, 4))).sum().backward()
"""
    assert "FSDP801" not in analyse(script(program)).codes


def test_a_part_of_a_model_is_no_data() -> None:
    """Stages of a pipeline: what is sharded is still a part of the model."""
    program = """
dist.init_process_group("gloo")
model = AutoModelForCausalLM.from_pretrained("gpt2")
first = dist.get_rank() * 4
fully_shard(model)
for layer in model.transformer.h[first : first + 4]:
    fully_shard(layer)
"""
    assert "FSDP302" in analyse(script(program, "from transformers import AutoModelForCausalLM\n")).codes
