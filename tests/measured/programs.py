"""Small programs, one for each silent fault that was measured: what happened stands above each.

Row by row the faults that public threads tell of and that were tried on torch 2.13 with gloo ranks. ``# expect`` names
the clause and the row on which both analyses have to say it, ``# job`` what only a running job can see, ``# source``
what is said from the source alone.
"""

from __future__ import annotations

import re

from tests.runtime.shapes import HEAD

LEARN = """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
"""
STEP = """\
    optimizer.step()
    optimizer.zero_grad()
"""
REPLICAS = """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
"""
BROKEN = "SCALES = torch.tensor([1.0, 1.0, 30.0, 1.0, 1.0, 1.0, 1.0, 1.0])  # the third batch is broken\n"
GRADIENTS = {
    # 1: losses 1.0124 1.5059 1.4774 1.2198, right are 1.0124 1.4444 1.4145 1.1164.
    "resharding is switched off": LEARN
    + """\
model.set_reshard_after_backward(False)  # expect: FSDP407
for step in range(4):
    loss_of(model, step).backward()
"""
    + STEP,
    # 2: losses 1.0124 1.4870 1.4216 1.1321: the next forward uses the weights of the step before.
    "gathered one line too early": LEARN
    + """\
for step in range(4):
    loss_of(model, step).backward()
    model.unshard()  # expect: FSDP407
"""
    + STEP,
    # 3: losses 1.0124 1.4566 1.4093 1.1272: reshard() is not recursive, the blocks stay gathered. That no group is
    # resharded after a forward, only the job can tell to be all of the model.
    "an evaluation that reshard does not mend": """\
model = Net()
for layer in model.layers:
    fully_shard(layer, reshard_after_forward=False)  # job: FSDP312
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(4):
    loss_of(model, step).backward()
    with torch.no_grad():
        model(torch.arange(8)[None])  # expect: FSDP407
    model.reshard()
"""
    + STEP,
    # 4: clip_grad_norm_ returns 0.0, and the optimizer steps with a norm of 129.1. The group is gathered at the step
    # as well, and one mistake is told once.
    "clipped while resharding is off": LEARN
    + """\
model.set_reshard_after_backward(False)  # expect: FSDP407
for step in range(4):
    loss_of(model, step).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
"""
    + STEP,
    # 4, where somebody reshards before the step: the clipping alone is wrong.
    "clipped while gathered, and resharded": LEARN
    + """\
parts = [*model.layers, model]
for step in range(4):
    loss_of(model, step).backward()
    for part in parts:
        part.unshard()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # expect: FSDP614
    for part in parts:
        part.reshard()
"""
    + STEP,
    # 4, the same on a micro-batch that is not synchronised.
    "clipped after a backward that is not synchronised": LEARN
    + """\
for step in range(4):
    model.set_requires_gradient_sync(False)
    loss_of(model, step).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # expect: FSDP614
    model.set_requires_gradient_sync(True)
    loss_of(model, step + 10).backward()
"""
    + STEP,
    # 5: a norm of 0.993 for 0.731, and parameters that differ by up to 0.037 after four epochs. How many micro-batches
    # an epoch has, only the job knows.
    "a micro-batch is left over": LEARN
    + """\
batches = list(range(5))
for epoch in range(4):
    optimizer.zero_grad()  # job: FSDP615
    for i, step in enumerate(batches):
        last = (i + 1) % 2 == 0
        model.set_requires_gradient_sync(last)
        loss_of(model, step).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
""",
    # 5, on a mesh with replicas.
    "a micro-batch is left over in replicas": REPLICAS
    + """\
batches = list(range(3))
for epoch in range(4):
    optimizer.zero_grad()  # job: FSDP615
    for i, step in enumerate(batches):
        last = (i + 1) % 2 == 0
        model.set_requires_all_reduce(last)
        loss_of(model, step).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
""",
    # 6: a norm of 10.76 for 0.765: the gradient that was given up comes back.
    "a window is given up": BROKEN
    + LEARN
    + """\
for i, step in enumerate(range(8)):
    last = (i + 1) % 2 == 0
    model.set_requires_gradient_sync(last)
    loss = loss_of(model, step) * SCALES[i]
    loss.backward()
    if loss > 50:
        optimizer.zero_grad()  # expect: FSDP615
        continue
    if last:
        optimizer.step()
        optimizer.zero_grad()
""",
    # 6, with the partial sums of replicas.
    "a window is given up in replicas": BROKEN
    + REPLICAS
    + """\
for i, step in enumerate(range(8)):
    last = (i + 1) % 2 == 0
    model.set_requires_all_reduce(last)
    loss = loss_of(model, step) * SCALES[i]
    loss.backward()
    if loss > 50:
        optimizer.zero_grad()  # expect: FSDP615
        continue
    if last:
        optimizer.step()
        optimizer.zero_grad()
""",
    # 7: 12 of 12 gradients are None at every step, and the weights never move.
    "the all-reduce is off": REPLICAS
    + """\
model.set_requires_all_reduce(False)  # expect: FSDP604
for step in range(4):
    loss_of(model, step).backward()
"""
    + STEP,
    # 8: gradients of blocks are 0.157, the mean, those of the root 1.530, the sum.
    "a factor for the root alone": LEARN
    + """\
for part in model.modules():
    if hasattr(part, "set_force_sum_reduction_for_comms"):
        part.set_force_sum_reduction_for_comms(True)
model.set_gradient_divide_factor(1.0)  # expect: FSDP616
for step in range(4):
    loss_of(model, step).backward()
"""
    + STEP,
    # 9: gradients of experts are twice as large as they would be in one process. Which tokens they get, and whether
    # they are others on each rank, only the job knows.
    "experts on a mesh of their own": """\
# ranks: 4
from torch.distributed._functional_collectives import all_to_all_single_autograd

mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("edp", "ep"))
world = dist.init_device_mesh("cpu", (4,))


class Sent(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        there = all_to_all_single_autograd(x.contiguous(), None, None, mesh.get_group("ep"))
        return all_to_all_single_autograd(self.inner(there).contiguous(), None, None, mesh.get_group("ep"))


model = with_experts(mesh.get_local_rank("ep"))
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["edp"])  # job: FSDP616
    layer.up = Sent(layer.up)
    fully_shard(layer, mesh=world)
fully_shard(model, mesh=world)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
"""
    + STEP,
    # 12: learning rates of 0.025 and 0.1.
    "a schedule that follows the rank's own loss": LEARN
    + """\
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5, threshold=0.0)
for step in range(8):
    loss = loss_of(model, step)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    schedule.step(loss.item() + dist.get_rank() * step)  # expect: FSDP617
""",
    # 12: learning rates of 0.0389 and 0.0531. Whether the lengths differ is not in the source.
    "a schedule as long as the rank's own data": LEARN
    + """\
mine = list(range(dist.get_rank(), 11, dist.get_world_size()))
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=len(mine))  # job: FSDP617
for step in mine[:5]:
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()
""",
    # 13: 0.930 and 0.987: gradients of the rank's own batch. For weights of blocks they are None.
    "gradients that autograd gives": LEARN
    + """\
for step in range(4):
    loss = loss_of(model, step)
    (own,) = torch.autograd.grad(loss, [model.head.weight], retain_graph=True)  # expect: FSDP619
    (loss + 0.01 * own.norm()).backward()
"""
    + STEP,
}
REST = {
    # 10: both ranks load where the loader of rank 0 stood, and numbers of one generator come from rank 1.
    "a place in the data under one key": LEARN
    + """\
import random

import torch.distributed.checkpoint as dcp

for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
random.seed(dist.get_rank())
state = {"model": model.state_dict(), "rng": random.getstate(), "seen": dist.get_rank() * 100}
dcp.save(state, checkpoint_id="saved")  # expect: FSDP712
dcp.load(state, checkpoint_id="saved")
""",
    # 11: rank 0 saved -0.0374, and loads -0.0135, which is of the other stage.
    "moments of two stages under the same numbers": """\
# ranks: 4
import torch.distributed.checkpoint as dcp

mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp"))
torch.manual_seed(mesh.get_local_rank("pp"))
model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16))
for layer in model:
    fully_shard(layer, mesh=mesh["dp"])
fully_shard(model, mesh=mesh["dp"])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(4):
    x = torch.randn(4, 16, generator=torch.Generator().manual_seed(step * 2 + mesh.get_local_rank("dp")))
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
state = {"optimizer": optimizer.state_dict()}
dcp.save(state, checkpoint_id="saved")  # expect: FSDP713
dcp.load(state, checkpoint_id="saved")
""",
    # 14: the norm's weight is 8.056 on one tp rank and 8.123 on the other.
    "a norm that the plan leaves out": """\
# ranks: 4
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 32, bias=False)
        self.down = nn.Linear(32, 16, bias=False)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


plan = {"up": ColwiseParallel(input_layouts=Shard(1)), "down": RowwiseParallel(output_layouts=Shard(1))}
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
model = nn.Sequential(Normed(), Normed())
for layer in model:
    parallelize_module(layer, mesh["tp"], plan)
    fully_shard(layer, mesh=mesh["dp"])
fully_shard(model, mesh=mesh["dp"])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
generator = torch.Generator().manual_seed(mesh["dp"].get_local_rank())
for step in range(4):
    x = torch.randn(4, 8, 16, generator=generator)
    model(x.chunk(2, dim=1)[mesh["tp"].get_local_rank()]).square().mean().backward()
    optimizer.step()  # job: FSDP805
    optimizer.zero_grad()
""",
    # 15: the upper half of the weight equals the lower half.
    "every rank draws the same shard": """\
from torch.distributed.fsdp import CPUOffloadPolicy

with torch.device("meta"):
    model = Net()
for layer in model.layers:
    fully_shard(layer, offload_policy=CPUOffloadPolicy(pin_memory=False))
fully_shard(model, offload_policy=CPUOffloadPolicy(pin_memory=False))
model.to_empty(device="cpu")
for part in model.modules():
    if hasattr(part, "reset_parameters"):
        part.reset_parameters()  # expect: FSDP208
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(4):
    loss_of(model, step).backward()
"""
    + STEP,
    # 16: placements are (Replicate, Shard(0)): nothing is sharded over dp.
    "a mesh for data and context": """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp_shard", "cp"))
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)  # expect: FSDP311
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(4):
    loss_of(model, step).backward()
"""
    + STEP,
    # 17: 0.0 is loaded, 12 keys are unexpected, and nothing is said.
    "names that do not fit": LEARN
    + """\
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict

saved = {f"module.{name}": value for name, value in get_model_state_dict(model).items()}
set_model_state_dict(model, saved, options=StateDictOptions(strict=False))  # expect: FSDP703
for step in range(4):
    loss_of(model, step).backward()
"""
    + STEP,
    # 17, by the planner of a checkpoint.
    "names that a checkpoint does not have": LEARN
    + """\
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner

for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
dcp.save({"model": model.state_dict()}, checkpoint_id="saved")
state = {"net": model.state_dict()}
dcp.load(state, checkpoint_id="saved", planner=DefaultLoadPlanner(allow_partial_load=True))  # expect: FSDP703
model.load_state_dict(state["net"])
""",
    # 18: the gradient differs by 0.018. Plain PyTorch raises.
    "weights are written before the backward": LEARN
    + """\
average = {name: value.clone() for name, value in model.state_dict().items()}
for step in range(4):
    loss = loss_of(model, step)
    model.load_state_dict(average)
    loss.backward()  # expect: FSDP408
"""
    + STEP,
    # 19: 999 becomes 1000, 513 becomes 512, 4097 becomes 4096.
    "positions in half precision": """\
from torch.distributed.fsdp import MixedPrecisionPolicy


class Timed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 32)

    def forward(self, x, time):
        angle = time[:, None] / 100 ** (torch.arange(16) / 16)
        return x + self.up(torch.cat([angle.cos(), angle.sin()], -1).to(x.dtype))


policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
model = Timed()
fully_shard(model, mp_policy=policy)  # job: FSDP505
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
time = torch.tensor([999.0, 513.0, 4097.0, 3.0])
for step in range(4):
    x = torch.randn(4, 32, generator=torch.Generator().manual_seed(step * 2 + dist.get_rank()))
    model(x, time).float().square().mean().backward()
"""
    + STEP,
    # 20: two of four weights were swapped. The order is another one in each process: what a job meets is chance.
    "weights are gathered in the order of a set": LEARN
    + """\
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
for weight in set(model.parameters()):
    print(weight.full_tensor().sum().item())  # source: FSDP806
""",
    # The control: right, and not a word.
    "what is right": LEARN
    + """\
for step in range(4):
    loss_of(model, step).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""
    + STEP,
}
PROGRAMS = {name: HEAD + body + "dist.destroy_process_group()\n" for name, body in {**GRADIENTS, **REST}.items()}


def expected(program: str, by: str) -> list[tuple[str, int]]:
    """The codes and rows that an analysis (``job`` or ``source``) has to say."""
    lines = enumerate(program.splitlines(), start=1)
    return [(code, row) for row, line in lines for code in re.findall(rf"# (?:expect|{by}): (FSDP\d+)", line)]
