"""A dict that has a key on one path only gets it on the others where it is asked for."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse

HELPERS = """
from collections import defaultdict
from torch.utils.data import DataLoader, DistributedSampler

def share(loader):
    if dist.get_world_size() == 1:
        return loader
    return DataLoader(loader.dataset, sampler=DistributedSampler(loader.dataset, shuffle=False))

def mean(value):
    dist.all_reduce(value)
    return value / dist.get_world_size()
"""
RUN = """
losses = {made}
for batch in share(DataLoader(torch.zeros(64, 4))):
    loss = model(batch).sum()
    loss.backward()
    {kept}.append(loss.detach())
shown = {{name: mean(torch.stack(values)) for name, values in losses.items()}}{guard}
"""
KEPT = {
    "setdefault": ("{}", 'losses.setdefault("loss", [])'),
    "defaultdict": ("defaultdict(list)", 'losses["loss"]'),
}


@pytest.mark.parametrize(("made", "kept"), KEPT.values(), ids=KEPT)
def test_a_key_that_another_loader_has_brought(made: str, kept: str) -> None:
    guarded = RUN.format(made=made, kept=kept, guard=" if dist.get_rank() == 0 else {}")
    assert "FSDP801" in analyse(main(SHARDED + guarded, HELPERS)).codes
    assert "FSDP801" not in analyse(main(SHARDED + RUN.format(made=made, kept=kept, guard=""), HELPERS)).codes
