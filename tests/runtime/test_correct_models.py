"""Correct models, forwards and what is done with them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import nothing_is_reported

pytestmark = pytest.mark.torchrun

PROGRAMS = {
    # What the parts were given before is not allocated anew.
    "to_empty without recursion": """\
with torch.device("meta"):
    model = Net()
shard(model)
for module in reversed(list(model.modules())):
    module.to_empty(device="cpu", recurse=False)
    if hasattr(module, "reset_parameters"):
        torch.manual_seed(dist.get_rank())
        module.reset_parameters()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Gradients that are never computed are not computed for nothing.
    "a linear probe": """\
class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = Net(), nn.Linear(64, 64)

    def forward(self, tokens):
        with torch.no_grad():
            x = self.body(tokens)
        return self.head(x)


model = Probe()
shard(model.body)
fully_shard(model)
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The temperature is the same everywhere, the tokens inside the dataclass are not.
    "a batch in a dataclass": """\
@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, batch, temperature):
        return self.net(batch.tokens) / temperature


model = Scaled()
for layer in model.net.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    tokens = torch.randint(64, (4, 8), generator=torch.Generator().manual_seed(step * 2 + dist.get_rank()))
    logits = model(Batch(tokens), torch.tensor(1.0 + step))
    F.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Annotations of the script are what it says, whatever this tool's own files ask of the compiler.
    "a parser from annotations": """\
@dataclasses.dataclass
class Arguments:
    lr: float = 0.1


(field,) = dataclasses.fields(Arguments)
assert field.type is float
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=field.type("0.1"))
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # A class of torch is compiled from its source, also after one of its objects was sharded.
    "TorchScript after sharding": """\
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model.head)
fully_shard(model)
torch.jit.script(nn.Sequential(nn.Linear(2, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Held weakly where it can be, and let go in time where it cannot.
    "a model that is gone": """\
import gc
import time
import weakref

model = shard(Net())
held = [weakref.ref(model), *(weakref.ref(each) for each in Net().parameters())]
loss_of(model, 0)
del model
for _ in range(300):  # who looks where this rank stands may have a frame of the forward in hand just now
    gc.collect()
    if not [each for each in held if each() is not None]:
        break
    time.sleep(0.1)
else:
    raise AssertionError("it is kept for good")
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Between a forward without backward and the next one another DTensor stands in the place of each shard.
    "an evaluation after the step, resharded to the node": """\
# ranks: 4
model = Net()
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=2)
fully_shard(model, reshard_after_forward=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        loss_of(model, 100 + step)
""",
    "a reference model that is only read, resharded to the node": """\
# ranks: 4
model, reference = shard(Net()), Net().requires_grad_(False)
for layer in reference.layers:
    fully_shard(layer, reshard_after_forward=2)
fully_shard(reference, reshard_after_forward=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    with torch.no_grad():
        wanted = loss_of(reference, step)
    (loss_of(model, step) - 0.1 * wanted).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Rollouts and evaluations before the first step, thousands in real jobs, are not all written down.
    "many forwards before the first step": """\
import os

model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sizes = []
for turn in range(300):
    loss_of(model, turn) if turn % 2 else loss_of(model, turn).detach()
    model.reshard()
    sizes.append(os.path.getsize(f"rank{dist.get_rank()}.jsonl"))
assert sizes[-1] == sizes[150], sizes
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # As the documentation of torch recommends it.
    "kept for evaluations only": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    model.set_reshard_after_forward(False)
    model.eval()
    with torch.no_grad():
        loss_of(model, 50), loss_of(model, 51)
    model.train()
    for module in model.modules():
        if hasattr(module, "reshard"):
            module.reshard()
    model.set_reshard_after_forward(True)
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "some blocks are kept": """\
model = shard(Net())
model.layers[1].set_reshard_after_forward(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # What is lost was the default, or is set again, or was never there.
    "marks on parameters": """\
model = Net()
for name, parameter in model.named_parameters():
    parameter.no_decay = name.endswith("bias")
    parameter.scaled = False
model.embed.weight.special = True
shard(model)
for name, parameter in model.named_parameters():
    parameter.no_decay = name.endswith("bias")
groups = {True: [], False: []}
for parameter in model.parameters():
    assert not getattr(parameter, "scaled", False)
    if parameter is not model.embed.weight:
        assert not hasattr(parameter, "special")
    groups[getattr(parameter, "no_decay", False)].append(parameter)
assert len(groups[True]) == 3
optimizer = torch.optim.AdamW([{"params": groups[False]}, {"params": groups[True], "weight_decay": 0.0}], lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str, tmp_path: Path) -> None:
    nothing_is_reported(PROGRAMS[name], tmp_path)
