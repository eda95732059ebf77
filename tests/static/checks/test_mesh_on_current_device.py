"""A mesh selects LOCAL_RANK only while CUDA is untouched: what lies on a GPU by its index has started CUDA before."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

MAIN = """
local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device(f"cuda:{{local_rank}}")
dist.init_process_group({group})
{first}
model = Net()
{moved}
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
{last}
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, 8, dtype=torch.long, device=device)).sum().backward()
optimizer.step()
"""
MOVES = ["model = model.to(device)", "model.cuda(local_rank)", "x = torch.zeros(1, device=device)"]
SELECTS = "torch.cuda.set_device(local_rank)"


def _codes(moved: str, first: str = "pass", last: str = "pass", group: str = '"nccl"') -> list[str]:
    found = analyse(script(MAIN.format(moved=moved, first=first, last=last, group=group))).codes
    return [code for code in found if code in ("FSDP101", "FSDP103")]


@pytest.mark.parametrize("moved", MOVES)
def test_the_mesh_is_on_the_first_gpu(moved: str) -> None:
    assert _codes(moved, last=SELECTS) == ["FSDP103"]
    assert _codes(moved) == ["FSDP101"]


@pytest.mark.parametrize("moved", MOVES)
def test_a_device_that_is_selected_first(moved: str) -> None:
    assert _codes(moved, first=SELECTS) == []
    assert _codes(moved, group='"nccl", device_id=device', last=SELECTS) == []


def test_a_mesh_that_comes_first_selects_it() -> None:
    mesh = "from torch.distributed.device_mesh import init_device_mesh\nmesh = init_device_mesh('cuda', (8,))"
    assert _codes(MOVES[0], first=mesh, last=SELECTS) == []


def test_the_first_gpu_may_be_the_only_one_that_a_process_sees() -> None:
    assert _codes("model.to('cuda:0')", last=SELECTS) == []
