"""Of each clause one fault, and correct programs that look like it: nothing is said of them."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

BEFORE = """
import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import MixedPrecisionPolicy
from torch.optim.lr_scheduler import CosineAnnealingLR, OneCycleLR, ReduceLROnPlateau
from torch.utils.data import DataLoader, DistributedSampler
"""
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)\n"
STEP = """
for batch in DataLoader(data, sampler=DistributedSampler(data)):
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
DATA = "data = torch.load('data.pt')\n"
TRAINED = SHARDED + OPTIMIZER + DATA
PLATEAU = TRAINED + "schedule = ReduceLROnPlateau(optimizer)" + STEP
READ = "loader = DataLoader(data, sampler=sampler)\nfor epoch in range(2):\n    sampler.set_epoch(epoch)\n"
READ += "    for batch in loader:\n        model(batch).sum().backward()\n        optimizer.step()\n"
GATHERED = "whole = StateDictOptions(full_state_dict=True, cpu_offload=True)\n"
GATHERED += "state = get_model_state_dict(model, options=whole)\n"
POLICY = "policy = MixedPrecisionPolicy({})\nmodel = Net()\nfor layer in model.layers:\n"
POLICY += "    fully_shard(layer, mp_policy=policy)\nfully_shard(model, mp_policy=policy)\n"
MARKED = "model = Net()\nfor layer in model.layers:\n{}    fully_shard(layer)\n{}fully_shard(model)\n{}" + OPTIMIZER
LAST = "model(torch.ones(2)).sum().backward()\n"
HALF = (
    "model = Net()\nfor layer in model.layers:\n    {}\n    fully_shard(layer)\nfully_shard(model)\n" + OPTIMIZER + LAST
)

FAULTS = {
    "FSDP314": HALF.format("layer.up.to(torch.bfloat16)"),
    "FSDP317": MARKED.format("    for p in layer.parameters():\n        p.plain = True\n", "", "")
    + "print([p for p in model.parameters() if p.plain])\n"
    + LAST,
    "FSDP502": POLICY.format("param_dtype=torch.bfloat16"),
    "FSDP617": PLATEAU + "    schedule.step(loss)\n",
    "FSDP712": TRAINED + "dcp.save({'model': model.state_dict(), 'place': dist.get_rank() * 100}, checkpoint_id='x')\n",
    "FSDP714": SHARDED + GATHERED + "torch.save(state, 'model.pt')\n",
    "FSDP808": TRAINED
    + "rank = int(os.environ['LOCAL_RANK'])\n"
    + "sampler = DistributedSampler(data, num_replicas=dist.get_world_size(), rank=rank)\n"
    + READ,
    "FSDP811": TRAINED + "sampler = DistributedSampler(data, seed=dist.get_rank())\n" + READ,
}
CORRECT = {
    "FSDP314": [
        HALF.format("layer.up.to(torch.bfloat16).requires_grad_(False)"),
        HALF.format("layer.to(torch.bfloat16)"),
        POLICY.format("param_dtype=torch.bfloat16, reduce_dtype=torch.float32") + OPTIMIZER + LAST,
    ],
    "FSDP317": [
        MARKED.format("    for p in layer.parameters():\n        p.plain = True\n", "", "") + LAST,
        MARKED.format("    layer.plain = True\n", "", "print(model.layers[0].plain)\n") + LAST,
        MARKED.format("    layer.up.register_forward_hook(print)\n", "", "") + LAST,
        MARKED.format("", "", "for p in model.parameters():\n    p.plain = True\nprint(model.head.weight.plain)\n")
        + LAST,
    ],
    "FSDP502": [
        POLICY.format("param_dtype=torch.bfloat16, reduce_dtype=torch.float32"),
        POLICY.format("param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16"),
        POLICY.format("reduce_dtype=torch.float32"),
        POLICY.format("param_dtype=torch.float32"),
    ],
    "FSDP617": [
        PLATEAU + "    dist.all_reduce(loss)\n    schedule.step(loss.item())\n",
        TRAINED + "schedule = CosineAnnealingLR(optimizer, T_max=100)" + STEP + "    schedule.step()\n",
        TRAINED + "schedule = OneCycleLR(optimizer, 0.1, total_steps=len(data))" + STEP + "    schedule.step()\n",
        TRAINED.replace("lr=1e-3", "lr=1e-3 * dist.get_world_size()") + STEP.strip(),
    ],
    "FSDP712": [
        TRAINED + "dcp.save({'model': model.state_dict(), f'rng-{dist.get_rank()}': torch.get_rng_state()})\n",
        TRAINED + "dcp.save({'model': model.state_dict(), 'step': 100})\n",
        TRAINED + "dcp.save({'model': model.state_dict()})\n"
        "torch.save(torch.get_rng_state(), f'rng-{dist.get_rank()}.pt')\n",
        TRAINED + "places = [None] * dist.get_world_size()\ndist.all_gather_object(places, dist.get_rank() * 100)\n"
        "dcp.save({'model': model.state_dict(), 'places': places})\n",
    ],
    "FSDP714": [
        SHARDED + GATHERED + "if dist.get_rank() == 0:\n    torch.save(state, 'model.pt')\n",
        SHARDED + GATHERED + "if state:\n    torch.save(state, 'model.pt')\n",
        SHARDED + GATHERED + "torch.save(state, f'model-{dist.get_rank()}.pt')\n",
        SHARDED + GATHERED.replace(", cpu_offload=True", "") + "torch.save(state, 'model.pt')\n",
    ],
    "FSDP808": [
        TRAINED + "sampler = DistributedSampler(data)\n" + READ,
        TRAINED
        + "sampler = DistributedSampler(data, num_replicas=dist.get_world_size(), rank=dist.get_rank())\n"
        + READ,
        TRAINED + "local = int(os.environ['LOCAL_RANK'])\nprint(local)\n"
        "sampler = DistributedSampler(data, rank=int(os.environ['RANK']), num_replicas=dist.get_world_size())\n" + READ,
    ],
    "FSDP811": [
        TRAINED + "sampler = DistributedSampler(data, seed=7)\n" + READ,
        TRAINED
        + "sampler = DistributedSampler(data, rank=dist.get_rank(), num_replicas=dist.get_world_size())\n"
        + READ,
        TRAINED + "sampler = DistributedSampler(data, seed=int(os.environ['SEED']))\n" + READ,
        TRAINED + "torch.manual_seed(dist.get_rank())\nsampler = DistributedSampler(data, seed=7)\n" + READ,
    ],
}
SHAPES = [
    pytest.param(code, body, id=f"{code}-{at}") for code, every in CORRECT.items() for at, body in enumerate(every)
]


@pytest.mark.parametrize("code", FAULTS)
def test_the_fault(code: str) -> None:
    assert code in analyse(main(FAULTS[code], BEFORE)).codes


@pytest.mark.parametrize(("code", "body"), SHAPES)
def test_what_looks_like_it(code: str, body: str) -> None:
    assert code not in analyse(main(body, BEFORE)).codes
