"""Correct optimizers and steps, by hand and of the job's own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.runtime.shapes import OWN, nothing_is_reported

pytestmark = pytest.mark.torchrun

PROGRAMS = {
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
    nothing_is_reported(PROGRAMS[name], tmp_path)
