"""Fake tensors: nothing of the model's size is allocated, and what has no value has a stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fsdp2_lint.preflight.world.sharding import Parts
from tests.preflight.world.inside import rehearse, run
from tests.preflight.world.test_scripts_for_gpus import ROOT, TRAIN


@pytest.mark.parametrize("world_size", [8, 256])
def test_two_steps_without_values(tmp_path: Path, world_size: int) -> None:
    seen = rehearse(tmp_path, TRAIN, world_size=world_size, depth="step")
    first, last = (38, 1) if world_size == 8 else (2, 1)
    assert seen.said == (3, world_size, "nccl", [(first, 64), (first,), (last, 300), (last,)])


def test_the_reference_script_reads_its_loss() -> None:
    seen = run(ROOT / "examples/good/reference.py", "--steps", "2", depth="step")
    assert not seen.error
    site = seen.limit("value of a tensor").site
    assert site is not None and site.row == 131


BIG = """
    import torch
    import torch.distributed as dist
    import torch.nn as nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Count.seen += 1
            return func(*args, **(kwargs or {}))

    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    with torch.device("DEVICE"):
        model = nn.Sequential(*[nn.Linear(16384, 16384) for _ in range(8)])  # 8 GiB
    with Count():
        for layer in model:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    SAID = Count.seen, tuple(model[0].weight.to_local().shape), str(model[0].weight.to_local().device)
"""


@pytest.mark.parametrize("device", ["meta", "cuda"])
def test_sharding_costs_the_same_at_any_size(tmp_path: Path, device: str) -> None:
    text = BIG.replace("DEVICE", device)
    small = rehearse(tmp_path, text, world_size=8, depth="plan")
    big = rehearse(tmp_path, text, world_size=4096, depth="plan")
    assert small.said == (big.said[0], (2048, 16384), "meta" if device == "meta" else "cpu")
    assert big.said[1] == (4, 16384)
    assert max(small.peak, big.peak) < 1000


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 7, 8, 64])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 8, 63, 64, 65])
def test_parts_are_those_that_torch_makes(length: int, number: int) -> None:
    for tensor, dim in ((torch.arange(length * 2).view(length, 2), 0), (torch.arange(length * 2).view(2, length), 1)):
        if not length:
            continue
        theirs = list(torch.chunk(tensor, number, dim=dim))
        theirs += [tensor.new_empty(0)] * (number - len(theirs))
        parts = Parts(tensor, number, dim)
        ours = [parts[index] for index in range(len(parts))]
        assert [each.tolist() for each in ours] == [each.tolist() for each in theirs]
        assert [each.shape for each in ours] == [each.shape for each in theirs]


VALUES = """
    import numpy
    import torch

    x = torch.randn(3, 4, device="cuda")
    SAID = {
        "item": x.sum().item(),
        "list": x[0].tolist(),
        "truth": bool((x > 0).any()),
        "number": int((x > 0).sum()),
        "numpy": x.cpu().numpy().shape,
        "text": f"{x.mean():.2f}",
        "places": tuple((x > 0).nonzero().shape),
        "chosen": tuple(x[x > 0].shape),
        "rows": tuple(x[x[:, 0] > 0].shape),
        "selected": tuple(x.masked_select(x > 0).shape),
        "distinct": tuple(x.unique().shape),
        "repeated": tuple(x.repeat_interleave(torch.ones(3, device="cuda").long(), dim=0).shape),
        "equal": torch.equal(x, x + 1),
        "known": torch.tensor([1, 2]).tolist(),
        "data": torch.from_numpy(numpy.arange(3)).add(1).tolist(),
        "order": sorted(torch.randperm(4).tolist()),
    }
    x[x > 0] = 1
    assert SAID["known"] == [1, 2]
"""


def test_stand_ins(tmp_path: Path) -> None:
    seen = rehearse(tmp_path, VALUES, depth="step")
    assert seen.said == {
        "item": 1.0,
        "list": [1.0] * 4,
        "truth": False,
        "number": 1,
        "numpy": (3, 4),
        "text": "1.00",
        "places": (12, 2),
        "chosen": (12,),
        "rows": (3, 4),
        "selected": (12,),
        "distinct": (12,),
        "repeated": (3, 4),
        "equal": True,
        "known": [1, 2],
        "data": [1, 2, 3],
        "order": [0, 1, 2, 3],
    }
    rows = {each.site.row for each in seen.limits if each.site is not None}
    assert rows == {7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}


def test_a_model_on_meta_stays_there_until_it_gets_memory(tmp_path: Path) -> None:
    text = """
    import torch
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))
    weight, before = model[0].weight, str(model[0].weight.device)
    model.to_empty(device="cuda")
    new, names = model[0].weight, [name for name, _ in model.named_parameters()]
    model.to(torch.bfloat16).cuda()
    SAID = before, str(new.device), new is weight, new is model[0].weight, str(new.dtype), names
    """
    names = ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert rehearse(tmp_path, text, depth="plan").said == ("meta", "cpu", False, True, "torch.bfloat16", names)


def test_samples_and_threads(tmp_path: Path) -> None:
    text = """
    import threading
    import torch
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    class Numbers(torch.utils.data.Dataset):
        def __len__(self):
            return 512

        def __getitem__(self, index):
            return torch.tensor([index])

    sampler = DistributedSampler(Numbers(), num_replicas=256, rank=3, shuffle=False)
    (batch,) = DataLoader(Numbers(), batch_size=2, sampler=sampler)
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.zeros(2, device="cuda")))
    thread.start()
    thread.join()
    SAID = batch.tolist(), type(made[0]).__name__
    """
    assert rehearse(tmp_path, text, depth="step").said == ([[3], [259]], "FakeTensor")
