"""Faulty models, and what is done with them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import STEPS, each_fault_is_told_once

pytestmark = pytest.mark.torchrun

MARKED = """\
model = Net()
for name, parameter in model.named_parameters():
    parameter.no_decay = parameter.ndim < 2
for layer in model.layers:
    fully_shard(layer)  # expect: FSDP317
fully_shard(model)
"""
INTEGERS = """\
class Int8Weight(nn.Parameter):
    def __new__(cls, data, scale):
        self = torch.Tensor._make_subclass(cls, data, False)
        self.scale = scale
        return self


class Quantised(Block):
    def __init__(self):
        super().__init__()
        weight = nn.Linear(32, 32, bias=False).weight.detach()
        self.base = Int8Weight((weight * 700).round().to(torch.int8), 1 / 700)

    def forward(self, x):
        return self.up(x) + F.linear(x, self.base.to(x.dtype)) * getattr(self.base, "scale", 1.0)


model = Net()
model.layers[1] = Quantised()
"""
PROGRAMS = {
    # Cut over the ranks of a node, a copy of the old weights lies ready for the next forward.
    "an evaluation between backward and step, resharded to the node": """\
# ranks: 4
model = Net()
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=2)
fully_shard(model, reshard_after_forward=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    with torch.no_grad():
        model(torch.zeros(4, 8, dtype=torch.long))  # expect: FSDP407
    optimizer.step()
    optimizer.zero_grad()
""",
    # Said later and for each module, it is the same choice or the same mistake as in the calls of fully_shard.
    "nothing is resharded, as a method says": """\
model = shard(Net())
model.set_reshard_after_forward(False, recurse=True)  # expect: FSDP312
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "nothing is resharded, as each module is told": """\
model = shard(Net())
for module in model.modules():
    if hasattr(module, "set_reshard_after_forward"):
        module.set_reshard_after_forward(False, recurse=False)  # expect: FSDP312
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # A default hides that the marks are gone.
    "marks that are read with a default": MARKED
    + """\
kept = [each for each in model.parameters() if getattr(each, "no_decay", False)]
others = [each for each in model.parameters() if not getattr(each, "no_decay", False)]
groups = [{"params": others, "weight_decay": 0.1}, {"params": kept, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW([group for group in groups if group["params"]], lr=1e-3)
"""
    + STEPS,
    "marks that are asked for": MARKED
    + """\
optimizer = torch.optim.AdamW([each for each in model.parameters() if not hasattr(each, "no_decay")], lr=1e-3)
"""
    + STEPS,
    "marks that are tried": MARKED
    + """\
def decays(parameter):
    try:
        return not parameter.no_decay
    except AttributeError:
        return True


optimizer = torch.optim.AdamW([each for each in model.parameters() if decays(each)], lr=1e-3)
"""
    + STEPS,
    # The line that is to be changed is the one that sets the parameter.
    "a parameter that is set anew": """\
model = shard(Net())
model.head.weight = nn.Parameter(torch.zeros(64, 32))  # expect: FSDP320
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
"""
    + STEPS,
    "a parameter that is registered anew, whole": """\
from torch.distributed.tensor import Replicate, distribute_tensor

model = shard(Net())
mesh = model.head.weight.device_mesh
whole = distribute_tensor(torch.zeros(64, 32), mesh, [Replicate()])
model.head.register_parameter("weight", nn.Parameter(whole))  # expect: FSDP320
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
"""
    + STEPS,
    "state of a class of parameters that is read with a default": INTEGERS
    + """\
fully_shard(model.layers[0])
fully_shard(model.layers[1])  # expect: FSDP317
fully_shard(model)
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-3)
"""
    + STEPS,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_is_told_once(name: str, tmp_path: Path) -> None:
    each_fault_is_told_once(PROGRAMS[name], tmp_path)
