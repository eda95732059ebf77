"""What ranks send each other as objects, what is saved and loaded, and what a rehearsal leaves out or refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsdp2_lint.preflight.world import Depth
from tests.preflight.world.inside import attempt, rehearse

BEGIN = """
    import os
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    import torch.nn as nn
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("cpu:gloo,cuda:nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
"""
OBJECTS = """
    everybody = [None] * world_size
    dist.all_gather_object(everybody, {"rank": rank})
    here = [None] * world_size if rank == 3 else None
    dist.gather_object({"rank": rank}, here, dst=3)
    word = ["from 0"] if rank == 0 else [None]
    dist.broadcast_object_list(word, src=0)
    part = [None]
    dist.scatter_object_list(part, list(range(world_size)) if rank == 0 else None, src=0)
    group = dist.new_group([2, 3], backend="gloo")
    pair = [None] * 2
    dist.all_gather_object(pair, rank, group=group)
    SAID = len(everybody), everybody[7], len(here or []), word, part, pair, dist.get_backend(group)
"""


@pytest.mark.parametrize("depth", ["real", "step"])
def test_objects_of_this_rank_come_from_all(tmp_path: Path, depth: Depth) -> None:
    seen = rehearse(tmp_path, BEGIN + OBJECTS, depth=depth)
    assert seen.said == (256, {"rank": 3}, 256, [None], [None], [3, 3], "gloo")
    rows = [each.site.row for each in seen.limits if each.site is not None and "is taken to have sent" in each.text]
    assert rows == [15, 17, 24]
    assert [each.site.row for each in seen.limits if each.site is not None and "was not rehearsed" in each.text] == [
        19,
        21,
    ]


def test_objects_of_one_rank_come_from_where_it_left_them(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    text = (
        BEGIN
        + """
    word, part = (["from 0"] if rank == 0 else [None]), [None]
    dist.broadcast_object_list(word, src=0)
    dist.scatter_object_list(part, list(range(world_size)) if rank == 0 else None, src=0)
    SAID = word, part
    """
    )
    assert rehearse(tmp_path, text, rank=0, shared="shared").said == (["from 0"], [0])
    assert rehearse(tmp_path, text, rank=3, shared="shared").said == (["from 0"], [3])


SAVED = """
    mesh = init_device_mesh("cuda", (world_size,))
    model = nn.Linear(512, 512, device="cuda")
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(2, 512, device="cuda")).sum().backward()
    optimizer.step()
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.save(state, checkpoint_id="step-1")
    dcp.async_save(state, checkpoint_id="step-2").result()
    dcp.load(state, checkpoint_id="step-1")
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    torch.save(model.state_dict(), "model.pt")
    SAID = sorted(os.listdir("."))
"""


@pytest.mark.parametrize("depth", ["real", "step"])
def test_nothing_is_written_and_what_would_be_is_told(tmp_path: Path, depth: Depth) -> None:
    seen = rehearse(tmp_path, BEGIN + SAVED, depth=depth)
    assert seen.said == ["train.py"]
    assert seen.saves == [("dcp.save", "step-1", 21), ("dcp.async_save", "step-2", 22), ("torch.save", "model.pt", 25)]
    assert seen.limit("nothing is loaded").site is not None


def test_what_is_not_there_cannot_be_loaded(tmp_path: Path) -> None:
    seen = attempt(tmp_path, 'import torch\ntorch.load("weights.pt", map_location="cuda")')
    assert "NothingToLoad: the script loads weights.pt, which is not there" in seen.error
    begun = """
    import torch
    try:
        torch.load("weights.pt")
    except FileNotFoundError:
        SAID = "anew"
    """
    assert rehearse(tmp_path, begun).said == "anew"


LEFT_OUT = """
    from torch.utils.data import DataLoader

    @torch.compile
    def double(x):
        return 2 * x

    model = torch.compile(nn.Linear(2, 2).cuda(), mode="max-autotune")
    model.compile()
    workers = {"num_workers": 4, "prefetch_factor": 2, "persistent_workers": True}
    loader = DataLoader(range(4), batch_size=2, pin_memory=True, **workers)
    SAID = type(model).__name__, double(2), [batch.tolist() for batch in loader]
"""


def test_compilers_and_workers_are_left_out(tmp_path: Path) -> None:
    seen = rehearse(tmp_path, BEGIN + LEFT_OUT, depth="step")
    assert seen.said == ("Linear", 4, [[0, 1], [2, 3]])
    assert seen.limit("no workers").site is not None
    assert sum("torch.compile" in each.text for each in seen.limits) == 3


def test_a_script_that_starts_its_ranks_itself(tmp_path: Path) -> None:
    text = """
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp

    def main(rank, size):
        global SAID
        dist.init_process_group("nccl", rank=rank, world_size=size)
        SAID = dist.get_rank(), dist.get_world_size()

    if __name__ == "__main__":
        mp.spawn(main, args=(torch.cuda.device_count(),), nprocs=torch.cuda.device_count())
    """
    seen = rehearse(tmp_path, text, rank=11)
    assert seen.said == (3, 8)
    assert "8" in seen.limit("how many ranks").text


@pytest.mark.parametrize(
    "text, reason",
    [
        ("torch.nn.parallel.DistributedDataParallel(nn.Linear(2, 2))", "DDP"),
        ("torch.distributed.fsdp.FullyShardedDataParallel(nn.Linear(2, 2))", "FSDP1"),
        ("dist.recv_object_list([None], src=0)", "from one other rank"),
    ],
)
def test_refused(tmp_path: Path, text: str, reason: str) -> None:
    seen = attempt(tmp_path, f"{BEGIN}    {text}\n")
    assert "CannotRehearse: the script" in seen.error and reason in seen.error
