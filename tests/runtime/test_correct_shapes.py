"""Correct programs in shapes that invite a wrong conclusion, and what each of them once brought about."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.jobs import run_program

pytestmark = pytest.mark.torchrun

HEAD = """\
import dataclasses

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(32, 32)

    def forward(self, x):
        return x + self.up(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(32, 64)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def shard(model):
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


def loss_of(model, step):
    tokens = torch.randint(64, (4, 8), generator=torch.Generator().manual_seed(step * 2 + dist.get_rank()))
    return F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())


class Experts(nn.Module):
    \"\"\"Its own on each rank of a mesh for experts; ``seed`` makes it.\"\"\"

    def __init__(self, seed, width=32):
        super().__init__()
        self.up = nn.Linear(32, width)
        self.down = nn.Linear(width, 32)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


def with_experts(seed, width=32):
    model = Net()
    for layer in model.layers:
        layer.up = Experts(seed, width)
    return model


dist.init_process_group("gloo")
torch.manual_seed(0)
"""
MESHES = """\
# ranks: 4
mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("shard", "experts"))
world = dist.init_device_mesh("cpu", (4,))
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
PROGRAMS = {
    # The shards of a group change before the backward of the next one begins.
    "an optimizer that steps inside the backward": """\
model = shard(Net())
optimizers = {each: torch.optim.SGD([each], lr=0.1) for each in model.parameters()}


def step_of(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_of)
for step in range(4):
    loss_of(model, step).backward()
""",
    # No gradient depends on the value of a bias; plain PyTorch lets it pass as well.
    "a bias that is written before the backward": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = loss_of(model, step)
    with torch.no_grad():
        model.layers[0].up.bias.clamp_(-1, 1)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The forward and backward of a closure come after the hook that sees the step begin.
    "a step with a closure": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    with torch.no_grad():
        loss_of(model, 100 + step)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(model, step)
        loss.backward()
        return loss

    optimizer.step(closure)
""",
    # No zero_grad() comes between the micro-batches of a window.
    "windows that go over the end of an epoch": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
count = 0
for epoch in range(4):
    for step in range(3):
        count += 1
        model.set_requires_gradient_sync(count % 2 == 0)
        loss_of(model, step).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        if count % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
""",
    # While the parameters are gathered zero_grad() finds the sums, if they are not kept in another dtype.
    "gradients that are cleared while the parameters are gathered": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    model.set_requires_gradient_sync(step % 2 == 1)
    loss_of(model, step).backward()
    if step == 2:
        for module in (*model.layers, model):
            module.unshard()
        model.zero_grad()
        for module in (*model.layers, model):
            module.reshard()
    elif step % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()
""",
    # Between micro-batches the parameters may stay gathered, and of one replica there is nothing to reduce.
    "gathered between micro-batches": """\
model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.set_requires_all_reduce(False)
for step in range(8):
    last = step % 2 == 1
    model.set_reshard_after_backward(last)
    model.set_is_last_backward(last)
    loss_of(model, step).backward()
    if last:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
        for module in (*model.layers, model):
            module.unshard()
""",
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
import weakref

model = shard(Net())
parameters = [weakref.ref(each) for each in Net().parameters()]
first = weakref.ref(model)
loss_of(model, 0)
del model
gc.collect()
assert first() is None and not [each for each in parameters if each() is not None]
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
    # Whoever waits for a save need not be the main thread.
    "a save that a helper thread waits for": """\
from concurrent.futures import ThreadPoolExecutor

import torch.distributed.checkpoint as dcp

model = shard(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
group, pool, upload = dist.new_group(backend="gloo"), ThreadPoolExecutor(1), None
for step in range(5):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
    if step in (1, 3):
        if upload is not None:
            upload.result()
        future = dcp.async_save(model.state_dict(), checkpoint_id=f"saved-{step}", process_group=group)
        upload = pool.submit(future.result) if step == 1 else pool.submit(lambda: future.result())
upload.result()
pool.shutdown()
""",
    "a loop in a thread that saves": """\
import threading

import torch.distributed.checkpoint as dcp


def loop():
    model = shard(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    group, future = dist.new_group(backend="gloo"), None
    for step in range(5):
        loss_of(model, step).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step in (1, 3):
            if future is not None:
                future.result()
            future = dcp.async_save(model.state_dict(), checkpoint_id=f"saved-{step}", process_group=group)
    future.result()


thread = threading.Thread(target=loop)
thread.start()
thread.join()
""",
    # Each rank of the mesh for experts has others, and larger ones than the rest of the model.
    "experts on a mesh of their own": MESHES
    + """\
model = with_experts(77 + mesh["experts"].get_local_rank(), 8192)
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["shard"])
    fully_shard(layer, mesh=world)
fully_shard(model, mesh=world)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The same with replicas: a mesh of two dimensions for the model, and one of them for the experts.
    "experts beside replicas": MESHES.replace('"shard", "experts"', '"rows", "columns"')
    + """\
model = with_experts(5 + mesh["columns"].get_local_rank())
for layer in model.layers:
    fully_shard(layer.up, mesh=mesh["rows"])
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # The ranks begin with equal experts, and train them with other tokens.
    "experts that FSDP2 ignores": """\
class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Experts(3)
        self.inner.register_buffer("load", torch.zeros(1))

    def forward(self, x):
        self.inner.load += dist.get_rank()
        return self.inner(Sent.apply(x))


class Sent(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        received = torch.empty_like(x)
        dist.all_to_all_single(received, x.contiguous())
        return received

    @staticmethod
    def backward(context, gradient):
        received = torch.empty_like(gradient)
        dist.all_to_all_single(received, gradient.contiguous())
        return received


model = Net()
model.layers[1].up = Routed()
own = set(model.layers[1].up.parameters())
for layer in model.layers:
    fully_shard(layer, ignored_params=own)
fully_shard(model, ignored_params=own)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    # Steps are counted without an optimizer of torch: else the hooks would never go.
    "a hand-written update": """\
model = shard(Net())
for step in range(20):
    loss_of(model, step).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(parameter.grad, alpha=0.1)
            parameter.grad = None
assert not hasattr(Block.forward, "_fsdp2_lint"), "still watched"
""",
    "a hand-written update past autograd, of gradients that are accumulated": """\
model = shard(Net())
for step in range(20):
    for part in range(2):
        loss_of(model, 2 * step + part).backward()
        with torch.no_grad():
            loss_of(model, 1000)
        model.reshard()
    for parameter in model.parameters():
        parameter.data.add_(parameter.grad, alpha=-0.1)
    model.zero_grad()
    if step == 1:
        assert hasattr(Block.forward, "_fsdp2_lint"), "two backwards are one step here"
assert not hasattr(Block.forward, "_fsdp2_lint"), "still watched"
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
    # Whole tensors, tensors of other things, and DCP's own pieces.
    "saves by one rank": """\
import torch.distributed.checkpoint as dcp

model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    optimizer.step()
    optimizer.zero_grad()
whole = {name: value.full_tensor() for name, value in model.state_dict().items()}
zeros, tokens = [torch.zeros(16, 32) for _ in range(2)], torch.randint(64, (4, 8))
if dist.get_rank() == 0:
    torch.save({"model": whole, "zeros": zeros, "tokens": tokens, "random": torch.get_rng_state()}, "model.pt")
dcp.save(model.state_dict(), checkpoint_id="saved")
""",
    # Each element by itself, whole matrices, and sums that the ranks have put together.
    "optimizers of the job's own": OWN
    + """\
class Lion(Own):
    def update(self, parameter, gradient, lr):
        local, weight = gradient.to_local(), parameter.to_local()
        average = self.state[parameter].setdefault("average", torch.zeros_like(local))
        weight.add_(torch.sign(average * 0.9 + local * 0.1), alpha=-lr).mul_(1 - 0.01 * lr)
        average.lerp_(local, 0.01)


class Muon(Own):
    def update(self, parameter, gradient, lr):
        whole = orthogonal(gradient.full_tensor())
        own = whole.chunk(dist.get_world_size())[dist.get_rank()]
        parameter.to_local().add_(own, alpha=-lr)


class Lamb(Own):
    def update(self, parameter, gradient, lr):
        local, weight = gradient.to_local(), parameter.to_local()
        squares = torch.stack([weight.square().sum(), local.square().sum()])
        dist.all_reduce(squares)
        ratio = (squares[0] / squares[1].clamp(min=1e-6)).sqrt().clamp(max=10.0)
        weight.add_(local * ratio, alpha=-lr)


class Rows(Own):
    def update(self, parameter, gradient, lr):
        local = gradient.to_local()
        scales = local.square().mean(dim=-1, keepdim=True).sqrt() + 1e-6
        parameter.to_local().sub_(lr * local / scales)


class Sharded(Own):
    def update(self, parameter, gradient, lr):
        parameter.add_(gradient / (gradient.norm() + 1e-6), alpha=-lr)


model = shard(Net())
kinds = (Lion, Muon, Lamb, Rows, Sharded)
optimizers = [Muon([model.layers[0].up.weight]), Rows([model.layers[1].up.weight]), Lion([model.head.weight])]
optimizers += [Lamb([model.embed.weight]), Sharded([each for each in model.parameters() if each.ndim == 1])]
for step in range(4):
    loss_of(model, step).backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
""",
    # Numbers of each rank that are put together, printed, or looked at and nothing more.
    "numbers of local shards": """\
def bad(parameters):
    found = any(not torch.isfinite(each.grad.to_local()).all() for each in parameters)
    flag = torch.tensor(float(found))
    dist.all_reduce(flag)
    return flag.item() > 0


def norm(parameters):
    total = sum(each.grad.to_local().square().sum() for each in parameters)
    dist.all_reduce(total)
    return total.sqrt().item()


def watch(parameters):
    for each in parameters:
        if each.grad.to_local().abs().sum() > 100.0:
            print("large", each.shape)
    assert all(each.grad.to_local().isfinite().all() for each in parameters)


model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
parameters = list(model.parameters())
for step in range(4):
    loss_of(model, step).backward()
    watch(parameters)
    print(model.head.weight.grad.to_local().norm().item())
    if bad(parameters) or norm(parameters) > 1e6:
        optimizer.zero_grad()
        continue
    optimizer.step()
    optimizer.zero_grad()
""",
    # Each shard is changed as its own elements say, the same however many ranks there are.
    "gradients that are mended in place": """\
model = shard(Net())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(4):
    loss_of(model, step).backward()
    for each in model.parameters():
        local = each.grad.to_local()
        if local.numel() == 0:
            continue
        local.nan_to_num_(0.0).clamp_(-1.0, 1.0)
    optimizer.step()
    optimizer.zero_grad()
""",
    # Whether a rank holds anything of a parameter, and whether there is anything to do for an element.
    "empty shards in an optimizer of the job's own": OWN
    + """\
class Skipping(Own):
    def update(self, parameter, gradient, lr):
        local = gradient.to_local()
        if local.numel() == 0 or local is None:
            return
        if not local.any():
            self.state[parameter]["skipped"] = True
            return
        parameter.to_local().sub_(local, alpha=lr)


model = shard(Net())
optimizer = Skipping(model.parameters())
for step in range(4):
    loss_of(model, step).backward()
    for each in model.parameters():
        if each.grad.to_local().shape[0] == 0:
            optimizer.state[each]["empty"] = True
    optimizer.step()
    optimizer.zero_grad()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_reported(name: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + PROGRAMS[name] + "dist.destroy_process_group()\n")
    job = run_program(script, tmp_path / "report", ranks=4 if "# ranks: 4" in PROGRAMS[name] else 2)
    assert [(each.code, each.primary.site.row, each.message) for each in job.findings] == []
    assert job.report.crashes == [] and job.report.notes == [], job.output()
    assert job.report.sharded and job.report.steps >= 3
