"""What was not met in the trace was not looked at: a hook, a file, a mark or a collective that lies elsewhere."""

from __future__ import annotations

import pytest

from tests.static.first_contact.programs import SHARDED, main
from tests.static.program import analyse, script

# -- FSDP707: what a function finds by a computed name makes the state dict
FIND = """
import importlib


def resolve(path):
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(path) from error


def build(settings):
    return resolve(settings.pop("of"))(**settings)
"""
TRAIN = """\
import json
import sys
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.fsdp import fully_shard
from find import build

dist.init_process_group("nccl")
settings = json.load(open(sys.argv[1]))
model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
for layer in model:
    fully_shard(layer)
fully_shard(model)
weights = build(settings).read()
set_model_state_dict(model, weights, options=StateDictOptions(full_state_dict=True))
"""


def test_whether_all_ranks_have_what_a_computed_name_made_is_not_known() -> None:
    files = {"find.py": FIND, "train.py": TRAIN, "pyproject.toml": ""}
    assert analyse(files).verdicts("FSDP707") == {"unknown"}


# -- FSDP714: a condition on the rank that all ranks meet, one way or the other
EITHER = """
def weights(model):
    if dist.get_rank() != 0:
        return {}
    return {name: each.clone() for name, each in model.state_dict().items()}


def described(given):
    return "whole" if given else "empty"
"""
WRITTEN = """
start = weights(Net())
if described(start) == "whole" or dist.get_rank() > 0 or len(start) < 7:
    torch.save({"random": torch.get_rng_state()}, "last.pt")
"""


def test_who_writes_is_not_known_where_a_condition_on_the_rank_excludes_nobody() -> None:
    assert "upheld" not in analyse(main(SHARDED + WRITTEN, EITHER)).verdicts("FSDP714")
    alone = "if dist.get_rank() == 0:\n    torch.save({'random': torch.get_rng_state()}, 'last.pt')\n"
    assert analyse(main(SHARDED + alone)).verdicts("FSDP714") == {"upheld"}


OWN = """
dist.init_process_group("nccl")
torch.manual_seed(SEED)
state = {"step": 3, "random": torch.get_rng_state()}
"""
BY_RANK = "dist.get_rank()"
EACH = "for step in range(9):\n    if step % 3 == 0:\n        torch.save(state, f'{step}.pt')"
SOME = "if shutil.disk_usage('.').free:\n    torch.save(state, 'last.pt')"
OWN_FILES = {
    "one path": (BY_RANK, "torch.save(state, 'last.pt')", "violated"),
    "behind what all ask alike": (BY_RANK, EACH, "violated"),
    "the rank in the path": (BY_RANK, "torch.save(state, f'{dist.get_rank()}.pt')", "upheld"),
    "on one rank": (BY_RANK, "if dist.get_rank() == 0:\n    torch.save(state, 'last.pt')", "upheld"),
    "who comes is not known": (BY_RANK, SOME, "unknown"),
    "one seed": ("7", "torch.save(state, 'last.pt')", "unknown"),
}


@pytest.mark.parametrize("name", OWN_FILES)
def test_one_file_for_what_each_rank_has_for_itself(name: str) -> None:
    seed, save, verdict = OWN_FILES[name]
    body = f"{OWN.replace('SEED', seed)}{SHARDED}{save}\n"
    assert analyse(main(body, "import shutil\n")).verdicts("FSDP714") == {verdict}


# -- FSDP317: a mark on a parameter that the module holds itself
MARKED = """
class Marked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.table = nn.Parameter(torch.zeros(8, 8))
        {mark}

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x @ self.table


def groups(model):
    decay, plain = [], []
    for each in model.parameters():
        (plain if getattr(each, "no_decay", False) else decay).append(each)
    return [{{"params": decay}}, {{"params": plain, "weight_decay": 0.0}}]
"""
GROUPED = """
dist.init_process_group("gloo")
model = Marked()
BEFORE
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
AFTER
optimizer = torch.optim.AdamW(groups(model))
"""


@pytest.mark.parametrize(("mark", "before", "after", "found"), [
    ("self.table.no_decay = True", "pass", "pass", True),
    ("pass", "model.table.no_decay = True", "pass", True),
    ("pass", "pass", "model.table.no_decay = True", False),
])  # fmt: skip
def test_marks_of_parameters_that_a_module_holds_itself(mark: str, before: str, after: str, found: bool) -> None:
    body = GROUPED.replace("BEFORE", before).replace("AFTER", after)
    assert ("FSDP317" in analyse(script(body, MARKED.format(mark=mark))).codes) is found


# -- FSDP405: ranks that agree at the end of each round
GENERATING = """
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def generate(self, x, group=None):
        going = torch.ones(2, dtype=torch.bool)
        for _ in range(10):
            for layer in self.layers:
                x = layer(x)
            going = going & (x.mean(-1) != 0)
            left = going.any().to(torch.int32)
            {agree}
            if left.item() == 0:
                break
        return x
"""
GENERATED = """
from torch.distributed.fsdp import register_fsdp_forward_method
from torch.utils.data import DataLoader, DistributedSampler
import pkg
from theirs import half
dist.init_process_group("gloo")
model = Writer()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
register_fsdp_forward_method(model, "generate")
for batch in DataLoader(pkg.data, sampler=DistributedSampler(pkg.data)):
    model.generate(batch, half.group)
"""


@pytest.mark.parametrize(("agree", "found"), [
    ("dist.all_reduce(left, op=dist.ReduceOp.MAX, group=group)", False),
    ("dist.all_reduce(left, op=dist.ReduceOp.MAX)", False),
    ("pass", True),
])  # fmt: skip
def test_a_loop_that_all_ranks_leave_together(agree: str, found: bool) -> None:
    assert ("FSDP405" in analyse(script(GENERATED, GENERATING.format(agree=agree))).codes) is found


# -- FSDP705: a file of distributed tensors that the program has written itself
LOADED = "model.load_state_dict(torch.load('last.pt')['model'])\n"


@pytest.mark.parametrize(("save", "found"), [
    ("torch.save({'model': model.state_dict()}, 'last.pt')\n", False),
    ("torch.save({'model': model.state_dict()}, 'other.pt')\n", True),
    ("", True),
])  # fmt: skip
def test_what_it_reads_may_be_what_it_wrote(save: str, found: bool) -> None:
    assert ("FSDP705" in analyse(main(SHARDED + LOADED + save)).codes) is found


# -- FSDP308: names of a mesh's dimensions are no use of them
FORGOTTEN = """
dist.init_process_group("nccl")
mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
if "replicate" in mesh.mesh_dim_names and mesh.ndim == 2:
    print("replicas")
model = Net()
for layer in model.layers:
    fully_shard(layer, mesh=mesh["shard"])
fully_shard(model, mesh=mesh["shard"])
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(2, dtype=torch.long)).sum().backward()
optimizer.step()
"""


def test_replicas_are_forgotten_where_only_their_name_is_read() -> None:
    assert "FSDP308" in analyse(script(FORGOTTEN)).codes


# -- FSDP806: a dict that each rank fills in the order of what it meets
FILLED = """
from collections import defaultdict
import theirs
dist.init_process_group("gloo")
totals = defaultdict(lambda: torch.zeros(1))
for batch in theirs.batches():
    {fill}
{then}
"""
REDUCED = "for each in totals.values():\n    dist.all_reduce(each)"
FILLS = {
    "by what a batch is": ("totals[f'length {int(batch.max())}'] += 1", REDUCED, "unknown"),
    "by what unseen code says": ("totals[theirs.kind(batch)] += 1", REDUCED, "unknown"),
    "under names": ("totals['loss'] += 1\n    totals['norm'] += 1", REDUCED, "upheld"),
    "and sorted": (
        "totals[theirs.kind(batch)] += 1",
        "for name in sorted(totals):\n    dist.all_reduce(totals[name])",
        "upheld",
    ),
}


@pytest.mark.parametrize("name", FILLS)
def test_in_which_order_a_dict_was_filled(name: str) -> None:
    fill, then, verdict = FILLS[name]
    found = analyse(main(SHARDED + FILLED.format(fill=fill, then=then))).verdicts("FSDP806")
    assert ("unknown" in found) is (verdict == "unknown")


# -- FSDP204: parameters that a module may not have
ROTARY = """
class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cos", torch.empty(8), persistent=False)

    def rebuild(self):
        self.cos.copy_(torch.arange(8.0).cos())

    def forward(self, x):
        return x * self.cos


class Turned(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 8)
        self.turn = Rotary()

    def forward(self, x):
        return self.turn(self.up(x))


@torch.no_grad()
def initialise(model):
    for module in model.modules():
        SKIP
        if isinstance(module, nn.Linear):
            module.reset_parameters()
        if isinstance(module, Rotary):
            module.rebuild()
"""
TURNED = """
dist.init_process_group("gloo")
with torch.device("meta"):
    model = Turned()
fully_shard(model)
model.to_empty(device="cpu")
initialise(model)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(8)).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(("skip", "upheld"), [
    ("pass", True),
    ("if next(module.parameters(recurse=False), None) is None:\n            continue", False),
    ("if not any(True for _ in module.parameters(recurse=False)):\n            continue", False),
    ("if all(not p.is_meta for p in module.parameters(recurse=False)):\n            continue", False),
    ("if not list(module.parameters(recurse=False)):\n            continue", False),
    ("if len([*module.parameters(recurse=False)]) == 0:\n            continue", False),
    ("if not [p for p in module.parameters(recurse=False)]:\n            continue", False),
    ("if not sum(p.numel() for p in module.parameters(recurse=False)):\n            continue", False),
    ("if not module._parameters:\n            continue", False),
])  # fmt: skip
def test_a_module_without_parameters_is_passed_over(skip: str, upheld: bool) -> None:
    assert (analyse(script(TURNED, ROTARY.replace("SKIP", skip))).verdicts("FSDP204") == {"upheld"}) is upheld


# -- FSDP806: hooks of which some are there on rank 0 alone
HOOKED = """
import json


class Log:
    main_only = True

    def after(self):
        print("step")


class Mean:
    main_only = False

    def after(self):
        dist.all_reduce(torch.zeros(1))


KINDS = {"log": Log, "mean": Mean}
made = [KINDS[name]() for name in json.load(open("hooks.json"))]
hooks = [each for each in made if dist.get_rank() == 0 or not each.main_only]
for hook in hooks:
    hook.after()
"""


def test_what_an_element_of_all_ranks_does_is_done_by_all() -> None:
    assert "FSDP806" not in analyse(main(SHARDED + HOOKED)).codes
    meeting = HOOKED.replace("main_only = False", "main_only = True")
    assert {"FSDP801", "FSDP806"} & set(analyse(main(SHARDED + meeting)).codes)
