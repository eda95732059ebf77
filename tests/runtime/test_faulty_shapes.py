"""Faulty programs in the shapes of real code: each fault is told once, on the line that ``# expect`` marks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import run_program
from tests.runtime.test_correct_shapes import HEAD, MESHES

pytestmark = pytest.mark.torchrun

TRAINED = """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
OWN = """\
class Own(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                self.update(parameter, parameter.grad, group["lr"])


def orthogonal(x):
    x = x / (x.norm() + 1e-7)
    for _ in range(3):
        x = 1.5 * x - 0.5 * (x @ x.T) @ x
    return x


"""
REPLICAS = """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
model = Net()
model.head = nn.Linear(32, 4096)
model.register_buffer("scales", torch.ones(100_000))
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)  # of the root
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
"""
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
STEPS = """\
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
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
    "an optimizer of what lies cut over the node": """\
# ranks: 4
model = Net()
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=2)
fully_shard(model, reshard_after_forward=True)
with torch.no_grad():
    loss_of(model, 0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # expect: FSDP602
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # How many micro-batches an epoch has, only a job knows.
    "a micro-batch that is left over at the end of an epoch": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()  # expect: FSDP615
    for step in range(5):
        model.set_requires_gradient_sync(step % 2 == 1)
        loss_of(model, step).backward()
        if step % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
""",
    "a micro-batch that is left over in replicas": """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.zero_grad()  # expect: FSDP615
    for step in range(3):
        model.set_requires_all_reduce(step % 2 == 1)
        loss_of(model, step).backward()
        if step % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
""",
    "a clipping of all but the last micro-batch": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    model.set_requires_gradient_sync(step % 2 == 1)
    loss_of(model, step).backward()
    if step % 2 == 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # expect: FSDP614
    else:
        optimizer.step()
        optimizer.zero_grad()
""",
    "an all-gather that is under way at the step": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss_of(model, step).backward()
    handle = model.layers[0].unshard(async_op=True)  # expect: FSDP407
    optimizer.step()
    optimizer.zero_grad()
""",
    # A thread that does something else waits for nothing.
    "a thread that does not wait for the save": """\
import threading

import torch.distributed.checkpoint as dcp

model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
group, asked = dist.new_group(backend="gloo"), []
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
    if step in (1, 3):
        future = dcp.async_save(model.state_dict(), checkpoint_id=f"at-{step}", process_group=group)  # expect: FSDP706
        thread = threading.Thread(target=asked.append, args=(step,))
        thread.start()
        thread.join()
        dist.barrier(group)
future.result()
""",
    # Ranks of one mesh put the expert together, and the ranks of the other mesh say nothing against it.
    "experts that differ within their mesh": MESHES
    + """\
model = with_experts(mesh.get_local_rank("experts"))
if dist.get_rank() == 0:
    nn.init.normal_(model.layers[1].up.up.weight)
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["shard"])  # expect: FSDP203
    fully_shard(layer, mesh=world)
fully_shard(model, mesh=world)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The experts have their share, the table has not: 64 MiB with its gradient and its states on each rank.
    "a table that is left out beside experts": MESHES
    + """\
model = with_experts(mesh.get_local_rank("experts"))
model.embed = nn.Embedding(2**19, 32)
model.embed.weight.requires_grad_(False)
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["shard"])
    fully_shard(layer, mesh=world)
fully_shard(model, mesh=world, ignored_params={model.embed.weight})  # expect: FSDP319
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # One of 65,536 numbers, on one replica: what compares bit by bit has to look at each of them.
    "one weight of one replica": REPLICAS.replace("optimizer.step()", "optimizer.step()  # expect: FSDP805")
    + """\
    if dist.get_rank() >= 2:
        with torch.no_grad():
            model.head.weight.to_local()[777, 7] += 1e-3
    optimizer.zero_grad()
""",
    "one number of a buffer": REPLICAS.replace("# of the root", "# expect: FSDP805")
    + """\
    if dist.get_rank() == 3:
        model.scales[54_321] += 1e-3
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
    "state of a class of parameters that is read with a default": INTEGERS
    + """\
fully_shard(model.layers[0])
fully_shard(model.layers[1])  # expect: FSDP317
fully_shard(model)
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-3)
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
    # What a rank makes of its own shards decides whether it steps.
    "a step that one rank may skip": """\
def bad(parameters):
    return any(
        not torch.isfinite(each.grad.to_local()).all()  # expect: FSDP603
        or each.grad.to_local().norm().item() > 1e6  # expect: FSDP603
        for each in parameters
    )


model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    if bad(list(model.parameters())):
        optimizer.zero_grad()
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
    "a norm that is added up in a name": """\
class Trainer:
    def __init__(self):
        self.model = shard(Net())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    @torch.no_grad()
    def norm(self):
        total = torch.zeros(())
        for each in self.model.parameters():
            total += each.grad.to_local().square().sum()  # expect: FSDP603
        return total.sqrt().item()

    def fit(self):
        for step in range(4):
            loss_of(self.model, step).backward()
            norm = self.norm()
            print("norm", norm)
            if norm < 1e6:
                self.optimizer.step()
            self.optimizer.zero_grad()


Trainer().fit()
""",
    "a flag that is set in a loop": """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    skip = False
    for each in model.parameters():
        largest = each.grad.to_local().abs().amax() if each.grad.to_local().numel() else torch.zeros(())
        local = each.grad.to_local()  # expect: FSDP603
        if torch.isnan(local).any():
            skip = True
            break
    if skip:
        optimizer.zero_grad()
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
    # One of 100,000 numbers is another on rank 1, and all are saved under one key.
    "a table that one rank has changed": TRAINED
    + """\
import torch.distributed.checkpoint as dcp

table = torch.arange(100_000.0)
table[54_321] += dist.get_rank()
dcp.save({"model": model.state_dict(), "table": table}, checkpoint_id="saved")  # expect: FSDP712
dcp.load({"model": model.state_dict(), "table": table}, checkpoint_id="saved")
""",
    "the same in a thread": """\
import threading

import torch.distributed.checkpoint as dcp


def loop():
    model = shard(Net())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(4):
        loss_of(model, step).backward()
        optimizer.step()
        optimizer.zero_grad()
    state = {"model": model.state_dict(), "seen": torch.full((4,), float(dist.get_rank()))}
    dcp.save(state, checkpoint_id="saved")  # expect: FSDP712
    dcp.load(state, checkpoint_id="saved")


thread = threading.Thread(target=loop)
thread.start()
thread.join()
""",
    # A class is judged by what it does with shards.
    "matrices are made orthogonal shard by shard": OWN
    + """\
class Muon(Own):
    def update(self, parameter, gradient, lr):
        parameter.to_local().add_(orthogonal(gradient.to_local()), alpha=-lr)


model = shard(Net())
matrices = [each for each in model.layers.parameters() if each.ndim == 2]
others = [each for each in model.parameters() if all(each is not matrix for matrix in matrices)]
optimizers = [
    Muon(matrices),  # expect: FSDP608
    torch.optim.AdamW(others, lr=1e-3),
]
for step in range(4):
    loss_of(model, step).backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
""",
    "a trust ratio of each shard": OWN
    + """\
class Lamb(Own):
    def update(self, parameter, gradient, lr):
        local = gradient.to_local()
        state = self.state[parameter]
        average = state.setdefault("average", torch.zeros_like(local))
        average.lerp_(local, 0.1)
        weight = parameter.to_local()
        ratio = torch.linalg.vector_norm(weight) / torch.linalg.vector_norm(average).clamp(min=1e-6)
        weight.data.add_(average * ratio.clamp(max=10.0), alpha=-lr)


model = shard(Net())
optimizer = Lamb(model.parameters())  # expect: FSDP608
"""
    + STEPS,
    "a root mean square of each shard, for all at once": """\
class Scaled(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            weights = [each._local_tensor for each in group["params"]]
            gradients = [each.grad._local_tensor for each in group["params"]]
            scales = torch._foreach_norm(gradients)
            torch._foreach_add_(scales, 1e-6)
            torch._foreach_add_(weights, torch._foreach_div(gradients, scales), alpha=-0.01)


model = shard(Net())
optimizer = Scaled(model.parameters())  # expect: FSDP608
"""
    + STEPS,
    # What to_local() gives is no DTensor, and no model either.
    "local parts are saved by one rank": TRAINED
    + """\
parts = {name: value.to_local() for name, value in model.state_dict().items()}
if dist.get_rank() == 0:
    torch.save({"model": parts, "step": step}, "model.pt")  # expect: FSDP701
""",
    "copies of local parts are saved by one rank": TRAINED
    + """\
if dist.get_rank() == 0:
    parts = {name: value.to_local().detach().clone() for name, value in model.named_parameters()}
    torch.save(parts, "model.pt")  # expect: FSDP701
""",
    "local parts are saved as arrays": TRAINED
    + """\
parts = [value.to_local().detach().numpy() for value in model.parameters()]
if dist.get_rank() == 0:
    torch.save(parts, "model.pt")  # expect: FSDP701
""",
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
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_fault_is_told_once(name: str, tmp_path: Path) -> None:
    script, program = tmp_path / "train.py", HEAD + PROGRAMS[name]
    script.write_text(program + "dist.barrier()\ndist.destroy_process_group()\n")
    job = run_program(script, tmp_path / "report", ranks=4 if "# ranks: 4" in program else 2)
    found = [(each.code, each.primary.site.row) for each in job.findings if each.severity.value != "info"]
    assert found == expected(program), (job.output(), job.findings)
    assert "broke down" not in str(job.report.notes), job.report.notes


def expected(program: str) -> list[tuple[str, int]]:
    """The codes and rows that comments of the program ask for."""
    lines = enumerate(program.splitlines(), start=1)
    return [(code, row) for row, line in lines for code in re.findall(r"# expect: (FSDP\d+)", line)]
