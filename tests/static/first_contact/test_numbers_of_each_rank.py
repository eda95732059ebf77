"""Learning rates that each rank has for itself: what it is computed of is followed, or nothing is said."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

HELPERS = """
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, ReduceLROnPlateau
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from unseen import reduced, reduce_in_place

def mean_of(value):
    value = value.clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()
"""
TRAINED = (
    SHARDED
    + """
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
scheduler = ReduceLROnPlateau(optimizer)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 8))
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
whole = DataLoader(data, batch_size=8)
criterion = nn.MSELoss()
rank, world = dist.get_rank(), dist.get_world_size()
for epoch in range(20):
    stats = torch.zeros(2)
    total = 0.0
    for rows, targets in loader:
        loss = F.mse_loss(model(rows), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
"""
)
OWN = [
    "    scheduler.step(loss.item())",
    "    scheduler.step(loss)",
    "    scheduler.step(metrics=total / len(loader))",
    "    scheduler.step(criterion(model(rows), targets).detach())",
    "    CosineAnnealingLR(optimizer, T_max=100 + rank)",
    "    torch.optim.SGD(model.parameters(), 0.1 * (rank + 1))",
    "    torch.optim.AdamW(model.parameters(), weight_decay=0.1 / (rank + 1))",
]
SAME = [
    "    scheduler.step(epoch)",
    "    loss = loss.detach()\n    dist.all_reduce(loss)\n    scheduler.step(loss / world)",
    "    scheduler.step(mean_of(loss).item())",
    "    stats[0] += total\n    dist.all_reduce(stats)\n    scheduler.step(stats[0].item())",
    "    total = torch.tensor(total)\n    dist.all_reduce(total)\n    scheduler.step(total.item())",
    "    parts = [None] * world\n    dist.all_gather_object(parts, total)\n    scheduler.step(sum(parts))",
    "    box = [total]\n    dist.broadcast_object_list(box)\n    scheduler.step(box[0])",
    "    for rows, targets in whole:\n        last = F.mse_loss(model(rows), targets)\n    scheduler.step(last)",
    "    LinearLR(optimizer, total_iters=len(loader))",
    "    LinearLR(optimizer, total_iters=rows.shape[0])",
    "    torch.optim.SGD(model.parameters(), lr=0.1 * world)",
]
NOT_KNOWN = [
    "    scheduler.step(reduced(loss))",
    "    reduce_in_place(loss)\n    scheduler.step(loss)",
    "    scheduler.step(accuracy(model))",
]


@pytest.mark.parametrize("use", OWN)
def test_each_rank_has_its_own(use: str) -> None:
    assert analyse(main(f"{TRAINED}{use}\n", HELPERS)).codes.count("FSDP617") == 1


@pytest.mark.parametrize("use", SAME + NOT_KNOWN)
def test_not_where_the_ranks_may_have_the_same(use: str) -> None:
    assert "FSDP617" not in analyse(main(f"{TRAINED}{use}\n", HELPERS)).codes
