"""Gradients that are scaled by what each rank makes of its own shards (FSDP603)."""

from __future__ import annotations

import textwrap

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

STEPS = """
import torch.distributed.nn.functional
from torch.distributed.tensor import Replicate
from theirs import reduced

def train(model):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.randint(0, 100, (4, 16), device="cuda")).mean().backward()
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        clip(model, grads)
        optimizer.step()
        optimizer.zero_grad()

def clip(model, grads):
"""
SCALE = """
    scale = min(1.0, 1.0 / (total.sqrt().item() + 1e-6))
    for g in grads:
        g.mul_(scale)
"""
LOCAL = """
    total = torch.zeros((), device="cuda")
    for g in grads:
        total += g.to_local().pow(2).sum()
"""
BAD = {
    "of norms that are DTensors": f"""
    total = torch.zeros((), device="cuda")
    for g in grads:
        norm = torch.linalg.vector_norm(g.detach().float())
        total += (norm.to_local() if isinstance(norm, DTensor) else norm) ** 2
{SCALE}""",
    "of shards": f"{LOCAL}{SCALE}",
    "under a limit": """
    norm = sum(g.norm().to_local().item() ** 2 for g in grads) ** 0.5
    if norm > 1.0:
        for g in grads:
            g.div_(norm)
""",
    "all at once": """
    total = torch.linalg.vector_norm(torch.stack([g.to_local().norm() for g in grads]))
    torch._foreach_mul_(grads, (1.0 / (total + 1e-6)).clamp(max=1.0).item())
""",
    "by an operator": """
    for p in model.parameters():
        p.grad /= p.grad.to_local().pow(2).sum().sqrt().item() + 1e-6
""",
}
GOOD = {
    "reduced": f"{LOCAL}    dist.all_reduce(total)\n{SCALE}",
    "reduced into another": f"{LOCAL}    total = torch.distributed.nn.functional.all_reduce(total)\n{SCALE}",
    "reduced as a number": """
    mine = sum(g.to_local().pow(2).sum().item() for g in grads)
    total = torch.tensor([mine], device="cuda")
    dist.all_reduce(total)
    for g in grads:
        g.mul_(1.0 / total.item())
""",
    "reduced by others": f"{LOCAL}    total = reduced(total)\n{SCALE}",
    "complete": f"""
    total = torch.zeros((), device="cuda")
    for g in grads:
        norm = g.norm()
        total += (norm.full_tensor() if isinstance(norm, DTensor) else norm) ** 2
{SCALE}""",
    "of one rank": f"""
    total = torch.zeros((), device="cuda")
    for g in grads:
        norm = g.norm()
        total += (norm.to_local() if dist.get_world_size() == 1 else norm.full_tensor()) ** 2
{SCALE}""",
    "laid out anew": f"""
    total = torch.zeros((), device="cuda")
    for g in grads:
        total += g.redistribute(placements=[Replicate()]).to_local().pow(2).sum()
        total += g.norm().redistribute(placements=[Replicate()]).to_local() ** 2
{SCALE}""",
    "a copy": """
    for g in grads:
        unit = g.clone()
        unit.mul_(1.0 / g.to_local().norm().item())
""",
    "printed": f"{LOCAL}    print(total.item())\n",
    "each row on one rank": """
    for g in grads:
        mine = g.to_local()
        mine.mul_(1.0 / mine.norm(dim=-1, keepdim=True))
""",
}


def _codes(clip: str, sharded: str = SHARDED) -> list[str]:
    steps = STEPS + textwrap.indent(textwrap.dedent(clip), "    ")
    return analyse(main(f"{sharded}train(model)\n", steps)).codes


@pytest.mark.parametrize("clip", BAD.values(), ids=BAD)
def test_a_number_of_one_rank_scales_its_shards(clip: str) -> None:
    assert _codes(clip) == ["FSDP603"]
    assert _codes(clip, "model = Net()\n") == []


@pytest.mark.parametrize("clip", GOOD.values(), ids=GOOD)
def test_what_looks_like_it(clip: str) -> None:
    assert _codes(clip) == []


AGREED = {
    "counted": """
    bad = torch.zeros((), device="cuda")
    for g in grads:
        if torch.isnan(g.to_local()).any():
            bad += 1
    dist.all_reduce(bad)
    if bad > 0:
        return
    dist.barrier()
""",
    "gathered": """
    bad, all_of_them = any(g.to_local().isnan().any().item() for g in grads), [None] * dist.get_world_size()
    dist.all_gather_object(all_of_them, bad)
    if any(all_of_them):
        return
    dist.barrier()
""",
    "told by others": """
    norm = reduced(torch.stack([g.to_local().norm() for g in grads]).norm())
    if norm > 10:
        return
    dist.barrier()
""",
    "printed where it is large": """
    for g in grads:
        if g.to_local().abs().max() > 100:
            print("large")
    dist.barrier()
""",
}


@pytest.mark.parametrize("clip", AGREED.values(), ids=AGREED)
def test_the_ranks_agree_before_they_go_on(clip: str) -> None:
    assert _codes(clip) == []


def test_each_rank_decides_by_its_part() -> None:
    """Then some ranks wait for the others."""
    alone = AGREED["told by others"].replace("reduced(", "(")
    assert _codes(alone) == ["FSDP801"]
