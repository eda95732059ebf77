"""What is the same on all ranks has to follow from where it comes from: else it is not known, and nothing is upheld."""

from __future__ import annotations

import pytest

from tests.static.program import analyse, script

SETTINGS = """
import argparse
import json
import shutil
import time
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.utils.data import DataLoader, DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--name")
parser.add_argument("--settings")
WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)


@dataclass
class Run:
    every: int = 10
    last: int = 1000


@dataclass
class Settings:
    run: Run = field(default_factory=Run)
    name: str = "run"


def overlay(target, values):
    known = {each.name for each in fields(target)}
    for key, value in values.items():
        if key not in known:
            raise KeyError(key)
        if is_dataclass(getattr(target, key)):
            overlay(getattr(target, key), value)
        else:
            setattr(target, key, value)
"""
SHARDED = """
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
"""
SAVED = "state = get_model_state_dict(model, options=WHOLE)\ntorch.save(state, parser.parse_args().name)\n"
PLACES = {
    "by the launcher": ('dist.init_process_group("nccl")', "violated"),
    "by the launcher, read by hand": ('torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))', "violated"),
    "by an argument": ('dist.init_process_group("nccl", rank=place(), world_size=8)', "unknown"),
    "by the program itself": (
        'os.environ["RANK"] = os.environ["LOCAL_RANK"] = place()\ndist.init_process_group("nccl")', "unknown"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_an_option_without_default_is_said_to_all_where_a_launcher_tells_the_place(name: str) -> None:
    told, verdict = PLACES[name]
    before = f"from theirs import place\n{SETTINGS}"
    assert analyse(script(f"{told}\n{SHARDED}{SAVED}", before)).verdicts("FSDP714") == {verdict}


TRAINED = f"""
dist.init_process_group("nccl")
settings = Settings()
BEFORE
{SHARDED}
optimizer = torch.optim.AdamW(model.parameters())
data = torch.ones(800, 8)
good, step = 0, 0
for batch in range(100):
    model(torch.ones(2, dtype=torch.long)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    ROUND
    if CONDITION:
        dcp.save({{"model": model.state_dict()}}, checkpoint_id="best")
"""
ALIKE = {
    "a count": ("pass", "pass", "step % 10 == 0"),
    "a count of counts": ("pass", "good += step", "good > 7"),
    "what a setting counts": ("pass", "pass", "step % settings.run.every == 0"),
    "settings that a file overrides": (
        "overlay(settings, json.loads(Path(parser.parse_args().settings).read_text()))",
        "pass",
        "step % settings.run.every == 0 and step > settings.run.last",
    ),
    "what a count decided": ("pass", "if step > 5:\n        good = step", "good > 0"),
    "the mode of the model": ("pass", "pass", "model.training"),
    "a kind of tensor": ("pass", "pass", "model.head.weight.dtype == torch.bfloat16"),
    "what rank 0 has sent": (
        "pass", "found = [shutil.disk_usage('.').free]\n    dist.broadcast_object_list(found)", "found[0] > 0"
    ),
}  # fmt: skip
UNPROVEN = {
    "room on a disk": ("pass", "pass", "shutil.disk_usage('.').free > 0"),
    "what that was added to": ("pass", "good += shutil.disk_usage('.').free", "good > 7"),
    "what that decided": ("pass", "if shutil.disk_usage('.').free:\n        good = step", "good > 0"),
    "what that was kept in": ("settings.name = shutil.disk_usage('.').free", "pass", "settings.name > 9"),
    "a file that only some may have": ("pass", "pass", "Path('stop').stat().st_size > 0"),
}


def decided(made: tuple[str, str, str]) -> set[str]:
    before, each_round, condition = made
    main = TRAINED.replace("BEFORE", before).replace("ROUND", each_round).replace("CONDITION", condition)
    return analyse(script(main, SETTINGS)).verdicts("FSDP801")


@pytest.mark.parametrize("name", ALIKE)
def test_all_ranks_decide_alike(name: str) -> None:
    assert decided(ALIKE[name]) == {"upheld"}


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_nobody_proved_to_be_the_same_is_not_known(name: str) -> None:
    assert "upheld" not in decided(UNPROVEN[name])


SEEDED = """
dist.init_process_group("nccl")
mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
SEED
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, dtype=torch.long)).sum().backward()
optimizer.step()
"""
SEEDS = {
    "a number": ("torch.manual_seed(7)", ""),
    "the rank": ("torch.manual_seed(dist.get_rank())", "violated"),
    "along the replicas": ("torch.manual_seed(7 + mesh.get_local_rank('replicate'))", "unknown"),
    "of unseen code": ("from theirs import seed\ntorch.manual_seed(seed())", "unknown"),
    "of a dimension that the mesh has not": (
        "seed = 7\nif 'pp' in (mesh.mesh_dim_names or ()):\n    seed += dist.get_rank()\ntorch.manual_seed(seed)", ""
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEDS)
def test_replicas_start_alike_where_their_seed_is_the_same(name: str) -> None:
    seed, verdict = SEEDS[name]
    assert analyse(script(SEEDED.replace("SEED", seed))).verdicts("FSDP203") == ({verdict} if verdict else set())


SCHEDULED = """
import math
from torch.optim.lr_scheduler import LambdaLR
import theirs
dist.init_process_group("nccl")
settings = Settings()
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
last = LAST


def factor(step):
    if step < settings.run.every:
        return (step + 1) / settings.run.every
    return 0.5 * (1 + math.cos(math.pi * min(1.0, step / last)))


scheduler = LambdaLR(optimizer, factor)
for step in range(100):
    model(torch.ones(2, dtype=torch.long)).sum().backward()
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
"""
LENGTHS = {
    "a number": ("1000", True),
    "a setting": ("settings.run.last", True),
    "a product of such": ("settings.run.last * settings.run.every", True),
    "of unseen code": ("len(theirs.shard(dist.get_rank()))", False),
    "the rank's part": ("len(range(1000)[dist.get_rank()::dist.get_world_size()])", False),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_a_factor_of_the_learning_rate_is_the_same_by_what_it_closes_over(name: str) -> None:
    last, upheld = LENGTHS[name]
    verdicts = analyse(script(SCHEDULED.replace("LAST", last), SETTINGS)).verdicts("FSDP617")
    assert (verdicts == {"upheld"}) is upheld


RECEIVED = """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
{SHARDED}
box = [time.time() if dist.get_rank() == 0 else None]
{TOLD}
state = get_model_state_dict(model, options=WHOLE)
torch.save(state, f"at_{{box[0]}}.pt")
"""


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ("dist.broadcast_object_list(box, src=0)", "violated"),
        ("dist.broadcast_object_list(box, src=0, group=dist.new_group([0, 1]))", "unknown"),
        ("dist.scatter_object_list(box, [1, 2, 3], src=0)", "unknown"),
    ],
)
def test_what_one_rank_has_told_all_others(told: str, verdict: str) -> None:
    text = script(RECEIVED.format(SHARDED=SHARDED, TOLD=told), SETTINGS)
    assert analyse(text).verdicts("FSDP714") == {verdict}
