"""A script for GPUs and NCCL runs where neither is, as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.preflight.world.inside import rehearse, run

ROOT = Path(__file__).parents[3]

TRAIN = """
    import os
    import torch
    import torch.distributed as dist
    import torch.nn as nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    dist.init_process_group("nccl", device_id=device)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cuda", (world_size,), mesh_dim_names=("dp",))
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(64, 300), nn.ReLU(), nn.Linear(300, 8))
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cuda")
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    stream = torch.cuda.Stream()
    for step in range(2):
        with torch.cuda.stream(stream):
            x = torch.randn(4, 64).pin_memory().cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(stream)
        target = torch.zeros(4, 8, device=f"cuda:{local_rank}")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach())
    torch.cuda.synchronize()
    dist.barrier()
    shapes = [tuple(each.to_local().shape) for each in model.parameters()]
    SAID = rank, world_size, dist.get_backend(), shapes
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("world_size", [8, 256])
def test_two_steps(tmp_path: Path, world_size: int) -> None:
    seen = rehearse(tmp_path, TRAIN, world_size=world_size, rank=3)
    first, last = (38, 1) if world_size == 8 else (2, 1)
    assert seen.said == (3, world_size, "nccl", [(first, 64), (first,), (last, 300), (last,)])


def test_the_last_rank_has_what_is_left(tmp_path: Path) -> None:
    seen = rehearse(tmp_path, TRAIN, world_size=256, rank=255)
    assert seen.said == (255, 256, "nccl", [(0, 64), (0,), (0, 300), (0,)])


def test_selection_of_the_gpu_is_remembered(tmp_path: Path) -> None:
    seen = rehearse(tmp_path, TRAIN, rank=11)
    assert [(each.site.row, each.index) for each in seen.selected] == [(10, 3)]
    assert {each.site.row for each in seen.used} >= {10, 27, 29}


@pytest.mark.parametrize("rank", [0, 255])
def test_the_reference_script(rank: int) -> None:
    seen = run(ROOT / "examples/good/reference.py", "--steps", "2", rank=rank)
    assert not seen.error and seen.limit("collective").site is None


def test_who_starts_rehearsals_needs_no_torch() -> None:
    code = "import sys, fsdp2_lint.preflight.world as w; w.Place(0, 8, 8); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=120).returncode == 0


NAMED = """
    import os
    import torch
    import torch.distributed as dist
    from datetime import timedelta
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
    options.config.min_ctas = 4
    group = dist.new_group([0, 1, 2, 3], backend="nccl", pg_options=options)
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=5), group)
    with torch.device("meta"):
        model = torch.nn.Linear(8, 8)
    fully_shard(model)
    with torch.autocast(device_type=torch.ones(1).device.type, dtype=torch.float32):
        product = torch.mm(torch.ones(2, 2, dtype=torch.bfloat16), torch.ones(2, 2, dtype=torch.bfloat16))
    SAID = isinstance(group, dist.ProcessGroupNCCL), torch.get_device_module().__name__, str(product.dtype)
"""


def test_what_a_script_names_of_gpus_and_nccl(tmp_path: Path) -> None:
    """The mesh that ``fully_shard`` makes itself is one of GPUs, and selects that of this rank."""
    seen = rehearse(tmp_path, NAMED)
    assert seen.said == (False, "torch.cuda", "torch.float32")
    assert [each.index for each in seen.selected] == [3]
