"""How gradients are divided, taken and clipped: what looks like a fault, and what is one in another spelling."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

SHARDED = "model = Net()\nfor layer in model.layers:\n    fully_shard(layer)\nfully_shard(model)\n"
TRAIN = """\
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    loss = model(torch.ones(2, 8, dtype=torch.long)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
IMPORTS = "import sys\nimport unseen\nfrom torch.distributed.fsdp import FSDPModule\n"


def said(code: str, before: str, train: str = TRAIN) -> set[str]:
    seen = analyse(script(SHARDED + before + train, IMPORTS))
    assert not seen.result.broken
    return seen.verdicts(code) | ({"violated"} if code in seen.codes else set())


DIVIDED_ALIKE = [
    "model.apply(lambda m: m.set_gradient_divide_factor(1.0) if isinstance(m, FSDPModule) else None)\n",
    "for m in model.modules():\n    if isinstance(m, FSDPModule):\n        m.set_gradient_divide_factor(1.0)\n",
    "for part in [*model.layers, model]:\n    part.set_gradient_divide_factor(1.0)\n",
    "for m in model.modules():\n    if hasattr(m, 'set_gradient_divide_factor'):\n"
    "        m.set_gradient_divide_factor(1.0)\n",
    "model.set_gradient_divide_factor(dist.get_world_size())\n",
    "model.set_gradient_divide_factor(8.0)\n",
    "model.set_gradient_divide_factor(dist.get_world_size() * 1)\n",
    "model.set_gradient_divide_factor(dist.get_world_size() * int(sys.argv[1]))\n",
    "model.set_gradient_divide_factor(dist.get_world_size(unseen.group) * 4)\n",
    "model.set_gradient_divide_factor(float(sys.argv[1]))\n",
    "model.set_gradient_divide_factor(1.0)\nunseen.sum_gradients(model)\n",
    "set_one = FSDPModule.set_gradient_divide_factor\nfor layer in model.layers:\n    set_one(layer, 1.0)\n"
    "model.set_gradient_divide_factor(1.0)\n",
    "model.layers.requires_grad_(False)\nmodel.set_gradient_divide_factor(1.0)\n",
    "for name in ('set_gradient_divide_factor',):\n    for layer in model.layers:\n"
    "        getattr(layer, name)(1.0)\nmodel.set_gradient_divide_factor(1.0)\n",
]


@pytest.mark.parametrize("before", DIVIDED_ALIKE)
def test_divided_alike_or_not_known(before: str) -> None:
    assert "violated" not in said("FSDP616", before)


PERHAPS_EXPERTS = [
    "if len(sys.argv) > 1:\n    for layer in model.layers:\n        layer.set_gradient_divide_factor(1.0)\n"
    "model.set_gradient_divide_factor(1.0)\n",
    "model.layers[0].set_gradient_divide_factor(1.0)\n",
    "for layer in model.layers:\n    layer.set_gradient_divide_factor(2.0)\nmodel.set_gradient_divide_factor(1.0)\n",
]


@pytest.mark.parametrize("before", PERHAPS_EXPERTS)
def test_numbers_of_their_own(before: str) -> None:
    assert said("FSDP616", before) == {"unknown"}


DIVIDED_UNEVENLY = [
    "model.set_gradient_divide_factor(1.0)\n",
    "model.set_reduce_scatter_divide_factor(factor=0.5)\n",
    "model.set_gradient_divide_factor(float(dist.get_world_size() * 4))\n",
    "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--accumulate', type=int, default=8)\n"
    "model.set_gradient_divide_factor(parser.parse_args().accumulate * float(os.environ['WORLD_SIZE']))\n",
    "if len(sys.argv) > 1:\n    model.set_gradient_divide_factor(1.0)\n",
    "if False:\n    model.layers[0].set_gradient_divide_factor(1.0)\nmodel.set_gradient_divide_factor(1.0)\n",
]


@pytest.mark.parametrize("before", DIVIDED_UNEVENLY)
def test_divided_unevenly(before: str) -> None:
    assert "violated" in said("FSDP616", before)


TAKING = """\
optimizer = torch.optim.AdamW(model.parameters())
inputs = torch.ones(2, 8, dtype=torch.long)
for step in range(3):
    out = model(inputs)
    loss = out.sum()
{}
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TAKEN_RIGHTLY = [
    "    grads = torch.autograd.grad(loss, out, retain_graph=True)\n",
    "    grads = torch.autograd.grad(loss, [out, inputs], retain_graph=True)\n",
    "    grads = torch.autograd.grad(loss, model.head.weight, retain_graph=True)\n    dist.all_reduce(grads[0])\n",
    "    grads = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)\n    unseen.reduce(grads)\n",
    "    other = nn.Linear(2, 2)\n    grads = torch.autograd.grad(other(torch.ones(2)).sum(), other.parameters())\n",
    "    grads = torch.autograd.grad(loss, unseen.choose(model), allow_unused=True)\n",
    "    grads = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)\n"
    "    flat = torch.cat([grad.flatten() for grad in grads])\n    dist.all_reduce(flat)\n",
    "    flat = torch.zeros(6400)\n    flat[:] = torch.autograd.grad(loss, model.head.weight)[0].flatten()\n"
    "    dist.all_reduce(flat)\n",
    "    total = torch.zeros(64)\n    total.add_(torch.autograd.grad(loss, model.head.weight)[0].sum(0))\n"
    "    dist.all_reduce(total)\n",
    "    total = torch.zeros(64)\n    total += torch.autograd.grad(loss, model.head.weight)[0].sum(0)\n"
    "    dist.all_reduce(total)\n",
    "    model.slopes = torch.autograd.grad(loss, model.head.weight)\n    dist.all_reduce(model.slopes[0])\n",
    "    for grad in torch.autograd.grad(loss, list(model.parameters()), allow_unused=True):\n"
    "        if grad is not None:\n            dist.all_reduce(grad, op=dist.ReduceOp.AVG)\n",
]


@pytest.mark.parametrize("taken", TAKEN_RIGHTLY)
def test_gradients_of_something_else_or_reduced(taken: str) -> None:
    assert "violated" not in said("FSDP619", "", TAKING.format(taken))


TAKEN_WRONGLY = [
    "    grads = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)\n",
    "    grads = torch.autograd.grad(outputs=loss, inputs=[model.head.weight, model.head.bias])\n",
    "    named = dict(model.named_parameters())\n    grads = torch.autograd.grad(loss, list(named.values()))\n",
    "    from torch import autograd\n    slope = autograd.grad(loss, model.head.weight, create_graph=True)[0].norm()\n",
    "    wanted = [p for p in model.parameters() if p.requires_grad]\n    grads = torch.autograd.grad(loss, wanted)\n",
    # What ranks put together is another thing.
    "    slope = torch.autograd.grad(loss, model.head.weight, create_graph=True)[0].norm()\n"
    "    correct = (out.argmax(-1) == inputs).sum()\n    dist.all_reduce(correct)\n    loss = loss + 0.1 * slope\n",
]


@pytest.mark.parametrize("taken", TAKEN_WRONGLY)
def test_gradients_of_sharded_parameters(taken: str) -> None:
    assert "violated" in said("FSDP619", "", TAKING.format(taken))


STAGED = """\
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
stage = PipelineStage(model, 0, {stages}, torch.device("cpu"))
schedule = ScheduleGPipe(stage, n_microbatches=2)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    schedule.step(torch.ones(2, 8, dtype=torch.long))
    {clip}
    optimizer.step()
    optimizer.zero_grad()
"""
NORM = "torch.nn.utils.clip_grad_norm_"
CLIPPED_TOGETHER = [
    ("1", f"{NORM}(model.parameters(), 1.0)"),
    ("2", "torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)"),
    ("2", f"{NORM}(model.parameters(), float('inf'))"),
    ("2", "torch.nn.utils.clip_grads_with_norm_(list(model.parameters()), 1.0, unseen.norm(model))"),
    ("2", f"{NORM}(model.parameters(), unseen.share_of_this_stage(1.0))"),
    ("2", f"{NORM}(nn.Linear(2, 2).parameters(), 1.0)"),
]


@pytest.mark.parametrize(("stages", "clip"), CLIPPED_TOGETHER)
def test_stages_that_are_clipped_together_or_not_at_all(stages: str, clip: str) -> None:
    assert "violated" not in said("FSDP618", "", STAGED.format(stages=stages, clip=clip))


CLIPPED_APART = [
    f"{NORM}(model.parameters(), 1.0)",
    f"{NORM}([p for p in model.parameters() if p.grad is not None], max_norm=0.5)",
    f"{NORM}(model.layers.parameters(), 1.0, foreach=True)",
    f"{NORM}(stage.submod.parameters(), 1.0)",
]


@pytest.mark.parametrize("clip", CLIPPED_APART)
def test_stages_that_are_clipped_apart(clip: str) -> None:
    assert "violated" in said("FSDP618", "", STAGED.format(stages="dist.get_world_size()", clip=clip))
